r"""Eigenvalues of symmetric matrices over ℚ, a real number field or sums of exponentials, exactly.

The characteristic polynomial is factored: over ℚ and over the rational functions of independent exponentials
directly, over a number field through the norm (Trager). Where the coefficient matrices of all exponentials
commute, their common eigenvectors are constant, and every eigenvalue is a sum of exponentials. Over a field
with exponentials that leaves, the polynomial is split by multiplicity only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from symflow.algebra.exact.exponentials import ExpSum, quotient, scalar
from symflow.algebra.exact.fields import NumberField, common_field
from symflow.algebra.exact.inertia import common_denominator, symmetric_rows
from symflow.algebra.exact.kernels import kernel_of, layers_of, monomials, regular
from symflow.algebra.exact.polynomials import (
    Polynomial,
    by_multiplicity,
    characteristic_polynomial,
    greatest_common_divisor,
    shifted,
)
from symflow.algebra.exact.rational import fmpq, fraction, rational_matrix
from symflow.algebra.exact.root import Root
from symflow.algebra.exact.texts import simplest
from symflow.errors import Undecided

Rows = Sequence[Sequence[Any]]
Factor = tuple[list[Any], int]  #: coefficients from the constant term up, and multiplicity
#: Largest matrix whose characteristic polynomial is computed with exponentials in it.
_MAX_SIZE = 12
_SHIFTS = 20
#: Mixtures of coefficient matrices that are tried.
_MIXTURES = 4


def spectrum(rows: Rows) -> list[Any]:
    """Return the eigenvalues of a symmetric matrix, ascending, as often as their multiplicity.

    Parameters
    ----------
    rows : sequence of sequences
        Fractions, elements of one number field, sums of exponentials or their quotients.

    Returns
    -------
    list
        Numbers of the field of the entries where they lie in it, else :class:`Root`.

    Raises
    ------
    InputError
        If the matrix is not symmetric.
    Undecided
        If the matrix is too large.

    Examples
    --------
    >>> from symflow.algebra.exact.exponentials import exponential
    >>> e = exponential(1)
    >>> spectrum([[1, e], [e, 1]])
    [1 - exp(1), 1 + exp(1)]
    >>> [float(value) for value in spectrum([[1, 1], [1, 2]])]
    [0.38196601125010515, 2.618033988749895]
    """
    exact = symmetric_rows(rows)
    common = common_denominator(exact)
    cleared = exact if common is None else [[entry * common for entry in row] for row in exact]
    found: list[tuple[Any, int]] = []
    for factor, multiplicity in _factors(cleared):
        if common is not None:
            factor = [c * common**k for k, c in enumerate(factor)]
        found += [(value, multiplicity) for value in _roots(factor)]
    found.sort(key=cmp_to_key(_order))
    return [value for value, multiplicity in found for _ in range(multiplicity)]


def _order(a: tuple[Any, int], b: tuple[Any, int]) -> int:
    return -1 if a[0] < b[0] else int(a[0] > b[0])


def _roots(factor: Polynomial) -> list[Any]:
    """Return the roots of a factor, all of which are real."""
    if len(factor) == 2:
        return [simplest(_quotient(-factor[0], factor[1]))]
    return [Root(tuple(factor), index) for index in range(len(factor) - 1)]


def _quotient(top: Any, bottom: Any) -> Any:
    if isinstance(top, ExpSum) or isinstance(bottom, ExpSum):
        zero = ExpSum({})
        return quotient(zero + top, zero + bottom)
    return top / bottom


def _factors(rows: Rows) -> list[Factor]:
    """Return coprime factors of the characteristic polynomial, without double roots, and multiplicities."""
    layers = layers_of(rows)
    field = common_field([c for matrix in layers.values() for row in matrix for c in row])
    if all(exponent == 0 for exponent in layers):
        constants = layers.get(Fraction(0), rows)
        return _factors_over_field(constants, field) if field else _rational_factors(constants)
    exponents = [scalar(exponent) for exponent in layers]
    linear = _common_eigenvalues(layers, field or common_field(exponents))
    if linear is not None:
        return linear
    if len(rows) > _MAX_SIZE:
        raise Undecided(f"the characteristic polynomial of a matrix of size {len(rows)} is too large")
    polynomial = characteristic_polynomial(rows)
    return by_multiplicity(polynomial) if field else _factors_in_exponentials(polynomial)


# ------------------------------------------------------------------------------ constant matrices


def _rational_factors(rows: Rows) -> list[Factor]:
    polynomial = rational_matrix([[simplest(c) for c in row] for row in rows]).charpoly()
    return [
        ([fraction(fmpq(c)) for c in factor.coeffs()], multiplicity)
        for factor, multiplicity in polynomial.factor()[1]
    ]


def _factors_over_field(rows: Rows, field: NumberField) -> list[Factor]:
    """Return the irreducible factors over the field of the characteristic polynomial of a matrix over it.

    The norm of det(x − M − sθ) is the characteristic polynomial of the rational matrix in which elements
    stand for their multiplication. Where its conjugate factors do not meet, each of its factors f gives a
    factor over the field, gcd(f(x + sθ), det(x − M)) (Trager).
    """
    polynomial = characteristic_polynomial([[c + field.element([0]) for c in row] for row in rows])
    for s in range(_SHIFTS):
        shift = s * field.generator
        moved = [[c + shift * int(i == j) for j, c in enumerate(row)] for i, row in enumerate(rows)]
        norms = regular(moved, field).charpoly().factor()[1]
        found = []
        for norm, multiplicity in norms:
            lifted = [field.element([fraction(fmpq(c))]) for c in norm.coeffs()]
            factor = greatest_common_divisor(shifted(lifted, shift), polynomial)
            if (len(factor) - 1) * field.degree != norm.degree():
                break
            found.append((factor, multiplicity))
        if len(found) == len(norms):
            return found
    raise Undecided(f"no shift of {_SHIFTS} separates the conjugates of the eigenvalues")


# ------------------------------------------------------------------------------ with exponentials


def _common_eigenvalues(layers: Mapping[Any, Rows], field: NumberField | None) -> list[Factor] | None:
    """Return linear factors where constant vectors diagonalise all coefficient matrices at once."""
    matrices = list(layers.values())
    size = len(matrices[0])
    for attempt in range(_MIXTURES):
        weights = [Fraction(2 * k + 1 + attempt, k + 2) for k in range(len(matrices))]
        mixed = [
            [
                sum((w * m[i][j] for w, m in zip(weights, matrices, strict=True)), Fraction(0))
                for j in range(size)
            ]
            for i in range(size)
        ]
        constants = _factors_over_field(mixed, field) if field else _rational_factors(mixed)
        if any(len(factor) > 2 for factor, _ in constants):
            return None
        found = [_joint(layers, mixed, -factor[0] / factor[1], times) for factor, times in constants]
        if all(value is not None for value in found):
            return _collected([(value, times) for value, (_, times) in zip(found, constants, strict=True)])
    return None


def _joint(layers: Mapping[Any, Rows], mixed: Rows, value: Any, times: int) -> ExpSum | None:
    """Return the eigenvalue on the eigenspace of a mixture, None where that is no eigenspace of all."""
    shifted_rows = [[c - (value if i == j else 0) for j, c in enumerate(row)] for i, row in enumerate(mixed)]
    basis = kernel_of(shifted_rows, len(mixed) - times)
    terms = {}
    for exponent, matrix in layers.items():
        place = next(i for i, entry in enumerate(basis[0]) if entry)
        scale = _product(matrix, basis[0])[place] / basis[0][place]
        for vector in basis:
            if any(a != scale * b for a, b in zip(_product(matrix, vector), vector, strict=True)):
                return None
        terms[exponent] = scale
    return ExpSum(terms)


def _product(matrix: Rows, vector: Sequence[Any]) -> list[Any]:
    return [sum((a * b for a, b in zip(row, vector, strict=True) if a and b), Fraction(0)) for row in matrix]


def _collected(values: list[tuple[Any, int]]) -> list[Factor]:
    """Return linear factors, one per different value."""
    counts: dict[Any, int] = {}
    for value, times in values:
        counts[value] = counts.get(value, 0) + times
    return [([-value, Fraction(1)], times) for value, times in counts.items()]


def _factors_in_exponentials(polynomial: Polynomial) -> list[Factor]:
    """Return the factors over the rational functions of independent exponentials, coefficients rational."""
    from flint import fmpq_mpoly_ctx

    terms = [
        (power, exponent, c)
        for power, coefficient in enumerate(polynomial)
        for exponent, c in (ExpSum({}) + coefficient).terms.items()
    ]
    degrees, basis = monomials([exponent for _, exponent, _ in terms])
    ring = fmpq_mpoly_ctx.get(["x", *(f"t{k}" for k in range(len(basis)))], "lex")
    placed = {(power, *degree): fmpq(c) for (power, _, c), degree in zip(terms, degrees, strict=True)}
    found = []
    for factor, multiplicity in ring.from_dict(placed).factor()[1]:
        coefficients = _by_power(factor.to_dict(), basis, len(polynomial))
        if len(coefficients) > 1:
            found.append((coefficients, multiplicity))
    return found


def _by_power(terms: dict[tuple[int, ...], Any], basis: list[Any], size: int) -> list[Any]:
    """Return the coefficients of the powers of x, as sums of exponentials."""
    collected: list[dict[Any, Any]] = [{} for _ in range(size)]
    for (power, *degrees), c in terms.items():
        exponent = sum((int(m) * b for m, b in zip(degrees, basis, strict=True)), Fraction(0))
        collected[int(power)][exponent] = fraction(c)
    while not collected[-1]:
        collected.pop()
    return [ExpSum(part) for part in collected]
