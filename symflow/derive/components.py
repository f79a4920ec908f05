"""Expressions of symbolic size written out with explicit matrices, and random values to put into them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import mpmath
from sympy import (
    Expr,
    Float,
    Identity,
    Integer,
    Inverse,
    MatAdd,
    MatPow,
    Matrix,
    MatrixExpr,
    MatrixSymbol,
    Rational,
    Trace,
    ZeroMatrix,
    diag,
    eye,
)

from symflow.algebra.families import FamilySum

Values = Mapping[Any, Any]

#: Digits of a principal square root, the only thing that is not computed exactly.
ROOT_DIGITS = 60
#: A residual below this is zero where a root is involved.
ROOT_ZERO = Float("1e-40", ROOT_DIGITS)


def spelled_out(expression: Any, count: int = 2) -> Any:
    """Return the expression with every sum over a family written out for ``count`` members."""
    return expression.replace(lambda e: isinstance(e, FamilySum), lambda e: _summands(e, count))


def _summands(family: Any, count: int) -> Any:
    slices = (
        {member: MatrixSymbol(f"{member.name}_{h}", *member.shape) for member in family.members}
        for h in range(1, count + 1)
    )
    return MatAdd(*(family.body.xreplace(table) for table in slices))


def explicit(expression: Any, values: Values, sizes: Values) -> Any:
    """Return the expression with explicit matrices in place of symbols, multiplied out by SymPy.

    Parameters
    ----------
    expression : Expr or MatrixExpr
        An expression of symbolic size.
    values : mapping
        Matrix symbol or scalar symbol to its value.
    sizes : mapping
        Dimension symbol to integer.
    """
    table: dict[Any, Any] = {e: eye(_size(e.shape[0], sizes)) for e in expression.atoms(Identity)}
    table |= {e: Matrix.zeros(*(_size(s, sizes) for s in e.shape)) for e in expression.atoms(ZeroMatrix)}
    table |= {**{size: Integer(n) for size, n in sizes.items()}, **values}  # a score may be divided by √d
    frozen = {key: v.as_immutable() if hasattr(v, "as_immutable") else v for key, v in table.items()}
    filled = expression.xreplace(frozen).replace(_is_power, _power)
    filled = filled.replace(lambda e: isinstance(e, Trace), lambda e: e.arg.doit().trace())
    if isinstance(filled, Expr) and not isinstance(filled, MatrixExpr):
        return filled.doit()
    done = filled.doit()
    return Matrix(done.as_explicit() if isinstance(done, MatrixExpr) else done)


def _is_power(expression: Any) -> bool:
    root = isinstance(expression, MatPow) and expression.exp == Rational(1, 2)
    return root or isinstance(expression, Inverse)


def _power(power: Any) -> Any:
    """Invert over the number field, where entries stay a + b√2; a root is taken to many digits."""
    matrix = Matrix(power.base.doit())
    if isinstance(power, Inverse):
        if not matrix.atoms(Float):
            return matrix.to_DM(extension=True).to_field().inv().to_Matrix().as_immutable()
        return _in_digits(mpmath.inverse, matrix)
    return _in_digits(mpmath.sqrtm, matrix)


def in_digits(matrix: Any) -> Any:
    """Return an explicit matrix in the numbers of mpmath, to :data:`ROOT_DIGITS` digits."""
    rows = range(matrix.rows)
    return mpmath.matrix([[mpmath.mpmathify(e.evalf(ROOT_DIGITS)) for e in matrix.row(i)] for i in rows])


def _in_digits(function: Any, matrix: Any) -> Any:
    """Apply a function of matrices with real values."""
    with mpmath.workdps(ROOT_DIGITS):
        value = function(in_digits(matrix))
        entries = [Float(mpmath.re(entry), ROOT_DIGITS) for entry in value]
    return Matrix(matrix.rows, matrix.cols, entries).as_immutable()


class Draw:
    """Small random rationals for the symbols of an expression, at one explicit size."""

    def __init__(self, size: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._size = size
        self.sizes: dict[Any, int] = {}

    def values(self, expressions: Any, skip: tuple[Any, ...]) -> dict[Any, Any]:
        """Draw every free symbol except ``skip``; inner sizes differ from d where d > 1."""
        parts = expressions if isinstance(expressions, list) else [expressions]
        free = {s for e in parts for s in e.free_symbols if s not in skip}
        shaped = {m for e in parts for m in e.atoms(MatrixSymbol, Identity, ZeroMatrix)}
        dims = {s for m in shaped for s in _size_symbols(m)}
        inner = max(1, self._size - 1)
        self.sizes = {s: self._size if s.name == "d" else inner for s in dims}
        named = sorted(free - dims, key=lambda s: s.name)
        return {s: self._value(s) for s in named}

    def matrix(self, rows: int, cols: int) -> Any:
        """Draw a rational matrix with entries in [−1/2, 1/2]."""
        return Matrix(rows, cols, lambda i, j: Rational(self._random.randint(-4, 4), 8))

    def lower_triangular(self, size: int) -> Any:
        """Draw a nonsingular lower triangular factor."""
        drawn = self.matrix(size, size)
        return drawn.lower_triangular(-1) + diag(*(Rational(3 + i, 5) for i in range(size)))

    def _value(self, symbol: Any) -> Any:
        if hasattr(symbol, "shape"):
            return self.matrix(*(_size(s, self.sizes) for s in symbol.shape))
        # Positive, so that it lies in the domain of every scalar parameter.
        return Rational(self._random.randint(1, 8), 8)


def _size(size: Any, sizes: Values) -> int:
    return int(size.subs(sizes)) if isinstance(size, Expr) else int(size)


def _size_symbols(symbol: Any) -> set[Any]:
    return {s for size in getattr(symbol, "shape", ()) for s in getattr(size, "free_symbols", ())}


def is_nonzero(entry: Any) -> bool:
    """Whether an explicit number is not zero: exactly, or beyond the digits of a root."""
    if entry.atoms(Float):
        return bool(abs(entry.evalf(ROOT_DIGITS)) > ROOT_ZERO)
    return not (entry.expand().is_zero or entry.equals(0))
