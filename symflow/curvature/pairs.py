r"""Expressions in two tokens, evaluated for all pairs at once: in floats by blocks, or exactly.

An array of a matrix expression has the axes (i, j, row, column), where i numbers the places of x and j those
of y; an axis along which nothing changes has length one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, singledispatch
from typing import Any

import numpy as np
from sympy import (
    Dummy,
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatrixExpr,
    MatrixSymbol,
    S,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
    lambdify,
)

from symflow.checking import Array
from symflow.errors import InputError

__all__ = ["Places", "averages", "evaluate_pairs"]

_BLOCK = 2**18  #: numbers in one block of pairs, few enough for a cache
_TRACES = "traces"  #: in places: the traces of the block that are known
Places = Mapping[Any, Any]  #: from symbol to array (i, j, row, column), or to a number; from size to integer


def evaluate_pairs(expression: Any, places: Places) -> Array:
    """Return a matrix expression or scalar for all pairs, in floats.

    Parameters
    ----------
    expression : Expr or MatrixExpr
        Sums, products, transposes and inverses of matrices; scalar functions of their traces.
    places : mapping
        Values of every free symbol.

    Returns
    -------
    ndarray, (i, j) for a scalar, else (i, j, rows, columns)
        Axes have length one where nothing changes along them.

    Raises
    ------
    InputError
        If the expression contains a node that has no value in floats.
    """
    return _matrix(expression, places) if isinstance(expression, MatrixExpr) else _scalar(expression, places)


def _scalar(expression: Any, places: Places) -> Array:
    atoms, symbols, function = _compiled(expression)
    arguments = [_trace(atom, places) for atom in atoms]
    arguments += [np.asarray(places[symbol], dtype=float) for symbol in symbols]
    shape = np.broadcast_shapes((1, 1), *(a.shape for a in arguments))
    return np.broadcast_to(np.asarray(function(*arguments), dtype=float), shape)


@lru_cache(maxsize=512)
def _compiled(expression: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    """Return the traces and the symbols of a scalar, and a NumPy function of their values."""
    atoms = tuple(sorted(expression.atoms(Trace), key=str))
    table = {atom: Dummy(f"t{k}", real=True) for k, atom in enumerate(atoms)}
    flat = expression.xreplace(table)
    symbols = tuple(sorted(flat.free_symbols - set(table.values()), key=str))
    function = lambdify([*table.values(), *symbols], flat, modules=["scipy", "numpy"], cse=True)
    return atoms, symbols, function


def _trace(atom: Any, places: Places) -> Array:
    """Return a trace; the expressions of one block share them."""
    known = places.get(_TRACES, {})
    if atom not in known:
        inner = _matrix(atom.arg, places)
        known[atom] = inner[..., 0, 0] if inner.shape[-1] == 1 else np.trace(inner, axis1=-2, axis2=-1)
    return np.asarray(known[atom])


@singledispatch
def _matrix(expression: Any, places: Places) -> Array:
    raise InputError(f"{type(expression).__name__} (in {expression}) has no value in floats here")


@_matrix.register(MatrixSymbol)
def _(expression: Any, places: Places) -> Array:
    return np.asarray(places[expression])


@_matrix.register(Identity)
def _(expression: Any, places: Places) -> Array:
    return np.eye(_size(expression.shape[0], places))[None, None]


@_matrix.register(ZeroMatrix)
def _(expression: Any, places: Places) -> Array:
    return np.zeros((1, 1, *(_size(size, places) for size in expression.shape)))


@_matrix.register(Transpose)
def _(expression: Any, places: Places) -> Array:
    return _matrix(expression.arg, places).swapaxes(-1, -2)


@_matrix.register(Inverse)
def _(expression: Any, places: Places) -> Array:
    return np.asarray(np.linalg.inv(_matrix(expression.arg, places)), dtype=float)


@_matrix.register(MatAdd)
def _(expression: Any, places: Places) -> Array:
    first, *others = (_matrix(term, places) for term in expression.args)
    for other in others:
        first = first + other
    return first


@_matrix.register(MatMul)
def _(expression: Any, places: Places) -> Array:
    coefficient, factors = expression.as_coeff_matrices()
    first, *others = (_matrix(factor, places) for factor in factors)
    for other in others:
        first = _times(first, other)
    return first if coefficient == 1 else _scalar(coefficient, places)[..., None, None] * first


def _size(size: Any, places: Places) -> int:
    return int(places[size]) if isinstance(size, Symbol) else int(size)


def _times(left: Array, right: Array) -> Array:
    """Return the product of matrices for all pairs; one matrix product where the axes allow it."""
    if left.shape[-1] == 1:  # outer
        return left * right
    if right.shape[:2] == (1, 1):
        return np.tensordot(left, right[0, 0], axes=(3, 0))
    if left.shape[1] == 1 and right.shape[0] == 1 and left.shape[0] > 1:  # x of i meets y of j
        return np.asarray(np.tensordot(left[:, 0], right[0], axes=(2, 1)).swapaxes(1, 2))
    return left @ right


def averages(
    expressions: Sequence[Any], own: Places, others: Places, weights: Array, fixed: Places
) -> list[Array]:
    """Return the weighted sums over j of expressions in tokens i and j, for every i, by blocks of rows.

    Parameters
    ----------
    expressions : sequence of Expr or MatrixExpr (d, 1)
    own, others : mapping of MatrixSymbol to ndarray, (n, d)
        Vectors that belong to token i, and to token j.
    weights : ndarray, (n,)
        Of the tokens j.
    fixed : mapping
        Parameters as arrays (1, 1, rows, columns) or numbers, and sizes.

    Returns
    -------
    list of ndarray, (n,) or (n, d)
    """
    n, d = next(iter(own.values())).shape
    columns = {symbol: value[None, :, :, None] for symbol, value in others.items()}
    rows = max(1, _BLOCK // (len(weights) * d))
    parts: list[list[Array]] = [[] for _ in expressions]
    for start in range(0, n, rows):
        here = {symbol: value[start : start + rows, None, :, None] for symbol, value in own.items()}
        size = len(next(iter(here.values())))
        places = {**fixed, **columns, **here, _TRACES: {}}
        for expression, found in zip(expressions, parts, strict=True):
            found.append(_summed(expression, places, weights, (size, len(weights))))
    return [np.concatenate(found) for found in parts]


def _summed(expression: Any, places: Places, weights: Array, shape: tuple[int, int]) -> Array:
    """Return the weighted sum over j; numbers of pairs times vectors of one token are a matrix product."""
    if not isinstance(expression, MatrixExpr):
        return np.asarray(np.broadcast_to(_scalar(expression, places), shape) @ weights)
    total = np.zeros((shape[0], int(_size(expression.shape[0], places))))
    for term in MatAdd.make_args(expression):
        coefficient, factors = term.as_coeff_matrices() if isinstance(term, MatMul) else (S.One, [term])
        numbers = np.broadcast_to(_scalar(coefficient, places), shape) * weights
        vectors = _matrix(MatMul(*factors), places)[..., 0]
        if vectors.shape[0] == 1 and vectors.shape[1] > 1:
            total += numbers @ vectors[0]
        elif vectors.shape[1] == 1:
            total += numbers.sum(axis=1)[:, None] * vectors[:, 0]
        else:
            total += np.einsum("ij,ijd->id", numbers, vectors)
    return total
