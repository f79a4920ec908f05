"""Independent checks of what is said about second variations at Gaussian laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import Expr, Integer, Matrix, Rational, Symbol, exp, eye, log, symbols

from symflow.algebra.determinant import LogDet
from symflow.derive.checks import by_quadrature, lattice_mean
from symflow.derive.components import Draw, explicit
from symflow.derive.second_variation.gaussian import (
    ALPHA,
    DRIFT,
    LINEAR,
    SIGMA,
    Averaged,
    bent_part,
    energy_part,
    metric_part,
    straight_part,
    velocity_at,
)
from symflow.derive.second_variation.twisted import TwistedMetric
from symflow.derive.steps import Checked
from symflow.models.energies.statement import EnergyStatement

_DIGITS = 60
_STEP = Rational(1, 10**14)  # of second differences: error h², rounding 10⁻⁶⁰/h²
_CLOSE = Rational(1, 10**24)


def _value(expression: Any, values: Any, sizes: Any) -> Any:
    """Return an explicit value, with the logarithms of determinants written out."""
    filled = explicit(expression, values, sizes)
    return filled.replace(lambda e: isinstance(e, LogDet), lambda e: log(Matrix(e.arg).det()))


def summed(parts: Averaged, values: dict[Any, Any], sizes: Any) -> Any:
    """Return the value of an average over pairs of points of a Gaussian law."""
    total: Any = Integer(0)
    for part in parts:
        moments = {symbol: _value(e, values, sizes) for symbol, e in part.law.parts().items()}
        total += exp(_value(part.law.log_mass, values, sizes)) * _value(
            part.average, {**values, **moments}, sizes
        )
    return total


def _law(draw: Draw, size: int) -> dict[Any, Any]:
    factor = draw.lower_triangular(size) / 3
    return {ALPHA: draw.matrix(size, 1), SIGMA: factor * factor.T}


def kernel_energy(metric: TwistedMetric) -> EnergyStatement:
    """Return the energy ½∬K dμdμ whose gradient is affine at Gaussian laws."""
    dims = (metric.x.shape[0],)
    return EnergyStatement("kernel", metric.kernel, metric.x, metric.y, metric.parameters, dims)


@dataclass(frozen=True)
class BuresCurve:
    """Second differences of the closed form of F along a Bures geodesic equal the average over pairs."""

    statement: EnergyStatement
    value: Expr
    straight: Averaged

    def run(self) -> Checked:
        """Compare at d = 1, 2 with sixty digits."""
        worst = max(self._error(size) for size in (1, 2))
        method = "second differences of the closed form, d = 1, 2"
        return Checked(bool(worst < _CLOSE), method, f"relative error {worst.evalf(2)}")

    def _error(self, size: int) -> Any:
        draw, s = Draw(size, seed=23 * size), self.statement
        values = draw.values([s.pair, s.potential], skip=(s.x, s.y))
        sizes = {**draw.sizes, s.dimensions[0]: size}
        law, half = _law(draw, size), draw.matrix(size, size)
        shift, S = draw.matrix(size, 1), half + half.T

        def along(time: Any) -> Any:
            moved = eye(size) + time * S
            place = {ALPHA: law[ALPHA] + time * (shift + S * law[ALPHA]), SIGMA: moved * law[SIGMA] * moved}
            return _value(self.value, {**values, **place}, sizes).evalf(_DIGITS)

        second = (along(_STEP) - 2 * along(Integer(0)) + along(-_STEP)) / _STEP**2
        expected = summed(self.straight, {**values, **law, DRIFT: shift, LINEAR: S}, sizes).evalf(_DIGITS)
        return abs(second - expected) / (1 + abs(expected))


@dataclass(frozen=True)
class AccelerationByQuadrature:
    """The polynomial equals the acceleration with force and rate averaged over a lattice."""

    metric: TwistedMetric
    acceleration: Any

    def run(self) -> Checked:
        """Compare at d = 1 with fifty digits, at d = 2 with twenty."""
        return by_quadrature(self._error)

    def _error(self, size: int, digits: int) -> Any:
        m = self.metric
        draw, sizes = Draw(size, seed=29 * size), {m.x.shape[0]: size}
        values = _metric_values(m, draw, size)
        factor = draw.lower_triangular(size) / 3
        law = {ALPHA: draw.matrix(size, 1), SIGMA: factor * factor.T}
        moving = {DRIFT: draw.matrix(size, 1), LINEAR: draw.matrix(size, size)}
        x, coordinates = draw.matrix(size, 1), symbols(f"z0:{size}", real=True)
        y = law[ALPHA] + factor * Matrix(coordinates)
        placed = {**values, m.x: x, m.y: y}
        velocities = (explicit(velocity_at(p), {**moving, m.x: p}, sizes) for p in (x, y))
        placed |= dict(zip((m.v, m.w), velocities, strict=True))
        score = log(m.kernel).expand(force=True) if not isinstance(m.kernel, exp) else m.kernel.args[0]
        exponent = explicit(score, placed, sizes) - sum(z**2 for z in coordinates) / 2
        weighted = [*explicit(m.force, placed, sizes), explicit(m.rate, placed, sizes)]
        kernel = explicit(m.kernel, placed, sizes)
        means = lattice_mean(exponent.expand(), [_ratio(e, kernel) for e in weighted], coordinates, digits)
        expected = explicit(self.acceleration, {**values, **law, **moving, m.x: x}, sizes)
        inverse, v = mpmath.matrix(values[m.size].inv().tolist()), placed[m.v]
        forced = inverse * mpmath.matrix(means[:-1])
        return max(
            abs(
                mpmath.mpmathify(expected[i].evalf(digits + 10))
                - forced[i]
                + means[-1] * mpmath.mpmathify(v[i])
            )
            for i in range(size)
        )


def _ratio(value: Any, kernel: Any) -> Any:
    from sympy import expand, powsimp

    return powsimp(expand(value / kernel))


def _metric_values(metric: TwistedMetric, draw: Draw, size: int) -> dict[Any, Any]:
    drawn, factor = draw.matrix(size, size), draw.lower_triangular(size)
    values = {parameter: (drawn + drawn.T) / 2 + eye(size) / 4 for parameter in metric.parameters}
    return {**values, metric.size: factor * factor.T}


@dataclass(frozen=True)
class AffineOptimal:
    """Affine fields u for which e^{⟨g, x⟩/2 + …}u is a gradient, g = ∇log G: counted by exact elimination."""

    def run(self) -> Checked:
        """Solve for symmetry of the Jacobian at rational points, at d = 1, 2, 3."""
        counts = [self._solutions(size) for size in (1, 2, 3)]
        passed = counts == [2, 1, 1]  # every field at d = 1; multiples of one beyond
        return Checked(passed, "exact elimination, d = 1, 2, 3", f"dimensions of solutions {counts}")

    def _solutions(self, size: int) -> int:
        draw = Draw(size, seed=31 * size)
        drawn, factor = draw.matrix(size, size), draw.lower_triangular(size)
        A, sigma, alpha = drawn + drawn.T + eye(size), factor * factor.T, draw.matrix(size, 1)
        unknowns = symbols(f"u0:{size + size * size}")
        shift, linear = Matrix(unknowns[:size]), Matrix(size, size, unknowns[size:])
        equations: list[Any] = []
        for point in (draw.matrix(size, 1) for _ in range(4 * size)):
            field, slope = shift + linear * point, A * (alpha + sigma * A * point)
            jacobian = linear + field * slope.T  # of e^{…}u, divided by the exponential
            equations += [jacobian[i, j] - jacobian[j, i] for i in range(size) for j in range(i)]
        if not equations:
            return len(unknowns)
        rows = [[equation.expand().coeff(u) for u in unknowns] for equation in equations]
        return len(unknowns) - int(Matrix(rows).rank())


@dataclass(frozen=True)
class RestrictedHessian:
    """On the line the Hessian of the manifold of mean and variance is the one of the space of laws."""

    metric: TwistedMetric

    def run(self) -> Checked:
        """Compare Christoffel symbols, by differences in many digits, with the averages over pairs."""
        worst = max(abs(error) for error in self._errors())
        return Checked(bool(worst < _CLOSE), "Christoffel symbols of mean and variance", f"{worst.evalf(2)}")

    def _errors(self) -> Iterator[Any]:
        m, statement = self.metric, kernel_energy(self.metric)
        values, sizes = _metric_values(m, Draw(1, seed=5), 1), {self.metric.x.shape[0]: 1}
        length, energy = metric_part(m), energy_part(statement)
        lifted = (*straight_part(statement), *bent_part(statement, m))
        start = (Rational(1, 3), Rational(2, 5))

        def at(point: Any, tangent: Any) -> dict[Any, Any]:
            linear = tangent[1] / (2 * point[1])  # Σ' = 2LΣ
            law = {ALPHA: Matrix([point[0]]), SIGMA: Matrix([[point[1]]])}
            return {
                **values,
                **law,
                DRIFT: Matrix([tangent[0] - linear * point[0]]),
                LINEAR: Matrix([[linear]]),
            }

        def square(point: Any, tangent: Any) -> Any:
            return summed(length, at(point, tangent), sizes).evalf(_DIGITS)

        def value(point: Any) -> Any:
            return summed(energy, at(point, (0, 0)), sizes).evalf(_DIGITS)

        for tangent in ((1, 0), (0, 1), (Rational(1, 2), Rational(-3, 4))):
            bend = _christoffel(square, start, tangent)
            ahead = [value(_moved(start, tangent, t * _STEP)) for t in (1, 0, -1)]
            second = (ahead[0] - 2 * ahead[1] + ahead[2]) / _STEP**2
            slope = (value(_moved(start, bend, _STEP)) - value(_moved(start, bend, -_STEP))) / (2 * _STEP)
            yield second - slope - summed(lifted, at(start, tangent), sizes).evalf(_DIGITS)


def _moved(point: Any, tangent: Any, time: Any) -> Any:
    return tuple(p + time * v for p, v in zip(point, tangent, strict=True))


def _christoffel(square: Any, point: Any, tangent: Any) -> Any:
    """Return Γ(v, v) = g⁻¹((∂_v g)v − ½∇g(v, v)) of a metric given by its squares, by differences."""

    def gram(place: Any) -> Any:
        a, b, both = square(place, (1, 0)), square(place, (0, 1)), square(place, (1, 1))
        return Matrix([[a, (both - a - b) / 2], [(both - a - b) / 2, b]])

    velocity = Matrix(tangent)
    ends = [gram(_moved(point, tangent, t)) for t in (_STEP, -_STEP)]
    along = (ends[0] - ends[1]) / (2 * _STEP) * velocity
    slopes = [
        sum(sign * square(_moved(point, unit, sign * _STEP), tangent) for sign in (1, -1)) / (2 * _STEP)
        for unit in ((1, 0), (0, 1))
    ]
    return tuple(gram(point).LUsolve(along - Matrix(slopes) / 2))


@dataclass(frozen=True)
class AlongGradientFlow:
    """In the plane, along the gradient X of F = ½∬K dμdμ, the second variation is ½ X(XF)."""

    metric: TwistedMetric

    def run(self) -> Checked:
        """Compare second differences of F along the flow with the average over pairs."""
        error = abs(self._error())
        return Checked(
            bool(error < _CLOSE), "second differences along the gradient, d = 2", f"{error.evalf(2)}"
        )

    def _error(self) -> Any:
        m, statement, size = self.metric, kernel_energy(self.metric), 2
        draw, sizes = Draw(size, seed=7), {self.metric.x.shape[0]: size}
        values = _metric_values(m, draw, size)
        law, energy = _law(draw, size), energy_part(statement)
        inverse, A = values[m.size].inv(), values[m.parameters[0]]

        def flow(mean: Any, cov: Any) -> tuple[Any, Any, Any]:
            linear = inverse * A * cov * A
            return inverse * A * (mean + cov * A * mean), linear, linear * cov + cov * linear.T

        start = law[ALPHA], law[SIGMA]
        drift, linear, change = flow(*start)
        bend = _along(flow, *start, drift, change)  # by exact differences: the field is a polynomial

        def moved(t: Any) -> Any:
            parts = zip(start, (drift, change), bend, strict=True)
            mean, cov = (p + t * v + t**2 * a / 2 for p, v, a in parts)
            return summed(energy, {**values, ALPHA: mean, SIGMA: cov}, sizes).evalf(_DIGITS)

        second = (moved(_STEP) - 2 * moved(Integer(0)) + moved(-_STEP)) / _STEP**2
        moving = {**values, **law, DRIFT: drift - linear * law[ALPHA], LINEAR: linear}
        lifted = summed((*straight_part(statement), *bent_part(statement, m)), moving, sizes)
        return (second / 2 - lifted).evalf(_DIGITS)


def _along(flow: Any, mean: Any, cov: Any, drift: Any, change: Any) -> tuple[Any, Any]:
    """Return the derivatives of the velocities of mean and covariance along the flow."""
    time = Symbol("t")
    moved = flow(mean + time * drift, cov + time * change)
    return tuple(part.diff(time).subs(time, 0) for part in (moved[0], moved[2]))
