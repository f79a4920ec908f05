"""Independent checks of second variations: explicit curves of few atoms, differentiated in components.

None of them uses Gateaux derivatives, the blocks of pairs or moments of tilted laws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy import Expr, Matrix, Rational, Symbol, cos, diff, sin, symbols

from symflow.derive.components import Draw, explicit
from symflow.derive.second_variation.twisted import TwistedMetric
from symflow.derive.steps import Checked
from symflow.models.energies.statement import EnergyStatement

_DIGITS = 40
_ZERO = Rational(1, 10**30)
_WEIGHTS = (Rational(1, 3), Rational(2, 3))
_TIME = Symbol("t", real=True)
#: Rational points of the sphere and rational unit tangents at them, in two and three dimensions.
_ON_SPHERE = {
    2: (((3, 4), (-4, 3)), ((4, -3), (3, 4))),
    3: (((2, 2, 1), (1, -2, 2)), ((2, -1, -2), (1, -2, 2))),
}


@dataclass(frozen=True)
class Cloud:
    """Two weighted atoms of small size, with velocities and numbers for the parameters of an energy."""

    statement: EnergyStatement
    size: int
    metric: TwistedMetric | None = None

    @cached_property
    def _draw(self) -> Draw:
        return Draw(self.size, seed=17 * self.size)

    @cached_property
    def parameters(self) -> dict[Any, Any]:
        """Small rationals for the parameters; of the metric symmetric matrices, |M| positive definite."""
        s = self.statement
        expressions = [s.pair, s.potential]
        values = {p: v / 2 for p, v in self._draw.values(expressions, skip=(s.x, s.y)).items()}
        if self.metric is not None:
            for parameter in self.metric.parameters:
                drawn = self._draw.matrix(self.size, self.size)
                values[parameter] = (drawn + drawn.T) / 8
            factor = self._draw.lower_triangular(self.size)
            values[self.metric.size] = factor * factor.T
            self._draw.sizes[self.metric.x.shape[0]] = self.size
        return values

    @cached_property
    def points(self) -> list[Any]:
        """Positions of the atoms."""
        return [self._draw.matrix(self.size, 1) / 2 for _ in _WEIGHTS]

    @cached_property
    def velocities(self) -> list[Any]:
        """Velocities of the atoms."""
        return [self._draw.matrix(self.size, 1) / 2 for _ in _WEIGHTS]

    def at(self, expression: Any, values: dict[Any, Any]) -> Any:
        """Return an expression with explicit vectors."""
        return explicit(expression, {**self.parameters, **values}, self._sizes)

    @property
    def _sizes(self) -> Any:
        self.parameters  # noqa: B018  # drawing them fixes the sizes
        return {**dict.fromkeys(self.statement.dimensions[:1], self.size), **self._draw.sizes}

    def energy(self, points: list[Any]) -> Expr:
        """Return F of atoms at these places."""
        s, total = self.statement, Rational(0)
        for weight, point in zip(_WEIGHTS, points, strict=True):
            total += weight * self.at(s.potential, {s.x: point})
            for other, place in zip(_WEIGHTS, points, strict=True):
                total += weight * other * self.at(s.pair, {s.x: point, s.y: place}) / 2
        return total

    def pairs(self, expression: Any, own: dict[Any, list[Any]], others: dict[Any, list[Any]]) -> list[Any]:
        """Return the average over the second atom of an expression, for every first atom."""
        found = []
        for i in range(len(_WEIGHTS)):
            here = {symbol: values[i] for symbol, values in own.items()}
            terms = [
                weight * self.at(expression, {**here, **{s: values[j] for s, values in others.items()}})
                for j, weight in enumerate(_WEIGHTS)
            ]
            found.append(terms[0] + terms[1])
        return found


@dataclass(frozen=True)
class AlongLines:
    """The second derivative of F of two atoms along straight lines equals the averaged integrands."""

    statement: EnergyStatement
    pairs: Expr
    own: Expr
    v: Any
    w: Any

    def run(self) -> Checked:
        """Differentiate in components at d = 1, 2, 3."""
        return _compared(self._differences(), "straight lines, d = 1, 2, 3")

    def _differences(self) -> Iterator[Any]:
        s = self.statement
        for size in (1, 2, 3):
            cloud = Cloud(s, size)
            moving = [x + _TIME * v for x, v in zip(cloud.points, cloud.velocities, strict=True)]
            expected = diff(cloud.energy(moving), _TIME, 2).subs(_TIME, 0)
            yield expected - _straight(cloud, self.pairs, self.own, (self.v, self.w))


def _straight(cloud: Cloud, pairs: Expr, own: Expr, directions: tuple[Any, Any]) -> Any:
    s, (v, w) = cloud.statement, directions
    summed = cloud.pairs(
        pairs, {s.x: cloud.points, v: cloud.velocities}, {s.y: cloud.points, w: cloud.velocities}
    )
    alone = [
        cloud.at(own, {s.x: x, v: velocity})
        for x, velocity in zip(cloud.points, cloud.velocities, strict=True)
    ]
    return sum(weight * (a / 2 + b) for weight, a, b in zip(_WEIGHTS, summed, alone, strict=True))


@dataclass(frozen=True)
class AlongGreatCircles:
    """The same on the sphere, along x cos t + v sin t with |v| = 1."""

    statement: EnergyStatement
    pairs: Expr
    own: Expr
    slope: Any
    v: Any
    w: Any

    def run(self) -> Checked:
        """Differentiate in components at d = 2, 3."""
        return _compared(self._differences(), "great circles, d = 2, 3")

    def _differences(self) -> Iterator[Any]:
        s = self.statement
        for size, places in _ON_SPHERE.items():
            cloud = Cloud(s, size)
            scale = Rational(1, 5 if size == 2 else 3)
            points, tangents = ([scale * Matrix(pair[k]) for pair in places] for k in (0, 1))
            cloud.__dict__.update(points=points, velocities=tangents)
            moving = [x * cos(_TIME) + v * sin(_TIME) for x, v in zip(points, tangents, strict=True)]
            expected = diff(cloud.energy(moving), _TIME, 2).subs(_TIME, 0)
            slopes = cloud.pairs(self.slope, {s.x: points}, {s.y: points})
            bent = sum(w * x.dot(f) for w, x, f in zip(_WEIGHTS, points, slopes, strict=True))
            yield expected - _straight(cloud, self.pairs, self.own, (self.v, self.w)) + bent


@dataclass(frozen=True)
class HamiltonOfAtoms:
    r"""The stated equations are those of :math:`\tfrac12\sum_i w_i\langle p_i,|M|^{-1}p_i\rangle/G_i`."""

    statement: EnergyStatement
    metric: TwistedMetric

    def run(self) -> Checked:
        """Differentiate the Hamiltonian in components at d = 1, 2."""
        return _compared(self._differences(), "Hamilton's equations of two atoms, d = 1, 2")

    def _differences(self) -> Iterator[Any]:
        m = self.metric
        for size in (1, 2):
            cloud = Cloud(self.statement, size, m)
            places = _symbols("x", size)
            momenta = _symbols("p", size)
            density = cloud.pairs(m.kernel, {m.x: places}, {m.y: places})
            inverse = cloud.parameters[m.size].inv()
            hamiltonian = sum(
                w * (p.T * inverse * p)[0] / (2 * g)
                for w, p, g in zip(_WEIGHTS, momenta, density, strict=True)
            )
            table = _numbers(places, cloud.points) | _numbers(momenta, cloud.velocities)
            velocities = [
                Matrix([diff(hamiltonian, c) / w for c in p]).subs(table)
                for w, p in zip(_WEIGHTS, momenta, strict=True)
            ]
            own, others = {m.x: cloud.points, m.v: velocities}, {m.y: cloud.points, m.w: velocities}
            forces = cloud.pairs(m.force, own, others)
            for w, x, p, v, g, force in zip(
                _WEIGHTS, places, cloud.velocities, velocities, density, forces, strict=True
            ):
                yield from inverse * p - g.subs(table) * v
                yield from Matrix([-diff(hamiltonian, c) / w for c in x]).subs(table) - force


@dataclass(frozen=True)
class ChristoffelOfAtoms:
    """Straight part and acceleration add up to D²F − dF(Γ(v, v)), Γ the Christoffel symbols of the atoms."""

    statement: EnergyStatement
    metric: TwistedMetric
    pairs: Expr
    own: Expr

    def run(self) -> Checked:
        """Solve for the Christoffel symbols in components at d = 1, 2."""
        return _compared(self._differences(), "Christoffel symbols of two atoms, d = 1, 2")

    def _differences(self) -> Iterator[Any]:
        m, s = self.metric, self.statement
        for size in (1, 2):
            cloud = Cloud(s, size, m)
            places = _symbols("x", size)
            table = _numbers(places, cloud.points)
            flat = [c for x in places for c in x]
            speeds = [c for v in cloud.velocities for c in v]
            slopes = [diff(cloud.energy(places), c).subs(table) for c in flat]
            expected = sum(
                diff(cloud.energy(places), a, b).subs(table) * speeds[i] * speeds[j]
                for i, a in enumerate(flat)
                for j, b in enumerate(flat)
            )
            bends = christoffel(self._gram(cloud, places), flat, speeds, table)
            expected -= sum(f * c for f, c in zip(slopes, bends, strict=True))
            bent = self._accelerations(cloud)
            moved = sum(f * a for f, a in zip(slopes, [c for b in bent for c in b], strict=True))
            yield expected - moved - _straight(cloud, self.pairs, self.own, (m.v, m.w))

    def _gram(self, cloud: Cloud, places: list[Any]) -> Any:
        m = self.metric
        density = cloud.pairs(m.kernel, {m.x: places}, {m.y: places})
        blocks = [w * g * cloud.parameters[m.size] for w, g in zip(_WEIGHTS, density, strict=True)]
        return Matrix.diag(*blocks)

    def _accelerations(self, cloud: Cloud) -> list[Any]:
        m = self.metric
        own, others = {m.x: cloud.points, m.v: cloud.velocities}, {m.y: cloud.points, m.w: cloud.velocities}
        density = cloud.pairs(m.kernel, {m.x: cloud.points}, {m.y: cloud.points})
        forces, rates = (cloud.pairs(part, own, others) for part in (m.force, m.rate))
        inverse = cloud.parameters[m.size].inv()
        return [
            (inverse * force - rate * v) / g
            for force, rate, v, g in zip(forces, rates, cloud.velocities, density, strict=True)
        ]


def christoffel(gram: Any, flat: list[Any], speeds: list[Any], table: dict[Any, Any]) -> list[Any]:
    """Return Γ(v, v), numbers for a metric with symbols: g⁻¹ times (∂_i g_jl − ½∂_l g_ij)v_iv_j."""
    count = range(len(flat))
    right = []
    for k in count:
        total = Rational(0)
        for i in count:
            for j in count:
                slope = diff(gram[j, k], flat[i]) - diff(gram[i, j], flat[k]) / 2
                total += slope.subs(table) * speeds[i] * speeds[j]
        right.append(total.evalf(_DIGITS))
    return list(gram.subs(table).evalf(_DIGITS).LUsolve(Matrix(right)))


@dataclass(frozen=True)
class DiracCurve:
    """The formula at one atom equals the Hessian of x ↦ ½W(x, x) + U(x) for the metric K(x, x)|M|."""

    statement: EnergyStatement
    metric: TwistedMetric
    second: Expr

    def run(self) -> Checked:
        """Compare in components at d = 1, 2, 3."""
        return _compared(self._differences(), "Christoffel symbols of a conformal metric, d = 1, 2, 3")

    def _differences(self) -> Iterator[Any]:
        m, s = self.metric, self.statement
        for size in (1, 2, 3):
            cloud = Cloud(s, size, m)
            x, v = cloud.points[0], cloud.velocities[0]
            place = Matrix(symbols(f"x0:{size}", real=True))
            table = _numbers([place], [x])
            energy = cloud.at(s.pair, {s.x: place, s.y: place}) / 2
            energy += cloud.at(s.potential, {s.x: place})
            gram = cloud.at(m.kernel, {m.x: place, m.y: place}) * cloud.parameters[m.size]
            flat, speeds = list(place), list(v)
            seen = christoffel(gram, flat, speeds, table)
            intrinsic = sum(
                diff(energy, a, b).subs(table) * speeds[i] * speeds[j]
                for i, a in enumerate(flat)
                for j, b in enumerate(flat)
            ) - sum(diff(energy, a).subs(table) * c for a, c in zip(flat, seen, strict=True))
            yield intrinsic - cloud.at(self.second, {s.x: x, m.v: v})


def _symbols(name: str, size: int) -> list[Any]:
    return [Matrix(symbols(f"{name}{i}_0:{size}", real=True)) for i in range(len(_WEIGHTS))]


def _numbers(vectors: list[Any], values: list[Any]) -> dict[Any, Any]:
    return {
        symbol: number
        for vector, value in zip(vectors, values, strict=True)
        for symbol, number in zip(vector, value, strict=True)
    }


def _compared(differences: Iterator[Any], method: str) -> Checked:
    """Return what the differences, which should vanish, look like in many digits."""
    sizes = [abs(difference.evalf(_DIGITS)) for difference in differences]
    largest = max(sizes)
    return Checked(
        bool(largest < _ZERO), method, f"{len(sizes)} numbers, largest difference {largest.evalf(2)}"
    )
