r"""How far a law on a ball can spread: the comparison equation :math:`R' = B(R)`, and where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Poly, PolynomialError, S, Symbol, exp

from symflow.derive.stability.ranges import RADIUS

TIME = Symbol("t", nonnegative=True)
START = Symbol("R_0", nonnegative=True)


@dataclass(frozen=True)
class Growth:
    r"""The largest radius of the support.

    Attributes
    ----------
    speed : Expr
        B(R).
    solution : Expr or None
        R(t) from R₀ in closed form, None where there is none here.
    end : Expr or None
        The time at which the closed form ends; None for all times, or where there is no closed form.
    """

    speed: Any
    solution: Any
    end: Any

    @property
    def is_global(self) -> bool:
        """Whether the bound holds for all times for certain."""
        return self.solution is not None and self.end is None


def growth(speed: Any) -> Growth:
    """Return the solution of R' = B(R) for B affine, or a single power.

    Examples
    --------
    >>> a = Symbol("a", positive=True)
    >>> growth(a * RADIUS).solution, growth(a * RADIUS**3).end
    (R_0*exp(a*t), 1/(2*R_0**2*a))
    """
    try:
        polynomial = Poly(speed, RADIUS)
    except PolynomialError:
        return Growth(speed, None, None)
    if any(coefficient.has(RADIUS) for coefficient in polynomial.coeffs()):
        return Growth(speed, None, None)
    if polynomial.degree() <= 1:
        rate, shift = polynomial.coeff_monomial(RADIUS), polynomial.coeff_monomial(1)
        if rate == 0:
            return Growth(speed, START + shift * TIME, None)
        grown = exp(rate * TIME)
        return Growth(speed, START * grown + (shift * (grown - 1) / rate if shift != 0 else S.Zero), None)
    if len(polynomial.terms()) == 1:
        ((power,), factor) = polynomial.terms()[0]
        end = 1 / ((power - 1) * factor * START ** (power - 1))
        return Growth(speed, START * (1 - TIME / end) ** (-S.One / (power - 1)), end)
    return Growth(speed, None, None)
