"""Exact numbers as they enter and leave second derivatives: read, decided, sorted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from numbers import Rational as RationalNumber
from typing import Any

from symflow.codegen.arrays import listed
from symflow.errors import InputError

__all__ = ["as_rows", "is_exact", "nested"]


def is_exact(entry: Any) -> bool:
    """Whether a number is exact: an integer, a fraction, an exact real SymPy number, a ring element."""
    if isinstance(entry, bool):
        return False
    if isinstance(entry, RationalNumber) or hasattr(entry, "to_sympy"):
        return True
    atoms = getattr(entry, "atoms", None)
    if atoms is None:
        return False
    from sympy import Expr, Float

    return isinstance(entry, Expr) and not entry.free_symbols and not atoms(Float)


def nested(value: Any, name: str) -> tuple[list[Any], tuple[int, ...]]:
    """Return the entries of an array-like of any depth in a row, and its shape.

    Raises
    ------
    InputError
        If it is ragged or has no order.
    """
    value = listed(value, name)
    if hasattr(value, "tolist"):  # NumPy's and SymPy's arrays keep exact entries
        value = value.tolist()
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        return [value], ()
    parts = [nested(part, name) for part in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise InputError(f"{name} is ragged: its rows differ in length; give a rectangular array")
    entries = [entry for part, _ in parts for entry in part]
    return entries, (len(parts), *(shapes.pop() if shapes else ()))


def as_rows(entries: Sequence[Any], shape: tuple[int, int]) -> tuple[tuple[Any, ...], ...]:
    """Return entries in a row as rows."""
    n, d = shape
    return tuple(tuple(entries[i * d : (i + 1) * d]) for i in range(n))


def plain(entries: Iterable[Any]) -> list[Any]:
    """Return rational entries as fractions, others as they are."""
    return [_plain(entry) for entry in entries]


def _plain(entry: Any) -> Any:
    if isinstance(entry, RationalNumber):
        return Fraction(int(entry.numerator), int(entry.denominator))
    if getattr(entry, "is_Rational", False) is True:
        return Fraction(int(entry.p), int(entry.q))
    return entry
