"""Transposition that keeps the shape of an expression, so that a formula reads like its mirror image."""

from __future__ import annotations

from typing import Any

from sympy import Inverse, MatAdd, MatMul, MatPow, MatrixSymbol, Transpose

from symflow.algebra.families import FamilySum


def transposed(expression: Any, symmetric: tuple[MatrixSymbol, ...] = ()) -> Any:
    """Return the transpose carried through products, sums, inverses, roots and sums over a family.

    Examples
    --------
    >>> from sympy import Identity, Inverse
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d = dimension("d")
    >>> S, A = matrix("S", d, d), matrix("A", d, d)
    >>> transposed(Inverse(Identity(d) + S*A)*S, (S,))
    S*(I + A.T*S)**(-1)
    """
    if expression in symmetric or expression.is_Identity:
        return expression
    if isinstance(expression, MatMul):
        coefficient, factors = expression.as_coeff_matrices()
        return MatMul(coefficient, *(transposed(f, symmetric) for f in reversed(factors))).doit(deep=False)
    if isinstance(expression, MatAdd):
        return MatAdd(*(transposed(term, symmetric) for term in expression.args)).doit(deep=False)
    if isinstance(expression, Inverse):
        return Inverse(transposed(expression.arg, symmetric))
    if isinstance(expression, FamilySum):
        return FamilySum(transposed(expression.body, symmetric), expression.members, expression.count)
    if isinstance(expression, MatPow):
        return MatPow(transposed(expression.base, symmetric), expression.exp)
    return Transpose(expression).doit()
