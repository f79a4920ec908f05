"""Independent checks of covariances of random layers: signs as weights, polar quadrature, differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import Expr, Matrix, Rational, S, diff, expand, zeros

from symflow.derive.landscape.checks import sphere_points
from symflow.derive.noise.activations import BELL, ERROR, PLAIN, POINT, STEP, Terms, derivative
from symflow.derive.noise.averages import COVARIANCE, VARIANCE
from symflow.derive.steps import Checked
from symflow.models.noise.statement import NoiseStatement

_DIGITS = 20
_LEVEL, _RADIUS = 4, 8  #: of the Gauss rule between kinks; steps along a ray are 1/_RADIUS
_LAWS = ((Rational(3, 2), Rational(-2, 5)), (Rational(7, 10), Rational(3, 5)))
_TOLERANCE = mpmath.mpf(10) ** -11


@dataclass(frozen=True)
class SignsOfWeights:
    """Averages that see second moments of weights only, with signs ±1 instead of normal weights, exactly."""

    layer: NoiseStatement

    def run(self) -> Checked:
        """Enumerate the signs of U and b_U, and those of W at d = m = 2 for given values of φ."""
        passed = self._arguments() and self._values()
        return Checked(passed, "all signs of weights in exact arithmetic, d = 2, 3, m = 1, 2", "residual 0")

    def _arguments(self) -> bool:
        for d in (2, 3):
            x, y = sphere_points(d, 2, 3 * d)
            scale = {self.layer.dim: d} if self.layer.dim.is_Symbol else {}
            size = self.layer.dim.subs(scale)
            total = S.Zero
            signs = list(itertools.product((-1, 1), repeat=d + 1))
            for *row, last in signs:
                w, bias = Matrix(row), last * self.layer.sigma_u
                total += (w.dot(x) / size ** Rational(1, 2) + bias) * (
                    w.dot(y) / size ** Rational(1, 2) + bias
                )
            expected = self.layer.covariance(x.dot(y)).subs(scale)
            if expand(total / len(signs) - expected) != 0:
                return False
        return bool(expand(self.layer.covariance(S.One) - self.layer.variance) == 0)

    def _values(self) -> bool:
        for m in (1, 2):
            first, second = (Matrix(m, 1, lambda i, _, s=s: Rational(i + s, 3)) for s in (1, -4))
            total = zeros(2, 2)
            signs = list(itertools.product((-1, 1), repeat=2 * m + 2))
            for values in signs:
                w, bias = Matrix(2, m, values[: 2 * m]), Matrix(values[2 * m :]) * self.layer.sigma_w
                root = S(m) ** Rational(1, 2)
                total += (w * first / root + bias) * (w * second / root + bias).T
            share = first.dot(second) / m + self.layer.sigma_w**2
            if (total / len(signs) - share * Matrix.eye(2)).applyfunc(expand) != zeros(2, 2):
                return False
        return True


def functions(terms: Terms) -> Callable[[Any], Any]:
    """Return a sum of terms without point masses as a function of numbers."""
    parts = [(mpmath.mpmathify(t.factor.evalf(_DIGITS + 10)), t) for t in terms]

    def value(z: Any) -> Any:
        return mpmath.fsum(c * z**t.power * _shape(t, z) for c, t in parts)

    return value


def _shape(term: Any, z: Any) -> Any:
    rate = mpmath.mpmathify(term.rate.evalf(_DIGITS + 10))
    shapes: dict[str, Callable[[], Any]] = {
        PLAIN: lambda: mpmath.mpf(1),
        STEP: lambda: mpmath.mpf(z > 0),
        ERROR: lambda: mpmath.erf(rate * z),
        BELL: lambda: mpmath.exp(-rate * z * z),
    }
    return shapes[term.kind]()


def polar_mean(first: Any, second: Any, variance: Any, covariance: Any) -> Any:
    """Return E[f(Z₁)g(Z₂)] in polar coordinates, where kinks of f and g at zero are four rays."""
    angle = mpmath.acos(covariance / variance)
    half = mpmath.pi / 2
    rays = sorted({(a % (2 * mpmath.pi)) for a in (half, -half, angle + half, angle - half)})
    rays.append(rays[0] + 2 * mpmath.pi)
    nodes = mpmath.calculus.quadrature.GaussLegendre(mpmath.mp).calc_nodes(_LEVEL, mpmath.mp.prec)
    ray = _ray()
    root = mpmath.sqrt(variance)
    total = mpmath.mpf(0)
    for start, end in itertools.pairwise(rays):
        middle, width = (start + end) / 2, (end - start) / 2
        for node, weight in nodes:
            theta = middle + width * node
            near, far = root * mpmath.cos(theta), root * mpmath.cos(theta - angle)
            total += width * weight * mpmath.fsum(w * first(s * near) * second(s * far) for s, w in ray)
    return total / (2 * mpmath.pi)


def _ray() -> list[tuple[Any, Any]]:
    """Return nodes and weights of ∫₀^∞ f(s) s e^{−s²/2} ds by the double exponential rule."""
    step = mpmath.mpf(1) / _RADIUS
    found = []
    for k in range(-4 * _RADIUS, 2 * _RADIUS + _RADIUS):
        t = step * k
        s = mpmath.exp(t - mpmath.exp(-t))
        weight = step * s * (1 + mpmath.exp(-t)) * s * mpmath.exp(-s * s / 2)
        if weight > mpmath.mpf(10) ** (-_DIGITS):
            found.append((s, weight))
    return found


@dataclass(frozen=True)
class PolarQuadrature:
    """A closed form in q and c against quadrature of the average in polar coordinates."""

    terms: Terms
    average: Any

    def run(self) -> Checked:
        """Compare at two laws; a sum with point masses has no values, so that nothing is compared there."""
        if any(term.kind == POINT for term in self.terms):
            return Checked(False, "polar quadrature", "the function is a measure")
        worst = mpmath.mpf(0)
        with mpmath.workdps(_DIGITS):
            value = functions(self.terms)
            for q, c in _LAWS:
                closed = self.average.subs({VARIANCE: q, COVARIANCE: c}).evalf(_DIGITS)
                seen = polar_mean(value, value, *(mpmath.mpf(v.p) / v.q for v in (q, c)))
                worst = max(worst, abs(mpmath.mpmathify(closed) - seen))
        return Checked(bool(worst < _TOLERANCE), "polar quadrature between kinks", mpmath.nstr(worst, 2))


@dataclass(frozen=True)
class SlopeByDifferences:
    """The derivative by c is the average of φ'φ' in closed form; else Price's theorem for polynomials."""

    layer: NoiseStatement
    average: Any
    slope: Any

    def run(self) -> Checked:
        """Differentiate the closed form, which was integrated; and the moments of z² and z³."""
        worst = mpmath.mpf(0)
        q, c = VARIANCE, COVARIANCE
        cases = [(q**2 + 2 * c**2, 4 * c), (6 * c**3 + 9 * q**2 * c, 18 * c**2 + 9 * q**2)]
        if self.average is not None:
            cases.append((self.average, self.slope))
        with mpmath.workdps(_DIGITS):
            for average, slope in cases:
                for law in _LAWS:
                    gap = (diff(average, c) - slope).subs(dict(zip((q, c), law, strict=True)))
                    worst = max(worst, abs(mpmath.mpmathify(gap.evalf(_DIGITS))))
        return Checked(bool(worst < _TOLERANCE), "derivatives of moments by c", mpmath.nstr(worst, 2))


