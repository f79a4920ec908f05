"""The sections ``[noise]`` and ``[network]``: common noise of random layers, and a network of finite size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from symflow.checking import positive_number, whole_number
from symflow.errors import InputError
from symflow.models.noise.registry import activation
from symflow.spec.values import at, read_number

if TYPE_CHECKING:
    from symflow.models.noise.activation import Activation
    from symflow.noise.common import CommonNoise

NETWORK_KEYS = ("layers", "width", "horizon")
#: What a layer is made of; how a run draws it; and how the equation is stepped.
_LAYER = ("activation", "slope", "sigma_w", "sigma_u")
_DRAWS = ("draw", "features", "degree", "substeps")
NOISE_KEYS = (*_LAYER, "dt", "seed", "paths", *_DRAWS)


@dataclass(frozen=True)
class NetworkTask:
    """What ``[network]`` states.

    Attributes
    ----------
    layers, width : int
    horizon : float
    """

    layers: int
    width: int
    horizon: float


@dataclass(frozen=True, eq=False)
class NoiseTask:
    """What ``[noise]`` states.

    Attributes
    ----------
    activation : Activation or None
        None where the only noise is the model's ``diffusion``.
    sigma_w, sigma_u : number
        Standard deviations of the biases.
    dt : float or None
        Step of the equation.
    seed : int or None
    paths : int
    drawing : dict
        ``draw``, ``features``, ``degree`` and ``substeps`` of :func:`symflow.solve`, as far as given.
    """

    activation: Activation | None = None
    sigma_w: Any = 0
    sigma_u: Any = 0
    dt: float | None = None
    seed: int | None = None
    paths: int = 1
    drawing: Mapping[str, Any] = field(default_factory=dict)

    def common(self, dim: int) -> CommonNoise | None:
        """Return the noise that tokens in dimension ``dim`` share, None where there is none.

        Raises
        ------
        InputError
            If it is out of its domain.
        """
        if self.activation is None:
            return None
        from symflow.noise.common import CommonNoise

        with at("[noise]"):
            return CommonNoise(self.activation, self.sigma_w, self.sigma_u, dim=dim)


def read_network(table: Mapping[str, Any]) -> NetworkTask | None:
    """Return what the section states.

    Raises
    ------
    InputError
        Naming the key that is missing or does not fit.

    Examples
    --------
    >>> read_network({"layers": 150, "width": 1024, "horizon": 5})
    NetworkTask(layers=150, width=1024, horizon=5.0)
    """
    if not table:
        return None
    for key in NETWORK_KEYS:
        if key not in table:
            raise InputError(f"[network] {key} is missing; give {', '.join(NETWORK_KEYS)}")
    horizon = positive_number(read_number("[network] horizon", table["horizon"]), "[network] horizon")
    layers, width = (whole_number(table[key], f"[network] {key}") for key in ("layers", "width"))
    return NetworkTask(layers, width, horizon)


def read_noise(table: Mapping[str, Any]) -> NoiseTask | None:
    """Return what the section states.

    Raises
    ------
    InputError
        Naming the key that does not fit.

    Examples
    --------
    >>> read_noise({"activation": "relu", "sigma_u": 0.1, "dt": 0.01, "paths": 100}).paths
    100
    """
    if not table:
        return None
    dt = table.get("dt")
    seed = table.get("seed")
    return NoiseTask(
        activation=_activation(table),
        sigma_w=_deviation(table, "sigma_w"),
        sigma_u=_deviation(table, "sigma_u"),
        dt=None if dt is None else positive_number(read_number("[noise] dt", dt), "[noise] dt"),
        seed=None if seed is None else whole_number(seed, "[noise] seed", 0),
        paths=whole_number(table.get("paths", 1), "[noise] paths"),
        drawing=_drawing(table),
    )


def _activation(table: Mapping[str, Any]) -> Activation | None:
    name = table.get("activation")
    if name is None:
        for key in _LAYER:
            if key in table:
                raise InputError(f'[noise] {key} belongs to an activation; add activation = "relu"')
        return None
    if not isinstance(name, str):
        raise InputError(f"[noise] activation = {name!r} must be text in quotation marks")
    with at("[noise]"):
        declared = activation(name)
        if "slope" not in table:
            return declared
        if "slope" not in {entry.name for entry in fields(declared)}:
            raise InputError(f"slope is no parameter of the activation {name!r}; remove it")
        return type(declared)(slope=read_number("slope", table["slope"]))  # type: ignore[call-arg]


def _deviation(table: Mapping[str, Any], key: str) -> float:
    value = read_number(f"[noise] {key}", table.get(key, 0))
    if value < 0:
        raise InputError(f"[noise] {key} = {value} is a standard deviation; give a number ≥ 0")
    return value


def _drawing(table: Mapping[str, Any]) -> dict[str, Any]:
    drawing = {key: table[key] for key in _DRAWS if key in table}
    for key, value in drawing.items():
        if key == "draw":
            if not isinstance(value, str):
                raise InputError(f"[noise] draw = {value!r} must be text in quotation marks")
        else:
            whole_number(value, f"[noise] {key}")
    return drawing
