"""Values in, values out: arrays checked by name, sizes inferred, a generated function bound and called."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symflow.codegen.arrays import listed
from symflow.codegen.interface import Entry, Interface, Size, Slot
from symflow.codegen.keys import SCALE
from symflow.codegen.load import Form
from symflow.errors import InputError, NormaliserDiverges

if TYPE_CHECKING:
    from symflow.codegen.kernel import Kernel

FloatArray = NDArray[np.float64]

_STATUS_SINGULAR, _STATUS_OUTSIDE = 1, 2


# --- values ----------------------------------------------------------------------------------------


def array(slot: Slot, value: Any, role: str = "state") -> FloatArray:
    """Return ``value`` as a contiguous float64 copy with the number of axes that ``slot`` has.

    Raises
    ------
    InputError
        If it is not a real array of that many axes, or has an entry that is not finite.
    """
    if hasattr(value, "as_explicit") and hasattr(value, "tolist") and not isinstance(value, np.ndarray):
        value = value.tolist()  # a SymPy matrix, dense or sparse
    value = listed(value, f"{role} {slot.name!r}")
    try:
        raw = np.array(value)
        if np.iscomplexobj(raw):
            raise InputError(f"{role} {slot.name!r} is complex; give real numbers")
        found = np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{role} {slot.name!r} cannot be read as an array of numbers: {error}") from None
    wanted = 0 if (slot.rows, slot.cols) == (1, 1) else 1 if slot.cols == 1 else 2
    if wanted < 2 and found.ndim > wanted and found.shape[wanted:] == (1,) * (found.ndim - wanted):
        found = found.reshape(found.shape[:wanted])
    if found.ndim != wanted:
        raise InputError(f"{role} {slot.name!r} has shape {found.shape}; give shape {_shape(slot)}")
    return found


def _shape(slot: Slot) -> str:
    if (slot.rows, slot.cols) == (1, 1):
        return "()"
    return f"({slot.rows},)" if slot.cols == 1 else f"({slot.rows}, {slot.cols})"


def _finite(slot: Slot, found: FloatArray) -> FloatArray:
    if not np.isfinite(found).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
        where = f" at index {index if len(index) > 1 else index[0]}" if index else ""
        raise InputError(f"parameter {slot.name!r} is {found[index]}{where}; give finite numbers")
    return found


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
    unknown = sorted(set(params) - known - set(scale))
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
                f"parameter {slot.name!r} of {interface.name} is missing; give shape {_shape(slot)}"
            )
    sizes = Sizes(interface.name)
    sizes.take_all(interface.parameters, values, "parameter")
    for slot in interface.parameters:
        if slot.name not in values:
            values[slot.name] = np.zeros([sizes[n] for n in (slot.rows, slot.cols) if n != 1])
    return {slot.name: values[slot.name] for slot in interface.parameters}


def _default_scale(name: str, value: Any, interface: Interface) -> float:
    try:
        return float(value)
    except TypeError:
        raise InputError(
            f"parameter {name!r} of {interface.name} is missing: the model has the symbol, not a number"
        ) from None


class Sizes:
    """Symbolic sizes as they become known, each with the argument that fixed it."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._known: dict[str, tuple[int, str]] = {}

    def __getitem__(self, size: Size) -> int:
        return size if isinstance(size, int) else self._known[size][0]

    def __contains__(self, size: Size) -> bool:
        return isinstance(size, int) or size in self._known

    def take_all(self, slots: Iterable[Slot], values: Mapping[str, FloatArray], role: str) -> None:
        """Read the sizes off arrays, refusing the first that contradicts an earlier one."""
        for slot in slots:
            if slot.name in values:
                symbolic = [n for n in (slot.rows, slot.cols) if n != 1]
                for size, actual in zip(symbolic, values[slot.name].shape, strict=True):
                    self.take(size, actual, f"{role} {slot.name!r}", _shape(slot), values[slot.name].shape)

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


def require_count(entry: Entry, state: Sequence[Any]) -> None:
    """Refuse a wrong number of states."""
    if len(state) != len(entry.inputs):
        names = ", ".join(f"{s.name} {_shape(s)}" for s in entry.inputs)
        raise InputError(f"{len(state)} states were given; this kernel takes {len(entry.inputs)}: {names}")


# --- sizes -----------------------------------------------------------------------------------------


def infer(
    entry: Entry, interface: Interface, values: Mapping[str, FloatArray], state: Mapping[str, FloatArray]
) -> tuple[int, ...]:
    """Return the sizes of a call from parameters and states."""
    sizes = _of_parameters(interface, values)
    sizes.take_all(entry.inputs, state, "state")
    return _in_order(entry, interface, sizes)


