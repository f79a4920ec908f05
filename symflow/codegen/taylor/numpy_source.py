"""The recurrences of Taylor coefficients executed in NumPy: the fallback, and a witness of compiled ones."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from symflow.codegen.program import (
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Operand,
    RequirePositive,
    Root,
    Scaled,
    Solve,
    SymmetrisedSum,
    TraceOf,
)
from symflow.codegen.scalars import scalar_value
from symflow.codegen.taylor.recursion import Recursion
from symflow.codegen.values import FloatArray

#: What a right-hand side returns; the numbers are those of ``symflow_abi.h``.
_OK, _SINGULAR, _OUTSIDE = 0, 1, 2


class OutsideDomain(ArithmeticError):
    """The normaliser diverges."""


class Sized:
    """A recursion with a number for every size and every scalar.

    Parameters
    ----------
    source : Recursion
    dims : sequence of int
        Sizes in call order.
    scalars : mapping
        Scalar parameters by name.
    order : int
    """

    def __init__(
        self, source: Recursion, dims: Sequence[int], scalars: Mapping[str, float], order: int
    ) -> None:
        self.source, self.order = source, order
        self._sizes = dict(zip(source.program.dimensions, dims, strict=True))
        self.scalars = {**scalars, **{name: float(size) for name, size in self._sizes.items()}}
        self.size = sum(self.extent(a) for a in source.program.inputs)

    def shape(self, array: Array) -> tuple[int, int]:
        """Return the shape of an array as numbers."""
        rows, cols = (n if isinstance(n, int) else self._sizes[n] for n in (array.rows, array.cols))
        return rows, cols

    def extent(self, array: Array) -> int:
        """Return the number of entries of an array."""
        rows, cols = self.shape(array)
        return rows * cols

    def number(self, expression: Any) -> float:
        """Return the value of a coefficient."""
        return scalar_value(expression, self.scalars)


class NumpySeries(Sized):
    """``call(t, y, out) -> status``: row k of ``out`` (order + 1, n) becomes the k-th coefficient at y.

    Parameters
    ----------
    source : Recursion
    dims : sequence of int
        Sizes in call order.
    values : mapping
        Parameters by name.
    order : int
    """

    def __init__(
        self, source: Recursion, dims: Sequence[int], values: Mapping[str, FloatArray], order: int
    ) -> None:
        program = source.program
        places = {name: source.places[name] for name in program.scalars}
        scalars = {name: float(np.ravel(values[p.whole])[p.index]) for name, p in places.items()}
        super().__init__(source, dims, scalars, order)
        self._parameters = {p: self._part(p, values) for p in program.matrices}
        self.series: dict[Array, list[FloatArray]] = {}

    def _part(self, array: Array, values: Mapping[str, FloatArray]) -> FloatArray:
        """Return the numbers of a part of a parameter."""
        place = self.source.places[array.name]
        return np.asarray(np.reshape(values[place.whole], (-1, *self.shape(array)))[place.index])

    def __call__(self, t: float, y: FloatArray, out: FloatArray) -> int:
        """Write the coefficients at y and return the status."""
        rows = out.reshape(-1, self.size)
        rows[0] = y
        try:
            with np.errstate(all="ignore"):  # compiled recurrences let infinities through, too
                self._recur(rows)
        except np.linalg.LinAlgError:
            return _SINGULAR
        except OutsideDomain:
            return _OUTSIDE
        return _OK

    def _recur(self, rows: FloatArray) -> None:
        program = self.source.program
        self.series = {array: [value] for array, value in self.constants().items()}
        self.series |= {a: [] for a in (*program.inputs, *(op.out for op in self.source.rules))}
        for k in range(len(rows) - 1):
            start = 0
            for array in program.inputs:
                stop = start + self.extent(array)
                self.series[array].append(rows[k, start:stop].reshape(self.shape(array)))
                start = stop
            for op in self.source.rules:
                self.series[op.out].append(coefficient(op, k, self))
            slope = [self.at(Operand(a), k).ravel() for a in program.outputs]
            rows[k + 1] = np.concatenate(slope) / (k + 1)

    def constants(self) -> dict[Array, FloatArray]:
        """Return what depends on the parameters alone."""
        self.series = {p: [value] for p, value in self._parameters.items()}
        for op in self.source.once:
            self.series[op.out] = [coefficient(op, 0, self)]
        return {array: terms[0] for array, terms in self.series.items()}

    def at(self, operand: Operand, k: int) -> FloatArray:
        """Return the k-th coefficient as read; that of a constant is zero beyond the first."""
        terms = self.series[operand.array]
        if k and self.source.is_constant(operand.array):
            return np.zeros_like(terms[0].T if operand.transposed else terms[0])
        return terms[k].T if operand.transposed else terms[k]

    def convolve(self, a: Operand, b: Operand, k: int, first: int = 0, end: int = 0) -> FloatArray | float:
        """Return the sum of ``a[j] b[k − j]`` over ``first ≤ j ≤ k − end``, without terms that are zero."""
        last = 0 if self.source.is_constant(a.array) else k - end
        first = max(first, k) if self.source.is_constant(b.array) else first
        return sum((_times(self.at(a, j), self.at(b, k - j)) for j in range(first, last + 1)), 0.0)


def _times(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the product; a 1 × 1 matrix is a number."""
    return np.asarray(a @ b if a.shape[1] == b.shape[0] else a * b)


