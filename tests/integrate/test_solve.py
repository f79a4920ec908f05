"""Integration against SciPy on the moments, closed forms, and the structure of covariances."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from symflow import L2, Attention, Gaussian, MultiHead, Softmax, compile, solve

Array = np.ndarray[Any, np.dtype[np.float64]]


def softmax_moments(a: Array, v: Array) -> Any:
    """The moment equations written out by hand, for SciPy."""
    d = a.shape[0]

    def rhs(t: float, y: Array) -> Array:
        alpha, sigma = y[:d], y[d:].reshape(d, d)
        half = v @ sigma @ a @ sigma
        return np.concatenate([v @ (alpha + sigma @ a @ alpha), (half + half.T).ravel()])

    return rhs


def l2_moments(q: Array, k: Array, v: Array) -> Any:
    d = v.shape[0]

    def rhs(t: float, y: Array) -> Array:
        alpha, sigma = y[:d], y[d:].reshape(d, d)
        gain = v @ np.linalg.inv(np.eye(d) + 2 * sigma @ k.T @ k)
        half = 2 * gain @ sigma @ k.T @ q @ sigma
        return np.concatenate([gain @ (alpha + 2 * sigma @ k.T @ q @ alpha), (half + half.T).ravel()])

    return rhs


def by_scipy(
    rhs: Any, law: Gaussian, t_span: tuple[float, float], t_eval: Array | None = None
) -> tuple[Array, Array]:
    y0 = np.concatenate([law.mean, law.cov.ravel()])
    found = solve_ivp(rhs, t_span, y0, "Radau", rtol=1e-11, atol=1e-13, t_eval=t_eval).y.T
    d = law.dim
    return found[:, :d], found[:, d:].reshape(-1, d, d)


def example(d: int, seed: int = 0, rank: int | None = None) -> tuple[Gaussian, Array, Array]:
    rng = np.random.default_rng(seed)
    a = -np.eye(d) + 0.4 * rng.normal(size=(d, d)) / np.sqrt(d)
    v = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    root = rng.normal(size=(d, d if rank is None else rank))
    cov = root @ root.T / d
    return Gaussian(rng.normal(size=d), 0.5 * (cov + cov.T)), a, v


@pytest.mark.parametrize("method", ["dop853", "dp5", "rk4", "radau", "bdf"])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("backward", [False, True])
def test_softmax_against_scipy(method: str, d: int, backward: bool) -> None:
    law, a, v = example(d)
    span = (0.5, 0.2) if backward else (0.0, 1.5)
    times = np.linspace(*span, 7)
    run = solve(
        Softmax(),
        law,
        {"A": a, "V": v},
        span,
        t_eval=times,
        method=method,
        dt=1e-3 if method == "rk4" else None,
    )
    mean, cov = by_scipy(softmax_moments(a, v), law, span, times)
    assert run.status == "finished"
    assert np.array_equal(run.t, times)
    bound = 1e-6 if method == "bdf" else 2e-8  # rtol = 1e-9 per step; BDF keeps its tolerance less tightly
    assert np.allclose(run.mean, mean, rtol=bound, atol=bound)
    assert np.allclose(run.cov, cov, rtol=bound, atol=bound)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_l2_against_scipy(k: int) -> None:
    law, _, v = example(3)
    q, key = np.random.default_rng(5).normal(size=(2, k, 3)) / 2
    run = solve(L2(), law, {"Q": q, "K": key, "V": v}, (0, 1), t_eval=[0.3, 1.0])
    mean, cov = by_scipy(l2_moments(q, key, v), law, (0, 1), np.array([0.3, 1.0]))
    assert np.allclose(run.mean, mean, rtol=1e-8, atol=1e-9)
    assert np.allclose(run.cov, cov, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("d", [20, 70])
def test_larger_sizes_against_scipy(d: int) -> None:
    """C039: one kernel, the size chosen at call time."""
    law, a, v = example(d)
    run = solve(Softmax(), law, {"A": a, "V": v}, (0, 0.5), t_eval=[0.5])
    y0 = np.concatenate([law.mean, law.cov.ravel()])
    found = solve_ivp(softmax_moments(a, v), (0, 0.5), y0, "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    assert np.allclose(run.mean[-1], found[:d], rtol=1e-8, atol=1e-9)
    assert np.allclose(run.cov[-1].ravel(), found[d:], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("backend", ["numpy", "compiled"])
def test_forward_and_back_again(backend: str) -> None:
    """N066: m and Σ at T = 1 in closed form, and back to the start."""
    params = {"V": [[0.7]], "A": [[0.4]]}
    there = solve(Softmax(), Gaussian(0.5, 0.9), params, (0, 1), backend=backend)
    assert abs(there.mean[-1, 0] - 1.4296683518) < 1e-9
    assert abs(there.cov[-1, 0, 0] - 1.8145161290) < 1e-9
    back = solve(Softmax(), Gaussian(there.mean[-1], there.cov[-1]), params, (1, 0), backend=backend)
    assert back.status == "finished"
    beyond = solve(Softmax(), Gaussian(0.5, 0.9), params, (0, 3), backend=backend)
    assert beyond.t_star == pytest.approx(1.98412698, abs=1e-8)
    assert np.all(np.diff(back.t) < 0)
    assert abs(back.mean[-1, 0] - 0.5) < 1e-8
    assert abs(back.cov[-1, 0, 0] - 0.9) < 1e-8


@pytest.mark.parametrize("backend", ["numpy", "compiled"])
def test_closed_form_for_commuting_values(backend: str) -> None:
    """V = I, A = Aᵀ: Σ = Σ₀^½ (I − 2tM)⁻¹ Σ₀^½ with M = Σ₀^½ A Σ₀^½."""
    law, a, _ = example(4)
    a = 0.5 * (a + a.T)
    times = np.linspace(0.0, 10.0, 11)
    run = solve(Softmax(), law, {"A": a, "V": np.eye(4)}, (0, 10), t_eval=times, backend=backend)
    values, basis = np.linalg.eigh(law.cov)
    root = basis * np.sqrt(values) @ basis.T
    exact = [root @ np.linalg.solve(np.eye(4) - 2 * t * root @ a @ root, root) for t in times]
    assert np.allclose(run.cov, exact, rtol=1e-7, atol=1e-9)


def test_backends_agree() -> None:
    law, a, v = example(5)
    first, second = (
        solve(Softmax(), law, {"A": a, "V": v}, (0, 2), backend=b) for b in ("compiled", "numpy")
    )
    assert first.nfev == second.nfev
    assert np.allclose(first.t, second.t, rtol=1e-4)  # the error estimate feels rounding
    dense = [
        solve(Softmax(), law, {"A": a, "V": v}, (0, 2), t_eval=[1, 2], backend=b)
        for b in ("compiled", "numpy")
    ]
    assert np.allclose(dense[0].cov, dense[1].cov, rtol=1e-9)


# ------------------------------------------------------------------------------------- structure


@pytest.mark.parametrize("method", ["dop853", "dp5", "radau"])
def test_symmetric_and_semidefinite_at_loose_tolerance(method: str) -> None:
    """N074."""
    law, a, v = example(6, seed=2)
    run = solve(Softmax(), law, {"A": a, "V": v}, (0, 50), rtol=1e-4, atol=1e-6, method=method)
    assert run.status == "finished"
    assert np.array_equal(run.cov, run.cov.transpose(0, 2, 1))
    eigenvalues = np.linalg.eigvalsh(run.cov)
    assert (eigenvalues[:, 0] >= -1e-12 * eigenvalues[:, -1]).all()


@pytest.mark.parametrize("method", ["dop853", "rk4", "radau"])
@pytest.mark.parametrize("model", [Softmax(), L2()])
def test_rank_one_stays_rank_one(method: str, model: Any) -> None:
    """N075."""
    law, a, v = example(3, rank=1)
    params = {"Q": a, "K": np.eye(3), "V": v}
    run = solve(model, law, params, (0, 1), method=method, dt=0.01 if method == "rk4" else None)
    assert run.status == "finished"
    assert run.factor.shape[2] == 1
    eigenvalues = np.linalg.eigvalsh(run.cov)
    assert (np.abs(eigenvalues[:, :2]) < 1e-12 * eigenvalues[:, 2:]).all()


def test_a_dirac_moves_and_stays_a_dirac() -> None:
    run = solve(Softmax(), Gaussian([1.0, 2.0], np.zeros((2, 2))), {"A": np.eye(2), "V": np.eye(2)}, (0, 1))
    assert np.allclose(run.mean[-1], np.exp(1.0) * np.array([1.0, 2.0]), rtol=1e-8)
    assert not run.cov.any()


def test_a_dimension_of_its_own_for_each_axis() -> None:
    """N073."""
    law, a, v = example(2)
    run = solve(Softmax(), law, {"A": a, "V": v}, (0, 1), t_eval=np.linspace(0, 1, 7))
    assert run.mean.shape == (7, 2)
    assert run.cov.shape == (7, 2, 2)
    assert run.factor.shape == (7, 2, 2)


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_runs_in_threads_do_not_disturb_each_other(backend: str) -> None:
    examples = [example(3, seed) for seed in range(8)]

    def run(law: Gaussian, a: Array, v: Array) -> Array:
        return solve(Softmax(), law, {"A": a, "V": v}, (0, 2), backend=backend).cov

    alone = [run(*arguments) for arguments in examples]
    with ThreadPoolExecutor(4) as executor:
        together = list(executor.map(run, *zip(*examples, strict=True)))
    assert all(np.array_equal(first, second) for first, second in zip(alone, together, strict=True))


_BITS = """
import hashlib, numpy as np
from symflow import L2, Gaussian, Softmax, solve
rng, d = np.random.default_rng(0), 130
root, a, v = rng.normal(size=(3, d, d)) / np.sqrt(d)
cov = np.einsum("ij,kj->ik", root, root)
law, digest = Gaussian(rng.normal(size=d), 0.5 * (cov + cov.T)), hashlib.sha256()
for run in (
    solve(Softmax(), law, {"A": a, "V": v}, (0, 0.05), t_eval=[0.02, 0.05], rtol=1e-6),
    solve(L2(), law, {"Q": a, "K": a, "V": v}, (0, 0.05), t_eval=[0.02, 0.05], rtol=1e-6),
):
    digest.update(run.mean)
    digest.update(run.cov)
