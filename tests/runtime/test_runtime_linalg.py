"""The runtime's linear algebra against NumPy, and its bits against the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from symflow_ext import runtime

SHAPES = [
    (1, 1, 1),
    (2, 3, 4),
    (1, 6, 5),
    (5, 1, 7),
    (12, 12, 12),
    (13, 3, 2),
    (65, 1, 129),
    (1, 80, 80),
    (70, 80, 1),
]


@pytest.mark.parametrize("shape", [*SHAPES, (3, 4, 0), (70, 80, 0), (100, 70, 130), (200, 64, 65)])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_gemm(shape: tuple[int, int, int], trans_a: bool, trans_b: bool) -> None:
    m, n, k = shape
    rng = np.random.default_rng(7)
    a = rng.normal(size=(k, m) if trans_a else (m, k))
    b = rng.normal(size=(n, k) if trans_b else (k, n))
    product = (a.T if trans_a else a) @ (b.T if trans_b else b)
    bound = 4 * np.finfo(float).eps * max(k, 1) * (np.abs(a).max(initial=0) * np.abs(b).max(initial=0) + 1)
    c = np.full((m, n), np.nan)  # beta = 0 must not read it
    runtime.gemm(a, b, c, trans_a=trans_a, trans_b=trans_b)
    assert np.abs(c - product).max() <= bound
    start = rng.normal(size=(m, n))
    c = start.copy()
    runtime.gemm(a, b, c, alpha=-0.5, beta=2.0, trans_a=trans_a, trans_b=trans_b)
    assert np.abs(c - (2.0 * start - 0.5 * product)).max() <= 4 * bound


@pytest.mark.parametrize("n", [1, 2, 5, 32, 63, 64, 65, 100, 200])
@pytest.mark.parametrize("columns", [1, 3, 70])
@pytest.mark.parametrize("trans", [False, True])
def test_lu_solve(n: int, columns: int, trans: bool) -> None:
    rng = np.random.default_rng(n)
    a, x = rng.normal(size=(n, n)), rng.normal(size=(n, columns))
    factors, pivots, b = a.copy(), np.zeros(n, np.intp), (a.T if trans else a) @ x
    right = b.copy()
    assert runtime.lu(factors, pivots) == 0
    runtime.lu_solve(factors, pivots, b, trans=trans)
    residual = np.abs((a.T if trans else a) @ b - right).max()
    # backward stable: a few ulp per operation; the pivots of random matrices hardly grow
    assert residual <= 50 * n * np.finfo(float).eps * np.abs(a).max() * max(np.abs(b).max(), 1.0)


def test_lu_pivots_where_a_leading_entry_is_zero() -> None:
    a = np.array([[0.0, 2.0], [1.0, 3.0]])
    pivots, b = np.zeros(2, np.intp), np.array([[4.0], [7.0]])
    assert runtime.lu(a, pivots) == 0
    runtime.lu_solve(a, pivots, b)
    assert b.ravel().tolist() == [1.0, 2.0]


def test_singular_matrices_are_reported() -> None:
    assert runtime.STATUS[runtime.lu(np.ones((3, 3)), np.zeros(3, np.intp))] == "singular"


@pytest.mark.parametrize("n", [1, 2, 17, 64, 65, 130, 200])
def test_cholesky(n: int) -> None:
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    sigma = root @ root.T + np.eye(n)
    factor = sigma.copy()
    assert runtime.cholesky(factor) == 0
    assert np.array_equal(factor, np.tril(factor))
    assert np.abs(factor @ factor.T - sigma).max() <= 10 * n * np.finfo(float).eps * np.abs(sigma).max()


@pytest.mark.parametrize("n", [2, 70, 130])
def test_cholesky_refuses_indefinite(n: int) -> None:
    sigma = np.eye(n)
    sigma[n - 1, n - 1] = -1e-3
    assert runtime.STATUS[runtime.cholesky(sigma)] == "outside-domain"


def test_wrong_arrays_are_refused_by_name() -> None:
    a = np.eye(3)
    with pytest.raises(ValueError, match="c "):
        runtime.gemm(a, a, np.empty((2, 3)))
    with pytest.raises(ValueError, match="b must be an array of float64"):
        runtime.gemm(a, np.eye(3, dtype=np.float32), np.empty((3, 3)))
    with pytest.raises(ValueError, match="contiguous"):
        runtime.gemm(np.eye(6)[::2, ::2], a, np.empty((3, 3)))


def test_covariances_are_symmetric_to_the_last_bit() -> None:
    factors = np.random.default_rng(0).normal(size=(3, 70, 5))
    out = np.empty((3, 70, 70))
    runtime.covariances(factors, out)
    assert np.array_equal(out, out.transpose(0, 2, 1))
    assert np.allclose(out, factors @ factors.transpose(0, 2, 1), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("place", [(0, 0), (1, 0), (1, 1), (0, 1)])
def test_what_has_overflowed_is_neither_singular_nor_outside(place: tuple[int, int]) -> None:
    a, pivots, b = np.eye(2), np.zeros(2, np.intp), np.ones((2, 1))
    a[place] = np.nan
    assert runtime.lu(a.copy(), pivots) == 0
    if place[0] >= place[1]:
        assert runtime.cholesky(a.copy()) == 0
    runtime.lu(a, pivots)
    runtime.lu_solve(a, pivots, b)
    assert np.isnan(b).any()
    assert runtime.lu(np.zeros((2, 2)), pivots) == 1
    assert runtime.cholesky(np.zeros((2, 2))) == 2


_BITS = """
import hashlib, numpy as np
from symflow_ext import runtime
rng, digest = np.random.default_rng(0), hashlib.sha256()
for n in (65, 200, 384):
    a, b, c, pivots = rng.normal(size=(n, n)), rng.normal(size=(n, n)), np.empty((n, n)), np.zeros(n, np.intp)
    for trans_a in (False, True):
        for trans_b in (False, True):
            runtime.gemm(a, b, c, trans_a=trans_a, trans_b=trans_b)
            digest.update(c)
    runtime.lu(a, pivots)
    runtime.lu_solve(a, pivots, b)
    runtime.gemm(b, b, c, trans_b=True)
    runtime.cholesky(c)
    root = a @ a.T / n + np.eye(n) + 0.01 * b
    runtime.sqrtm(root)
    digest.update(root)
    digest.update(b)
    digest.update(c)
