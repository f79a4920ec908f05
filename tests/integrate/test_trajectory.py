"""Results: accessors on every kind of run, files, dense output."""

from __future__ import annotations

import importlib.util
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symflow import Gaussian, Softmax, Trajectory, solve
from symflow.errors import InputError

LAW, SHRINKING, EXPLODING = (
    Gaussian([1.0, 0.5], np.eye(2)),
    {"V": np.eye(2), "A": -np.eye(2)},
    {"V": np.eye(2), "A": np.eye(2)},
)


@pytest.fixture(params=["finished", "blow-up"])
def trajectory(request: pytest.FixtureRequest) -> Any:
    params = SHRINKING if request.param == "finished" else EXPLODING
    found = solve(Softmax(), LAW, params, (0, 1), dense_output=True, events=lambda t, mean, cov: t - 0.25)
    assert found.status == request.param
    return found


def test_accessors_work_however_a_run_ends(trajectory: Any) -> None:
    """N082."""
    assert trajectory.mean[-1].shape == (2,)
    assert trajectory.cov[-1].shape == (2, 2)
    assert trajectory.success == (trajectory.status == "finished")
    assert trajectory.message
    described = json.loads(json.dumps(trajectory.to_dict()))
    assert described["status"] == trajectory.status
    assert np.array_equal(described["cov"], trajectory.cov)
    assert "\n" not in repr(trajectory)
    assert trajectory.status in repr(trajectory)


def test_files_hold_everything_but_the_dense_output(trajectory: Any, tmp_path: Path) -> None:
    path = trajectory.save(tmp_path / "ein Lauf Σ")
    assert path == tmp_path / "ein Lauf Σ.npz"
    loaded = Trajectory.load(path)
    for name in ("t", "mean", "cov", "factor"):
        assert np.array_equal(getattr(loaded, name), getattr(trajectory, name))
    for name in ("status", "message", "t_star", "nfev", "model", "method"):
        assert getattr(loaded, name) == getattr(trajectory, name)
    assert np.array_equal(loaded.t_events[0], trajectory.t_events[0])
    assert np.array_equal(loaded.cov_events[0], trajectory.cov_events[0])
    with pytest.raises(InputError, match="no dense output"):
        loaded.sol(0.1)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(InputError, match=r"other.npz is not a saved trajectory"):
        Trajectory.load(tmp_path / "other.npz")


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(InputError, match=r"text.npz is not a saved trajectory: it is not an .npz file"):
        Trajectory.load(tmp_path / "text.npz")
    with pytest.raises(FileNotFoundError):
        Trajectory.load(tmp_path / "absent.npz")


def test_an_interrupted_save_leaves_the_old_file(
    trajectory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trajectory.save(tmp_path / "run.npz")
    before = path.read_bytes()

    def interrupted(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trajectory.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_saving_into_no_folder_is_refused(trajectory: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder .*absent does not exist"):
        trajectory.save(tmp_path / "absent" / "run.npz")


def test_trajectories_pickle_with_their_dense_output(trajectory: Any) -> None:
    copy = pickle.loads(pickle.dumps(trajectory))
    assert np.array_equal(copy.cov, trajectory.cov)
    assert np.array_equal(copy.sol(0.3)[1], trajectory.sol(0.3)[1])


@pytest.mark.parametrize("method", ["dop853", "dp5", "rk4", "radau"])
@pytest.mark.parametrize("span", [(0.0, 1.0), (0.4, 0.0)])
def test_dense_output_between_the_steps(method: str, span: tuple[float, float]) -> None:
    fixed = {"dt": 0.01} if method == "rk4" else {}
    found = solve(
        Softmax(),
        Gaussian(0.0, 0.5),
        {"V": [[1]], "A": [[-1]]},
        span,
        method=method,
        dense_output=True,
        **fixed,
    )
    times = np.linspace(*span, 57)
    mean, cov = found.sol(times)
    exact = 1 / (2 + 2 * (times - span[0]))
    assert mean.shape == (57, 1)
    assert np.allclose(cov[:, 0, 0], exact, rtol=1e-7)
    assert np.array_equal(found.sol(found.t)[1], found.cov) or method == "radau"
    assert found.sol(times[3])[1].shape == (1, 1)


def test_dense_output_refuses_times_outside(trajectory: Any) -> None:
    with pytest.raises(InputError, match="outside of the run"):
        trajectory.sol(-0.1)
    with pytest.raises(InputError, match="outside of the run"):
        trajectory.sol([0.1, 1.5])


def test_without_dense_output_the_message_says_how_to_get_it() -> None:
    with pytest.raises(InputError, match="dense_output=True"):
        solve(Softmax(), LAW, SHRINKING, (0, 1)).sol(0.5)


def test_covariances_of_the_dense_output_are_symmetric(trajectory: Any) -> None:
    _, cov = trajectory.sol(np.linspace(0, trajectory.t[-1], 100))
    assert np.array_equal(cov, cov.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(cov)[:, 0] >= -1e-12 * np.linalg.eigvalsh(cov)[:, 1]).all()


def test_xarray_is_optional(trajectory: Any) -> None:
    if importlib.util.find_spec("xarray") is None:
        with pytest.raises(ImportError, match="pip install xarray"):
            trajectory.to_xarray()
    else:
        assert dict(trajectory.to_xarray().sizes) == {"time": trajectory.t.size, "row": 2, "column": 2}
