r"""Second derivatives of an energy along geodesics, from the definitions of energy and metric alone.

The energy is a sum over atoms; the atoms move along curves whose second-order series is that of a geodesic:
straight lines for the Wasserstein metric on ℝᵈ, great circles on the sphere, and for the twisted metric the
curves whose acceleration a solves

.. math:: g(a, w) = -\bigl(Dg[v](v, w) - \tfrac12 Dg[w](v, v)\bigr) \quad \text{for every } w.

Derivatives are those of series in first-order parameters; no formula for a Hessian is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

from symflow.algebra.text.syntax import Node, read
from symflow.certify.propositions.convexity import Multiple, Rows, StatedEnergy, Value
from symflow.certify.taylor.hyperdual import Hyperdual, Hyperduals, Ring
from symflow.certify.taylor.matrices import Evaluation, Matrix
from symflow.certify.terms import Rejected

_KERNEL = read("exp(dot(x, A*y))")
Vectors = Sequence[Sequence[Any]]  #: one vector of ring elements for each atom


@dataclass(frozen=True)
class Atoms:
    """Weighted atoms and their velocities, exact rational numbers."""

    weights: tuple[Fraction, ...]
    points: tuple[tuple[Fraction, ...], ...]
    velocities: tuple[tuple[Fraction, ...], ...]

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.points[0])


class AtomicEnergy:
    """An energy of finitely many atoms and the metric, in a ring.

    Parameters
    ----------
    stated : StatedEnergy
    ring : Ring
    dimension : int
    """

    def __init__(self, stated: StatedEnergy, ring: Ring, dimension: int) -> None:
        self._stated = stated
        self._ring = ring
        self._series = Hyperduals(ring)
        self._dimension = dimension
        self._parameters = {name: self._matrix(value) for name, value in stated.parameters.items()}
        self._twist = self._twisted_metric() if stated.metric.name == "twisted" else None

    def second_derivative(self, atoms: Atoms) -> tuple[Any, Any]:
        """Return the second derivative of the energy along the geodesic, and the squared length of v.

        Raises
        ------
        Rejected
            If the energy has no second derivative there in this ring, or the metric is none.
        """
        points, velocities = (self._numbers(part) for part in (atoms.points, atoms.velocities))
        weights = [self._ring.number(weight) for weight in atoms.weights]
        accelerations, length = self._geodesic(weights, points, velocities)
        curves = [
            tuple((self._series.curve(p, v, a),) for p, v, a in zip(*parts, strict=True))
            for parts in zip(points, velocities, accelerations, strict=True)
        ]
        return self._energy(weights, curves).mixed, length

    def pair_series(self, x: Matrix, y: Matrix) -> Hyperdual:
        """Return W(x, y) for series of coordinates."""
        return self._value(self._stated.pair, {"x": x, "y": y})

    def potential_series(self, x: Matrix) -> Hyperdual:
        """Return U(x) for series of coordinates."""
        return self._value(self._stated.potential, {"x": x})

    def _value(self, node: Node | None, tokens: Mapping[str, Matrix]) -> Hyperdual:
        if node is None:
            return self._series.number(Fraction(0))
        found: Hyperdual = self._evaluation({**self._parameters, **tokens}).number(node)
        return found

    def _evaluation(self, values: Mapping[str, Matrix]) -> Evaluation:
        return Evaluation(self._series, values, {"d": self._dimension})

    def _matrix(self, value: Value) -> Matrix:
        return tuple(
            tuple(self._series.number(entry) for entry in row) for row in as_rows(value, self._dimension)
        )

    def _numbers(self, vectors: Sequence[Sequence[Fraction]]) -> list[list[Any]]:
        return [[self._ring.number(entry) for entry in vector] for vector in vectors]

    def _energy(self, weights: Sequence[Any], curves: Sequence[Matrix]) -> Hyperdual:
        half = self._series.number(Fraction(1, 2))
        total = self._series.number(Fraction(0))
        for w, x in zip(weights, curves, strict=True):
            weight = self._series.constant(w)
            if self._stated.potential is not None:
                total = total + weight * self.potential_series(x)
            for u, y in zip(weights, curves, strict=True) if self._stated.pair is not None else ():
                total = total + half * weight * self._series.constant(u) * self.pair_series(x, y)
        return total

    def _geodesic(self, weights: Sequence[Any], points: Vectors, velocities: Vectors) -> tuple[Vectors, Any]:
        """Return the accelerations at t = 0 of the geodesic, and the squared length of its velocity."""
        squares = [reduce(add, (c * c for c in v)) for v in velocities]
        if self._twist is not None:
            return self._twist.geodesic(weights, points, velocities)
        length = reduce(add, (w * s for w, s in zip(weights, squares, strict=True)))
        if self._stated.space == "sphere":  # cos(|v|t) x + sin(|v|t) v/|v|
            return [[-s * c for c in x] for s, x in zip(squares, points, strict=True)], length
        nought = self._ring.number(Fraction(0))
        return [[nought] * self._dimension for _ in points], length

    def _twisted_metric(self) -> _TwistedMetric:
        value, score = twist_of(self._stated, self._dimension)
        return _TwistedMetric(self._series, *modulus_of(value, score), self._matrix(score))


class _TwistedMetric:
    r""":math:`g_x(v, u) = \sum_i w_i G_i \langle v_i, |M| u_i\rangle`, G_i the mean of k(x_i, ·)."""

    def __init__(self, series: Hyperduals, metric: Any, inverse: Any, score: Matrix) -> None:
        self._series = series
        number = series.ring.number
        self._metric = [[number(entry) for entry in row] for row in metric]
        self._inverse = [[number(entry) for entry in row] for row in inverse]
        self._score = score

    def geodesic(self, weights: Sequence[Any], points: Vectors, velocities: Vectors) -> tuple[Vectors, Any]:
        """Return the accelerations and the squared length."""
        moved = self._masses(weights, points, velocities)
        lowered = [_times(self._metric, v) for v in velocities]
        squares = [_inner(v, m) for v, m in zip(velocities, lowered, strict=True)]
        length = reduce(add, (w * g.value * s for w, g, s in zip(weights, moved, squares, strict=True)))
        half = self._series.ring.number(Fraction(1, 2))
        found = []
        for k, (w, mass) in enumerate(zip(weights, moved, strict=True)):
            right = []
            for c in range(len(points[k])):
                turned = self._masses(weights, points, self._unit(points, k, c))
                slope = reduce(
                    add, (u * g.first * s for u, g, s in zip(weights, turned, squares, strict=True))
                )
                right.append(half * slope - w * mass.first * lowered[k][c])
            scale = self._series.ring.jet("inverse", w * mass.value)[0]
            found.append([scale * entry for entry in _times(self._inverse, right)])
        return found, length

    def _unit(self, points: Vectors, atom: int, coordinate: int) -> Vectors:
        number = self._series.ring.number
        return [
            [number(Fraction(i == atom and c == coordinate)) for c in range(len(x))]
            for i, x in enumerate(points)
        ]

    def _masses(self, weights: Sequence[Any], points: Vectors, direction: Vectors) -> list[Hyperdual]:
        """Return every G_i with its derivative in a direction."""
        tokens = [
            tuple((self._series.varied(p, v),) for p, v in zip(*parts, strict=True))
            for parts in zip(points, direction, strict=True)
        ]
        found = []
        for x in tokens:
            terms = (
                self._series.constant(u)
                * Evaluation(self._series, {"x": x, "y": y, "A": self._score}, {}).number(_KERNEL)
                for u, y in zip(weights, tokens, strict=True)
            )
            found.append(reduce(add, terms))
        return found


def as_rows(value: Value, dimension: int) -> Rows:
    """Return a value as rows at an explicit size; a number is one row of one entry."""
    if isinstance(value, Multiple):
        return tuple(
            tuple(value.factor if i == j else Fraction(0) for j in range(dimension)) for i in range(dimension)
        )
    return ((value,),) if isinstance(value, Fraction) else value


def twist_of(stated: StatedEnergy, dimension: int) -> tuple[Rows, Rows]:
    """Return V and A of the twisted metric at an explicit size."""
    value, score = stated.metric.value, stated.metric.score
    if value is None or score is None:
        raise Rejected("the twisted metric needs V and A")
    return as_rows(value, dimension), as_rows(score, dimension)


def check_twist(stated: StatedEnergy) -> None:
    """Refuse matrices V and A for which the twisted metric is none; raises :class:`Rejected`."""
    if stated.metric.name == "twisted":
        modulus_of(*twist_of(stated, stated.dimension or 1))


def modulus_of(value: Any, score: Any) -> tuple[Any, Any]:
    """Return |M| and its inverse, M = A V⁻¹, where A and M are symmetric and M is definite."""
    from symflow.algebra.exact.rational import fractions, inertia, is_symmetric, rational_matrix

    A, V = rational_matrix(score), rational_matrix(value)
    if A.nrows() != A.ncols() or (V.nrows(), V.ncols()) != (A.nrows(), A.ncols()):
        raise Rejected("V and A of the twisted metric must be square, of one size")
    if not is_symmetric(A) or V.det() == 0:
        raise Rejected("the twisted metric needs a symmetric A and an invertible V")
    M = A * V.inv()
    signs = inertia(M) if is_symmetric(M) else None
    if signs is None or M.nrows() not in (signs.positive, signs.negative):
        raise Rejected("the twisted metric needs A V⁻¹ symmetric and definite")
    definite = M if signs.positive else -M
    return fractions(definite), fractions(definite.inv())


def _inner(one: Sequence[Any], other: Sequence[Any]) -> Any:
    return reduce(add, (a * b for a, b in zip(one, other, strict=True)))


def _times(rows: Sequence[Sequence[Any]], vector: Sequence[Any]) -> list[Any]:
    return [_inner(row, vector) for row in rows]
