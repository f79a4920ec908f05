"""The section ``[sweep]``: which keys of a spec take which values, and what is kept of every run."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.errors import InputError
from symflow.spec.values import read_index, read_number

_STATISTICS = "statistics"
_MOST_VALUES = 10_000_000


@dataclass(frozen=True)
class Axis:
    """One key of a spec and the values that it takes in turn.

    Attributes
    ----------
    path : tuple of str
        Section, key, and indices into arrays.
    values : tuple
        What TOML holds: numbers, text, arrays.
    """

    path: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def text(self) -> str:
        """The path as ``[sweep]`` writes it."""
        return ".".join(self.path)


@dataclass(frozen=True)
class Sweep:
    """The axes of a sweep, the last one fastest, and what is kept of every run.

    Attributes
    ----------
    axes : tuple of Axis
    statistics : tuple of str or None
        What to keep, None for the default.
    """

    axes: tuple[Axis, ...]
    statistics: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def count(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)


def read_sweep(table: Mapping[str, Any]) -> Sweep:
    """Read ``[sweep]``; whether a key exists and takes a value is for whoever reads the spec with it.

    Raises
    ------
    InputError
        If the values of a key are not stated in one of the forms that are known.

    Examples
    --------
    >>> read_sweep({"model.beta": {"linspace": [0, 1, 3]}, "initial.seed": {"range": 2}}).shape
    (3, 2)
    """
    axes = tuple(_axis(key, value) for key, value in table.items() if key != _STATISTICS)
    if not axes:
        raise InputError('[sweep] has no key to vary; write "model.beta" = {linspace = [0.1, 9, 90]}')
    sweep = Sweep(axes, _statistics(table.get(_STATISTICS)))
    if sweep.count > _MOST_VALUES:
        raise InputError(f"[sweep] has {sweep.count} cells; at most {_MOST_VALUES} can be run")
    return sweep


def placed(data: Mapping[str, Any], changes: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """Return a copy of a spec's content with other values at some paths.

    Raises
    ------
    InputError
        If a path leads into what is no table and no array, or beyond the end of an array.
    """
    result = {section: content for section, content in data.items() if section != "sweep"}
    for section in {path[0] for path in changes}:
        result[section] = copy.deepcopy(result.get(section, {}))
    for path, value in changes.items():
        _place(result, path, value)
    return result


def _place(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *way, last = path
    place: Any = data
    for step in way:
        place = place[_key(place, step, path)]
    place[_key(place, last, path, new=True)] = value


def _key(place: Any, step: str, path: tuple[str, ...], *, new: bool = False) -> Any:
    """Return the key or index of a step on the way."""
    where = f'[sweep] "{".".join(path)}"'
    if isinstance(place, dict):
        if step not in place and not new:
            raise InputError(f"{where}: the spec has no {step!r} to go into; give it a value there first")
        return step
    if not isinstance(place, list):
        raise InputError(f"{where}: {step!r} leads into a single value; end the path before it")
    if not step.isdigit() or int(step) >= len(place):
        raise InputError(f"{where}: {step!r} is no index of an array of {len(place)} entries")
    return int(step)


# ---- axes


def _axis(key: str, value: Any) -> Axis:
    path = tuple(key.split("."))
    if len(path) == 1 and isinstance(value, Mapping) and not set(value) & set(_FORMS):
        inner = next(iter(value), "key")
        raise InputError(f'[sweep] {key}.{inner} needs quotation marks: write "{key}.{inner}" = …')
    if len(path) < 2 or not all(path):
        raise InputError(f'[sweep] {key!r} is no path; write section and key, as in "model.beta"')
    if path[0] == "sweep":
        raise InputError(f'[sweep] "{key}" leads into the section itself; vary keys of other sections')
    values = _values(f'[sweep] "{key}"', value)
    if not values:
        raise InputError(f'[sweep] "{key}" has no values; give at least one')
    return Axis(path, values)


def _values(where: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in _FORMS:
        raise InputError(
            f"{where} must be a list or one of {', '.join(f'{{{form} = …}}' for form in _FORMS)}"
        )
    form, content = next(iter(value.items()))
    return _FORMS[form](f"{where} {form}", content)


def _listed(where: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise InputError(f"{where} = {value!r} must be a list")
    return tuple(value)


def _ranged(where: str, value: Any) -> tuple[int, ...]:
    parts = value if isinstance(value, list) else [value]
    whole = all(isinstance(part, int) and not isinstance(part, bool) for part in parts)
    if not whole or not 1 <= len(parts) <= 3 or (len(parts) == 3 and parts[2] == 0):
        raise InputError(f"{where} = {value!r} must be a stop, or [start, stop] or [start, stop, step]")
    numbers = range(*parts)
    _refuse_too_many(where, len(numbers))
    return tuple(numbers)


def _spaced(space: Callable[[float, float, int], Any]) -> Callable[[str, Any], tuple[float, ...]]:
    """Return what reads ``[start, end, count]`` for one way of spacing."""

    def read(where: str, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list) or len(value) != 3:
            raise InputError(f"{where} = {value!r} must be [start, end, count]")
        start, end = (read_number(f"{where}[{i}]", value[i]) for i in range(2))
        count = read_index(f"{where}[2]", value[2])
        _refuse_too_many(where, count)
        with np.errstate(all="ignore"):
            numbers = space(start, end, count)
        if not np.isfinite(numbers).all():
            raise InputError(f"{where} = {value!r} leaves the range of floating-point numbers")
        return tuple(numbers.tolist())

    return read


def _geometric(start: float, end: float, count: int) -> Any:
    if start * end <= 0:
        raise InputError(
            f"[sweep] geomspace from {start} to {end}: both ends must have one sign and not be 0"
        )
    return np.geomspace(start, end, count)


def _refuse_too_many(where: str, count: int) -> None:
    if count > _MOST_VALUES:
        raise InputError(f"{where} has {count} values; give at most {_MOST_VALUES}")


_FORMS: dict[str, Callable[[str, Any], tuple[Any, ...]]] = {
    "linspace": _spaced(np.linspace),
    "logspace": _spaced(np.logspace),
    "geomspace": _spaced(_geometric),
    "range": _ranged,
    "values": _listed,
}


def _statistics(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise InputError(f"[sweep] {_STATISTICS} = {value!r} must be a list of names")
    for i, name in enumerate(value):
        if not isinstance(name, str):
            raise InputError(f"[sweep] {_STATISTICS}[{i}] = {name!r} must be text in quotation marks")
    return tuple(value)
