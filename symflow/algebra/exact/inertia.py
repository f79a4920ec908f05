r"""Inertia of symmetric matrices over ℚ, a real number field or sums of exponentials, with directions.

Elimination in balls counts signs of pivots whose balls exclude zero; they are a lower bound of the numbers of
positive and negative eigenvalues. What is left is zero exactly when the rank says so, and the rank is exact:
constant vectors of the kernel are found in the field of coefficients, or the matrix, whose entries are
polynomials in algebraically independent exponentials, is evaluated at one integer beyond the roots of every
minor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

from symflow.algebra.exact import rational
from symflow.algebra.exact.elimination import Pivot, bound_smallest, direction, eliminate
from symflow.algebra.exact.exponentials import ExpFraction, ExpSum
from symflow.algebra.exact.kernels import kernel_of, rank_of
from symflow.algebra.exact.real import MAX_BITS, enclose, rational_of, sign
from symflow.errors import InputError, Undecided

Rows = Sequence[Sequence[Any]]
_FIRST_BITS = 128


@dataclass(frozen=True)
class Inertia(rational.Inertia):
    """How many eigenvalues of a symmetric matrix are positive, negative and zero, and why.

    Attributes
    ----------
    rows : tuple of tuple
        The matrix.
    pivots : tuple of Pivot
        The order in which balls eliminate it: blocks of one or two indices, with their signs.
    bits : int
        Precision at which every pivot is told from zero.
    """

    rows: tuple[tuple[Any, ...], ...] = field(repr=False, compare=False)
    pivots: tuple[Pivot, ...] = field(repr=False, compare=False)
    bits: int = field(repr=False, compare=False)

    @property
    def rank(self) -> int:
        """Rank of the matrix."""
        return self.positive + self.negative

    @cached_property
    def negative_direction(self) -> tuple[Fraction, ...] | None:
        """A rational direction v with vᵀAv < 0, None where there is none."""
        return self._direction(-1) if self.negative else None

    @cached_property
    def positive_direction(self) -> tuple[Fraction, ...] | None:
        """A rational direction v with vᵀAv > 0, None where there is none."""
        return self._direction(1) if self.positive else None

    @cached_property
    def null_space(self) -> list[tuple[Any, ...]]:
        """A basis of the kernel, exact."""
        independent = [row for pivot in self.pivots for row in pivot.rows]
        return kernel_of(self.rows, self.rank, independent)

    def value(self, vector: Sequence[Any]) -> Any:
        """Return vᵀAv."""
        return quadratic_value(self.rows, vector)

    def _direction(self, wanted: int) -> tuple[Fraction, ...]:
        """Return a simple direction if one works, else one from elimination, rounded as far as it works."""
        for vector in _simple_directions(len(self.rows)):
            if sign(self.value(vector)) == wanted:
                return vector
        bits = self.bits
        while bits <= MAX_BITS:
            exact = direction(_balls(self.rows, bits), self.pivots, wanted, bits)
            for places in (2, 4, 8, 16, 32, bits // 2):
                scale = 1 << places
                vector = tuple(Fraction(round(entry * scale), scale) for entry in exact)
                if sign(self.value(vector)) == wanted:
                    return vector
            bits *= 2
        raise Undecided(f"no direction found at {MAX_BITS} bits")


def inertia(rows: Rows) -> Inertia:
    """Return the inertia of an exactly symmetric matrix.

    Parameters
    ----------
    rows : sequence of sequences
        n × n fractions, elements of one number field, sums of exponentials or their quotients.

    Raises
    ------
    InputError
        If the matrix is not square or not symmetric.
    Undecided
        If the rank or a pivot is beyond the limits of memory and precision.

    Examples
    --------
    >>> from symflow.algebra.exact.exponentials import exponential
    >>> e = exponential(1)
    >>> found = inertia([[1, e], [e, e * e]])
    >>> found, found.null_space
    (Inertia(positive=1, negative=0, zero=1), [(Fraction(1, 1), -exp(-1))])
    >>> inertia([[0, 0, 0], [0, 1, 2], [0, 2, 1]]).negative_direction
    (Fraction(0, 1), Fraction(1, 1), Fraction(-1, 1))
    """
    exact = without_denominators(symmetric_rows(rows))
    size, bits, rank = len(exact), _FIRST_BITS, None
    while bits <= MAX_BITS:
        pivots = eliminate(_balls(exact, bits), bits)
        found = sum(pivot.size for pivot in pivots)
        if found < size and rank is None:
            rank = rank_of(exact, at_least=found)
        if found == (size if rank is None else rank):
            positive = sum(pivot.positive for pivot in pivots)
            return Inertia(positive, found - positive, size - found, exact, tuple(pivots), bits)
        bits *= 2
    raise Undecided(f"a pivot of a matrix of rank {rank} is not told from zero at {MAX_BITS} bits")


def quadratic_value(rows: Rows, vector: Sequence[Any]) -> Any:
    """Return vᵀAv of a symmetric matrix, exactly."""
    total: Any = 0
    for i, left in enumerate(vector):
        for j in range(i + 1):
            if left and vector[j]:
                total = total + (1 if i == j else 2) * left * vector[j] * rows[i][j]
    return total


def smallest_eigenvalue(rows: Rows, bits: int = 128, cuts: int = 48) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of the smallest eigenvalue, by bisection with inertias in balls.

    Parameters
    ----------
    rows : sequence of sequences
        A symmetric matrix of exact numbers.
    bits : int
        Precision of the balls.
    cuts : int
        Bisections; each halves the distance between the bounds.

    Examples
    --------
    >>> low, high = smallest_eigenvalue([[2, 1], [1, 2]])
    >>> low <= 1 <= high, float(high - low) < 1e-12
    (True, True)
    """
    exact = symmetric_rows(rows)
    return bound_smallest(_balls(exact, bits), bits, cuts)


