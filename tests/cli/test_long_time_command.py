"""``long-time``: what is decided about a spec file, in words, JSON and LaTeX."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest


def test_a_limit_with_its_rank(symflow_command: Any, examples: Path) -> None:
    found = symflow_command("long-time", examples / "softmax-line.toml", "--json")
    assert found.code == 0
    known = found.json
    assert known["criterion"]["name"] == "commuting"
    assert known["limit_rank"] == 1
    assert known["global_in_time"] is True
    assert known["limit"]["exact"] == [["7/8", "7/8"], ["7/8", "7/8"]]
    np.testing.assert_array_equal(known["limit"]["value"], np.full((2, 2), 0.875))
    assert known["limit"]["radius"] == 0
    assert known["checked"] is True


def test_a_blow_up_time_is_exact(symflow_command: Any, examples: Path) -> None:
    known = symflow_command("long-time", examples / "softmax-blow-up.toml", "--json").json
    cov, s = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[0.6, 0.5], [0.5, -1.0]])
    t_star = 1 / np.linalg.eigvals(cov @ s).real.max()  # V = I: closed form
    assert known["blow_up_time"]["value"] == pytest.approx(t_star, rel=1e-14)
    assert "root" in known["blow_up_time"]["exact"]
    assert known["limit"] is None


def test_documents_and_words(symflow_command: Any, examples: Path, tmp_path: Path) -> None:
    spec = examples / "softmax-line.toml"
    shown = symflow_command("long-time", spec)
    assert shown.code == 0
    assert "commuting" in shown.stdout
    assert "$" not in shown.stdout
    assert r"\documentclass" in symflow_command("long-time", spec, "--format", "latex").stdout
    assert r"\documentclass" not in symflow_command("long-time", spec, "--fragment").stdout
    done = symflow_command("long-time", spec, "--format", "html", "--out", tmp_path / "a β", "--json")
    assert "<math" in Path(done.json["path"]).read_text(encoding="utf-8")
    assert symflow_command("long-time", spec, "--fragment", "--format", "html").code == 2


def test_what_is_open_says_why_and_has_exit_code_1(symflow_command: Any, tmp_path: Path) -> None:
    path = tmp_path / "irrational.toml"
    path.write_text(
        '[model]\nattention = "softmax"\ntemperature = "sqrt(2)"\n[parameters]\nV = [[1]]\nA = [[-1]]\n'
        "[initial]\nmean = [0]\ncov = [[1]]\n"
    )
    found = symflow_command("long-time", path, "--json")
    assert found.code == 1
    assert found.json["criterion"] is None
    assert "irrational" in found.json["reason"]
    assert "nothing" in symflow_command("long-time", path).stdout


def test_a_spec_without_an_initial_law_is_bad_input(symflow_command: Any, tmp_path: Path) -> None:
    path = tmp_path / "bare.toml"
    path.write_text('[model]\nattention = "softmax"\n[parameters]\nV = [[1]]\nA = [[-1]]\n')
    done = symflow_command("long-time", path)
    assert done.code == 2
    assert "[initial] is missing" in done.stderr
