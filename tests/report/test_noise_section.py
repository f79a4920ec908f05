"""The section on common noise: what it derives, compares and decides, and that each can fail."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("matplotlib", reason="figures are an extra")

from symflow.claims import claims
from symflow.noise.common import CommonNoise
from symflow.report.noise import layers, pairs, paths


def test_everything_holds_and_is_there(default_report):
    record = json.loads((default_report.out / "report.json").read_text())["noise"]
    assert record["checked"] == record["steps"] > 20
    assert len(record["comparisons"]) == 13
    assert all(row["agrees"] for row in record["comparisons"])
    for verdict in record["verdicts"]:
        assert verdict["passed"]
        assert verdict["status"] == claims()[verdict["claim"]].documented == "proved"
        assert (default_report.out / verdict["certificate"]).is_file()
    for stem in ("noise-pairs", "noise-paths"):
        for kind in ("svg", "pdf", "png"):
            assert (default_report.out / "figures" / f"{stem}.{kind}").stat().st_size > 5000


def test_another_law_and_another_exponent_are_seen(monkeypatch):
    noise = CommonNoise("relu", "0.1", "0.1", dim=4)
    assert paths._lyapunov(noise)["agrees"]
    assert paths._one_point(noise, paths._start())["agrees"]
    moved = paths._moved
    wrong = CommonNoise("sigmoid", "0.3", "0.3", dim=4)
    monkeypatch.setattr(paths, "_moved", lambda model, given, *rest: moved(model, wrong, *rest))
    assert not paths._lyapunov(noise)["agrees"]
    assert not paths._one_point(noise, paths._start())["agrees"]


def test_paths_of_another_start_are_seen():
    noise = CommonNoise("relu", dim=3)
    law = pairs.pair_law(noise, 0.2, pairs._TIMES)
    own, other = (
        pairs.pair_paths(noise, start, pairs._TIMES, dt=0.1, paths=pairs._PATHS, rng=1)
        for start in (0.2, -0.4)
    )
    assert all(row["agrees"] for row in pairs._rows("own", own, law))
    assert not all(row["agrees"] for row in pairs._rows("other", other, law))


def test_digits_of_the_table_are_certified(tmp_path):
    (grid,) = layers.exponents_part(tmp_path).section.blocks
    cells = {row[:3]: row[3:] for row in grid.rows}
    assert len(cells) == 24
    assert cells["relu", "5", "0.1"][:2] == ("$-0.13$", "$0.17$")
    assert cells["tanh", "64", "0"][:2] == ("$-0.015019524$", "$0.030598711$")
    assert cells["sigmoid", "5", "0"][:2] == ("$-0.5113712$", "$-0.47708164$")
    with pytest.raises(ValueError, match="certified"):
        layers._shown(_Wide())


class _Wide:
    """A ball too wide for the digits of the table."""

    midpoint, radius = 0.123456789, 1e-6

    def __float__(self) -> float:
        return self.midpoint
