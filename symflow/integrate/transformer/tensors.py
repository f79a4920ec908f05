"""Tensors of ``.safetensors`` files by name: where a file is, what it holds, what its configuration says."""

from __future__ import annotations

import json
from importlib import metadata, resources
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError

Array = NDArray[np.float64]

#: What the tensors of the attention of one layer are called, after the name of the model.
ATTENTION = "encoder.layer.{layer}.attention."
_READABLE = {"F64", "F32", "F16"}  # what NumPy holds; bfloat16 is not among it


def locate(path: str | Path) -> Path:
    """Return the file that ``path`` names; ``"package:NAME/PATH"`` means a file of an installed distribution.

    Parameters
    ----------
    path : str or Path
        A path of the file system, or ``package:`` followed by the name of a distribution (or of an importable
        package) and the path of the file inside it; leading folders of that path may be left out.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If there is no such file; the message says what was looked at and what is there.
    """
    text = str(path)
    if text.startswith("package:"):
        return _packaged(text)
    file = Path(text).expanduser()
    if not file.is_file():
        raise InputError(f"path = {text!r}: no such file; give a .safetensors file or 'package:NAME/PATH'")
    return file


def _packaged(text: str) -> Path:
    name, _, inner = text.removeprefix("package:").partition("/")
    if not name or not inner:
        raise InputError(f"path = {text!r}: write 'package:NAME/PATH', NAME a distribution, PATH its file")
    try:
        listed = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        return _resource(text, name, inner)
    matches = [f for f in listed if f.as_posix() == inner or f.as_posix().endswith("/" + inner)]
    if len(matches) == 1:
        return Path(str(matches[0].locate()))
    known = [f.as_posix() for f in listed if f.suffix == ".safetensors"]
    what = "several files" if matches else "no file"
    raise InputError(f"path = {text!r}: {what} of {name!r} match {inner!r}; its model files are {known}")


def _resource(text: str, name: str, inner: str) -> Path:
    """Resolve a file of an importable package that is not a distribution of that name."""
    try:
        file = Path(str(resources.files(name).joinpath(inner)))
    except ModuleNotFoundError:
        raise InputError(f"path = {text!r}: {name!r} is not installed; run: pip install {name}") from None
    if not file.is_file():
        raise InputError(f"path = {text!r}: the package {name!r} holds no file {inner!r}")
    return file


class Tensors:
    """The tensors of one file by name, with errors that say what exists."""

    def __init__(self, file: Path) -> None:
        from safetensors import SafetensorError, safe_open

        try:
            self._handle = cast(Any, safe_open(str(file), framework="numpy"))
        except SafetensorError as error:
            raise InputError(f"path = {str(file)!r}: not a readable .safetensors file ({error})") from None
        self._file = file
        self._names: tuple[str, ...] = tuple(self._handle.keys())

    def root(self, ending: str) -> str:
        """Return what stands before ``ending`` in the one tensor name that has it, e.g. ``"bert."``."""
        found = [n for n in self._names if n == ending or n.endswith("." + ending)]
        if len(found) != 1:
            raise InputError(f"{self._file.name}: {len(found)} tensors named …{ending!r}; {self._known()}")
        return found[0].removesuffix(ending)

    def prefix(self, layer: int) -> str:
        """Return the common beginning of the attention tensors of ``layer``."""
        layers = self.layers()
        if layer not in layers:
            there = f"the layers {layers}" if layers else f"no BERT-style layer; {self._known()}"
            raise InputError(f"layer = {layer}: {self._file.name} has {there}")
        attention = ATTENTION.format(layer=layer)
        return self.root(attention + "self.query.weight") + attention

    def read(self, name: str, ndim: int) -> Array:
        """Return one tensor as float64, of the expected number of axes and finite."""
        if name not in self._names:
            raise InputError(f"{self._file.name}: no tensor {name!r}; {self._known()}")
        kind = self._handle.get_slice(name).get_dtype()
        if kind not in _READABLE:
            raise InputError(f"{self._file.name}: tensor {name!r} has type {kind}; store it as F32 or F64")
        value = np.asarray(self._handle.get_tensor(name), dtype=np.float64)
        if value.ndim != ndim:
            raise InputError(f"{self._file.name}: tensor {name!r} has shape {value.shape}; needs {ndim} axes")
        if not np.isfinite(value).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
            raise InputError(f"{self._file.name}: tensor {name!r} is not finite at index {index}")
        return value

    def layers(self) -> list[int]:
        """Return the indices of the layers that the file holds."""
        head, tail = ATTENTION.split("{layer}")
        found = {n.split(head)[1].split(".")[0] for n in self._names if head in n and tail in n}
        return sorted(int(text) for text in found if text.isdigit())

    def _known(self) -> str:
        shown = ", ".join(self._names[:5])
        return f"it has {len(self._names)} tensors: {shown}{', …' if len(self._names) > 5 else ''}"


def config(file: Path) -> dict[str, Any]:
    """Return the ``config.json`` beside a file, empty where there is none."""
    beside = file.with_name("config.json")
    if not beside.is_file():
        return {}
    try:
        loaded = json.loads(beside.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"{beside}: not valid JSON ({error})") from None
    return loaded if isinstance(loaded, dict) else {}


def frozen(array: Array) -> Array:
    """Return a read-only contiguous float64 array."""
    out = np.ascontiguousarray(array, dtype=np.float64)
    out.setflags(write=False)
    return out
