"""``simulate`` on every example, and what it saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

SMALL = ("softmax-zero", "softmax-line", "softmax-two-lines", "softmax-blow-up", "l2", "own-score")


@pytest.mark.parametrize("name", SMALL)
def test_every_example_runs_and_saves(
    symflow_command: Any, examples: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "run β.npz"
    found = symflow_command("simulate", examples / f"{name}.toml", "--out", out, "--json").json
    assert found["status"] == ("blow-up" if name == "softmax-blow-up" else "finished")
    with np.load(out) as saved:
        assert {"t", "mean", "cov"} <= set(saved.files)
        assert saved["cov"].shape == (saved["t"].size, found["d"], found["d"])
        np.testing.assert_array_equal(saved["cov"], np.swapaxes(saved["cov"], 1, 2))
        assert np.isfinite(saved["cov"]).all()


def _last(symflow_command: Any, path: Path, tmp_path: Path) -> np.ndarray[Any, Any]:
    symflow_command("simulate", path, "--out", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as saved:
        cov: np.ndarray[Any, Any] = saved["cov"][-1]
    return cov


def test_blow_up_time_is_reported(symflow_command: Any, examples: Path) -> None:
    found = symflow_command("simulate", examples / "softmax-blow-up.toml", "--json")
    assert found.code == 0
    cov, s = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[0.6, 0.5], [0.5, -1.0]])
    t_star = 1 / np.linalg.eigvals(cov @ s).real.max()  # V = I: closed form
    assert found.json["t_star"] == pytest.approx(t_star, rel=1e-6)  # what the solver promises
    assert found.json["success"] is False
    assert found.json["t_last"] < t_star


def test_line_regime_tends_to_the_limit_of_its_comment(
    symflow_command: Any, examples: Path, tmp_path: Path
) -> None:
    cov0, n = np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones((2, 1))
    limit = n @ np.linalg.inv(n.T @ np.linalg.inv(cov0) @ n) @ n.T
    cov = _last(symflow_command, examples / "softmax-line.toml", tmp_path)
    assert np.abs(cov - limit).max() < 2 / 50  # decay is 1/t with a constant below 2, and t = 50


def test_two_lines_regime_depends_on_the_sign_of_the_correlation(
    symflow_command: Any, examples: Path, tmp_path: Path
) -> None:
    text = (examples / "softmax-two-lines.toml").read_text(encoding="utf-8")
    mirrored = tmp_path / "mirror.toml"
    mirrored.write_text(
        text.replace("[[1.0, 0.5], [0.5, 1.0]]", "[[1.0, -0.5], [-0.5, 1.0]]"), encoding="utf-8"
    )
    plus = _last(symflow_command, examples / "softmax-two-lines.toml", tmp_path)
    minus = _last(symflow_command, mirrored, tmp_path)
    for cov, direction in ((plus, [1, 1]), (minus, [1, -1])):
        values, vectors = np.linalg.eigh(cov)
        assert values[0] < 1e-6 * values[1]
        np.testing.assert_allclose(abs(vectors[:, 1] @ direction), np.sqrt(2), rtol=1e-6)


def test_shrinks_to_zero(symflow_command: Any, examples: Path, tmp_path: Path) -> None:
    cov = _last(symflow_command, examples / "softmax-zero.toml", tmp_path)
    s = np.array([[-1.0, 0.6], [0.6, -2.0]])
    np.testing.assert_allclose(
        cov, np.linalg.inv(np.linalg.inv([[2.0, 0.5], [0.5, 1.0]]) - 20 * s), rtol=1e-7
    )


def test_human_output_and_bad_requests(symflow_command: Any, examples: Path, tmp_path: Path) -> None:
    shown = symflow_command("simulate", examples / "l2.toml")
    assert shown.code == 0
    assert "finished" in shown.stdout
    assert "eigenvalues" in shown.stdout
    assert symflow_command("simulate", examples / "l2.toml", "--out", tmp_path / "x.csv").code == 2
    nowhere = symflow_command("simulate", examples / "l2.toml", "--out", tmp_path / "absent" / "x.npz")
    assert nowhere.code == 2
    assert "folder" in nowhere.stderr
    bare = tmp_path / "bare.toml"
    bare.write_text('[model]\nattention = "softmax"\n')
    done = symflow_command("simulate", bare)
    assert done.code == 2
    assert "[parameters] is missing" in done.stderr


@pytest.mark.parametrize(
    ("solver", "words"),
    [('method = "dop583"', ["dop583", "dop853"]), ('method = "rk4"', ["dt"])],
)
def test_solver_refusals_are_bad_input(
    symflow_command: Any, examples: Path, tmp_path: Path, solver: str, words: list[str]
) -> None:
    text = (examples / "l2.toml").read_text(encoding="utf-8").split("[solver]")[0]
    path = tmp_path / "run.toml"
    path.write_text(text + "[solver]\n" + solver + "\n", encoding="utf-8")
    done = symflow_command("simulate", path)
    assert done.code == 2
    for word in words:
        assert word in done.stderr


def test_positions_have_spectra_of_their_own(symflow_command: Any, examples: Path) -> None:
    found = symflow_command("simulate", examples / "masked-linear.toml", "--json").json
    assert (found["d"], found["positions"]) == (2, 4)
    assert np.array(found["eigenvalues_last"]).shape == (4, 2)
    assert (np.diff(found["eigenvalues_last"], axis=1) < 0).all()
    shown = symflow_command("simulate", examples / "masked-linear.toml")
    assert shown.code == 0
    assert "at the last position" in shown.stdout


def test_head_of_a_trained_transformer(symflow_command: Any, examples: Path) -> None:
    found = symflow_command("simulate", examples / "minilm-head.toml", "--json").json
    assert found["d"] == 384
    assert found["status"] == "finished"
    eigenvalues = found["eigenvalues_last"]
    assert eigenvalues[383] < 1e-12 * eigenvalues[0] < eigenvalues[382]
