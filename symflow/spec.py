"""Spec files: one run — model, parameters, initial law, time, solver — written down in TOML.

:func:`load_spec` reads a file into a frozen :class:`Spec`. Everything is checked while it is read: a key that
is unknown, a shape that does not fit, a number that is not finite are refused by section, key and index.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.integrate.checking import entry, real_array
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.weights import embedding_moments, load_attention, locate
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.user import Attention
from symflow.models.registry import attention_model

Array = NDArray[np.float64]

#: What the format has words for but this version does not offer, with the value that changes nothing.
_NEUTRAL = {"mask": "none", "sink": 0, "sign": 1, "feed_forward": False, "diffusion": 0, "space": "euclidean"}
_TOKEN_KEYS = ("tokens", "n", "d", "seed", "tokens_file")
_LATER_SECTIONS = ("network", "noise", "energy", "sweep")

_KEYS = {
    "model": ("attention", "score", "value", "normalise", "beta", "temperature", *_NEUTRAL),
    "initial": ("mean", "cov", "from", *_TOKEN_KEYS),
    "time": ("t_span", "t_eval", "points"),
    "solver": ("method", "rtol", "atol", "dt"),
}
_FILE_KEYS = ("file", "layer", "head")
_MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class Spec:
    """One run as a spec file states it.

    Attributes
    ----------
    name : str
        The file name without its suffix.
    model : AttentionModel
        The attention mechanism.
    parameters : dict of str to ndarray
        Values of the model's parameters, float64, in their declared shapes.
    initial : Gaussian or None
        The initial law, None where the file has no ``[initial]``.
    t_span : tuple of float or None
        Start and end of the run, None where the file has no ``[time]``.
    t_eval : ndarray or None
        Output times, shape (T,).
    solver : dict
        Keyword arguments for :func:`symflow.solve`: ``method``, ``rtol``, ``atol``, ``dt``, as far as given.
    origin : str
        Where parameters from a file come from, in words; empty for inline arrays.
    """

    name: str
    model: AttentionModel
    parameters: Mapping[str, Array] = field(default_factory=dict)
    initial: Gaussian | None = None
    t_span: tuple[float, float] | None = None
    t_eval: Array | None = None
    solver: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""

    def require(self, *sections: str) -> None:
        """Refuse a spec that lacks one of the sections ``"parameters"``, ``"initial"``, ``"time"``.

        Raises
        ------
        InputError
            Naming the section that is missing.
        """
        present = {
            "parameters": bool(self.parameters),
            "initial": self.initial is not None,
            "time": self.t_span is not None,
        }
        for section in sections:
            if not present[section]:
                raise InputError(f"{self.name}: section [{section}] is missing; add it to the spec file")


def load_spec(path: str | Path) -> Spec:
    """Read a spec file.

    Parameters
    ----------
    path : str or Path
        A TOML file with the sections ``[model]``, ``[parameters]``, ``[initial]``, ``[time]``, ``[solver]``.
        Relative paths inside it are taken from its own folder.

    Returns
    -------
    Spec
        The checked record.

    Raises
    ------
    InputError
        If the file cannot be read, or a section, key, shape or value is not usable; the message names it.
    """
    path = Path(path)
    return parse_spec(_read_toml(path), name=path.stem, folder=path.parent, where=str(path))


def parse_spec(
    data: Mapping[str, Any], *, name: str = "spec", folder: Path = Path(), where: str = "spec"
) -> Spec:
    """Check what a spec file contains, given as the nested dictionary that ``tomllib`` returns.

    Parameters
    ----------
    data : dict
        Sections by name.
    name : str
        Name of the record.
    folder : Path
        Where relative paths start.
    where : str
        What error messages begin with.

    Returns
    -------
    Spec
        The checked record.

    Raises
    ------
    InputError
        As :func:`load_spec`.

    Examples
    --------
    >>> spec = parse_spec({"model": {"attention": "softmax"},
    ...                    "parameters": {"V": [[1.0]], "A": [[-0.5]]},
    ...                    "initial": {"mean": [0.0], "cov": [[2.0]]},
    ...                    "time": {"t_span": [0, 1], "points": 3}})
    >>> spec.t_eval
    array([0. , 0.5, 1. ])
    """
    with _at(f"{where}:"):
        return _parse(data, name, folder)


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Put the place in the spec file before the message of an input error, keeping its evidence."""
    try:
        yield
    except InputError as error:
        error.args = (f"{place} {error}",)
        raise


