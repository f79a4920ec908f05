r"""Exact series: coefficients are sums of :math:`r\sqrt q\,y^n e^{ay^2+by+c}` with rational r, a, b, c.

A coefficient is a dictionary from (q, n, a, b, c) to r, with q square-free; exponentials of different
rational numbers are independent over the algebraic numbers (Lindemann and Weierstrass) and square roots of
different square-free numbers over the rationals, so that a constant is zero only if its dictionary is empty.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd, isqrt
from typing import Any

from symflow.certify.terms import Rejected

Key = tuple[int, int, Fraction, Fraction, Fraction]
Coefficient = dict[Key, Fraction]
Series = list[Coefficient]

_NOUGHT = Fraction(0)
_PLAIN: Key = (1, 0, _NOUGHT, _NOUGHT, _NOUGHT)
MAX_TERMS = 400  #: of one coefficient; the shipped witnesses have fewer than ten
MAX_BITS = 512  #: of a rational number
MAX_POWER = 200  #: of the key
MAX_RADICAND = 10**8  #: under a square root, where its square-free part is found by division


class ExactSeries:
    """Arithmetic of series in ξ = x − x₀, truncated after ``order``."""

    def __init__(self, order: int) -> None:
        self._order = order

    def number(self, value: Any) -> Series:
        """Return a constant."""
        return self._series([constant(Fraction(value))])

    def query(self, point: Fraction) -> Series:
        """Return the series of x around ``point``."""
        return self._series([constant(point), constant(Fraction(1))])

    def key(self) -> Series:
        """Return y."""
        return self._series([{(1, 1, _NOUGHT, _NOUGHT, _NOUGHT): Fraction(1)}])

    def _series(self, coefficients: list[Coefficient]) -> Series:
        missing = self._order + 1 - len(coefficients)
        return (coefficients + [{} for _ in range(missing)])[: self._order + 1]

    def add(self, left: Series, right: Series) -> Series:
        """Return the sum."""
        return [added(a, b) for a, b in zip(left, right, strict=True)]

    def multiply(self, left: Series, right: Series) -> Series:
        """Return the product."""
        return [
            total(multiplied(left[i], right[n - i]) for i in range(n + 1)) for n in range(self._order + 1)
        ]

    def invert(self, value: Series) -> Series:
        """Return 1/f by f·g = 1; the constant term must be invertible."""
        first = inverse(value[0])
        found = [first]
        for n in range(1, self._order + 1):
            rest = total(multiplied(value[j], found[n - j]) for j in range(1, n + 1))
            found.append(scaled(multiplied(first, rest), Fraction(-1)))
        return found

    def call(self, name: str, arguments: list[Series]) -> Series:
        """Return a function of a series by its differential equation."""
        solve = {
            "exp": self._exp,
            "tanh": self._tanh,
            "sin": self._sine,
            "cos": self._cosine,
            "sqrt": self._root,
        }.get(name)
        if solve is None:
            raise Rejected(f"{name} has no exact series")
        return solve(*arguments)

    def _exp(self, s: Series) -> Series:
        return self._solve(exponential(s[0]), s, lambda found, n: found[n])

    def _tanh(self, s: Series) -> Series:
        _require_zero(s[0], "tanh")

        def slope(found: Series, n: int) -> Coefficient:  # 1 − t²
            square = total(multiplied(found[i], found[n - i]) for i in range(n + 1))
            return added(constant(Fraction(n == 0)), scaled(square, Fraction(-1)))

        return self._solve({}, s, slope)

    def _sine(self, s: Series) -> Series:
        return self._circle(s)[0]

    def _cosine(self, s: Series) -> Series:
        return self._circle(s)[1]

    def _circle(self, s: Series) -> tuple[Series, Series]:
        _require_zero(s[0], "a trigonometric function")
        sine, cosine = [constant(_NOUGHT)], [constant(Fraction(1))]
        for n in range(1, self._order + 1):
            slopes = [(Fraction(j, n), s[j], n - j) for j in range(1, n + 1)]
            up = total(scaled(multiplied(part, cosine[i]), weight) for weight, part, i in slopes)
            down = total(scaled(multiplied(part, sine[i]), -weight) for weight, part, i in slopes)
            sine.append(up)
            cosine.append(down)
        return sine, cosine

    def _solve(self, first: Coefficient, s: Series, slope: Callable[[Series, int], Coefficient]) -> Series:
        """Return f with f' = slope(f)·s' and f(x₀) = ``first``."""
        found = [first]
        for n in range(1, self._order + 1):
            parts = (
                scaled(multiplied(s[j], slope(found, n - j)), Fraction(j, n)) for j in range(1, n + 1) if s[j]
            )
            found.append(total(parts))
        return found

    def _root(self, s: Series) -> Series:
        """Return f with f² = s."""
        found = [root(_rational(s[0], "the argument of a square root"))]
        if not any(s[1:]):
            return self._series(found)
        half = scaled(inverse(found[0]), Fraction(1, 2))
        for n in range(1, self._order + 1):
            mixed = total(multiplied(found[i], found[n - i]) for i in range(1, n))
            found.append(multiplied(half, added(s[n], scaled(mixed, Fraction(-1)))))
        return found


def constant(value: Fraction) -> Coefficient:
    """Return a rational number."""
    return {_PLAIN: value} if value else {}


def added(left: Coefficient, right: Coefficient) -> Coefficient:
    """Return the sum without terms that cancel."""
    found = dict(left)
    for key, value in right.items():
        found[key] = found.get(key, _NOUGHT) + value
    return _bounded({key: value for key, value in found.items() if value})


def total(parts: Any) -> Coefficient:
    """Return the sum of several."""
    found: Coefficient = {}
    for part in parts:
        found = added(found, part)
    return found


def scaled(part: Coefficient, number: Fraction) -> Coefficient:
    """Return a rational multiple."""
    return {key: value * number for key, value in part.items()} if number else {}


def multiplied(left: Coefficient, right: Coefficient) -> Coefficient:
    """Return the product."""
    found: Coefficient = {}
    if len(left) * len(right) > MAX_TERMS**2:
        raise Rejected(f"a product of more than {MAX_TERMS}² terms is too large")
    for (q, n, a, b, c), r in left.items():
        for (q2, n2, a2, b2, c2), r2 in right.items():
            common = gcd(q, q2)
            key = (q * q2 // common**2, n + n2, a + a2, b + b2, c + c2)
            found[key] = found.get(key, _NOUGHT) + r * r2 * common
    return _bounded({key: value for key, value in found.items() if value})


def inverse(part: Coefficient) -> Coefficient:
    """Return one over a single term without powers of y."""
    if len(part) != 1:
        raise Rejected("a division by zero or by a sum that is not one term")
    (((q, n, a, b, c), r),) = part.items()
    if n:
        raise Rejected("a division by the key")
    return {(q, 0, -a, -b, -c): 1 / (r * q)}


def exponential(exponent: Coefficient) -> Coefficient:
    """Return the exponential of a polynomial in y of degree at most two."""
    powers = {}
    for (q, n, *inner), value in exponent.items():
        if q != 1 or n > 2 or any(inner):
            raise Rejected("an exponent that is not a rational quadratic in the key has no exact series")
        powers[n] = value
    a, b, c = (powers.get(n, _NOUGHT) for n in (2, 1, 0))
    return _bounded({(1, 0, a, b, c): Fraction(1)})


def root(number: Fraction) -> Coefficient:
    """Return the square root of a rational number ≥ 0."""
    if number < 0:
        raise Rejected("the square root of a negative number")
    if not number:
        return {}
    radicand = number.numerator * number.denominator
    exact = isqrt(radicand)
    if exact * exact == radicand:
        return constant(Fraction(exact, number.denominator))
    free, square = _square_free(radicand)
    return {(free, 0, _NOUGHT, _NOUGHT, _NOUGHT): Fraction(square, number.denominator)}


def _square_free(radicand: int) -> tuple[int, int]:
    """Return (q, s) with radicand = q·s² and q square-free."""
    if radicand > MAX_RADICAND:
        raise Rejected(f"a square root of more than {MAX_RADICAND} is too large here")
    square, divisor = 1, 2
    while divisor * divisor <= radicand:
        while radicand % (divisor * divisor) == 0:
            radicand //= divisor * divisor
            square *= divisor
        divisor += 1
    return radicand, square


def integrated(part: Coefficient, mean: Fraction, variance: Fraction) -> Coefficient:
    """Return the integral over y against a Gaussian, by completing the square."""
    return total(_integral(key, value, mean, variance) for key, value in part.items())


def _integral(key: Key, value: Fraction, mean: Fraction, variance: Fraction) -> Coefficient:
    q, n, a, b, c = key
    precision = 1 / variance - 2 * a
    if precision <= 0:
        raise Rejected("an integral is infinite")
    centre = (b + mean / variance) / precision
    rest = c + centre**2 * precision / 2 - mean**2 / (2 * variance)
    front = multiplied(root(1 / (variance * precision)), {(q, 0, _NOUGHT, _NOUGHT, rest): Fraction(1)})
    return scaled(front, value * _moment(n, centre, 1 / precision))


def _moment(n: int, mean: Fraction, variance: Fraction) -> Fraction:
    """Return E[Zⁿ] for Z ~ N(mean, variance): E[Zⁿ⁺¹] = mean·E[Zⁿ] + n·variance·E[Zⁿ⁻¹]."""
    before, now = _NOUGHT, Fraction(1)
    for k in range(n):
        before, now = now, mean * now + k * variance * before
    return now


def _rational(part: Coefficient, what: str) -> Fraction:
    if set(part) - {_PLAIN}:
        raise Rejected(f"{what} must be a rational number here")
    return part.get(_PLAIN, _NOUGHT)


def _require_zero(part: Coefficient, what: str) -> None:
    if part:
        raise Rejected(f"{what} has an exact series around zero only")


def _bounded(part: Coefficient) -> Coefficient:
    if len(part) > MAX_TERMS:
        raise Rejected(f"a coefficient of more than {MAX_TERMS} terms is too large")
    for (_, n, *inner), value in part.items():
        if n > MAX_POWER:
            raise Rejected(f"a power of the key above {MAX_POWER} is too large")
        for number in (value, *inner):
            if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
                raise Rejected(f"a number of more than {MAX_BITS} bits is too large")
    return part
