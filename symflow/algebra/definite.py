"""Signs of symmetric matrix expressions that hold at every size."""

from __future__ import annotations

from typing import Any

from sympy import MatrixSymbol, Transpose

from symflow.algebra.families import FamilySum
from symflow.algebra.terms import terms


def is_negative_semidefinite(expression: Any, symmetric: tuple[MatrixSymbol, ...] = ()) -> bool:
    """Whether the expression is a sum of terms ``−c XᵀX`` with c ≥ 0, hence ⪯ 0 for all values.

    In the middle of a term may stand a sum over a family of such squares.

    Sound but not complete: False means that this rule does not decide.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> K = matrix("K", dimension("k"), dimension("d"))
    >>> is_negative_semidefinite(-2 * K.T * K)
    True
    >>> is_negative_semidefinite(K.T * K)
    False
    """
    return all(_is_negative_square(*term, symmetric) for term in terms(expression, symmetric))


def _is_negative_square(coefficient: Any, factors: tuple[Any, ...], symmetric: tuple[Any, ...]) -> bool:
    """Whether c·M₁…Mₙ has c ≤ 0 and mirrors itself, with nothing in the middle but a sum of squares."""
    if all(factor.is_Identity for factor in factors):
        return bool(coefficient.is_nonpositive)
    half, odd = divmod(len(factors), 2)
    if odd and isinstance(factors[half], FamilySum):
        middle = factors[half]
        if not is_negative_semidefinite(-middle.body, symmetric):
            return False
        factors = (*factors[:half], *factors[half + 1 :])
        odd = 0
    mirrored = [f if f in symmetric else Transpose(f).doit() for f in reversed(factors)]
    return bool(coefficient.is_nonpositive) and not odd and list(factors) == mirrored