print(digest.hexdigest())
"""


def test_same_bits_for_any_number_of_threads() -> None:
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


SIZES = [1, 2, 3, 8, 12, 13, 40, 65, 100]


def _spd(n: int, spread: float) -> np.ndarray:
    """A symmetric matrix with eigenvalues from 1 to ``spread``, in equal ratios."""
    q, _ = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))
    return (q * np.geomspace(1.0, spread, n)) @ q.T


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("spread", [1.0, 1e3, 1e12])
def test_square_root_of_symmetric_and_similar_matrices(n: int, spread: float) -> None:
    """R² = A to rounding of the product, and R is the principal root: its eigenvalues are those expected."""
    change = np.eye(n) + np.triu(np.ones((n, n)), 1) / n
    symmetric = _spd(n, spread)
    for a in (0.5 * (symmetric + symmetric.T), np.linalg.solve(change, symmetric @ change)):
        root = a.copy()
        assert runtime.sqrtm(root) == 0
        size = np.linalg.norm(root)
        assert np.linalg.norm(root @ root - a) <= 20 * n * np.finfo(float).eps * size**2
        if spread <= 1e3:
            expected = np.sqrt(np.geomspace(1.0, spread, n))
            found = np.sort(np.linalg.eigvals(root).real)
            np.testing.assert_allclose(found, np.sort(expected), rtol=1e-9)


def test_square_root_of_a_triangle_and_of_zero() -> None:
    root = np.array([[4.0, 1.0], [0.0, 9.0]])
    assert runtime.sqrtm(root) == 0
    np.testing.assert_allclose(root, [[2.0, 0.2], [0.0, 3.0]], rtol=1e-14)
    zero = np.zeros((3, 3))
    assert runtime.sqrtm(zero) == 0
    assert not zero.any()


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e299])
@pytest.mark.parametrize("n", [1, 4, 30])
def test_square_root_at_any_scale(scale: float, n: int) -> None:
    change = np.eye(n) + np.triu(np.ones((n, n)), 1) / n  # not symmetric
    a = scale * np.linalg.solve(change, _spd(n, 100.0) @ change)
    root = a.copy()
    assert runtime.sqrtm(root) == 0
    root /= np.sqrt(scale)
    np.testing.assert_allclose(root @ root, a / scale, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n", [2, 3, 30])
def test_what_has_no_root_is_reported(n: int) -> None:
    a = np.eye(n)
    a[0, 0] = -1.0
    assert runtime.STATUS[runtime.sqrtm(a)] == "singular"
    a = np.eye(n) + np.eye(n, k=1)
    a[0, 0] = -1.0
    assert runtime.STATUS[runtime.sqrtm(a)] == "singular"


def test_what_has_overflowed_has_a_root_that_has() -> None:
    for n in (2, 30):
        for value in (np.nan, np.inf):
            a = np.eye(n)
            a[0, 1] = value
            assert runtime.sqrtm(a) == 0
            assert not np.isfinite(a).all()


@pytest.mark.parametrize("n", SIZES)
def test_sylvester(n: int) -> None:
    rng = np.random.default_rng(n)
    r = _spd(n, 1e3) + 0.1 * np.triu(rng.normal(size=(n, n)), 1)
    e = rng.normal(size=(n, n))
    x = e.copy()
    assert runtime.sylvester(r, x) == 0
    residual = np.linalg.norm(r @ x + x @ r - e)
    assert residual <= 1e-12 * n * np.linalg.norm(r) * np.linalg.norm(x)


def test_sylvester_is_the_derivative_of_the_root() -> None:
    """(√(A + hE) − √(A − hE))/2h at h and 2h, extrapolated."""
    n, h = 5, 1e-3
    rng = np.random.default_rng(0)
    a, e = _spd(n, 10.0), rng.normal(size=(n, n))

    def root(t: float) -> np.ndarray:
        found = a + t * e
        assert runtime.sqrtm(found) == 0
        return found

    inner, outer = ((root(s) - root(-s)) / (2 * s) for s in (h, 2 * h))
    x = e.copy()
    assert runtime.sylvester(root(0.0), x) == 0
    np.testing.assert_allclose(x, (4 * inner - outer) / 3, atol=1e-10)


@pytest.mark.parametrize("shape", [*SHAPES, (3, 4, 0), (9, 8, 8), (17, 23, 40), (33, 70, 300)])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_registers_of_any_width_give_equal_bits(shape, trans_a, trans_b) -> None:
    m, n, k = shape
    rng = np.random.default_rng(8)
    a = rng.normal(size=(k, m) if trans_a else (m, k))
    b = rng.normal(size=(n, k) if trans_b else (k, n))
    found = [rng.normal(size=(m, n))] * 3
    for place, width in enumerate((2, 4, 8)):
        found[place] = found[place].copy()
        settings = {"alpha": 0.3, "beta": 0.7, "trans_a": trans_a, "trans_b": trans_b}
        runtime.gemm(a, b, found[place], width=width, **settings)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


@pytest.mark.parametrize("n", [1, 3, 5, 8, 9, 33, 70, 300])
def test_products_of_triangles(n: int) -> None:
    a_lower, a_upper, b_lower, c_lower = 1, 2, 4, 8
    rng = np.random.default_rng(n)
    full, lower = rng.normal(size=(n, n)), np.tril(rng.normal(size=(n, n)))
    bound = 4 * np.finfo(float).eps * n * np.abs(full).max() * np.abs(lower).max()
    jobs = [
        (lower, full, a_lower, {}),
        (lower, full, a_upper, {"trans_a": True}),
        (full, lower, b_lower, {}),
        (lower, lower, a_lower + b_lower, {}),
        (lower, lower, a_upper + b_lower, {"trans_a": True}),
        (full, full, c_lower, {"trans_b": True}),
    ]
    for a, b, shape, turned in jobs:
        c = np.full((n, n), np.nan)
        runtime.gemm(a, b, c, shape=shape, **turned)
        expected = (a.T if "trans_a" in turned else a) @ (b.T if "trans_b" in turned else b)
        seen = np.tril(np.ones((n, n), bool)) if shape == c_lower else np.ones((n, n), bool)
        assert np.abs((c - expected)[seen]).max() <= bound


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 3), (40, 40), (70, 20)])
def test_turned_factors(shape: tuple[int, int]) -> None:
    factor = np.random.default_rng(3).normal(size=shape)
    factor[:, -1] = factor[:, 0]  # of lower rank than it has columns
    turned = factor.copy()
    runtime.turn(turned)
    assert np.array_equal(turned, np.tril(turned))
    cov = factor @ factor.T
    # reflections are orthogonal up to a few ulp each
    assert np.abs(turned @ turned.T - cov).max() <= 1e-14 * shape[1] * np.abs(cov).max()
