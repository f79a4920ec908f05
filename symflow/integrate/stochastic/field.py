"""The noise of a run as numbers for compiled steps: tables, layers, harmonics, factors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.errors import InputError
from symflow.integrate.schedule import instructions
from symflow.integrate.stochastic.options import Steps
from symflow.noise.common import CommonNoise

_EXACT = 1e-11  # of κ(1), by which a table may differ from κ; what is left is far below the noise of a step
_NODES, _TRIALS = 24, 7
_MERGED = 8.0  # times n·ε·κ(1): pivots of this size are rounding
_ORDER = 512  # of the quadrature of Schoenberg coefficients


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise of a run.

    Attributes
    ----------
    draw : str
        ``"none"``, or how the common field is drawn.
    settings : dict
        What ``symflow_ext.paths.Paths`` takes of it.
    factor : ndarray, (d, r), or None
        B of the idiosyncratic noise B dB_i.
    truncation : float
        What truncated harmonics leave out of κ(1), relative to it.
    """

    draw: str = "none"
    settings: dict[str, Any] = field(default_factory=dict)
    factor: Array | None = None
    truncation: float = 0.0


def paths_module() -> Any:
    """Return ``symflow_ext.paths``, which takes the steps."""
    return importlib.import_module("symflow_ext.paths")


def read_noise(noise: Any, epsilon: float, count: int, dim: int, steps: Steps, on_sphere: bool) -> Noise:
    """Return the noise of n tokens in dimension d.

    Parameters
    ----------
    noise : CommonNoise, float, array_like or None
        Common noise, or the factor of an additive one: σ, (d,) on the diagonal, or (d, r).
    epsilon : float
        ε of √(2ε)dB_i, which the model has.
    count, dim : int
    steps : Steps
    on_sphere : bool

    Raises
    ------
    InputError
        If its shape or dimension does not fit, or it is no noise.
    """
    own = [np.sqrt(2.0 * epsilon) * np.eye(dim)] if epsilon > 0.0 else []
    if noise is not None and not isinstance(noise, CommonNoise):
        own.insert(0, _factor(noise, dim))
    factor = np.ascontiguousarray(np.concatenate(own, axis=1)) if own else None
    if not isinstance(noise, CommonNoise):
        return Noise(factor=factor)
    if noise.dim != dim:
        raise InputError(
            f"noise has dim = {noise.dim}, but tokens have d = {dim}; give CommonNoise dim={dim}"
        )
    if not on_sphere:
        raise InputError("common noise with covariance κ(⟨x, y⟩) lives on the sphere; give space='sphere'")
    settings, truncation = _SETTINGS[steps.draw](noise, count, steps)
    return Noise(steps.draw, settings, factor, truncation)


def _factor(noise: Any, dim: int) -> Array:
    """Return B (d, r) of an additive noise: one number and one per coordinate stand for a diagonal."""
    if isinstance(noise, str) or callable(noise):
        raise InputError(
            f"noise must be a CommonNoise, a number, or an array (d,) or (d, r), got {type(noise).__name__}"
        )
    array = real_array(noise, "noise")
    if array.ndim == 0 or array.shape == (1,):
        return float(array.reshape(())) * np.eye(dim)
    if array.ndim == 1 and array.size == dim:
        return np.diag(array)
    if array.ndim == 2 and array.shape[0] == dim and array.shape[1] > 0:
        return array
    raise InputError(
        f"noise has shape {array.shape}; for tokens in dimension d = {dim} give one number, ({dim},), or a "
        f"factor ({dim}, r)"
    )


# --------------------------------------------------------------------------------- draws of the common field

#: What compiled steps take of a field, and what it leaves out of κ(1).
Settings = tuple[dict[str, Any], float]


def _covariance(noise: CommonNoise, count: int, steps: Steps) -> Settings:
    """The field at the tokens, by a factor of their covariance."""
    table, variance = _table(noise)
    return {"kappa": table, "tiny": _MERGED * count * float(np.finfo(np.float64).eps) * variance}, 0.0


