r"""Where the cosine of two tokens in odd noise ends: its scale function, with a proved error.

.. math:: P(u_t \to 1) = \frac12 + \frac12\int_0^{u_0}s' \Big/ \int_0^1 s', \qquad s' = e^{-\int G_0/G_1}

since s' is even. With e = 1 − u the quotient G₀/G₁ is Q(e)/e, Q = H₀/H₁, and s' is a multiple of
:math:`e^\gamma m(e)` with γ = Q(0) and m analytic at 0. The covariance is replaced by a polynomial, so that Q
is rational; on every cell of [0, 1] s' is a Taylor polynomial, up to what its maximum on a circle bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symflow.algebra.exact.numbers import Ball
from symflow.errors import InputError, Undecided
from symflow.noise.chords import generator_terms
from symflow.noise.covariance import HermiteCovariance
from symflow.noise.enclosure import ball
from symflow.noise.program import series_length

if TYPE_CHECKING:
    from symflow.noise.common import CommonNoise

_CELLS, _TERMS = 24, 48
_REACH = 3  #: radius of the circle around a cell, in half-widths


def sync_probability(noise: CommonNoise, start: Fraction) -> Ball:
    """Return the probability that two tokens with the cosine ``start`` meet, the others becoming opposite.

    Raises
    ------
    InputError
        If the noise is not odd, or λ₁ is not negative.
    Undecided
        If the sign of λ₁ is open.
    """
    if not noise.is_odd:
        raise InputError(
            "sync_probability: the noise is not odd (φ is not, or there are biases), so that opposite tokens "
            "do not stay opposite; the formula is for odd activations without biases"
        )
    if noise.lyapunov.lower >= 0:
        raise InputError(
            f"sync_probability: λ₁ = {noise.lyapunov} is not negative: no pair of tokens ever meets"
        )
    if noise.lyapunov.upper >= 0:
        raise Undecided(f"the sign of λ₁ = {noise.lyapunov} is open; ask for more digits")
    from flint import ctx

    with ctx.workprec(noise.precision + 64):
        whole = _half(noise, Fraction(1))
        part = whole - _half(noise, 1 - abs(start)) if abs(start) < 1 else whole
        sign = (start > 0) - (start < 0)
        return Ball.of((1 + sign * part / whole) / 2)


@dataclass(frozen=True)
class _Quotient:
    """Q = H₀/H₁ as a quotient of polynomials in u, for a polynomial covariance.

    Attributes
    ----------
    top, bottom : flint.arb_poly
    error : flint.arb
        Bound of the distance to the true quotient on [0, 1].
    """

    top: Any
    bottom: Any
    error: Any

    @classmethod
    def of(cls, noise: CommonNoise) -> _Quotient:
        """Return the quotient of odd noise, whose correlation is the cosine."""
        from flint import arb, arb_poly

        covariance = noise.covariance
        if not isinstance(covariance, HermiteCovariance):
            raise InputError("sync_probability: give an odd activation that is smooth or a polynomial")
        chord, u = arb_poly(covariance.chord_coefficients()), arb_poly([0, 1])
        at_one, slope = noise.ends
        top, bottom = (_polynomial(terms, u, chord, at_one) for terms in generator_terms(noise.dim))
        first, second = generator_terms(noise.dim)
        if not all(c >= 0 for _, c in second):
            raise Undecided("H₁ is not shown to be at least κ(1) for u ≥ 0")
        # For 0 ≤ u ≤ 1 and 0 ≤ D ≤ κ'(1): both forms are affine in D, and H₁ is at least κ(1).
        moved = [_size(terms, at_one, slope, 1) * covariance.slope_tail for terms in (first, second)]
        error = moved[0] / at_one + _size(first, at_one, slope, 0) * moved[1] / at_one**2
        return cls(top, bottom, arb(error.upper()))

    @property
    def at_zero(self) -> Any:
        """γ."""
        return self.top(1) / self.bottom(1)

    def regular(self) -> tuple[Any, Any]:
        """Return (Q − γ)/e as numerator and denominator, in powers of e, for small e."""
        from flint import arb_poly

        top, bottom = (part(arb_poly([1, -1])) for part in (self.top, self.bottom))
        return arb_poly((top - self.at_zero * bottom).coeffs()[1:]), bottom


def _polynomial(terms: Any, u: Any, chord: Any, end: Any) -> Any:
    total = u * 0
    for (i, j, k), coefficient in terms:
        total = total + ball(coefficient) * end**k * u**i * chord**j
    return total


def _size(terms: Any, end: Any, slope: Any, derivatives: int) -> Any:
    """Return a bound of a form for 0 ≤ u ≤ 1, 0 ≤ D ≤ κ'(1), or of its derivative by D."""
    total = end * 0
    for (_, j, k), coefficient in terms:
        if j >= derivatives:
            total = total + ball(abs(coefficient)) * end**k * slope ** (j - derivatives)
    return total


