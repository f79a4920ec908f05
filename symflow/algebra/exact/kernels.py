"""Rank and kernel of matrices over ℚ, a real number field or sums of exponentials, decided exactly.

Exponentials of numbers that are linearly independent over ℚ are algebraically independent, so that a matrix
of sums of exponentials is one of polynomials in independent variables; its rank is that over their field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from symflow.algebra.exact.exponentials import ExpFraction, ExpSum, Scalar
from symflow.algebra.exact.fields import FieldElement, NumberField, common_field
from symflow.algebra.exact.polynomials import adjugate
from symflow.algebra.exact.rational import fmpq, fractions, kernel, rational_matrix
from symflow.algebra.exact.texts import simplest
from symflow.errors import Undecided

Rows = Sequence[Sequence[Any]]
#: Bits of the largest integer matrix whose rank is computed.
_MAX_BITS = 1 << 26
#: Rows, and exponentials in them, up to which quotients of sums of exponentials are eliminated instead.
_SMALL, _SMALL_LAYERS = 4, 16
#: Rank up to which vectors of the kernel are computed as minors.
_MINORS = 8
_ZERO = Fraction(0)


def rank_of(rows: Rows, at_least: int = 0) -> int:
    """Return the rank of a matrix without quotients.

    Parameters
    ----------
    rows : sequence of sequences
        Fractions, elements of one number field or sums of exponentials.
    at_least : int
        A proved lower bound, which shortens the proof where vectors of constants span the kernel.

    Raises
    ------
    Undecided
        If the integers that decide it are too large.

    Examples
    --------
    >>> from symflow.algebra.exact.exponentials import exponential
    >>> e = exponential(1)
    >>> rank_of([[1, e], [e, e * e]]), rank_of([[1, e], [e, e]])
    (1, 2)
    """
    layers = layers_of(rows)
    field = common_field([c for matrix in layers.values() for row in matrix for c in row])
    width = len(rows[0])
    stacked = [row for matrix in layers.values() for row in matrix]
    bound = _constant_rank(stacked, field, width)
    if len(layers) <= 1 or bound == at_least:
        return bound
    try:
        return _rank_at_large_integer(layers, field)
    except Undecided:
        if len(rows) > _SMALL or len(layers) > _SMALL_LAYERS:
            raise
    return width - len(_kernel_by_elimination(rows))


def kernel_of(rows: Rows, rank: int, independent: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
    """Return a basis of the kernel of a matrix of known rank; of constants where these span it.

    Parameters
    ----------
    rows : sequence of sequences
        Fractions, elements of one number field or sums of exponentials.
    rank : int
    independent : sequence of int, optional
        As many rows of a symmetric matrix as its rank, whose block is regular.

    Examples
    --------
    >>> from symflow.algebra.exact.exponentials import exponential
    >>> kernel_of([[exponential(1), exponential(1)]], 1)
    [(Fraction(-1, 1), Fraction(1, 1))]
    """
    width = len(rows[0])
    if rank == width:
        return []
    layers = layers_of(rows)
    stacked = [row for matrix in layers.values() for row in matrix] or [[_ZERO] * width]
    if common_field([c for row in stacked for c in row]) is None:
        found = [tuple(column) for column in fractions(kernel(rational_matrix(_plain(stacked))).transpose())]
    else:
        found = _kernel_by_elimination(stacked)
    if len(found) == width - rank:
        return found
    if independent is not None and len(independent) <= _MINORS:
        return _kernel_by_minors(rows, independent)
    return _kernel_by_elimination(rows)


def layers_of(rows: Rows) -> dict[Scalar, list[list[Scalar]]]:
    """Return the coefficient matrix of every exponential."""
    layers: dict[Scalar, list[list[Scalar]]] = {}
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            terms: Mapping[Scalar, Scalar] = entry.terms if isinstance(entry, ExpSum) else {_ZERO: entry}
            for exponent, c in terms.items():
                if c:
                    matrix = layers.setdefault(exponent, [[_ZERO] * len(row) for row in rows])
                    matrix[i][j] = c
    return layers


def _plain(rows: Rows) -> list[list[Fraction]]:
    return [[c.fraction() if isinstance(c, FieldElement) else c for c in row] for row in rows]


# ------------------------------------------------------------------------------------------------------- rank


def _constant_rank(rows: Rows, field: NumberField | None, width: int) -> int:
    if not rows:
        return 0
    degree = field.degree if field else 1
    return int(regular(rows, field).rank()) // degree


def regular(rows: Rows, field: NumberField | None) -> Any:
    """Return the rational matrix in which every element of the field stands for its multiplication."""
    if field is None:
        return rational_matrix(_plain(rows))
    powers = [field.element([0] * k + [1]) for k in range(field.degree)]
    found: list[list[Any]] = []
    for row in rows:
        blocks = [[(power * c).coefficients for power in powers] for c in row]
        for k in range(field.degree):
            found.append([block[k][m] for block in blocks for m in range(field.degree)])
    return rational_matrix(found)


def _rank_at_large_integer(layers: Mapping[Scalar, Rows], field: NumberField | None) -> int:
    """Return the rank at one integer point, larger than the sum of coefficients of any minor.

    A polynomial with integer coefficients below T in size does not vanish at T unless it is zero, and powers
    of T that no minor mixes stand for the different variables.
    """
    matrices = {exponent: regular(rows, field) for exponent, rows in layers.items()}
    common = lcm(*(int(matrix.numer_denom()[1]) for matrix in matrices.values()))
    integers = {exponent: (matrix * common).numer_denom()[0] for exponent, matrix in matrices.items()}
    first = next(iter(integers.values()))
    rows, columns = first.nrows(), first.ncols()
    bits = 1 + sum(
        max(1, sum(abs(int(c)) for matrix in integers.values() for c in matrix.tolist()[i]).bit_length())
        for i in range(rows)
    )
    degrees = _single_degrees(list(integers), rows)
    if rows * columns * bits * max(degrees.values()) > _MAX_BITS:
        raise Undecided(f"the rank of a matrix of {rows} rows needs integers beyond {_MAX_BITS} bits")
    from flint import fmpz, fmpz_mat

    total = fmpz_mat(rows, columns)
    for exponent, matrix in integers.items():
        total += matrix * (fmpz(1) << (bits * degrees[exponent]))
    return int(total.rank()) // (field.degree if field else 1)


def _single_degrees(exponents: Sequence[Scalar], size: int) -> dict[Scalar, int]:
    """Return a degree in one variable per exponent, such that products of ``size`` of them stay apart."""
    placed, _ = monomials(exponents)
    weights, weight = [], 1
    for k in range(len(placed[0])):
        weights.append(weight)
        weight *= size * max(monomial[k] for monomial in placed) + 1
    degrees = [sum(w * m for w, m in zip(weights, monomial, strict=True)) for monomial in placed]
    return dict(zip(exponents, degrees, strict=True))


def monomials(exponents: Sequence[Scalar]) -> tuple[list[tuple[int, ...]], list[Scalar]]:
    """Return exponents as integer combinations of numbers that are independent over ℚ, and these numbers.

    One exponent may be subtracted from all, so that no combination has a negative coefficient.
    """
    from flint import fmpq_mat, fmpz_mat

    field = common_field(exponents)
    vectors = [a.coefficients if isinstance(a, FieldElement) else (a,) for a in exponents]
    width = max(map(len, vectors))
    padded = [tuple(v) + (_ZERO,) * (width - len(v)) for v in vectors]
    common = lcm(*(c.denominator for v in padded for c in v))
    lattice = fmpz_mat([[int(c * common) for c in v] for v in padded])
    basis = [row for row in lattice.hnf().tolist() if any(c != 0 for c in row)]
    if not basis:
        return [(0,)] * len(exponents), [Fraction(1)]
    gram = fmpz_mat(basis) * fmpz_mat(basis).transpose()
    projected = fmpz_mat(basis) * lattice.transpose()
    coordinates: Any = fmpq_mat(gram).solve(fmpq_mat(projected))
    columns = [[int(fmpq(c).p) for c in column] for column in coordinates.transpose().tolist()]
    lowest = [min(column[k] for column in columns) for k in range(len(basis))]
    numbers = [[Fraction(int(c), common) for c in row] for row in basis]
    shifted = [tuple(c - low for c, low in zip(column, lowest, strict=True)) for column in columns]
    return shifted, [field.element(number) if field else number[0] for number in numbers]


# ----------------------------------------------------------------------------------------------------- kernel


def _kernel_by_minors(rows: Rows, independent: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return a basis of the kernel of a symmetric matrix by Cramer's rule; over ℚ in lowest terms."""
    block = [[rows[i][j] for j in independent] for i in independent]
    inverse, determinant = adjugate(block)
    basis = []
    for free in (j for j in range(len(rows)) if j not in independent):
        vector: list[Any] = [_ZERO] * len(rows)
        vector[free] = determinant
        for row, i in zip(inverse, independent, strict=True):
            terms = (c * rows[k][free] for c, k in zip(row, independent, strict=True) if c and rows[k][free])
            vector[i] = -sum(terms, _ZERO)
        basis.append(tuple(_lowest_terms(vector, determinant)))
    return basis


