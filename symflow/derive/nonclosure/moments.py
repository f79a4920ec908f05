r"""Exact Gaussian integrals of polynomials times exponentials of quadratics.

.. math:: \int y^n e^{ay^2+by+c}\,d\mathcal{N}(m,s)
          = \frac{\sigma}{\sqrt s}\,e^{\kappa}\; E[Z^n], \qquad
          Z \sim \mathcal{N}\big(\sigma^2(b + m/s),\,\sigma^2\big), \quad \sigma^{-2} = s^{-1} - 2a > 0

by completing the square; the moments of Z follow by recursion.
"""

from __future__ import annotations

from typing import Any

from sympy import Expr, Integer, Mul, Poly, PolynomialError, Pow, Rational, S, exp, expand, sqrt

from symflow.derive.nonclosure.reduction import Y
from symflow.derive.nonclosure.witness import Law


class NotElementary(Exception):
    """An integrand that is not a sum of polynomials times exponentials of quadratics."""


class Diverges(Exception):
    """An integral that is infinite."""


def expectation(integrand: Expr, law: Law) -> Expr:
    """Return the exact integral of a function of :data:`Y` against a Gaussian.

    Raises
    ------
    NotElementary
        If the integrand is no sum of polynomials times exponentials of quadratics.
    Diverges
        If the integral is infinite.
    """
    total = S.Zero
    for term in expand(integrand).as_ordered_terms() if integrand != 0 else ():
        coefficient, degree, exponent = _split(term)
        total += coefficient * _moment(degree, exponent, law)
    return expand(total)


def _split(term: Expr) -> tuple[Expr, int, Expr]:
    """Return (coefficient, power of y, exponent) of one product."""
    coefficient, degree, exponent = S.One, 0, S.Zero
    for factor in Mul.make_args(term):
        if not factor.has(Y):
            coefficient *= factor
        elif isinstance(factor, exp):
            exponent += factor.args[0]
        elif isinstance(factor, Pow) and isinstance(factor.base, exp) and factor.exp.is_Rational:
            exponent += factor.base.args[0] * factor.exp
        else:
            degree += _degree(factor)
    return coefficient, degree, exponent


def _degree(factor: Expr) -> int:
    base, power = factor.as_base_exp()
    if base != Y or not (power.is_Integer and power > 0):
        raise NotElementary(str(factor))
    return int(power)


def _moment(degree: int, exponent: Expr, law: Law) -> Expr:
    a, b, c = _quadratic(exponent)
    precision = 1 / law.variance - 2 * a
    if not precision.is_positive:
        raise Diverges(f"∫ exp({exponent}) dN({law.mean}, {law.variance}) = ∞")
    mean = (b + law.mean / law.variance) / precision
    rest = c - law.mean**2 / (2 * law.variance) + mean**2 * precision / 2
    moments = [Integer(1), mean]
    for n in range(1, degree):
        moments.append(expand(mean * moments[n] + n * moments[n - 1] / precision))
    return moments[degree] * exp(expand(rest)) / sqrt(law.variance * precision)


def _quadratic(exponent: Expr) -> tuple[Any, Any, Any]:
    try:
        polynomial = Poly(exponent, Y)
    except PolynomialError as error:
        raise NotElementary(str(exponent)) from error
    if polynomial.degree() > 2 or polynomial.free_symbols - {Y}:
        raise NotElementary(str(exponent))
    a, b, c = (polynomial.coeff_monomial(Y**power) for power in (2, 1, 0))
    return a, b, c


def is_certainly_nonzero(value: Expr) -> bool:
    """Whether an exact number is different from zero beyond doubt."""
    if value.is_Rational:
        return bool(value != 0)
    return bool(abs(value.evalf(60)) > Rational(1, 10**40)) and value.is_zero is not True


def tidy(value: Expr) -> Expr:
    """Return an exact number with its roots and exponentials collected."""
    from sympy import powsimp, radsimp

    return value if value.is_Rational else powsimp(expand(radsimp(expand(value))))
