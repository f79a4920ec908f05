"""Checks of the bounds by another route: the definition itself, evaluated for small clouds of tokens.

No bound may be exceeded at random tokens of the ball, nor at the tokens of a grid on the line, where the
worst case is sought among all of its points.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mpmath
from sympy import Add, Float, MatAdd, Matrix, MatrixSymbol, Rational, Trace, lambdify, symbols

from symflow.algebra.norms import SpectralNorm
from symflow.derive.components import Draw, explicit, spelled_out
from symflow.derive.definition import active_heads
from symflow.derive.stability.growth import START, TIME
from symflow.derive.stability.ranges import RADIUS, Range
from symflow.derive.steps import Checked
from symflow.models.statement import Head, Statement

HEADS = 2  #: members of a family in a check
TOKENS = 3
TRIALS = 12
TIME_STEP = 0.05
STEP = 2.0**-10  #: of a difference quotient, whose limit a bound also holds for
SLACK = 1e-7  #: rounding, 1e-16/STEP² ≈ 1e-10, over a mixed derivative of at least 1e-3
Vector = tuple[float, ...]
Velocity = Callable[[int, Vector, Sequence[Vector]], list[float]]  #: of position, token and cloud


def norm(vector: Sequence[float]) -> float:
    """Return the Euclidean norm."""
    return math.sqrt(sum(entry * entry for entry in vector))


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the Euclidean distance."""
    return norm([a - b for a, b in zip(one, other, strict=True)])


def moved(x: Vector, direction: Vector, step: float) -> Vector:
    """Return a token moved along a direction."""
    return tuple(a + step * b for a, b in zip(x, direction, strict=True))


def transport(first: Sequence[Vector], second: Sequence[Vector]) -> float:
    """Return W₁ of two small clouds, the best of all permutations."""
    pairings = itertools.permutations(second)
    return min(
        sum(distance(x, y) for x, y in zip(first, pairing, strict=True)) for pairing in pairings
    ) / len(first)


