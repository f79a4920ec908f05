"""The constant matrices of an energy as numbers, once per set of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatchmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sympy import (
    Expr,
    Identity,
    Integer,
    MatAdd,
    MatMul,
    MatPow,
    MatrixSymbol,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
)
from sympy.matrices.expressions.matexpr import MatrixExpr

from symflow.codegen.hessians.source import scalars_of
from symflow.derive.critical.structure import EnergyStructure
from symflow.errors import InputError

Array = NDArray[np.float64]


class Coefficients(NamedTuple):
    """What a kernel reads of the parameters, as its header describes it: flat arrays."""

    scalars: Array
    products: Array
    distances: Array
    widths: Any
    atoms: Array


def coefficients(energy: EnergyStructure, values: Mapping[str, Any], d: int) -> Coefficients:
    """Return the numbers of an energy in d dimensions.

    Parameters
    ----------
    energy : EnergyStructure
    values : mapping of str to number or array
        Every parameter.
    d : int
        Coordinates of a token.

    Raises
    ------
    InputError
        If a parameter is missing, unknown, or of a shape that does not fit.
    """
    numbers = _Numbers(energy, values, d)
    products = [part for u in energy.products for part in (u.B, u.p, u.q, u.c)]
    atoms = [part for s in energy.atoms for part in (s.S, s.c, s.k)]
    distances, widths = [], []
    for u in energy.distances:
        L, l, R, r = (numbers.of(part) for part in (u.L, u.l, u.R, u.r))
        widths.append(L.shape[0])
        distances += [L, l, R, r, L.T @ L, L.T @ R, R.T @ R]
    return Coefficients(
        np.array([float(numbers.of(s)) for s in scalars_of(energy)]),
        _flat(numbers.of(part) for part in products),
        _flat(distances),
        np.array(widths, dtype=np.intp),
        _flat(numbers.of(part) for part in atoms),
    )


def _flat(parts: Any) -> Array:
    found = [np.ravel(part) for part in parts]
    return np.ascontiguousarray(np.concatenate(found), dtype=np.float64) if found else np.zeros(0)


class _Numbers:
    """Matrix expressions in parameters as arrays."""

    def __init__(self, energy: EnergyStructure, values: Mapping[str, Any], d: int) -> None:
        statement = energy.statement
        known = {p.name: p for p in statement.parameters}
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise InputError(f"{statement.name} has no parameter {unknown[0]!r}; it has {', '.join(known)}")
        self.sizes: dict[Any, int] = {statement.dimensions[0]: d}
        self.values: dict[Any, Any] = {}
        for name, symbol in known.items():
            if name not in values:
                raise InputError(f"parameter {name!r} of {statement.name} is missing")
            self.values[symbol] = self._parameter(symbol, values[name])

    def _parameter(self, symbol: Any, value: Any) -> Any:
        array = np.asarray(value, dtype=np.float64)
        wanted = tuple(symbol.shape) if isinstance(symbol, MatrixSymbol) else ()
        if array.ndim == 1 and len(wanted) == 2 and wanted[1] == 1:
            array = array[:, None]
        if array.ndim != len(wanted):
            raise InputError(f"{symbol} has shape {array.shape}; give shape {wanted}")
        for size, found in zip(wanted, array.shape, strict=True):
            expected = self.sizes.setdefault(size, found) if isinstance(size, Symbol) else int(size)
            if expected != found:
                raise InputError(f"{symbol} has shape {array.shape}; it must fit {size} = {expected}")
        return array

    def of(self, expr: Any) -> Any:
        """Return the value of an expression."""
        return self._of(expr)

    @singledispatchmethod
    def _of(self, expr: Any) -> Any:
        if isinstance(expr, Expr) and not isinstance(expr, MatrixExpr):
            return self._scalar(expr)
        raise InputError(f"no numbers can be computed for {type(expr).__name__} in {expr}")

    def _scalar(self, expr: Any) -> float:
        table = {trace: float(np.trace(self.of(trace.arg))) for trace in expr.atoms(Trace)}
        table |= {
            symbol: float(v) for symbol, v in self.values.items() if not isinstance(symbol, MatrixSymbol)
        }
        table |= {size: Integer(n) for size, n in self.sizes.items()}
        return float(expr.xreplace(table))

    @_of.register
    def _(self, expr: MatrixSymbol) -> Any:
        return self.values[expr]

    @_of.register
    def _(self, expr: Identity) -> Any:
        return np.eye(self._size(expr.shape[0]))

    @_of.register
    def _(self, expr: ZeroMatrix) -> Any:
        return np.zeros(tuple(self._size(size) for size in expr.shape))

    @_of.register
    def _(self, expr: Transpose) -> Any:
        return self.of(expr.arg).T

    @_of.register
    def _(self, expr: MatAdd) -> Any:
        return sum(self.of(part) for part in expr.args)

    @_of.register
    def _(self, expr: MatMul) -> Any:
        found: Any = 1.0
        for part in expr.args:
            value = self.of(part)
            found = found @ value if np.ndim(found) and np.ndim(value) else found * value
        return found

    @_of.register
    def _(self, expr: MatPow) -> Any:
        return np.linalg.matrix_power(self.of(expr.base), int(expr.exp))

    def _size(self, size: Any) -> int:
        return self.sizes[size] if size in self.sizes else int(size)
