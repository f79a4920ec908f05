"""Arrays that a caller gives: each checked and refused by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.codegen.arrays import listed
from symflow.codegen.interface import TOKENS, Entry, Interface, Slot
from symflow.codegen.keys import SCALE
from symflow.codegen.sizes import Sizes
from symflow.errors import InputError

FloatArray = NDArray[np.float64]


def array(slot: Slot, value: Any, role: str = "state") -> FloatArray:
    """Return ``value`` as a contiguous float64 copy with the number of axes that ``slot`` has.

    Raises
    ------
    InputError
        If it is not a real array of that many axes.
    """
    if hasattr(value, "as_explicit") and hasattr(value, "tolist") and not isinstance(value, np.ndarray):
        value = value.tolist()  # a SymPy matrix, dense or sparse
    value = listed(value, f"{role} {slot.name!r}")
    try:
        raw = np.array(value)
        if np.iscomplexobj(raw):
            raise InputError(f"{role} {slot.name!r} is complex; give real numbers")
        found = np.array(raw, dtype=np.float64, order="C").view(np.float64)  # plain byte order
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{role} {slot.name!r} cannot be read as an array of numbers: {error}") from None
    wanted = len(slot.axes)
    if slot.cols == 1 and found.ndim > wanted and found.shape[wanted:] == (1,) * (found.ndim - wanted):
        found = found.reshape(found.shape[:wanted])
    if found.ndim != wanted:
        raise InputError(f"{role} {slot.name!r} has shape {found.shape}; give shape {slot.shown}")
    return found


def _finite(slot: Slot, found: FloatArray, role: str = "parameter") -> FloatArray:
    if not np.isfinite(found).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
        where = f" at index {index if len(index) > 1 else index[0]}" if index else ""
        raise InputError(f"{role} {slot.name!r} is {found[index]}{where}; give finite numbers")
    return found


def tokens_of(value: Any, space: str) -> FloatArray:
    """Return tokens, one per row, as a contiguous float64 copy.

    Raises
    ------
    InputError
        If there are none, one is not finite, or zero on the sphere.
    """
    name = TOKENS.name
    found = _finite(TOKENS, array(TOKENS, value), "state")
    if not found.size:
        raise InputError(f"state {name!r} has shape {found.shape}; give at least one token of one coordinate")
    if space == "sphere" and not found.any(axis=1).all():
        index = int(np.argmin(found.any(axis=1)))
        raise InputError(
            f"state {name!r}: token {index} is zero, which is no point of the sphere; give unit vectors"
        )
    return found


def require_finite(velocities: FloatArray, model: str) -> None:
    """Refuse velocities (n, d) that no number can hold.

    Raises
    ------
    InputError
        Naming the first token with one.
    """
    finite = np.isfinite(velocities).all(axis=1)
    if not finite.all():
        raise InputError(
            f"the velocity of token {int(np.argmin(finite))} is not finite: a weight of {model} leaves the "
            "range of floating-point numbers, or its score is not defined there; reduce beta or rescale x"
        )


def parameters(
    interface: Interface, params: Mapping[str, Any], zero: Iterable[str], model: Any
) -> dict[str, FloatArray]:
    """Return every parameter of ``interface`` as a float64 array, in call order.

    ``zero`` names the biases that are left out; ``beta`` and ``temperature`` default to the model's.

    Raises
    ------
    InputError
        If a name is unknown or missing, or a value has the wrong shape or is not finite.
    """
    known = {slot.name for slot in interface.parameters}
    scale = {name: getattr(model, name, 1) for name in SCALE}
    unknown = sorted(set(params) - known - {"beta", "temperature"})
    if unknown == ["diffusion"]:
        raise InputError(
            f"{interface.name} has no noise; give diffusion to the model, not only as a parameter"
        )
    if unknown:
        raise InputError(
            f"parameter {unknown[0]!r} is unknown to {interface.name}; it takes {', '.join(sorted(known))}"
        )
    values: dict[str, FloatArray] = {}
    zeros = frozenset(zero)
    for slot in interface.parameters:
        if slot.name in params:
            values[slot.name] = _finite(slot, array(slot, params[slot.name], "parameter"))
        elif slot.name in scale:
            values[slot.name] = np.array(_default_scale(slot.name, scale[slot.name], interface))
        elif slot.name not in zeros:
            raise InputError(
                f"parameter {slot.name!r} of {interface.name} is missing; give shape {slot.shown}"
            )
    sizes = Sizes(interface.name)
    sizes.take_all(interface.parameters, values, "parameter")
    _require_heads(interface, values, getattr(model, "count", None))
    for slot in interface.parameters:
        if slot.name not in values:
            values[slot.name] = np.zeros([sizes[n] for n in slot.axes])
    return {slot.name: values[slot.name] for slot in interface.parameters}


def _require_heads(interface: Interface, values: Mapping[str, FloatArray], count: int | None) -> None:
    """Refuse another number of heads than a list of heads in the model fixed."""
    for slot in interface.parameters:
        given = values.get(slot.name)
        if count is not None and slot.lead is not None and given is not None and len(given) != count:
            raise InputError(f"parameter {slot.name!r} has {len(given)} heads, the model has {count}")


def _default_scale(name: str, value: Any, interface: Interface) -> float:
    try:
        return float(value)
    except TypeError:
        raise InputError(
            f"parameter {name!r} of {interface.name} is missing: the model has the symbol, not a number"
        ) from None


def require_count(entry: Entry, state: Sequence[Any]) -> None:
    """Refuse a wrong number of states."""
    if len(state) != len(entry.inputs):
        names = ", ".join(f"{s.name} {s.shown}" for s in entry.inputs)
        raise InputError(f"{len(state)} states were given; this kernel takes {len(entry.inputs)}: {names}")