class Instance:
    """One choice of small rational parameters at one size, with the velocity and the values of formulas."""

    def __init__(self, statement: Statement, size: int, seed: int, radius: float) -> None:
        self.random = random.Random(seed)
        self.size = size
        self.radius = 1.0 if statement.space == "sphere" else radius
        self._statement = statement
        draw = Draw(size, seed)
        heads = list(_written_out(statement))
        parts = [part for head in heads for part in (head.kernel, head.value, head.prefactor)]
        self._fixed = draw.values([*parts, statement.background], skip=(statement.x, statement.y))
        self._sizes = {**draw.sizes, **{f.count: HEADS for f in _families(statement)}}
        self._heads = [self._compiled(head) for head in heads]
        names = symbols(f"x0:{size}", real=True)
        drift = explicit(statement.background, {**self._fixed, statement.x: Matrix(names)}, self._sizes)
        self._background = lambdify(names, list(drift), "math")

    def value(self, formula: Any, **scalars: float) -> float:
        """Return the value of a formula; norms come from singular values."""
        written = self._with_norms(formula)
        named = {s: Float(scalars[s.name]) for s in written.free_symbols if s.name in scalars}
        held = {RADIUS: Float(self.radius), START: Float(self.radius), **named}
        return float(explicit(written, {**self._fixed, **held}, self._sizes).evalf())

    def curve(self, formula: Any, **scalars: float) -> Callable[[float], float]:
        """Return a formula as a function of the radius."""
        written = self._with_norms(formula)
        named = {s: Float(scalars[s.name]) for s in written.free_symbols if s.name in scalars}
        filled = explicit(written, {**self._fixed, **named}, self._sizes)
        return lambdify((RADIUS,), filled, "math")  # type: ignore[no-any-return]

    def _with_norms(self, formula: Any) -> Any:
        """Return a formula with numbers for norms, and sums over heads written out."""
        with_numbers = spelled_out(formula, HEADS).replace(
            lambda e: isinstance(e, SpectralNorm), lambda e: Float(self._norm(e.matrix))
        )
        return with_numbers.replace(
            lambda e: isinstance(e, Trace) and e.arg.shape == (1, 1) and not e.has(MatrixSymbol),
            lambda e: Add(*(term.as_coeff_mmul()[0] for term in MatAdd.make_args(e.arg))),
        )

    def _norm(self, matrix: Any) -> float:
        entries = explicit(matrix, self._fixed, self._sizes)
        singular = mpmath.svd_r(mpmath.matrix(entries.tolist()), compute_uv=False)
        return float(max(singular))

    def pair_function(self, expression: Any) -> Callable[[Vector, Vector], float]:
        """Return a scalar expression of the tokens as a function of floats."""
        return self._of_pair(expression.xreplace(_slices(self._statement, expression)))

    def tokens(self, count: int) -> list[Vector]:
        """Draw tokens of the ball, most of them on its boundary."""
        return [self._token() for _ in range(count)]

    def _token(self) -> Vector:
        raw = [self.random.gauss(0.0, 1.0) for _ in range(self.size)]
        inside = self._statement.space != "sphere" and self.random.random() < 0.3
        share = self.random.random() if inside else 1.0
        return tuple(self.radius * share * entry / norm(raw) for entry in raw)

    def direction(self, x: Vector) -> Vector:
        """Draw a unit vector, tangent to the sphere where tokens live on it."""
        raw = [self.random.gauss(0.0, 1.0) for _ in range(self.size)]
        if self._statement.space == "sphere" and self.size > 1:
            along = sum(a * b for a, b in zip(raw, x, strict=True))
            raw = [a - along * b for a, b in zip(raw, x, strict=True)]
        return tuple(entry / norm(raw) for entry in raw)

    def velocity(self, position: int, x: Vector, cloud: Sequence[Vector]) -> list[float]:
        """Return the velocity at x among the tokens of a cloud of equal weights."""
        causal = self._statement.positions is not None
        seen = cloud[: position + 1] if causal else cloud
        total = [float(entry) for entry in self._background(*x)]
        for head in self._heads:
            total = [a + b for a, b in zip(total, head(x, seen, len(cloud)), strict=True)]
        if self._statement.space == "sphere":
            along = sum(a * b for a, b in zip(total, x, strict=True))
            total = [a - along * b for a, b in zip(total, x, strict=True)]
        return total

    def at_one_point(self, x: Vector) -> list[float]:
        """Return the velocity of the law at one point, from SymPy's matrices."""
        held = {**self._fixed, self._statement.x: Matrix(x), self._statement.y: Matrix(x)}
        total = explicit(self._statement.background, held, self._sizes)
        for head in _written_out(self._statement):
            weight = explicit(head.kernel, held, self._sizes) if head.normalise == "none" else 1
            scale = weight * explicit(head.prefactor, held, self._sizes)
            total += scale * explicit(head.value, held, self._sizes)
        if self._statement.space == "sphere":
            total -= Matrix(x) * (Matrix(x).T * total)
        return [float(entry) for entry in total]

    def _of_pair(self, expression: Any) -> Callable[[Vector, Vector], float]:
        x, y = self._statement.x, self._statement.y
        first, second = (symbols(f"{name}0:{self.size}", real=True) for name in ("x", "y"))
        filled = explicit(expression, {**self._fixed, x: Matrix(first), y: Matrix(second)}, self._sizes)
        function = lambdify((*first, *second), filled, "math")
        return lambda one, other: float(function(*one, *other))

    def _compiled(self, head: Head) -> Callable[[Vector, Sequence[Vector], int], list[float]]:
        weight = self._of_pair(head.kernel)
        names = symbols(f"y0:{self.size}", real=True)
        filled = explicit(head.value, {**self._fixed, self._statement.y: Matrix(names)}, self._sizes)
        value = lambdify(names, list(filled), "math")
        factor = float(explicit(head.prefactor, self._fixed, self._sizes))

        def average(x: Vector, cloud: Sequence[Vector], count: int) -> list[float]:
            weights = [weight(x, y) for y in cloud]
            if head.normalise == "sinkhorn":
                weights = _doubly_stochastic(weight, x, cloud)
            scale = factor / (count if head.normalise == "none" else sum(weights))
            values = [value(*y) for y in cloud]
            return [
                scale * sum(w * v[k] for w, v in zip(weights, values, strict=True)) for k in range(self.size)
            ]

        return average


