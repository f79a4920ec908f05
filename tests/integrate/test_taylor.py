"""The Taylor method: accuracy against tolerance, dense output, events, blow-up, structure, fallbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow import L2, Gaussian, Softmax, solve
from symflow.errors import BuildError, InputError
from symflow.integrate.taylor import PythonTaylorStepper
from symflow_ext import runtime

Array = np.ndarray[Any, np.dtype[np.float64]]


def example(d: int, rank: int | None = None) -> tuple[Gaussian, dict[str, Any]]:
    """Return a law and parameters A = −I + perturbation, V = I."""
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, rank or d)) / np.sqrt(d)
    cov = root @ root.T + (0.2 * np.eye(d) if rank is None else 0.0)
    a = -np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    return Gaussian(rng.normal(size=d), cov), {"A": a, "V": np.eye(d)}


def exact(law: Gaussian, params: dict[str, Any], t: float) -> Array:
    """Σ(t)⁻¹ = Σ₀⁻¹ − t(A + Aᵀ) for V = I."""
    s = params["A"] + params["A"].T
    return np.asarray(np.linalg.inv(np.linalg.inv(law.cov) - t * s))


def heads(seed: int, d: int, k: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"Q": (k, d), "K": (k, d), "V": (d, d)}
    return {name: 0.5 * rng.normal(size=shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
@pytest.mark.parametrize(("model", "d", "k"), [(Softmax(), 3, 2), (L2(), 3, 2), (L2(), 10, 3)])
def test_agrees_with_dop853(model: Any, d: int, k: int, backend: str) -> None:
    law, params = example(d)[0], heads(1, d, k)
    run = solve(model, law, params, (0, 0.5), method="taylor", rtol=1e-12, atol=1e-14, backend=backend)
    other = solve(model, law, params, (0, 0.5), method="dop853", rtol=1e-13, atol=1e-15)
    assert run.status == other.status == "finished"
    scale = np.abs(other.cov[-1]).max()
    assert np.abs(run.cov[-1] - other.cov[-1]).max() < 2e-11 * scale
    assert np.abs(run.mean[-1] - other.mean[-1]).max() < 2e-11 * np.abs(other.mean[-1]).max()


@pytest.mark.parametrize("d", [2, 3, 8, 12])
def test_the_error_follows_the_tolerance(d: int) -> None:
    """Ten steps and more add up: the error stays within a few tolerances and above a thousandth of one."""
    law, params = example(d)
    expected = exact(law, params, 10.0)
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12, 1e-13):
        run = solve(Softmax(), law, params, (0, 10), method="taylor", rtol=rtol, atol=1e-3 * rtol)
        error = np.abs(run.cov[-1] - expected).max() / np.abs(expected).max()
        assert error < 5 * rtol
        assert error > 1e-3 * rtol


def test_steps_have_the_order_of_the_series() -> None:
    """Steps of one size: halving them divides the error by 2^p, p the order."""
    law, params = example(2)
    expected, errors = exact(law, params, 1.0), []
    for h in (0.125, 0.0625):
        run = solve(
            Softmax(), law, params, (0, 1), method="taylor", rtol=1e-3, atol=1.0, max_step=h, first_step=h
        )
        assert len(run.t) == 1 + round(1.0 / h)
        errors.append(np.abs(run.cov[-1] - expected).max())
    order = np.log2(errors[0] / errors[1])
    assert 5.5 < order < 7.5  # order_for(1e-3) = 6


def test_dense_output_events_and_the_way_back() -> None:
    law, params = example(3)
    level = 0.5 * float(np.trace(law.cov))

    def crossing(t: float, mean: Array, cov: Array) -> float:
        return float(np.trace(cov)) - level

    kwargs: dict[str, Any] = {"method": "taylor", "rtol": 1e-12, "atol": 1e-14}
    times = np.linspace(0, 4, 23)
    run = solve(Softmax(), law, params, (0, 4), t_eval=times, events=crossing, dense_output=True, **kwargs)
    assert run.t.tolist() == times.tolist()
    for t, cov in zip(run.t, run.cov, strict=True):
        assert np.abs(cov - exact(law, params, float(t))).max() < 1e-11
    (found,) = run.t_events[0].tolist()
    assert abs(np.trace(exact(law, params, found)) - level) < 1e-11
    last = Gaussian(run.mean[-1], run.cov[-1])
    back = solve(Softmax(), last, params, (4, 0), **kwargs)
    assert np.abs(back.cov[-1] - law.cov).max() < 1e-9
    assert np.abs(back.mean[-1] - law.mean).max() < 1e-9


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_blow_up_time(d: int, backend: str) -> None:
    """t* = 1/λ_max(Σ₀^½ (A + Aᵀ) Σ₀^½) for V = I."""
    law, params = example(d)
    params["A"] = -params["A"]
    basis = np.linalg.cholesky(law.cov)
    t_star = 1.0 / float(np.linalg.eigvalsh(basis.T @ (params["A"] + params["A"].T) @ basis).max())
    run = solve(
        Softmax(), law, params, (0, 3 * t_star), method="taylor", rtol=1e-13, atol=1e-15, backend=backend
    )
    assert run.status == "blow-up"
    assert run.t_star is not None
    assert abs(run.t_star / t_star - 1) < 1e-9
    assert run.t[-1] < t_star
    assert np.isfinite(run.cov).all()


def test_long_stiff_run_of_a_singular_law_keeps_rank_and_semidefiniteness() -> None:
    """Rates from 1 to 1e4 over T = 1e3; a factor of rank 2 in dimension 4. A mean would grow like exp(t)."""
    law, params = example(4, rank=2)
    law = Gaussian(np.zeros(4), law.cov)
    params["A"] = -np.diag([1e4, 1e2, 1.0, 1.0])
    run = solve(Softmax(), law, params, (0, 1e3), method="taylor", rtol=1e-8)
    assert run.status == "finished"
    assert run.factor.shape[1:] == (4, 2)
    for cov in (run.cov[len(run.t) // 2], run.cov[-1]):
        values = np.linalg.eigvalsh(cov)
        assert values.min() > -1e-15 * values.max()
        assert np.linalg.matrix_rank(cov, tol=1e-12 * values.max()) <= 2
    implicit = solve(Softmax(), law, params, (0, 1e3), method="radau", rtol=1e-9)
    # decay to zero: compared in units of the initial law
    assert np.abs(run.cov[-1] - implicit.cov[-1]).max() < 1e-6 * np.abs(law.cov).max()


def test_nearly_singular_covariance() -> None:
    law, params = example(3)
    tiny = Gaussian(law.mean, law.cov * np.outer([1, 1e-6, 1e-6], [1, 1e-6, 1e-6]))
    run = solve(Softmax(), tiny, params, (0, 5), method="taylor", rtol=1e-10, atol=1e-16)
    other = solve(Softmax(), tiny, params, (0, 5), method="dop853", rtol=1e-12, atol=1e-18)
    assert np.abs(run.cov[-1] / other.cov[-1] - 1).max() < 1e-8
    assert np.linalg.eigvalsh(run.cov[-1]).min() > 0


def test_time_dependent_parameters_are_refused() -> None:
    law, params = example(2)
    params["A"] = lambda t: np.eye(2) * np.cos(t)
    with pytest.raises(InputError, match="constant in time, 'A' is not"):
        solve(Softmax(), law, params, (0, 1), method="taylor")


def test_without_a_compiler_the_runtime_executes_the_recurrences(monkeypatch: pytest.MonkeyPatch) -> None:
    from symflow.codegen import taylor_bind

    def none(*args: Any) -> Any:
        raise BuildError("no C compiler is on PATH")

    law, params = example(2)
    expected = solve(Softmax(), law, params, (0, 2), method="taylor")
    monkeypatch.setattr(taylor_bind, "_capsule", none)
    found = solve(Softmax(), law, params, (0, 2), method="taylor")
    assert found.t.size == expected.t.size
    assert np.abs(found.cov[-1] - expected.cov[-1]).max() < 1e-14


def scalar_riccati(order: int) -> Any:
    """Return what writes the coefficients of y' = y², y(0) = y: those of y/(1 − yt)."""

    def call(t: float, y: Array, out: Array) -> int:
        rows = out.reshape(-1, y.size)
        for k in range(len(rows)):
            rows[k] = y ** (k + 1)
        return 0

    return call


