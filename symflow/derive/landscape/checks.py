"""Independent checks of the landscape: components, truncated series and the recurrence, in exact numbers.

None of them uses the formulas of a second variation, traces over bases, or Rodrigues' formula.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
from sympy import (
    Expr,
    Matrix,
    Rational,
    S,
    Symbol,
    cos,
    diff,
    exp,
    eye,
    hessian,
    pi,
    simplify,
    symbols,
    zeros,
)

from symflow.derive.landscape.moments import moment_by_recurrence, power_moment
from symflow.derive.landscape.profile import COSINE
from symflow.derive.steps import Checked

_DIMENSIONS = (2, 3, 4, 5, 6)


def sphere_points(d: int, count: int, seed: int) -> list[Any]:
    """Return rational points of the sphere, by stereographic projection."""
    draw = random.Random(seed)
    points = []
    for _ in range(count):
        flat = [Rational(draw.randint(-6, 6), draw.randint(1, 4)) for _ in range(d - 1)]
        square = sum(t * t for t in flat)
        points.append(Matrix([2 * t for t in flat] + [square - 1]) / (square + 1))
    return points


def generators(d: int) -> Iterator[Any]:
    """Yield the matrices e_a e_bᵀ − e_b e_aᵀ, a < b."""
    for a, b in itertools.combinations(range(d), 2):
        matrix = zeros(d, d)
        matrix[a, b], matrix[b, a] = 1, -1
        yield matrix


@dataclass(frozen=True)
class Casimir:
    """Both sums over the skew matrices, with explicit matrices."""

    def run(self) -> Checked:
        """Sum B² and ⟨Bx, y⟩² for d = 2, …, 6."""
        passed = True
        for d in _DIMENSIONS:
            x, y = (Matrix(d, 1, lambda i, _, s=shift: (i + 2) ** 2 % 7 - s) for shift in (1, 3))
            basis = list(generators(d))
            squares = sum((B * B for B in basis), zeros(d, d))
            turned = sum(((B * x).dot(y) ** 2 for B in basis), S.Zero)
            passed &= squares == -(d - 1) * eye(d)
            passed &= turned == x.dot(x) * y.dot(y) - x.dot(y) ** 2
        sizes = f"d = {_DIMENSIONS[0]}, …, {_DIMENSIONS[-1]}"
        return Checked(bool(passed), "explicit matrices in exact arithmetic", f"both sums for {sizes}")


@dataclass(frozen=True)
class SecondDerivatives:
    """What second derivatives of W along explicit curves add up to, at rational points of the sphere.

    ``claimed`` is a function of the cosine; ``field`` moves both tokens along P_x u, and else one is rotated.
    """

    profile: Expr
    claimed: Expr
    size: Symbol
    field: bool

    def run(self) -> Checked:
        """Expand the cosine along every curve to second order and apply the chain rule to series."""
        seen = 0
        for d in (2, 3, 4):
            for x, y in itertools.pairwise(sphere_points(d, 4, 7 * d)):
                first, second = (sum(column, S.Zero) for column in zip(*self._cosines(d, x, y), strict=True))
                cosine = x.dot(y)
                value = diff(self.profile, COSINE, 2) * first + diff(self.profile, COSINE) * second
                gap = (value - self.claimed.subs(self.size, d)).subs(COSINE, cosine)
                if simplify(gap) != 0:
                    return Checked(False, "series along curves", f"d = {d}, cosine {cosine}: off by {gap}")
                seen += 1
        return Checked(True, "series along curves, exact", f"{seen} pairs of rational points, d = 2, 3, 4")

    def _cosines(self, d: int, x: Any, y: Any) -> Iterator[tuple[Any, Any]]:
        """Yield c'² and c'' along every curve."""
        curves = self._along_fields(d, x, y) if self.field else self._rotated(d, x, y)
        for (x0, x1, x2), (y0, y1, y2) in curves:
            slope = x1.dot(y0) + x0.dot(y1)
            yield slope**2, x2.dot(y0) + 2 * x1.dot(y1) + x0.dot(y2)

    def _rotated(self, d: int, x: Any, y: Any) -> Iterator[Any]:
        still = zeros(d, 1)
        for B in generators(d):
            yield (x, B * x, B * B * x), (y, still, still)

    def _along_fields(self, d: int, x: Any, y: Any) -> Iterator[Any]:
        for a in range(d):
            u = eye(d)[:, a]
            yield _flow(x, u), _flow(y, u)


def _flow(x: Any, u: Any) -> tuple[Any, Any, Any]:
    """x, x', x'' along x' = u − ⟨u, x⟩x."""
    slope = u - u.dot(x) * x
    return x, slope, -u.dot(slope) * x - u.dot(x) * slope