def _parse(data: Mapping[str, Any], name: str, folder: Path) -> Spec:
    _refuse_unknown_sections(data)
    weights = _Weights.read(_table(data, "parameters"), folder)
    model = _model(data.get("model"), weights)
    parameters = weights.values(model)
    initial = _initial(_table(data, "initial"), weights)
    if parameters:
        _check_shapes(parameters, model, None if initial is None else len(initial.mean))
    t_span, t_eval = _time(_table(data, "time"))
    return Spec(
        name, model, parameters, initial, t_span, t_eval, _solver(_table(data, "solver")), weights.origin
    )


# ---------------------------------------------------------------------------------------- sections and keys


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path of a spec file (TOML)") from None
    except (IsADirectoryError, PermissionError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); give the path of a spec file (TOML)") from None
    except (ValueError, RecursionError) as error:  # also an integer of thousands of digits, or deep nesting
        raise InputError(f"{path}: not valid TOML: {error}") from None


def _refuse_unknown_sections(data: Mapping[str, Any]) -> None:
    known = (*_KEYS, "parameters")
    for section, content in data.items():
        if section in _LATER_SECTIONS:
            if content:
                raise InputError(f"section [{section}] is not offered by this version; remove it")
        elif section not in known:
            raise InputError(_unknown(f"section [{section}]", section, known))
        elif not isinstance(content, Mapping):
            raise InputError(f"{section} must be a table; write [{section}] on a line of its own")
    for section, keys in _KEYS.items():
        for key in data.get(section, ()):
            if key not in keys:
                raise InputError(_unknown(f"[{section}] {key}", key, keys))


def _unknown(what: str, key: str, known: Collection[str]) -> str:
    nearest = difflib.get_close_matches(key, known, 1) or [name for name in known if key.startswith(name)]
    remedy = f"did you mean {nearest[0]!r}?" if nearest else f"known here: {', '.join(known)}"
    return f"{what} is unknown; {remedy}"


