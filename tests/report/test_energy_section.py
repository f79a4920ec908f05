"""The section on energies: what it derives, compares and decides, and that each can fail."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("matplotlib", reason="figures are an extra")

from symflow.claims import claims
from symflow.errors import SymflowError
from symflow.report import part
from symflow.report.background import beside
from symflow.report.energies import along, spheres


def test_everything_holds_and_is_there(default_report):
    record = json.loads((default_report.out / "report.json").read_text())["energies"]
    assert record["checked"] == record["steps"] > 50
    assert len(record["comparisons"]) == 18
    assert all(row["agrees"] for row in record["comparisons"])
    names = {verdict["claim"] for verdict in record["verdicts"]}
    assert names >= {"CACP25/non-convexity", "CACP25/twisted-gradient-flow", "GLPR23/small-beta-saddles"}
    for verdict in record["verdicts"]:
        assert verdict["passed"]
        assert verdict["status"] == claims()[verdict["claim"]].documented
        assert (default_report.out / verdict["certificate"]).is_file()
    for stem in ("geodesics", "hessians", "atlas"):
        for kind in ("svg", "pdf", "png"):
            assert (default_report.out / "figures" / f"{stem}.{kind}").stat().st_size > 5000


def test_a_wrong_second_variation_is_seen(monkeypatch):
    true = along.second_along
    monkeypatch.setattr(along, "second_along", lambda *args, **kwargs: true(*args, **kwargs) + 1e-5)
    assert not along._difference("twisted")["agrees"]


def test_a_wrong_spectrum_and_an_incomplete_atlas_are_seen():
    spectrum, tokens = spheres._cases()["antipodal pair"]
    assert spheres._compared("pair", spectrum, tokens)["agrees"]
    wrong = [one._replace(value=2 * one.value) for one in spectrum]
    assert not spheres._compared("pair", wrong, tokens)["agrees"]
    found = spheres.critical_points(spheres.Interaction(1), 3, 2, starts=40, backend="numpy")
    assert spheres._only_consensus(found)["agrees"]
    assert not spheres._only_consensus(replace(found, complete=None))["agrees"]


def test_a_certificate_that_does_not_replay_is_no_pass(monkeypatch, tmp_path):
    (tmp_path / "certificates").mkdir()
    verdict = part.check("GLPR23/usa-gradient-flow")
    altered = replace(verdict, certificate=replace(verdict.certificate, statement={}))
    monkeypatch.setattr(part, "check", lambda name: altered)
    _, (record,) = part.decided(["GLPR23/usa-gradient-flow"], tmp_path)
    assert not record["passed"]


def test_work_beside_hands_back_its_result_or_its_error():
    with beside("a division", divmod, 7, 2) as answer:
        assert answer() == (3, 1)
    with beside("a division", divmod, 7, 0) as answer, pytest.raises(SymflowError, match="a division failed"):
        answer()