@dataclass(frozen=True)
class AtTheEnds:
    """The closed form at c = q, −q and 0 against averages over one variable."""

    terms: Terms
    average: Expr
    slope: Expr
    single: Expr

    def run(self) -> Checked:
        """Integrate φ², φ(z)φ(−z) and φ along a line, and φ'² from both sides of the kink."""
        worst = mpmath.mpf(0)
        with mpmath.workdps(_DIGITS):
            phi = functions(self.terms)
            q = _LAWS[0][0]
            cases = [(q, lambda z: phi(z) ** 2), (-q, lambda z: phi(z) * phi(-z))]
            for c, integrand in cases:
                closed = self.average.subs(COVARIANCE, c).subs(VARIANCE, q).evalf(_DIGITS)
                worst = max(worst, abs(mpmath.mpmathify(closed) - _line_mean(integrand, q)))
            closed = (self.average.subs(COVARIANCE, 0) - self.single**2).subs(VARIANCE, q)
            worst = max(worst, abs(mpmath.mpmathify(closed.evalf(_DIGITS))))
            if all(term.kind != POINT for term in derivative(self.terms)):
                slope = functions(derivative(self.terms))
                closed = self.slope.subs(COVARIANCE, q).subs(VARIANCE, q).evalf(_DIGITS)
                seen = _line_mean(lambda z: slope(z) ** 2, q)
                worst = max(worst, abs(mpmath.mpmathify(closed) - seen))
        return Checked(
            bool(worst < _TOLERANCE), "quadrature along a line at r = 1, −1, 0", mpmath.nstr(worst, 2)
        )


def _line_mean(function: Callable[[Any], Any], variance: Any) -> Any:
    """Return E f(Z), with a kink at zero allowed."""
    root = mpmath.sqrt(mpmath.mpf(variance.p) / variance.q)

    def weighted(z: Any) -> Any:
        return (function(root * z) + function(-root * z)) * mpmath.exp(-z * z / 2)

    return mpmath.quad(weighted, [0, 1, 3, 6, 11]) / mpmath.sqrt(2 * mpmath.pi)
