"""``replay`` of claims that rest on a measurement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from symflow.certify import Verdict
from symflow.certify.search.stability import prove_stability_constants
from symflow.claims import claim


def test_a_measurement_is_repeated_from_its_file(symflow_command: Any, tmp_path: Path) -> None:
    experiment = claim("CACP25/stability-estimate").experiment
    assert experiment is not None
    measurement = experiment.measure(sizes={"replicates": 2, "tokens": 6, "times": 1})
    proof = prove_stability_constants("CACP25/stability-constants")
    path = tmp_path / "verdict.json"
    path.write_text(Verdict.from_measurement(measurement, certificate=proof).to_json(), encoding="utf-8")
    done = symflow_command("replay", path, "--json")
    assert done.code == 0
    assert done.json["accepted"] is True
    assert done.json["status"] == "supported"
    assert "accepted: CACP25/stability-estimate is supported" in symflow_command("replay", path).stdout
    record = json.loads(path.read_text(encoding="utf-8"))
    record["measurement"]["estimates"][0]["value"] *= 0.5
    path.write_text(json.dumps(record), encoding="utf-8")
    assert symflow_command("replay", path).code == 1
    record["measurement"]["sizes"].pop("tokens")
    path.write_text(json.dumps(record), encoding="utf-8")
    assert symflow_command("replay", path).code == 2
