"""``simulate`` of networks and of tokens with noise: one path, or many with the path first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symflow import Softmax, ensemble
from symflow.spec import load_spec

_TOKENS = """\
[model]
attention = "softmax"
space = "sphere"
sign = 0
[initial]
tokens = "uniform"
n = 5
d = 3
seed = 3
"""
_NETWORK = "[network]\nlayers = 6\nwidth = 8\nhorizon = 1.5\n"
_TIME = "[time]\nt_span = [0, 0.5]\npoints = 3\n"


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """``written(text)`` is the path of a spec file with these sections after model and tokens."""

    def write(text: str) -> Path:
        (tmp_path / "cloud.toml").write_text(_TOKENS + text)
        return tmp_path / "cloud.toml"

    return write


@pytest.mark.parametrize("paths", [1, 3])
def test_a_network(symflow_command: Any, written: Any, tmp_path: Path, paths: int) -> None:
    path = written(f'{_NETWORK}[noise]\nactivation = "relu"\nsigma_w = 0.1\nseed = 7\npaths = {paths}\n')
    done = symflow_command("simulate", path, "--out", tmp_path / "x.npz", "--json")
    assert done.code == 0
    found = done.json
    assert (found["status"], found["success"], found["layers"], found["seed"]) == ("finished", True, 6, 7)
    spec = load_spec(path)
    run = spec.deep_transformer().run(spec.initial, 7, paths=paths)
    with np.load(tmp_path / "x.npz") as saved:
        np.testing.assert_array_equal(saved["x"], run.x)
        assert saved["x"].shape == ((7, 5, 3) if paths == 1 else (3, 2, 5, 3))
        assert saved["t"][-1] == found["t_last"] == 1.5


def test_paths_of_the_equation(symflow_command: Any, written: Any, tmp_path: Path) -> None:
    path = written(f'{_TIME}[noise]\nactivation = "relu"\ndt = 0.1\nseed = 7\npaths = 4\n')
    done = symflow_command("simulate", path, "--out", tmp_path / "x.npz", "--json")
    assert done.code == 0 and done.json["statuses"] == {"finished": 4} and done.json["paths"] == 4
    spec = load_spec(path)
    model = Softmax(space="sphere", sign=0)
    runs = ensemble(
        model,
        spec.initial,
        {},
        (0, 0.5),
        t_eval=[0, 0.25, 0.5],
        noise=spec.common_noise(),
        dt=0.1,
        rng=7,
        paths=4,
    )
    with np.load(tmp_path / "x.npz") as saved:
        np.testing.assert_array_equal(saved["x"], runs.x)
    shown = symflow_command("simulate", path)
    assert shown.code == 0 and "4 of 4" in shown.stdout
    one = symflow_command("simulate", written(f'{_TIME}[noise]\nactivation = "relu"\ndt = 0.1\nseed = 7\n'))
    assert one.code == 0 and "reached t = 0.5" in one.stdout


def test_what_is_missing_is_named(symflow_command: Any, written: Any) -> None:
    done = symflow_command("simulate", written(f'{_TIME}[noise]\nactivation = "relu"\n'))
    assert done.code == 2 and "dt" in done.stderr
    done = symflow_command("simulate", written('[noise]\nactivation = "relu"\ndt = 0.1\n'))
    assert done.code == 2 and "[time]" in done.stderr
