"""Numbers from the derived symbols, by routes that share no code with the code generator.

Three evaluators walk the same SymPy tree: :class:`Exact` in arithmetic of 50 digits, :class:`Magnitude` with
every term replaced by its absolute value, which is the natural scale of rounding errors, and
:class:`Batched` over arrays of points in float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.linalg import sqrtm
from sympy import (
    Add,
    Expr,
    Identity,
    Integer,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixSymbol,
    Mul,
    Number,
    NumberSymbol,
    Pow,
    Rational,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
)

from symflow.algebra.families import FamilySum
from symflow.algebra.sampling import context as private_context
from symflow.algebra.sampling import principal_root
from symflow.errors import InputError

#: Decimal digits of the reference.
DIGITS = 50

Values = Mapping[str, np.ndarray[Any, Any]]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def context(digits: int = DIGITS) -> Any:
    """Return a private mpmath context, so that no global precision is touched."""
    return private_context(digits)


class Evaluator(ABC):
    """Walk a SymPy tree; a subclass supplies the arithmetic.

    Parameters
    ----------
    sizes : mapping of str to int
        The value of every symbolic dimension.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self._memo: dict[Any, Any] = {}
        self._index: dict[str, int] = {}  # of the members of the sums around the current place

    def __call__(self, expr: Any) -> Any:
        """Return the value of a matrix or scalar expression."""
        if expr not in self._memo:
            self._memo[expr] = self._visit(expr)
        return self._memo[expr]

    def size(self, dimension: Any) -> int:
        """Return the number behind a symbolic dimension."""
        return int(dimension.subs({s: self.sizes[s.name] for s in dimension.free_symbols}))

    def _visit(self, expr: Any) -> Any:
        if isinstance(expr, Symbol) and expr.name in self.sizes:  # a score may be divided by √d
            return self.number(Integer(self.sizes[expr.name]))
        if isinstance(expr, MatrixSymbol | Symbol):
            return self.symbol(expr)
        if isinstance(expr, Number | NumberSymbol):
            return self.number(expr)
        if isinstance(expr, Add | MatAdd):
            return reduce(self.add, [self(arg) for arg in expr.args])
        if isinstance(expr, MatMul):  # before Mul, of which it is a subclass
            return self._product(expr)
        if isinstance(expr, Mul):
            return reduce(self.times, [self(arg) for arg in expr.args])
        return self._structure(expr)

    def _product(self, expr: MatMul) -> Any:
        scalars = [self(a) for a in expr.args if not getattr(a, "is_Matrix", False)]
        matrices = [self(a) for a in expr.args if getattr(a, "is_Matrix", False)]
        # From the right, so that a chain that ends in a vector costs no product of matrices.
        product = reduce(lambda right, left: self.matmul(left, right), reversed(matrices))
        return self.scale(reduce(self.times, scalars), product) if scalars else product

    def _structure(self, expr: Any) -> Any:
        if isinstance(expr, Transpose):
            return self.transpose(self(expr.arg))
        if isinstance(expr, Inverse):
            return self.inverse(expr.arg)
        if isinstance(expr, MatPow) and expr.exp == -1:
            return self.inverse(expr.base)
        if isinstance(expr, MatPow) and (2 * expr.exp).is_Integer:
            return self._matrix_power(expr)
        if isinstance(expr, FamilySum):
            return reduce(self.add, [self.member(expr, h) for h in range(self.size(expr.count))])
        if isinstance(expr, Trace):
            return self.trace(self(expr.arg))
        if isinstance(expr, Identity):
            return self.identity(self.size(expr.shape[0]))
        if isinstance(expr, ZeroMatrix):
            return self.zeros(*(self.size(n) for n in expr.shape))
        if isinstance(expr, Pow) and expr.exp.is_Rational:
            return self.power(expr.base, expr.exp)
        raise InputError(f"{expr}: verification cannot evaluate a {type(expr).__name__}")

    def _matrix_power(self, expr: MatPow) -> Any:
        if expr.exp <= 0:
            return self.inverse(MatPow(expr.base, -expr.exp)) if expr.exp < 0 else self(Identity(expr.rows))
        factor = self(expr.base) if expr.exp.is_Integer else self.root(expr.base)
        count = expr.exp if expr.exp.is_Integer else 2 * expr.exp
        return reduce(self.matmul, [factor] * int(count))

    def member(self, expr: FamilySum, h: int) -> Any:
        """Return the summand with index h, where a member is the h-th slice of its array."""
        return self._sliced(expr, h)(expr.body)

    def _sliced(self, expr: FamilySum, h: int) -> Any:
        inner = copy(self)
        inner._memo, inner._index = {}, self._index | {m.name: h for m in expr.members}
        return inner

    def _array(self, values: Values, name: str) -> np.ndarray[Any, Any]:
        """Return the value of a symbol as float64, that of a member without its leading axis."""
        value = np.asarray(values[name], dtype=np.float64)
        if name in self._index and not self._index[name] < len(value):
            raise InputError(f"{name} has {len(value)} matrices, fewer than its family")
        return value[self._index[name]] if name in self._index else value

    def root(self, expr: Any) -> Any:
        """Return the principal square root of a matrix expression, which has not been evaluated yet."""
        raise InputError(f"({expr})^(1/2): {type(self).__name__} cannot evaluate the root of a matrix")

    def add(self, a: Any, b: Any) -> Any:
        """Return a + b, both scalars or both matrices."""
        return a + b

    def times(self, a: Any, b: Any) -> Any:
        """Return the product of two scalars."""
        return a * b

    def scale(self, scalar: Any, matrix: Any) -> Any:
        """Return scalar · matrix."""
        return scalar * matrix

    @abstractmethod
    def symbol(self, expr: Any) -> Any:
        """Return the value of a symbol, scalar or matrix."""

    @abstractmethod
    def number(self, expr: Any) -> Any:
        """Return an exact number of SymPy in this arithmetic."""

    @abstractmethod
    def matmul(self, a: Any, b: Any) -> Any:
        """Return the product of two matrices."""

    @abstractmethod
    def transpose(self, matrix: Any) -> Any:
        """Return the transpose of a value."""

    @abstractmethod
    def trace(self, matrix: Any) -> Any:
        """Return the trace of a value."""

    @abstractmethod
    def inverse(self, expr: Any) -> Any:
        """Return the inverse of an expression, which has not been evaluated yet."""

    @abstractmethod
    def identity(self, n: int) -> Any:
        """Return the identity of size n."""

    @abstractmethod
    def zeros(self, rows: int, cols: int) -> Any:
        """Return the zero matrix."""

    @abstractmethod
    def power(self, base: Expr, exponent: Any) -> Any:
        """Return a rational power of a scalar expression, which has not been evaluated yet."""


