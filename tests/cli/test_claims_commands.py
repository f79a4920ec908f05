"""``claims``, ``check``, ``replay``."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symflow.claims import claim, claims_table, read_verdict

Decided = tuple[Any, Path]  #: what ``check`` printed, and the file of its evidence
#: Every claim that needs no more than a model, and the one that it is decided for.
LISTED = [
    (row.id, "l2" if found[1] else None)
    for row in claims_table()
    if (found := re.match(r"symflow check \S+( MODEL)? --certificate", row.command))
]


@pytest.fixture(scope="module")
def decided(symflow_command: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Decided]:
    """Decide a claim on the command line, once for all tests of this file."""
    folder = tmp_path_factory.mktemp("claims")

    @functools.cache
    def decide(name: str, model: str | None) -> Decided:
        path = folder / f"{name.replace('/', '-')}.json"
        about = [] if model is None else [model]
        return symflow_command("check", name, *about, "--json", "--certificate", path), path

    return decide


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
    ids = {row["id"] for row in found}
    assert {"CACP25/gaussian-softmax", "CACP25/gaussian-l2"} <= ids
    for row in found:
        assert row["quoted"]
        assert row["holds"]
        assert row["status"] in ("proved", "refuted", "supported")
        assert row["command"].startswith("symflow check ")
    assert "CACP25/gaussian-softmax" in symflow_command("claims").stdout
    assert "<math" in symflow_command("claims", "--format", "html").stdout
    assert "\\begin{" in symflow_command("claims", "--format", "latex").stdout


@pytest.mark.parametrize(("name", "model"), LISTED, ids=[name for name, _ in LISTED])
def test_a_listed_claim_gives_its_documented_verdict_and_replays(
    decided: Callable[..., Decided], symflow_command: Any, name: str, model: str | None
) -> None:
    """The one place where every claim of a paper is decided: on the command line, and again from its file."""
    done, path = decided(name, model)
    assert done.code == 0
    assert done.json["claim"] == name
    assert done.json["status"] == done.json["documented"] == claim(name).documented
    if claim(name).experiment is not None:
        return  # what is measured is repeated at smaller sizes, and from its file in test_measured_claims
    replayed = symflow_command("replay", path, "--json")
    assert replayed.code == 0
    assert replayed.json["accepted"] is True
    for key in ("claim", "status", "scope", "assumes"):
        assert replayed.json[key] == done.json[key]


def test_check_writes_and_prints_what_it_measured(decided: Callable[..., Decided]) -> None:
    done, path = decided("CACP25/stability-estimate", None)
    estimates = done.json["measurement"]["estimates"]
    assert len(estimates) == 14
    stored = read_verdict(path)
    assert stored.measurement is not None
    assert stored.measurement.to_record()["estimates"] == estimates
    text = stored.to_latex()
    assert r"\pm" in text
    assert "Dobrushin" in text
