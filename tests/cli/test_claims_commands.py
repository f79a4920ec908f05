"""``claims``, ``check``, ``replay``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("model", ["softmax", "l2"])
def test_check_gaussian_preservation_and_replay_its_certificate(
    symflow_command: Any, tmp_path: Path, model: str
) -> None:
    path = tmp_path / "proof.json"
    done = symflow_command("check", "gaussian-preservation", model, "--certificate", path, "--json")
    assert done.code == 0
    assert done.json["status"] == "proved"
    assert done.json["scope"]
    assert done.json["assumes"]
    replayed = symflow_command("replay", path, "--json")
    assert replayed.code == 0
    assert replayed.json["accepted"] is True
    assert replayed.json["claim"] == done.json["claim"]
    assert "accepted" in symflow_command("replay", path).stdout


def test_check_of_a_spec_file(symflow_command: Any, examples: Path) -> None:
    done = symflow_command("check", "gaussian-preservation", examples / "own-score.toml", "--json")
    assert done.code == 0
    assert done.json["status"] == "proved"


def test_check_output_for_reading_and_as_latex(symflow_command: Any) -> None:
    shown = symflow_command("check", "gaussian-preservation", "softmax")
    assert shown.code == 0
    assert "proved" in shown.stdout
    assert "\\" in symflow_command("check", "gaussian-preservation", "softmax", "--latex").stdout


def test_what_is_undecided_has_code_one_and_no_certificate(symflow_command: Any, tmp_path: Path) -> None:
    spec = tmp_path / "square.toml"
    spec.write_text('[model]\nscore = "dot(x, y)*dot(x, y)"\nnormalise = "sinkhorn"\n')
    path = tmp_path / "c.json"
    done = symflow_command("check", "gaussian-preservation", spec, "--json", "--certificate", path)
    assert done.code == 1
    assert done.json["status"] == "undecided"
    assert not path.exists()


@pytest.mark.parametrize("score", ["dot(x, y) - dot(y, y)*dot(y, y)", None])
def test_a_refutation_differs_from_what_is_documented_and_replays(
    symflow_command: Any, tmp_path: Path, score: str | None
) -> None:
    spec, path = tmp_path / "own.toml", tmp_path / "c.json"
    spec.write_text(f'[model]\nscore = "{score}"\n')
    model = "sigmoid" if score is None else spec
    done = symflow_command("check", "gaussian-preservation", model, "--json", "--certificate", path)
    assert done.code == 1
    assert done.json["status"] == "refuted"
    assert done.json["witness"]
    assert symflow_command("replay", path).code == 0


def test_a_score_without_a_normaliser_is_bad_input(symflow_command: Any, tmp_path: Path) -> None:
    spec = tmp_path / "quartic.toml"
    spec.write_text('[model]\nscore = "dot(x, y) + dot(y, y)*dot(y, y)"\n')
    done = symflow_command("check", "gaussian-preservation", spec)
    assert done.code == 2
    assert "∞ for every Gaussian" in done.stderr


def test_replay_prints_scope_and_lemmas_where_it_accepts(symflow_command: Any, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    symflow_command("check", "gaussian-preservation", "softmax", "--certificate", path)
    shown = symflow_command("replay", path).stdout
    assert "accepted: gaussian-preservation is proved" in shown
    assert "every size d" in shown
    assert "Liouville's formula: Hartman" in shown
    record = json.loads(path.read_text(encoding="utf-8"))
    record["proof"]["lines"].pop()
    path.write_text(json.dumps(record), encoding="utf-8")
    refused = symflow_command("replay", path).stdout
    assert "rejected" in refused
    assert "every size d" not in refused


def test_a_tampered_certificate_is_rejected(symflow_command: Any, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    symflow_command("check", "gaussian-preservation", "softmax", "--certificate", path)
    record = json.loads(path.read_text(encoding="utf-8"))
    statement = record["statement"]
    statement["mean_rhs"] = statement["mean_rhs"] + " + alpha"
    path.write_text(json.dumps(record), encoding="utf-8")
    done = symflow_command("replay", path, "--json")
    assert done.code == 1
    assert done.json["accepted"] is False
    assert done.json["reason"]
    path.write_text("{}", encoding="utf-8")
    assert symflow_command("replay", path).code == 2


def test_claims_table_and_pages(symflow_command: Any) -> None:
    found = symflow_command("claims", "--json").json["claims"]
    ids = {claim["id"] for claim in found}
    assert {"CACP25/gaussian-softmax", "CACP25/gaussian-l2"} <= ids
    for claim in found:
        assert claim["quoted"]
        assert claim["holds"]
        assert claim["status"] in ("proved", "refuted", "supported")
        assert claim["command"].startswith("symflow check ")
    assert "CACP25/gaussian-softmax" in symflow_command("claims").stdout
    assert "<math" in symflow_command("claims", "--format", "html").stdout
    assert "\\begin{" in symflow_command("claims", "--format", "latex").stdout


def test_every_listed_claim_gives_its_documented_verdict(symflow_command: Any) -> None:
    for claim in symflow_command("claims", "--json").json["claims"]:
        arguments = claim["command"].split(" --certificate")[0].split()[3:]
        if arguments and arguments != ["MODEL"]:
            continue  # about something else than a shipped model
        done = symflow_command("check", claim["id"], *["l2" for _ in arguments], "--json")
        assert done.code == 0, claim["id"]
        assert done.json["status"] == claim["status"]
