r"""Rigorous enclosures of Gaussian integrals without a closed form.

On :math:`|y| \le R` the integral is enclosed in ball arithmetic. Beyond, the integrand is bounded term by
term by :math:`C|y|^n e^{b|y| + ay^2} \le C\,n!\,e^{(b+1)|y| + ay^2}`; with the Gaussian density the exponent
is a concave quadratic h with :math:`\int_R^\infty e^{h} \le e^{h(R)}/|h'(R)|` where :math:`h'(R) < 0`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, factorial
from typing import Any

import flint
from sympy import Expr, Poly, PolynomialError, Rational, S

from symflow.algebra.exact.numbers import Ball
from symflow.derive.nonclosure.evaluation import NotEvaluable, evaluate
from symflow.derive.nonclosure.reduction import Y
from symflow.derive.nonclosure.witness import Law

PRECISION = 106  # bits: twice those of a float
_EVALUATIONS = 60_000
_REACHES = (16, 32, 64, 128, 256)
_ZERO = flint.arb(0)
_BOUNDED = ("sin", "cos", "tanh", "erf")  # by one


class NotBounded(Exception):
    """An integrand without a bound of the form above, or whose integral was not enclosed."""


@dataclass(frozen=True)
class _Growth:
    """The bound C|y|ⁿ exp(b|y| + ay²)."""

    size: Any
    power: int = 0
    linear: Any = _ZERO
    square: Any = _ZERO

    def times(self, other: _Growth) -> _Growth:
        return _Growth(
            self.size * other.size,
            self.power + other.power,
            self.linear + other.linear,
            self.square + other.square,
        )


_Bound = tuple[_Growth, ...]


class BallFunctions:
    """The functions of the grammar on complex balls; ``analytic`` asks for holomorphy on the ball."""

    def __init__(self, analytic: bool = False) -> None:
        self._analytic = analytic

    def rational(self, number: Rational) -> Any:
        """Return a rational number."""
        return flint.acb(flint.fmpq(int(number.p), int(number.q)))

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the value of a function by its name in SymPy."""
        first = arguments[0]
        if name == "constant":
            return flint.acb.pi() if first == "pi" else flint.acb(1).exp()
        if name == "power":
            return first.pow(arguments[1], analytic=self._analytic)
        if name == "Abs":
            return first.real_abs(analytic=self._analytic)
        if name in ("Max", "Min"):
            for other in arguments[1:]:
                join = first.real_max if name == "Max" else first.real_min
                first = join(other, analytic=self._analytic)
            return first
        return getattr(first, name)()


def expectation(integrand: Expr, law: Law) -> Any:
    """Return a ball that contains the integral of a function of :data:`Y` against a Gaussian.

    Raises
    ------
    NotBounded
        If the tails have no bound, or the ball is not finite.
    """
    with flint.ctx.workprec(PRECISION):
        bound = _growth(integrand)
        mean, variance = (BallFunctions().rational(number).real for number in (law.mean, law.variance))
        reach, tail = _tail(bound, mean, variance)
        scale = 1 / (2 * variance * flint.arb.pi()).sqrt()

        def weighted(y: Any, analytic: bool) -> Any:
            value = evaluate(integrand, {Y: y}, BallFunctions(analytic))
            return value * (-((y - mean) ** 2) / (2 * variance)).exp() * scale

        total = flint.acb(0)
        for left, right in ((-reach, 0), (0, reach)):  # a kink is most often at zero
            total += flint.acb.integral(
                weighted, flint.acb(left), flint.acb(right),
                rel_tol=flint.arb(2) ** -60, abs_tol=flint.arb(2) ** -70, eval_limit=_EVALUATIONS,
            )  # fmt: skip
        found = total.real + flint.arb(0, tail)
        if not found.is_finite():
            raise NotBounded(f"the integral of {integrand} was not enclosed")
        return found


def is_dominated(integrand: Expr, law: Law) -> bool:
    """Whether a function of :data:`Y` has a bound that is integrable, for laws close to this one too."""
    with flint.ctx.workprec(PRECISION):
        try:
            limit = 1 / (2 * ball(law.variance))
            return all(limit - term.square > 0 for term in _growth(integrand))
        except NotBounded:
            return False


def ball(value: Expr) -> Any:
    """Return a ball that contains an exact number."""
    with flint.ctx.workprec(PRECISION):
        return evaluate(value, {}, BallFunctions()).real


def rounded(found: Any, digits: int = 15) -> Ball:
    """Return a ball with decimal midpoint that contains a ``flint.arb``."""
    exact, unit = Ball.of(found), Fraction(1, 10**digits)
    middle = round(exact.midpoint / unit) * unit
    steps = ceil((abs(middle - exact.midpoint) + exact.radius) / unit)
    return Ball(middle, steps * unit)


