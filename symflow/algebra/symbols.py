"""Symbols of the matrix calculus: sizes, matrices, vectors."""

from __future__ import annotations

from typing import Any

from sympy import MatrixSymbol, Symbol


def dimension(name: str) -> Symbol:
    """Return the symbolic size ``name``: a positive integer.

    Examples
    --------
    >>> dimension("d").is_positive
    True
    """
    return Symbol(name, integer=True, positive=True)


def matrix(name: str, rows: Any, cols: Any) -> MatrixSymbol:
    """Return the real matrix symbol ``name`` of shape ``(rows, cols)``.

    Examples
    --------
    >>> d = dimension("d")
    >>> matrix("A", d, d).shape
    (d, d)
    """
    return MatrixSymbol(name, rows, cols)


def vector(name: str, size: Any) -> MatrixSymbol:
    """Return the real column vector ``name`` of shape ``(size, 1)``.

    Examples
    --------
    >>> vector("x", dimension("d")).shape
    (d, 1)
    """
    return MatrixSymbol(name, size, 1)
