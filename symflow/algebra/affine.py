"""Affine vector expressions: split ``My + m`` into M and m."""

from __future__ import annotations

from typing import Any

from sympy import Identity, MatMul, MatrixSymbol, ZeroMatrix

from symflow.algebra.terms import terms
from symflow.errors import NotAffine


def affine_parts(expression: Any, y: MatrixSymbol, symmetric: tuple[Any, ...] = ()) -> tuple[Any, Any]:
    """Return (M, m) with ``expression = M*y + m`` and both free of ``y``.

    Parameters
    ----------
    expression : MatrixExpr
        A column vector.
    y : MatrixSymbol
        The column vector in which the expression is affine.
    symmetric : tuple of MatrixSymbol
        Symbols that equal their transpose.

    Raises
    ------
    NotAffine
        If a term contains ``y`` other than as its last factor.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> affine_parts(matrix("V", d, d) * vector("y", d) + vector("b", d), vector("y", d))
    (V, b)
    """
    linear: Any = ZeroMatrix(expression.shape[0], y.shape[0])
    constant: Any = ZeroMatrix(expression.shape[0], 1)
    for coefficient, factors in terms(expression, symmetric):
        term = coefficient * MatMul(*factors)
        if y not in term.free_symbols:
            constant = constant + term
        elif factors[-1] == y and not _occurs(y, factors[:-1]) and y not in coefficient.free_symbols:
            linear = linear + coefficient * _product(factors[:-1], y)
        else:
            raise NotAffine(f"{expression} is not affine in {y}: the term {term} is left over", term)
    return linear, constant


def _product(factors: Any, y: MatrixSymbol) -> Any:
    return MatMul(*factors).doit() if factors else Identity(y.shape[0])


def _occurs(y: MatrixSymbol, factors: Any) -> bool:
    return any(y in factor.free_symbols for factor in factors)
