"""Sums and products put together as they read: nothing is expanded, zeros and identities disappear."""

from __future__ import annotations

from typing import Any

from sympy import MatAdd, MatMul, ZeroMatrix


def product(*factors: Any) -> Any:
    """Return the product of matrices.

    Examples
    --------
    >>> from sympy import Identity
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d = dimension("d")
    >>> A, B = matrix("A", d, d), matrix("B", d, d)
    >>> product(Identity(d), A, A + B), product(A, ZeroMatrix(d, d))
    (A*(A + B), 0)
    """
    if any(f.is_ZeroMatrix for f in factors):
        return ZeroMatrix(factors[0].shape[0], factors[-1].shape[1])
    kept = [f for f in factors if not f.is_Identity]
    return MatMul(*kept).doit(deep=False) if len(kept) > 1 else (kept or factors)[0]


def total(*terms: Any) -> Any:
    """Return the sum of matrices.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d = dimension("d")
    >>> A, B = matrix("A", d, d), matrix("B", d, d)
    >>> total(A * (A + B), ZeroMatrix(d, d), B)
    A*(A + B) + B
    """
    kept = [t for t in terms if not t.is_ZeroMatrix]
    flat = [part for t in kept for part in (t.args if isinstance(t, MatAdd) else (t,))]
    return MatAdd(*flat).doit(deep=False) if len(flat) > 1 else (flat or terms)[0]
