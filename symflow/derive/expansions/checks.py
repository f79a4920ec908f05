"""The independent routes: exact integrals and points, Bessel functions of mpmath, and the sums over pairs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
from sympy import Poly, Rational, S, Symbol, binomial, chebyshevt, factorial, legendre

from symflow.algebra.sampling import evaluate
from symflow.derive.expansions.bilinear import Bilinear
from symflow.derive.expansions.enclosures import tail_bound
from symflow.derive.expansions.legendre import harmonics
from symflow.derive.expansions.series import series_of
from symflow.derive.steps import Checked

_DIGITS = 40
_CLOSE = mpmath.mpf(10) ** -30
_T = Symbol("t")


def polynomial(dimension: int, degree: int) -> Poly:
    """Return P_k by SymPy: Chebyshev's on the circle, Legendre's on S²."""
    return Poly(chebyshevt(degree, _T) if dimension == 2 else legendre(degree, _T), _T)


def bessel(dimension: int, k: Any, kappa: Any) -> Any:
    """Return c_k by mpmath's Bessel functions."""
    scale = mpmath.exp(-kappa)
    if dimension == 2:
        return scale * mpmath.besseli(k, kappa)
    return scale * mpmath.sqrt(mpmath.pi / (2 * kappa)) * mpmath.besseli(k + mpmath.mpf(1) / 2, kappa)


