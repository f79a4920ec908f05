r"""The covariance as tables of polynomials with a proved error, for fast evaluation.

In :math:`s = \sqrt{1 - |u|}`, on either side of u = 0, κ and κ' are analytic, whatever powers
:math:`(1 \mp u)^{k + 1/2}` they have at the ends of [−1, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from symflow.algebra.exact.numbers import Ball
from symflow.checking import Array
from symflow.errors import Undecided
from symflow.noise.covariance import Covariance
from symflow.noise.enclosure import ball

_BITS = 256
#: Radii of circles on which functions are bounded.
_RADII = tuple(Fraction(k, 100) for k in (40, 30, 25, 20, 16, 13, 10, 7, 5, 2))
#: Taylor coefficients that are computed, for each that is kept.
_COMPUTED = 3


@dataclass(frozen=True, eq=False)
class KappaProgram:
    r"""A function on [−1, 1] as polynomials in :math:`s = \sqrt{1 - |u|}`.

    With w = s·per_unit, i = ⌊w⌋ and x = w − i − ½ the value is
    :math:`\sum_k c_{e,i,k}x^k`, where e is 0 for u ≥ 0 and 1 for u < 0. At u = 0 the last piece is meant.

    Attributes
    ----------
    coefficients : ndarray, shape (2, pieces, terms)
    per_unit : float
        Pieces per unit of s; slightly below their number where s = 1 must fall into the last one.
    error : float
        Proved bound of the distance to the function in exact arithmetic, over all of [−1, 1].
    """

    coefficients: Array
    per_unit: float
    error: float

    def __call__(self, u: Array) -> Array:
        """Evaluate at cosines in [−1, 1]."""
        pieces = self.coefficients.shape[1]
        scaled = np.sqrt(1.0 - np.abs(u)) * self.per_unit
        piece = np.minimum(scaled.astype(np.int64), pieces - 1)
        side = (u < 0.0).astype(np.int64)
        x = scaled - piece - 0.5
        total = self.coefficients[side, piece, -1]
        for k in range(self.coefficients.shape[2] - 2, -1, -1):
            total = total * x + self.coefficients[side, piece, k]
        return np.asarray(total)


@dataclass(frozen=True)
class OnCosines:
    """A covariance as a function of the cosine u, with r = 1 − scale·(1 − u).

    Attributes
    ----------
    covariance : Covariance
    scale : Fraction
        1/(dq), at most one.
    """

    covariance: Covariance
    scale: Fraction

    def correlation(self, u: Any) -> Any:
        """Return r at a ball or an exact number u."""
        return 1 - ball(self.scale) * (1 - u)

    def value(self, s: Any, side: int) -> Any:
        """Return K at u = ±(1 − s²), for side = 0 and 1."""
        return self.covariance.near_end(*self._place(s, side))

    def slope(self, s: Any, side: int) -> Any:
        """Return dK/du there."""
        return self.covariance.slope_near_end(*self._place(s, side)) * ball(self.scale)

    def _place(self, s: Any, side: int) -> tuple[Any, int]:
        """Return (t, e) with r = e(1 − t²), so that t is regular in s."""
        scale = ball(self.scale)
        if side == 0:
            return s * scale.sqrt(), 1
        if self.scale == 1:
            return s, -1
        if self.scale <= Fraction(1, 2):  # r ≥ 0 at u = −1
            return ((2 - s * s) * scale).sqrt(), 1
        return (2 * (1 - scale) + s * s * scale).sqrt(), -1


def kappa_program(
    function: Callable[..., Any], slack: Any, pieces: int, terms: int, per_unit: float
) -> KappaProgram:
    """Return a table of a function of (s, side), which is analytic in s, with a proved error.

    The Taylor coefficients at the centre of a piece are computed in balls, more than are kept; those
    further on are bounded by the maximum on a circle (Cauchy).

    Parameters
    ----------
    function : callable
        ``function(s, side=)`` on ``flint.arb``, ``flint.acb`` and ``flint.arb_series`` in s; side 0 is u ≥ 0.
    slack : flint.arb
        Bound of what the function itself leaves out.
    pieces, terms : int
    per_unit : float

    Raises
    ------
    Undecided
        If a circle leaves the domain in which it is analytic.
    """
    from flint import ctx

    table = np.empty((2, pieces, terms))
    width, worst = Fraction(per_unit), Fraction(0)
    with ctx.workprec(_BITS):
        for side in range(2):
            for piece in range(pieces):
                centre = (piece + Fraction(1, 2)) / width
                row, error = _piece(partial(function, side=side), centre, 1 / width, terms)
                table[side, piece], worst = row, max(worst, error)
        total = worst + Ball.of(slack).upper
    return KappaProgram(table, per_unit, float(total) * (1 + 1e-12))


def _piece(
    function: Callable[[Any], Any], centre: Fraction, width: Fraction, terms: int
) -> tuple[list[float], Fraction]:
    """Return coefficients in (s − centre)/width for |s − centre| ≤ width/2, and a bound of their error."""
    from flint import arb, arb_series

    count = _COMPUTED * terms
    with series_length(count):
        series = function(arb_series([ball(centre), arb(1)], count))
    exact = [c * ball(width**k) for k, c in enumerate(series.coeffs())]
    exact += [arb(0)] * (count - len(exact))
    row = [float(c.mid()) for c in exact[:terms]]
    kept = sum((abs(c - x) / 2**k for k, (c, x) in enumerate(zip(exact, row, strict=False))), arb(0))
    dropped = sum((abs(c) / 2**k for k, c in enumerate(exact[terms:], terms)), arb(0))
    error = Ball.of(kept + dropped).upper + _beyond(function, centre, width / 2, count)
    return row, error


def _beyond(function: Callable[[Any], Any], centre: Fraction, half: Fraction, count: int) -> Fraction:
    """Return a bound of the Taylor series from the term ``count`` on, at distance ``half``."""
    from flint import acb, arb

    bounds = []
    for radius in _RADII:
        if radius > half:
            disc = acb(arb(ball(centre).mid(), _upper(radius)), arb(0, _upper(radius)))
            largest = function(disc).abs_upper()
            ratio = ball(half / radius)
            bound = largest * ratio**count / (1 - ratio)
            if bound.is_finite():
                bounds.append(Ball.of(bound).upper)
    if not bounds:
        raise Undecided("no circle around a piece is shown to lie where the covariance is analytic")
    return min(bounds)


@contextmanager
def series_length(count: int) -> Iterator[None]:
    """Let power series have ``count`` terms inside the block."""
    from flint import ctx

    before = ctx.cap
    ctx.cap = count
    try:
        yield
    finally:
        ctx.cap = before


def _upper(value: Fraction) -> Any:
    """Return a double above a fraction and what the midpoint of a centre may lose, as a ball."""
    return ball(value + Fraction(1, 1 << 60)).upper()