@lru_cache(maxsize=16)
def _table(noise: CommonNoise) -> tuple[Array, float]:
    r"""Return κ as polynomials in :math:`s = \sqrt{1 - |u|}`, (TERMS, PIECES), u ≥ 0 first; and κ(1).

    κ of a layer has singularities like :math:`(1 \mp u)^{k+1/2}` at the ends at most, and is analytic in s on
    either side of u = 0; interpolation at Chebyshev's nodes of every piece therefore converges geometrically.
    """
    paths = paths_module()
    nodes = np.cos((np.arange(_NODES) + 0.5) * np.pi / _NODES)
    trials = np.linspace(-1.0, 1.0, _TRIALS)
    table, worst = np.empty((paths.TERMS, paths.PIECES)), 0.0
    for piece in range(paths.PIECES):
        side, place = divmod(piece, paths.PIECES // 2)
        fitted = np.polynomial.chebyshev.chebfit(
            nodes, noise.kappa(_cosines(nodes, side, place)), paths.TERMS - 1
        )
        table[:, piece] = np.polynomial.chebyshev.cheb2poly(fitted) * 2.0 ** np.arange(paths.TERMS)
        found = np.polynomial.polynomial.polyval(0.5 * trials, table[:, piece])
        worst = max(worst, float(np.abs(found - noise.kappa(_cosines(trials, side, place))).max()))
    variance = float(noise.kappa(1.0))
    if not worst <= _EXACT * variance:
        raise InputError(
            f"polynomials miss κ of the noise by {worst:.1e}, it is not smooth enough between -1 and 1; "
            "use draw = 'features'"
        )
    return table, variance


def _cosines(x: Array, side: int, place: int) -> Array:
    """Return the cosines at places x of [-1, 1] in a piece."""
    s = (0.5 * x + place + 0.5) / paths_module().PER_WIDTH
    return np.asarray((1.0 - s * s) * (1 - 2 * side))


def _features(noise: CommonNoise, count: int, steps: Steps) -> Settings:
    r"""One layer :math:`m^{-1/2}W\phi(d^{-1/2}Uy + b_U) + b_W`, whose covariance is κ for every m."""
    codes, numbers = instructions([noise.statement.phi], "activation")
    layer = (noise.dim**-0.5, float(noise.sigma_u), float(noise.sigma_w))
    return {"features": steps.features, "program": (codes, numbers), "layer": layer}, 0.0


def _harmonics(noise: CommonNoise, count: int, steps: Steps) -> Settings:
    r"""Spherical harmonics up to a degree, with the coefficients :math:`\kappa(u) = \sum_k a_kP_k(u)`."""
    if noise.dim not in (2, 3):
        raise InputError(
            f"draw = 'harmonics' is for the circle and S² (d = 2, 3), got d = {noise.dim}; use 'features'"
        )
    coefficients = schoenberg(noise.kappa, noise.dim, steps.degree)
    left = max(0.0, 1.0 - float(coefficients.sum()) / float(noise.kappa(1.0)))
    return {"features": steps.degree, "amplitudes": np.sqrt(coefficients)}, left


def schoenberg(kappa: Callable[[Any], Any], dim: int, degree: int) -> Array:
    r"""Return a_0, …, a_K of :math:`\kappa(u) = \sum_k a_kP_k(u)`, P_k(1) = 1, by Gaussian quadrature.

    P_k are Chebyshev's polynomials for d = 2 and Legendre's for d = 3.
    """
    if dim == 2:
        angles = (np.arange(_ORDER) + 0.5) * np.pi / _ORDER
        values = np.cos(np.outer(np.arange(degree + 1), angles))
        weights, norms = np.full(_ORDER, 1.0 / _ORDER), np.where(np.arange(degree + 1) == 0, 1.0, 2.0)
        nodes = np.cos(angles)
    else:
        nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
        values = np.polynomial.legendre.legvander(nodes, degree).T
        norms = np.arange(degree + 1) + 0.5
    return np.asarray(np.maximum(norms * (values @ (weights * np.asarray(kappa(nodes)))), 0.0))


_SETTINGS: dict[str, Callable[[CommonNoise, int, Steps], Settings]] = {
    "covariance": _covariance,
    "features": _features,
    "harmonics": _harmonics,
}
