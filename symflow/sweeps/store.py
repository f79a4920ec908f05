"""The store of a sweep: a zarr group of one array per statistic, one chunk per block.

A chunk is written by one process, whole, and status last: a cell has ended where its status is not empty.
Files are replaced at once, so that at every moment the store holds what had been finished.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import symflow
from symflow.errors import InputError
from symflow.spec.axes import Axis
from symflow.sweeps.cells import Cells
from symflow.sweeps.plan import Plan
from symflow.sweeps.statistics import TIME
from symflow.sweeps.work import Outcome

if TYPE_CHECKING:
    from xarray import Dataset

_FORMAT = 1
_ABSENT = {"status": "", "message": "", "t_star": math.nan}


class Store:
    """The open store of a plan."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path, self._plan = path, plan
        self._arrays = dict(_zarr().open_group(str(path), mode="r+").arrays())

    def missing(self) -> Iterator[tuple[tuple[slice, ...], range, tuple[int, ...]]]:
        """Return the blocks with work to do: where they lie, all their cells, those that are missing."""
        ended = np.asarray(self._arrays["status"][...], dtype=object).ravel() != ""
        for place, block in self._plan.blocks():
            wanted = tuple(cell for cell in block if not ended[cell])
            if wanted:
                yield place, block, wanted

    def write(self, place: tuple[slice, ...], block: range, outcome: Outcome) -> None:
        """Keep what has ended of a block beside what it has already; status last, which makes it count."""
        if not outcome.status:
            return
        whole = len(outcome.status) == len(block)
        for name, axes in self._plan.variables().items():
            values = {cell: arrays[name] for cell, arrays in outcome.arrays.items()}
            self._put(name, place, block, values, self._plan.shape(axes), whole)
        for name in ("t_star", "message", "status"):
            self._put(name, place, block, getattr(outcome, name), (), whole)

    def _put(
        self,
        name: str,
        place: tuple[slice, ...],
        block: range,
        values: Mapping[int, Any],
        shape: tuple[int, ...],
        whole: bool,
    ) -> None:
        array = self._arrays[name]
        inside = tuple(part.stop - part.start for part in place)
        absent = _ABSENT.get(name, math.nan)
        filled = np.full((len(block), *shape), absent, dtype=object if isinstance(absent, str) else float)
        if not whole:
            filled[...] = np.asarray(array[place], dtype=filled.dtype).reshape(filled.shape)
        for cell, value in values.items():
            filled[cell - block.start] = value
        array[place] = filled.reshape(*inside, *shape).astype(array.dtype)

    def open(self) -> Dataset:
        """Return the store as an ``xarray.Dataset``."""
        found: Dataset = _module("xarray").open_zarr(str(self.path), chunks=None)
        return found


