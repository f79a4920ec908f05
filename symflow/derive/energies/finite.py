"""Functionals on finitely many points with a given mass each, by nested sums with many digits.

The route by which the steps of a first variation are checked: it takes an expression apart into sums over
points and functions of components, and knows neither variations nor gradients. The density of such a law
is the mass of a point over the volume of its cell.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mpmath
from sympy import Dummy, MatAdd, MatMul, Matrix, MatrixExpr, Mul, lambdify

from symflow.algebra.functionals.average import averages
from symflow.algebra.functionals.nodes import Density, Potential, TransportCost, law_functions
from symflow.derive.components import explicit
from symflow.errors import InputError

#: Passes of a scaling before it is given up.
_PASSES = 4000

Point = tuple[Any, ...]
Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Points with masses, and explicit values of parameters.

    Attributes
    ----------
    points : tuple of tuple
        Coordinates, numbers of mpmath.
    masses : tuple
        Of any sign.
    values, sizes : dict
        Explicit parameters and sizes, as for :func:`~symflow.derive.components.explicit`.
    volume : number
        Of the cell of a point.
    """

    points: tuple[Point, ...]
    masses: tuple[Any, ...]
    values: dict[Any, Any]
    sizes: dict[Any, Any]
    volume: Any = 1
    _potentials: dict[Any, Any] = field(default_factory=dict, repr=False)

    def number(self, expr: Any, at: dict[Any, Point] | None = None) -> Any:
        """Return the value of a number with some vectors at points."""
        at = at or {}
        return self._scalar(expr, tuple(at))(*at.values())

    def vector(self, expr: Any, at: dict[Any, Point]) -> list[Any]:
        """Return the value of a vector, which is a sum of multiples of products or of averages of such."""
        found: list[Any] = self._vector(expr, tuple(at))(*at.values())
        return found

    # ---- functions of points ---------------------------------------------------------------------

    def _scalar(self, expr: Any, tokens: tuple[Any, ...]) -> Function:
        nodes = [*averages(expr), *law_functions(expr)]
        slots = {node: Dummy("slot") for node in nodes}
        inner = [self._node(node, tokens) for node in nodes]
        compute = self._compiled(expr.xreplace(slots), tokens, list(slots.values()))
        return lambda *points: compute(*_flat(points), *(f(*points) for f in inner))

    def _vector(self, expr: Any, tokens: tuple[Any, ...]) -> Function:
        terms = [self._term(term, tokens) for term in MatAdd.make_args(expr)]
        return lambda *points: [sum(parts) for parts in zip(*(term(*points) for term in terms), strict=True)]

    def _term(self, term: Any, tokens: tuple[Any, ...]) -> Function:
        factors = term.args if isinstance(term, MatMul) else (term,)
        scale = self._scalar(Mul(*(f for f in factors if not isinstance(f, MatrixExpr))), tokens)
        matrices = [f for f in factors if isinstance(f, MatrixExpr)]
        if len(matrices) == 1 and averages(matrices[0]):
            vector = self._averaged(matrices[0], tokens)
        else:
            vector = self._compiled(MatMul(*matrices), tokens, [])
            return lambda *points: [scale(*points) * v for v in vector(*_flat(points))]
        return lambda *points: [scale(*points) * v for v in vector(*points)]

    def _compiled(self, expr: Any, tokens: tuple[Any, ...], slots: list[Any]) -> Function:
        """Return a function of all coordinates and slots."""
        size = next(n for s, n in self.sizes.items() if s.name == "d")
        entries = [[Dummy(f"c{k}", real=True) for k in range(size)] for _ in tokens]
        table = {t: Matrix(e) for t, e in zip(tokens, entries, strict=True)}
        written = explicit(expr, {**self.values, **table}, self.sizes)
        found = list(written) if isinstance(written, Matrix) else written
        function: Function = lambdify([*(c for e in entries for c in e), *slots], found, "mpmath")
        return function

    def _averaged(self, node: Any, tokens: tuple[Any, ...]) -> Function:
        body, z = node.opened(*tokens)
        inner = self._vector(body, (*tokens, z))
        masses = list(zip(self.masses, self.points, strict=True))
        return lambda *points: [
            mpmath.fsum(w * v for (w, _), v in zip(masses, column, strict=True))
            for column in zip(*(inner(*points, p) for _, p in masses), strict=True)
        ]

    # ---- nodes -----------------------------------------------------------------------------------

    def _node(self, node: Any, tokens: tuple[Any, ...]) -> Function:
        used = [k for k, token in enumerate(tokens) if token in node.free_symbols]
        kept = tuple(tokens[k] for k in used)
        function = functools.lru_cache(maxsize=None)(self._of(node, kept))
        return lambda *points: function(*(points[k] for k in used))

    def _of(self, node: Any, tokens: tuple[Any, ...]) -> Function:
        if getattr(node, "is_Average", False):
            body, z = node.opened(*tokens)
            inner = self._scalar(body, (*tokens, z))
            masses = list(zip(self.masses, self.points, strict=True))
            return lambda *points: mpmath.fsum(w * inner(*points, p) for w, p in masses)
        if isinstance(node, Density) and node.point in tokens:
            return lambda point: self.masses[self.points.index(point)] / self.volume
        if isinstance(node, TransportCost):
            return lambda: self._cost(node)
        if isinstance(node, Potential) and node.point in tokens:
            return lambda point: self._potential(node, point)
        raise InputError(f"{node} has no value at finitely many points")

    def _cost(self, node: Any) -> Any:
        """Return −∫s dπ + KL(π|μ⊗μ) for the coupling itself."""
        kernel, a, b = self._scaled(node)
        total = mpmath.mpf(0)
        for i, w in enumerate(self.masses):
            for j, v in enumerate(self.masses):
                density = a[i] * kernel[i][j] * b[j]
                total += w * v * density * (mpmath.log(density) - mpmath.log(kernel[i][j]))
        return total

    def _potential(self, node: Any, point: Point) -> Any:
        kernel_of, other = self._kernel(node), self._scaled(node)[2 if node.side == "a" else 1]
        pairs = ((point, p) if node.side == "a" else (p, point) for p in self.points)
        mass = [w * kernel_of(*pair) * c for w, pair, c in zip(self.masses, pairs, other, strict=True)]
        return -mpmath.log(mpmath.fsum(mass))

    def _kernel(self, node: Any) -> Function:
        first, second = node.ends
        score = self._scalar(node.score, (first, second))
        return lambda x, y: mpmath.exp(score(x, y))

    def _scaled(self, node: Any) -> Any:
        """Return the kernel and factors with a_i Σ_j k_ij b_j w_j = 1, and the same for columns."""
        if node.score not in self._potentials:
            kernel_of = self._kernel(node)
            kernel = [[kernel_of(x, y) for y in self.points] for x in self.points]
            self._potentials[node.score] = (kernel, *_scaling(kernel, self.masses))
        return self._potentials[node.score]


def _scaling(kernel: Sequence[Sequence[Any]], masses: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    columns = list(zip(*kernel, strict=True))

    def scaled(lines: Sequence[Sequence[Any]], other: Sequence[Any]) -> list[Any]:
        weighted = [w * v for w, v in zip(masses, other, strict=True)]
        return [1 / mpmath.fdot(line, weighted) for line in lines]

    b = [mpmath.mpf(1)] * len(masses)
    for _ in range(_PASSES):
        a = scaled(kernel, b)
        after = scaled(columns, a)
        gap = max(abs(x / y - 1) for x, y in zip(after, b, strict=True))
        b = after
        if gap < mpmath.mpf(10) ** (5 - mpmath.mp.dps):
            return a, b
    raise InputError(f"no scaling after {_PASSES} passes")


def _flat(points: Sequence[Point]) -> list[Any]:
    return [coordinate for point in points for coordinate in point]
