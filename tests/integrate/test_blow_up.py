"""Finite-time blow-up: status, time, and what must not be called so."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from symflow import L2, Gaussian, Linear, Sinkhorn, Softmax, solve
from symflow.errors import IntegrationError

LAW = Gaussian([1.0, 0.5], [[2.0, 0.5], [0.5, 1.0]])
A = np.array([[0.3, 0.7], [-0.2, -0.5]])


def closed_form(cov: Any, a: Any) -> float:
    """t* = 1/λ_max(Σ₀^½ (A + Aᵀ) Σ₀^½) for V = I."""
    values, basis = np.linalg.eigh(cov)
    root = basis * np.sqrt(np.maximum(values, 0.0)) @ basis.T
    return float(1.0 / np.linalg.eigvalsh(root @ (a + a.T) @ root).max())


@pytest.mark.parametrize(
    ("method", "s", "v", "a"),
    [
        *[("dop853", *v) for v in ((1.0, 1.0, 1.0), (0.9, 0.7, 0.4), (1e-3, 2.0, 3.0), (1e3, 1.0, 0.5))],
        ("dp5", 1.0, 1.0, 1.0),
        ("radau", 1.0, 1.0, 1.0),
    ],
)
def test_one_dimension(method: str, s: float, v: float, a: float) -> None:
    """N061: Σ = Σ₀/(1 − 2vaΣ₀t) ends at t* = ½ for Σ₀ = va = 1, also where T = 1 was asked for."""
    exact = 1.0 / (2 * v * a * s)
    run = solve(
        Softmax(), Gaussian(0.5, s), {"V": [[v]], "A": [[a]]}, (0, 2 * exact), method=method, atol=1e-14
    )
    assert (run.status, run.success) == ("blow-up", False)
    assert run.t_star is not None
    assert abs(run.t_star / exact - 1) < 1e-6
    assert run.t[-1] < exact
    assert np.isfinite(run.mean).all()
    assert np.isfinite(run.cov).all()
    assert f"{run.t_star:.10g}" in run.message


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_two_dimensions(backend: str) -> None:
    run = solve(Softmax(), LAW, {"V": np.eye(2), "A": A}, (0, 1), backend=backend)
    assert run.status == "blow-up"
    assert run.t_star is not None
    assert abs(run.t_star / closed_form(LAW.cov, A) - 1) < 1e-6
    assert abs(run.t_star - 0.61772) < 5e-6


@pytest.mark.parametrize("d", [3, 8, 20])
def test_more_dimensions_and_singular_covariances(d: int) -> None:
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d - 1)) / np.sqrt(d)
    a = np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
    law = Gaussian(rng.normal(size=d), root @ root.T)
    a *= closed_form(law.cov, a)  # so that t* = 1; the mean would overflow long before a late one
    exact = closed_form(law.cov, a)
    run = solve(Softmax(), law, {"V": np.eye(d), "A": a}, (0, 2 * exact))
    assert run.t_star is not None
    assert abs(run.t_star / exact - 1) < 1e-6


def test_backward_in_time() -> None:
    run = solve(Softmax(), LAW, {"V": np.eye(2), "A": -A}, (0, -1))
    assert run.status == "blow-up"
    assert run.t_star is not None
    assert abs(run.t_star / -closed_form(LAW.cov, A) - 1) < 1e-6


def test_a_run_that_does_not_start_at_zero() -> None:
    run = solve(Softmax(), LAW, {"V": np.eye(2), "A": A}, (100, 101))
    assert run.t_star is not None
    assert abs(run.t_star - 100 - closed_form(LAW.cov, A)) < 1e-6


def test_l2_with_a_key_map_of_deficient_rank() -> None:
    """K = [1, 0], Q = [0, 1], V = diag(0, 1): t* = (1 + 2Σ₁₁)/(2Σ₁₂) = 3."""
    law = Gaussian([0, 0], [[1.0, 0.5], [0.5, 1.0]])
    params = {"K": [[1, 0]], "Q": [[0, 1]], "V": np.diag([0, 1])}
    run = solve(L2(), law, params, (0, 5))
    assert run.status == "blow-up"
    assert run.t_star is not None
    assert abs(run.t_star / 3 - 1) < 1e-6
    assert (
        solve(L2(), law, {**params, "K": [[1, 0], [0, 1]], "Q": [[0, 1], [0, 0]]}, (0, 5)).status
        == "finished"
    )


def test_a_negative_definite_symmetrised_product_may_blow_up() -> None:
    """V = diag(1, 4), A = [[−1, −3], [0, −1]], Σ₀ = I: VA + AᵀVᵀ ≺ 0, yet Σ blows up near 1.385."""
    a, v = np.array([[-1.0, -3.0], [0.0, -1.0]]), np.diag([1.0, 4.0])
    assert np.linalg.eigvalsh(v @ a + a.T @ v).max() < 0
    run = solve(Softmax(), Gaussian([0, 0], np.eye(2)), {"V": v, "A": a}, (0, 3))
    assert run.t_star is not None
    assert abs(run.t_star - 1.385) < 1e-3


@pytest.mark.parametrize(
    ("method", "backend"), [("dop853", "compiled"), ("dop853", "numpy"), ("radau", "auto")]
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_radial_solution(method: str, backend: str, sign: float) -> None:
    """V = diag(1, 2), A = [[−1, −4], [1, −1]]: Σ' = 2Σ at Σ₀, hence Σ = Σ₀/(1 − 2t)."""
    cov, a, v = (
        np.array([[1.0, -1.0], [-1.0, 2.0]]),
        np.array([[-1.0, -4.0], [1.0, -1.0]]),
        np.diag([1.0, 2.0]),
    )
    assert (v @ cov @ a @ cov + (v @ cov @ a @ cov).T == 2.0 * cov).all()
    run = solve(
        Softmax(),
        Gaussian([0, 0], cov),
        {"V": sign * v, "A": a},
        (0, 2 * sign),
        method=method,
        backend=backend,
    )
    assert run.status == "blow-up"
    assert run.t_star is not None
    assert abs(run.t_star - 0.5 * sign) < 1e-9


