"""Functionals of the law of tokens in NumPy: made once from their symbols, summed over blocks of pairs.

A number of two tokens is split into what one token has and what couples both, so that a block of pairs costs
one matrix product and one pass of the function. Averages of exponentials are taken in logarithms where a
logarithm or a quotient of them is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce, singledispatch
from typing import Any

import numpy as np
from sympy import (
    Determinant,
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixExpr,
    MatrixSymbol,
    Mul,
    S,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
)

from symflow.algebra.determinant import LogDet
from symflow.algebra.functionals.average import Average, average, averages
from symflow.algebra.functionals.nodes import law_functions
from symflow.checking import Array
from symflow.clustering.pairs import blocks
from symflow.derive.particles.pairings import PairedScore, paired_score
from symflow.energies.expressions import LogAverage, compiled, in_logarithms, named, outermost, quietly
from symflow.errors import InputError, NoTokenFlow


@dataclass(frozen=True, eq=False)
class Law:
    """Weighted tokens and the values of parameters by name.

    Attributes
    ----------
    atoms : ndarray, (n, d, 1)
    weights : ndarray, (n,)
    values : dict
        Matrices with two axes, numbers, sizes.
    """

    atoms: Array
    weights: Array
    values: Mapping[str, Any] = field(default_factory=dict)


#: Tokens by their symbols, arrays (…, d, 1).
Env = Mapping[Any, Array]
#: Numbers (…) or matrices (…, rows, columns) of a law at tokens.
Numbers = Callable[[Law, Env], Any]


def scalar_function(expr: Any, tokens: tuple[Any, ...] = ()) -> Numbers:
    """Return the function that computes a number.

    Parameters
    ----------
    expr : Expr
        The number, which may contain averages over the law.
    tokens : tuple of MatrixSymbol
        Its free tokens; what else is free are parameters and sizes.

    Raises
    ------
    InputError
        If it depends on the law otherwise, or couples three tokens.
    """
    expr = in_logarithms(expr)
    for node in law_functions(expr):
        raise InputError(f"{node} is not known for a law of finitely many tokens")
    parts = {node: _part(node, tokens) for node in outermost(expr, _is_part)}
    slots = {node: Symbol(f"slot {k}", real=True) for k, node in enumerate(parts)}
    body = expr.xreplace(slots)
    functions = list(parts.values())
    names = sorted({s.name for s in body.free_symbols} - {s.name for s in slots.values()})
    compute = compiled(body, [*slots.values(), *named(body, names)])

    def function(law: Law, env: Env) -> Any:
        arguments = [part(law, env) for part in functions] + [law.values[name] for name in names]
        return quietly(compute, arguments)

    return function


def _part(node: Any, tokens: tuple[Any, ...]) -> Numbers:
    """Return the function of what a number is put together from."""
    if isinstance(node, Average):
        return _average(node, tokens)
    return _log_average(node.args[0], tokens) if isinstance(node, LogAverage) else _of_matrix(node, tokens)


def _is_part(node: Any) -> bool:
    return isinstance(node, LogAverage | Average | Trace | Determinant | LogDet)


def vector_function(expr: Any, tokens: tuple[Any, ...] = ()) -> Numbers:
    """Return the function that computes a matrix; parameters and errors as for :func:`scalar_function`."""
    parts = [_term(part, tokens) for part in MatAdd.make_args(expr)]
    return lambda law, env: reduce(np.add, (part(law, env) for part in parts))


# ---- one token


def _term(term: Any, tokens: tuple[Any, ...]) -> Numbers:
    """Return the function of a multiple of a product of matrices, or of an average of such."""
    scale, factors = _split(term)
    if len(factors) == 1 and getattr(factors[0], "is_Average", False):
        body, z = factors[0].opened(scale)
        return _average(average(_scaled(scale, body), z), tokens)
    product = [_matrix(factor, tokens) for factor in factors]
    if scale == 1:
        return lambda law, env: reduce(np.matmul, (factor(law, env) for factor in product))
    number = scalar_function(scale, tokens)
    return lambda law, env: (
        np.asarray(number(law, env))[..., None, None]
        * reduce(np.matmul, (factor(law, env) for factor in product))
    )


def _split(term: Any) -> tuple[Any, list[Any]]:
    """Return the scalar factor and the matrices of a product."""
    if not isinstance(term, MatMul):
        return S.One, [term]
    scalars = [part for part in term.args if not isinstance(part, MatrixExpr)]
    return Mul(*scalars), [part for part in term.args if isinstance(part, MatrixExpr)]


def _scaled(scale: Any, body: Any) -> Any:
    return MatAdd(*((scale * part).doit(deep=False) for part in MatAdd.make_args(body))).doit(deep=False)


@singledispatch
def _matrix(expr: Any, tokens: tuple[Any, ...]) -> Numbers:
    raise InputError(
        f"the numbers of {type(expr).__name__} in {expr} are not available; use sums and products"
    )


@_matrix.register(MatrixSymbol)
def _(expr: Any, tokens: tuple[Any, ...]) -> Numbers:
    if expr in tokens:
        return lambda law, env: env[expr]
    return lambda law, env: law.values[expr.name]


@_matrix.register(Identity)
def _(expr: Any, tokens: tuple[Any, ...]) -> Numbers:
    return lambda law, env: np.eye(_size(expr.rows, law))


@_matrix.register(ZeroMatrix)
def _(expr: Any, tokens: tuple[Any, ...]) -> Numbers:
    return lambda law, env: np.zeros([_size(size, law) for size in expr.shape])


@_matrix.register(MatAdd)
@_matrix.register(MatMul)
def _(expr: Any, tokens: tuple[Any, ...]) -> Numbers:
    return vector_function(expr, tokens)


@_matrix.register(Transpose)
def _(expr: Any, tokens: tuple[Any, ...]) -> Numbers:
    inner = _matrix(expr.arg, tokens)
    return lambda law, env: np.swapaxes(inner(law, env), -1, -2)


@_matrix.register(Inverse)
@_matrix.register(MatPow)
def _(expr: Any, tokens: tuple[Any, ...]) -> Numbers:
    inner = _matrix(expr.base, tokens)
    if expr.exp == S.Half:
        return lambda law, env: _principal_root(inner(law, env))
    if not expr.exp.is_Integer:
        raise InputError(f"the numbers of {expr} are not available; use integer powers and square roots")
    power = int(expr.exp)
    return lambda law, env: np.linalg.matrix_power(inner(law, env), power)


def _principal_root(matrix: Array) -> Array:
    import scipy.linalg

    root = scipy.linalg.sqrtm(matrix)
    if np.iscomplexobj(root) and np.abs(root.imag).max() > 1e-8 * np.abs(root.real).max():
        raise InputError("a matrix under a root has no real principal root")
    return np.asarray(root.real, dtype=np.float64)


def _of_matrix(node: Any, tokens: tuple[Any, ...]) -> Numbers:
    inner = _matrix(node.arg, tokens)
    if isinstance(node, LogDet):
        return lambda law, env: np.linalg.slogdet(inner(law, env))[1]
    if isinstance(node, Determinant):
        return lambda law, env: np.linalg.det(inner(law, env))
    return lambda law, env: np.trace(inner(law, env), axis1=-2, axis2=-1)


# ---- averages


def _average(node: Any, tokens: tuple[Any, ...]) -> Numbers:
    """Return the function of an average at the one token that it depends on, or of none."""
    body, z = node.opened(*tokens)
    x = _token(node, tokens)
    if x is None:
        inner = (vector_function if isinstance(body, MatrixExpr) else scalar_function)(body, (z,))
        return lambda law, env: _mean(law, inner(law, {z: law.atoms}))
    if not isinstance(body, MatrixExpr):
        pairs = _Pairs(in_logarithms(body), x, z)
        return lambda law, env: _at_token(env[x], lambda at: pairs.sums(law, at))
    parts = [_PairTerm(*_split(part), x, z) for part in MatAdd.make_args(body)]
    return lambda law, env: _at_token(
        env[x], lambda at: reduce(np.add, (part.sums(law, at) for part in parts))
    )


def _log_average(node: Any, tokens: tuple[Any, ...]) -> Numbers:
    """Return the logarithm of an average of exponentials."""
    body, z = node.opened(*tokens)
    x = _token(node, tokens)
    if x is None:
        inner = scalar_function(body.args[0], (z,))
        return lambda law, env: _log_sum(np.atleast_1d(inner(law, {z: law.atoms})) + np.log(law.weights))
    pairs = _Pairs(body.args[0], x, z)
    return lambda law, env: _at_token(env[x], lambda at: pairs.log_sums(law, at))


def _token(node: Any, tokens: tuple[Any, ...]) -> Any:
    free = [token for token in tokens if token in node.free_symbols]
    if len(free) > 1:
        raise InputError(f"{node} couples three tokens; only sums over pairs are computed")
    return free[0] if free else None


def _at_token(points: Array, sums: Callable[[Array], Array]) -> Array:
    """Compute at tokens with any leading axes."""
    lead = points.shape[:-2]
    found = sums(points.reshape(-1, *points.shape[-2:]))
    return found.reshape(*lead, *found.shape[1:])


def _mean(law: Law, values: Any) -> Any:
    values = np.asarray(values)
    if values.ndim in (0, 2):  # the same at every token
        return values * law.weights.sum()
    return np.tensordot(law.weights, values, 1)


def _log_sum(values: Array) -> Any:
    """Return the logarithm of the sum of exponentials along the last axis."""
    top = values.max(axis=-1)
    shift = np.where(np.isfinite(top), top, 0.0)
    return shift + np.log(np.exp(values - shift[..., None]).sum(axis=-1))


class _Pairs:
    """A number of two tokens, in blocks of rows."""

    def __init__(self, body: Any, x: Any, z: Any) -> None:
        self.x, self.z = x, z
        self._split: PairedScore | None = None
        for node in averages(body):
            _token(node, (x, z))
        try:
            self._split = paired_score(body, x, z, {s.name for s in body.free_symbols})
        except NoTokenFlow:
            self._dense = scalar_function(body, (x, z))
            return
        split = self._split
        self._sides = [(_matrix(p.left, (x,)), _matrix(p.right, (z,)), p.difference) for p in split.pairings]
        self._rows = [scalar_function(value, (x,)) for _, value in split.rows]
        self._columns = [scalar_function(value, (z,)) for _, value in split.columns]
        own = [*(p.symbol for p in split.pairings), *(s for s, _ in (*split.rows, *split.columns))]
        self._names = sorted({s.name for s in split.score.free_symbols} - {s.name for s in own})
        self._compute = compiled(split.score, [*own, *named(split.score, self._names)])

    def sums(self, law: Law, at: Array) -> Array:
        """Return the average over the law at every token, (m,)."""
        found = np.empty(len(at))
        for rows, values in self.blocks(law, at):
            found[rows] = values @ law.weights
        return found

    def log_sums(self, law: Law, at: Array) -> Array:
        """Return the logarithm of the average of the exponential, (m,)."""
        found, shift = np.empty(len(at)), np.log(law.weights)
        for rows, values in self.blocks(law, at):
            found[rows] = _log_sum(values + shift)
        return found

    def blocks(self, law: Law, at: Array) -> Iterator[tuple[slice, Array]]:
        """Yield rows of tokens and the numbers of their pairs with all atoms."""
        m, n, d = len(at), len(law.atoms), at.shape[1]
        if self._split is None:
            for rows in _rows(m, n, d):
                env = {self.x: at[rows, None], self.z: law.atoms[None]}
                yield rows, _full(self._dense(law, env), rows, m, n)
            return
        ends = {self.x: at}, {self.z: law.atoms}
        sides = [(a(law, ends[0])[..., 0], b(law, ends[1])[..., 0], diff) for a, b, diff in self._sides]
        left = [np.broadcast_to(f(law, ends[0]), (m,)) for f in self._rows]
        right = [np.broadcast_to(f(law, ends[1]), (n,)) for f in self._columns]
        given = [law.values[name] for name in self._names]
        for rows in _rows(m, n):
            paired = [_paired(a[rows], b, difference) for a, b, difference in sides]
            numbers = [*paired, *(a[rows, None] for a in left), *right, *given]
            yield rows, _full(quietly(self._compute, numbers), rows, m, n)


class _PairTerm:
    """A number of two tokens times a vector of one of them."""

    def __init__(self, scale: Any, factors: list[Any], x: Any, z: Any) -> None:
        self.x, self.z = x, z
        vector = MatMul(*factors) if len(factors) > 1 else factors[0]
        self.on_x, self.on_z = x in vector.free_symbols, z in vector.free_symbols
        self._pairs = _Pairs(in_logarithms(scale), x, z)
        self._vector = vector_function(vector, tuple(t for t in (x, z) if t in vector.free_symbols))

    def sums(self, law: Law, at: Array) -> Array:
        """Return the average over the law at every token, (m, rows, columns)."""
        if self.on_x and self.on_z:
            return self._dense_sums(law, at)
        if self.on_z:
            vectors = self._vector(law, {self.z: law.atoms})
            weighted = (law.weights[:, None, None] * vectors).reshape(len(law.atoms), -1)
            found = np.empty((len(at), weighted.shape[1]))
            for rows, values in self._pairs.blocks(law, at):
                found[rows] = values @ weighted
            return found.reshape(len(at), *vectors.shape[1:])
        vectors = self._vector(law, {self.x: at} if self.on_x else {})
        found = self._pairs.sums(law, at)[:, None, None] * vectors
        return np.asarray(found)

    def _dense_sums(self, law: Law, at: Array) -> Array:
        n, d = len(law.atoms), at.shape[1]
        parts = []
        for rows in _rows(len(at), n, d):
            (_, values), *_ = self._pairs.blocks(law, at[rows])
            vectors = self._vector(law, {self.x: at[rows, None], self.z: law.atoms[None]})
            parts.append(np.einsum("ij,ijab->iab", values * law.weights, vectors))
        return np.concatenate(parts)


def _rows(m: int, n: int, width: int = 1) -> Iterator[slice]:
    """Yield slices of rows whose pairs with n atoms fit into one block."""
    size = next(blocks(1, n, width))[1].stop
    return (slice(first, min(first + size, m)) for first in range(0, m, size))


def _full(values: Any, rows: slice, m: int, n: int) -> Array:
    return np.broadcast_to(values, (min(rows.stop, m) - rows.start, n))


def _paired(left: Array, right: Array, difference: bool) -> Array:
    """Return ⟨left, right⟩ or |left − right|² of all pairs; expanding the square would cancel."""
    if not difference:
        return np.asarray(left @ right.T)
    found = np.zeros((len(left), len(right)))
    for k in range(left.shape[1]):
        found += (left[:, k, None] - right[:, k]) ** 2
    return found


def _size(size: Any, law: Law) -> int:
    return int(size) if size.is_Integer else int(law.values[size.name])
