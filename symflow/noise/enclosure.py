"""Functions of one variable in balls, real or complex, and how fast they grow on the real line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Any

import sympy
from sympy import Expr, Symbol

from symflow.algebra.exact.numbers import Ball
from symflow.errors import InputError

Function = Callable[[Any], Any]  #: from ``flint.arb`` or ``flint.acb`` to the same
_ONE = Fraction(1)


def ball_function(expression: Expr, z: Symbol) -> Function:
    """Return the function that encloses an expression, on real and on complex balls.

    On a complex ball on which the expression is not holomorphic the value is not finite.

    Raises
    ------
    InputError
        For a function without enclosure, such as one with a kink.

    Examples
    --------
    >>> from flint import arb
    >>> z = Symbol("z")
    >>> ball_function(sympy.tanh(z) / 2, z)(arb(0))
    0
    """
    if expression == z:
        return lambda x: x
    if not expression.free_symbols:
        return _constant(expression)
    if isinstance(expression, (sympy.Add, sympy.Mul)):
        parts = [ball_function(part, z) for part in expression.args]
        join = add if isinstance(expression, sympy.Add) else mul
        return lambda x: reduce(join, [part(x) for part in parts])
    if isinstance(expression, sympy.Pow) and expression.exp.is_Rational:
        return _power(ball_function(expression.base, z), expression.exp)
    if expression.func in _FUNCTIONS:
        outer, inner = _FUNCTIONS[expression.func], ball_function(expression.args[0], z)
        return lambda x: outer(inner(x))
    raise InputError(f"activation: {expression.func.__name__} in {expression} has no enclosure in balls")


def ball(value: Fraction) -> Any:
    """Return a ``flint.arb`` around a fraction, at the current precision."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def constant_ball(expression: Expr) -> Any:
    """Return a ``flint.arb`` around a constant, at the current precision."""
    from flint import arb, fmpq

    if expression.is_Rational:
        return arb(fmpq(int(expression.p), int(expression.q)))
    if expression == sympy.pi:
        return arb.pi()
    if expression == sympy.E:
        return arb.const_e()
    if isinstance(expression, (sympy.Add, sympy.Mul)):
        join = add if isinstance(expression, sympy.Add) else mul
        return reduce(join, [constant_ball(part) for part in expression.args])
    if isinstance(expression, sympy.Pow) and expression.exp.is_Rational:
        return constant_ball(expression.base) ** constant_ball(expression.exp)
    if expression.func in _FUNCTIONS:
        return _FUNCTIONS[expression.func](constant_ball(expression.args[0]))
    raise InputError(f"activation: the constant {expression} has no enclosure in balls")


def _constant(expression: Expr) -> Function:
    return lambda x: constant_ball(expression)


def _power(base: Function, exponent: Any) -> Function:
    p, q = int(exponent.p), int(exponent.q)
    if q == 1:
        return lambda x: base(x) ** p if p >= 0 else 1 / base(x) ** (-p)
    return lambda x: (_right_half(base(x)).log() * p / q).exp()


def _right_half(value: Any) -> Any:
    """Return the value where all of the ball lies right of zero, off the cut; else a ball without bound."""
    real = getattr(value, "real", value)
    return value if real > 0 else value * _unbounded()


def _unbounded() -> Any:
    from flint import arb

    return arb("nan")


_FUNCTIONS: dict[Any, Function] = {
    sympy.exp: lambda x: x.exp(),
    sympy.tanh: lambda x: x.tanh(),
    sympy.erf: lambda x: x.erf(),
    sympy.sin: lambda x: x.sin(),
    sympy.cos: lambda x: x.cos(),
    sympy.log: lambda x: _right_half(x).log(),
}


# -------------------------------------------------------------------------------------------- growth


@dataclass(frozen=True)
class Growth:
    """A proved bound |f(z)| ≤ scale·(1 + |z|)^power·e^{rate·|z|} on the real line, and a range of f.

    Attributes
    ----------
    scale, power, rate : Fraction
    lower, upper : Fraction or None
        Ends of an interval that contains every value; None for no bound.
    """

    scale: Fraction
    power: Fraction = Fraction(0)
    rate: Fraction = Fraction(0)
    lower: Fraction | None = None
    upper: Fraction | None = None

    @property
    def away(self) -> Fraction:
        """A distance that every value keeps from zero; zero where none is known."""
        if self.lower is not None and self.lower > 0:
            return self.lower
        return -self.upper if self.upper is not None and self.upper < 0 else Fraction(0)