def _families(statement: Statement) -> list[Any]:
    return [head.family for head in active_heads(statement) if head.family is not None]


def _slices(statement: Statement, expression: Any) -> dict[Any, Any]:
    """Return the first member of every family in place of an arbitrary one."""
    members = {m for family in _families(statement) for m in family.members if expression.has(m)}
    return {m: MatrixSymbol(f"{m.name}_1", *m.shape) for m in members}


def _written_out(statement: Statement) -> Iterator[Head]:
    for head in active_heads(statement):
        for h in range(1, HEADS + 1) if head.family is not None else [0]:
            members = head.family.members if head.family is not None else ()
            table = {m: MatrixSymbol(f"{m.name}_{h}", *m.shape) for m in members}
            lines = {name: getattr(head, name).xreplace(table) for name in ("score", "kernel", "value")}
            yield replace(head, **lines)


def _doubly_stochastic(
    weight: Callable[[Vector, Vector], float], x: Vector, cloud: Sequence[Vector]
) -> list[float]:
    """Return the scaled weights of a query, whose potential follows from those of the keys."""
    kernel = [[weight(a, b) for b in cloud] for a in cloud]
    rows, columns, change = [1.0] * len(cloud), [1.0] * len(cloud), math.inf
    while change > 1e-14:  # a contraction
        columns = [1 / sum(rows[i] * kernel[i][j] for i in range(len(cloud))) for j in range(len(cloud))]
        new = [1 / sum(k * c for k, c in zip(row, columns, strict=True)) for row in kernel]
        change = max(abs(a / b - 1) for a, b in zip(new, rows, strict=True))
        rows = new
    return [weight(x, y) * c for y, c in zip(cloud, columns, strict=True)]


@dataclass(frozen=True)
class Quotients:
    """The largest of the quotients of something measured by its bound."""

    method: str
    found: list[float]

    def checked(self) -> Checked:
        """Pass where none exceeds one."""
        worst = max(self.found, default=0.0)
        return Checked(
            worst <= 1 + SLACK, self.method, f"{len(self.found)} cases, largest quotient {worst:.4f}"
        )


@dataclass(frozen=True)
class DiracChecked:
    """All tokens in one place: averages are the value there, integrals the value times the kernel."""

    statement: Statement

    def run(self) -> Checked:
        """Compare with the formulas at rational points, d = 1, 2."""
        worst = 0.0
        for size, seed in itertools.product((1, 2), range(2)):
            at = Instance(self.statement, size, seed, 1.0)
            (x,) = at.tokens(1)
            worst = max(worst, distance(at.velocity(0, x, [x]), at.at_one_point(x)))
        return Checked(worst < 1e-12, "laws at one point, d = 1, 2", f"largest difference {worst:.1e}")


@dataclass(frozen=True)
class RangeChecked:
    """Values, gradients and the mixed derivative of a function of two tokens, by difference quotients."""

    statement: Statement
    expression: Any
    bounds: Range

    def run(self) -> Checked:
        """Compare at random tokens of the ball, d = 1, 2."""
        found: list[float] = []
        for size, seed in itertools.product((1, 2), range(2)):
            found += self._quotients(Instance(self.statement, size, seed, 0.75 + 0.5 * seed))
        return Quotients("difference quotients at random tokens, d = 1, 2", found).checked()

    def _quotients(self, at: Instance) -> Iterator[float]:
        table = _slices(self.statement, self.expression)
        function = at.pair_function(self.expression)
        low, high, query, key = (
            at.value(part.xreplace(table))
            for part in (self.bounds.low, self.bounds.high, self.bounds.query, self.bounds.key)
        )
        mixed = None if self.bounds.mixed is None else at.value(self.bounds.mixed.xreplace(table))
        for _ in range(TRIALS):
            (x, y), u, w = at.tokens(2), at.direction((0.0,) * at.size), at.direction((0.0,) * at.size)
            here = function(x, y)
            middle, reach = (high + low) / 2, (high - low) / 2
            yield _quotient(abs(here - middle), reach)
            x1, y1 = _inwards(x, u), _inwards(y, w)
            there, across, both = function(x1, y), function(x, y1), function(x1, y1)
            yield _quotient(abs(there - here), query * distance(x, x1))
            yield _quotient(abs(across - here), key * distance(y, y1))
            if mixed is not None:
                yield _quotient(abs(both - there - across + here), mixed * distance(x, x1) * distance(y, y1))


