"""What may be asked of a run, and what is refused before any work."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from symflow import Gaussian, Softmax, compile, solve
from symflow.errors import InputError

LAW, PARAMS = Gaussian([1.0, 0.5], np.eye(2)), {"V": np.eye(2), "A": -np.eye(2)}


def run(t_span: Any = (0, 1), **options: Any) -> Any:
    return solve(Softmax(), LAW, PARAMS, t_span, **options)


@pytest.mark.parametrize(
    ("t_span", "options", "message"),
    [
        ((0, 1, 2), {}, r"t_span must be two times"),
        (1.0, {}, r"t_span must be two times"),
        ((0, float("nan")), {}, r"t_span\[1\] is nan"),
        ((0, float("inf")), {}, r"t_span\[1\] is inf"),
        ((0, 1), {"t_eval": [0, 0.5, 0.2]}, r"t_eval must be strictly increasing.*t_eval\[1\] = 0.5"),
        ((0, 1), {"t_eval": [0, 0.5, 0.5]}, r"t_eval must be strictly increasing without duplicates"),
        ((1, 0), {"t_eval": [0, 0.5]}, r"t_eval must be strictly decreasing"),
        ((0, 1), {"t_eval": [0, 1.1]}, r"t_eval\[1\] = .*1.1.* outside of t_span"),
        ((0, 1), {"t_eval": [-1e-9, 1]}, r"t_eval\[0\]"),
        ((0, 1), {"t_eval": [[0, 1]]}, r"t_eval must be a list"),
        ((0, 1), {"t_eval": [0, float("nan")]}, r"t_eval\[1\] is nan"),
        ((0, 1), {"method": "euler"}, r"method 'euler' is unknown; choose one of dop853"),
        ((0, 1), {"method": "rk4"}, r"give dt"),
        ((0, 1), {"dt": 0.1}, r"chooses its own steps"),
        ((0, 1), {"method": "rk4", "dt": -0.1}, r"dt = -0.1 must be positive"),
        ((0, 1), {"method": "rk4", "dt": 0}, r"dt = 0.0 must be positive"),
        ((0, 1), {"rtol": -1e-3}, r"rtol = -0.001 is negative"),
        ((0, 1), {"rtol": [1e-3, 1e-3]}, r"rtol must be one number"),
        ((0, 1), {"rtol": float("nan")}, r"rtol is nan"),
        ((0, 1), {"atol": -1e-3}, r"atol has a negative entry"),
        ((0, 1), {"atol": [1e-3] * 3}, r"atol must be a number or one number per coordinate \(2\)"),
        ((0, 1), {"max_step": 0}, r"max_step = 0.0 must be positive"),
        ((0, 1), {"first_step": -1}, r"first_step = -1.0 must be positive"),
        ((0, 1), {"max_wall_time": 0}, r"max_wall_time"),
        ((0, 1), {"callback": 3}, r"callback must be a function"),
        ((0, 1), {"backend": "gpu"}, r"backend 'gpu' is unknown"),
    ],
)
def test_bad_options_are_refused_by_name(t_span: Any, options: dict[str, Any], message: str) -> None:
    """N067, N079."""
    with pytest.raises(InputError, match=message):
        run(t_span, **options)


@pytest.mark.parametrize(
    ("span", "times", "kept"),
    [
        ((0, 0.3), [0, 0.1 + 0.2], [0.0, 0.3]),
        ((0.1 + 0.2, 1), [0.3, 1], [0.1 + 0.2, 1.0]),
        ((0.3, 0), [0.1 + 0.2, 0], [0.3, 0.0]),
        ((-0.3, 0), [-(0.1 + 0.2), 0], [-0.3, 0.0]),
    ],
)
def test_an_end_missed_by_rounding_is_accepted(span: Any, times: Any, kept: Any) -> None:
    """N064: at either end and in either direction."""
    found = run(span, t_eval=times)
    assert found.t.tolist() == kept
    assert np.isfinite(found.cov).all()


@pytest.mark.parametrize("rtol", [0.0, 1e-20])
def test_a_relative_tolerance_below_rounding_is_raised_with_a_warning(rtol: float) -> None:
    """N079."""
    with pytest.warns(UserWarning, match="below rounding"):
        found = run(rtol=rtol)
    assert found.success
    assert np.allclose(found.cov[-1], np.eye(2) / 3, rtol=1e-12)


def test_a_tolerance_for_each_coordinate() -> None:
    """N079."""
    assert run(atol=[1e-6, 1e-12]).success
    assert run(atol=0.0).success


def test_the_tolerance_is_felt() -> None:
    errors = [np.abs(run(rtol=rtol, atol=rtol).cov[-1] - np.eye(2) / 3).max() for rtol in (1e-4, 1e-8, 1e-12)]
    assert errors[0] < 1e-3
    assert errors[1] < 1e-7
    assert errors[2] < 1e-12
    assert run(rtol=1e-4).nfev < run(rtol=1e-12).nfev


def test_requested_times_are_met_exactly_and_do_not_change_the_steps() -> None:
    times = np.array([0.0, 1 / 3, 0.5, 1.0])
    found = run(t_eval=times)
    assert np.array_equal(found.t, times)
    assert np.allclose(found.cov[:, 0, 0], 1 / (1 + 2 * times), rtol=1e-8)
    assert np.array_equal(found.cov[-1], run().cov[-1])
    assert run(t_eval=[]).t.size == 0


def test_an_empty_interval() -> None:
    found = run((2, 2))
    assert (found.status, found.t.tolist()) == ("finished", [2.0])
    assert run((2, 2), method="radau").t.tolist() == [2.0]


def test_fixed_steps_end_at_the_end() -> None:
    found = run((0, 1), method="rk4", dt=0.3)
    assert np.allclose(found.t, [0, 0.3, 0.6, 0.9, 1.0])
    assert run((0, 1), method="rk4", dt=0.1).t.size == 11


def test_bounds_of_the_step() -> None:
    found = run(max_step=0.1, first_step=0.01)
    assert found.t[1] == 0.01
    assert np.diff(found.t).max() <= 0.1 * (1 + 1e-6)


@pytest.mark.parametrize("method", ["dop853", "radau"])
@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_a_callback_sees_every_step_and_may_end_the_run(method: str, backend: str) -> None:
    """U115."""
    seen: list[float] = []

    def callback(t: float, mean: Any, cov: Any) -> bool:
        assert mean.shape == (2,)
        assert cov.shape == (2, 2)
        seen.append(t)
        mean[:] = cov[:] = np.nan  # a copy: the run does not feel it
        return len(seen) == 4

    found = run((0, 100), callback=callback, method=method, backend=backend)
    assert (found.status, found.success) == ("stopped", False)
    assert found.t[1:].tolist() == seen
    assert "callback" in found.message
    assert np.isfinite(found.cov).all()


def test_a_callback_does_not_change_the_steps() -> None:
    assert np.array_equal(run(callback=lambda t, mean, cov: None).t, run().t)


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_the_wall_clock_ends_a_run(backend: str) -> None:
    """U115."""
    start = time.perf_counter()
    found = run((0, 1e9), method="rk4", dt=1e-4, max_wall_time=0.2, backend=backend, t_eval=[1e9])
    assert time.perf_counter() - start < 2.0
    assert found.status == "stopped"
    assert "max_wall_time" in found.message
    assert 0 < found.t[-1] < 1e9


def test_missing_runtime_steps_in_python_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from symflow.errors import BackendWarning, BuildError
    from symflow.integrate import backends, dense, methods

    expected = run(t_eval=[0.5, 1.0], backend="numpy", events=lambda t, mean, cov: t - 0.7)
    for module in (backends, methods):
        monkeypatch.setattr(module, "runtime", lambda: None)
    monkeypatch.setattr(dense, "_compiled_interpolate", lambda: None)
    with pytest.warns(BackendWarning, match="C compiler") as caught:
        found = run(t_eval=[0.5, 1.0], backend="numpy", events=lambda t, mean, cov: t - 0.7)
    assert len(caught) == 1
    assert found.nfev == expected.nfev
    assert np.allclose(found.cov, expected.cov, rtol=1e-9)
    assert np.allclose(found.t_events[0], [0.7])
    with pytest.raises(BuildError, match="C compiler"):
        run(backend="compiled")


def test_arrays_as_files_hold_them() -> None:
    """A dtype that spells out its byte order is float64 to NumPy, and not by its buffer."""
    spelled = np.dtype("f8").newbyteorder("<")
    times = np.array([0.0, 0.5, 1.0]).view(spelled)
    law, params = Gaussian([1.0], [[1.0]]), {"A": np.array([[-1.0]]).view(spelled), "V": [[1.0]]}
    plain = solve(Softmax(), law, params, (0, 1), t_eval=[0.0, 0.5, 1.0])
    found = solve(Softmax(), law, params, (0, 1), t_eval=times)
    mean, _ = compile(Softmax())(0.0, law.mean.view(spelled), law.cov.view(spelled), **params)
    assert mean == [0.0]  # VΣAα + Vα
    np.testing.assert_array_equal(found.cov, plain.cov)
