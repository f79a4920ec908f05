"""Independent checks of the generator of the cosine: explicit coordinates at rational points of the sphere.

None of them uses the normal form, Gateaux derivatives or Isserlis' theorem: covariances are written out as
matrices, derivatives are those of polynomials in coordinates, limits are numbers close to the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import (
    Expr,
    Float,
    Matrix,
    Rational,
    S,
    Symbol,
    diff,
    exp,
    eye,
    hessian,
    lambdify,
    log,
    simplify,
    sqrt,
    symbols,
    zeros,
)

from symflow.derive.landscape.checks import sphere_points
from symflow.derive.noise.symbols import BETA, COSINE, ORDER, SIZE, kappa, kappa_slope
from symflow.derive.steps import Checked

_AT_ONE, _AT_PAIR = Rational(7, 5), Rational(-2, 3)  #: κ(1) and κ(u) in exact checks
_DIMENSIONS = (2, 3, 4)
_DIGITS = 60
#: Two covariances: a smooth one, and one that is differentiable at u = 1 once.
_SAMPLES = (exp(COSINE / 3), 1 + COSINE + (1 - COSINE) ** Rational(3, 2) / 5)


def _points(d: int) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of rational points of the sphere."""
    return itertools.pairwise(sphere_points(d, 3, 5 * d))


def _filled(expr: Expr, d: int, cosine: Any) -> Any:
    """Put the size, the cosine and the two exact values of κ into an expression."""
    return expr.subs({kappa(COSINE): _AT_PAIR, kappa(1): _AT_ONE}).subs({SIZE: d, COSINE: cosine})


def _sample(expr: Expr, covariance: Expr) -> Expr:
    """Put an explicit covariance into an expression, its derivative included."""
    slope = diff(covariance, COSINE)
    at_one = {kappa(1): covariance.subs(COSINE, 1), kappa_slope(1): slope.subs(COSINE, 1)}
    return expr.subs(at_one).subs({kappa(COSINE): covariance, kappa_slope(COSINE): slope})


def _projector(x: Any) -> Any:
    return eye(x.rows) - x * x.T


@dataclass(frozen=True)
class LayerMean:
    """The average of the second derivative of v/|v|, by the Hessian of every component."""

    correction: Expr

    def run(self) -> Checked:
        """Compare with −c x at rational points of the sphere."""
        for d in _DIMENSIONS:
            v = symbols(f"v0:{d}", real=True)
            length = sqrt(sum(t**2 for t in v))
            point = sphere_points(d, 1, d)[0]
            for entry, value in zip(v, point, strict=True):
                curvature = hessian(entry / length, v).subs(dict(zip(v, point, strict=True)))
                gap = _AT_ONE * curvature.trace() / 2 + _filled(self.correction, d, 0) * value
                if simplify(gap) != 0:
                    return Checked(False, "Hessians of components", f"d = {d}: off by {gap}")
        return Checked(True, "Hessians of components at rational points, d = 2, 3, 4", "residual 0")


@dataclass(frozen=True)
class RadiusInComponents:
    """dx = −c x dt + P_x dW keeps |x|²: drift and noise vanish at rational points of the sphere."""

    correction: Expr

    def run(self) -> Checked:
        """Compute both with explicit matrices."""
        for d in _DIMENSIONS:
            point = sphere_points(d, 1, 2 * d)[0]
            c, projector = _filled(self.correction, d, 0), _projector(point)
            drift = -2 * c * point.dot(point) + (_AT_ONE * projector * projector.T).trace()
            if drift != 0 or projector * point != zeros(d, 1):
                return Checked(False, "explicit matrices", f"d = {d}: drift {drift}")
        return Checked(True, "explicit matrices at rational points, d = 2, 3, 4", "drift and noise 0")


