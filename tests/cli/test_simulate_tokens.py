"""``simulate`` of tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symflow import Softmax, solve

_SPEC = """\
[model]
attention = "softmax"
space = "sphere"
beta = 4
[initial]
tokens = "uniform"
n = 5
d = 2
seed = 3
[time]
t_span = [0, 20]
points = 6
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "cloud.toml").write_text(_SPEC)
    return tmp_path / "cloud.toml"


def test_tokens_are_saved_with_their_times(symflow_command: Any, path: Path, tmp_path: Path) -> None:
    done = symflow_command("simulate", path, "--out", tmp_path / "x.npz", "--json")
    assert done.code == 0
    found = done.json
    assert (found["n"], found["d"], found["space"]) == (5, 2, "sphere")
    assert (found["status"], found["t_star"], found["points"]) == ("finished", None, 6)
    with np.load(tmp_path / "x.npz") as saved:
        assert {"t", "x"} <= set(saved.files)
        t, x = saved["t"], saved["x"]
    assert x.shape == (6, 5, 2)
    np.testing.assert_allclose(np.linalg.norm(x, axis=2), 1.0, rtol=1e-12)
    run = solve(Softmax(space="sphere", beta=4), x[0], {}, (0, 20), t_eval=t)
    np.testing.assert_allclose(x, run.x, rtol=0, atol=1e-12)
    deviation = x[-1] - x[-1].mean(axis=0)
    assert found["spread_last"] == pytest.approx(np.sqrt((deviation**2).sum(axis=1).mean()))
    assert found["spread_last"] < found["spread_first"]


def test_people_see_how_tokens_come_together(symflow_command: Any, path: Path) -> None:
    shown = symflow_command("simulate", path)
    assert shown.code == 0
    assert "root mean square distance" in shown.stdout
    assert "finished" in shown.stdout


def test_what_needs_a_law_says_so(symflow_command: Any, path: Path) -> None:
    done = symflow_command("long-time", path)
    assert done.code == 2
    assert "[initial]" in done.stderr
