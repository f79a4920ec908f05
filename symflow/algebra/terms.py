"""The terms of a matrix expression in normal form: coefficient and factors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sympy import Identity, MatAdd, MatMul, MatrixExpr, MatrixSymbol, S

from symflow.algebra.words import normal_form


def terms(expression: Any, symmetric: tuple[MatrixSymbol, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield (coefficient, factors) of every term; nothing for zero.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d = dimension("d")
    >>> list(terms(2 * matrix("A", d, d) * matrix("B", d, d) + matrix("A", d, d)))
    [(1, (A,)), (2, (A, B))]
    """
    found = normal_form(expression, symmetric).to_sympy()
    if not isinstance(found, MatrixExpr):  # a 1×1 matrix is the same as its entry
        yield from [] if found == 0 else [(found, (Identity(1),))]
        return
    for term in MatAdd.make_args(found):
        if term.is_ZeroMatrix:
            continue
        if isinstance(term, MatMul):
            coefficient, factors = term.as_coeff_matrices()
            yield coefficient, tuple(factors)
        else:
            yield S.One, (term,)