def is_symmetric(rows: Rows) -> bool:
    """Whether a square matrix of exact numbers equals its transpose."""
    return all(rows[i][j] == rows[j][i] for i in range(len(rows)) for j in range(i))


def exact_entry(value: Any) -> Any:
    """Return an entry as a fraction or an exact number; floats are the fractions that they are."""
    exact = rational_of(value)
    return value if exact is None else exact


def without_denominators(rows: Rows) -> tuple[tuple[Any, ...], ...]:
    """Return a positive multiple of a matrix whose entries are no quotients."""
    common = common_denominator(rows)
    if common is None:
        return tuple(map(tuple, rows))
    return tuple(tuple(entry * common for entry in row) for row in rows)


def common_denominator(rows: Rows) -> ExpSum | None:
    """Return a positive number that every entry times which is no quotient, None where no entry is one."""
    divisors: list[ExpSum] = []
    for entry in (entry for row in rows for entry in row):
        if isinstance(entry, ExpFraction) and entry.denominator not in divisors:
            divisors.append(entry.denominator)
    if not divisors:
        return None
    common: ExpSum = reduce(lambda a, b: a * b, divisors)
    return common if common.sign() > 0 else -common


def symmetric_rows(rows: Rows) -> tuple[tuple[Any, ...], ...]:
    """Return a matrix that is checked to be square and symmetric, its entries as exact numbers."""
    exact = tuple(tuple(exact_entry(entry) for entry in row) for row in rows)
    for i, row in enumerate(exact):
        if len(row) != len(exact):
            raise InputError(f"row {i} has {len(row)} entries, but the matrix has {len(exact)} rows")
        for j in range(i):
            if row[j] != exact[j][i]:
                raise InputError(
                    f"the matrix is not symmetric: [{i}][{j}] is {row[j]}, [{j}][{i}] is {exact[j][i]}"
                )
    return exact


def _balls(rows: Rows, bits: int) -> list[list[Any]]:
    lower = [[enclose(rows[i][j], bits) for j in range(i + 1)] for i in range(len(rows))]
    return [[lower[max(i, j)][min(i, j)] for j in range(len(rows))] for i in range(len(rows))]


def _simple_directions(size: int) -> list[tuple[Fraction, ...]]:
    """Return unit vectors, then sums and differences of two."""
    units = [tuple(Fraction(int(i == k)) for i in range(size)) for k in range(size)]
    pairs = [
        tuple(a + s * b for a, b in zip(units[i], units[j], strict=True))
        for s in (-1, 1)
        for i, j in combinations(range(size), 2)
    ]
    return units + pairs
