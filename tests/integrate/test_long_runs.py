"""Long runs from nearly singular laws at loose tolerances keep their structure: N074, N075."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from symflow import Gaussian, Softmax, long_time, solve

D, T, LOOSE = 6, 1e6, {"rtol": 1e-4, "atol": 1e-9}
METHODS = ["dop853", "dp5", "taylor", "radau"]


def _axes(seed: int) -> np.ndarray[Any, Any]:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(D, D)))[0]


@cache
def _law(rank: int = D, span: float = 10.0) -> Gaussian:
    """Return a law whose eigenvalues go from 1 down by ``span`` powers of ten, ``rank`` of them."""
    factor = _axes(0)[:, :rank] * np.sqrt(np.logspace(0, -span, rank))
    return Gaussian(np.zeros(D), factor @ factor.T)


@cache
def _params() -> dict[str, Any]:
    """Return V ≻ 0 and A with A + Aᵀ ⪯ 0 of rank 3 and spread 10⁴: bounded, with fast and slow directions."""
    axes, skew = _axes(1), np.random.default_rng(2).normal(size=(D, D))
    V = axes @ np.diag(np.linspace(0.5, 2.0, D)) @ axes.T
    A = -axes[:, :3] @ np.diag([1e2, 1.0, 1e-2]) @ axes[:, :3].T + 0.1 * (skew - skew.T)
    return {"V": V, "A": A}


@cache
def _run(method: str, rank: int = D) -> Any:
    return solve(Softmax(), _law(rank), _params(), (0, T), method=method, **LOOSE)


def _require_structure(cov: Any) -> None:
    assert np.array_equal(cov, cov.transpose(0, 2, 1))
    values = np.linalg.eigvalsh(cov)
    assert (values[:, 0] >= -1e-12 * values[:, -1]).all()


@pytest.mark.parametrize("method", METHODS)
def test_symmetric_and_semidefinite_until_the_end(method: str) -> None:
    run = _run(method)
    assert run.status == "finished"
    _require_structure(run.cov)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rank", [1, 3])
def test_rank_is_kept_until_the_end(method: str, rank: int) -> None:
    run = _run(method, rank)
    assert run.status == "finished"
    _require_structure(run.cov)
    assert run.factor.shape[2] == rank
    values = np.linalg.eigvalsh(run.cov)[:, ::-1]
    assert (np.abs(values[:, rank:]) < 1e-12 * values[:, :1]).all()


def test_an_error_that_grows_is_not_called_a_blow_up() -> None:
    """The flow is bounded; at this tolerance BDF's error makes Σ indefinite, which then diverges."""
    run = solve(Softmax(), _law(), _params(), (0, T), method="bdf", **LOOSE)
    assert run.status == "step-too-small"
    assert "reduce rtol and atol" in run.message
    assert run.t_star is None
    _require_structure(run.cov)
    tight = solve(Softmax(), _law(), _params(), (0, T), method="bdf", rtol=1e-9, atol=1e-18)
    assert tight.status == "finished"
    _require_structure(tight.cov)


def test_the_weighted_trace_never_grows() -> None:
    """d/dt tr(V⁻¹Σ) = tr(Σ(A + Aᵀ)Σ) ≤ 0: an exact bound, which the loose tolerance may miss by a little."""
    run = _run("dop853")
    trace = np.trace(np.linalg.solve(_params()["V"], run.cov), axis1=1, axis2=2)
    assert (np.diff(trace) <= 1e-4 * trace[:-1]).all()


@pytest.mark.parametrize("method", METHODS)
def test_small_eigenvalues_are_those_of_the_closed_form(method: str) -> None:
    """V = I: Σ⁻¹ = Σ₀⁻¹ − tS. Eigenvalues fall by 1/t or stay, over ten powers of ten, each to 1 %."""
    axes = _axes(0)
    weights = np.logspace(0, -10, D)
    rates = np.array([0.0, 1e4, 1.0, 0.0, 1e2, 0.0])  # along the axes of Σ₀, so that each has its exact value
    law = Gaussian(np.zeros(D), (axes * weights) @ axes.T)
    A = -(axes * rates) @ axes.T / 2
    run = solve(Softmax(), law, {"V": np.eye(D), "A": A}, (0, T), method=method, rtol=1e-6, atol=1e-14)
    found = np.linalg.svd(run.factor[-1], compute_uv=False) ** 2
    expected = np.sort(weights / (1 + rates * T * weights))[::-1]
    np.testing.assert_allclose(found, expected, rtol=0.01)


def test_the_limit_rank_is_decided_where_no_tolerance_can() -> None:
    """The smallest eigenvalue of the limit is 10⁻⁸ of the largest; a run and a threshold would not tell."""
    Q = np.array([[1.0, 0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0, 0]])
    law = Gaussian(np.zeros(D), np.diag([1.0, 1.0, 1.0, 1e-2, 1e-4, 1e-8]))
    found = long_time(Softmax(), law, {"Q": Q, "K": -Q, "V": np.eye(D)})
    assert found.limit_rank == 4
    np.testing.assert_allclose(np.diag(np.array(found.limit, float)), [0, 0, 1, 1e-2, 1e-4, 1e-8], rtol=1e-12)