class Exact(Evaluator):
    """Evaluate with mpmath; floats enter as the exact binary numbers they are.

    Parameters
    ----------
    values : mapping of str to ndarray
        One array per symbol; vectors may have one axis.
    sizes : mapping of str to int
    ctx : mpmath context
    known : mapping of str to matrix of ``ctx``, optional
        Symbols whose values are numbers of the context already.
    """

    def __init__(
        self, values: Values, sizes: Mapping[str, int], ctx: Any, known: Mapping[str, Any] = NOTHING
    ) -> None:
        super().__init__(sizes)
        self.values = values
        self.ctx = ctx
        self.known = known

    def symbol(self, expr: Any) -> Any:
        if expr.name in self.known:
            return self.known[expr.name]
        value = self._array(self.values, expr.name)
        if isinstance(expr, Symbol):
            return self.ctx.mpf(float(value))
        return self.ctx.matrix((value if value.ndim == 2 else value.reshape(-1, 1)).tolist())

    def number(self, expr: Any) -> Any:
        if expr.is_Rational:
            return self.ctx.mpf(int(expr.p)) / int(expr.q)
        return self.ctx.mpf(str(expr.evalf(self.ctx.dps + 5)))

    def matmul(self, a: Any, b: Any) -> Any:
        return a * b

    def transpose(self, matrix: Any) -> Any:
        return matrix.T

    def trace(self, matrix: Any) -> Any:
        return self.ctx.fsum(matrix[i, i] for i in range(matrix.rows))

    def inverse(self, expr: Any) -> Any:
        return self.ctx.inverse(self(expr))

    def root(self, expr: Any) -> Any:
        return principal_root(self(expr), self.ctx)

    def identity(self, n: int) -> Any:
        return self.ctx.eye(n)

    def zeros(self, rows: int, cols: int) -> Any:
        return self.ctx.zeros(rows, cols)

    def power(self, base: Expr, exponent: Any) -> Any:
        return self.ctx.power(self(base), self.ctx.mpf(int(exponent.p)) / int(exponent.q))


