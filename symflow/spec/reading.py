"""Reading a spec file: every key, shape and number is checked on the way in."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.transformer.embeddings import embedding_moments
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.registry import attention_model
from symflow.spec.axes import Sweep, placed, read_sweep
from symflow.spec.energy import ENERGY_KEYS, EnergyTask, read_energy
from symflow.spec.noise import NETWORK_KEYS, NOISE_KEYS, NetworkTask, NoiseTask, read_network, read_noise
from symflow.spec.parameters import Weights, check_shapes
from symflow.spec.record import Spec
from symflow.spec.tokens import TOKEN_KEYS, TokenLaw, read_tokens
from symflow.spec.values import at, read_array, read_index, read_number

Array = NDArray[np.float64]

_EXTRAS = ("sign", "feed_forward", "diffusion")
_MASKS = ("none", "causal")

_KEYS = {
    "model": (
        "attention",
        "score",
        "value",
        "normalise",
        "beta",
        "temperature",
        "space",
        "mask",
        "sink",
        *_EXTRAS,
    ),
    "initial": ("mean", "cov", "from", *TOKEN_KEYS),
    "time": ("t_span", "t_eval", "points"),
    "solver": ("method", "rtol", "atol", "dt"),
    "network": NETWORK_KEYS,
    "noise": NOISE_KEYS,
    "energy": ENERGY_KEYS,
}
_SECTIONS = (*_KEYS, "parameters")  #: of one run
_MOST_POINTS = 1_000_000


def load_spec(path: str | Path) -> Spec:
    """Read a spec file.

    Parameters
    ----------
    path : str or Path
        A TOML file with the sections ``[model]``, ``[parameters]``, ``[initial]``, ``[time]``, ``[solver]``,
        ``[network]``, ``[noise]``, ``[sweep]``, or with ``[energy]``, which needs no ``[model]``.
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
    with at(f"{where}:"):
        return _parse(data, name, folder)


def _parse(data: Mapping[str, Any], name: str, folder: Path) -> Spec:
    _refuse_unknown_sections(data)
    weights = Weights.read(_table(data, "parameters"), folder)
    energy, used = _energy(data, weights)
    model = None if energy and not data.get("model") else _model(data.get("model"), weights)
    weights = _left(weights, used, model)
    parameters = weights.values(model) if model else {}
    spaces = [stated.space for stated in (model, energy and energy.energy.model) if stated]
    on_sphere = spaces[0] == "sphere"
    initial, law = _initial(_table(data, "initial"), weights, folder, on_sphere)
    if parameters and model:
        key = "mean" if isinstance(initial, Gaussian) else "tokens"
        check_shapes(parameters, model, _dimension(initial), f"[initial] {key}")
    t_span, t_eval = _time(_table(data, "time"))
    network, noise = read_network(_table(data, "network")), read_noise(_table(data, "noise"))
    solver = _solver(_table(data, "solver"))
    _refuse_noise(model, network, noise, solver, t_span)
    return Spec(
        name=name,
        mechanism=model,
        parameters=parameters,
        initial=initial,
        t_span=t_span,
        t_eval=t_eval,
        solver=solver,
        network=network,
        noise=noise,
        origin=weights.origin,
        tokens=law,
        sweep=_sweep(data),
        energy=energy,
        data=data,
        folder=folder,
    )


def _energy(data: Mapping[str, Any], weights: Weights) -> tuple[EnergyTask | None, frozenset[str]]:
    """Return what ``[energy]`` states, and the names of the parameters that it uses."""
    table, parameters = _table(data, "energy"), _table(data, "parameters")
    if not table:
        return None, frozenset()
    return read_energy(table, weights.arrays if "file" in parameters else parameters)


def _left(weights: Weights, used: frozenset[str], model: AttentionModel | None) -> Weights:
    """Return the parameters for the model: those of the energy alone are left out, shared ones kept."""
    known = {"A", *model.parameters, *model.biases} if model else frozenset()
    arrays = {key: value for key, value in weights.arrays.items() if key not in used or key in known}
    if model is None and arrays:
        raise InputError(f"[parameters] {next(iter(arrays))} is no parameter of the energy; remove it")
    return replace(weights, arrays=arrays)


def _dimension(initial: Gaussian | Array | None) -> int | None:
    if initial is None:
        return None
    return initial.dim if isinstance(initial, Gaussian) else int(initial.shape[1])


def _sweep(data: Mapping[str, Any]) -> Sweep | None:
    if not data.get("sweep"):
        return None
    sweep = read_sweep(data["sweep"])
    for axis in sweep.axes:
        section, key = axis.path[:2]
        where = f'[sweep] "{axis.text}"'
        if section not in _SECTIONS:
            raise InputError(_unknown(f"{where}: section [{section}]", section, _SECTIONS))
        if section in _KEYS and key not in _KEYS[section]:
            raise InputError(_unknown(f"{where}: [{section}] {key}", key, _KEYS[section]))
        with at(f"{where}:"):
            placed(data, {axis.path: axis.values[0]})
    return sweep


# ---- sections and keys


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
    known = (*_SECTIONS, "sweep")
    for section, content in data.items():
        if section not in known:
            raise InputError(_unknown(f"section [{section}]", section, known))
        if not isinstance(content, Mapping):
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


# ---- model


