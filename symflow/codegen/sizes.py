"""Symbolic sizes of a call: read off arrays, given by the caller, or found from the length of a state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from symflow.codegen.interface import Entry, Interface, Size, Slot
from symflow.errors import InputError


class Sizes:
    """Symbolic sizes as they become known, each with the argument that fixed it."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._known: dict[str, tuple[int, str]] = {}

    def __getitem__(self, size: Size) -> int:
        return size if isinstance(size, int) else self._known[size][0]

    def __contains__(self, size: Size) -> bool:
        return isinstance(size, int) or size in self._known

    def take_all(self, slots: Iterable[Slot], values: Mapping[str, Any], role: str) -> None:
        """Read the sizes off arrays, refusing the first that contradicts an earlier one."""
        for slot in slots:
            if slot.name in values:
                for size, actual in zip(slot.axes, values[slot.name].shape, strict=True):
                    self.take(size, actual, f"{role} {slot.name!r}", slot.shown, values[slot.name].shape)

    def take(self, size: Size, actual: int, who: str, wanted: str, shape: tuple[int, ...]) -> None:
        """Fix one size.

        Raises
        ------
        InputError
            If it contradicts an earlier argument.
        """
        if isinstance(size, int):
            if size != actual:
                raise InputError(f"{who} has shape {shape}; give shape {wanted}")
            return
        known, source = self._known.setdefault(size, (actual, who))
        if known != actual:
            raise InputError(
                f"{who} has shape {shape}, but {self._owner} needs {wanted} with {size} = {known}, "
                f"as {source} has"
            )


def infer(
    entry: Entry, interface: Interface, values: Mapping[str, Any], state: Mapping[str, Any]
) -> tuple[int, ...]:
    """Return the sizes of a call from parameters and states."""
    sizes = _of_parameters(interface, values)
    sizes.take_all(entry.inputs, state, "state")
    return _in_order(entry, interface, sizes)


def complete(
    entry: Entry,
    interface: Interface,
    values: Mapping[str, Any],
    dims: Mapping[str, int] | Sequence[int] | None,
) -> tuple[int, ...]:
    """Return the sizes of a call from ``dims`` and the parameters, refusing a contradiction."""
    sizes = _of_parameters(interface, values)
    if dims is None:
        dims = {}
    if not isinstance(dims, Mapping):
        if len(dims) != len(entry.dimensions):
            raise InputError(
                f"dims has {len(dims)} sizes; give {len(entry.dimensions)}: {', '.join(entry.dimensions)}"
            )
        dims = dict(zip(entry.dimensions, dims, strict=True))
    _take_named(sizes, entry, dims)
    return _in_order(entry, interface, sizes)


def _take_named(sizes: Sizes, entry: Entry, dims: Mapping[str, int]) -> None:
    for name, value in dims.items():
        if name not in entry.dimensions:
            raise InputError(f"dims has {name!r}; {entry.name} has the sizes {', '.join(entry.dimensions)}")
        sizes.take(name, int(value), f"dims[{name!r}]", str(name), (int(value),))


def from_length(
    entry: Entry,
    interface: Interface,
    values: Mapping[str, Any],
    length: int,
    dims: Mapping[str, int],
) -> tuple[int, ...]:
    """Return the sizes of a call whose flattened state has ``length`` entries; one size may be unknown.

    ``dims`` has sizes that are known already.

    Raises
    ------
    InputError
        If no value of the unknown size gives that length.
    """
    sizes = _of_parameters(interface, values)
    _take_named(sizes, entry, dims)
    unknown = [name for name in entry.dimensions if name not in sizes]
    if len(unknown) > 1:
        raise InputError(
            f"sizes {', '.join(unknown)} of {interface.name} are not determined by its parameters; "
            f"pass dims={{{unknown[0]!r}: …}}"
        )
    for candidate in range(1, length + 1) if unknown else (0,):
        table = {n: candidate if n in unknown else sizes[n] for n in entry.dimensions}
        if sum(_extent(slot, table) for slot in entry.inputs) == length:
            return tuple(table[name] for name in entry.dimensions)
    known = ", ".join(f"{name} = {sizes[name]}" for name in entry.dimensions if name in sizes)
    pieces = " + ".join(slot.shown for slot in entry.inputs)
    raise InputError(
        f"y has {length} entries; {interface.name} {entry.name} needs {pieces} with {known or 'its sizes'}"
    )


def state_length(entry: Entry, dims: Sequence[int], slots: Iterable[Slot]) -> int:
    """Return how many numbers ``slots`` of an entry hold."""
    table = dict(zip(entry.dimensions, dims, strict=True))
    return sum(_extent(slot, table) for slot in slots)


def _extent(slot: Slot, table: Mapping[str, int]) -> int:
    return math.prod(n if isinstance(n, int) else table[n] for n in slot.extents)


def _of_parameters(interface: Interface, values: Mapping[str, Any]) -> Sizes:
    sizes = Sizes(interface.name)
    sizes.take_all(interface.parameters, values, "parameter")
    return sizes


def _in_order(entry: Entry, interface: Interface, sizes: Sizes) -> tuple[int, ...]:
    unknown = [name for name in entry.dimensions if name not in sizes]
    if unknown:
        raise InputError(f"size {unknown[0]!r} of {interface.name} is not determined; pass it in dims")
    return tuple(sizes[name] for name in entry.dimensions)
