"""Sums over pairs at small widths: rows and the symmetric template, against extended precision."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

SUM, SOFTMAX = 0, 1
PLAIN, MIXED, CUBIC = 0, 1, 2

_SOURCE = r"""
#include "symflow_pool.h"
#include "symflow_tile_products.h"
#define SYMFLOW_TERM plain
#define SYMFLOW_TERM_PAIRINGS 1
#define SYMFLOW_TERM_DIFFERENCE(m) 0
#define SYMFLOW_TERM_ROWS 0
#define SYMFLOW_TERM_COLUMNS 0
#define SYMFLOW_TERM_SCALARS 0
#define SYMFLOW_TERM_SCORE(u, a, b, p) (u[0])
#define SYMFLOW_TERM_PLAIN 1
#define SYMFLOW_TERM_EXPONENTIAL 1
#include "symflow_pairs_term.h"

#define SYMFLOW_TERM mixed
#define SYMFLOW_TERM_PAIRINGS 2
#define SYMFLOW_TERM_DIFFERENCE(m) ((m) == 1)
#define SYMFLOW_TERM_ROWS 1
#define SYMFLOW_TERM_COLUMNS 1
#define SYMFLOW_TERM_SCALARS 1
#define SYMFLOW_TERM_SCORE(u, a, b, p) (u[0] - p[0] * u[1] + a[0] * b[0])
#define SYMFLOW_TERM_EXPONENTIAL 1
#include "symflow_pairs_term.h"

static long met; /* pairs in which the weight was formed, counted in one thread */
static double counted(double s) { ++met; return s; }
#define SYMFLOW_TERM cubic
#define SYMFLOW_TERM_PAIRINGS 1
#define SYMFLOW_TERM_DIFFERENCE(m) 0
#define SYMFLOW_TERM_ROWS 0
#define SYMFLOW_TERM_COLUMNS 0
#define SYMFLOW_TERM_SCALARS 0
#define SYMFLOW_TERM_SCORE(u, a, b, p) (u[0])
#define SYMFLOW_TERM_EXPONENTIAL 0
#define SYMFLOW_TERM_WEIGHT(s) ((s) * (s) * (s) * symflow_splat(counted(1.0)))
#include "symflow_pairs_term.h"