def _lowest_terms(vector: Sequence[Any], common: Any) -> list[Any]:
    """Return a multiple of a vector over ℚ with small entries; a vector over a field as it is."""
    parts = [part for entry in (*vector, common) for part in _scalars(entry)]
    if any(isinstance(part, FieldElement) for part in parts):
        return list(vector)
    return [simplest(entry / common) if entry else _ZERO for entry in vector]


def _scalars(entry: Any) -> list[Any]:
    return [part for term in entry.terms.items() for part in term] if isinstance(entry, ExpSum) else [entry]


def _kernel_by_elimination(rows: Rows) -> list[tuple[Any, ...]]:
    """Return a basis of the kernel by Gauss–Jordan elimination over the field of quotients."""
    work, width = [list(row) for row in rows], len(rows[0])
    pivots: list[int] = []
    for column in range(width):
        candidates = [i for i in range(len(pivots), len(work)) if work[i][column]]
        if not candidates:
            continue
        top, best = len(pivots), min(candidates, key=lambda i: _terms_in(work[i][column]))
        work[top], work[best] = work[best], work[top]
        head = work[top][column]
        work[top] = [entry / head if entry else entry for entry in work[top]]
        for i, row in enumerate(work):
            if i != top and row[column]:
                factor = row[column]
                work[i] = [a - factor * b if b else a for a, b in zip(row, work[top], strict=True)]
        pivots.append(column)
    basis = []
    for free in (j for j in range(width) if j not in pivots):
        vector: list[Any] = [_ZERO] * width
        vector[free] = Fraction(1)
        for i, pivot in enumerate(pivots):
            vector[pivot] = -work[i][free]
        basis.append(tuple(vector))
    return basis


def _terms_in(entry: Any) -> int:
    """Return how long an entry is, for the choice of a pivot."""
    if isinstance(entry, ExpFraction):
        return len(entry.numerator.terms) + len(entry.denominator.terms)
    return len(entry.terms) if isinstance(entry, ExpSum) else 0