@dataclass(frozen=True)
class StratonovichCorrection:
    """½ΣD(Pφ)[Pφ] = −c x for a field with κ = a + bu, which is a sum of constant and linear fields φ."""

    correction: Expr

    def run(self) -> Checked:
        """Differentiate the fields in coordinates at rational points of the sphere."""
        for d in (2, 3):
            point = sphere_points(d, 1, 2 * d)[0]
            gap = self._sum(d, point) + _filled(self.correction, d, 0) * point
            if gap != zeros(d, 1):
                return Checked(False, "fields in coordinates", f"d = {d}: off by {list(gap)}")
        return Checked(True, "constant and linear fields in coordinates, exact, d = 2, 3", "residual 0")

    def _sum(self, d: int, point: Any) -> Any:
        """Return the sum over √a e_a and √b x_b e_a, a + b = κ(1)."""
        v = Matrix(symbols(f"v0:{d}", real=True))
        slope = Rational(3, 4)
        fields = [(Matrix(eye(d)[:, a]), _AT_ONE - slope) for a in range(d)]
        fields += [(v[b] * Matrix(eye(d)[:, a]), slope) for a, b in itertools.product(range(d), repeat=2)]
        at = dict(zip(v, point, strict=True))
        total = zeros(d, 1)
        for phi, weight in fields:
            moved = (eye(d) - v * v.T) * phi
            total += weight * moved.jacobian(v).subs(at) * moved.subs(at) / 2
        return total


@dataclass(frozen=True)
class GeneratorInComponents:
    """G₀f' + G₁f'' for f = u, u², u³ equals Itô's formula in the 2d coordinates of both tokens."""

    correction: Expr
    drift: Expr
    diffusion: Expr

    def run(self) -> Checked:
        """Compare at rational points of the sphere, with κ(1) and κ(u) two rational numbers."""
        for d in _DIMENSIONS:
            for x, y in _points(d):
                for power in (1, 2, 3):
                    gap = self._gap(d, x, y, power)
                    if gap != 0:
                        return Checked(False, "Itô's formula in coordinates", f"d = {d}: off by {gap}")
        return Checked(True, "Itô's formula in coordinates, exact, d = 2, 3, 4", "residual 0 for u, u², u³")

    def _gap(self, d: int, x: Any, y: Any, power: int) -> Any:
        u = x.dot(y)
        v = symbols(f"v0:{2 * d}", real=True)
        value = sum(v[i] * v[d + i] for i in range(d)) ** power
        at = dict(zip(v, [*x, *y], strict=True))
        slope = Matrix([diff(value, entry) for entry in v]).subs(at)
        curvature = hessian(value, v).subs(at)
        px, py = _projector(x), _projector(y)
        cross = _AT_PAIR * px * py
        covariance = Matrix.vstack(Matrix.hstack(_AT_ONE * px, cross), Matrix.hstack(cross.T, _AT_ONE * py))
        mean = -_filled(self.correction, d, u) * Matrix.vstack(x, y)
        direct = slope.dot(mean) + (covariance * curvature).trace() / 2
        first, second = power * u ** (power - 1), power * (power - 1) * u ** max(power - 2, 0)
        return direct - _filled(self.drift, d, u) * first - _filled(self.diffusion, d, u) * second


@dataclass(frozen=True)
class LimitAtOne:
    """A limit at u → 1, from values next to it for two explicit covariances.

    ``cases`` are expressions in κ(u) and u with what they tend to.
    """

    cases: tuple[tuple[Expr, Expr], ...]

    def run(self) -> Checked:
        """Compare at 1 − u = 10⁻²⁰; the error is of the order of √(1 − u) at most."""
        worst = mpmath.mpf(0)
        with mpmath.workdps(_DIGITS):
            for covariance, d, (near, limit) in itertools.product(_SAMPLES, (2, 5), self.cases):
                value = lambdify(COSINE, _sample(near, covariance).subs(SIZE, d), "mpmath")(_near_one())
                worst = max(worst, abs(value - _number(_sample(limit, covariance).subs(SIZE, d))))
        passed = bool(worst < mpmath.mpf(10) ** -8)
        return Checked(passed, "evaluation at 1 − u = 10⁻²⁰ for two covariances", mpmath.nstr(worst, 2))


def at_lyapunov(drift: Expr, diffusion: Expr, limit: Expr) -> LimitAtOne:
    """Return the check of L½log(1 − u) → λ₁."""
    return LimitAtOne(((_generator(log(1 - COSINE) / 2, drift, diffusion), limit),))


def at_powers(drift: Expr, diffusion: Expr, moments: Expr) -> LimitAtOne:
    """Return the check of Lf/f → Λ(p) for f = (1 − u)^{p/2}."""
    cases = []
    for order in (S.One, S(2), S(3)):
        power = (1 - COSINE) ** (order / 2)
        cases.append((_generator(power, drift, diffusion) / power, moments.subs(ORDER, order)))
    return LimitAtOne(tuple(cases))


