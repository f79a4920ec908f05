"""A token flow with numbers for its symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Add, Identity, MatAdd, MatMul, MatrixSymbol, Mul, Pow, Trace, Transpose, ZeroMatrix

from symflow.algebra.affine import affine_parts
from symflow.algebra.sampling import evaluate
from symflow.codegen.values import FloatArray
from symflow.errors import InputError, NoExpansion
from symflow.flow import PairTerm, TokenFlow

Values = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Setting:
    """A token flow, its sizes, and one array per parameter.

    Attributes
    ----------
    flow : TokenFlow
    sizes : dict
        From symbolic to actual size.
    values : dict of str to array
        Parameters; θ is not among them.
    theta : array, (n,), or None
        Weights of the tokens under a causal mask.
    """

    flow: TokenFlow
    sizes: dict[Any, int]
    values: dict[str, FloatArray]
    theta: FloatArray | None

    @classmethod
    def of(cls, model: Any, flow: TokenFlow, dims: Sequence[int], params: Values) -> Setting:
        """Return the setting; what the model itself knows need not be given."""
        if len(dims) != len(flow.dimensions):
            names = ", ".join(str(size) for size in flow.dimensions)
            raise InputError(f"dims = {tuple(dims)} must hold one size for each of {names}")
        values = {name: _array(name, value) for name, value in params.items()}
        for name in {s.name for s in flow.parameters} & {"beta", "temperature"} - set(values):
            values[name] = _array(name, getattr(model, name))
        theta = None
        if flow.weights is not None:
            given = values.pop(flow.weights.name, None)
            theta = np.ascontiguousarray(model.weights(dims[-1]) if given is None else given, dtype=float)
        return cls(flow, dict(zip(flow.dimensions, dims, strict=True)), values, theta)

    @property
    def n(self) -> int:
        """How many tokens."""
        return self.sizes[self.flow.count]

    @property
    def d(self) -> int:
        """How many coordinates."""
        return self.sizes[self.flow.dimensions[0]]

    def members(self, term: PairTerm) -> list[dict[str, FloatArray]]:
        """Return the values for each head that a term stands for."""
        if term.family is None:
            return [self.values]
        own = [member.name for member in term.family.members]
        heads = range(self.sizes[term.family.count])
        return [{**self.values, **{name: self.values[name][h] for name in own}} for h in heads]

    def exact(self, expr: Any, values: Values) -> Any:
        """Return a scalar as a fraction, a matrix as rows of fractions, without rounding."""
        table = {s.name: _rows(s, values[s.name]) for s in expr.free_symbols - self.sizes.keys()}
        return evaluate(expr, table, self.sizes)

    def array(self, expr: Any, values: Values) -> FloatArray:
        """Return a matrix in floats."""
        return np.ascontiguousarray(self._evaluate(expr, values), dtype=float)

    def number(self, expr: Any, values: Values) -> float:
        """Return a scalar in floats."""
        return float(self._evaluate(expr, values))

    def vector(self, expr: Any, values: Values) -> FloatArray:
        """Return a column vector in floats, with one axis."""
        return self.array(expr, values).reshape(-1)

    def value(self, term: PairTerm, values: Values) -> tuple[FloatArray, FloatArray]:
        """Return M and c of a term, with its factor."""
        factor = self.number(term.prefactor, values)
        return factor * self.array(term.matrix, values), factor * self.vector(term.offset, values)

    def background(self) -> tuple[FloatArray, FloatArray]:
        """Return W and the shift of what is added to the averages."""
        slope, shift = affine_parts(self.flow.background, self.flow.x)
        return self.array(slope, self.values), self.vector(shift, self.values)

    def _evaluate(self, expr: Any, values: Values) -> Any:
        if isinstance(expr, (Identity, ZeroMatrix)):
            shape = [self.sizes.get(size, size) for size in expr.shape]
            return np.eye(int(shape[0])) if isinstance(expr, Identity) else np.zeros([int(s) for s in shape])
        if isinstance(expr, MatrixSymbol):
            return np.reshape(values[expr.name], [int(self.sizes.get(s, s)) for s in expr.shape])
        if expr.is_Symbol:
            return float(self.sizes[expr]) if expr in self.sizes else values[expr.name].item()
        if expr.is_Number:
            return float(expr)
        parts = [self._evaluate(part, values) for part in expr.args]
        if isinstance(expr, (MatAdd, Add)):
            return sum(parts[1:], parts[0])
        if isinstance(expr, (MatMul, Mul)):
            return _multiplied(parts)
        if isinstance(expr, Transpose):
            return parts[0].T
        if isinstance(expr, Trace):
            return np.trace(parts[0])
        if isinstance(expr, Pow):
            return parts[0] ** parts[1]
        raise NoExpansion(f"{expr} has no rule for numbers")


def _multiplied(parts: Sequence[Any]) -> Any:
    product = parts[0]
    for part in parts[1:]:
        product = product @ part if np.ndim(product) and np.ndim(part) else product * part
    return product


def _array(name: str, value: Any) -> FloatArray:
    """Return a number or an array of numbers; what depends on time has no expansion."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise NoExpansion(f"parameter {name!r} is not an array of numbers") from error


def _rows(symbol: Any, value: FloatArray) -> Any:
    """Return rows of numbers for a matrix symbol, else a number."""
    if not isinstance(symbol, MatrixSymbol):
        return value.item()
    return (value[:, None] if value.ndim == 1 else value).tolist()
