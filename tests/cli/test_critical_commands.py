"""``symflow check`` of critical points: energy and tokens from a spec file, certificates that replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ENERGY = '[energy]\nname = "interaction"\nbeta = 1\n[initial]\n'


@pytest.fixture
def run(symflow_command: Any, tmp_path: Path) -> Any:
    """Run ``symflow check CLAIM SPEC`` with an initial state, and replay what it wrote."""

    def check(claim: str, initial: str) -> Any:
        path, certificate = tmp_path / "run.toml", tmp_path / "certificate.json"
        path.write_text(ENERGY + initial, encoding="utf-8")
        done = symflow_command("check", claim, path, "--json", "--certificate", certificate)
        assert symflow_command("replay", certificate, "--json").json["accepted"]
        return done

    return check


def test_a_strict_saddle_of_a_spec(run: Any) -> None:
    done = run("saddle", "tokens = [[1, 0], ['-1/2', 'sqrt(3)/2'], ['-1/2', '-sqrt(3)/2']]")
    assert (done.code, done.json["status"]) == (0, "proved")


def test_consensus_differs_from_what_is_documented(run: Any) -> None:
    done = run("saddle", "tokens = [[1, 0], [1, 0]]")
    assert (done.code, done.json["status"]) == (1, "refuted")
    assert done.json["witness"]


def test_the_landscape_on_the_circle(run: Any) -> None:
    done = run("critical-points", "tokens = 'uniform'\nn = 4\nd = 2")
    assert (done.code, done.json["status"]) == (0, "proved")
    assert "consensus" not in done.json["reason"]
    assert "(0.25, 0.25, 0.25, 0.25): 3/0" in done.json["scope"]
