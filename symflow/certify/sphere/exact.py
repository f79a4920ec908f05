r"""Gradient and second derivative of an energy along great circles, in exact numbers.

A great circle through x with velocity ξ is :math:`x + t\xi - \tfrac12t^2|\xi|^2x + \dots`; for two
velocities the mixed coefficient is :math:`-\langle\xi, \eta\rangle x`. At a critical point the second
derivative along any other curves is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

from symflow.algebra.exact.exponentials import exponential
from symflow.algebra.exact.fields import FieldElement
from symflow.algebra.exact.texts import simplest
from symflow.certify.sphere.energy import TokenEnergy
from symflow.certify.taylor.hyperdual import Hyperdual, Hyperduals
from symflow.certify.taylor.rings import ExactRing
from symflow.certify.terms import Rejected

Vector = Sequence[Any]
MAX_FIELD_EXPONENT = 10_000


class FieldRing(ExactRing):
    """Sums of exponentials over one real number field."""

    def jet(self, name: str, value: Any) -> tuple[Any, Any, Any]:
        """Return a function with its first two derivatives; the exponential also of irrational numbers."""
        plain = simplest(value)
        if name == "exp" and isinstance(plain, FieldElement):
            if not abs(float(plain)) <= MAX_FIELD_EXPONENT:
                raise Rejected(f"an exponential of more than {MAX_FIELD_EXPONENT} is too large")
            found = exponential(plain)
            return found, found, found
        return super().jet(name, plain)


class ExactPoint:
    """An energy at tokens of unit length in exact numbers.

    Raises
    ------
    Rejected
        If a token is not of unit length.
    """

    def __init__(self, energy: TokenEnergy, points: Sequence[Vector]) -> None:
        self._series = Hyperduals(FieldRing())
        self._energy = energy.at(self._series, len(points), len(points[0]))
        self._points = [tuple(point) for point in points]
        for index, point in enumerate(points):
            if inner(point, point) != 1:
                raise Rejected(f"token {index} is not of unit length")
        self.frame = [self._tangents(point) for point in self._points]

    def gradient(self) -> list[list[Any]]:
        """Return the derivatives along the tangent vectors of :attr:`frame`, token by token."""
        return [
            [self._mixed(i, vector, i, vector).first for vector in vectors]
            for i, vectors in enumerate(self.frame)
        ]

    def hessian(self) -> list[list[Any]]:
        """Return the second derivatives along the vectors of the frame, in a row for all tokens."""
        places = [(i, vector) for i, vectors in enumerate(self.frame) for vector in vectors]
        rows: list[list[Any]] = []
        for k, (i, first) in enumerate(places):
            rows.append([self._mixed(i, first, j, second).mixed for j, second in places[: k + 1]])
        return [[rows[max(k, l)][min(k, l)] for l in range(len(places))] for k in range(len(places))]

    def second(self, direction: Sequence[Vector]) -> Any:
        """Return the second derivative along the great circles with these velocities.

        Raises
        ------
        Rejected
            If a velocity is not tangent.
        """
        for index, (point, vector) in enumerate(zip(self._points, direction, strict=True)):
            if inner(point, vector) != 0:
                raise Rejected(f"the direction of token {index} is not tangent")
        tokens = [
            self._token(point, vector, vector) for point, vector in zip(self._points, direction, strict=True)
        ]
        return self._energy.terms_with(tokens).mixed

    def _mixed(self, i: int, first: Vector, j: int, second: Vector) -> Hyperdual:
        still = [Fraction(0)] * len(first)
        tokens = [
            self._token(point, first if k == i else still, second if k == j else still)
            for k, point in enumerate(self._points)
        ]
        return self._energy.terms_with(tokens, frozenset((i, j)))

    def _token(self, point: Vector, first: Vector, second: Vector) -> tuple[Hyperdual, ...]:
        bend = -inner(first, second)
        return tuple(
            self._series.varied(x, u, v, bend * x) for x, u, v in zip(point, first, second, strict=True)
        )

    def _tangents(self, point: Vector) -> list[tuple[Any, ...]]:
        """Return projections of all unit vectors but the one nearest to the point."""
        size = range(len(point))
        largest = max(size, key=lambda k: abs(float(point[k])))
        return [tuple((1 if k == l else 0) - point[k] * point[l] for l in size) for k in size if k != largest]


def inner(left: Vector, right: Vector) -> Any:
    """Return the inner product."""
    return reduce(add, (a * b for a, b in zip(left, right, strict=True)))
