"""Inertia, directions, kernels and eigenvalues of exact matrices, against SymPy, NumPy and by congruence."""

import random
import time
from fractions import Fraction as F

import numpy as np
import pytest
from sympy import Matrix, Rational

from symflow.algebra.exact.exponentials import ExpSum, exponential
from symflow.algebra.exact.fields import cosines
from symflow.algebra.exact.inertia import inertia, quadratic_value, smallest_eigenvalue
from symflow.algebra.exact.kernels import rank_of
from symflow.algebra.exact.root import Root
from symflow.algebra.exact.spectrum import spectrum
from symflow.algebra.exact.texts import simplest
from symflow.errors import InputError, Undecided

PENTAGON = cosines(5)


def _product(a, b):
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), F(0)) for column in zip(*b, strict=True)]
        for row in a
    ]


def _congruent(a, s):
    return _product([list(column) for column in zip(*s, strict=True)], _product(a, s))


def _numbers(kind):
    """Return a source of random entries."""

    def draw(rng):
        if kind == "rational":
            return F(rng.randint(-4, 4), rng.randint(1, 3))
        if kind == "field":
            return PENTAGON.field.element([rng.randint(-2, 2), rng.randint(-2, 2)])
        exponent = F(rng.randint(-4, 4), 4) if kind == "exponential" else PENTAGON.cos(rng.randint(0, 4))
        return rng.randint(-2, 2) * exponential(exponent) + rng.randint(-1, 1)

    return draw


def _invertible(draw, size, rng):
    """Return a triangular matrix with ones on the diagonal, its rows permuted."""
    rows = [[F(int(i == j)) if j <= i else draw(rng) for j in range(size)] for i in range(size)]
    return rng.sample(rows, size)


@pytest.mark.parametrize("kind", ["rational", "field", "exponential", "both"])
def test_inertia_is_kept_by_congruence(kind):
    rng, draw = random.Random(7), _numbers(kind)
    for size, signs in ((2, (1, 0)), (3, (1, -1, 0)), (4, (-1, -1, 0, 0)), (4, (1, 1, 1, -1))):
        middle = [[F(s) if i == j else F(0) for j in range(size)] for i, s in enumerate(signs)]
        a = _congruent(middle, _invertible(draw, size, rng))
        found = inertia(a)
        assert (found.positive, found.negative, found.zero) == tuple(signs.count(s) for s in (1, -1, 0))
        assert len(found.null_space) == found.zero
        for vector in found.null_space:
            assert all(entry == 0 for (entry,) in _product(a, [[c] for c in vector]))
        for vector, sign in ((found.negative_direction, -1), (found.positive_direction, 1)):
            if vector is not None:
                value = quadratic_value(a, vector)
                assert value < 0 if sign < 0 else value > 0
        assert (found.negative_direction is None) == (-1 not in signs)


def test_random_rational_matrices_agree_with_sympy():
    rng = random.Random(3)
    for _ in range(12):
        size = rng.randint(1, 4)
        a = [[F(0)] * size for _ in range(size)]
        for i in range(size):
            for j in range(i + 1):
                a[i][j] = a[j][i] = F(rng.randint(-2, 2), rng.randint(1, 2))
        exact = Matrix(size, size, [Rational(c.numerator, c.denominator) for row in a for c in row])
        found, values = inertia(a), spectrum(a)
        assert found.rank == exact.rank() == rank_of(a)
        assert (found.zero == 0 and found.negative == 0) == bool(exact.is_positive_definite)
        floats = np.linalg.eigvalsh([[float(c) for c in row] for row in a])
        assert [float(v) for v in values] == pytest.approx(list(floats), abs=1e-12)
        assert [v.sign() if isinstance(v, Root) else (v > 0) - (v < 0) for v in values] == (
            [-1] * found.negative + [0] * found.zero + [1] * found.positive
        )


def test_zero_diagonals_and_degenerate_sizes():
    assert (found := inertia([[0, 1, 0], [1, 0, 0], [0, 0, 0]])).rank == 2
    assert (found.positive, found.negative, found.zero) == (1, 1, 1)
    assert inertia([[0]]).null_space == [(1,)]
    assert inertia([[0, 0], [0, 0]]).zero == 2
    assert inertia([[exponential(-1000)]]).positive == 1
    with pytest.raises(InputError, match="symmetric"):
        inertia([[1, 2], [3, 1]])
    with pytest.raises(InputError, match="row 0"):
        inertia([[1, 2]])


def test_a_determinant_that_is_tiny_but_not_zero():
    # det = e^{2q} − (1 + q)² with q = 10⁻³⁰ is about q²: zero in doubles, positive here.
    q = F(1, 10**30)
    assert inertia([[exponential(q), 1 + q], [1 + q, exponential(q)]]).positive == 2
    assert inertia([[exponential(q), exponential(q)], [exponential(q), exponential(q)]]).zero == 1


def test_an_indefinite_matrix_with_non_negative_leading_minors():  # S017
    found = inertia([[0, 0, 0], [0, 1, 2], [0, 2, 1]])
    assert (found.positive, found.negative, found.zero) == (1, 1, 1)
    assert found.negative_direction == (0, 1, -1)
    assert found.value(found.negative_direction) == -2


