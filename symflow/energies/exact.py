"""Parameters as the exact numbers that they are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symflow.codegen.arrays import listed
from symflow.errors import InputError

#: A fraction, or nested lists of fractions.
Exact = Any


def exact_value(value: Any, name: str) -> Exact:
    """Return numbers as fractions, floats as the binary fractions that they are.

    Parameters
    ----------
    value : number or array_like
        Of Python, NumPy or SymPy, or nested lists of such.
    name : str
        How messages call it.

    Raises
    ------
    InputError
        If a number is not finite, or exact and irrational, naming its index.

    Examples
    --------
    >>> exact_value([0.5, 2], "c")
    [Fraction(1, 2), Fraction(2, 1)]
    """
    return _nested(listed(value, name), name, ())


def _nested(value: Any, name: str, index: tuple[int, ...]) -> Exact:
    if hasattr(value, "tolist"):  # arrays of NumPy, matrices of SymPy
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_nested(item, name, (*index, i)) for i, item in enumerate(value)]
    return _number(value, f"{name}[{', '.join(map(str, index))}]" if index else name)


def _number(value: Any, name: str) -> Fraction:
    if hasattr(value, "p") and hasattr(value, "q"):  # rationals of SymPy and flint
        return Fraction(int(value.p), int(value.q))
    if getattr(value, "is_number", False) and not getattr(value, "is_Float", False):
        raise InputError(f"{name} = {value} is irrational; give a rational number, or a float near it")
    try:
        return Fraction(value) if isinstance(value, int | Fraction) else Fraction(float(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} = {value!r} is no finite real number; give a number") from error