def _table(data: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = data.get(section, {})
    return table


# ---------------------------------------------------------------------------------------------------- model


def _model(table: Mapping[str, Any] | None, weights: _Weights) -> AttentionModel:
    if not table:
        raise InputError('section [model] is missing; it needs at least attention = "softmax"')
    for key, neutral in _NEUTRAL.items():
        if key in table and (
            table[key] != neutral or isinstance(table[key], bool) != isinstance(neutral, bool)
        ):
            offer = f"this version offers {neutral!r} only"
            raise InputError(f"[model] {key} = {table[key]!r}; {offer}")
    scale = {"temperature": weights.temperature}
    scale |= {key: table[key] for key in ("beta", "temperature") if key in table}
    own = [key for key in ("score", "value", "normalise") if key in table]
    for key in ("attention", *own):
        if key in table and not isinstance(table[key], str):
            raise InputError(f"[model] {key} = {table[key]!r} must be text in quotation marks")
    if "attention" in table and own:
        remedy = "keep attention for a shipped model, score for your own"
        raise InputError(f"[model] gives both attention and {own[0]}; {remedy}")
    with _at("[model]"):
        if "attention" in table:
            return attention_model(table["attention"])(**scale)
        if "score" not in table:
            raise InputError('gives no mechanism; write attention = "softmax" or score = "dot(Q*x, K*y)"')
        return Attention(**{key: table[key] for key in own}, **scale)


# ----------------------------------------------------------------------------------------------- parameters


@dataclass(frozen=True)
class _Weights:
    """The ``[parameters]`` section: inline arrays, or what a file holds."""

    arrays: Mapping[str, Array]
    origin: str = ""
    embeddings: Path | None = None
    temperature: Any = 1  #: a head of a trained transformer has √k

    @classmethod
    def read(cls, table: Mapping[str, Any], folder: Path) -> _Weights:
        if "file" not in table:
            for key in ("layer", "head"):
                if key in table and not isinstance(table[key], list):
                    raise InputError(f"[parameters] {key} belongs to a weight file; give file as well")
            return cls({key: _array(f"[parameters] {key}", value) for key, value in table.items()})
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
    def _from_npz(cls, path: Path, table: Mapping[str, Any]) -> _Weights:
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
    def _from_safetensors(cls, path: Path, table: Mapping[str, Any]) -> _Weights:
        layer, head = (_index(f"[parameters] {key}", table.get(key, 0)) for key in ("layer", "head"))
        with _at("[parameters]"):
            weights = load_attention(path, layer)
            return cls(weights.head(head), f"{weights.source}, head {head}", path, weights.temperature)

    def values(self, model: AttentionModel) -> dict[str, Array]:
        """Return the arrays, having asked the model whether it can use exactly these names."""
        if not self.arrays:
            return {}
        with _at("[parameters]"):
            model.statement(frozenset(self.arrays))
        return dict(self.arrays)


def _locate(text: Any, folder: Path) -> Path:
    """Return the path that ``file`` means: relative to the spec, or inside an installed package."""
    if not isinstance(text, str):
        raise InputError(f"[parameters] file = {text!r} must be text in quotation marks")
    with _at("[parameters] file:"):
        return locate(text if text.startswith("package:") else folder / Path(text).expanduser())


def _check_shapes(arrays: Mapping[str, Array], model: AttentionModel, d: int | None) -> None:
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


# -------------------------------------------------------------------------------- initial law, time, solver


def _initial(table: Mapping[str, Any], weights: _Weights) -> Gaussian | None:
    for key in _TOKEN_KEYS:
        if key in table:
            raise InputError(f"[initial] {key}: tokens are not offered by this version; give mean and cov")
    if not table:
        return None
    if "from" in table:
        return _initial_from_embeddings(table, weights)
    for key in ("mean", "cov"):
        if key not in table:
            raise InputError(f"[initial] {key} is missing; a Gaussian needs mean and cov")
    mean, cov = (_array(f"[initial] {key}", table[key]) for key in ("mean", "cov"))
    with _at("[initial]"):
        return Gaussian(mean, cov)


def _initial_from_embeddings(table: Mapping[str, Any], weights: _Weights) -> Gaussian:
    if table["from"] != "embeddings":
        raise InputError(f'[initial] from = {table["from"]!r} is unknown; the only source is "embeddings"')
    for key in ("mean", "cov"):
        if key in table:
            raise InputError(f"[initial] gives both from and {key}; keep one of them")
    if weights.embeddings is None:
        raise InputError('[initial] from = "embeddings" needs [parameters] file = a .safetensors file')
    with _at("[initial]"):
        return Gaussian(*embedding_moments(weights.embeddings))


def _time(table: Mapping[str, Any]) -> tuple[tuple[float, float] | None, Array | None]:
    if not table:
        return None, None
    if "t_span" not in table:
        raise InputError("[time] t_span is missing; write t_span = [start, end]")
    span = _array("[time] t_span", table["t_span"])
    if span.shape != (2,) or span[0] == span[1]:
        raise InputError(f"[time] t_span = {table['t_span']} must be [start, end] with two different numbers")
    start, end = float(span[0]), float(span[1])
    if "t_eval" in table and "points" in table:
        raise InputError("[time] gives both t_eval and points; keep one of them")
    if "t_eval" in table:
        return (start, end), _array("[time] t_eval", table["t_eval"])
    if "points" not in table:
        return (start, end), None
    points = _index("[time] points", table["points"])
    if points < 2:
        raise InputError(f"[time] points = {points} must be at least 2: start and end")
    if points > _MOST_POINTS:
        raise InputError(f"[time] points = {points} are too many to keep; give at most {_MOST_POINTS}")
    return (start, end), np.linspace(start, end, points)


def _solver(table: Mapping[str, Any]) -> dict[str, Any]:
    if "method" in table and not isinstance(table["method"], str):
        raise InputError(f'[solver] method = {table["method"]!r} must be text, e.g. "dop853"')
    for key in ("rtol", "atol", "dt"):
        if key in table:
            value = _number(f"[solver] {key}", table[key])
            if value < 0 or (key == "dt" and value == 0):
                raise InputError(f"[solver] {key} = {value} must be {'> 0' if key == 'dt' else '≥ 0'}")
    return {key: value if isinstance(value, str) else float(value) for key, value in table.items()}


# --------------------------------------------------------------------------------------------------- values


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where} = {value!r} is not a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise InputError(f"{where} is a number beyond 1.8e308; floating-point numbers end there") from error
    if not math.isfinite(number):
        raise InputError(f"{where} = {value} is not finite; give a finite number")
    return number


def _index(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{where} = {value!r} must be a whole number ≥ 0")
    return value


def _array(where: str, value: Any) -> Array:
    """Return nested lists as a float64 array, naming the first entry that does not fit."""
    _check_nested(where, value, ())
    return np.array(value, dtype=np.float64)


def _check_nested(where: str, value: Any, index: tuple[int, ...]) -> int | None:
    """Check one level of nesting and return its length, None for a number."""
    if not isinstance(value, list):
        _number(entry(where, index), value)
        return None
    if not value:
        raise InputError(f"{entry(where, index)} is empty; give at least one entry")
    lengths = [_check_nested(where, item, (*index, i)) for i, item in enumerate(value)]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            first, other = (f"{entry(where, (*index, k))} has {_count(lengths[k])}" for k in (0, i))
            raise InputError(f"{other} but {first}; rows must have equal length")
    return len(value)


def _count(length: int | None) -> str:
    return "no entries" if length is None else f"{length} entries" if length != 1 else "1 entry"
