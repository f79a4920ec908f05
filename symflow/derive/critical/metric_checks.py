"""Independent checks of Hessians for other metrics: Christoffel symbols in coordinates, at rational tokens.

On the circle tokens are angles, in space coordinates; Christoffel symbols come from the derivatives of the
matrix of the metric, never from a Lagrangian in matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sympy import Float, Matrix, Rational, S, Symbol, cos, diag, eye, sin

from symflow.derive.components import Draw, explicit
from symflow.derive.steps import Checked

if TYPE_CHECKING:
    from symflow.derive.critical.metrics import MetricIndependence

#: Residuals are evaluated to these digits and have to be below the threshold.
DIGITS, ZERO = 50, Float("1e-35", 50)
_METHOD = f"Christoffel symbols in coordinates, two tokens on the circle or in the plane, {DIGITS} digits"


@dataclass(frozen=True)
class _Chart:
    """Two tokens as functions of coordinates q, with a velocity in coordinates, at a rational place."""

    found: MetricIndependence
    values: dict[Any, Any]
    sizes: dict[Any, int]
    q: tuple[Any, ...]
    place: tuple[Any, ...]
    speed: tuple[Any, ...]

    @classmethod
    def drawn(cls, found: MetricIndependence, seed: int) -> _Chart:
        """Return a chart with drawn numbers: an angle for each token, or both its coordinates."""
        s = found.statement
        draw = Draw(2, seed=seed)
        values = draw.values([s.pair, s.potential, found.kernel], skip=(s.x, s.y))
        count = 2 if found.form.space == "sphere" else 4
        return cls(
            found,
            values,
            {**draw.sizes, s.dimensions[0]: 2},
            tuple(Symbol(f"q{i}", real=True) for i in range(count)),
            tuple(draw.matrix(1, 1)[0] + Rational(i, 3) for i in range(count)),
            tuple(draw.matrix(1, 1)[0] + Rational(1, 5) for _ in range(count)),
        )

    @property
    def sphere(self) -> bool:
        """Whether the tokens are on the circle."""
        return self.found.form.space == "sphere"

    def tokens(self) -> list[Any]:
        """Return both tokens as functions of the coordinates."""
        if self.sphere:
            return [Matrix([cos(a), sin(a)]) for a in self.q]
        return [Matrix(self.q[:2]), Matrix(self.q[2:])]

    def of(self, expression: Any, tokens: dict[Any, Any]) -> Any:
        """Return the expression with explicit matrices."""
        return explicit(expression, {**self.values, **tokens}, self.sizes)

    def energy(self) -> Any:
        """Return F as a function of the coordinates."""
        s, tokens = self.found.statement, self.tokens()
        pairs = sum(self.of(s.pair, {s.x: a, s.y: b}) for a in tokens for b in tokens)
        return pairs / 8 + sum(self.of(s.potential, {s.x: a}) for a in tokens) / 2

    def masses(self) -> list[Any]:
        """Return the G_i as functions of the coordinates."""
        s, tokens = self.found.statement, self.tokens()
        return [sum(self.of(self.found.kernel, {s.x: a, s.y: b}) for b in tokens) / 2 for a in tokens]

    def metric(self) -> Any:
        """Return the matrix of the weighted metric; that of Σ|ξ_i|² is the identity."""
        each = 1 if self.sphere else 2
        return diag(*(mass / 2 for mass in self.masses() for _ in range(each)))

    def acceleration(self, metric: Any) -> Any:
        """Return −Γ(v, v) at the place, by the formula with derivatives of the metric."""
        v, q = self.speed, self.q
        inverse = self.at(metric).inv()
        size = range(len(q))
        lowered = [
            sum(
                (metric[l, j].diff(q[k]) + metric[l, k].diff(q[j]) - metric[j, k].diff(q[l]))
                * v[j]
                * v[k]
                / 2
                for j in size
                for k in size
            )
            for l in size
        ]
        return -inverse * self.at(Matrix(lowered))

    def at(self, matrix: Any) -> Any:
        """Return a matrix of functions of the coordinates at the place."""
        return matrix.subs(dict(zip(self.q, self.place, strict=True))).doit().evalf(DIGITS)

    def curved(self, acceleration: Any) -> Any:
        """Return d²F/dt² along a curve with the velocity of the chart and this acceleration."""
        energy, q, v = self.energy(), self.q, Matrix(self.speed)
        slope = Matrix([energy.diff(a) for a in q])
        straight = Matrix(len(q), len(q), lambda i, j: energy.diff(q[i], q[j]))
        return (v.T * self.at(straight) * v + self.at(slope).T * acceleration)[0]

    def differences(self) -> list[Any]:
        """Return the w_i that the derivation gives, at the place."""
        s, form = self.found.statement, self.found.form
        tokens, velocities = self.moving()
        places = list(zip(tokens, velocities, strict=True))
        masses = self.at(Matrix(self.masses()))
        found = []
        for (a, v), mass in zip(places, masses, strict=True):
            force = sum(
                (self.of(self.found.force, {s.x: a, s.y: b, form.xi: v, form.eta: w}) for b, w in places),
                Matrix.zeros(2, 1),
            )
            force = (force / 2).evalf(DIGITS)
            found.append((force - a * (a.T * force)[0] if self.sphere else force) / mass)
        return found

    def moving(self) -> tuple[list[Any], list[Any]]:
        """Return tokens and velocities at the place."""
        tokens = [self.at(token) for token in self.tokens()]
        if not self.sphere:
            return tokens, [Matrix(self.speed[:2]), Matrix(self.speed[2:])]
        return tokens, [v * Matrix([-a[1], a[0]]) for v, a in zip(self.speed, tokens, strict=True)]

    def in_coordinates(self, vectors: list[Any]) -> Any:
        """Return tangent vectors of both tokens in coordinates."""
        if not self.sphere:
            return Matrix.vstack(*vectors)
        tokens, _ = self.moving()
        return Matrix([-a[1] * w[0] + a[0] * w[1] for a, w in zip(tokens, vectors, strict=True)])


def _decided(residuals: Any) -> Checked:
    largest = max((abs(entry) for entry in residuals), default=S.Zero)
    return Checked(bool(largest < ZERO), _METHOD, f"largest residual {float(largest):.1e}")


@dataclass(frozen=True)
class GeneralMetric:
    """Both sides of the lemma for the weighted metric and one that is neither diagonal nor constant."""

    found: MetricIndependence

    def run(self) -> Checked:
        """Differentiate F twice in t along a parabola that each geodesic follows to second order."""
        chart = _Chart.drawn(self.found, 61)
        q, t = chart.q, Symbol("t", real=True)
        bend = Matrix(len(q), len(q), lambda i, j: (q[i] + 2 * q[j]) * (q[j] + 2 * q[i]) / (9 + i + j))
        accelerations = [
            chart.acceleration(metric) for metric in (3 * eye(len(q)) + bend * bend.T / 7, chart.metric())
        ]
        energy, measured = chart.energy(), []
        for bent in accelerations:
            curve = Matrix(chart.place) + t * Matrix(chart.speed) + t**2 / 2 * bent
            along = energy.xreplace(dict(zip(q, curve, strict=True)))
            measured.append(along.diff(t, 2).subs(t, 0).evalf(DIGITS))
        slope = chart.at(Matrix([energy.diff(a) for a in q]))
        told = (slope.T * (accelerations[0] - accelerations[1]))[0]
        return _decided([measured[0] - measured[1] - told])


@dataclass(frozen=True)
class Accelerations:
    """The difference of accelerations against Christoffel symbols of the weighted metric."""

    found: MetricIndependence

    def run(self) -> Checked:
        """Compare in coordinates, where the geodesics of Σ|ξ_i|² have none."""
        chart = _Chart.drawn(self.found, 67)
        wanted = chart.acceleration(chart.metric())
        return _decided(chart.in_coordinates(chart.differences()) - wanted)


@dataclass(frozen=True)
class Difference:
    """The difference of Hessians against the sum over gradient and accelerations."""

    found: MetricIndependence

    def run(self) -> Checked:
        """Take second derivatives along the geodesics of both metrics, in coordinates."""
        chart, found = _Chart.drawn(self.found, 71), self.found
        flat = Matrix.zeros(len(chart.q), 1)
        measured = chart.curved(chart.acceleration(chart.metric())) - chart.curved(flat)
        s = found.statement
        tokens, _ = chart.moving()
        potential = [chart.at(Matrix([self._potential(chart, a, k) for k in range(2)])) for a in tokens]
        told = S.Zero
        for a, w, alone in zip(tokens, chart.differences(), potential, strict=True):
            slope = sum((chart.of(found.slope, {s.x: a, s.y: b}) for b in tokens), Matrix.zeros(2, 1)) / 4
            told += (w.T * (slope.evalf(DIGITS) + alone / 2))[0]
        return _decided([measured - told])

    def _potential(self, chart: _Chart, token: Any, k: int) -> Any:
        """Return a partial derivative of U at a token."""
        place = [Symbol(f"z{i}", real=True) for i in range(2)]
        value = chart.of(self.found.statement.potential, {self.found.statement.x: Matrix(place)})
        return S(value).diff(place[k]).subs(dict(zip(place, token, strict=True)))