def _tail(bound: _Bound, mean: Any, variance: Any) -> tuple[int, Any]:
    """Return how far to integrate, and a bound of what is beyond."""
    for reach in _REACHES:
        tails = [_tail_of(term, reach, mean, variance) for term in bound]
        if all(tail is not None for tail in tails):
            total = sum(tails, flint.arb(0)).upper()
            if total < flint.arb(2) ** -80:
                return reach, total
    raise NotBounded("the tails of an integral have no bound")


def _tail_of(term: _Growth, reach: int, mean: Any, variance: Any) -> Any:
    curvature = 1 / (2 * variance) - term.square
    slope = term.linear + 1 + abs(mean) / variance
    falling = 2 * curvature * reach - slope
    if not (curvature > 0 and falling > 0):
        return None
    exponent = -curvature * reach**2 + slope * reach - mean * mean / (2 * variance)
    front = 2 * term.size * factorial(term.power) / (2 * variance * flint.arb.pi()).sqrt()
    return front * exponent.exp() / falling


def _growth(expr: Expr) -> _Bound:
    """Return terms whose sum bounds |expr| for every real y."""
    if not expr.has(Y):
        return (_Growth(_size(expr)),)
    if expr == Y:
        return (_Growth(flint.arb(1), 1),)
    if expr.is_Add:
        return tuple(term for part in expr.args for term in _growth(part))
    if expr.is_Mul:
        return _product([_growth(part) for part in expr.args])
    if expr.is_Pow:
        return _power(expr)
    name = type(expr).__name__
    if name in _BOUNDED:
        return (_Growth(flint.arb(1)),)
    if name in ("Max", "Min", "Abs"):
        return tuple(term for part in expr.args for term in _growth(part))
    if name == "exp":
        return _exponential(expr.args[0])
    raise NotBounded(f"{expr} has no bound")


def _product(factors: Sequence[_Bound]) -> _Bound:
    terms: _Bound = (_Growth(flint.arb(1)),)
    for factor in factors:
        terms = tuple(one.times(other) for one in terms for other in factor)
        if len(terms) > 5000:
            raise NotBounded("a product of too many terms")
    return terms


def _power(expr: Expr) -> _Bound:
    base, exponent = expr.args
    if exponent.is_negative:
        least = _least(base)
        if least <= 0:
            raise NotBounded(f"{base} may vanish")
        return (_Growth(_size(least**exponent)),)
    if exponent.is_Integer:
        return _product([_growth(base)] * int(exponent))
    ceiling = int(exponent) + 1
    return (_Growth(flint.arb(1)), *_product([_growth(base)] * ceiling))  # |u|^p ≤ 1 + |u|^⌈p⌉


def _least(base: Expr) -> Any:
    """Return a lower bound of a sum of numbers, exponentials and even powers."""
    parts = base.args if base.is_Add else (base,)
    number = sum((part for part in parts if part.is_Rational), S.Zero)
    if not all(part.is_Rational or part.is_nonnegative for part in parts):
        raise NotBounded(f"{base} has no lower bound")
    return number


def _exponential(exponent: Expr) -> _Bound:
    try:
        coefficients = Poly(exponent, Y).all_coeffs()[::-1]
    except PolynomialError:
        return _exponential_of_bound(_growth(exponent))
    if len(coefficients) > 3:
        return _exponential_of_decay(coefficients)
    constant, linear, square = ([ball(c) for c in coefficients] + [_ZERO] * 3)[:3]
    return (_Growth(constant.exp(), 0, abs(linear), square),)


def _exponential_of_decay(coefficients: Sequence[Expr]) -> _Bound:
    """Bound exp of a polynomial that tends to −∞ on both sides, by its largest possible value."""
    *lower, leading = [ball(c) for c in coefficients]
    if len(coefficients) % 2 == 0 or not leading < 0:
        raise NotBounded("the exponential of a polynomial that tends to infinity")
    root = 1 + sum((abs(c) for c in lower), flint.arb(0)) / abs(leading)  # Cauchy: negative beyond
    top = sum((abs(c) * root**power for power, c in enumerate(lower)), flint.arb(0))
    return (_Growth(top.exp()),)


def _exponential_of_bound(bound: _Bound) -> _Bound:
    if any(term.power > 2 or term.linear != 0 or term.square != 0 for term in bound):
        raise NotBounded("the exponential of a function of fast growth")
    sums = [sum((t.size for t in bound if t.power == power), flint.arb(0)) for power in range(3)]
    return (_Growth(sums[0].exp(), 0, sums[1], sums[2]),)


def _size(number: Expr) -> Any:
    try:
        return abs(ball(number))
    except NotEvaluable as error:
        raise NotBounded(str(error)) from error
