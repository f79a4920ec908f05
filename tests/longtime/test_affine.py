"""Affine flows at long times, against the compiled flow, SciPy and the eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import fmpq_poly
from scipy.linalg import solve_continuous_lyapunov

from symflow import L2, Gaussian, Linear, Sinkhorn, Softmax, long_time, solve
from symflow.longtime.settling import is_hurwitz

I2 = np.eye(2)
ZERO = np.zeros((2, 2))
COV = [[1.0, 0.5], [0.5, 1.0]]
STABLE = [[-1.0, 2.0], [0.0, -0.5]]
TURN = [[0.0, 1.0], [-1.0, 0.0]]
START = Gaussian([1, -1], COV)
NOISY = Softmax(sign=0, feed_forward=True, diffusion=0.5)
QUIET = Softmax(sign=0, feed_forward=True)


def _params(W: Any) -> dict[str, Any]:
    return {"V": I2, "A": I2, "W": W, "c": [1, 0]}


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (NOISY, _params(STABLE)),
        (NOISY, _params(TURN)),
        (QUIET, _params(TURN)),
        (Softmax(feed_forward=True, diffusion=0.5), _params(STABLE) | {"A": ZERO}),
        (Linear(feed_forward=True, diffusion=0.5), _params(STABLE) | {"A": ZERO}),
        (Sinkhorn(feed_forward=True, diffusion=0.5), _params(STABLE) | {"A": ZERO}),
        (L2(feed_forward=True), {"V": I2, "Q": ZERO, "K": I2, "W": STABLE, "c": [1, 0]}),
        (Softmax(diffusion=0.5), {"V": [[1, 0], [0, 2]], "A": ZERO}),
    ],
)
def test_closed_forms_follow_the_compiled_flow(model: Any, params: Any) -> None:
    result = long_time(model, START, params)
    assert result.criterion.name == "affine"
    assert result.global_in_time is True
    run = solve(model, START, params, (0, 2), t_eval=[2], rtol=1e-12, atol=1e-14)
    mean, cov = result.closed_form(2.0)
    np.testing.assert_allclose(cov, run.cov[-1], rtol=1e-9, atol=1e-11)
    assert (mean is None) == isinstance(model, L2)  # there the covariance enters the mean
    if mean is not None:
        np.testing.assert_allclose(mean, run.mean[-1], rtol=1e-9, atol=1e-11)
    assert result.check()


@pytest.mark.parametrize("dim", [2, 7])
def test_noise_settles_at_the_solution_of_lyapunovs_equation(dim: int) -> None:
    W = np.random.default_rng(dim).integers(-4, 5, (dim, dim)) / 4 - 3 * np.eye(dim)
    params = {"V": np.eye(dim), "A": np.eye(dim), "W": W, "c": np.ones(dim)}
    result = long_time(NOISY, Gaussian(np.zeros(dim), np.eye(dim)), params)
    wanted = solve_continuous_lyapunov(W, -np.eye(dim))
    np.testing.assert_allclose(np.array(result.steady_state, float), wanted, rtol=1e-12, atol=1e-14)
    assert result.limit == result.steady_state
    assert result.limit_rank == dim
    mean = np.array(result.witnesses["mean_limit"], float)[:, 0]
    np.testing.assert_allclose(mean, -np.linalg.solve(W, np.ones(dim)), rtol=1e-12)
    late_mean, late = result.closed_form(100.0)
    np.testing.assert_allclose(late, wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(late_mean, mean, rtol=1e-10)


@pytest.mark.parametrize("W", [TURN, [[0, 1], [0, 0]], [[-1, 0], [0, 0.5]], [[-1, 3], [1, -1]]])
def test_without_stability_noise_has_no_steady_state(W: Any) -> None:
    result = long_time(NOISY, START, _params(W))
    assert (result.steady_state, result.limit) == (None, None)
    assert "no steady state exists" in result.reason
    sizes = [np.trace(result.closed_form(t)[1]) for t in (5.0, 10.0, 20.0)]
    assert sizes[1] - sizes[0] > 1  # at least 2ε for every unit of time
    assert sizes[2] - sizes[1] > 2
    assert result.check()


@pytest.mark.parametrize(
    ("W", "cov", "limit"),
    [
        (STABLE, COV, ZERO),
        (TURN, I2, I2),  # turned into itself
        (TURN, COV, None),
        ([[0, 1], [0, -1]], COV, [[3, 0], [0, 0]]),  # e^{tW} → [[1, 1], [0, 0]]
        ([[1, 0], [0, -1]], [[0, 0], [0, 1]], ZERO),  # the unstable direction is not reached
        ([[1, 0], [0, -1]], COV, None),
    ],
)
def test_limits_without_noise(W: Any, cov: Any, limit: Any) -> None:
    result = long_time(QUIET, Gaussian([1, -1], cov), _params(W))
    assert result.criterion.name == "affine"
    if limit is None:
        assert result.limit is None
    else:
        np.testing.assert_array_equal(np.array(result.limit, float), limit)
        np.testing.assert_allclose(result.closed_form(50.0)[1], limit, atol=1e-9)
    assert result.check()


def test_routh_agrees_with_the_eigenvalues() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(200):
        roots = rng.integers(-4, 2, 3) / 2
        pair = rng.integers(-3, 2), rng.integers(0, 3)
        polynomial = fmpq_poly([int(pair[0] ** 2 + pair[1] ** 2), -2 * int(pair[0]), 1])
        for root in roots:
            polynomial *= fmpq_poly([-int(2 * root), 2])
        stable = bool(max(*roots, pair[0]) < 0)
        assert is_hurwitz(polynomial) == stable
        seen.add(stable)
    assert seen == {True, False}


def test_a_normaliser_that_may_diverge_is_not_taken_for_affine() -> None:
    from symflow import Attention

    model = Attention("dot(x, B*y) + dot(y, C*y)/2", feed_forward=True)
    params = {"B": ZERO, "C": I2, "V": I2, "W": I2, "c": [0, 0]}
    result = long_time(model, Gaussian([0, 0], 0.5 * I2), params)
    assert result.global_in_time is None


def test_times_before_the_start_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        long_time(NOISY, START, _params(STABLE)).closed_form(-1.0)
