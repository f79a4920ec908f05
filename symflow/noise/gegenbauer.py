r"""Schoenberg coefficients of the covariance: its expansion in Gegenbauer polynomials, in balls.

.. math:: \kappa(u) = \sum_k b_k P_k(u), \qquad P_k(1) = 1, \quad b_k \ge 0,

P_k the zonal harmonic of degree k on the unit sphere of dimension d − 1.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

from symflow.algebra.exact.numbers import Ball
from symflow.errors import InputError
from symflow.noise.covariance import HermiteCovariance, KinkCovariance
from symflow.noise.enclosure import ball

if TYPE_CHECKING:
    from symflow.noise.common import CommonNoise


def schoenberg_coefficient(noise: CommonNoise, degree: int) -> Ball:
    """Return b_k."""
    from flint import arb, ctx

    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 0:
        raise InputError(f"k = {degree!r}: give a degree, a whole number from 0 on")
    with ctx.workprec(noise.precision):
        covariance = noise.covariance
        if isinstance(covariance, HermiteCovariance):
            found = _of_series(covariance, noise.scale, noise.dim, degree)
        else:
            found = _by_quadrature(noise, degree)
        bias = ball(noise.sigma_w**2) if degree == 0 else arb(0)
        return Ball.of(found + bias)


def harmonics(dim: int, degree: int) -> int:
    """Return the number of independent harmonics of a degree on the unit sphere of R^d.

    Examples
    --------
    >>> [harmonics(3, k) for k in range(4)]
    [1, 3, 5, 7]
    """
    if degree == 0:
        return 1
    return comb(dim + degree - 1, degree) - (comb(dim + degree - 3, degree - 2) if degree >= 2 else 0)


def _of_series(covariance: HermiteCovariance, scale: Fraction, dim: int, degree: int) -> Any:
    """Return b_k of Σ a_j² r^j by Horner's rule in r, and what the tail may add.

    The coefficients of the tail are not negative and add up to it.
    """
    from flint import arb

    count = len(covariance.squares)
    line = [arb(0)] * (count + 1)
    shift, factor = ball(1 - scale), ball(scale)
    for square in reversed(covariance.squares):
        line = [shift * c + factor * moved for c, moved in zip(line, _times_cosine(line, dim), strict=True)]
        line[0] = line[0] + square
    tail = covariance.tail.union(0)
    return tail + line[degree] if degree <= count else tail


def _times_cosine(line: list[Any], dim: int) -> list[Any]:
    """Return the coefficients of u·Σ c_k P_k; u P_k = ((k + d − 2)P_{k+1} + k P_{k−1})/(2k + d − 2)."""
    from flint import arb

    found = [arb(0)] * len(line)
    for k, c in enumerate(line):
        if k + 1 < len(line):
            up = Fraction(k + dim - 2, 2 * k + dim - 2) if (k, dim) != (0, 2) else Fraction(1)
            found[k + 1] = found[k + 1] + ball(up) * c
        if k:
            found[k - 1] = found[k - 1] + ball(Fraction(k, 2 * k + dim - 2)) * c
    return found


def _by_quadrature(noise: CommonNoise, degree: int) -> Any:
    """Return b_k by flint's adaptive quadrature in the angle, in which the covariance is analytic."""
    from flint import acb, arb

    covariance, scale, dim = noise.covariance, noise.scale, noise.dim

    def integrand(theta: Any, _analytic: bool) -> Any:
        if isinstance(covariance, KinkCovariance) and scale == 1:
            value = covariance.at_angle(theta)
        else:
            t = (2 * ball(scale)).sqrt() * (theta / 2).sin()
            if not t.abs_upper() < arb(2).sqrt():
                return acb("nan")
            value = covariance.near_end(t, 1)
        return value * _zonal(theta.cos(), dim, degree) * theta.sin() ** (dim - 2)

    half = arb(dim) / 2
    weight = harmonics(dim, degree) * half.gamma() / (arb.pi().sqrt() * (half - arb(1) / 2).gamma())
    return weight * acb.integral(integrand, acb(0), acb(arb.pi())).real


def _zonal(u: Any, dim: int, degree: int) -> Any:
    """Return P_k(u)."""
    before, now = u * 0 + 1, u
    if degree == 0:
        return before
    for k in range(1, degree):
        before, now = now, ((2 * k + dim - 2) * u * now - k * before) / (k + dim - 2)
    return now
