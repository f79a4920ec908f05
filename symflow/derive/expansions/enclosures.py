r"""Coefficients and tails of the series in ball arithmetic, and how many modes a tolerance needs.

A mode is kept until the upper end of the ball of the tail is below what is wanted: no rounding is left out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Add, Expr, Function, Mul, Pow, Symbol, exp, gamma, hyper, pi

from symflow.algebra.exact.rational import fmpq
from symflow.derive.expansions.series import (
    DEGREE,
    KAPPA,
    LEADING,
    MOST_MODES,
    RATIO,
    Series,
    series_of,
)
from symflow.errors import InputError

#: Bits of the balls.
PRECISION = 128


def enclose(expr: Expr, values: Mapping[Symbol, Any]) -> Any:
    """Return a ball (``flint.arb``) that contains a number, at the current precision of flint.

    Parameters
    ----------
    expr : Expr
        Built from rational numbers, π, symbols, sums, products, powers, exp, gamma and ₀F₁.
    values : mapping of Symbol to flint.arb
        What stands for the symbols.

    Raises
    ------
    InputError
        If something else occurs.
    """
    from flint import arb

    if expr in values:
        return values[expr]
    if expr.is_Rational:
        return arb(fmpq(expr))
    if expr is pi:
        return arb.pi()
    if isinstance(expr, hyper) and not expr.ap and len(expr.bq) == 1:
        return enclose(expr.argument, values).hypgeom_0f1(enclose(expr.bq[0], values))
    parts = [enclose(part, values) for part in expr.args]
    if isinstance(expr, (Add, Mul)):
        return sum(parts, arb(0)) if isinstance(expr, Add) else functools.reduce(lambda a, b: a * b, parts)
    if isinstance(expr, Pow):
        return arb(1) if parts[1] == 0 else parts[0] ** parts[1]
    if isinstance(expr, (exp, gamma)):
        return getattr(parts[0], expr.func.__name__)()
    raise InputError(f"{expr} has no rule for balls")


@dataclass(frozen=True, eq=False)
class Expansion:
    r"""A truncated series.

    Attributes
    ----------
    modes : int
        M, the last degree.
    first, slope, along : tuple of float
        c_0; t_0 … t_M (t_0 is not used); r_0 … r_M, each the double nearest to the middle of a ball.
    tail : Fraction
        A proved upper bound of :math:`S_M`.
    """

    modes: int
    first: float
    slope: tuple[float, ...]
    along: tuple[float, ...]
    tail: Fraction


@functools.lru_cache(maxsize=64)
def expansion(dimension: int, kappa: float, tail: float) -> Expansion | None:
    """Return the shortest series whose tail is proved to be at most ``tail``; None where it is too long.

    Parameters
    ----------
    dimension : int
        2 or 3.
    kappa : float
        κ ≥ 0, read as the fraction it is.
    tail : float
        Wanted bound of S_M.

    Examples
    --------
    >>> expansion(2, 9.0, 1e-16).modes
    30
    """
    from flint import arb, ctx

    series = series_of(dimension)
    with ctx.workprec(PRECISION):
        at = arb(fmpq(Fraction(kappa)))
        found = [_coefficient(series, k, at) for k in range(2)]
        for modes in range(1, MOST_MODES[dimension] + 1):
            found.append(_coefficient(series, modes + 1, at))
            bound = tail_bound(series, modes, found[modes], found[modes + 1])
            if bound is not None and bound <= Fraction(tail):
                return _truncated(series, modes, found, bound)
    return None


def _coefficient(series: Series, degree: int, kappa: Any) -> Any:
    from flint import arb

    return enclose(series.coefficient, {DEGREE: arb(degree), KAPPA: kappa})


def tail_bound(series: Series, modes: int, leading: Any, following: Any) -> Fraction | None:
    """Return an upper bound of S_M from balls of c_M and c_{M+1}; None where the ratio is not below one."""
    from flint import arb

    from symflow.algebra.exact.numbers import Ball

    if not leading > 0:
        return Fraction(0) if following == 0 and leading == 0 else None
    ratio = following / leading
    if not ratio < 1:
        return None
    values = {DEGREE: arb(modes), LEADING: leading, RATIO: ratio}
    return Ball.of(enclose(series.tail, values)).upper


def _truncated(series: Series, modes: int, c: list[Any], bound: Fraction) -> Expansion:
    """Return the numbers that the kernels take."""

    def middle(formula: Expr, k: int) -> float:
        from flint import arb

        neighbours = {Function("c")(DEGREE - 1): c[k - 1], Function("c")(DEGREE + 1): c[k + 1]}
        return float(enclose(formula, {DEGREE: arb(k), **neighbours}).mid())

    degrees = range(1, modes + 1)
    return Expansion(
        modes=modes,
        first=float(c[0].mid()),
        slope=(0.0, *(middle(series.slope, k) for k in degrees)),
        along=(float(c[1].mid()), *(middle(series.along, k) for k in degrees)),
        tail=bound,
    )