def _model(table: Mapping[str, Any] | None, weights: Weights) -> AttentionModel:
    if not table:
        raise InputError('section [model] is missing; it needs at least attention = "softmax"')
    settings = {"temperature": weights.temperature}
    settings |= {key: table[key] for key in ("beta", "temperature", "space") if key in table}
    own = [key for key in ("score", "value", "normalise") if key in table]
    for key in ("attention", *own):
        if key in table and not isinstance(table[key], str):
            raise InputError(f"[model] {key} = {table[key]!r} must be text in quotation marks")
    if "attention" in table and own:
        remedy = "keep attention for a shipped model, score for your own"
        raise InputError(f"[model] gives both attention and {own[0]}; {remedy}")
    extras = {key: table[key] for key in _EXTRAS if key in table}
    with at("[model]"):
        if "attention" in table:
            head = attention_model(table["attention"])(**settings)
        elif "score" not in table:
            raise InputError('gives no mechanism; write attention = "softmax" or score = "dot(Q*x, K*y)"')
        else:
            head = Attention(**{key: table[key] for key in own}, **settings)
        model = MultiHead(head, **extras) if weights.has_heads(head) else replace(head, **extras)
        return _masked(model, table)


def _masked(model: AttentionModel, table: Mapping[str, Any]) -> AttentionModel:
    """Return the model under the mask that the section asks for."""
    mask = table.get("mask", "none")
    if mask not in _MASKS:
        raise InputError(f"mask = {mask!r} is unknown; use {' or '.join(map(repr, _MASKS))}")
    if mask == "causal":
        return Masked(model, table.get("sink", 0))
    if table.get("sink", 0) != 0:
        raise InputError(f'sink = {table["sink"]!r} belongs to mask = "causal"; give both or none')
    return model


# ---- initial law, time, solver


def _initial(
    table: Mapping[str, Any], weights: Weights, folder: Path, on_sphere: bool
) -> tuple[Gaussian | Array | None, TokenLaw | None]:
    """Return the initial law, or tokens and what they are drawn from."""
    if any(key in table for key in TOKEN_KEYS):
        return read_tokens(table, folder, on_sphere)
    if table and on_sphere:
        remedy = 'give tokens = "uniform", "gaussian" or tokens_file'
        raise InputError(f"[initial] {next(iter(table))}: Gaussian laws live on ℝᵈ; on the sphere {remedy}")
    return _initial_gaussian(table, weights) if table else None, None


def _initial_gaussian(table: Mapping[str, Any], weights: Weights) -> Gaussian:
    if "from" in table:
        return _initial_from_embeddings(table, weights)
    for key in ("mean", "cov"):
        if key not in table:
            raise InputError(f"[initial] {key} is missing; a Gaussian needs mean and cov")
    mean, cov = (read_array(f"[initial] {key}", table[key]) for key in ("mean", "cov"))
    with at("[initial]"):
        return Gaussian(mean, cov)


def _initial_from_embeddings(table: Mapping[str, Any], weights: Weights) -> Gaussian:
    if table["from"] != "embeddings":
        raise InputError(f'[initial] from = {table["from"]!r} is unknown; the only source is "embeddings"')
    for key in ("mean", "cov"):
        if key in table:
            raise InputError(f"[initial] gives both from and {key}; keep one of them")
    if weights.embeddings is None:
        raise InputError('[initial] from = "embeddings" needs [parameters] file = a .safetensors file')
    with at("[initial]"):
        return Gaussian(*embedding_moments(weights.embeddings))


def _time(table: Mapping[str, Any]) -> tuple[tuple[float, float] | None, Array | None]:
    if not table:
        return None, None
    if "t_span" not in table:
        raise InputError("[time] t_span is missing; write t_span = [start, end]")
    span = read_array("[time] t_span", table["t_span"])
    if span.shape != (2,) or span[0] == span[1]:
        raise InputError(f"[time] t_span = {table['t_span']} must be [start, end] with two different numbers")
    start, end = float(span[0]), float(span[1])
    if "t_eval" in table and "points" in table:
        raise InputError("[time] gives both t_eval and points; keep one of them")
    if "t_eval" in table:
        return (start, end), read_array("[time] t_eval", table["t_eval"])
    if "points" not in table:
        return (start, end), None
    points = read_index("[time] points", table["points"])
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
            value = read_number(f"[solver] {key}", table[key])
            if value < 0 or (key == "dt" and value == 0):
                raise InputError(f"[solver] {key} = {value} must be {'> 0' if key == 'dt' else '≥ 0'}")
    return {key: value if isinstance(value, str) else float(value) for key, value in table.items()}


# ---- noise and network


def _refuse_noise(
    model: AttentionModel | None,
    network: NetworkTask | None,
    noise: NoiseTask | None,
    solver: Mapping[str, Any],
    t_span: tuple[float, float] | None,
) -> None:
    """Refuse sections that contradict each other."""
    drawn = noise is not None and noise.activation is not None
    if noise is not None and not drawn and (model is None or model.noise.is_zero):
        raise InputError('[noise] activation is missing; write activation = "relu", or [model] diffusion')
    if (drawn or network) and (model is None or model.space != "sphere"):
        raise InputError('[noise] and [network] are for tokens on the sphere; write [model] space = "sphere"')
    if network is not None and not drawn:
        raise InputError('[network] needs the section [noise] with activation = "relu" or another')
    if network is not None and t_span not in (None, (0.0, network.horizon)):
        raise InputError(f"[time] t_span must be [0, {network.horizon:g}], the horizon of [network]")
    if noise is not None and noise.dt is not None and "dt" in solver:
        raise InputError("dt stands in [noise] and in [solver]; keep one of them")
