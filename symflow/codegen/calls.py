"""A generated function bound to sizes and parameters, and its value at one flattened state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from symflow.codegen.interface import Entry, Interface, Slot
from symflow.codegen.load import Form
from symflow.codegen.sizes import state_length
from symflow.codegen.values import FloatArray
from symflow.errors import NormaliserDiverges, NotConverged

#: What a right-hand side returns; the numbers are those of ``symflow_abi.h``.
_OK, _SINGULAR, _OUTSIDE, _NOT_CONVERGED = 0, 1, 2, 4


def pack(arrays: Iterable[FloatArray]) -> FloatArray:
    """Return the flattened state."""
    return np.concatenate([a.ravel() for a in arrays])


def unpack(entry: Entry, dims: Sequence[int], flat: FloatArray) -> tuple[FloatArray, ...]:
    """Return one array per output, vectors with one axis."""
    table = dict(zip(entry.dimensions, dims, strict=True))
    found, start = [], 0
    for slot in entry.outputs:
        shape = [n if isinstance(n, int) else table[n] for n in slot.axes]
        stop = start + math.prod(shape)
        found.append(flat[start:stop].reshape(shape))
        start = stop
    return tuple(found)


def bind(form: Form, name: str, dims: Sequence[int], values: Mapping[str, FloatArray]) -> Any:
    """Return ``call(t, y, dy) -> status`` for one entry, with its size as ``call.size``."""
    entry = form.interface.entry(name)
    length = state_length(entry, dims, entry.inputs)
    if form.backend == "numpy":
        return NumpyCall(form, entry, dims, values)
    from symflow_ext.call import Call

    # The runtime copies the parameters; y and dy of a tangent have different lengths, the larger one is y.
    return Call(form.capsule, name, dims, [np.atleast_1d(v) for v in values.values()], length)


class NumpyCall:
    """The NumPy text of one entry behind the interface of a compiled call."""

    def __init__(
        self, form: Form, entry: Entry, dims: Sequence[int], values: Mapping[str, FloatArray]
    ) -> None:
        self.size = state_length(entry, dims, entry.inputs)
        self._function = form.functions[entry.name]
        self._outside = form.functions["OutsideDomain"]
        self._endless = form.functions.get("NotConverged", ())
        self._table = dict(zip(entry.dimensions, dims, strict=True))
        self._inputs = entry.inputs
        self._arguments = [
            _as_matrix(slot, values[slot.name], form.interface) for slot in form.interface.parameters
        ]

    def __call__(self, t: float, y: FloatArray, dy: FloatArray) -> int:
        """Write the derivative at (t, y) into dy and return the status."""
        states, start = [], 0
        for slot in self._inputs:
            shape = [n if isinstance(n, int) else self._table[n] for n in slot.extents]
            stop = start + math.prod(shape)
            states.append(y[start:stop].reshape(shape))
            start = stop
        try:
            with np.errstate(all="ignore"):  # a compiled kernel lets infinities through, too
                results = self._function(*states, *self._arguments)
        except np.linalg.LinAlgError:
            return _SINGULAR
        except self._outside:
            return _OUTSIDE
        except self._endless:
            return _NOT_CONVERGED
        stop = 0
        for result in results:
            dy[stop : stop + result.size] = result.ravel()
            stop += result.size
        return _OK


def _as_matrix(slot: Slot, value: FloatArray, interface: Interface) -> Any:
    if slot.name in interface.scalars:
        return float(value)
    return value.reshape(*value.shape[: len(slot.axes)], 1) if slot.cols == 1 else value


def evaluate(call: Any, t: float, y: FloatArray) -> FloatArray:
    """Return the derivative at (t, y).

    Raises
    ------
    NormaliserDiverges
        Where the drift is not defined.
    NotConverged
        Where an iteration has not met its stopping rule.
    """
    dy = np.zeros(call.size)
    status = call(t, y, dy)
    if status == _OUTSIDE:
        raise NormaliserDiverges(
            f"at t = {t:g} the normaliser diverges: I − Σ^(1/2)CΣ^(1/2) is not positive definite"
        )
    if status == _SINGULAR:
        raise NormaliserDiverges(
            f"at t = {t:g} the normaliser diverges: a matrix of the drift, such as I − ΣC, has no inverse "
            "or no square root"
        )
    if status == _NOT_CONVERGED:
        raise NotConverged(
            f"at t = {t:g} the doubly stochastic scaling of the weights has not converged; "
            "raise the temperature"
        )
    return dy
