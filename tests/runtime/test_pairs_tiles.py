"""Sums over pairs by tiles and Sinkhorn's scaling, against sums in extended precision and exact scalings."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from symflow_ext.contract import HEADER

SUM, SOFTMAX, SINKHORN = 0, 1, 2
MIXED, CUBIC = 0, 1
NOT_CONVERGED = 4
LANES = (8, 4, 2)

POINTER, SIZE = ctypes.c_void_p, ctypes.c_ssize_t


class Job(ctypes.Structure):
    """The record of symflow_pairs.h."""

    _fields_ = (
        ("n", SIZE), ("pitch", SIZE), ("normalise", ctypes.c_int), ("causal", ctypes.c_int),
        ("symmetric", ctypes.c_int), ("theta", POINTER), ("widths", SIZE * 4), ("left", POINTER * 4),
        ("right", POINTER * 4), ("rows", POINTER * 8), ("columns", POINTER * 8), ("scalars", POINTER),
        ("width", SIZE), ("feature", POINTER), ("average", POINTER), ("mass", POINTER), ("work", POINTER),
        ("linalg", POINTER),
    )  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile the driver: without optimisation, since that takes longer than the tests."""
    target = tmp_path_factory.mktemp("pairs") / "pairs.so"
    compiler = os.environ.get("CC", "").split() or [
        shutil.which("cc") or sysconfig.get_config_var("CC").split()[0]
    ]
    flags = ["-O0", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-pthread", f"-I{HEADER.parent}"]
    source = Path(__file__).with_name("pairs_driver.c")
    subprocess.run([*compiler, *flags, str(source), "-o", str(target), "-lm"], check=True)
    loaded = ctypes.CDLL(str(target))
    loaded.work.restype = SIZE
    return loaded


def _sums(
    library: ctypes.CDLL,
    x: np.ndarray,
    left: Sequence[np.ndarray],
    right: Sequence[np.ndarray],
    numbers: np.ndarray | None = None,
    *,
    theta: np.ndarray | None = None,
    normalise: int = SOFTMAX,
    causal: bool = False,
    symmetric: bool = False,
    lanes: int = 8,
    threads: int = 1,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return averages, masses and the status; whatever lies beyond n in the arrays handed over is zero."""
    n, pitch = len(x), (len(x) + 7) // 8 * 8 + 8
    kept: list[np.ndarray] = []

    def put(rows: np.ndarray) -> int:
        kept.append(np.zeros((len(rows), pitch)))
        kept[-1][:, :n] = rows
        return kept[-1].ctypes.data

    job = Job(n=n, pitch=pitch, normalise=normalise, causal=causal, symmetric=symmetric, width=x.shape[1])
    for m, (of_query, of_key) in enumerate(zip(left, right, strict=True)):
        job.widths[m], job.left[m], job.right[m] = of_query.shape[1], put(of_query.T), put(of_key.T)
    numbers = np.zeros((3, n)) if numbers is None else numbers
    job.rows[0], job.columns[0], job.columns[1] = (put(row[None]) for row in numbers)
    job.theta = None if theta is None else put(theta[None])
    scalars = np.array([1.0])
    average, mass = np.full((x.shape[1], pitch), np.nan), np.full(pitch, np.nan)
    job.scalars, job.feature = scalars.ctypes.data, put(x.T)
    job.average, job.mass = average.ctypes.data, mass.ctypes.data
    work = np.full(library.work(ctypes.byref(job), len(left)), np.nan)
    job.work = work.ctypes.data
    term = CUBIC if len(left) == 1 else MIXED
    status = library.run(ctypes.byref(job), term, lanes, threads)
    if not status:
        assert not average[:, n:].any() and not mass[n:].any()
    return average[:, :n].T, mass[:n], status


def _expected(
    scores: np.ndarray, x: np.ndarray, theta: np.ndarray | None, normalise: int, causal: bool, cubic: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same by its definition, in extended precision."""
    n, s = len(x), scores.astype(np.longdouble)
    counted = np.tril(np.ones((n, n), bool)) if causal else np.ones((n, n), bool)
    shift = np.where(counted, s, -np.inf).max(axis=1, keepdims=True) if normalise else np.longdouble(0)
    weights = np.where(counted, s**3 if cubic else np.exp(np.where(counted, s - shift, 0)), 0)
    weights = weights * (np.full(n, 1 / np.longdouble(n)) if theta is None else theta)
    mass = weights.sum(axis=1) if normalise else np.ones(n)
    return (weights @ x / mass[:, None], weights.sum(axis=1) / mass)


def _tokens(n: int, d: int, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    x, q, k = (rng.normal(size=(n, size)) for size in (d, 11, 11))
    theta = rng.uniform(0.2, 1.0, n)
    return x, q, k, rng.normal(size=(n, 3)), rng.normal(size=(3, n)), theta / theta.sum()


def _mixed(q: np.ndarray, k: np.ndarray, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    gaps = z[:, None] - z[None]
    return q @ k.T - (gaps**2).sum(axis=2) + np.outer(numbers[0], numbers[2]) + numbers[1]


def _close(got: np.ndarray, wanted: np.ndarray, scores: np.ndarray) -> None:
    """Scores are rounded to epsilon times their size and that of their parts; weights follow."""
    tolerance = 1e-15 * (20 + 4 * np.abs(scores).max())
    assert np.abs(got - wanted).max() <= tolerance * np.abs(wanted).max()


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 9), (7, 20), (48, 33), (49, 8), (101, 40)])
@pytest.mark.parametrize("causal", [False, True])
def test_averages_of_any_score(library: ctypes.CDLL, n: int, d: int, lanes: int, causal: bool) -> None:
    x, q, k, z, numbers, theta = _tokens(n, d, seed=n)
    scores = _mixed(q, k, z, numbers)
    for normalise in (SOFTMAX, SUM):
        options: dict[str, Any] = {"theta": theta, "normalise": normalise, "causal": causal}
        average, mass, status = _sums(library, x, [q, z], [k, z], numbers, lanes=lanes, **options)
        wanted = _expected(scores, x, **options, cubic=False)
        assert status == 0
        _close(average, wanted[0], scores)
        _close(mass, wanted[1], scores)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", [1, 50, 150])
@pytest.mark.parametrize("beta", [1.0, 40.0, 1e5])
def test_pairs_met_once_have_shifts_of_their_own(
    library: ctypes.CDLL, n: int, beta: float, lanes: int
) -> None:
    """From scores that need no shift to tiles whose scores are far apart; one token is an outlier."""
    x, q, _, z, _, theta = _tokens(n, 10, seed=3)
    q[-1] *= 30.0
    scores = beta * (q @ q.T)
    for weights in (None, theta):
        average, mass, _ = _sums(
            library, x, [beta * q, z[:, :0]], [q, z[:, :0]], theta=weights, symmetric=True, lanes=lanes
        )
        wanted, _ = _expected(scores, x, weights, SOFTMAX, causal=False, cubic=False)
        _close(average, wanted, scores)
        assert np.array_equal(mass, np.ones(n))


@pytest.mark.parametrize("shift", [-1e8, -5e3, 5e3, 1e8])
def test_a_shift_of_all_scores_changes_nothing(library: ctypes.CDLL, shift: float) -> None:
    x, q, k, z, numbers, _ = _tokens(100, 9, seed=5)
    numbers[1] = np.round(numbers[1]) + shift
    scores = _mixed(q, k, z, numbers)
    average, _, _ = _sums(library, x, [q, z], [k, z], numbers)
    _close(average, _expected(scores, x, None, SOFTMAX, causal=False, cubic=False)[0], scores)


def test_far_apart_shifts_in_one_row_of_tiles(library: ctypes.CDLL) -> None:
    """Keys of later tiles have larger scores by thousands, so that sums move on and what is old vanishes."""
    n = 240
    x, q, k, z, numbers, _ = _tokens(n, 9, seed=6)
    for order in (1.0, -1.0):
        numbers[1] = order * 5e3 * (np.arange(n) // 48)
        scores = _mixed(q, k, z, numbers)
        average, _, _ = _sums(library, x, [q, z], [k, z], numbers)
        _close(average, _expected(scores, x, None, SOFTMAX, causal=False, cubic=False)[0], scores)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_other_weights(library: ctypes.CDLL, lanes: int, symmetric: bool) -> None:
    x, q, k, _, _, theta = _tokens(77, 13, seed=7)
    k = q if symmetric else k
    options: dict[str, Any] = {"theta": theta, "normalise": SUM, "causal": False}
    average, mass, _ = _sums(library, x, [q], [k], symmetric=symmetric, lanes=lanes, **options)
    wanted = _expected(q @ k.T, x, **options, cubic=True)
    _close(average, wanted[0], q @ k.T)
    _close(mass, wanted[1], q @ k.T)


def test_distances_do_not_cancel(library: ctypes.CDLL) -> None:
    """Tokens 1e-6 apart at distance 1e6 from the origin: expanded squares would lose every digit."""
    rng = np.random.default_rng(8)
    z = 1e6 + 2.0**-20 * rng.integers(0, 4, size=(60, 3))
    x, empty = rng.normal(size=(60, 9)), np.zeros((60, 1))
    average, _, _ = _sums(library, x, [empty, 1e6 * (z - 1e6) + 1e6], [empty, 1e6 * (z - 1e6) + 1e6])
    scores = -((1e6 * (z[:, None] - z[None])) ** 2).sum(axis=2)
    _close(average, _expected(scores, x, None, SOFTMAX, causal=False, cubic=False)[0], scores)


@pytest.mark.parametrize("beta", [1.0, 1e3])
@pytest.mark.parametrize(("normalise", "symmetric"), [(SOFTMAX, False), (SOFTMAX, True), (SINKHORN, True)])
def test_threads_change_no_bit(library: ctypes.CDLL, beta: float, normalise: int, symmetric: bool) -> None:
    x, q, _, z, _, _ = _tokens(330, 10, seed=9)
    arguments = x, [beta * q, z[:, :0]], [q, z[:, :0]]
    runs = [
        _sums(library, *arguments, normalise=normalise, symmetric=symmetric, threads=threads)
        for threads in (1, 2, 3)
    ]
    assert all(np.array_equal(runs[0][0], other[0]) for other in runs[1:])


def _scaled(scores: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the doubly stochastic weights by alternating scalings in 40 digits."""
    n = len(theta)
    with mpmath.workdps(40):
        kernel = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                kernel[i, j] = mpmath.exp(mpmath.mpf(float(scores[i, j]))) * float(theta[j])
        v = [mpmath.mpf(1)] * n
        for _ in range(400):
            u = [1 / mpmath.fsum(kernel[i, j] * v[j] for j in range(n)) for i in range(n)]
            v = [
                float(theta[j]) / mpmath.fsum(float(theta[i]) * u[i] * kernel[i, j] for i in range(n))
                for j in range(n)
            ]
        return np.array([[float(u[i] * kernel[i, j] * v[j]) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_scaling_by_other_arithmetic(library: ctypes.CDLL, lanes: int, symmetric: bool) -> None:
    x, q, k, z, _, theta = _tokens(6, 3, seed=11)
    q, k = q / 3.0, q / 3.0 if symmetric else k / 3.0
    average, mass, status = _sums(
        library,
        x, [q, z[:, :0]], [k, z[:, :0]],
        theta=theta, normalise=SINKHORN, symmetric=symmetric, lanes=lanes,
    )  # fmt: skip
    weights = _scaled(q @ k.T, theta)
    assert status == 0 and np.array_equal(mass, np.ones(6))
    assert np.abs(theta @ weights - theta).max() < 1e-15  # the reference has converged
    # Marginals within 1e-13 of one: weights are off by that over the gap of the scaling, above 1/20 here.
    assert np.abs(average - weights @ x).max() < 2e-12


def _marginal_error(average: np.ndarray, indicator: np.ndarray) -> float:
    """Features are the coordinates of tokens: columns sum to one, so their mean is kept."""
    return float(np.abs(average.mean(axis=0) - indicator.mean(axis=0)).max())


def _signs(count: int) -> np.ndarray:
    return np.where(np.arange(count) % 2, -1.0, 1.0)[:, None]


CASES: dict[str, Callable[[np.ndarray], tuple[float, np.ndarray, bool]]] = {
    "attractive": lambda u: (1e3, u, True),
    "repulsive": lambda u: (-30.0, u, True),
    "weak": lambda u: (1e-6, u, True),
    "turned": lambda u: (20.0, u[:, ::-1] * np.array([1.0, 0.5, -1.0]), False),
    "coincident": lambda u: (1e3, np.broadcast_to(u[:1], u.shape), True),
    "antipodal": lambda u: (1e3, u[:1] * _signs(len(u)), True),
    "antipodal, repulsive": lambda u: (-1e3, u[:1] * _signs(len(u)), True),
    "one": lambda u: (7.0, u[:1], True),
}


@pytest.mark.parametrize("case", CASES)
def test_columns_are_stochastic(library: ctypes.CDLL, case: str) -> None:
    """From a kernel that is nearly constant to one that is nearly a matching."""
    rng = np.random.default_rng(12)
    u = rng.normal(size=(60, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    beta, other, symmetric = CASES[case](u)
    tokens = other if symmetric else u
    n = len(tokens)
    x, empty = np.eye(n), np.zeros((n, 0))
    average, _, status = _sums(
        library, x, [beta * tokens, empty], [other, empty], normalise=SINKHORN, symmetric=symmetric
    )
    assert status == 0
    assert np.abs(average.sum(axis=1) - 1.0).max() < 1e-12 and average.min() >= 0.0
    # The rule: 1e-13, and 4 epsilon (max|f| + max|g|), which is at most 4 epsilon 2 beta.
    assert n * _marginal_error(average, x) < 2e-13 + 8 * 2.3e-16 * abs(beta)


def test_potentials_of_other_tokens_are_not_remembered(library: ctypes.CDLL) -> None:
    x, q, _, z, _, _ = _tokens(50, 3, seed=13)
    options: dict[str, Any] = {"normalise": SINKHORN, "symmetric": True}
    first = _sums(library, x, [q, z[:, :0]], [q, z[:, :0]], **options)[0]
    _sums(library, 2 * x, [3 * q, z[:, :0]], [q, z[:, :0]], **options)
    assert np.array_equal(first, _sums(library, x, [q, z[:, :0]], [q, z[:, :0]], **options)[0])


def test_a_kernel_without_scaling_is_refused(library: ctypes.CDLL) -> None:
    """Tokens 0 and 2 see token 1 alone, which does not see itself: no column can have the mass of both."""
    x, empty = np.eye(3), np.zeros((3, 0))
    far = 1e200  # its square overflows: the weight is exactly zero
    of_queries, of_keys = np.array([[0.0], [far], [0.0]]), np.array([[far], [0.0], [far]])
    _, _, status = _sums(library, x, [empty, of_queries], [empty, of_keys], normalise=SINKHORN)
    assert status == NOT_CONVERGED
