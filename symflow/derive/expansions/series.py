r"""The kernel e^{κ(c−1)} in harmonics of the circle (d = 2) and of S² (d = 3), with a proved tail.

With :math:`P_k` the Chebyshev, resp. Legendre polynomials (:math:`P_k(1) = 1`) and :math:`N_k` the number of
independent harmonics of degree k (1, 2, 2, … resp. 2k + 1)

.. math:: e^{\kappa(c-1)} = \sum_{k\ge0} N_k c_k(\kappa) P_k(c), \qquad
   c_k(\kappa) = e^{-\kappa}\sum_{j\ge0} \frac{\Gamma(d/2)}{j!\,\Gamma(k+j+d/2)}
                 \Big(\frac\kappa2\Big)^{k+2j},

that is :math:`c_k = e^{-\kappa}I_k(\kappa)`, resp. :math:`e^{-\kappa}i_k(\kappa)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy import Expr, Function, Integer, Piecewise, Rational, Symbol, exp, gamma, hyper

KAPPA = Symbol("kappa", nonnegative=True)
DEGREE = Symbol("k", integer=True, nonnegative=True)
#: c_k and c_{k+1}/c_k where the tail starts, in :attr:`Series.tail`.
LEADING = Symbol("c", positive=True)
RATIO = Symbol("r", positive=True)
#: How many modes there may be: beyond, rounding and the work of a mode no longer pay.
MOST_MODES = {2: 1024, 3: 128}


@dataclass(frozen=True)
class Series:
    r"""The series of one space in SymPy.

    Attributes
    ----------
    dimension : int
        2 or 3.
    """

    dimension: int

    @cached_property
    def coefficient(self) -> Expr:
        """c_k(κ) in :data:`DEGREE` and :data:`KAPPA`: the power series, summed."""
        half = Rational(self.dimension, 2)
        series = hyper((), (DEGREE + half,), KAPPA**2 / 4)
        return exp(-KAPPA) * (KAPPA / 2) ** DEGREE * gamma(half) / gamma(DEGREE + half) * series

    @property
    def power_coefficient(self) -> Any:
        """Function (k, j) → coefficient of κ^{k+2j} in e^κ c_k, in SymPy."""
        half = Rational(self.dimension, 2)

        def coefficient(k: Any, j: Any) -> Expr:
            return gamma(half) / (gamma(j + 1) * gamma(k + j + half)) * Rational(1, 2) ** (k + 2 * j)

        return coefficient

    @property
    def count(self) -> Expr:
        """N_k."""
        if self.dimension == 3:
            return 2 * DEGREE + 1
        return Piecewise((Integer(1), DEGREE < 1), (Integer(2), True))

    @cached_property
    def slope(self) -> Expr:
        r"""t_k = N_k c_k/κ from c_{k−1} and c_{k+1}, which no small κ harms; k ≥ 1."""
        before, after = _neighbours()
        difference = before - after
        return difference if self.dimension == 3 else 2 * difference / (2 * DEGREE)

    @cached_property
    def along(self) -> Expr:
        r"""r_k = N_k e^{−κ} d(e^κ c_k)/dκ from c_{k−1} and c_{k+1}; k ≥ 1, and r_0 = c_1."""
        before, after = _neighbours()
        gap = self.dimension - 2
        raised = DEGREE * before + (DEGREE + gap) * after
        return raised if self.dimension == 3 else 2 * raised / (2 * DEGREE)

    @cached_property
    def tail(self) -> Expr:
        r"""A bound of :math:`S_M = \sum_{k\ge M} N_k c_k`, k = M ≥ 1, in c = c_M and r = c_{M+1}/c_M < 1."""
        growth = 2 if self.dimension == 3 else 0
        number = self.count if self.dimension == 3 else Integer(2)
        return LEADING * (number / (1 - RATIO) + growth * RATIO / (1 - RATIO) ** 2)


def _neighbours() -> tuple[Expr, Expr]:
    c = Function("c")
    return c(DEGREE - 1), c(DEGREE + 1)


CIRCLE, SPHERE = Series(2), Series(3)


def series_of(dimension: int) -> Series:
    """Return the series of the circle (2) or of S² (3)."""
    return {2: CIRCLE, 3: SPHERE}[dimension]
