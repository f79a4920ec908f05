"""Checks of numbers that enter: every refusal names the argument, the index and the remedy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.codegen.arrays import listed
from symflow.errors import InputError

Array = NDArray[np.float64]


def real_array(value: Any, name: str) -> Array:
    """Return ``value`` as a new contiguous float64 array with finite entries.

    Parameters
    ----------
    value : array_like
        Numbers of any real type: lists and other iterables, NumPy arrays, SymPy matrices (sparse ones too).
    name : str
        How messages call it.

    Raises
    ------
    InputError
        If it is ragged, not numeric, complex, or has an entry that is NaN or infinite.

    Examples
    --------
    >>> real_array([[1, 2], [3, 4]], "V").dtype
    dtype('float64')
    """
    if callable(value) and not hasattr(value, "__array__"):
        raise InputError(
            f"{name} is a function; give numbers, parameters that depend on time are not available"
        )
    array = _as_float(value, name)
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        number = float(array[index])
        raise InputError(
            f"{entry(name, index)} is {'nan' if math.isnan(number) else number}; give finite numbers"
        )
    return array


def _as_float(value: Any, name: str) -> Array:
    value = listed(value, name)
    try:
        raw = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} is ragged: its rows differ in length; give a rectangular array") from error
    if raw.dtype.kind not in "biufO":
        raise InputError(f"{name} holds items of type {raw.dtype}; give real numbers")
    try:
        # a dtype that spells out its byte order, as files have it, is equal to float64 and not the same
        return np.array(raw, dtype=np.float64, order="C").view(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} holds items that are not real numbers ({error}); give real numbers"
        ) from error


def entry(name: str, index: tuple[int, ...]) -> str:
    """Return ``name[i, j]``, or the name alone for a scalar."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def real_number(value: Any, name: str) -> float:
    """Return ``value`` as a finite float.

    Raises
    ------
    InputError
        If it is not a finite real number.
    """
    array = real_array(value, name)
    if array.size != 1:
        raise InputError(f"{name} must be one number, got an array of shape {array.shape}")
    return float(array.reshape(()))


def positive_number(value: Any, name: str) -> float:
    """Return ``value`` as a finite float > 0.

    Raises
    ------
    InputError
        If it is not.
    """
    number = real_number(value, name)
    if not number > 0.0:
        raise InputError(f"{name} = {number!r} must be positive")
    return number


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return ``value`` as an integer from ``least`` on.

    Raises
    ------
    InputError
        If it is none.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} = {value!r} must be a whole number ≥ {least}")
    return int(value)
