"""Bounds over all cosines: the rate of the dissipation energy, and of fractional energies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

from symflow.algebra.exact.numbers import Ball
from symflow.noise.chords import Chords, Interval
from symflow.noise.enclosure import ball

if TYPE_CHECKING:
    from symflow.noise.common import CommonNoise

_WHOLE: Interval = (Fraction(-1), Fraction(1))
_MOST = 4000


def energy_profile(noise: CommonNoise, beta: Fraction) -> Callable[[Interval], Any]:
    """Return enclosures of F = −Lf/f, f = e^β − e^{βu}, on intervals; at u = 1 its limit."""
    chords = Chords(noise)

    def profile(interval: Interval) -> Any:
        first, second = chords.forms(interval)
        far, near = (bernoulli(beta * (1 - end)) for end in interval)
        gap = ball(1 - interval[1]).union(ball(1 - interval[0]))
        return near.union(far) * (first + ball(beta) * gap * second)

    return profile


def fractional_profile(noise: CommonNoise, power: Fraction) -> Callable[[Interval], Any]:
    """Return enclosures of −Lf/f, f = (1 − u)^q, on intervals; at u = 1 its limit."""
    chords = Chords(noise)

    def profile(interval: Interval) -> Any:
        first, second = chords.forms(interval)
        return ball(power) * first + ball(power * (1 - power)) * second

    return profile


def bernoulli(x: Fraction) -> Any:
    """Return x/(e^x − 1), which decreases from 1 at x = 0."""
    value = ball(x)
    return value / value.expm1() if x else ball(Fraction(1))


@dataclass(frozen=True)
class Minimum:
    """The minimum of a function on [−1, 1].

    Attributes
    ----------
    value : Ball
    at : Fraction
        Where the upper bound is reached.
    """

    value: Ball
    at: Fraction


def minimum(profile: Callable[[Interval], Any], tolerance: float, bits: int) -> Minimum:
    """Return the minimum by branch and bound, to within ``tolerance`` of the largest value that was met.

    Parameters
    ----------
    profile : callable
        Encloses the function on an interval, and at a point.
    tolerance : float
    bits : int
        Precision of the balls.
    """
    from flint import ctx

    order = count()
    with ctx.workprec(bits):
        points = {end: Ball.of(profile((end, end))) for end in _WHOLE}
        best = min(points, key=lambda u: points[u].upper)
        size = max(abs(value.midpoint) for value in points.values())
        heap: list[tuple[Fraction, int, Interval]] = [(-(Fraction(10) ** 300), next(order), _WHOLE)]
        while True:
            lower, _, (low, high) = heap[0]
            if points[best].upper - lower <= Fraction(tolerance) * size or next(order) > _MOST:
                break
            heappop(heap)
            middle = (low + high) / 2
            points[middle] = Ball.of(profile((middle, middle)))
            best = min(best, middle, key=lambda u: points[u].upper)
            for half in ((low, middle), (middle, high)):
                bound = Ball.of(profile(half)).lower
                if bound <= points[best].upper:
                    heappush(heap, (max(bound, lower), next(order), half))
            if not heap:
                lower = points[best].lower
                break
    upper = points[best].upper
    lower = min(lower, upper)
    return Minimum(Ball((lower + upper) / 2, (upper - lower) / 2), best)
