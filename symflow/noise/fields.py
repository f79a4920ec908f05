"""Covariances of given activations: which of them can be enclosed, and how."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, factorial, floor, log2, sqrt
from typing import Any

import sympy
from sympy import Expr, Poly, Symbol

from symflow.errors import InputError
from symflow.noise.covariance import Covariance, HermiteCovariance, KinkCovariance
from symflow.noise.enclosure import ball, ball_function, growth
from symflow.noise.gaussian_rule import gaussian_rule

_KINKED = (sympy.Max, sympy.Min, sympy.Abs, sympy.Piecewise, sympy.Heaviside, sympy.sign)
_FIRST_DEGREE, _LAST_DEGREE = 32, 512
_GUARD, _MARGIN = 64, 16  #: bits for rounding, and by which quadrature is finer than what is asked for


def refuse_unknown(phi: Expr, z: Symbol) -> None:
    """Refuse an activation that is neither polynomial, nor piecewise linear with a kink at zero, nor smooth.

    Raises
    ------
    InputError
        The message names what is in the way.
    """
    if phi.has(*_KINKED):
        _kinked(phi, z, Fraction(1))
    elif phi.is_polynomial(z):
        _polynomial(Poly(phi, z), Fraction(1))
    else:
        for part in (phi, sympy.diff(phi, z)):
            growth(part, z)
            ball_function(part, z)


def covariance_of(phi: Expr, z: Symbol, variance: Fraction, bits: int) -> Covariance:
    """Return the covariance of φ(Z₁) and φ(Z₂) as a function of the correlation of Z₁, Z₂ ~ N(0, q).

    Parameters
    ----------
    phi : Expr
        φ(z): a polynomial, piecewise linear with a kink at zero, or smooth and of exponential growth.
    z : Symbol
    variance : Fraction
        q.
    bits : int
        Aimed at, relative to E φ².
    """
    if phi.has(*_KINKED):
        return _kinked(phi, z, variance)
    if phi.is_polynomial(z):
        return _polynomial(Poly(phi, z), variance)
    return _smooth(phi, z, variance, bits, _FIRST_DEGREE)


def ends_of(phi: Expr, z: Symbol, variance: Fraction, bits: int) -> tuple[Any, Any]:
    """Return E φ(Z)² and q E φ'(Z)², which need no series, as :func:`covariance_of`."""
    if phi.has(*_KINKED) or phi.is_polynomial(z):
        found = covariance_of(phi, z, variance, bits)
    else:
        found = _smooth(phi, z, variance, bits, 0)
    return found.at_one, found.slope_at_one


def _kinked(phi: Expr, z: Symbol, variance: Fraction) -> KinkCovariance:
    """Read c + m z + h|z| off both half-lines."""
    positive = Symbol("z_positive", positive=True)
    (c, right), (other, left) = (_line(phi, sign * positive, z, positive) for sign in (1, -1))
    if c != other:
        raise InputError(f"activation: {phi} jumps at 0, so E φ'² is infinite; use a continuous activation")
    return KinkCovariance(c, (right - left) / 2, (right + left) / 2, variance)


def _line(phi: Expr, place: Expr, z: Symbol, positive: Symbol) -> tuple[Fraction, Fraction]:
    """Return value and slope at 0 of a linear function of ``positive``."""
    found = sympy.expand(phi.subs(z, place))
    if not found.is_polynomial(positive) or sympy.degree(found, positive) > 1:
        raise InputError(
            f"activation: {phi} has a kink, and is not linear on either side of z = 0; use a smooth or "
            "polynomial activation, or one that is linear on z < 0 and on z > 0"
        )
    value, slope = found.coeff(positive, 0), found.coeff(positive, 1)
    if not (value.is_Rational and slope.is_Rational):
        raise InputError(f"activation: {phi} has coefficients that are not rational; give fractions")
    return Fraction(int(value.p), int(value.q)), Fraction(int(slope.p), int(slope.q))


def _polynomial(phi: Poly, variance: Fraction) -> HermiteCovariance:
    """Return the finite series; a_k = q^{k/2}·E φ⁽ᵏ⁾(Z)/√k!, and a_k² is rational."""
    coefficients = phi.all_coeffs()[::-1]
    if not all(c.is_Rational for c in coefficients):
        raise InputError(f"activation: {phi.as_expr()} has coefficients that are no fractions; give such")
    powers = [Fraction(int(c.p), int(c.q)) for c in coefficients]
    squares = []
    for k in range(len(powers)):
        mean = sum(
            (
                c * Fraction(factorial(j), factorial(j - k)) * _moment(j - k, variance)
                for j, c in enumerate(powers)
                if j >= k
            ),
            Fraction(0),
        )
        squares.append(ball(variance**k * mean**2 / factorial(k)))
    zero = ball(Fraction(0))
    slope = sum((k * c for k, c in enumerate(squares)), zero)
    return HermiteCovariance(tuple(squares), sum(squares, zero), slope, zero, zero)


def _moment(order: int, variance: Fraction) -> Fraction:
    """Return E Zⁿ."""
    if order % 2:
        return Fraction(0)
    half = order // 2
    return Fraction(factorial(order), factorial(half) * 2**half) * variance**half


def _smooth(phi: Expr, z: Symbol, variance: Fraction, bits: int, degree: int) -> HermiteCovariance:
    """Return a series whose tail is below 2^{−bits} of its sum, or the longest one; of degree 0 as it is."""
    from flint import ctx

    parts = (phi, sympy.diff(phi, z))
    growths = [growth(part, z) for part in parts]
    functions = [ball_function(part, z) for part in parts]
    scale = 0
    while True:
        # The recursion of Hermite polynomials up to degree n at x widens balls by up to Π(1 + |x|/√k).
        with ctx.workprec(bits + _GUARD + ceil(4 * sqrt(bits + _GUARD) * sqrt(degree))):
            root = ball(variance).sqrt()
            rule = gaussian_rule(functions, growths, root, degree, bits + scale + _MARGIN)
            slope = ball(variance) * rule.square(1)
            found = HermiteCovariance.of(rule.hermite(0, degree), rule.square(0), slope)
        size = max(0, -floor(log2(max(float(found.at_one), 1e-300))))
        if size > scale:
            scale = size
            continue
        left = max(float(found.tail), float(found.slope_tail)) / float(found.at_one)
        if not 0 < degree < _LAST_DEGREE or left < 2.0**-bits:
            return found
        # Coefficients of a function that is holomorphic in a strip decay like e^{−c√k}.
        further = (bits / max(1.0, -log2(left))) ** 2
        degree = min(_LAST_DEGREE, ceil(degree * min(max(1.2, 1.1 * further), 4.0)))