def _inwards(x: Vector, direction: Vector) -> Vector:
    """Return a token that is moved a little without leaving the ball."""
    sign = -1.0 if sum(a * b for a, b in zip(x, direction, strict=True)) > 0 else 1.0
    return moved(tuple((1 - STEP) * a for a in x), direction, sign * STEP)


def _quotient(measured: float, bound: float) -> float:
    """Return measured/bound; what rounding alone makes counts as nothing."""
    return 0.0 if measured <= 1e-12 else measured / bound if bound > 0 else math.inf


@dataclass(frozen=True)
class VelocityChecked:
    """Speed and Lipschitz constants of the velocity, for clouds that the definition is summed over."""

    statement: Statement
    speed: Any
    query: Any
    law: Any
    part: str

    def run(self) -> Checked:
        """Random clouds at d = 1, 2, and every cloud of a grid on the line."""
        found: list[float] = []
        for size, seed in itertools.product((1, 2), range(2)):
            at = Instance(self.statement, size, seed, 0.6 + 0.4 * seed)
            clouds = [at.tokens(TOKENS) for _ in range(TRIALS)]
            found += self._quotients(at, clouds)
        if self.statement.space != "sphere":
            at = Instance(self.statement, 1, 5, 1.0)
            grid = [(float(x),) for x in (-1, -0.5, 0.5, 1)]
            found += self._quotients(at, [list(pair) for pair in itertools.combinations(grid, 2)])
        return Quotients("clouds of tokens, random at d = 1, 2 and on a grid at d = 1", found).checked()

    def _quotients(self, at: Instance, clouds: list[list[Vector]]) -> Iterator[float]:
        count = len(clouds[0])
        scalars = {"kappa": float(count)}
        if self.part == "speed":
            bound = at.value(self.speed, **scalars)
            yield from (norm(at.velocity(i, x, c)) / bound for c in clouds for i, x in enumerate(c) if bound)
        elif self.part == "query":
            bound = at.value(self.query, **scalars)
            yield from self._query_quotients(at, clouds, bound)
        else:
            bound = at.value(self.law, **scalars)
            yield from self._law_quotients(at, clouds, bound)

    def _query_quotients(self, at: Instance, clouds: list[list[Vector]], bound: float) -> Iterator[float]:
        for cloud, (x, z) in zip(clouds, itertools.cycle([at.tokens(2) for _ in range(5)]), strict=False):
            for position in range(len(cloud)):
                gap = distance(at.velocity(position, x, cloud), at.velocity(position, z, cloud))
                yield _quotient(gap, bound * distance(x, z))

    def _law_quotients(self, at: Instance, clouds: list[list[Vector]], bound: float) -> Iterator[float]:
        causal = self.statement.positions is not None
        for one, other in itertools.combinations(clouds, 2):
            (x,) = at.tokens(1)
            gaps = [distance(at.velocity(i, x, one), at.velocity(i, x, other)) for i in range(len(one))]
            if causal:  # a law at every position: the conditional distance
                apart = sum(distance(a, b) for a, b in zip(one, other, strict=True)) / len(one)
                yield _quotient(sum(gaps) / len(gaps), bound * apart)
            else:
                yield _quotient(gaps[0], bound * transport(one, other))


