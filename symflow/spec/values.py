"""Numbers and arrays from TOML; a message names section, key and index."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import entry
from symflow.errors import InputError

Array = NDArray[np.float64]


@contextmanager
def at(place: str) -> Iterator[None]:
    """Put the place in the spec file before the message of an input error, keeping its evidence."""
    try:
        yield
    except InputError as error:
        error.args = (f"{place} {error}",)
        raise


def read_number(where: str, value: Any) -> float:
    """Return a finite number; ``where`` names it in messages."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where} = {value!r} is not a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise InputError(f"{where} is a number beyond 1.8e308; floating-point numbers end there") from error
    if not math.isfinite(number):
        raise InputError(f"{where} = {value} is not finite; give a finite number")
    return number


def read_index(where: str, value: Any) -> int:
    """Return a whole number ≥ 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{where} = {value!r} must be a whole number ≥ 0")
    return value


def read_array(where: str, value: Any) -> Array:
    """Return nested lists as a float64 array, naming the first entry that does not fit."""
    _check_nested(where, value, ())
    return np.array(value, dtype=np.float64)


def _check_nested(where: str, value: Any, index: tuple[int, ...]) -> int | None:
    """Check one level of nesting and return its length, None for a number."""
    if not isinstance(value, list):
        read_number(entry(where, index), value)
        return None
    if not value:
        raise InputError(f"{entry(where, index)} is empty; give at least one entry")
    lengths = [_check_nested(where, item, (*index, i)) for i, item in enumerate(value)]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            first, other = (f"{entry(where, (*index, k))} has {_count(lengths[k])}" for k in (0, i))
            raise InputError(f"{other} but {first}; rows must have equal length")
    return len(value)


def _count(length: int | None) -> str:
    return "no entries" if length is None else f"{length} entries" if length != 1 else "1 entry"
