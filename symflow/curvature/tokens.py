r"""Energies of weighted tokens as numbers: derivatives at all pairs, and sums over pairs in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from sympy import MatrixExpr, MatrixSymbol, Rational

from symflow.algebra.symbols import dimension, vector
from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import normal_form
from symflow.curvature import atoms
from symflow.curvature.atoms import Derivatives, Kernel, Potential
from symflow.curvature.cloud import Cloud, Numbers
from symflow.curvature.pairs import averages, evaluate_pairs
from symflow.curvature.twist import Twist
from symflow.derive.second_variation.blocks import PairBlocks, pair_blocks, slope_matrix
from symflow.derive.second_variation.twisted import twisted_metric
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement

__all__ = ["Parameters", "TokenEnergy", "TwistedTokens"]

_V, _W = (vector(name, dimension("d")) for name in ("v", "w"))  # velocities of two tokens


@dataclass(frozen=True)
class Parameters:
    """Values of the parameters of an expression by symbol, and of sizes."""

    exact: Mapping[Any, Any]
    sizes: Mapping[Any, int]

    @cached_property
    def floats(self) -> dict[Any, Any]:
        """Numbers as floats, and matrices as arrays (1, 1, rows, columns)."""
        found: dict[Any, Any] = dict(self.sizes)
        for symbol, value in self.exact.items():
            array = np.array(value, dtype=float)
            found[symbol] = array[None, None] if array.ndim == 2 else float(array)
        return found


@dataclass(frozen=True)
class TokenEnergy:
    """An energy ½∬W dμdμ + ∫U dμ at a law of weighted atoms."""

    statement: EnergyStatement
    parameters: Parameters
    cloud: Cloud

    @cached_property
    def pair(self) -> Derivatives:
        """Derivatives of W at all pairs."""
        blocks = _blocks(self.statement.pair, self.statement.x, self.statement.y)
        return Derivatives(**{name: self._at_pairs(part) for name, part in vars(blocks).items()})

    @cached_property
    def potential(self) -> Potential:
        """Derivatives of U at all atoms."""
        slope, curvature = _potential(self.statement.potential, self.statement.x)
        return Potential(self._at_tokens(slope), self._at_tokens(curvature))

    @cached_property
    def slope(self) -> Numbers:
        """The gradient of the first variation at the atoms, (n, d)."""
        if self.cloud.exact:
            return atoms.gradient(self.pair, self.potential, self.cloud.weights)
        return self.slope_at(self.cloud.tokens)

    def entries(self) -> Numbers:
        """Return the second derivative in the positions, (n, d, n, d)."""
        return atoms.euclidean_entries(self.pair, self.potential, self.cloud.weights)

    def slope_at(self, tokens: Numbers) -> Numbers:
        """Return the gradient of the first variation at other atoms with these weights, in floats."""
        s = self.statement
        summed = self._summed(_mean_slope(s.pair, s.x, s.y), tokens, {}, {})
        return summed + self._at_tokens(_potential(s.potential, s.x)[0], tokens)

    def value_at(self, tokens: Numbers) -> float:
        """Return the energy of other atoms with these weights, in floats."""
        s, weights = self.statement, self.cloud.weights
        own = self._at_tokens(s.potential, tokens)
        return float(weights @ (self._summed(s.pair, tokens, {}, {}) / 2 + own))

    def straight(self, v: Numbers) -> float:
        """Return the second derivative along straight lines, in floats, without any n × n array."""
        s, weights, tokens = self.statement, self.cloud.weights, self.cloud.tokens
        pairs = self._summed(_second(s.pair, ((s.x, _V), (s.y, _W))), tokens, {_V: v}, {_W: v})
        curvature = self._at_tokens(_potential(s.potential, s.x)[1])
        return float(weights @ (pairs / 2 + np.einsum("ia,iab,ib->i", v, curvature, v)))

    def _summed(self, expression: Any, tokens: Numbers, own: Any, others: Any) -> Numbers:
        s = self.statement
        (found,) = averages(
            [expression],
            {s.x: tokens, **own},
            {s.y: tokens, **others},
            self.cloud.weights,
            self.parameters.floats,
        )
        return found

    def _at_pairs(self, expression: Any) -> Numbers:
        return at_pairs(expression, self.statement.x, self.statement.y, self.cloud, self.parameters)

    def _at_tokens(self, expression: Any, tokens: Numbers | None = None) -> Numbers:
        """Return an expression in x alone at all atoms."""
        cloud = self.cloud if tokens is None else Cloud(tokens, self.cloud.weights)
        return at_tokens(expression, self.statement.x, cloud, self.parameters)


@dataclass(frozen=True)
class TwistedTokens:
    """The twisted metric at a law of weighted atoms."""

    twist: Twist
    cloud: Cloud

    @cached_property
    def kernel(self) -> Kernel:
        """K and its slopes at all pairs."""
        metric = twisted_metric()
        blocks = _blocks(metric.kernel, metric.x, metric.y, metric.parameters)
        value, x_slope, y_slope = (
            at_pairs(part, metric.x, metric.y, self.cloud, self._parameters)
            for part in (blocks.value, blocks.x_slope, blocks.y_slope)
        )
        sizes = self._matrix(self.twist.size), self._matrix(self.twist.inverse)
        return Kernel(value, x_slope, y_slope, *sizes)

    def gram(self) -> Numbers:
        """Return the metric as a matrix, (n, d, n, d)."""
        return atoms.twisted_gram(self.kernel, self.cloud.weights)

    def correction(self, slope: Numbers, share: Numbers) -> Numbers:
        """Return what the acceleration adds to the second derivative of an energy, (n, d, n, d)."""
        return atoms.twisted_correction(self.kernel, slope, self.cloud.weights, share)

    def square(self, v: Numbers) -> float:
        """Return the squared length of a velocity, in floats, without any n × n array."""
        (density,) = self._summed((twisted_metric().kernel,), self.cloud.tokens, v)
        return float(self.cloud.weights @ (density * np.einsum("ia,ab,ib->i", v, self._sizes, v)))

    def acceleration(self, tokens: Numbers, v: Numbers) -> Numbers:
        """Return the acceleration of every atom on the geodesic with velocity v, in floats."""
        metric = twisted_metric()
        density, force, rate = self._summed((metric.kernel, metric.force, metric.rate), tokens, v)
        inverse = np.array(self.twist.inverse, dtype=float)
        return np.asarray((force @ inverse - rate[:, None] * v) / density[:, None])

    @property
    def _sizes(self) -> Numbers:
        return np.array(self.twist.size, dtype=float)

    @cached_property
    def _parameters(self) -> Parameters:
        metric = twisted_metric()
        exact = {metric.parameters[0]: self.twist.A, metric.size: self.twist.size}
        return Parameters(exact, {dimension("d"): self.cloud.tokens.shape[1]})

    def _matrix(self, rows: Any) -> Numbers:
        return np.array(rows, dtype=object) if self.cloud.exact else np.array(rows, dtype=float)

    def _summed(self, expressions: tuple[Any, ...], tokens: Numbers, v: Numbers) -> list[Numbers]:
        metric = twisted_metric()
        own, others = {metric.x: tokens, metric.v: v}, {metric.y: tokens, metric.w: v}
        return averages(expressions, own, others, self.cloud.weights, self._parameters.floats)


# ------------------------------------------------------------------------------- expressions at atoms


def at_pairs(expression: Any, x: Any, y: Any, cloud: Cloud, parameters: Parameters) -> Numbers:
    """Return an expression at all pairs of atoms: (n, n), (n, n, d) or (n, n, d, d)."""
    n, d = cloud.tokens.shape
    columns = cloud.tokens[:, None, :, None], cloud.tokens[None, :, :, None]
    shape = (n, n, *_tail(expression, d))
    if not cloud.exact:
        places = {x: columns[0], y: columns[1]}
        found = np.broadcast_to(evaluate_pairs(expression, {**parameters.floats, **places}), shape)
    else:
        found = np.empty(shape, dtype=object)
        for i, j in np.ndindex(n, n):
            found[i, j] = _exactly(expression, {x: columns[0][i, 0], y: columns[1][0, j]}, parameters)
    return found[..., 0] if _is_column(expression) else found


def at_tokens(expression: Any, x: Any, cloud: Cloud, parameters: Parameters) -> Numbers:
    """Return an expression in one token at all atoms: (n,), (n, d) or (n, d, d)."""
    n, d = cloud.tokens.shape
    shape = (n, *_tail(expression, d))
    if not cloud.exact:
        places = {x: cloud.tokens[:, None, :, None]}
        found = np.broadcast_to(evaluate_pairs(expression, {**parameters.floats, **places})[:, 0], shape)
    else:
        found = np.empty(shape, dtype=object)
        for i in range(n):
            found[i] = _exactly(expression, {x: cloud.tokens[i][:, None]}, parameters)
    return found[..., 0] if _is_column(expression) else found


def _exactly(expression: Any, columns: Mapping[Any, Numbers], parameters: Parameters) -> Any:
    from symflow.algebra.exact.evaluation import evaluate_exact

    values = {symbol: column.tolist() for symbol, column in columns.items()}
    try:
        return evaluate_exact(expression, {**parameters.exact, **values}, parameters.sizes)
    except InputError as error:
        raise InputError(f"{error}; give the tokens as floats for a result in floats") from error


def _is_column(expression: Any) -> bool:
    return isinstance(expression, MatrixExpr) and expression.shape[1] == 1


def _tail(expression: Any, d: int) -> tuple[int, ...]:
    if not isinstance(expression, MatrixExpr):
        return ()
    return (d, 1) if _is_column(expression) else (d, d)


# --------------------------------------------------------------------------------------- derivatives


@lru_cache(maxsize=64)
def _blocks(pair: Any, x: MatrixSymbol, y: MatrixSymbol, symmetric: tuple[Any, ...] = ()) -> PairBlocks:
    return pair_blocks(pair, x, y, symmetric)


@lru_cache(maxsize=64)
def _second(pair: Any, directions: tuple[tuple[Any, Any], ...]) -> Any:
    """Return the second derivative of W in one direction, a scalar."""
    table = dict(directions)
    return normal_form(gateaux(gateaux(pair, table), table)).to_sympy()


@lru_cache(maxsize=64)
def _mean_slope(pair: Any, x: MatrixSymbol, y: MatrixSymbol) -> Any:
    """Return the integrand of the gradient of the first variation of ½∬W."""
    return gradient(Rational(1, 2) * (pair + pair.xreplace({x: y, y: x})), x)


@lru_cache(maxsize=64)
def _potential(potential: Any, x: MatrixSymbol) -> tuple[Any, Any]:
    """Return gradient and second derivative of U."""
    slope = gradient(potential, x)
    return slope, slope_matrix(slope, x)