def test_an_indefinite_product_that_is_global() -> None:
    """V = diag(2, 1), A = [[0, 1], [−1, 0]], Σ₀ = I: Σ = [[1, tanh t], [tanh t, 1]]."""
    params = {"V": np.diag([2.0, 1.0]), "A": [[0.0, 1.0], [-1.0, 0.0]]}
    times = np.array([0.0, 0.5, 1.0, 5.0, 50.0])
    run = solve(Softmax(), Gaussian([0, 0], np.eye(2)), params, (0, 50), t_eval=times)
    assert (run.status, run.t_star) == ("finished", None)
    exact = np.array([[[1.0, np.tanh(t)], [np.tanh(t), 1.0]] for t in times])
    assert np.abs(run.cov - exact).max() < 1e-8


def test_l2_with_a_key_map_of_deficient_rank_against_scipy() -> None:
    """V = diag(0.1, 1), the case above but for V: SciPy follows Σ to 1e12; t* is just behind."""
    gram, cross, v = np.diag([1.0, 0.0]), np.array([[0.0, 1.0], [0.0, 0.0]]), np.diag([0.1, 1.0])

    def drift(t: float, flat: Any) -> Any:
        cov = flat.reshape(2, 2)
        half = v @ np.linalg.solve(np.eye(2) + 2 * cov @ gram, 2 * cov @ cross @ cov)
        return (half + half.T).ravel()

    def large(t: float, flat: Any) -> float:
        return float(flat[0] + flat[3]) - 1e12

    large.terminal = True  # type: ignore[attr-defined]
    cov = np.array([[1.0, 0.5], [0.5, 1.0]])
    found = solve_ivp(drift, (0, 5), cov.ravel(), method="DOP853", rtol=1e-11, atol=1e-13, events=large)
    run = solve(L2(), Gaussian([0, 0], cov), {"K": [[1, 0]], "Q": [[0, 1]], "V": v}, (0, 5))
    assert run.t_star is not None
    assert found.status == 1
    assert 0 < run.t_star - found.t[-1] < 1e-4


@pytest.mark.parametrize("method", ["dop853", "rk4"])
@pytest.mark.parametrize("size", [1e3, 1e7, 1e12])
def test_a_large_mean_across_hides_no_singularity(method: str, size: float) -> None:
    """V = I, A = diag(1, 0), Σ₀ = I: Σ₁₁ = 1/(1 − 2t), while the mean in direction 2 is size·eᵗ."""
    law, params = Gaussian([0, size], np.eye(2)), {"V": np.eye(2), "A": np.diag([1.0, 0.0])}
    run = solve(Softmax(), law, params, (0, 2), method=method, dt=1e-3 if method == "rk4" else None)
    assert run.status == "blow-up"
    assert run.t_star is not None
    assert abs(run.t_star - 0.5) < (1e-3 if method == "rk4" else 1e-8)


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
@pytest.mark.parametrize("size", [1e-2, 1e-4])
def test_growth_that_looks_like_a_singularity_for_long(backend: str, size: float) -> None:
    """ℓ2, d = 1, K = ε, Q = 1/ε: Σ' = 4Σ²/(1 + 2ε²Σ), exponential only beyond Σ ~ 1/ε²."""
    params = {"K": [[size]], "Q": [[1.0 / size]], "V": [[1.0]]}
    run = solve(L2(), Gaussian(0.0, 1.0), params, (0, 1), backend=backend)
    assert (run.status, run.t_star) == ("non-finite", None)
    # 1/Σ₀ − 1/Σ + 2ε² log(Σ/Σ₀) = 4t, followed until |y|² = Σ leaves the floats
    assert abs(run.t[-1] - (1.0 + 2.0 * size**2 * np.log(np.finfo(float).max)) / 4.0) < 1e-3 * size**2 + 1e-8
    assert "not at a singularity" in run.message