def growth(expression: Expr, z: Symbol) -> Growth:
    """Return how fast an expression can grow, from its structure.

    Raises
    ------
    InputError
        If its growth is not bounded by an exponential of a multiple of |z|, or it may have a pole or
        leave the domain of a function: named.

    Examples
    --------
    >>> z = Symbol("z")
    >>> growth(z / (1 + sympy.exp(-z)), z).power
    Fraction(1, 1)
    """
    if expression == z:
        return Growth(_ONE, _ONE)
    if not expression.free_symbols:
        near = Ball.of(constant_ball(expression))
        return Growth(max(abs(near.lower), abs(near.upper)), lower=near.lower, upper=near.upper)
    if isinstance(expression, sympy.Add):
        return reduce(_sum, [growth(part, z) for part in expression.args])
    if isinstance(expression, sympy.Mul):
        return reduce(_product, [growth(part, z) for part in expression.args])
    if isinstance(expression, sympy.Pow) and expression.exp.is_Rational:
        exponent = Fraction(int(expression.exp.p), int(expression.exp.q))
        return _power_growth(growth(expression.base, z), exponent, expression)
    if expression.func in (sympy.tanh, sympy.erf, sympy.sin, sympy.cos):
        growth(expression.args[0], z)
        return Growth(_ONE, lower=-_ONE, upper=_ONE)
    if expression.func == sympy.exp:
        return _exponential(growth(expression.args[0], z), expression)
    if expression.func == sympy.log:
        return _logarithm(growth(expression.args[0], z), expression)
    raise InputError(
        f"activation: the growth of {expression} is not known; use exp, log, tanh, erf, sin, cos"
    )


def _sum(a: Growth, b: Growth) -> Growth:
    lower = None if a.lower is None or b.lower is None else a.lower + b.lower
    upper = None if a.upper is None or b.upper is None else a.upper + b.upper
    return Growth(a.scale + b.scale, max(a.power, b.power), max(a.rate, b.rate), lower, upper)


def _product(a: Growth, b: Growth) -> Growth:
    return Growth(a.scale * b.scale, a.power + b.power, a.rate + b.rate, *_range_of_product(a, b))


def _range_of_product(a: Growth, b: Growth) -> tuple[Fraction | None, Fraction | None]:
    if None not in (a.lower, a.upper, b.lower, b.upper):
        ends = [x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]  # type: ignore[operator]
        return min(ends), max(ends)
    signs = [_sign(a), _sign(b)]
    if 0 in signs:
        return None, None
    return (Fraction(0), None) if signs[0] == signs[1] else (None, Fraction(0))


def _sign(a: Growth) -> int:
    """Return 1 for values ≥ 0, −1 for values ≤ 0, 0 where that is open."""
    if a.lower is not None and a.lower >= 0:
        return 1
    return -1 if a.upper is not None and a.upper <= 0 else 0


def _power_growth(base: Growth, exponent: Fraction, expression: Expr) -> Growth:
    whole = exponent.denominator == 1
    if not whole and not (base.lower is not None and base.lower > 0):
        raise InputError(f"activation: {expression} may take a root of a number that is not positive")
    if exponent > 0:
        scale = _power_above(max(base.scale, _ONE), exponent)
        even = whole and exponent.numerator % 2 == 0
        low = Fraction(0) if even or _sign(base) == 1 else None
        return Growth(scale, base.power * exponent, base.rate * exponent, low)
    if not base.away:
        raise InputError(f"activation: {expression} may divide by zero: no bound keeps it away from a pole")
    scale = _power_above(1 / base.away, -exponent)
    low = Fraction(0) if _sign(base) == 1 or exponent.numerator % 2 == 0 else -scale
    return Growth(scale, lower=low, upper=scale)


def _exponential(inner: Growth, expression: Expr) -> Growth:
    if inner.upper is not None:
        top = _above(ball(inner.upper).exp())
        return Growth(top, lower=Fraction(0), upper=top)
    if inner.rate > 0 or inner.power > 1:
        raise InputError(f"activation: {expression} grows too fast; e^(c|z|) is the most that is allowed")
    top = _above(ball(inner.scale).exp())
    return Growth(top, rate=inner.scale, lower=Fraction(0))


def _logarithm(inner: Growth, expression: Expr) -> Growth:
    if not (inner.lower is not None and inner.lower > 0):
        raise InputError(f"activation: {expression} may take the logarithm of a number that is not positive")
    ends = [inner.lower, max(inner.scale, _ONE)]
    sizes = [_above(abs(ball(end).log())) for end in ends]
    low = Fraction(0) if inner.lower >= 1 else -sizes[0]
    return Growth(sizes[0] + sizes[1] + inner.power + inner.rate, _ONE, lower=low)


def _power_above(value: Fraction, exponent: Fraction) -> Fraction:
    return _above(ball(value) ** ball(exponent))


def _above(value: Any) -> Fraction:
    """Return an upper bound of a ball."""
    return Ball.of(value).upper