def test_python_steps_stop_at_a_pole() -> None:
    stepper = PythonTaylorStepper(
        scalar_riccati(16), 16, 0.0, np.array([2.0]), 1.0, rtol=1e-13, atol=np.array([1e-15])
    )
    times, states = np.empty(201), np.empty((201, 1))
    status, taken = stepper.advance(times, states, None, 200, 60.0)
    assert status == "blow-up"
    assert abs(stepper.singularity - 0.5) < 1e-10
    early = taken // 4  # close to the pole its distance is known to fewer digits
    assert np.allclose(states[:early, 0], 2.0 / (1.0 - 2.0 * times[:early]), rtol=1e-11)


def test_bad_sizes_are_refused() -> None:
    call = runtime.PyCall(lambda t, y, dy: None, 2)
    with pytest.raises(AttributeError):
        runtime.TaylorStepper(call, 0.0, np.zeros(2), 1.0, rtol=1e-6, atol=np.zeros(2))
    none = np.zeros((0, 15), dtype=np.int64), np.zeros((0, 2))
    series = runtime.Series(*none, 4, [], [(0, 2)], 2, 0, 1)
    with pytest.raises(ValueError, match="the order is 1"):
        runtime.TaylorStepper(series, 0.0, np.zeros(2), 1.0, rtol=1e-6, atol=np.zeros(2))
    with pytest.raises(ValueError, match="a constant at 3 of 2 numbers"):
        runtime.Series(*none, 4, [(3, np.zeros(2))], [(0, 2)], 2, 0, 1)
    series = runtime.Series(*none, 4, [], [(0, 2)], 2, 0, 3)
    with pytest.raises(ValueError, match="row = 3"):
        runtime.TaylorStepper(series, 0.0, np.zeros(2), 1.0, rtol=1e-6, atol=np.zeros(2), row=3)
