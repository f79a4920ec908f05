"""Sections on tokens: what they compare, that a comparison can fail, and spec files with tokens."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures are an extra")

from symflow.clustering import equiangular_flow
from symflow.models.attention.softmax import Softmax
from symflow.report import write_report
from symflow.report.blocks import BAD, GOOD, Grid
from symflow.report.comparison import at_most, comparison, comparison_grid
from symflow.report.tokens import clustering, instability
from symflow.report.verification_section import verification_section
from symflow.spec import parse_spec
from symflow.verify import Row, Table

FIGURES = ("circle", "sphere", "energy", "cosine", "instability", "phases", "mean-field", "expansions")


def test_every_prediction_is_compared_and_holds(default_report):
    record = json.loads((default_report.out / "report.json").read_text())
    sections = record["tokens"]
    assert {"clustering", "mean-field", "expansions", "stability"} == set(sections)
    rows = [row for section in sections.values() for row in section["comparisons"]]
    assert len(rows) > 40
    assert all(row["agrees"] for row in rows)
    for name, model in record["models"].items():
        if name == "softmax-noise":  # tokens follow a stochastic equation
            assert "tokens" not in model
            continue
        assert model["tokens"]["checked"] == model["tokens"]["steps"] > 10
        assert "euclidean" in model["tokens"]["spaces"]
    for stem in FIGURES:
        for kind in ("svg", "pdf", "png"):
            assert (default_report.out / "figures" / f"{stem}.{kind}").stat().st_size > 5000


def test_check_values_of_the_common_cosine_are_in_the_page(default_report):
    page = (default_report.out / "index.html").read_text()
    for number in ("1.81993488", "2.91556571", "5.27028391", "0.473082453", "0.9426568934"):
        assert page.count(number) == 2  # theorem and run


def test_a_comparison_can_fail():
    assert comparison("q", "1", "2", 1.0, 0.5)["agrees"] is False
    assert comparison("q", "1", "?", math.nan, 0.5)["agrees"] is False
    assert at_most("q", 1.1, 1.0)["agrees"] is False
    assert at_most("q", 1e-9, 2e-9)["measured"] == r"$10^{-9}$"
    rows = [at_most("q", 1.1, 1.0), at_most("q", 0.9, 1.0)]
    assert [row[-1] for row in comparison_grid(rows).rows] == ["no", "yes"]


def test_a_wrong_equation_of_the_cosine_is_seen(monkeypatch):
    true = equiangular_flow(Softmax(space="sphere", beta=1))
    wrong = replace(true, rhs=true.rhs * 1.001)
    monkeypatch.setattr(clustering, "equiangular_flow", lambda model: wrong)
    rows = clustering._hitting_times("SA", Softmax)
    assert [row["agrees"] for row in rows] == [False, False, False, True]  # the spread knows no equation


def test_a_wrong_rate_of_the_uniform_law_is_seen(monkeypatch):
    model = Softmax(space="sphere", beta=4)
    found = instability._measured_rate(model, 3)
    assert instability._row("SA", model, 3, found)["agrees"]
    assert not instability._row("SA", model, 2, found)["agrees"]


TOKEN_ROW = Row(
    "l2, tokens on ℝᵈ", "A, V", "velocity", "NumPy printer", 3, 1e-13, 1e-12, True, on_tokens=True
)


def test_tokens_are_gathered_by_system_and_one_failure_shows():
    others = [
        replace(TOKEN_ROW, witness="definition, 50 digits", error=2.0, tolerance=64.0),
        replace(TOKEN_ROW, model="l2, tokens on the sphere", error=math.inf, passed=False),
    ]
    law = Row("softmax", "A, V", "right-hand side", "components", 1, 0.5, 64.0, True)
    section = verification_section(Table((law, TOKEN_ROW, *others)))
    assert section.badges[0].state == BAD
    assert section.badges[0].value == "3 of 4 agree"
    gathered = next(b for b in section.blocks if isinstance(b, Grid) and "system" in b.head)
    assert gathered.head == ("system", "given", "NumPy printer", "definition, 50 digits", "holds")
    assert gathered.rows == (
        ("l2 on ℝᵈ", "A, V", "0.1", "0.03", "yes"),
        ("l2 on the sphere", "A, V", "inf", "–", "no"),
    )
    every = [b for b in section.blocks if isinstance(b, Grid) and "system" not in b.head]
    assert [len(b.rows) for b in every] == [1, 3]
    assert verification_section(Table((law,))).badges[0].state == GOOD


def _spec(**sections):
    data = {
        "model": {"attention": "softmax", "space": "sphere", "beta": 4},
        "initial": {"tokens": "uniform", "n": 16, "d": 2, "seed": 3},
        "time": {"t_span": [0, 5], "points": 41},
    }
    return parse_spec(data | sections, name="some tokens")


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_spec_with_tokens_on_the_sphere(tmp_path, no_verification, d):
    result = write_report(
        tmp_path / "out", spec=_spec(initial={"tokens": "uniform", "n": 16, "d": d, "seed": 3})
    )
    assert result.passed
    summary = result.summary
    assert summary["run"]["status"] == "finished"
    assert summary["run"]["clusters"][0] >= summary["run"]["clusters"][1]
    assert summary["tokens"]["checked"] == summary["tokens"]["steps"]
    assert [row["agrees"] for row in summary["comparisons"]] == [True]
    stems = {path.stem for path in (result.out / "figures").glob("*.svg")}
    assert stems == {"measures", *({2: ["angles"], 3: ["sphere"]}.get(d, []))}
    assert "<math" in (result.out / "index.html").read_text()


def test_a_spec_with_tokens_in_space_stays_in_the_derived_ball(tmp_path, no_verification):
    spec = _spec(
        model={"attention": "l2"},
        parameters={"Q": np.eye(2).tolist(), "K": np.eye(2).tolist(), "V": [[0.5, 0.1], [0.0, 0.4]]},
        initial={"tokens": "gaussian", "n": 12, "d": 2, "seed": 1},
        time={"t_span": [0, 1], "points": 11},
    )
    result = write_report(tmp_path / "out", spec=spec)
    assert result.passed
    (row,) = result.summary["comparisons"]
    assert row["agrees"]
    assert 0 < row["difference"] < row["tolerance"]
