"""``verify`` and ``report`` as commands; what they contain is tested in their own rooms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from symflow.verify import Row, Table

GOOD = Row("softmax", "A, V", "right-hand side", "mpmath", 16, 0.7, 64.0, True, note="in ulp")
BAD = Row("softmax", "A, V", "trajectory", "SciPy", 4, float("nan"), 1e-8, False, worst="random, d = 3")


def test_verify_of_a_spec_file(symflow_command: Any, examples: Path) -> None:
    done = symflow_command("verify", examples / "own-score.toml", "--json")
    assert done.code == 0
    assert done.json["passed"] is True
    assert len({row["witness"] for row in done.json["rows"]}) >= 5


def test_verify_of_what_does_not_keep_gaussians(symflow_command: Any) -> None:
    done = symflow_command("verify", "sigmoid")
    assert done.code == 0
    assert "-3/8 ≠ 0" in done.stdout


@pytest.mark.parametrize(("rows", "code"), [((GOOD,), 0), ((GOOD, BAD), 1), ((), 1)])
def test_verify_shows_what_failed_and_where(
    symflow_command: Any, monkeypatch: pytest.MonkeyPatch, rows: tuple[Row, ...], code: int
) -> None:
    monkeypatch.setattr("symflow.verify.verify", lambda *_, **__: Table(rows))
    done = symflow_command("verify", "softmax")
    assert done.code == code
    assert ("random, d = 3" in done.stdout) is (BAD in rows)
    machine = symflow_command("verify", "softmax", "--json")
    assert machine.code == code
    assert machine.json["passed"] is (code == 0)


def test_report_refuses_a_folder_that_is_not_a_report(symflow_command: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("three years of work")
    done = symflow_command("report", tmp_path)
    assert done.code == 2
    assert str(tmp_path) in done.stderr
    assert (tmp_path / "thesis.tex").read_text() == "three years of work"


def test_report_on_a_spec_that_lacks_a_section(symflow_command: Any, tmp_path: Path) -> None:
    spec = tmp_path / "bare.toml"
    spec.write_text('[model]\nattention = "softmax"\n')
    done = symflow_command("report", tmp_path / "out", "--spec", spec)
    assert done.code == 2
    assert "is missing" in done.stderr
    assert not (tmp_path / "out").exists()


def test_report_refuses_a_run_that_it_would_show_without_its_noise(
    symflow_command: Any, examples: Path, tmp_path: Path
) -> None:
    done = symflow_command("report", tmp_path / "out", "--spec", examples / "noise-clusters-relu.toml")
    assert done.code == 2
    assert "symflow simulate" in done.stderr
    assert not (tmp_path / "out").exists()
