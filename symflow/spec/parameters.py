"""The section ``[parameters]``: inline arrays, or a file of weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol, sympify

from symflow.algebra.grammar import parse
from symflow.checking import entry, real_array
from symflow.errors import InputError
from symflow.integrate.problem import symbolic_statement
from symflow.integrate.transformer.tensors import locate
from symflow.integrate.transformer.weights import load_attention
from symflow.models.attention.model import FAMILY, AttentionModel
from symflow.spec.values import at, read_array, read_index

Array = NDArray[np.float64]

#: A parameter as :func:`symflow.solve` takes it: numbers, or a function of time.
Value = Any

_FILE_KEYS = ("file", "layer", "head")


@dataclass(frozen=True)
class Weights:
    """The ``[parameters]`` section: inline arrays, or what a file holds."""

    arrays: Mapping[str, Value]
    origin: str = ""
    embeddings: Path | None = None
    temperature: Any = 1  #: a head of a trained transformer has √k

    @classmethod
    def read(cls, table: Mapping[str, Any], folder: Path) -> Weights:
        """Read the section; relative paths start at ``folder``."""
        if "file" not in table:
            for key in ("layer", "head"):
                if key in table and not isinstance(table[key], list):
                    raise InputError(f"[parameters] {key} belongs to a weight file; give file as well")
            return cls({key: _read_value(f"[parameters] {key}", value) for key, value in table.items()})
        for key in table:
            if key not in _FILE_KEYS:
                raise InputError(f"[parameters] {key} and file are both given; keep one of them")
        path = weights_path(table["file"], folder)
        if path.suffix == ".npz":
            return cls._from_npz(path, table)
        if path.suffix == ".safetensors":
            return cls._from_safetensors(path, table)
        raise InputError(f"[parameters] file = {table['file']!r}: use a .npz or .safetensors file")

    @classmethod
    def _from_npz(cls, path: Path, table: Mapping[str, Any]) -> Weights:
        for key in ("layer", "head"):
            if key in table:
                raise InputError(
                    f"[parameters] {key} belongs to a .safetensors file; remove it for {path.name}"
                )
        try:
            with np.load(path, allow_pickle=False) as archive:
                arrays = {
                    key: real_array(archive[key], f"[parameters] {path.name}: {key}") for key in archive.files
                }
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"[parameters] file = {str(path)!r} cannot be read as .npz ({error})") from None
        return cls(arrays, f"{path.name}")

    @classmethod
    def _from_safetensors(cls, path: Path, table: Mapping[str, Any]) -> Weights:
        layer, every = read_index("[parameters] layer", table.get("layer", 0)), table.get("head") == "all"
        head = 0 if every else read_index("[parameters] head", table.get("head", 0))
        with at("[parameters]"):
            weights = load_attention(path, layer)
            if every:
                return cls(weights.parameters(), f"{weights.source}, all heads", path, weights.temperature)
            return cls(weights.head(head), f"{weights.source}, head {head}", path, weights.temperature)

    def has_heads(self, model: AttentionModel) -> bool:
        """Whether some parameter has one axis more than one head needs, that of several heads."""
        shapes = {"A": ("d", "d"), **model.biases, **model.parameters}
        return any(
            _axes(self.arrays[name]) == len(shape) + 1
            for name, shape in shapes.items()
            if name in self.arrays
        )

    def values(self, model: AttentionModel) -> dict[str, Value]:
        """Return the arrays, having asked the model whether it can use exactly these names."""
        if not self.arrays:
            return {}
        with at("[parameters]"):
            symbolic_statement(model, frozenset(self.arrays))
        return dict(self.arrays)


def weights_path(text: Any, folder: Path) -> Path:
    """Return the path that ``file`` means: relative to the spec, or inside an installed package."""
    if not isinstance(text, str):
        raise InputError(f"[parameters] file = {text!r} must be text in quotation marks")
    with at("[parameters] file:"):
        return locate(text if text.startswith("package:") else folder / Path(text).expanduser())


def _read_value(where: str, value: Any) -> Value:
    """Return numbers, expressions in t where an entry is text, or (times, samples) of a table of the two."""
    if isinstance(value, Mapping):
        if set(value) != {"times", "samples"}:
            raise InputError(f"{where} is a table; give times and samples, or an array")
        return tuple(read_array(f"{where}.{key}", value[key]) for key in ("times", "samples"))
    return _in_time(where, value, ()) if _has_text(value) else read_array(where, value)


def _has_text(value: Any) -> bool:
    return any(map(_has_text, value)) if isinstance(value, list) else isinstance(value, str)


def _in_time(where: str, value: Any, index: tuple[int, ...]) -> Any:
    """Return nested lists of SymPy expressions in t."""
    if isinstance(value, list):
        return [_in_time(where, item, (*index, i)) for i, item in enumerate(value)]
    if isinstance(value, str):
        with at(f"{entry(where, index)}:"):
            return parse(value, {"t": Symbol("t", real=True)})
    return sympify(float(read_array(entry(where, index), value)))


def _axes(value: Value) -> int:
    if isinstance(value, tuple):
        return int(value[1].ndim) - 1
    return int(np.ndim(np.array(value, dtype=object)))


def _shape(value: Value) -> tuple[int, ...]:
    """Return the shape of a value, that of one sample where there are several."""
    if isinstance(value, tuple):
        return tuple(value[1].shape[1:])
    return tuple(np.array(value, dtype=object).shape)


def check_shapes(arrays: Mapping[str, Value], model: AttentionModel, d: int | None, fixed_by: str) -> None:
    """Fit every array to its declared shape; a symbolic size keeps the value that it had first.

    Parameters
    ----------
    arrays : dict
    model : AttentionModel
    d : int or None
        The dimension, where something else has fixed it.
    fixed_by : str
        What has.
    """
    statement = symbolic_statement(model, frozenset(arrays))
    declared = {
        symbol.name: (
            *((FAMILY,) if symbol.name in statement.stacked else ()),
            *(str(size) for size in getattr(symbol, "shape", ()) if size != 1),
        )
        for symbol in statement.parameters
    }
    sizes: dict[str, tuple[int, str]] = {} if d is None else {"d": (d, fixed_by)}
    for name, array in arrays.items():
        shape, actual = declared[name], _shape(array)
        if len(actual) != len(shape):
            needs = f"{model.name} needs ({', '.join(shape)})"
            raise InputError(f"[parameters] {name} has {len(actual)} axes, {needs}")
        for axis, (symbol, size) in enumerate(zip(shape, actual, strict=True)):
            expected, witness = sizes.setdefault(symbol, (size, f"[parameters] {name}"))
            if size != expected:
                raise InputError(
                    f"[parameters] {name} has shape {actual}, {model.name} needs ({', '.join(shape)}): "
                    f"axis {axis} must be {symbol} = {expected} as in {witness}"
                )