def _of_parameters(interface: Interface, values: Mapping[str, FloatArray]) -> Sizes:
    sizes = Sizes(interface.name)
    sizes.take_all(interface.parameters, values, "parameter")
    return sizes


def _in_order(entry: Entry, interface: Interface, sizes: Sizes) -> tuple[int, ...]:
    unknown = [name for name in entry.dimensions if name not in sizes]
    if unknown:
        raise InputError(f"size {unknown[0]!r} of {interface.name} is not determined; pass it in dims")
    return tuple(sizes[name] for name in entry.dimensions)


def complete(
    entry: Entry,
    interface: Interface,
    values: Mapping[str, FloatArray],
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
    for name, value in dims.items():
        if name not in entry.dimensions:
            raise InputError(f"dims has {name!r}; {entry.name} has the sizes {', '.join(entry.dimensions)}")
        sizes.take(name, int(value), f"dims[{name!r}]", str(name), (int(value),))
    return _in_order(entry, interface, sizes)


def from_length(
    entry: Entry, interface: Interface, values: Mapping[str, FloatArray], length: int
) -> tuple[int, ...]:
    """Return the sizes of a call whose flattened state has ``length`` entries; one size may be unknown.

    Raises
    ------
    InputError
        If no value of the unknown size gives that length.
    """
    sizes = _of_parameters(interface, values)
    unknown = [name for name in entry.dimensions if name not in sizes]
    if len(unknown) > 1:
        raise InputError(
            f"sizes {', '.join(unknown)} of {interface.name} are not determined by its parameters"
        )
    for candidate in range(length + 1) if unknown else (0,):
        table = {n: candidate if n in unknown else sizes[n] for n in entry.dimensions}
        if sum(_extent(slot, table) for slot in entry.inputs) == length:
            return tuple(table[name] for name in entry.dimensions)
    known = ", ".join(f"{name} = {sizes[name]}" for name in entry.dimensions if name in sizes)
    pieces = " + ".join(_shape(slot) for slot in entry.inputs)
    raise InputError(
        f"y has {length} entries; {interface.name} {entry.name} needs {pieces} with {known or 'its sizes'}"
    )


def _extent(slot: Slot, table: Mapping[str, int]) -> int:
    rows, cols = (n if isinstance(n, int) else table[n] for n in (slot.rows, slot.cols))
    return rows * cols


def _state_length(entry: Entry, dims: Sequence[int], slots: Iterable[Slot]) -> int:
    table = dict(zip(entry.dimensions, dims, strict=True))
    return sum(_extent(slot, table) for slot in slots)


# --- calls -----------------------------------------------------------------------------------------


def pack(arrays: Iterable[FloatArray]) -> FloatArray:
    """Return the flattened state."""
    return np.concatenate([a.ravel() for a in arrays])


def unpack(entry: Entry, dims: Sequence[int], flat: FloatArray) -> tuple[FloatArray, ...]:
    """Return one array per output, vectors with one axis."""
    table = dict(zip(entry.dimensions, dims, strict=True))
    found, start = [], 0
    for slot in entry.outputs:
        shape = [n if isinstance(n, int) else table[n] for n in (slot.rows, slot.cols) if n != 1]
        stop = start + math.prod(shape)
        found.append(flat[start:stop].reshape(shape))
        start = stop
    return tuple(found)


def bind(form: Form, name: str, dims: Sequence[int], values: Mapping[str, FloatArray]) -> Any:
    """Return ``call(t, y, dy) -> status`` for one entry, with its size as ``call.size``."""
    entry = form.interface.entry(name)
    length = _state_length(entry, dims, entry.inputs)
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
        self.size = _state_length(entry, dims, entry.inputs)
        self._function = form.functions[entry.name]
        self._outside = form.functions["OutsideDomain"]
        self._table = dict(zip(entry.dimensions, dims, strict=True))
        self._inputs = entry.inputs
        self._arguments = [
            _as_matrix(slot, values[slot.name], form.interface) for slot in form.interface.parameters
        ]

    def __call__(self, t: float, y: FloatArray, dy: FloatArray) -> int:
        """Write the derivative at (t, y) into dy and return the status."""
        states, start = [], 0
        for slot in self._inputs:
            rows, cols = (n if isinstance(n, int) else self._table[n] for n in (slot.rows, slot.cols))
            states.append(y[start : start + rows * cols].reshape(rows, cols))
            start += rows * cols
        try:
            with np.errstate(all="ignore"):  # a compiled kernel lets infinities through, too
                results = self._function(*states, *self._arguments)
        except np.linalg.LinAlgError:
            return _STATUS_SINGULAR
        except self._outside:
            return _STATUS_OUTSIDE
        stop = 0
        for result in results:
            dy[stop : stop + result.size] = result.ravel()
            stop += result.size
        return 0


def _as_matrix(slot: Slot, value: FloatArray, interface: Interface) -> Any:
    if slot.name in interface.scalars:
        return float(value)
    return value.reshape(value.shape[0], -1) if value.ndim else value.reshape(1, 1)


def evaluate(call: Any, t: float, y: FloatArray) -> FloatArray:
    """Return the derivative at (t, y).

    Raises
    ------
    NormaliserDiverges
        Where the drift is not defined.
    """
    dy = np.zeros(call.size)
    status = call(t, y, dy)
    if status == _STATUS_OUTSIDE:
        raise NormaliserDiverges(
            f"at t = {t:g} the normaliser diverges: I − Σ^(1/2)CΣ^(1/2) is not positive definite"
        )
    if status == _STATUS_SINGULAR:
        raise NormaliserDiverges(f"at t = {t:g} the normaliser diverges: I − ΣC is singular")
    return dy


class Domain:
    r"""Refuses moments at which the normaliser diverges.

    The moments form has no square root of Σ at hand, so it cannot tell I − ΣC with two negative eigenvalues
    from one with none. The factor form can: this takes Σ = FFᵀ apart and asks it.
    """

    def __init__(
        self, form: Form, entry: Entry, dims: Sequence[int], values: Mapping[str, FloatArray]
    ) -> None:
        self._call: Any = None
        if form.interface.guarded and entry.name != "factor":
            sizes = dict(zip(entry.dimensions, dims, strict=True))
            factor = form.interface.entry("factor")
            self._order = sizes["d"]
            table = (sizes.get(name, self._order) for name in factor.dimensions)
            self._call = bind(form, "factor", tuple(table), values)

    def require(self, t: float, y: FloatArray) -> None:
        """Refuse the flattened state ``y``, mean and covariance first.

        Raises
        ------
        NormaliserDiverges
            Where I − Σ^{1/2}CΣ^{1/2} is not positive definite.
        """
        if self._call is None or not np.isfinite(y).all():
            return
        d = self._order
        covariance = y[d : d + d * d].reshape(d, d)
        eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        evaluate(self._call, t, np.concatenate([y[:d], root.ravel()]))


def _real(y: Any) -> FloatArray:
    """Return y as contiguous float64; an imaginary part is refused, not dropped."""
    if np.iscomplexobj(y):
        raise InputError("y is complex; give real numbers")
    return np.ascontiguousarray(y, dtype=np.float64)


class RightHandSide:
    """``f(t, y)`` for :func:`scipy.integrate.solve_ivp`; any thread may call it, and it pickles."""

    def __init__(self, kernel: Kernel, params: Mapping[str, Any], entry: str) -> None:
        self._kernel, self._params, self._entry = kernel, dict(params), entry
        self._form, self._values = kernel.bound(params)
        self._described = self._form.interface.entry(entry)
        self._calls = threading.local()  # a bound call has one scratch memory

    def __call__(self, t: float, y: Any) -> FloatArray:
        """Return the derivative of the flattened state."""
        flat = _real(y)
        if flat.ndim != 1:
            raise InputError(f"y has shape {flat.shape}; give the flattened state, one axis")
        call, domain = self._bound(flat.size)
        domain.require(t, flat)
        return evaluate(call, t, flat)

    def _bound(self, length: int) -> tuple[Any, Domain]:
        calls = self._calls.__dict__.setdefault("by_length", {})
        if length not in calls:
            dims = from_length(self._described, self._form.interface, self._values, length)
            call = bind(self._form, self._entry, dims, self._values)
            calls[length] = call, Domain(self._form, self._described, dims, self._values)
        found: tuple[Any, Domain] = calls[length]
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return RightHandSide, (self._kernel, self._params, self._entry)


class Jacobian:
    """``J(t, y)`` of the right-hand side, one column per tangent direction."""

    def __init__(self, kernel: Kernel, params: Mapping[str, Any]) -> None:
        self._kernel, self._params = kernel, dict(params)
        self._tangent = RightHandSide(kernel, params, "tangent")

    def __call__(self, t: float, y: Any) -> FloatArray:
        """Return the matrix of derivatives at (t, y)."""
        flat = _real(y)
        n = flat.size
        point = np.concatenate([flat, np.zeros(n)])
        jacobian = np.empty((n, n))
        for column in range(n):
            point[n + column] = 1.0
            jacobian[:, column] = self._tangent(t, point)[:n]
            point[n + column] = 0.0
        return jacobian

    def __reduce__(self) -> tuple[Any, ...]:
        return Jacobian, (self._kernel, self._params)