@functools.singledispatch
def coefficient(op: Any, k: int, s: NumpySeries) -> FloatArray:
    """Return the k-th coefficient of what an operation computes."""
    raise TypeError(f"no recurrence for {type(op).__name__}")


@coefficient.register
def _(op: Gemm, k: int, s: NumpySeries) -> FloatArray:
    added = 0.0 if op.c is None else s.at(Operand(op.c), k)
    return np.asarray(s.number(op.alpha) * s.convolve(op.a, op.b, k) + added)


@coefficient.register
def _(op: Combine, k: int, s: NumpySeries) -> FloatArray:
    total = np.zeros(s.shape(op.out))
    for term in op.terms:
        total += s.number(term.coefficient) * s.at(term.operand, k)
    if op.diagonal != ZERO and k == 0:
        total += s.number(op.diagonal) * np.eye(len(total))
    return total


@coefficient.register
def _(op: SymmetrisedSum, k: int, s: NumpySeries) -> FloatArray:
    half = s.at(Operand(op.a), k)
    return half + half.T


@coefficient.register
def _(op: Factorise, k: int, s: NumpySeries) -> FloatArray:
    return s.at(Operand(op.a), k)  # factorised at each solve


@coefficient.register
def _(op: Solve, k: int, s: NumpySeries) -> FloatArray:
    matrix = Operand(s.source.matrix_of[op.factors], op.transposed)
    known = s.convolve(matrix, Operand(op.out), k, first=1) if k else 0.0
    return np.asarray(np.linalg.solve(s.at(matrix, 0), s.at(op.b, k) - known))


@coefficient.register
def _(op: RequirePositive, k: int, s: NumpySeries) -> FloatArray:
    matrix = s.at(Operand(op.a), k)
    if k == 0 and np.isfinite(matrix).all():  # what has overflowed says nothing about the domain
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise OutsideDomain from None
    return matrix


@coefficient.register
def _(op: Root, k: int, s: NumpySeries) -> FloatArray:
    matrix, out = s.at(Operand(op.a), k), Operand(op.out)
    if k == 0:
        return _root(matrix)
    return _moved_root(s.at(out, 0), matrix - s.convolve(out, out, k, first=1, end=1))


def _root(a: FloatArray) -> FloatArray:
    """Return the principal square root; what has overflowed has none, and is not singular."""
    if not np.isfinite(a).all():
        return np.full_like(a, np.nan)
    root = scipy.linalg.sqrtm(a)
    if np.iscomplexobj(root) and abs(root.imag).max() > 1e-8 * abs(root).max():
        raise np.linalg.LinAlgError("no real square root")
    return np.asarray(root.real)


def _moved_root(root: FloatArray, e: FloatArray) -> FloatArray:
    """Return the X with root X + X root = e."""
    if not (np.isfinite(root).all() and np.isfinite(e).all()):
        return np.full_like(e, np.nan)
    return np.asarray(scipy.linalg.solve_sylvester(root, root, e))


@coefficient.register
def _(op: TraceOf, k: int, s: NumpySeries) -> FloatArray:
    product = s.at(op.a, k) if op.b is None else s.convolve(op.a, op.b, k)
    return np.reshape(np.trace(np.asarray(product)), (1, 1))


@coefficient.register
def _(op: Scaled, k: int, s: NumpySeries) -> FloatArray:
    return np.asarray(s.convolve(Operand(op.factor), op.a, k))