@dataclass(frozen=True)
class ExactMoments:
    """The coefficient of κ^m in e^κ c_k is the mean of t^m P_k / m! over the circle, resp. S²."""

    dimension: int

    def run(self) -> Checked:
        """Integrate polynomials."""
        coefficient = series_of(self.dimension).power_coefficient
        for k in range(7):
            for m in range(13):
                j, odd = divmod(m - k, 2)
                stated = S.Zero if odd or j < 0 else coefficient(k, j)
                mean = self._mean(Poly(_T**m, _T) * polynomial(self.dimension, k))
                if stated != mean / factorial(m):
                    return Checked(False, "exact integrals", f"k = {k}, m = {m}: {stated}, {mean}/{m}!")
        return Checked(True, "exact integrals of polynomials, k ≤ 6, m ≤ 12", "equal")

    def _mean(self, p: Poly) -> Any:
        """Return the mean of a polynomial from the even moments of one coordinate."""
        even = [(power, c) for (power,), c in p.terms() if power % 2 == 0]
        if self.dimension == 3:
            return sum((c / (power + 1) for power, c in even), S.Zero)
        return sum((c * binomial(power, power // 2) / 2**power for power, c in even), S.Zero)


@dataclass(frozen=True)
class AdditionTheorem:
    """P_k(⟨u, x⟩) is the stated sum of products, at rational points, as are the recurrence and its slants."""

    dimension: int

    def run(self) -> Checked:
        """Evaluate both sides in fractions."""
        draws = random.Random(5)
        for _ in range(3):
            u, x = (self._point(draws) for _ in range(2))
            cosine = sum((a * b for a, b in zip(u, x, strict=True)), Fraction(0))
            for degree in range(6):
                wanted = _at(polynomial(self.dimension, degree), cosine)
                found = self._product(degree, u, x)
                if wanted != found:
                    return Checked(False, "rational points", f"degree {degree}: {wanted}, {found}")
        if self.dimension == 3 and not _slants_hold(5):
            return Checked(False, "derivatives of polynomials", "a slant is wrong")
        return Checked(True, "rational points of the sphere, degrees up to 5", "equal")

    def _point(self, draws: random.Random) -> list[Fraction]:
        """Return a rational point by stereographic projection."""
        flat = [Fraction(draws.randint(-9, 9), draws.randint(1, 7)) for _ in range(self.dimension - 1)]
        square = sum((a * a for a in flat), Fraction(0))
        return [2 * a / (1 + square) for a in flat] + [(square - 1) / (1 + square)]

    def _product(self, degree: int, u: list[Fraction], x: list[Fraction]) -> Fraction:
        if self.dimension == 2:
            (a, b), (c, d) = _power(u, degree), _power(x, degree)
            return a * c + b * d
        steps, weights, _ = harmonics(degree)
        total = Fraction(0)
        for m in range(degree + 1):
            q = [_recursion(steps[m], degree - m, point[2]) for point in (u, x)]
            (a, b), (c, d) = _power(u[:2], m), _power(x[:2], m)
            total += weights[m][degree - m] * q[0] * q[1] * (a * c + b * d)
        return total


def _at(p: Poly, point: Fraction) -> Fraction:
    value = p.eval(Rational(point.numerator, point.denominator))
    return Fraction(int(value.p), int(value.q))


def _power(point: list[Fraction], degree: int) -> tuple[Fraction, Fraction]:
    a, b = Fraction(1), Fraction(0)
    for _ in range(degree):
        a, b = a * point[0] - b * point[1], a * point[1] + b * point[0]
    return a, b


def _recursion(steps: list[Fraction], count: int, z: Any) -> Any:
    last, q = 0 * z, 0 * z + 1
    for alpha in steps[:count]:
        last, q = q, alpha * z * q - last
    return q


def _slants_hold(modes: int) -> bool:
    steps, _, slants = harmonics(modes)
    z = Poly(_T, _T)
    exact = [[Rational(a.numerator, a.denominator) for a in row] for row in steps]
    return all(
        (
            _recursion(exact[m], l - m, z).diff(_T)
            - _rational(slants[m][l - m]) * _recursion(exact[m + 1], l - m - 1, z)
        ).is_zero
        for m in range(modes)
        for l in range(m + 1, modes + 1)
    )


def _rational(value: Fraction) -> Any:
    return Rational(value.numerator, value.denominator)


@dataclass(frozen=True)
class RatiosDecrease:
    """The recurrence of the c_k, and 0 ≤ r_k − r_{k+1} ≤ 2/κ for r_k = c_{k+1}/c_k, by mpmath."""

    dimension: int

    def run(self) -> Checked:
        """Compute Bessel functions at small and large κ."""
        with mpmath.workdps(_DIGITS):
            for kappa in map(mpmath.mpf, ("0.25", "1", "9", "81", "1000")):
                c = [bessel(self.dimension, k, kappa) for k in range(40)]
                r = [after / before for before, after in pairwise(c)]
                for k in range(len(r) - 1):
                    exact = abs(r[k] * ((2 * k + self.dimension) / kappa + r[k + 1]) - 1) < _CLOSE
                    if not (exact and -_CLOSE <= r[k] - r[k + 1] <= 2 / kappa and r[k] < 1):
                        return Checked(False, "Bessel functions of mpmath", f"κ = {kappa}, k = {k}")
        return Checked(True, "Bessel functions of mpmath, κ = 1/4 … 1000, k < 39", "holds")


@dataclass(frozen=True)
class TailBound:
    """The bound lies above the tail that mpmath sums, and at most a factor of two above it."""

    dimension: int

    def run(self) -> Checked:
        """Sum until the terms no longer matter."""
        from flint import arb, ctx

        worst = mpmath.mpf(1)
        with mpmath.workdps(_DIGITS), ctx.workprec(150):
            for kappa in (Fraction(1, 3), Fraction(9), Fraction(81)):
                at = mpmath.mpf(kappa.numerator) / kappa.denominator
                start = int(mpmath.sqrt(at)) + 1
                c = [bessel(self.dimension, k, at) for k in range(start + 140)]
                for modes in (start, 2 * start, 4 * start):
                    number = [2 if self.dimension == 2 else 2 * k + 1 for k in range(len(c))]
                    tail = sum(number[k] * c[k] for k in range(modes, len(c)))
                    balls = (arb(mpmath.nstr(c[k], _DIGITS)) for k in (modes, modes + 1))
                    bound = tail_bound(series_of(self.dimension), modes, *balls)
                    if bound is None:
                        return Checked(False, "sums of mpmath", f"κ = {kappa}, M = {modes}: no bound")
                    worst = max(worst, mpmath.mpf(bound.numerator) / bound.denominator / tail)
                    if not 1 - _CLOSE < mpmath.mpf(bound.numerator) / bound.denominator / tail < 2:
                        return Checked(False, "sums of mpmath", f"κ = {kappa}, M = {modes}: {bound}")
        return Checked(True, "sums of mpmath, κ = 1/3, 9, 81", f"bound/tail ≤ {mpmath.nstr(worst, 3)}")


@dataclass(frozen=True)
class TruncatedAverage:
    r"""Z and the weighted mean of tokens in harmonics: equal to the sums over pairs, within the stated error.

    The polynomials are SymPy's, the Bessel functions mpmath's; truncations are rough on purpose, one is fine.
    """

    dimension: int

    def run(self) -> Checked:
        """Compare at few random tokens."""
        worst = mpmath.mpf(0)
        with mpmath.workdps(_DIGITS):
            for kappa, modes in ((1, 2), (1, 5), (9, 8), (9, 16), (2, 30)):
                error, bound = self._compare(mpmath.mpf(kappa), modes)
                worst = max(worst, error / bound)
                if error > bound + _CLOSE or (modes == 30 and error > _CLOSE):
                    return Checked(False, "sums over pairs", f"κ = {kappa}, M = {modes}: {error} > {bound}")
        return Checked(True, "sums over pairs with 40 digits", f"error/bound ≤ {mpmath.nstr(worst, 3)}")

    def _compare(self, kappa: Any, modes: int) -> tuple[Any, Any]:
        u, tokens = self._unit(1)[0], self._unit(5)
        cosines = [_dot(u, x) for x in tokens]
        weights = [mpmath.exp(kappa * (c - 1)) for c in cosines]
        mean = [_mean(w * x[a] for w, x in zip(weights, tokens, strict=True)) for a in range(self.dimension)]
        z, vector, tail = self._harmonics(kappa, modes, u, tokens, cosines)
        direct = [value / _mean(weights) for value in mean]
        error = mpmath.norm([value / z - exact for value, exact in zip(vector, direct, strict=True)])
        return error, 3 * tail / z

    def _harmonics(self, kappa: Any, modes: int, u: Any, tokens: Any, cosines: Any) -> tuple[Any, Any, Any]:
        """Return Z and the vector of the truncated series, and the tail S_M."""
        d = self.dimension
        c = [bessel(d, k, kappa) for k in range(modes + 60)]
        z, vector = c[0], [c[1] * a for a in u]
        for k in range(1, modes + 1):
            number = mpmath.mpf(2 if d == 2 else 2 * k + 1)
            p = polynomial(d, k)
            values, slopes = ([_polyval(q, a) for a in cosines] for q in (p, p.diff()))
            z += number * c[k] * _mean(values)
            along = number / (2 * k + d - 2) * (k * c[k - 1] + (k + d - 2) * c[k + 1]) * _mean(values)
            for a in range(d):
                across = _mean(s * (x[a] - g * u[a]) for s, x, g in zip(slopes, tokens, cosines, strict=True))
                vector[a] += along * u[a] + number * c[k] / kappa * across
        tail = sum((2 if d == 2 else 2 * k + 1) * c[k] for k in range(modes, len(c)))
        return z, vector, tail

    def _unit(self, seed: int) -> Any:
        draws = random.Random(seed)
        rows = [[mpmath.mpf(draws.randint(-99, 99)) for _ in range(self.dimension)] for _ in range(seed)]
        return [[value / mpmath.norm(row) for value in row] for row in rows]


def _polyval(p: Poly, at: Any) -> Any:
    return mpmath.polyval([mpmath.mpf(int(c.p)) / int(c.q) for c in p.all_coeffs()], at)


def _dot(a: Any, b: Any) -> Any:
    return mpmath.fsum(s * t for s, t in zip(a, b, strict=True))


def _mean(values: Any) -> Any:
    listed = list(values)
    return mpmath.fsum(listed) / len(listed)


@dataclass(frozen=True)
class ScoreIsBilinear:
    """A score and its coefficients agree at random rational tokens and parameters."""

    score: Any
    parts: Bilinear
    x: Any
    y: Any

    def run(self) -> Checked:
        """Evaluate both in fractions, d = 1, 2, 3."""
        for size in (1, 2, 3):
            values, sizes = _drawn(size, self.score, self.x, self.y)
            wanted = evaluate(self.score, values, sizes)
            found = weight_at(self.parts, values, sizes, self.x, self.y)
            if wanted != found:
                return Checked(False, "rational points", f"d = {size}: {wanted}, {found}")
        return Checked(True, "rational points, d = 1, 2, 3", "equal")


def weight_at(parts: Bilinear, values: Any, sizes: Any, x: Any, y: Any) -> Fraction:
    """Return the score from its coefficients at rational values."""
    b = evaluate(parts.matrix, values, sizes)
    a, k = ([row[0] for row in evaluate(side, values, sizes)] for side in (parts.query, parts.key))
    query, key = ([row[0] for row in values[token]] for token in (x.name, y.name))
    total = evaluate(parts.constant, values, sizes) + _plain(a, query) + _plain(k, key)
    total += _plain(key, [_plain(row, query) for row in b])
    for squares, token in ((parts.query_squares, query), (parts.key_squares, key)):
        for slope, matrix in squares:
            image = [_plain(row, token) for row in evaluate(matrix, values, sizes)]
            total += evaluate(slope, values, sizes) * _plain(image, image)
    return Fraction(total)


def _plain(a: Any, b: Any) -> Fraction:
    return sum((s * t for s, t in zip(a, b, strict=True)), Fraction(0))


def _drawn(size: int, expressions: Any, x: Any, y: Any) -> tuple[dict[str, Any], dict[Any, int]]:
    """Return rational values of every symbol of an expression, and of the tokens, all sizes equal."""
    draws = random.Random(17 * size)

    def entry() -> Fraction:
        return Fraction(draws.randint(-9, 9), draws.randint(1, 5))

    free = {*expressions.free_symbols, x, y}
    dims = {s for symbol in free for s in getattr(symbol, "shape", ()) if getattr(s, "is_Symbol", False)}
    values: dict[str, Any] = {}
    for symbol in sorted(free - dims, key=lambda s: s.name):
        shape = [size if s.is_Symbol else int(s) for s in getattr(symbol, "shape", ())]
        plain = abs(entry()) + 1
        values[symbol.name] = (
            [[entry() for _ in range(shape[1])] for _ in range(shape[0])] if shape else plain
        )
    return values, dict.fromkeys(dims, size)


@dataclass(frozen=True)
class MomentsAgainstPairs:
    """The velocity from moments is the sum over pairs, at few rational tokens with unequal weights."""

    parts: Bilinear
    matrix: Any
    offset: Any
    x: Any
    y: Any

    def run(self) -> Checked:
        """Evaluate both in fractions, d = 1, 2, 3, four tokens."""
        for size in (1, 2, 3):
            draws = random.Random(23 * size)
            seen = (self.parts.matrix, self.parts.query, self.parts.key, self.matrix, self.offset)
            table: dict[str, Any] = {}
            sizes: dict[Any, int] = {}
            for part in (*seen, self.parts.constant):
                values, found = _drawn(size, part, self.x, self.y)
                table |= {name: value for name, value in values.items() if name not in table}
                sizes |= found
            tokens = [[Fraction(draws.randint(-9, 9), 7) for _ in range(size)] for _ in range(4)]
            theta = [Fraction(draws.randint(1, 9), 13) for _ in tokens]
            if self._pairs(table, sizes, tokens, theta) != self._moments(table, sizes, tokens, theta):
                return Checked(False, "sums over pairs", f"d = {size}")
        return Checked(True, "sums over pairs in fractions, d = 1, 2, 3", "equal")

    def _vector(self, expr: Any, table: Any, sizes: Any) -> list[Fraction]:
        return [row[0] for row in evaluate(expr, table, sizes)]

    def _pairs(self, table: Any, sizes: Any, tokens: Any, theta: Any) -> list[Fraction]:
        query, total = tokens[0], [Fraction(0)] * len(tokens[0])
        m, c = evaluate(self.matrix, table, sizes), self._vector(self.offset, table, sizes)
        for weight, key in zip(theta, tokens, strict=True):
            at = {**table, self.x.name: [[v] for v in query], self.y.name: [[v] for v in key]}
            w = weight * weight_at(self.parts, at, sizes, self.x, self.y)
            value = [_plain(row, key) + shift for row, shift in zip(m, c, strict=True)]
            total = [t + w * v for t, v in zip(total, value, strict=True)]
        return total

    def _moments(self, table: Any, sizes: Any, tokens: Any, theta: Any) -> list[Fraction]:
        query, axes = tokens[0], range(len(tokens[0]))
        b = evaluate(self.parts.matrix, table, sizes)
        a, k = self._vector(self.parts.query, table, sizes), self._vector(self.parts.key, table, sizes)
        mass = sum(theta, Fraction(0))
        mean = [sum((w * x[i] for w, x in zip(theta, tokens, strict=True)), Fraction(0)) for i in axes]
        second = [
            [sum((w * x[i] * x[j] for w, x in zip(theta, tokens, strict=True)), Fraction(0)) for j in axes]
            for i in axes
        ]
        slope = [_plain(row, query) + shift for row, shift in zip(b, k, strict=True)]
        level = _plain(a, query) + evaluate(self.parts.constant, table, sizes)
        inner = [_plain(row, slope) + level * g for row, g in zip(second, mean, strict=True)]
        factor = _plain(mean, slope) + mass * level
        m, c = evaluate(self.matrix, table, sizes), self._vector(self.offset, table, sizes)
        return [_plain(row, inner) + factor * shift for row, shift in zip(m, c, strict=True)]
