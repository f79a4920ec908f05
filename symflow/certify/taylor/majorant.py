r"""Series of bounds: each coefficient is bounded for every real y by :math:`Ce^{b|y| + ay^2}`.

The query is a ball around its point, so that the bounds hold for all queries in it: they dominate the
integrals and their derivatives in x uniformly, and stay integrable for all Gaussians close to the given one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from flint import arb, fmpq

from symflow.certify.terms import Rejected

_WIDTH = Fraction(1, 2**30)  # of the ball around the query
MAX_DEGREE = 60  #: of a polynomial in the key

Polynomial = tuple[Any, ...]  # coefficients in balls, from the constant up


@dataclass(frozen=True)
class Bound:
    """What is known of a function of y.

    Attributes
    ----------
    growth : tuple of arb
        (C, b, a) with |f| ≤ C exp(b|y| + ay²).
    signed : tuple of arb or None
        The function itself where it is a polynomial in y.
    absolute : tuple of arb or None
        A polynomial in |y| that bounds it.
    least : arb or None
        A number that it is never below.
    """

    growth: tuple[Any, Any, Any]
    signed: Polynomial | None = None
    absolute: Polynomial | None = None
    least: Any = None


Series = list[Bound]


class Majorants:
    """Arithmetic of series of bounds, truncated after ``order``."""

    def __init__(self, order: int) -> None:
        self._order = order

    def number(self, value: Any) -> Series:
        """Return a constant."""
        return self._series([(_ball(Fraction(value)),)])

    def query(self, point: Fraction) -> Series:
        """Return the series of x around every point of a small ball."""
        return self._series([(_ball(point) + arb(0, 1) * _ball(_WIDTH),), (arb(1),)])

    def key(self) -> Series:
        """Return y."""
        return self._series([(arb(0), arb(1))])

    def _series(self, coefficients: list[Polynomial]) -> Series:
        zeros = [_polynomial(())] * (self._order + 1)
        return ([_polynomial(c) for c in coefficients] + zeros)[: self._order + 1]

    def add(self, left: Series, right: Series) -> Series:
        """Return bounds of the sum."""
        return [_sum(a, b) for a, b in zip(left, right, strict=True)]

    def multiply(self, left: Series, right: Series) -> Series:
        """Return bounds of the product."""
        return [_total(_product(left[i], right[n - i]) for i in range(n + 1)) for n in range(self._order + 1)]

    def invert(self, value: Series) -> Series:
        """Return bounds of 1/f, for f₀ with a positive lower bound."""
        first = _inverse(value[0])
        found = [first]
        for n in range(1, self._order + 1):
            rest = _total(_product(value[j], found[n - j]) for j in range(1, n + 1))
            found.append(_product(first, rest, Fraction(-1)))
        return found

    def call(self, name: str, arguments: list[Series]) -> Series:
        """Return bounds of a function by the recurrence of its differential equation."""
        solve: dict[str, Callable[[Series], Series]] = {
            "exp": lambda s: self._solve(_exponential(s[0]), s, lambda found, n: found[n]),
            "tanh": lambda s: self._solve(_at_most(arb(1)), s, self._tanh_slope),
            "sin": self._circle,
            "cos": self._circle,
            "erf": self._erf,
            "sqrt": self._root,
        }
        if name in ("Max", "Min", "Abs") and all(_is_constant(argument) for argument in arguments):
            return [_sum_of_absolutes([argument[0] for argument in arguments]), *arguments[0][1:]]
        if name not in solve:
            raise Rejected(f"{name} has no bound of its derivatives")
        return solve[name](arguments[0])

    def _solve(self, first: Bound, s: Series, slope: Callable[[Series, int], Bound]) -> Series:
        """Bound f with f' = slope(f)·s'."""
        found = [first]
        for n in range(1, self._order + 1):
            parts = (_product(s[j], slope(found, n - j), Fraction(j, n)) for j in range(1, n + 1))
            found.append(_total(parts))
        return found

    def _tanh_slope(self, found: Series, n: int) -> Bound:
        square = _total(_product(found[i], found[n - i]) for i in range(n + 1))
        return _sum(_constant(arb(1 if n == 0 else 0)), square)

    def _circle(self, s: Series) -> Series:
        """Bound sine and cosine alike: both are at most one, and each is the slope of the other."""
        return self._solve(_at_most(arb(1)), s, lambda found, n: found[n])

    def _erf(self, s: Series) -> Series:
        square = self.multiply(s, s)
        bell = self._solve(_at_most(arb(1)), square, lambda found, n: found[n])  # exp(−s²) ≤ 1
        slope = 2 / arb.pi().sqrt()
        return self._solve(_at_most(arb(1)), s, lambda _, n: _product(_constant(slope), bell[n]))

    def _root(self, s: Series) -> Series:
        """Return bounds of f with f² = s, where s₀ is a positive number, or s is zero."""
        if s[0].signed == () and _is_constant(s):
            return s
        if s[0].signed is None or len(s[0].signed) != 1 or not s[0].signed[0] > 0:
            raise Rejected("the square root of what is not known to be a positive number has no bound here")
        root = s[0].signed[0].sqrt()
        found, half = [_constant(root)], _constant(1 / (2 * root))
        for n in range(1, self._order + 1):
            mixed = _total(_product(found[i], found[n - i]) for i in range(1, n))
            found.append(_product(half, _sum(s[n], _product(mixed, _constant(arb(-1))))))
        return found


def is_integrable(bound: Bound, variance: Fraction) -> bool:
    """Whether the bound is integrable against a Gaussian of that variance, and of those close to it."""
    return bool(1 / (2 * _ball(variance)) - bound.growth[2] > 0)


def tail(bound: Bound, reach: int, mean: Fraction, variance: Fraction) -> Any:
    r"""Return a bound of the integral over |y| > R, by completing the square.

    .. math:: \int_R^\infty e^{-py^2+qy-r}\,dy = e^{q^2/4p-r}\,\tfrac12\sqrt{\pi/p}\,
              \operatorname{erfc}\big(\sqrt p\,(R - q/2p)\big)
    """
    size, linear, square = bound.growth
    m, v = _ball(mean), _ball(variance)
    p, q, r = 1 / (2 * v) - square, linear + abs(m) / v, m * m / (2 * v)
    if not p > 0:
        raise Rejected("an integral is not known to be finite")
    beyond = (p.sqrt() * (reach - q / (2 * p))).lower().erfc()  # decreasing; sharp for exact arguments only
    integral = (q * q / (4 * p) - r).exp() * (arb.pi() / p).sqrt() * beyond  # both sides: twice one half
    return size * integral / (2 * arb.pi() * v).sqrt()


def _is_constant(series: Series) -> bool:
    """Whether a series does not depend on the query."""
    return all(part.signed == () for part in series[1:])


def _ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def _constant(value: Any) -> Bound:
    return _polynomial((value,))


def _at_most(size: Any) -> Bound:
    """Return what is known of a function whose absolute value is at most ``size``, and of no sign."""
    return Bound(_growth((size,)), None, (size,), None)


def _polynomial(coefficients: Polynomial) -> Bound:
    kept = _trimmed(coefficients)
    sizes = tuple(abs(c) for c in kept)
    even = all(c == 0 for c in kept[1::2]) and all(c >= 0 for c in kept[2::2])
    least = (kept[0] if kept else arb(0)) if even else None
    return Bound(_growth(sizes), kept, sizes, least)


def _trimmed(coefficients: Polynomial) -> Polynomial:
    kept = list(coefficients)
    while kept and kept[-1].is_zero():
        kept.pop()
    if len(kept) > MAX_DEGREE + 1:
        raise Rejected(f"a polynomial of degree above {MAX_DEGREE} is too large")
    return tuple(kept)


def _growth(sizes: Polynomial) -> tuple[Any, Any, Any]:
    """Bound a polynomial in |y| by |y| ≤ exp|y|."""
    return sum(sizes, arb(0)), arb(max(len(sizes) - 1, 0)), arb(0)


def _sum(left: Bound, right: Bound) -> Bound:
    if left.signed is not None and right.signed is not None:
        return _polynomial(_added(left.signed, right.signed))
    least = None if left.least is None or right.least is None else left.least + right.least
    absolute = None
    if left.absolute is not None and right.absolute is not None:
        absolute = _added(left.absolute, right.absolute)
    (c, b, a), (c2, b2, a2) = left.growth, right.growth
    if left.signed == ():
        return right
    if right.signed == ():
        return left
    return Bound((c + c2, b.max(b2), a.max(a2)), None, absolute, least)


def _product(left: Bound, right: Bound, factor: Fraction = Fraction(1)) -> Bound:
    if factor != 1:
        return _product(_product(left, right), _constant(_ball(factor)))
    if left.signed is not None and right.signed is not None:
        return _polynomial(_convolved(left.signed, right.signed))
    if left.signed == () or right.signed == ():
        return _polynomial(())
    absolute = None
    if left.absolute is not None and right.absolute is not None:
        absolute = _trimmed(_convolved(left.absolute, right.absolute))
    positive = all(part.least is not None and part.least >= 0 for part in (left, right))
    (c, b, a), (c2, b2, a2) = left.growth, right.growth
    return Bound((c * c2, b + b2, a + a2), None, absolute, left.least * right.least if positive else None)


def _total(parts: Any) -> Bound:
    return reduce(_sum, parts, _polynomial(()))


def _added(left: Polynomial, right: Polynomial) -> Polynomial:
    size = max(len(left), len(right))
    first, second = ((*part, *[arb(0)] * (size - len(part))) for part in (left, right))
    return tuple(a + b for a, b in zip(first, second, strict=True))


def _convolved(left: Polynomial, right: Polynomial) -> Polynomial:
    found = [arb(0)] * max(len(left) + len(right) - 1, 0)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            found[i + j] += a * b
    return tuple(found)


def _inverse(value: Bound) -> Bound:
    if value.signed is not None and len(value.signed) == 1 and not value.signed[0].contains(0):
        return _constant(1 / value.signed[0])
    if value.least is None or not value.least > 0:
        raise Rejected("a divisor has no positive lower bound")
    return replace(_at_most(1 / value.least), least=arb(0))


def _exponential(exponent: Bound) -> Bound:
    if exponent.signed is not None:
        return _exponential_of_polynomial(exponent.signed)
    sizes = exponent.absolute
    if sizes is None or len(sizes) > 3:
        raise Rejected("an exponent grows too fast, or is not bounded by a quadratic")
    c, b, a = (*sizes, *[arb(0)] * 3)[:3]
    return Bound((c.exp(), b, a), None, None, arb(0))


def _exponential_of_polynomial(coefficients: Polynomial) -> Bound:
    if len(coefficients) <= 1:
        return _constant((coefficients or (arb(0),))[0].exp())
    if len(coefficients) <= 3:
        c, b, a = (*coefficients, arb(0))[:3]
        return Bound((c.exp(), abs(b), a), None, None, arb(0))
    *lower, leading = coefficients
    if len(coefficients) % 2 == 0 or not leading < 0:
        raise Rejected("the exponential of a polynomial that tends to infinity")
    # beyond Cauchy's bound of its roots the polynomial is negative, below it is at most this number
    edge = 1 + _largest(lower) / abs(leading)
    top = sum((abs(c) * edge**power for power, c in enumerate(lower)), arb(0))
    return replace(_at_most(top.exp()), least=arb(0))


def _largest(coefficients: Sequence[Any]) -> Any:
    return reduce(lambda a, b: a.max(b), (abs(c) for c in coefficients))


def _sum_of_absolutes(parts: Sequence[Bound]) -> Bound:
    """Bound a maximum or minimum by the sum of the absolute values."""
    sizes: Polynomial = ()
    for part in parts:
        if part.absolute is None:
            raise Rejected("a maximum of functions of fast growth has no bound here")
        sizes = _added(sizes, part.absolute)
    return Bound(_growth(sizes), None, sizes, None)
