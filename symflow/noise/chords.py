r"""The generator of the cosine of two tokens by chords of the covariance, in balls up to the end u = 1.

With D(u) = (κ(1) − κ(u))/(1 − u) the quotients H₀ = G₀/(1 − u) and H₁ = G₁/(1 − u)² are polynomials in u,
D(u) and κ(1): for f = (1 − u)^q, :math:`Lf/f = -qH_0 + q(q - 1)H_1`, and for f = e^β − e^{βu}

.. math:: -Lf/f = \frac{\beta(1-u)}{e^{\beta(1-u)} - 1}\,\bigl(H_0 + \beta(1-u)H_1\bigr).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from symflow.noise.enclosure import ball

if TYPE_CHECKING:
    from symflow.noise.common import CommonNoise

Interval = tuple[Fraction, Fraction]
Terms = tuple[tuple[tuple[int, int, int], Fraction], ...]  #: powers of u, D and κ(1), and coefficient


@lru_cache(maxsize=1)
def chord_forms() -> tuple[Any, Any]:
    """Return H₀ and H₁ as polynomials in u, D and κ(1), from the derived generator.

    Examples
    --------
    >>> chord_forms()[1]
    (u + 1)*(D*u + kappa_1)
    """
    from sympy import Symbol, cancel, factor

    from symflow.derive.noise import pair_generator
    from symflow.derive.noise.symbols import COSINE, kappa

    chord, end = Symbol("D"), Symbol("kappa_1")
    given = {kappa(COSINE): end - (1 - COSINE) * chord, kappa(1): end}
    found = pair_generator()
    parts = (found.drift / (1 - COSINE), found.diffusion / (1 - COSINE) ** 2)
    first, second = (factor(cancel(part.subs(given))) for part in parts)
    return first, second


@lru_cache(maxsize=64)
def generator_terms(dim: int) -> tuple[Terms, Terms]:
    """Return the terms of H₀ and H₁ at a size d."""
    from sympy import Integer, Poly, Symbol

    from symflow.derive.noise.symbols import COSINE, SIZE

    found = []
    for form in chord_forms():
        polynomial = Poly(form.subs(SIZE, Integer(dim)), COSINE, Symbol("D"), Symbol("kappa_1"))
        found.append(tuple((powers, Fraction(int(c.p), int(c.q))) for powers, c in polynomial.terms()))
    return found[0], found[1]


@dataclass(frozen=True)
class Chords:
    """H₀ and H₁ of one field on intervals of cosines.

    Attributes
    ----------
    noise : CommonNoise
    """

    noise: CommonNoise

    def forms(self, interval: Interval) -> tuple[Any, Any]:
        """Return enclosures of H₀ and H₁ for all cosines of an interval in [−1, 1]."""
        low, high = interval
        u = ball(low).union(ball(high)) if low < high else ball(low)
        values = (u, self.chord(interval), self.noise.ends[0])
        first, second = (_evaluated(terms, values) for terms in generator_terms(self.noise.dim))
        return first, second

    def chord(self, interval: Interval) -> Any:
        """Return an enclosure of D, the better of two.

        D = scale·(K(1) − K(r))/(1 − r) increases with r ≥ 0. On both sides of zero the mean value theorem
        bounds K by its slope, whose even and odd parts increase with |r|.
        """
        low, high = (self.noise.on_cosines.correlation(ball(end)) for end in interval)
        if interval[0] == interval[1]:
            return self._scale * self.noise.covariance.chord(low)
        if low >= 0:
            ends = [self._scale * self.noise.covariance.chord(r) for r in (low, high)]
            return ends[0].union(ends[1])
        middle = (low + high) / 2
        value = self.noise.covariance.value(middle) + self._slopes(low, high) * (low - middle).union(
            high - middle
        )
        r = low.union(high)
        return self._scale * (self.noise.covariance.at_one - value) / (1 - r)

    @cached_property
    def _scale(self) -> Any:
        return ball(self.noise.scale)

    def _slopes(self, low: Any, high: Any) -> Any:
        """Return an enclosure of K' on [low, high], by values of its even and odd parts at both ends."""
        pieces = [(low, low * 0), (low * 0, high)] if low < 0 < high else [(low, high)]
        found = None
        for ends in pieces:
            near, far = sorted((abs(end) for end in ends), key=lambda end: float(end.mid()))
            even, odd = zip(*(self._parts(size) for size in (near, far)), strict=True)
            sign = -1 if ends[0] < 0 else 1
            value = even[0].union(even[1]) + sign * odd[0].union(odd[1])
            found = value if found is None else found.union(value)
        return found

    def _parts(self, size: Any) -> tuple[Any, Any]:
        right, left = self.noise.covariance.slope(size), self.noise.covariance.slope(-size)
        return (right + left) / 2, (right - left) / 2


def _evaluated(terms: Terms, values: tuple[Any, Any, Any]) -> Any:
    u, chord, end = values
    total = u * 0
    for (i, j, k), coefficient in terms:
        total = total + ball(coefficient) * u**i * chord**j * end**k
    return total


def forms_of_odd_at_minus_one() -> tuple[Any, Any]:
    """Return H₀ and H₁ at u = −1 for odd κ: κ(−1) = −κ(1), so that D(−1) = κ(1)."""
    from sympy import Symbol, expand

    from symflow.derive.noise.symbols import COSINE

    given = {COSINE: -1, Symbol("D"): Symbol("kappa_1")}
    first, second = (expand(form.subs(given)) for form in chord_forms())
    return first, second