class Magnitude(Exact):
    r"""Evaluate with absolute values: the natural scale, and the condition of the solves on the way.

    .. math:: |P + Q| \to |P| + |Q|, \quad |PQ| \to |P|\,|Q|, \quad |M^{-1}| \to |(M)^{-1}|, \qquad
              \kappa = \max_M \|\,|M|\,\|_\infty \|M^{-1}\|_\infty

    A root :math:`R = P^{1/2}` counts with :math:`|R|` and the condition of R, up to a factor that of the
    Sylvester equation which its perturbation solves, for P similar to a symmetric matrix.

    A float64 evaluation of any order of the same sums and products errs by a modest multiple of
    :math:`(1+\kappa)` units in the last place of this scale.

    Parameters
    ----------
    exact : Exact
    known : mapping of str to matrix, optional
        Natural scales of symbols that stand for sums.
    """

    def __init__(self, exact: Exact, known: Mapping[str, Any] = NOTHING) -> None:
        super().__init__(exact.values, exact.sizes, exact.ctx, known)
        self.exact = exact
        self.condition = 0.0

    def symbol(self, expr: Any) -> Any:
        return self.known[expr.name] if expr.name in self.known else self._absolute(self.exact(expr))

    def number(self, expr: Any) -> Any:
        return abs(super().number(expr))

    def inverse(self, expr: Any) -> Any:
        inverse = self._absolute(self.ctx.inverse(self.exact(expr)))
        self.condition = max(self.condition, float(self._norm(self(expr)) * self._norm(inverse)))
        return inverse

    def root(self, expr: Any) -> Any:
        root = self.exact(MatPow(expr, Rational(1, 2)))
        inverse = self._absolute(self.ctx.inverse(root))
        root = self._absolute(root)
        self(expr)  # the solves inside count too
        self.condition = max(self.condition, float(self._norm(root) * self._norm(inverse)))
        return root

    def member(self, expr: FamilySum, h: int) -> Any:
        inner = self._sliced(expr, h)
        inner.exact = self.exact._sliced(expr, h)
        value = inner(expr.body)
        self.condition = max(self.condition, inner.condition)
        return value

    def power(self, base: Expr, exponent: Any) -> Any:
        if exponent > 0:
            return super().power(base, exponent)
        return abs(self.exact(Pow(base, exponent)))

    def _absolute(self, value: Any) -> Any:
        return value.apply(abs) if hasattr(value, "apply") else abs(value)

    def _norm(self, matrix: Any) -> Any:
        return max(sum(matrix[i, j] for j in range(matrix.cols)) for i in range(matrix.rows))


class Batched(Evaluator):
    """Evaluate in float64 over leading axes of the values: scalars ``(...)``, matrices ``(..., m, n)``."""

    def __init__(self, values: Values, sizes: Mapping[str, int]) -> None:
        super().__init__(sizes)
        self.values = values

    def symbol(self, expr: Any) -> Any:
        value = self._array(self.values, expr.name)
        if isinstance(expr, MatrixSymbol) and value.ndim == 1:
            return value[:, None]
        return value

    def number(self, expr: Any) -> Any:
        return np.float64(expr)

    def scale(self, scalar: Any, matrix: Any) -> Any:
        return np.asarray(scalar)[..., None, None] * matrix

    def matmul(self, a: Any, b: Any) -> Any:
        return a @ b

    def transpose(self, matrix: Any) -> Any:
        return np.swapaxes(matrix, -1, -2)

    def trace(self, matrix: Any) -> Any:
        return np.trace(matrix, axis1=-2, axis2=-1)

    def inverse(self, expr: Any) -> Any:
        return np.linalg.inv(self(expr))

    def root(self, expr: Any) -> Any:
        matrices = np.asarray(self(expr))
        roots = np.empty_like(matrices)
        for place in np.ndindex(matrices.shape[:-2]):
            found = sqrtm(matrices[place])
            if np.iscomplexobj(found) or not np.all(np.isfinite(found)):
                raise InputError(f"({expr})^(1/2): there is no real principal root at these values")
            roots[place] = found
        return roots

    def identity(self, n: int) -> Any:
        return np.eye(n)

    def zeros(self, rows: int, cols: int) -> Any:
        return np.zeros((rows, cols))

    def power(self, base: Expr, exponent: Any) -> Any:
        return self(base) ** float(exponent)


def to_float(matrix: Any) -> np.ndarray[Any, Any]:
    """Return an mpmath matrix as float64, each entry correctly rounded."""
    return np.array([[float(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)])