static int threads;
static symflow_tile_products products;
static symflow_linalg table;
static void parallel(ptrdiff_t parts, void (*part)(ptrdiff_t, void *), void *job)
{
    if (threads > 1 && parts > 1 && symflow_pool_run(parts, part, job, threads)) return;
    for (ptrdiff_t p = 0; p < parts; ++p) part(p, job);
}
int supported(int bits)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (bits == 512) return __builtin_cpu_supports("avx512f") != 0;
    if (bits == 256) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return bits == 128;
}
#if defined(__x86_64__)
#define RUN(t) (bits == 512 ? t##_run_512(job) : bits == 256 ? t##_run_256(job) : t##_run_128(job))
#else
#define RUN(t) t##_run_128(job)
#endif
int run(symflow_pairs *job, int term, int bits, int on_threads)
{
    products = symflow_tile_products_of(bits / 64);
    table.tiles = &products;
    table.parallel = parallel;
    threads = on_threads;
    job->linalg = &table;
    return term == 0 ? RUN(plain) : term == 1 ? RUN(mixed) : RUN(cubic);
}
ptrdiff_t work(const symflow_pairs *job, int pairings)
{
    return symflow_pairs_work(job->n, job->pitch, job->normalise, pairings, job->widths, job->width);
}
long pairs_met(int bits) { long count = met; met = 0; return count * (bits / 64); }
"""
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_ssize_t


class _Job(ctypes.Structure):
    _fields_ = (
        ("n", _SIZE), ("pitch", _SIZE), ("normalise", ctypes.c_int), ("causal", ctypes.c_int),
        ("symmetric", ctypes.c_int), ("theta", _POINTER), ("widths", _SIZE * 4), ("left", _POINTER * 4),
        ("right", _POINTER * 4), ("rows", _POINTER * 8), ("columns", _POINTER * 8), ("scalars", _POINTER),
        ("width", _SIZE), ("feature", _POINTER), ("average", _POINTER), ("mass", _POINTER),
        ("work", _POINTER), ("linalg", _POINTER),
    )  # fmt: skip


@pytest.fixture(scope="module")
def library(built):
    loaded = built(_SOURCE, "-O0", "-ffp-contract=off")  # optimising takes longer than the tests
    loaded.work.restype, loaded.pairs_met.restype = _SIZE, ctypes.c_long
    return loaded


@pytest.fixture(scope="module")
def sets(library):
    """Return the instruction sets of this machine."""
    return [bits for bits in (512, 256, 128) if library.supported(bits)]


def _sums(
    library, term, left, right, feature, *, bits=128, threads=1, scalar=0.4, number=None, theta=None, **flags
):
    """Return averages and masses; what lies beyond n stays zero."""
    n, kept = len(feature), []
    pitch = (n + 7) // 8 * 8 + 8

    def put(rows):
        kept.append(np.zeros((len(rows), pitch)))
        kept[-1][:, :n] = rows
        return kept[-1].ctypes.data

    job = _Job(n=n, pitch=pitch, width=feature.shape[1], **flags)
    for m, (of_query, of_key) in enumerate(zip(left, right, strict=True)):
        job.widths[m], job.left[m], job.right[m] = of_query.shape[1], put(of_query.T), put(of_key.T)
    if number is not None:
        job.rows[0], job.columns[0] = put(number[None]), put(number[None])
    job.theta = None if theta is None else put(theta[None])
    scalars, average, mass = np.array([scalar]), np.full((job.width, pitch), np.nan), np.full(pitch, np.nan)
    job.scalars, job.feature, job.average, job.mass = (
        scalars.ctypes.data, put(feature.T), average.ctypes.data, mass.ctypes.data,
    )  # fmt: skip
    work = np.full(library.work(ctypes.byref(job), len(left)), np.nan)
    job.work = work.ctypes.data
    assert library.run(ctypes.byref(job), term, bits, threads) == 0
    assert not average[:, n:].any() and not mass[n:].any()
    return average[:, :n].T.copy(), mass[:n].copy()


def _expected(scores, feature, term, normalise, causal=0, theta=None, **_):
    n, s = len(feature), scores.astype(np.longdouble)
    here = np.tril(np.ones((n, n), bool)) if causal else np.ones((n, n), bool)
    if term == CUBIC:
        weights = np.where(here, s**3, 0)
    else:
        shift = np.where(here, s, -np.inf).max(axis=1, keepdims=True) if normalise else 0
        weights = np.where(here, np.exp(np.where(here, s - shift, 0)), 0)
    weights = weights * (1 / np.longdouble(n) if theta is None else theta)
    mass = weights.sum(axis=1) if normalise else np.ones(n)
    return weights @ feature / mass[:, None], weights.sum(axis=1) / mass


def _sphere(n, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _products(left, right):
    return left.astype(np.longdouble) @ right.T.astype(np.longdouble)


def _agree(found, expected, scores):
    """Rounding of a score of size s changes a weight by s units; sums of n positive weights add few more."""
    tolerance = 1e-14 + 2e-16 * 8 * float(np.abs(scores).max())
    for got, want in zip(found, expected, strict=True):
        assert np.max(np.abs(got - want)) <= tolerance * max(1.0, float(np.abs(want).max()))


@pytest.mark.parametrize("n", [1, 2, 9, 67, 300])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    "flags",
    [
        {"normalise": SOFTMAX, "symmetric": 1},
        {"normalise": SOFTMAX},
        {"normalise": SUM, "symmetric": 1},
        {"normalise": SOFTMAX, "causal": 1},
        {"normalise": SUM, "causal": 1},
    ],
)
def test_agrees_with_the_definition(library, sets, n, d, flags):
    x, theta = _sphere(n, d), np.random.default_rng(1).uniform(0.5, 1.5, n) / n
    left = 3.0 * x if flags.get("symmetric") else 3.0 * x[::-1]
    theta = theta if flags.get("causal") else None
    scores = _products(left, x)
    for bits in sets:
        for term in (PLAIN, CUBIC):
            if term == CUBIC and flags["normalise"]:  # a mass may vanish where weights have both signs
                continue
            expected = _expected(scores, x, term, flags["normalise"], flags.get("causal", 0), theta)
            _agree(_sums(library, term, [left], [x], x, bits=bits, theta=theta, **flags), expected, scores)


@pytest.mark.parametrize("symmetric", [0, 1])
@pytest.mark.parametrize("normalise", [SUM, SOFTMAX])
def test_scores_of_several_pairings(library, sets, symmetric, normalise):
    rng = np.random.default_rng(2)
    x, y, number, feature = (
        _sphere(83, 3),
        rng.normal(size=(83, 2)),
        rng.normal(size=83),
        rng.normal(size=(83, 5)),
    )
    other = y if symmetric else y[::-1]
    gaps = ((y.astype(np.longdouble)[:, None] - other[None]) ** 2).sum(axis=2)
    scores = _products(x, x) - np.longdouble(0.4) * gaps + np.outer(number, number)
    for bits in sets:
        found = _sums(
            library, MIXED, [x, y], [x, other], feature, bits=bits, number=number,
            normalise=normalise, symmetric=symmetric,
        )  # fmt: skip
        _agree(found, _expected(scores, feature, MIXED, normalise), scores)


@pytest.mark.parametrize("beta", [9.0, 650.0, 1e4, 1e5])
@pytest.mark.parametrize("symmetric", [0, 1])
def test_any_inverse_temperature(library, sets, beta, symmetric):
    x = _sphere(41, 3)
    x[7], x[8] = x[5], -x[5]  # coincident and antipodal tokens
    left = beta * x
    for bits in sets:
        found = _sums(library, PLAIN, [left], [x], x, bits=bits, normalise=SOFTMAX, symmetric=symmetric)
        _agree(found, _expected(_products(left, x), x, PLAIN, SOFTMAX), [beta])


def test_one_huge_token(library, sets):
    x = _sphere(30, 3)
    x[4] *= 1e4
    for bits in sets:
        average, mass = _sums(library, PLAIN, [50.0 * x], [x], x, bits=bits, normalise=SOFTMAX, symmetric=1)
        expected, _ = _expected(_products(50.0 * x, x), x, PLAIN, SOFTMAX)
        assert np.max(np.abs(average - expected)) <= 1e-12 * 1e4
        assert np.max(np.abs(mass - 1.0)) <= 1e-15


def test_far_apart_where_every_other_weight_vanishes(library, sets):
    x = 40.0 * _sphere(20, 2)
    for bits in sets:
        average, _ = _sums(library, MIXED, [0 * x, x], [0 * x, x], x, bits=bits, scalar=1e3,
                           number=np.zeros(20), normalise=SOFTMAX, symmetric=1)  # fmt: skip
        assert np.max(np.abs(average - x)) <= 1e-13


def test_sums_that_overflow_are_infinite(library, sets):
    x = np.abs(_sphere(20, 3)) + 0.1
    for bits in sets:
        for symmetric in (0, 1):
            average, mass = _sums(
                library, PLAIN, [4e3 * x], [x], x, bits=bits, normalise=SUM, symmetric=symmetric
            )
            assert np.all(average == np.inf) and np.all(mass == np.inf)


@pytest.mark.parametrize("symmetric", [0, 1])
def test_what_is_no_number_is_passed_on(library, sets, symmetric):
    x = _sphere(70, 3)
    x[5, 1] = np.nan
    for bits in sets:
        average, _ = _sums(library, PLAIN, [x], [x], x, bits=bits, normalise=SOFTMAX, symmetric=symmetric)
        assert np.isnan(average).any(axis=1).all()


@pytest.mark.parametrize("n", [256, 300, 771])
def test_equal_bits_for_any_number_of_threads(library, sets, n):
    x = _sphere(n, 3)
    for bits in sets[:2]:
        for flags in ({"symmetric": 1}, {}, {"causal": 1}):
            found = [
                _sums(
                    library, PLAIN, [9.0 * x], [x], x, bits=bits, threads=threads, normalise=SOFTMAX, **flags
                )
                for threads in (1, 2, 3)
            ]
            for average, mass in found[1:]:
                assert np.array_equal(average, found[0][0]) and np.array_equal(mass, found[0][1])


@pytest.mark.parametrize("n", [64, 600])
def test_no_unordered_pair_is_met_twice(library, sets, n):
    x = _sphere(n, 3)
    for bits in sets:
        library.pairs_met(bits)
        _sums(library, CUBIC, [x], [x], x, bits=bits, normalise=SUM, symmetric=1)
        lanes = bits // 64
        assert n * (n + 1) / 2 <= library.pairs_met(bits) <= n * (n + 1) / 2 + 2 * n * lanes
