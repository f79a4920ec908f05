r"""Lower bounds of second derivatives on boxes of tokens, in balls.

Where the support of the laws lies in a convex set B,

.. math:: \frac{d^2}{dt^2}F - \lambda\,\mathbb E|\xi|^2 = \tfrac12\,\mathbb E
          \Bigl\langle\zeta, \Bigl(D^2W(x, y) + \begin{pmatrix}D^2U(x)&\\&D^2U(y)\end{pmatrix}
          - \lambda I\Bigr)\zeta\Bigr\rangle,\qquad \zeta = (\xi(x), \xi(y)),

so that it suffices that the matrix is positive definite for x, y in B. Its entries are enclosed over a box of
tokens by series whose coefficients are balls as wide as the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from symflow.certify.propositions.convexity import StatedEnergy
from symflow.certify.taylor.geodesics import AtomicEnergy
from symflow.certify.taylor.hyperdual import Hyperduals
from symflow.certify.taylor.rings import BallRing
from symflow.certify.terms import Rejected

Box = tuple[tuple[Fraction, Fraction], ...]  #: low and high of each coordinate, those of x before those of y


class HessianOnBoxes:
    """The matrix of the second derivative over boxes of one token, or of two if they interact."""

    def __init__(self, stated: StatedEnergy) -> None:
        if stated.dimension is None or stated.domain.is_everything or stated.metric.name != "wasserstein":
            raise Rejected(
                "a bound on boxes needs a bounded domain, its dimension, and the Wasserstein metric"
            )
        self._stated = stated
        self._dimension = stated.dimension
        self._ring = BallRing()
        self._series = Hyperduals(self._ring)
        self._energy = AtomicEnergy(stated, self._ring, stated.dimension)
        self._modulus = self._ring.number(stated.modulus)

    @property
    def start(self) -> Box:
        """The box that is subdivided; it holds the domain, once for each token."""
        domain = self._stated.domain
        if domain.box is not None:
            sides = tuple((low, high) for low, high in domain.box)
        else:
            radius = domain.radius or Fraction(0)
            sides = ((-radius, radius),) * self._dimension
        return sides * (1 if self._stated.pair is None else 2)

    def is_outside(self, box: Box) -> bool:
        """Whether no token of a box, or no pair of them, lies in the domain."""
        radius = self._stated.domain.radius
        if radius is None:
            return False
        tokens = (box[k : k + self._dimension] for k in range(0, len(box), self._dimension))
        return any(sum(_least_square(side) for side in token) > radius**2 for token in tokens)

    def is_definite(self, box: Box) -> bool:
        """Whether the matrix is positive definite everywhere in a box."""
        try:
            return _is_definite(self._matrix(box))
        except Rejected:  # a function is not known to be smooth on all of the box
            return False

    def _matrix(self, box: Box) -> list[list[Any]]:
        size = len(box)
        balls = [_ball(*side) for side in box]
        one = self._ring.number(Fraction(1))
        found = [[one] * size for _ in range(size)]
        for a in range(size):
            for b in range(a + 1):
                column = tuple(
                    (self._series.varied(ball, one if c == a else None, one if c == b else None),)
                    for c, ball in enumerate(balls)
                )
                entry = self._mixed(column)
                found[a][b] = found[b][a] = entry - self._modulus if a == b else entry
        return found

    def _mixed(self, column: Any) -> Any:
        """Return the mixed derivative of W(x, y) + U(x) + U(y), or of U(x) alone."""
        d, stated = self._dimension, self._stated
        tokens = [column[k : k + d] for k in range(0, len(column), d)]
        total = self._series.number(Fraction(0))
        if stated.pair is not None:
            total = total + self._energy.pair_series(tokens[0], tokens[1])
        if stated.potential is not None:
            for token in tokens:
                total = total + self._energy.potential_series(token)
        return total.mixed


def halves(box: Box, coordinate: int) -> tuple[Box, Box]:
    """Return the two halves of a box."""
    low, high = box[coordinate]
    middle = (low + high) / 2
    parts = ((low, middle), (middle, high))
    first, second = ((*box[:coordinate], part, *box[coordinate + 1 :]) for part in parts)
    return first, second


def _ball(low: Fraction, high: Fraction) -> Any:
    from flint import arb, fmpq

    ends = (arb(fmpq(end.numerator, end.denominator)) for end in (low, high))
    left, right = ends
    return left.union(right)


def _least_square(side: tuple[Fraction, Fraction]) -> Fraction:
    low, high = side
    return Fraction(0) if low <= 0 <= high else min(low * low, high * high)


def _is_definite(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether every symmetric matrix in the balls is positive definite, by elimination."""
    rest = [list(row) for row in rows]
    for k in range(len(rest)):
        pivot = rest[k][k]
        if not pivot > 0:
            return False
        for i in range(k + 1, len(rest)):
            factor = rest[i][k] / pivot
            for j in range(k + 1, len(rest)):
                rest[i][j] = rest[i][j] - factor * rest[k][j]
    return True
