"""Rational matrices: ranks, kernels, definiteness and factors, decided without rounding.

Matrices are ``flint.fmpq_mat``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

RationalMatrix = Any  #: flint.fmpq_mat, whose package ships no types


def fmpq(value: Any) -> Any:
    """Return a number as ``flint.fmpq``: integers, fractions, floats (exactly), SymPy rationals."""
    from flint import fmpq as make

    if hasattr(value, "p") and hasattr(value, "q") and not callable(value.p):  # SymPy and flint
        return make(int(value.p), int(value.q))
    exact = Fraction(value)
    return make(exact.numerator, exact.denominator)


def rational_root(value: Any) -> Any:
    """Return the square root of a ``flint.fmpq`` if it is rational, else None."""
    from math import isqrt

    if value < 0:
        return None
    roots = isqrt(int(value.p)), isqrt(int(value.q))
    root = fmpq(Fraction(*roots))
    return root if root * root == value else None


def rational_matrix(rows: Iterable[Iterable[Any]]) -> RationalMatrix:
    """Return a matrix from rows of exact numbers or floats, which are read as the fractions they are.

    Examples
    --------
    >>> rational_matrix([[0.5, 1]]).tolist()
    [[1/2, 1]]
    """
    from flint import fmpq_mat

    return fmpq_mat([[fmpq(entry) for entry in row] for row in rows])


def identity(size: int) -> RationalMatrix:
    """Return the identity matrix."""
    return rational_matrix([[int(i == j) for j in range(size)] for i in range(size)])


def zeros(rows: int, cols: int) -> RationalMatrix:
    """Return a zero matrix."""
    from flint import fmpq_mat

    return fmpq_mat(rows, cols)


def diagonal(entries: Sequence[Any]) -> RationalMatrix:
    """Return a diagonal matrix."""
    return rational_matrix([[e if i == j else 0 for j in range(len(entries))] for i, e in enumerate(entries)])


def fraction(number: Any) -> Fraction:
    """Return a ``flint.fmpq`` as a fraction."""
    return Fraction(int(number.p), int(number.q))


def number_of(number: Any) -> Any:
    """Return a ``flint.fmpq`` as a SymPy rational."""
    from sympy import Rational

    return Rational(int(number.p), int(number.q))


def fractions(matrix: RationalMatrix) -> list[list[Fraction]]:
    """Return a matrix as rows of fractions."""
    return [[fraction(entry) for entry in row] for row in matrix.tolist()]


def to_sympy(matrix: RationalMatrix) -> Any:
    """Return a matrix as an immutable SymPy matrix."""
    from sympy import ImmutableMatrix, Rational

    return ImmutableMatrix(
        matrix.nrows(), matrix.ncols(), [Rational(int(e.p), int(e.q)) for e in matrix.entries()]
    )


def is_zero(matrix: RationalMatrix) -> bool:
    """Whether every entry is zero."""
    return all(entry == 0 for entry in matrix.entries())


def commute(a: RationalMatrix, b: RationalMatrix) -> bool:
    """Whether ``ab = ba``."""
    return bool(a * b == b * a)


def is_symmetric(matrix: RationalMatrix) -> bool:
    """Whether a matrix equals its transpose."""
    return bool(matrix == matrix.transpose())


def symmetric_part(matrix: RationalMatrix) -> RationalMatrix:
    """Return ``M + Mᵀ`` (twice the symmetric part)."""
    return matrix + matrix.transpose()


def trace(matrix: RationalMatrix) -> Any:
    """Return the trace as ``flint.fmpq``."""
    return sum((matrix[i, i] for i in range(matrix.nrows())), fmpq(0))


@dataclass(frozen=True)
class Inertia:
    """How many eigenvalues of a symmetric matrix are positive, negative and zero."""

    positive: int
    negative: int
    zero: int


def inertia(matrix: RationalMatrix) -> Inertia:
    """Return the inertia of a symmetric rational matrix.

    The characteristic polynomial has real roots only, so that Descartes' rule of signs is an equality.

    Examples
    --------
    >>> inertia(rational_matrix([[0, 1], [1, 0]]))
    Inertia(positive=1, negative=1, zero=0)
    """
    return _signs_of_roots(matrix.charpoly(), 0)


def inertia_on_range(sigma: RationalMatrix, S: RationalMatrix, rank: int) -> Inertia:
    """Return the inertia of FᵀSF for a positive semidefinite Σ = FFᵀ of that rank.

    ΣS has the eigenvalues of FᵀSF and d − rank zeros, and smaller fractions.

    Examples
    --------
    >>> inertia_on_range(rational_matrix([[1, 0], [0, 0]]), rational_matrix([[-1, 5], [5, 3]]), 1)
    Inertia(positive=0, negative=1, zero=0)
    """
    return _signs_of_roots((sigma * S).charpoly(), sigma.nrows() - rank)


def _signs_of_roots(polynomial: Any, ignored_zeros: int) -> Inertia:
    """Count positive, negative and zero roots of a polynomial with real roots only."""
    coefficients = polynomial.coeffs()
    signs = [1 if c > 0 else -1 for c in coefficients if c != 0]
    null = next(i for i, c in enumerate(coefficients) if c != 0)
    positive = sum(a != b for a, b in pairwise(signs))
    return Inertia(positive, polynomial.degree() - null - positive, null - ignored_zeros)


def kernel(matrix: RationalMatrix) -> RationalMatrix:
    """Return a basis of the kernel as the columns of an n × dim ker matrix."""
    echelon, rank = matrix.rref()
    n = matrix.ncols()
    pivots = [next(j for j in range(n) if echelon[i, j] != 0) for i in range(rank)]
    free = [j for j in range(n) if j not in pivots]
    basis = zeros(n, len(free))
    for column, j in enumerate(free):
        basis[j, column] = 1
        for i, pivot in enumerate(pivots):
            basis[pivot, column] = -echelon[i, j]
    return basis


@dataclass(frozen=True)
class Factor:
    """``S = L diag(D) Lᵀ`` with D > 0 and linearly independent columns of L (d × rank)."""

    L: RationalMatrix
    D: tuple[Any, ...]

    @property
    def rank(self) -> int:
        """Rank of the factored matrix."""
        return len(self.D)


def psd_factor(matrix: RationalMatrix) -> Factor | None:
    """Return the LDLᵀ factor of a symmetric positive semidefinite matrix, None where it is not that.

    Examples
    --------
    >>> psd_factor(rational_matrix([[4, 2], [2, 1]])).L.tolist()
    [[1], [1/2]]
    >>> psd_factor(rational_matrix([[0, 1], [1, 0]])) is None
    True
    """
    rest, n = matrix, matrix.nrows()
    columns: list[list[Any]] = []
    pivots: list[Any] = []
    while not is_zero(rest):
        pivot = max(range(n), key=lambda i: rest[i, i])
        value = rest[pivot, pivot]
        if value <= 0:
            return None
        column = [rest[i, pivot] / value for i in range(n)]
        as_matrix = rational_matrix([[entry] for entry in column])
        rest = rest - as_matrix * as_matrix.transpose() * value
        columns.append(column)
        pivots.append(value)
    factor = zeros(n, len(columns))
    for j, column in enumerate(columns):
        for i, entry in enumerate(column):
            factor[i, j] = entry
    return Factor(factor, tuple(pivots))