def _half(noise: CommonNoise, end: Fraction) -> Any:
    """Return ∫ s' over 1 − end ≤ u ≤ 1, with s' = e^γ(1 + O(e)) at e = 0."""
    quotient = _Quotient.of(noise)
    step = Fraction(1, _CELLS)
    total, level = _first_cell(quotient, min(step, end), step)
    low = step
    while low < end:
        high = min(low + step, end)
        part, level = _cell(quotient, low, high, level)
        total, low = total + part, high
    return total


def _first_cell(quotient: _Quotient, end: Fraction, step: Fraction) -> tuple[Any, Any]:
    """Return ∫_0^end e^γ m, and s' at ``step``."""
    from flint import arb, arb_series

    top, bottom = quotient.regular()
    radius = _REACH * step
    with series_length(_TERMS):
        e = arb_series([arb(0), arb(1)], _TERMS)
        coefficients = (_at(top, e) / _at(bottom, e)).integral().exp().coeffs()[:_TERMS]
    disc = _disc(Fraction(0), radius)
    rest = (ball(radius) * _at(top, disc).abs_upper() / _at(bottom, disc).abs_lower()).exp()
    gamma = quotient.at_zero + arb(0, 1) * quotient.error
    x, power = ball(end), ball(end).log()
    total = sum(
        (c * (power * (gamma + j + 1)).exp() / (gamma + j + 1) for j, c in enumerate(coefficients)), arb(0)
    )
    tail = rest * (x / ball(radius)) ** _TERMS / (1 - x / ball(radius))
    total = total + arb(0, 1) * tail * ((gamma + 1) * power).exp() / (gamma + 1)
    y = ball(step)
    far = rest * (y / ball(radius)) ** _TERMS / (1 - y / ball(radius))
    value = sum((c * y**j for j, c in enumerate(coefficients)), arb(0)) + arb(0, 1) * far
    return total, value * (quotient.at_zero * y.log()).exp()


def _cell(quotient: _Quotient, low: Fraction, high: Fraction, level: Any) -> tuple[Any, Any]:
    """Return the integral over a cell, and s' at its end, from s' at its start."""
    from flint import arb, arb_series

    centre, half = (low + high) / 2, (high - low) / 2
    radius = min(_REACH * half, centre * Fraction(9, 10))
    with series_length(_TERMS):
        e = arb_series([ball(centre), arb(1)], _TERMS)
        coefficients = (
            (_at(quotient.top, 1 - e) / (_at(quotient.bottom, 1 - e) * e)).integral().exp().coeffs()[:_TERMS]
        )
    disc = _disc(centre, radius)
    least = _at(quotient.bottom, 1 - disc).abs_lower() * ball(centre - radius)
    slope = _at(quotient.top, 1 - disc).abs_upper() / least
    ratio, h = ball(half / radius), ball(half)
    rest = arb(0, 1) * ((ball(radius) * slope).exp() * ratio**_TERMS / (1 - ratio))
    start, stop = (sum((c * x**j for j, c in enumerate(coefficients)), rest) for x in (-h, h))
    even = sum((2 * c * h ** (j + 1) / (j + 1) for j, c in enumerate(coefficients) if j % 2 == 0), arb(0))
    at_centre = level / start
    spread = (arb(0, 1) * quotient.error * ball(low).log()).exp()
    return at_centre * (even + 2 * h * rest) * spread, at_centre * stop


def _at(polynomial: Any, x: Any) -> Any:
    """Return the value of a polynomial at a ball or a series, by Horner's rule."""
    total = x * 0
    for coefficient in reversed(polynomial.coeffs()):
        total = total * x + coefficient
    return total


def _disc(centre: Fraction, radius: Fraction) -> Any:
    from flint import acb, arb

    return acb(ball(centre) + arb(0, 1) * ball(radius), arb(0, 1) * ball(radius))
