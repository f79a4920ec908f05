"""A recursion bound to sizes and parameters: printed at small sizes, executed by the runtime, or in NumPy."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symflow.codegen import cache
from symflow.codegen.keys import model_key
from symflow.codegen.load import Form, load_capsules, log, module_name
from symflow.codegen.program import Program
from symflow.codegen.sizes import state_length
from symflow.codegen.taylor.recursion import LARGEST, Recursion, recursion
from symflow.codegen.taylor.unrolled import counts
from symflow.codegen.values import FloatArray
from symflow.codegen.versions import COMPILE_FLAGS, OPTIONAL_FLAGS, digest, package_version, stamp
from symflow.errors import BuildError

if TYPE_CHECKING:
    from symflow.codegen.taylor.instructions import Layout

Sizes = tuple[tuple[str, int], ...]  #: names of sizes and their numbers, in call order

#: Entries of a square matrix of every head, up to which a recursion is printed: a build takes seconds.
MOST_ENTRIES = 128

#: The later of two flags counts. Products may be fused with additions: nothing here relies on equal bits.
FLAGS = (*COMPILE_FLAGS, "-O2", "-ffp-contract=fast")


def bind_series(
    model: Any,
    names: frozenset[str],
    form: Form,
    name: str,
    dims: Sequence[int],
    values: Mapping[str, FloatArray],
    order: int,
) -> Any:
    """Return ``call(t, y, out) -> status``, which writes coefficients 0 to ``order`` of the solution at y.

    Parameters
    ----------
    model : AttentionModel
    names : frozenset of str
        Parameters that select the parametrisation.
    form : Form
        Its kernel, compiled or NumPy.
    name : str
        ``"factor"`` or ``"moments"``.
    dims : sequence of int
        Sizes in call order.
    values : mapping
        Parameters by name, constant in time.
    order : int

    Returns
    -------
    symflow_ext.call.Call, symflow_ext.taylor.Series or NumpySeries
        The first two are what ``TaylorStepper`` takes; their last size is the order.

    Raises
    ------
    InputError
        If an operation of the model has no recurrence.
    """
    if form.backend != "numpy" and _is_small(form, name, dims):
        try:
            return _printed(model, names, form, name, dims, values, order)
        except BuildError as error:  # no compiler: the runtime executes the same recurrences, only slower
            log("no recursion of fixed size for %s: %s", model.name, error)
    from symflow.codegen.taylor.numpy_source import NumpySeries

    sizes = tuple(zip(form.interface.entry(name).dimensions, dims, strict=True))
    numbers = NumpySeries(recursion_of(model, names, name, sizes), dims, values, order)
    if form.backend == "numpy":
        return numbers
    return _layout(model, names, name, sizes, order, tuple(numbers.scalars.items())).series(numbers)


def _is_small(form: Form, name: str, dims: Sequence[int]) -> bool:
    """Tell whether a recursion is printed: its text has every row of every matrix of every head."""
    entry = form.interface.entry(name)
    slots = (*form.interface.parameters, *entry.inputs)
    counted = {slot.lead for slot in slots if slot.lead is not None}
    sizes = dict(zip(entry.dimensions, dims, strict=True))
    largest = max(n for size, n in sizes.items() if size not in counted)
    passes = math.prod(n for size, n in sizes.items() if size in counted)
    return largest <= LARGEST and passes * largest**2 <= MOST_ENTRIES


@functools.lru_cache(maxsize=32)
def _program(model: Any, names: frozenset[str], name: str) -> Program:
    from symflow.codegen.lower import programs_of

    return programs_of(model, names)[name]


def recursion_of(model: Any, names: frozenset[str], name: str, sizes: Sizes) -> Recursion:
    """Return the recurrences of one program of a model; loops over heads and positions are written out."""
    counted = counts(_program(model, names, name))
    return _recursion(model, names, name, tuple(item for item in sizes if item[0] in counted))


@functools.lru_cache(maxsize=32)
def _recursion(model: Any, names: frozenset[str], name: str, counted: Sizes) -> Recursion:
    return recursion(_program(model, names, name), dict(counted))


@functools.lru_cache(maxsize=32)
def _layout(
    model: Any,
    names: frozenset[str],
    name: str,
    sizes: Sizes,
    order: int,
    scalars: tuple[tuple[str, float], ...],
) -> Layout:
    """Return the plan of a recursion: it is the same for all matrices of these sizes."""
    from symflow.codegen.taylor.instructions import Plan
    from symflow.codegen.taylor.numpy_source import Sized

    source = recursion_of(model, names, name, sizes)
    return Plan(Sized(source, [n for _, n in sizes], dict(scalars), order)).layout()


def _printed(
    model: Any,
    names: frozenset[str],
    form: Form,
    name: str,
    dims: Sequence[int],
    values: Mapping[str, FloatArray],
    order: int,
) -> Any:
    from symflow_ext.call import Call

    entry = form.interface.entry(name)
    sizes = dict(zip(entry.dimensions, dims, strict=True))
    capsule = _capsule(model, names, name, tuple(sizes.items()))
    length = state_length(entry, dims, entry.inputs)
    return Call(capsule, name, (*dims, order), [np.atleast_1d(v) for v in values.values()], length)


@functools.lru_cache(maxsize=64)
def _capsule(model: Any, names: frozenset[str], name: str, sizes: Sizes) -> Any:
    """Return the compiled recursion: from the cache, or derived, printed and built now."""
    now = {**stamp(), "flags": " ".join((*FLAGS, *OPTIONAL_FLAGS))}
    what = json.dumps(["taylor", name, sizes])
    index_key = digest(model_key(model, names), what, json.dumps(now, sort_keys=True))
    found = _cached(index_key, name, now)
    return _built(index_key, now, model, names, name, dict(sizes)) if found is None else found


def _cached(index_key: str, name: str, now: dict[str, str]) -> Any:
    found = cache.lookup(index_key, now, cache.readable_dirs())
    try:
        return None if found is None else _loaded(found, name)
    except ImportError:  # another process has cleared or replaced it since it was found
        return None


def _loaded(entry: cache.Entry, name: str) -> Any:
    return load_capsules(entry.library, module_name(entry.data["key"]))[name]


def _built(
    index_key: str,
    now: dict[str, str],
    model: Any,
    names: frozenset[str],
    name: str,
    sizes: Mapping[str, int],
) -> Any:
    from symflow.codegen.build import Builder
    from symflow.codegen.taylor.c_source import taylor_source
    from symflow_ext.contract import abi_hash

    source = recursion_of(model, names, name, tuple(sizes.items()))  # refused before a child process starts
    with Builder(index_key) as builder:
        found = _cached(index_key, name, now) if builder.waited else None
        if found is not None:
            return found
        shown = ", ".join(f"{size} = {n}" for size, n in sizes.items())
        title = f"{source.program.model}, {name}, {shown}"
        printed = taylor_source(source, sizes, title, abi_hash(), f"symflow {package_version()}")
        key = digest(printed.text, json.dumps(now, sort_keys=True))
        log("building the Taylor coefficients of %s: %s", title, key)
        data = {"key": key, "interface": {"name": f"{title} (Taylor)"}}
        flags = (FLAGS, OPTIONAL_FLAGS)
        return _loaded(builder.build(printed.text, key, data, now, index_key, flags), name)