@dataclass(frozen=True)
class NotNegative:
    """An expression in the cosine and positive scalars, with 50 digits on a grid.

    The grid covers the whole range of the cosine; ``values`` are the scalars.
    """

    expr: Expr
    values: tuple[tuple[tuple[Symbol, Fraction], ...], ...]
    parts: int = 40

    def run(self) -> Checked:
        """Evaluate with 50 digits; nothing may be below −10⁻⁴⁰."""
        least = S.Infinity
        for given in self.values:
            number = self.expr.subs({symbol: Rational(v.numerator, v.denominator) for symbol, v in given})
            for j in range(self.parts + 1):
                least = min(least, number.subs(COSINE, Rational(2 * j, self.parts) - 1).evalf(50))
        evidence = f"least value {float(least):.3g} at {len(self.values)} × {self.parts + 1} points"
        return Checked(bool(least > -Rational(1, 10**40)), "50 digits on a grid of cosines", evidence)


@dataclass(frozen=True)
class MomentsByRecurrence:
    """Moments of powers from the recurrence of the polynomials, against the closed form."""

    degrees: int = 5
    steps: int = 3

    def run(self) -> Checked:
        """Compare fractions; powers below the degree must vanish."""
        for d, k in itertools.product(_DIMENSIONS, range(self.degrees + 1)):
            for i in range(self.steps + 1):
                exact = moment_by_recurrence(k, k + 2 * i, d)
                if power_moment(k, i, d) != Rational(exact.numerator, exact.denominator) or exact <= 0:
                    return Checked(False, "recurrence in fractions", f"k = {k}, i = {i}, d = {d}: {exact}")
            if any(moment_by_recurrence(k, j, d) for j in range(k)):
                return Checked(False, "recurrence in fractions", f"k = {k}, d = {d}: no orthogonality")
        evidence = f"k ≤ {self.degrees}, i ≤ {self.steps}, d = 2, …, 6"
        return Checked(True, "recurrence in fractions", evidence)


@dataclass(frozen=True)
class SeriesAtRationals:
    """A series of powers against its function, at rational numbers with 50 digits."""

    profile: Expr
    parameter: Symbol

    def run(self) -> Checked:
        """Sum 60 powers with the weights that derivatives at zero give."""
        weights = [diff(self.profile, COSINE, j).subs(COSINE, 0) for j in range(4)]
        value = {self.parameter: Rational(3, 2)}
        ratio = (weights[1] / weights[0]).subs(value)
        term, total = weights[0].subs(value), S.Zero
        for j in range(60):
            total += term * Rational(1, 3) ** j
            term = term * ratio / (j + 1)
        gap = abs((total - self.profile.subs(value).subs(COSINE, Rational(1, 3))).evalf(50))
        regular = all(simplify(b / a - weights[1] / weights[0]) == 0 for a, b in itertools.pairwise(weights))
        return Checked(
            bool(regular and gap < Rational(1, 10**40)), "sum of a series", f"off by {float(gap):.1g}"
        )


@dataclass(frozen=True)
class SplitSaddles:
    """A lower bound of the largest eigenvalue where tokens on the circle sit at two antipodal points.

    These are critical points for every β; the Hessian is differentiated from the energy of the angles.
    """

    bound: Expr
    count: Symbol
    parameter: Symbol

    def run(self) -> Checked:
        """Compare with the eigenvalues, for two to five tokens and all ways to split them."""
        seen, least = 0, mpmath.inf
        with mpmath.workdps(30):
            for n, b in itertools.product((2, 3, 4, 5), (Rational(1, 10), Rational(1, 5), Rational(3, 2))):
                given = {self.count: n, self.parameter: b}
                low = mpmath.mpf(str(self.bound.subs(given).evalf(30)))
                for antipodal in range(1, n):
                    angles = [0] * (n - antipodal) + [pi] * antipodal
                    largest = max(mpmath.eigsy(_circle_hessian(angles, b), eigvals_only=True))
                    least, seen = min(least, largest - low), seen + 1
        evidence = f"{seen} configurations, least difference {mpmath.nstr(least, 3)}"
        return Checked(bool(least >= 0), "eigenvalues on the circle, 30 digits", evidence)


def _circle_hessian(angles: list[Any], beta: Any) -> Any:
    """Second derivatives of (1/(2βn²)) Σ exp(β cos(θ_i − θ_j)) by the angles."""
    n = len(angles)
    names = symbols(f"theta0:{n}", real=True)
    pairs = itertools.product(names, names)
    energy = sum((exp(beta * cos(a - b)) for a, b in pairs), S.Zero)
    at = dict(zip(names, angles, strict=True))
    entries = hessian(energy / (2 * beta * n**2), names).subs(at).evalf(30)
    return mpmath.matrix([[mpmath.mpf(str(entries[i, j])) for j in range(n)] for i in range(n)])
