"""Real roots and signs of polynomials in one variable over an exact field, by Sturm's theorem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from symflow.algebra.exact.polynomials import (
    Polynomial,
    by_multiplicity,
    derivative,
    divide,
    greatest_common_divisor,
    value_at,
)
from symflow.algebra.exact.real import enclose, sign
from symflow.errors import InputError, Undecided

Interval = tuple[Fraction, Fraction]
_MAX_CUTS = 4096


@dataclass(frozen=True)
class Positivity:
    """Whether a polynomial is positive on an interval.

    Attributes
    ----------
    holds : bool
    point : Fraction or None
        A point at which it is not positive, where that is rational.
    root : tuple of Fraction or None
        An interval that holds a root, where the polynomial fails to be positive.
    """

    holds: bool
    point: Fraction | None = None
    root: Interval | None = None


def sturm_chain(polynomial: Polynomial) -> list[list[Any]]:
    """Return the chain p, p', then negated remainders, each up to a positive factor.

    Examples
    --------
    >>> sturm_chain([Fraction(-1), Fraction(0), Fraction(1)])[-1]
    [Fraction(1, 1)]
    """
    chain = [list(polynomial), derivative(polynomial)]
    while len(chain[-1]) > 1:
        rest = divide(chain[-2], chain[-1])[1]
        if not rest:
            break
        chain.append(_scaled([-c for c in rest]))
    return [part for part in chain if part]


def count_roots(polynomial: Polynomial, low: Any, high: Any) -> int:
    """Return how many different roots lie in the closed interval.

    Parameters
    ----------
    polynomial : sequence
        Coefficients from the constant term up: fractions or exact real numbers; not all zero.
    low, high : Fraction or exact real number

    Examples
    --------
    >>> count_roots([Fraction(-2), Fraction(0), Fraction(1)], Fraction(0), Fraction(2))
    1
    """
    simple = squarefree(polynomial)
    if len(simple) == 1:
        return 0
    chain = sturm_chain(simple)
    changes = _changes(chain, low) - _changes(chain, high)  # the roots in (low, high]
    return changes + int(sign(value_at(simple, low)) == 0)


def isolate(polynomial: Polynomial, low: Fraction, high: Fraction) -> list[Interval]:
    """Return intervals in [low, high], ascending, each with exactly one root; a root that is met is a point.

    Examples
    --------
    >>> isolate([Fraction(0), Fraction(-2), Fraction(0), Fraction(1)], Fraction(-2), Fraction(2))
    [(Fraction(-2, 1), Fraction(-1, 1)), (Fraction(0, 1), Fraction(0, 1)), (Fraction(1, 1), Fraction(2, 1))]
    """
    simple = squarefree(polynomial)
    chain = sturm_chain(simple) if len(simple) > 1 else [simple]
    found: list[Interval] = []
    pending = [(low, high)]
    for _ in range(_MAX_CUTS):
        if not pending:
            return sorted(found)
        left, right = pending.pop()
        ends = {end for end in (left, right) if sign(value_at(simple, end)) == 0}
        found += [(end, end) for end in ends if (end, end) not in found]
        inside = _changes(chain, left) - _changes(chain, right) - int(right in ends)
        if inside == 1 and not ends:
            found.append((left, right))
        elif inside:
            middle = (left + right) / 2
            pending += [(left, middle), (middle, right)]
    raise Undecided(f"the roots are not told apart after {_MAX_CUTS} cuts")


def is_positive(polynomial: Polynomial, low: Any, high: Any) -> Positivity:
    """Decide whether a polynomial is positive on the closed interval, with evidence where it is not.

    Examples
    --------
    >>> is_positive([Fraction(1), Fraction(-2), Fraction(2)], Fraction(0), Fraction(1)).holds
    True
    >>> is_positive([Fraction(1), Fraction(-2), Fraction(1)], Fraction(0), Fraction(2)).point
    Fraction(1, 1)
    """
    low, high = Fraction(low), Fraction(high)
    if low > high:
        raise InputError(f"the interval [{low}, {high}] is empty: give the lower end first")
    for end in (low, high):
        if sign(value_at(polynomial, end)) <= 0:
            return Positivity(False, end)
    roots = isolate(polynomial, low, high)
    if not roots:
        return Positivity(True)
    edges = [low, *(end for root in roots for end in root), high]
    for left, right in pairwise(edges):
        for point in (left, (left + right) / 2):
            if sign(value_at(polynomial, point)) <= 0:
                return Positivity(False, point)
    return Positivity(False, None, roots[0])


def is_nonnegative(polynomial: Polynomial, low: Fraction, high: Fraction) -> bool:
    """Whether a polynomial that is not zero has no negative value on the closed interval.

    It changes its sign only at roots of odd multiplicity.

    Examples
    --------
    >>> is_nonnegative([Fraction(1), Fraction(-2), Fraction(1)], Fraction(0), Fraction(2))
    True
    """
    values = (sign(value_at(polynomial, low + (high - low) * t)) for t in _probes(len(polynomial)))
    first = next((s for s in values if s), 0)
    if low == high or first < 0:
        return first >= 0
    for part, multiplicity in by_multiplicity(polynomial) if len(polynomial) > 1 else ():
        ends = sum(sign(value_at(part, end)) == 0 for end in (low, high))
        if multiplicity % 2 and count_roots(part, low, high) > ends:
            return False
    return True


def _probes(count: int) -> list[Fraction]:
    """Return more points of the unit interval than a polynomial of fewer coefficients has roots."""
    return [Fraction(k, count) for k in range(count + 1)]


def squarefree(polynomial: Polynomial) -> list[Any]:
    """Return the polynomial with the same roots, all simple."""
    trimmed = list(polynomial)
    while trimmed and not trimmed[-1]:
        trimmed.pop()
    if not trimmed:
        raise InputError("the polynomial that is zero has no isolated roots")
    if len(trimmed) < 3:
        return trimmed
    return divide(trimmed, greatest_common_divisor(trimmed, derivative(trimmed)))[0]


def _changes(chain: Sequence[Polynomial], point: Any) -> int:
    signs = [s for s in (sign(value_at(part, point)) for part in chain) if s]
    return sum(a != b for a, b in pairwise(signs))


def _scaled(polynomial: list[Any]) -> list[Any]:
    """Return a positive multiple whose leading coefficient has size one."""
    leading = polynomial[-1]
    return (
        [c / leading * (1 if enclose(leading, 64) > 0 else -1) for c in polynomial] if leading else polynomial
    )