def open_store(path: Path, plan: Plan, text: str | None) -> Store:
    """Open the store of a plan, making it where there is none.

    Parameters
    ----------
    path : Path
    plan : Plan
    text : str or None
        The spec file, kept beside its content.

    Raises
    ------
    InputError
        If something else lies there, or the sweep of another spec or version.
    """
    _module("xarray")  # missing, it is better missed before the work
    identity = _identity(plan.cells)
    if path.is_dir() and any(path.iterdir()):
        _refuse_other(path, identity)
        return Store(path, plan)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; give the name of a folder for the store")
    if not path.resolve().parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; make it first")
    part = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        _create(part, plan, identity, text)
        os.replace(part, path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Store(path, plan)


def _create(path: Path, plan: Plan, identity: dict[str, Any], text: str | None) -> None:
    """Write the metadata and the coordinates."""
    zarr = _zarr()
    attributes = {"symflow_sweep": identity, "versions": _versions(), "model": plan.model}
    attributes["spec"] = identity["spec"] if text is None else text
    group = zarr.create_group(str(path), zarr_format=3, attributes=attributes)
    shape, chunk = plan.sweep.shape, plan.block_shape()
    for name in _ABSENT:
        of_text = isinstance(_ABSENT[name], str)
        group.create_array(
            name, shape=shape, chunks=chunk, dtype=str if of_text else "float64", fill_value=_ABSENT[name],
            dimension_names=plan.names,
        )  # fmt: skip
    for name, axes in plan.variables().items():
        sizes = plan.shape(axes)
        group.create_array(
            name, shape=(*shape, *sizes), chunks=(*chunk, *sizes), dtype="float64", fill_value=math.nan,
            dimension_names=(*plan.names, *axes),
        )  # fmt: skip
    for name, axis in zip(plan.names, plan.sweep.axes, strict=True):
        _write_coordinate(group, name, _coordinate(axis), {"path": axis.text})
    if plan.times is not None:
        _write_coordinate(group, TIME, plan.times, {})
    with warnings.catch_warnings():  # reading is slow without it, and any reader may ignore it
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        zarr.consolidate_metadata(str(path))


def _write_coordinate(group: Any, name: str, values: Any, attributes: dict[str, str]) -> None:
    dtype = str if values.dtype.kind == "U" else values.dtype
    array = group.create_array(
        name, shape=values.shape, chunks=values.shape, dtype=dtype, dimension_names=(name,),
        attributes=attributes,
    )  # fmt: skip
    array[...] = values


def _coordinate(axis: Axis) -> Any:
    """Return numbers and text as they are, and the index of what is neither."""
    kinds = {type(value) for value in axis.values}
    if kinds <= {int, float}:
        values = np.array(axis.values)
        return values if values.dtype.kind in "if" else np.array([str(value) for value in axis.values])
    if kinds == {str}:
        return np.array(axis.values)
    return np.arange(len(axis.values))


# ---- whose store it is


def _identity(cells: Cells) -> dict[str, Any]:
    """Return what decides the results: the spec, the files that it names, the version."""
    files = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in cells.files().items()}
    spec = json.dumps(cells.data, sort_keys=True, ensure_ascii=False)
    return {"format": _FORMAT, "spec": spec, "files": files, "symflow": symflow.__version__}


def _refuse_other(path: Path, identity: dict[str, Any]) -> None:
    try:
        attributes = json.loads((path / "zarr.json").read_text(encoding="utf-8")).get("attributes", {})
    except (OSError, ValueError, AttributeError):
        attributes = {}
    found = attributes.get("symflow_sweep")
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise InputError(f"{path} is not empty and no store of a sweep; give another name")
    if found == identity:
        return
    remedy = "give another name, or remove it"
    if found["symflow"] != identity["symflow"]:
        raise InputError(
            f"{path} was begun with symflow {found['symflow']}, this is {identity['symflow']}; {remedy}"
        )
    if found["spec"] != identity["spec"]:
        where = _difference(json.loads(found["spec"]), json.loads(identity["spec"]))
        raise InputError(f"{path} holds the sweep of another spec: {where}; {remedy}")
    changed = [name for name, digest in identity["files"].items() if found["files"].get(name) != digest]
    raise InputError(f"{path} holds a sweep with another content of {', '.join(changed)}; {remedy}")


def _difference(there: Any, here: Any, name: str = "") -> str:
    """Say where two contents differ first."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            if there.get(key) != here.get(key) or (key in there) != (key in here):
                inside = f"{name} {key}" if name else f"[{key}]"
                return _difference(there.get(key), here.get(key), inside)
    shown = ["absent" if value is None else json.dumps(value, ensure_ascii=False) for value in (there, here)]
    short = [text if len(text) <= 60 else text[:60] + "…" for text in shown]
    return f"{name} is {short[0]} there and {short[1]} here"


def _versions() -> dict[str, str]:
    from symflow.codegen.versions import installed_versions

    return {
        "symflow": symflow.__version__,
        **installed_versions(("numpy", "scipy", "sympy", "zarr", "xarray")),
    }


def _zarr() -> Any:
    return _module("zarr")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"sweeps need {name}, which is not installed; install it with: pip install 'symflow[sweep]'"
        ) from error
