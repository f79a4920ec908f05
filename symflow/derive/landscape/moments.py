r"""Powers of the cosine in zonal harmonics, for every degree, power and dimension at once.

With the law ν of a coordinate on the sphere of :math:`\mathbb R^d`, of density proportional to
:math:`(1 - t^2)^{(d-3)/2}`, and the polynomials :math:`P_k` that are orthogonal under it, :math:`P_k(1) = 1`,
Rodrigues' formula and k integrations by parts give

.. math:: M(k, i) = \int t^{k+2i}P_k\,d\nu = \frac{\Gamma(\frac d2)}{\sqrt\pi\,2^k\,\Gamma(k + \frac{d-1}2)}
          \int_{-1}^1\Bigl(\frac{d^k}{dt^k}t^{k+2i}\Bigr)(1 - t^2)^{k + \frac{d-3}2}\,dt > 0,

an integral of Euler's.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Expr, Rational, S, Symbol, factor, gamma, gammasimp, pi, sqrt

from symflow.errors import InputError

DEGREE, STEP = Symbol("k", integer=True, nonnegative=True), Symbol("i", integer=True, nonnegative=True)
SIZE = Symbol("d", integer=True, positive=True)


def power_moment(k: Any = DEGREE, i: Any = STEP, d: Any = SIZE) -> Expr:
    r"""Return the integral of :math:`t^{k+2i}P_k` under the law of a coordinate on the sphere.

    Parameters
    ----------
    k, i, d : int or Expr
        Degree k ≥ 0, step i ≥ 0 and dimension d ≥ 2, numbers or symbols.

    Returns
    -------
    Expr
        Positive; a rational number where k, i and d are numbers.

    References
    ----------
    DLMF 18.5.5 (Rodrigues' formula), 5.12.1 (the beta function).

    Examples
    --------
    >>> power_moment(1, 0, 3), power_moment(2, 0, 3)
    (1/3, 2/15)
    """
    k, i, d = S(k), S(i), S(d)
    power = k + (d - 3) / S(2)
    half = i + Rational(1, 2)
    derivative = gamma(k + 2 * i + 1) / gamma(2 * i + 1)  # of t^(k + 2i), k times
    integral = gamma(half) * gamma(power + 1) / gamma(half + power + 1)
    front = gamma(d / 2) / (sqrt(pi) * 2**k * gamma(k + (d - 1) / S(2)))
    return gammasimp(front * derivative * integral)


def moment_ratios() -> tuple[Expr, Expr]:
    """Return M(k, i + 1)/M(k, i) and M(k + 1, i)/M(k, i), rational functions of k, i and d."""
    k, i, here = DEGREE, STEP, power_moment()
    ratios = (power_moment(k, i + 1) / here, power_moment(k + 1, i) / here)
    in_power, in_degree = (factor(gammasimp(ratio)) for ratio in ratios)
    return in_power, in_degree


def moment_by_recurrence(k: int, power: int, d: int) -> Fraction:
    r"""Return the integral of :math:`t^jP_k` by the recurrence of the polynomials, without Rodrigues.

    Parameters
    ----------
    k, power, d : int
        k ≥ 0, the power j ≥ 0, d ≥ 2.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> moment_by_recurrence(2, 2, 3), moment_by_recurrence(2, 0, 3)
    (Fraction(2, 15), Fraction(0, 1))
    """
    if k < 0 or power < 0 or d < 2:
        raise InputError(f"k = {k}, power = {power}, d = {d}: give k ≥ 0, power ≥ 0 and d ≥ 2")
    polynomial = _polynomial(k, d)
    return sum((c * _plain(power + j, d) for j, c in enumerate(polynomial)), Fraction(0))


def _polynomial(k: int, d: int) -> list[Fraction]:
    """Coefficients of P_k: (k + d − 2) P_{k+1} = (2k + d − 2) t P_k − k P_{k−1}."""
    before, here = [Fraction(0)], [Fraction(1)]
    for degree in range(k):
        raised = [Fraction(0), *here]
        padded = before + [Fraction(0)] * (len(raised) - len(before))
        scale = degree + d - 2 or 1  # P₁ = t, for d = 2 too
        lead = 2 * degree + d - 2 or 1
        ahead = [(lead * a - degree * b) / scale for a, b in zip(raised, padded, strict=True)]
        before, here = here, ahead
    return here


def _plain(power: int, d: int) -> Fraction:
    """∫ t^j dν: zero for odd j, and (j + 1)/(j + d) times the one before for j + 2."""
    if power % 2:
        return Fraction(0)
    value = Fraction(1)
    for j in range(0, power, 2):
        value *= Fraction(j + 1, j + d)
    return value
