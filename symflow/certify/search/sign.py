"""Search for the sign of a symmetric matrix of symbolic size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Identity, MatMul, Mul, Pow, Rational, Transpose

from symflow.algebra.terms import terms
from symflow.algebra.words import identical
from symflow.certify.search.chain import ChainWriter


def gram_terms(matrix: Any, signs: Mapping[Any, str]) -> list[tuple[Any, Any]] | None:
    """Return pairs (c, X) with ``matrix = −Σ c XᵀX``, every c ≥ 0; None if the terms do not show that.

    Parameters
    ----------
    matrix : MatrixExpr
        Symmetric.
    signs : Mapping
        Scalar symbols known to be ``"nonnegative"`` or ``"positive"``.
    """
    found = []
    for scalar, factors in terms(matrix):
        half = _root([factor for factor in factors if not factor.is_Identity], matrix.shape[0])
        if half is None or not _nonnegative(-scalar, signs):
            return None
        found.append((-scalar, half))
    return found


def _root(word: list[Any], size: Any) -> Any:
    """Return X with XᵀX = word, or None."""
    if not word:
        return Identity(size)
    half = MatMul(*word[len(word) // 2 :]).doit()
    product = MatMul(Transpose(half).doit(), half)
    return half if len(word) % 2 == 0 and identical(product, MatMul(*word)) else None


def _nonnegative(scalar: Any, signs: Mapping[Any, str]) -> bool:
    if isinstance(scalar, Rational):
        return bool(scalar >= 0)
    if isinstance(scalar, Mul):
        return all(_nonnegative(factor, signs) for factor in scalar.args)
    if isinstance(scalar, Pow) and isinstance(scalar.exp, Rational):
        positive_base = signs.get(scalar.base) == "positive" or (scalar.base.is_Rational and scalar.base > 0)
        return bool(positive_base or (scalar.exp > 0 and _nonnegative(scalar.base, signs)))
    return scalar in signs


def write_definite(
    chain: ChainWriter, precision: Any, factor: Any, squares: list[tuple[Any, Any]], signs: Mapping[Any, str]
) -> str:
    """Write that ``precision = I − Fᵀ C F ≻ 0`` for ``C = −Σ c XᵀX`` and return the id of the line."""
    summands = [chain.add("identity", "definite", {"matrix": Identity(factor.shape[1])})]
    for scalar, root in squares:
        gram = chain.add("gram", "semidefinite", {"matrix": root.T * root}, factor=root)
        known = tuple(
            f"sign of {symbol.name}" for symbol in sorted(scalar.free_symbols, key=str) if symbol in signs
        )
        sign = chain.add("scalar-sign", "nonnegative", {"scalar": scalar}, known)
        scaled = scalar * root.T * root
        line = chain.add("scale", "semidefinite", {"matrix": scaled}, (gram, sign))
        image = factor.T * scaled * factor
        summands.append(chain.add("congruence", "semidefinite", {"matrix": image}, (line,), factor=factor))
    return chain.add("sum", "definite", {"matrix": precision}, tuple(summands))