print(digest.hexdigest())
"""


def test_same_bits_for_any_number_of_threads_of_blas() -> None:
    """Also with the processor's own kernels, where OpenBLAS itself gives other bits for two threads."""
    digests = set()
    for threads in ("1", "2"):
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
        environment |= {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        run = subprocess.run(
            [sys.executable, "-c", _BITS], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(run.stdout)
    assert len(digests) == 1


def test_one_run_does_not_disturb_another() -> None:
    law, a, v = example(2)
    alone = solve(Softmax(), law, {"A": a, "V": v}, (0, 1))
    inner: list[Any] = []

    def callback(t: float, mean: Array, cov: Array) -> None:
        inner.append(solve(Softmax(), law, {"A": a, "V": v}, (0, 1)))

    outer = solve(Softmax(), law, {"A": a, "V": v}, (0, 1), callback=callback)
    assert np.array_equal(outer.cov, alone.cov)
    assert all(np.array_equal(run.cov, alone.cov) for run in inner)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_root_of_the_dimension_scales_score_and_tilt(method: str) -> None:
    law, params = (
        Gaussian([1, 0], np.diag([0.5, 1.0])),
        {"A": -np.eye(2), "V": np.eye(2), "C": np.diag([0.5, -1])},
    )
    scaled = solve(Attention("(dot(x, A*y) + dot(y, C*y)/2)/sqrt(d)"), law, params, (0, 1), method=method)
    plain = Attention("dot(x, A*y) + dot(y, C*y)/2", temperature="sqrt(2)")
    assert np.allclose(scaled.cov[-1], solve(plain, law, params, (0, 1)).cov[-1], atol=1e-7)


def test_unlike_heads_add_their_velocities() -> None:
    rng = np.random.default_rng(5)
    a, v, q, k, u = rng.normal(size=(2, 2)), -np.eye(2), *rng.normal(size=(2, 1, 2)), rng.normal(size=(2, 2))
    law = Gaussian([0.5, -0.2], [[1.0, 0.2], [0.2, 0.5]])
    params = {"A_1": a, "V_1": v, "Q_2": q, "K_2": k, "V_2": u}
    run = solve(MultiHead([Softmax(), L2()]), law, params, (0, 0.3), t_eval=[0.3])
    first, second = compile(Softmax(), "numpy"), compile(L2(), "numpy")

    def slope(t: float, y: Any) -> Any:
        mean, cov = y[:2], y[2:].reshape(2, 2)
        parts = first(t, mean, cov, A=a, V=v), second(t, mean, cov, Q=q, K=k, V=u)
        return np.concatenate([sum(p[0] for p in parts), sum(p[1] for p in parts).ravel()])

    start = np.concatenate([law.mean, law.cov.ravel()])
    exact = solve_ivp(slope, (0, 0.3), start, rtol=1e-11, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(np.concatenate([run.mean[-1], run.cov[-1].ravel()]), exact, rtol=1e-8)