def _generator(function: Expr, drift: Expr, diffusion: Expr) -> Expr:
    return drift * diff(function, COSINE) + diffusion * diff(function, COSINE, 2)


def _near_one() -> Any:
    return 1 - mpmath.mpf(10) ** -20


def _number(expr: Expr) -> Any:
    return mpmath.mpmathify(Float(expr.evalf(_DIGITS), _DIGITS))


@dataclass(frozen=True)
class EnergyAtOne:
    """−Lf = Ff by differences of f = e^β − e^{βu}, and F next to u = 1 is −λ̄."""

    energy: Expr
    drift: Expr
    diffusion: Expr
    dissipation: Expr

    def run(self) -> Checked:
        """Compare for two covariances."""
        worst = mpmath.mpf(0)
        with mpmath.workdps(_DIGITS):
            for covariance, d, beta in itertools.product(_SAMPLES, (2, 5), (Rational(1, 3), S(4))):
                given = {SIZE: d, BETA: beta}
                rate = lambdify(COSINE, _sample(self.energy, covariance).subs(given), "mpmath")
                end = _number(_sample(self.dissipation, covariance).subs(given))
                worst = max(worst, abs(rate(_near_one()) + end))
                worst = max(worst, self._gap(rate, covariance, d, mpmath.mpf(beta.p) / beta.q))
        passed = bool(worst < mpmath.mpf(10) ** -8)
        return Checked(passed, "central differences, and 1 − u = 10⁻²⁰", mpmath.nstr(worst, 2))

    def _gap(self, rate: Any, covariance: Expr, d: int, beta: Any) -> Any:
        u, h = mpmath.mpf(-3) / 7, mpmath.mpf(10) ** -15
        drift, diffusion = (
            lambdify(COSINE, _sample(part, covariance).subs(SIZE, d), "mpmath")(u)
            for part in (self.drift, self.diffusion)
        )
        below, here, above = (mpmath.exp(beta) - mpmath.exp(beta * (u + s * h)) for s in (-1, 0, 1))
        change = drift * (above - below) / (2 * h) + diffusion * (above - 2 * here + below) / h**2
        return abs(rate(u) * here + change)


@dataclass(frozen=True)
class SquareRootInComponents:
    """½ΣV(Vu) over the 2d vector fields of the Cholesky factor, by derivatives in coordinates."""

    correction: Expr
    drift: Expr
    surplus: Expr

    def run(self) -> Checked:
        """Compare with the drift of the field and the surplus at rational points, d = 2, 3."""
        worst = S.Zero
        for covariance, d in itertools.product(_SAMPLES, (2, 3)):
            for x, y in _points(d):
                expected = _sample(self.drift + self.surplus, covariance).subs({SIZE: d, COSINE: x.dot(y)})
                worst = max(worst, abs((self._drift(d, x, y, covariance) - expected).evalf(40)))
        passed = bool(worst < Rational(1, 10**30))
        return Checked(passed, "vector fields in coordinates, 40 digits, d = 2, 3", f"{worst.evalf(2)}")

    def _drift(self, d: int, x: Any, y: Any, covariance: Expr) -> Any:
        v, w = (Matrix(symbols(f"{name}0:{d}", real=True)) for name in "vw")
        one = covariance.subs(COSINE, 1)
        pair = Symbol("k", real=True)
        own, other = sqrt(one), pair / sqrt(one)
        root = ((own, S.Zero), (other, sqrt(one - other**2)))
        at = {**dict(zip(v, x, strict=True)), **dict(zip(w, y, strict=True))}
        value = {pair: covariance.subs(COSINE, x.dot(y))}
        slope = diff(covariance, COSINE).subs(COSINE, x.dot(y))
        total = S.Zero
        for j, a in itertools.product(range(2), range(d)):
            e = Matrix(eye(d)[:, a])
            field = [root[0][j] * (eye(d) - v * v.T) * e, root[1][j] * (eye(d) - w * w.T) * e]
            along = field[0].dot(w) + field[1].dot(v)
            moved = list(field[0]) + list(field[1])
            explicit = sum((diff(along, s) * m for s, m in zip([*v, *w], moved, strict=True)), S.Zero)
            total += (explicit + diff(along, pair) * slope * along).subs(at).subs(value) / 2
        return total
