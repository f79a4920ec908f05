"""Polynomials in one variable over an exact field: lists of coefficients from the constant term up."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.texts import simplest

Polynomial = Sequence[Any]


def value_at(polynomial: Polynomial, point: Any) -> Any:
    """Return the value at a point, by Horner's rule."""
    total: Any = Fraction(0)
    for coefficient in reversed(polynomial):
        total = total * point + coefficient
    return total


def derivative(polynomial: Polynomial) -> list[Any]:
    """Return the derivative."""
    return [k * c for k, c in enumerate(polynomial)][1:]


def shifted(polynomial: Polynomial, by: Any) -> list[Any]:
    """Return p(x + by).

    Examples
    --------
    >>> shifted([0, 0, 1], Fraction(1, 2))
    [Fraction(1, 4), Fraction(1, 1), Fraction(1, 1)]
    """
    found: list[Any] = []
    for coefficient in reversed(polynomial):
        raised, scaled = [Fraction(0), *found], [*(by * c for c in found), Fraction(0)]
        found = [up + here for up, here in zip(raised, scaled, strict=True)]
        found[0] = found[0] + coefficient
    return found[: len(polynomial)]


def monic(polynomial: Polynomial) -> list[Any]:
    """Return the multiple with leading coefficient one."""
    return [simplest(c / polynomial[-1]) for c in polynomial]


def divide(top: Polynomial, bottom: Polynomial) -> tuple[list[Any], list[Any]]:
    """Return quotient and remainder.

    Examples
    --------
    >>> divide([Fraction(-1), Fraction(0), Fraction(1)], [Fraction(1), Fraction(1)])
    ([Fraction(-1, 1), Fraction(1, 1)], [])
    """
    rest, found = list(top), [Fraction(0)] * max(0, len(top) - len(bottom) + 1)
    for place in reversed(range(len(found))):
        factor = rest[place + len(bottom) - 1] / bottom[-1]
        found[place] = factor
        for k, coefficient in enumerate(bottom):
            rest[place + k] = rest[place + k] - factor * coefficient
    return found, _trimmed(rest[: len(bottom) - 1])


def greatest_common_divisor(one: Polynomial, other: Polynomial) -> list[Any]:
    """Return the monic greatest common divisor of two polynomials that are not zero."""
    one, other = monic(one), _trimmed(list(other))
    while other:
        one, other = monic(other), divide(one, monic(other))[1]
    return monic(one)


def by_multiplicity(polynomial: Polynomial) -> list[tuple[list[Any], int]]:
    """Return coprime polynomials without double roots, with the multiplicity of their roots (Yun)."""
    found, multiplicity = [], 1
    common = greatest_common_divisor(polynomial, derivative(polynomial))
    left = divide(monic(polynomial), common)[0]
    while len(left) > 1:
        shared = greatest_common_divisor(left, common) if len(common) > 1 else [Fraction(1)]
        simple = divide(left, shared)[0]
        if len(simple) > 1:
            found.append((monic(simple), multiplicity))
        left, common, multiplicity = shared, divide(common, shared)[0], multiplicity + 1
    return found


def characteristic_polynomial(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return det(x − A), by Faddeev and LeVerrier, which divides by integers only.

    Examples
    --------
    >>> characteristic_polynomial([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(1)]])
    [Fraction(-3, 1), Fraction(-2, 1), Fraction(1, 1)]
    """
    return _leverrier(rows)[0]


def adjugate(rows: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], Any]:
    """Return the adjugate and the determinant of a square matrix, without dividing by its entries.

    Examples
    --------
    >>> adjugate([[Fraction(1), Fraction(2)], [Fraction(3), Fraction(4)]])[1]
    Fraction(-2, 1)
    """
    coefficients, last = _leverrier(rows)
    sign = 1 if len(rows) % 2 else -1
    return [[sign * entry for entry in row] for row in last], -sign * coefficients[0]


def _leverrier(rows: Sequence[Sequence[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Return the coefficients of det(x − A), and the matrix M with AM = −det(−A)."""
    size = len(rows)
    coefficients: list[Any] = [Fraction(1)]
    product: list[list[Any]] = [[Fraction(0)] * size for _ in range(size)]
    factor = product
    for k in range(1, size + 1):
        last = coefficients[-1]
        factor = [[c + (last if i == j else 0) for j, c in enumerate(row)] for i, row in enumerate(product)]
        product = [[_dot(row, [other[j] for other in factor]) for j in range(size)] for row in rows]
        coefficients.append(-sum((product[i][i] for i in range(size)), Fraction(0)) * Fraction(1, k))
    return coefficients[::-1], factor


def _dot(row: Sequence[Any], column: Sequence[Any]) -> Any:
    return sum((a * b for a, b in zip(row, column, strict=True) if a and b), Fraction(0))


def _trimmed(polynomial: list[Any]) -> list[Any]:
    while polynomial and not polynomial[-1]:
        polynomial.pop()
    return polynomial
