r"""Positivity of polynomials in several variables on boxes, by their Bernstein coefficients, exactly.

On a box a polynomial lies between its smallest and its largest Bernstein coefficient, and those at the
corners are its values there; cutting the box makes the bounds sharp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import comb
from typing import Any

from symflow.algebra.exact.boxes import Box, as_box
from symflow.errors import InputError

Terms = Mapping[tuple[int, ...], Any]  #: from exponents to rational coefficients
_Coefficients = dict[tuple[int, ...], Fraction]


@dataclass(frozen=True)
class PolynomialSign:
    """What the Bernstein coefficients show.

    Attributes
    ----------
    status : str
        ``"positive"``, ``"not positive"`` with ``point``, or ``"open"`` after the stated number of boxes.
    leaves : tuple of Box
        Boxes on which every coefficient is positive; they cover the whole box where the status is positive.
    lower : Fraction
        A proved lower bound on the box.
    point : tuple of Fraction or None
        A point at which the polynomial is not positive.
    """

    status: str
    leaves: tuple[Box, ...]
    lower: Fraction
    point: tuple[Fraction, ...] | None = None


def bernstein_coefficients(terms: Terms, box: Box) -> _Coefficients:
    """Return the Bernstein coefficients on a box, by index.

    Examples
    --------
    >>> bernstein_coefficients({(2,): 1, (0,): -1}, as_box([(0, 2)]))
    {(0,): Fraction(-1, 1), (1,): Fraction(-1, 1), (2,): Fraction(3, 1)}
    """
    degrees = _degrees(terms, len(box))
    found: _Coefficients = {index: Fraction(0) for index in product(*(range(n + 1) for n in degrees))}
    for exponents, coefficient in terms.items():
        found[exponents] += Fraction(coefficient)
    for axis, (degree, (low, high)) in enumerate(zip(degrees, box, strict=True)):
        found = _along(found, axis, lambda line, n=degree, a=low, b=high: _transformed(line, n, a, b))
    return found


def polynomial_sign(terms: Terms, box: Sequence[Sequence[Any]], max_boxes: int = 4096) -> PolynomialSign:
    """Decide whether a polynomial is positive on a box.

    Parameters
    ----------
    terms : mapping
        From tuples of exponents to rational coefficients.
    box : sequence of pairs
        Ends of the intervals, rational.
    max_boxes : int
        Boxes after which it is left open, as at a zero inside at which the polynomial does not change sign
        unless a corner meets it.

    Examples
    --------
    >>> polynomial_sign({(2, 0): 1, (1, 1): -1, (0, 2): 1, (0, 0): Fraction(1, 9)}, [(-1, 1), (-1, 1)]).status
    'positive'
    >>> polynomial_sign({(2,): 1, (0,): Fraction(-1, 9)}, [(-1, 1)]).point
    (Fraction(0, 1),)
    """
    whole = as_box(box)
    pending = [(whole, bernstein_coefficients(terms, whole))]
    leaves: list[Box] = []
    lower: list[Fraction] = []
    for done in range(max_boxes):
        if not pending:
            return PolynomialSign("positive", tuple(leaves), min(lower))
        # The box with the least coefficient first, so that the bound of an open end is as good as it gets.
        here, coefficients = pending.pop(min(range(len(pending)), key=lambda i: min(pending[i][1].values())))
        corner = _corner(here, coefficients)
        if corner is not None:
            rest = [min(c.values()) for _, c in pending]
            return PolynomialSign(
                "not positive", tuple(leaves), min(lower + rest + [min(coefficients.values())]), corner
            )
        if all(c > 0 for c in coefficients.values()):
            leaves.append(here)
            lower.append(min(coefficients.values()))
        else:
            pending += _cut(here, coefficients, done)
    bounds = lower + [min(c.values()) for _, c in pending]
    return PolynomialSign("open", tuple(leaves), min(bounds))


def _degrees(terms: Terms, size: int) -> list[int]:
    for exponents in terms:
        if len(exponents) != size:
            raise InputError(
                f"the term {exponents} has {len(exponents)} exponents, but the box has {size} sides"
            )
    return [max((e[k] for e in terms), default=0) for k in range(size)]


def _along(coefficients: _Coefficients, axis: int, change: Any) -> _Coefficients:
    """Apply a change of a list of coefficients to every line along an axis."""
    lines: dict[tuple[int, ...], list[tuple[int, Fraction]]] = {}
    for index, value in coefficients.items():
        lines.setdefault(index[:axis] + index[axis + 1 :], []).append((index[axis], value))
    found: _Coefficients = {}
    for rest, line in lines.items():
        for k, value in enumerate(change([value for _, value in sorted(line)])):
            found[(*rest[:axis], k, *rest[axis:])] = value
    return found


def _transformed(line: list[Fraction], degree: int, low: Fraction, high: Fraction) -> list[Fraction]:
    """Return Bernstein coefficients on [low, high] of a polynomial given by powers."""
    width = high - low
    moved = [
        width**k * sum(comb(j, k) * low ** (j - k) * line[j] for j in range(k, degree + 1))
        for k in range(degree + 1)
    ]
    return [
        sum((Fraction(comb(i, k), comb(degree, k)) * moved[k] for k in range(i + 1)), Fraction(0))
        for i in range(degree + 1)
    ]


def _corner(box: Box, coefficients: _Coefficients) -> tuple[Fraction, ...] | None:
    """Return a corner at which the polynomial is not positive; its coefficient is the value there."""
    degrees = [max(index[k] for index in coefficients) for k in range(len(box))]
    for choice in product((0, 1), repeat=len(box)):
        index = tuple(n if c else 0 for n, c in zip(degrees, choice, strict=True))
        if coefficients[index] <= 0:
            return tuple(side[c] for side, c in zip(box, choice, strict=True))
    return None


def _cut(box: Box, coefficients: _Coefficients, turn: int) -> list[tuple[Box, _Coefficients]]:
    """Return both halves, cut along the widest side (in turn among equals), with their coefficients."""
    widths = [high - low for low, high in box]
    order = [(turn + k) % len(box) for k in range(len(box))]
    axis = max(order, key=lambda k: widths[k])
    low, high = box[axis]
    middle = (low + high) / 2
    lower = _along(coefficients, axis, lambda line: _halved(line)[0])
    upper = _along(coefficients, axis, lambda line: _halved(line)[1])
    return [
        ((*box[:axis], (low, middle), *box[axis + 1 :]), lower),
        ((*box[:axis], (middle, high), *box[axis + 1 :]), upper),
    ]


def _halved(line: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Return the coefficients on both halves (de Casteljau)."""
    left, right = [line[0]], [line[-1]]
    while len(line) > 1:
        line = [(a + b) / 2 for a, b in pairwise(line)]
        left.append(line[0])
        right.append(line[-1])
    return left, right[::-1]
