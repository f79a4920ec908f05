"""The order in which the terms of a sum are written; it depends on the terms only, not on their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import sympy


def _is_negative(term: Any) -> bool:
    coefficient = term.as_coeff_matrices()[0] if isinstance(term, sympy.MatMul) else term.as_coeff_Mul()[0]
    return bool(coefficient.could_extract_minus_sign())


def _matrix_rank(term: Any) -> int:
    """Identity, then the mean, then products, then offsets such as a bias."""
    factors = term.as_coeff_matrices()[1] if isinstance(term, sympy.MatMul) else [term]
    if len(factors) == 1 and isinstance(factors[0], sympy.Identity):
        return 0
    if len(factors) == 1 and isinstance(factors[0], sympy.MatrixSymbol):
        return 1 if factors[0].name in ("alpha", "α") else 3 if factors[0].shape[1] == 1 else 2
    return 2


def order_matrix_terms(terms: Sequence[Any], write: Callable[[Any], Any]) -> list[Any]:
    """Return the terms of a matrix sum in reading order: identity, mean, products, offsets."""
    kept = [t for t in terms if not t.is_ZeroMatrix] or list(terms[:1])
    ordered = sorted(kept, key=lambda t: (_matrix_rank(t), transposes(t), _natural(write(abs_term(t)))))
    first = next((t for t in ordered if not _is_negative(t)), ordered[0])
    return [first, *(t for t in ordered if t is not first)]


def _natural(text: Any) -> str:
    """Return a key that puts W2 before W10."""
    return re.sub(r"\d+", lambda digits: digits.group().zfill(6), str(text))


def abs_term(term: Any) -> Any:
    """Return the term without its sign."""
    return -term if _is_negative(term) else term


def order_scalar_terms(expr: Any) -> list[Any]:
    """Return the terms of a scalar sum: forms with most letters first, plain scalars as SymPy orders them."""
    plain = [t for t in expr.as_ordered_terms() if not t.has(sympy.Trace)]
    forms = sorted(
        (t for t in expr.args if t.has(sympy.Trace)),
        key=lambda t: (-_letters(t), abs(t.as_coeff_Mul()[0]) != 1, _natural(abs_term(t))),
    )
    ordered = [*forms, *plain]
    first = next((t for t in ordered if not _is_negative(t)), ordered[0]) if forms else ordered[0]
    return [first, *(t for t in ordered if t is not first)]


def transposes(expr: Any) -> int:
    """Return how many transposes an expression holds."""
    return sum(isinstance(node, sympy.Transpose) for node in sympy.preorder_traversal(expr))


def _letters(expr: Any) -> int:
    return sum(isinstance(node, sympy.MatrixSymbol) for node in sympy.preorder_traversal(expr))
