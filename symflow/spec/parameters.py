"""The section ``[parameters]``: inline arrays, or a file of weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.integrate.checking import real_array
from symflow.integrate.weights import load_attention, locate
from symflow.models.attention.model import AttentionModel
from symflow.spec.values import at, read_array, read_index

Array = NDArray[np.float64]

_FILE_KEYS = ("file", "layer", "head")


@dataclass(frozen=True)
class Weights:
    """The ``[parameters]`` section: inline arrays, or what a file holds."""

    arrays: Mapping[str, Array]
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
            return cls({key: read_array(f"[parameters] {key}", value) for key, value in table.items()})
        for key in table:
            if key not in _FILE_KEYS:
                raise InputError(f"[parameters] {key} and file are both given; keep one of them")
        path = _locate(table["file"], folder)
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
        layer, head = (read_index(f"[parameters] {key}", table.get(key, 0)) for key in ("layer", "head"))
        with at("[parameters]"):
            weights = load_attention(path, layer)
            return cls(weights.head(head), f"{weights.source}, head {head}", path, weights.temperature)

    def values(self, model: AttentionModel) -> dict[str, Array]:
        """Return the arrays, having asked the model whether it can use exactly these names."""
        if not self.arrays:
            return {}
        with at("[parameters]"):
            model.statement(frozenset(self.arrays))
        return dict(self.arrays)


def _locate(text: Any, folder: Path) -> Path:
    """Return the path that ``file`` means: relative to the spec, or inside an installed package."""
    if not isinstance(text, str):
        raise InputError(f"[parameters] file = {text!r} must be text in quotation marks")
    with at("[parameters] file:"):
        return locate(text if text.startswith("package:") else folder / Path(text).expanduser())


def check_shapes(arrays: Mapping[str, Array], model: AttentionModel, d: int | None) -> None:
    """Fit every array to its declared shape; a symbolic size keeps the value that it had first."""
    declared = {"A": ("d", "d")} | dict(model.biases) | dict(model.parameters)
    sizes: dict[str, tuple[int, str]] = {} if d is None else {"d": (d, "[initial] mean")}
    for name, array in arrays.items():
        shape = declared[name]
        if array.ndim != len(shape):
            advice = "; this version takes one head" if array.ndim == len(shape) + 1 else ""
            needs = f"{model.name} needs ({', '.join(shape)})"
            raise InputError(f"[parameters] {name} has {array.ndim} axes, {needs}{advice}")
        for axis, (symbol, size) in enumerate(zip(shape, array.shape, strict=True)):
            expected, witness = sizes.setdefault(symbol, (size, f"[parameters] {name}"))
            if size != expected:
                raise InputError(
                    f"[parameters] {name} has shape {array.shape}, {model.name} needs ({', '.join(shape)}): "
                    f"axis {axis} must be {symbol} = {expected} as in {witness}"
                )