@dataclass(frozen=True)
class TrajectoriesChecked:
    """Clouds that move: their distance at several times against that of the start times the constant."""

    statement: Statement
    speed: Any
    query: Any
    law: Any

    def run(self) -> Checked:
        """Step two clouds, the radius and the exponent with the classical Runge-Kutta method."""
        found: list[float] = []
        for size, seed in itertools.product((1, 2), range(2)):
            at = Instance(self.statement, size, seed, 0.5 + 0.25 * seed)
            with contextlib.suppress(OverflowError):  # no double exceeds a bound beyond doubles
                found.extend(self._quotients(at))
        return Quotients("clouds of tokens that move, d = 1, 2", found).checked()

    def _quotients(self, at: Instance) -> Iterator[float]:
        clouds = [at.tokens(TOKENS), at.tokens(TOKENS)]
        start, reach = self._apart(*clouds), [at.radius, 0.0]
        speed, query, law = (
            at.curve(part, kappa=float(TOKENS)) for part in (self.speed, self.query, self.law)
        )
        grows = self.statement.space != "sphere"

        def rates(state: list[float]) -> list[float]:
            return [speed(state[0]) if grows else 0.0, query(state[0]) + law(state[0])]

        for _ in range(6):
            clouds = [_reshaped(_rk4(_field(at), _flat(cloud), TIME_STEP), at.size) for cloud in clouds]
            for _ in range(10):
                reach = _rk4(rates, reach, TIME_STEP / 10)
            yield _quotient(self._apart(*clouds), start * math.exp(reach[1]))

    def _apart(self, one: Sequence[Vector], other: Sequence[Vector]) -> float:
        if self.statement.positions is None:
            return transport(one, other)
        return sum(distance(a, b) for a, b in zip(one, other, strict=True)) / len(one)


def _flat(cloud: Sequence[Vector]) -> list[float]:
    return [entry for x in cloud for entry in x]


def _reshaped(state: Sequence[float], size: int) -> list[Vector]:
    return [tuple(state[i : i + size]) for i in range(0, len(state), size)]


def _field(at: Instance) -> Callable[[list[float]], list[float]]:
    def field(state: list[float]) -> list[float]:
        cloud = _reshaped(state, at.size)
        return _flat([tuple(at.velocity(i, x, cloud)) for i, x in enumerate(cloud)])

    return field


def _rk4(field: Callable[[list[float]], list[float]], state: list[float], step: float) -> list[float]:
    """Return the state after one classical Runge-Kutta step."""

    def shifted(slope: list[float], by: float) -> list[float]:
        return [a + by * b for a, b in zip(state, slope, strict=True)]

    first = field(state)
    second = field(shifted(first, step / 2))
    third = field(shifted(second, step / 2))
    fourth = field(shifted(third, step))
    slopes = zip(first, second, third, fourth, strict=True)
    return shifted([(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in slopes], step)


@dataclass(frozen=True)
class GrowthChecked:
    """The closed form solves R' = B(R), R(0) = R₀, by a difference quotient of high precision."""

    statement: Statement
    speed: Any
    solution: Any
    end: Any

    def run(self) -> Checked:
        """Compare slopes at several times before the end."""
        found = []
        for seed in range(2):
            at = Instance(self.statement, 2, seed, 0.5 + 0.25 * seed)
            ends = 1.0 if self.end is None else 0.9 * at.value(self.end)
            for share in (0.0, 0.3, 0.8):
                time = share * ends
                slope = (self._radius(at, time + 1e-5) - self._radius(at, time - 1e-5)) / 2e-5
                rate = at.value(self.speed.xreplace({RADIUS: Float(self._radius(at, time))}))
                found.append(abs(slope - rate) / max(1.0, abs(rate)))
            found.append(abs(self._radius(at, 0.0) - at.radius))
        worst = max(found)
        return Checked(worst < 1e-6, "central differences", f"largest residual {worst:.1e}")

    def _radius(self, at: Instance, time: float) -> float:
        return at.value(self.solution.xreplace({TIME: Rational(time)}))


@dataclass(frozen=True)
class EscapeChecked:
    """Where no closed form is known: a token never moves faster than B of its radius (a grid of radii)."""

    statement: Statement
    speed: Any

    def run(self) -> Checked:
        """Compare clouds of several radii."""
        found: list[float] = []
        for seed, radius in enumerate((0.25, 0.5, 1.0, 1.5)):
            at = Instance(self.statement, 2, seed, radius)
            bound = at.value(self.speed, kappa=float(TOKENS))
            for cloud in (at.tokens(TOKENS) for _ in range(TRIALS)):
                found += [_quotient(norm(at.velocity(i, x, cloud)), bound) for i, x in enumerate(cloud)]
        return Quotients("speeds of tokens at four radii", found).checked()
