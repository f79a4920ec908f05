"""The noise of a run as numbers for compiled steps: tables, layers, harmonics, factors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from symflow.checking import Array, real_array
from symflow.errors import InputError
from symflow.integrate.stochastic.options import Steps

_EXACT = 1e-11  # of κ(1), by which a table may differ from κ; what is left is far below the noise of a step
_NODES, _TRIALS = 24, 7
_MERGED = 8.0  # times n·ε·κ(1): pivots of this size are rounding


@runtime_checkable
class CommonField(Protocol):
    """A Gaussian field with covariance κ(⟨x, y⟩)I, shared by all tokens; ``CommonNoise`` is one."""

    @property
    def dim(self) -> int:
        """Dimension d of the tokens."""
        ...

    def kappa(self, u: Any) -> Any:
        """Return the covariance at cosines u."""
        ...


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
    if noise is not None and not isinstance(noise, CommonField):
        own.insert(0, _factor(noise, dim))
    factor = np.ascontiguousarray(np.concatenate(own, axis=1)) if own else None
    if not isinstance(noise, CommonField):
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


def _covariance(noise: CommonField, count: int, steps: Steps) -> tuple[dict[str, Any], float]:
    tiny = _MERGED * count * float(np.finfo(np.float64).eps) * float(noise.kappa(1.0))
    return {"kappa": kappa_table(noise.kappa), "tiny": tiny}, 0.0


def kappa_table(kappa: Callable[[Any], Any]) -> Array:
    r"""Return coefficients (TERMS, PIECES) of polynomials that agree with κ, in :math:`s = \sqrt{1 - |u|}`.

    κ of a layer has singularities like :math:`(1 \mp u)^{k+1/2}` at the ends at most, and is analytic in s on
    either side of u = 0; interpolation at Chebyshev's nodes of every piece therefore converges geometrically.

    Raises
    ------
    InputError
        If it does not agree with κ between the nodes.
    """
    paths = paths_module()
    half, terms = paths.PIECES // 2, paths.TERMS
    nodes = np.cos((np.arange(_NODES) + 0.5) * np.pi / _NODES)
    trials = np.linspace(-1.0, 1.0, _TRIALS)
    table, worst = np.empty((terms, paths.PIECES)), 0.0
    for piece in range(paths.PIECES):
        sign = 1.0 if piece < half else -1.0

        def cosines(x: Array, piece: int = piece, sign: float = sign) -> Array:
            s = (0.5 * x + piece % half + 0.5) / paths.PER_WIDTH
            return np.asarray(sign * (1.0 - s * s))

        fitted = np.polynomial.chebyshev.chebfit(nodes, np.asarray(kappa(cosines(nodes))), terms - 1)
        table[:, piece] = np.polynomial.chebyshev.cheb2poly(fitted) * 2.0 ** np.arange(terms)
        found = np.polynomial.polynomial.polyval(0.5 * trials, table[:, piece])
        worst = max(worst, float(np.abs(found - np.asarray(kappa(cosines(trials)))).max()))
    if not worst <= _EXACT * float(kappa(1.0)):
        raise InputError(
            f"polynomials miss κ of the noise by {worst:.1e}, it is not smooth between -1 and 1; "
            "use draw = 'features'"
        )
    return table


_SETTINGS: dict[str, Callable[[CommonField, int, Steps], tuple[dict[str, Any], float]]] = {
    "covariance": _covariance,
}