def test_large_matrices_of_sums_of_exponentials_are_fast():
    rng, size = random.Random(1), 24
    a = [[F(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i):
            a[i][j] = a[j][i] = sum(
                (rng.randint(-3, 3) * exponential(F(rng.randint(-6, 6), 6)) for _ in range(4)), ExpSum({})
            )
    for i, row in enumerate(a):
        row[i] = -sum(row, ExpSum({}))
    start = time.process_time()
    found = inertia(a)
    # 0.03 s where it was measured; the limit leaves room for a slow and busy machine.
    assert time.process_time() - start < 2
    assert found.zero == 1
    assert found.null_space == [(1,) * size]
    floats = np.linalg.eigvalsh([[float(c) for c in row] for row in a])
    assert found.negative == int((floats < -1e-9).sum())
    low, high = smallest_eigenvalue(a)
    assert low - 1e-9 <= floats[0] <= high + 1e-9


E = exponential(1)
MATRICES = {
    "rational": [[1, 2, 0], [2, F(1, 2), 1], [0, 1, 3]],
    "double": [[2, 1, 1], [1, 2, 1], [1, 1, 2]],
    "circulant in a field": [[PENTAGON.cos(i - j) for i in range(5)] for j in range(5)],
    "field": [[PENTAGON.cos(1), 1, 0], [1, 0, PENTAGON.sin(1)], [0, PENTAGON.sin(1), 2]],
    "circulant": [[exponential(PENTAGON.cos(i - j)) for i in range(5)] for j in range(5)],
    "square roots of exponentials": [[1, E, 0], [E, 2, 1], [0, 1, E * E]],
    "quotients": [[1 / (1 + E), E], [E, 1]],
    "both": [[PENTAGON.cos(1) * E, E, 1], [E, 1, 0], [1, 0, PENTAGON.cos(1)]],
    "equal blocks": [[1, E, 0, 0], [E, 3, 0, 0], [0, 0, 1, E], [0, 0, E, 3]],
}


@pytest.mark.parametrize("name", MATRICES)
def test_eigenvalues_agree_with_numpy(name):
    a = MATRICES[name]
    values = spectrum(a)
    expected = np.linalg.eigvalsh([[float(c) for c in row] for row in a])
    assert [float(v) for v in values] == pytest.approx(list(expected), abs=1e-12)
    found = inertia(a)
    signs = [v.sign() if hasattr(v, "sign") else (v > 0) - (v < 0) for v in values]
    assert [signs.count(s) for s in (-1, 0, 1)] == [found.negative, found.zero, found.positive]


def test_eigenvalues_are_exact():
    assert spectrum([[1, E], [E, 1]]) == [1 - E, 1 + E]
    assert spectrum(MATRICES["double"]) == [1, 1, 4]
    circulant = spectrum(MATRICES["circulant"])
    assert circulant[0] == circulant[1]
    assert circulant[2] == circulant[3]
    assert circulant[4] == sum((exponential(PENTAGON.cos(k)) for k in range(5)), ExpSum({}))
    blocks = spectrum(MATRICES["equal blocks"])
    assert blocks[0] == blocks[1] != blocks[2] == blocks[3]
    assert blocks[0].to_sympy().evalf(30) == pytest.approx(float(blocks[0]), rel=1e-15)
    low, middle, high = spectrum(MATRICES["square roots of exponentials"])
    assert low < 0 < middle < high
    assert (-high).sign() == -1
    assert low != middle


def test_bounds_of_the_smallest_eigenvalue():
    low, high = smallest_eigenvalue([[2, 1], [1, F(1, 2)]])
    assert low <= 0 <= high
    assert high - low < F(1, 10**9)
    low, high = smallest_eigenvalue([[PENTAGON.cos(1), 0], [0, E]])
    assert low <= PENTAGON.cos(1) <= high


@pytest.mark.parametrize("kind", ["exponential", "both"])
def test_kernels_that_no_constants_span(kind):
    rng, draw = random.Random(4), _numbers(kind)
    left = [[draw(rng) for _ in range(4)] for _ in range(3)]
    a = _product([list(column) for column in zip(*left, strict=True)], left)
    found = inertia(a)
    assert (found.positive, found.zero) == (3, 1)
    (vector,) = found.null_space
    top = next(c for c in vector if c)
    ratios = [simplest(c / top) for c in vector]
    assert not all(isinstance(ratio, F) for ratio in ratios)
    assert all(entry == 0 for (entry,) in _product(a, [[c] for c in vector]))


def test_ranks_beyond_the_limits_are_computed_or_left_open():
    # The exponents are floats: one common measure for all of them is about 2⁻⁵³.
    points = [F(0.1), F(0.7), F(-1.3), F(0.4), F(2.2), F(-0.9)]
    outer = [[exponential(s + t) for t in points] for s in points]
    small = inertia([row[:3] for row in outer[:3]])
    assert (small.positive, small.zero) == (1, 2)
    with pytest.raises(Undecided, match="bits"):
        inertia(outer)