def test_a_periodic_mean_and_a_long_decay_are_no_singularities() -> None:
    turning = {"V": [[0.0, 1.0], [-1.0, 0.0]], "A": np.zeros((2, 2))}
    assert solve(Softmax(), LAW, turning, (0, 200)).status == "finished"
    assert solve(Softmax(), LAW, {"V": np.eye(2), "A": -np.eye(2)}, (0, 300)).status == "finished"


def test_a_run_that_ends_before_the_singularity_finishes() -> None:
    exact = closed_form(LAW.cov, A)
    run = solve(Softmax(), LAW, {"V": np.eye(2), "A": A}, (0, exact * (1 - 1e-6)))
    assert (run.status, run.t_star) == ("finished", None)


def test_requested_times_up_to_the_end_and_the_last_point() -> None:
    run = solve(Softmax(), Gaussian(0, 1), {"V": [[1]], "A": [[1]]}, (0, 1), t_eval=np.linspace(0, 1, 11))
    assert run.t[:-1].tolist() == np.linspace(0, 1, 11)[:5].tolist()
    assert 0.499 < run.t[-1] < 0.5


def test_exponential_growth_is_non_finite() -> None:
    """A = 0: the mean grows like e^{Vt}, the covariance stays."""
    run = solve(Softmax(), Gaussian(1.0, 1.0), {"V": [[50.0]], "A": [[0.0]]}, (0, 100))
    assert (run.status, run.t_star) == ("non-finite", None)
    assert np.isfinite(run.mean).all()
    assert np.isfinite(run.cov).all()
    assert abs(run.t[-1] - np.log(1e154) / 50) < 0.1


@pytest.mark.parametrize("method", ["radau", "bdf"])
@pytest.mark.parametrize("rate", [1.0, 1e160])
def test_exponential_growth_that_overflows_in_an_implicit_method(method: str, rate: float) -> None:
    """α = eᵗ leaves the floats near t = 709.8; SciPy's linear algebra refuses what has overflowed."""
    params = {"V": [[rate]], "A": [[0.0]]}
    run = solve(Softmax(), Gaussian([1.0], [[1.0]]), params, (0, 1000), method=method, rtol=1e-4)
    assert (run.status, run.t_star) == ("non-finite", None)
    assert np.isfinite(run.mean).all()
    assert np.isfinite(run.cov).all()


def test_l2_growth_with_an_injective_key_map_is_non_finite() -> None:
    params = {"K": np.eye(1), "Q": np.eye(1), "V": [[100.0]]}
    run = solve(L2(), Gaussian(1.0, 1.0), params, (0, 100))
    assert run.status == "non-finite"
    assert np.isfinite(run.cov).all()


def test_failures_raise_on_request_and_carry_the_run() -> None:
    with pytest.raises(IntegrationError, match="blows up") as caught:
        solve(Softmax(), LAW, {"V": np.eye(2), "A": A}, (0, 1), raise_on_failure=True)
    assert caught.value.trajectory.status == "blow-up"


def test_a_two_dimensional_blow_up_is_fast() -> None:
    """The best of twenty, since the machine may be busy; stepping itself takes about a millisecond."""
    params = {"V": np.eye(2), "A": A}
    solve(Softmax(), LAW, params, (0, 1))
    best = np.inf
    for _ in range(20):
        start = time.perf_counter()
        solve(Softmax(), LAW, params, (0, 1))
        best = min(best, time.perf_counter() - start)
    assert best < 0.010


def test_a_point_blows_up_under_linear_attention() -> None:
    """A Dirac law in one dimension moves by x' = x³, which ends at 1/(2x₀²)."""
    for method in ("dop853", "dp5"):
        law = Gaussian([1.5], [[0.0]])
        run = solve(Linear(), law, {"A": [[1.0]], "V": [[1.0]]}, (0, 1), method=method)
        assert run.status == "blow-up"
        assert run.t_star == pytest.approx(1.0 / (2.0 * 1.5**2), rel=1e-8)


def test_a_root_that_overflows_does_not_freeze_the_run() -> None:
    """Σ' = (√(1+4Σ²) − 1) grows like e^{2t}: beyond the floats of 4Σ² there is no number, and no success."""
    law, params = Gaussian([0.0], [[1.0]]), {"A": [[1.0]], "V": [[1.0]]}
    for options in ({}, {"method": "dp5"}, {"method": "taylor"}, {"backend": "numpy"}):
        run = solve(Sinkhorn(), law, params, (0, 400), **options)
        assert run.status == "non-finite" and not run.success
        assert np.isfinite(run.cov).all() and run.cov[-1, 0, 0] > 1e150
