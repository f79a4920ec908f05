r"""A network and its limit with coupled noise, layer by layer.

Given U and b_U of a layer, its field at the tokens Y is :math:`N(0, K_m \otimes I_d)` with the covariance
:math:`K_m = \tfrac1m\Phi\Phi^\top + \sigma_W^2` of its features Φ; that of the limit is
:math:`N(0, K \otimes I_d)`, :math:`K = \kappa(YY^\top)`. The two are coupled at Y by the optimal map for the
Bures distance of K and K_m, and the limit at its own tokens is drawn given that at Y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.checking import Array, whole_number
from symflow.errors import InputError
from symflow.integrate.deep.attention import Attention, read_attention
from symflow.integrate.deep.network import DeepTransformer
from symflow.integrate.deep.run import refuse_dimension
from symflow.integrate.tokens.state import read_tokens, retracted

_MERGED = 8.0  # times n·ε·κ(1): pivots of this size are rounding


@dataclass(frozen=True, eq=False)
class Coupled:
    r"""Distances of coupled paths.

    Attributes
    ----------
    errors : ndarray, (paths,)
        :math:`\tfrac1n\sum_i \sup_l |X^i_l - \bar X^i_l|^2` of every path.
    x, limit : ndarray, (paths, n, d)
        Tokens of the network and of the limit at the last time.
    """

    errors: Array
    x: Array
    limit: Array

    @property
    def mean(self) -> float:
        """The mean over paths."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """Its standard error."""
        return float(self.errors.std(ddof=1) / np.sqrt(self.errors.size))


def couple(
    network: DeepTransformer,
    x0: Any,
    rng: Any = None,
    *,
    paths: int = 100,
    substeps: int | None = 1,
    infinite: bool = False,
) -> Coupled:
    r"""Run a network and its limit with coupled noise from the same tokens.

    Parameters
    ----------
    network : DeepTransformer
        Its layers, and its width unless ``infinite``.
    x0 : array_like, (n, d)
    rng : int or Generator, optional
    paths : int, default 100
        At least 2.
    substeps : int or None, default 1
        Steps per layer of the equation with common noise (Euler and Maruyama, retracted); None for the limit
        in m alone, an infinitely wide network with as many layers.
    infinite : bool, default False
        Whether the network itself is infinitely wide, K_m = K.

    Returns
    -------
    Coupled

    Raises
    ------
    InputError
        If an argument cannot be used.

    References
    ----------
    ABGSR26.

    Examples
    --------
    >>> from symflow import CommonNoise, DeepTransformer, Softmax
    >>> model, noise = Softmax(space="sphere", sign=0), CommonNoise("relu", dim=3)
    >>> wide, narrow = (
    ...     couple(DeepTransformer(model, noise, 8, m, 1.0), np.eye(3), 1, substeps=None).mean
    ...     for m in (256, 4)
    ... )
    >>> wide < narrow / 16
    True
    """
    tokens = read_tokens(network.model, x0, "x0")
    refuse_dimension(network, tokens)
    if whole_number(paths, "paths") < 2:
        raise InputError("paths = 1 leaves no standard error; give at least 2")
    steps = None if substeps is None else whole_number(substeps, "substeps")
    attention = _Batched(read_attention(network.model, tokens, network.params, network.horizon))
    pair = _Pair(network, attention, np.random.default_rng(rng), infinite)
    x = limit = np.broadcast_to(tokens.x, (paths, *tokens.x.shape)).copy()
    worst = np.zeros(x.shape[:2])
    for layer in range(network.layers):
        x, limit = pair.layer(layer, x, limit, steps)
        np.maximum(worst, np.sum((x - limit) ** 2, axis=-1), out=worst)
    return Coupled(worst.mean(axis=1), x, limit)


class _Pair:
    """The two systems, moved by a layer at a time."""

    def __init__(
        self, network: DeepTransformer, attention: _Batched, rng: np.random.Generator, infinite: bool
    ) -> None:
        self._network, self._attention, self._rng, self._infinite = network, attention, rng, infinite
        self._h = network.horizon / network.layers

    def layer(self, layer: int, x: Array, limit: Array, steps: int | None) -> tuple[Array, Array]:
        """Return both after a layer."""
        t, h = layer * self._h, self._h
        y = retracted(x + h * self._attention(t, x))
        factor = factors(self._covariance(y, y))
        if steps is None:
            at = retracted(limit + h * self._attention(t, limit))
            drawn, values = self._draw(y, factor, at)
            limit = retracted(at + np.sqrt(h) * values)
        else:
            drawn, small = np.zeros_like(x), h / steps
            for k in range(steps):
                part, values = self._draw(y, factor, limit)
                move = small * self._attention(t + k * small, limit) + np.sqrt(small) * values
                limit = retracted(limit + move - limit * np.sum(limit * move, axis=-1, keepdims=True))
                drawn += part / np.sqrt(steps)
        return retracted(y + np.sqrt(h) * self._field(y, factor, drawn)), limit

    def _covariance(self, one: Array, other: Array) -> Array:
        cosines = np.clip(one @ other.swapaxes(-1, -2), -1.0, 1.0)
        return np.asarray(self._network.noise.kappa(cosines))

    def _draw(self, y: Array, factor: Array, at: Array) -> tuple[Array, Array]:
        """Return normals g, whose field at y is ``factor g``, and that field at other points."""
        across, own = self._covariance(at, y), self._covariance(at, at)
        onto = solved(factor, across)
        rest = factors(own - onto @ onto.swapaxes(-1, -2), float(self._network.noise.kappa(1.0)))
        g, h = self._rng.standard_normal((2, *y.shape))
        return g, onto @ g + rest @ h

    def _field(self, y: Array, factor: Array, drawn: Array) -> Array:
        """Return the network's field at y, coupled with ``factor drawn``."""
        if self._infinite:
            return factor @ drawn
        layer = self._network.layer
        paths, m = y.shape[0], layer.width
        u = self._rng.standard_normal((paths, m, layer.dim))
        inner = layer.sigma_u * self._rng.standard_normal((paths, 1, m))
        with np.errstate(all="ignore"):  # tails of exponentials
            arguments = y @ u.swapaxes(-1, -2) / np.sqrt(layer.dim) + inner
            features = np.broadcast_to(np.asarray(layer.function(arguments), dtype=float), arguments.shape)
        own = factors(features @ features.swapaxes(-1, -2) / m + layer.sigma_w**2)
        return own @ rotation(own, factor) @ drawn


class _Batched:
    """Attention of many paths, one after the other."""

    def __init__(self, attention: Attention) -> None:
        self._call: Callable[..., int | None] | None = attention.bound("auto")[0]

    def __call__(self, t: float, x: Array) -> Array:
        out = np.zeros_like(x)
        if self._call is not None:
            for path, velocity in zip(x, out, strict=True):
                status = self._call(t, np.ascontiguousarray(path).reshape(-1), velocity.reshape(-1))
                if status:
                    raise InputError(f"attention cannot be computed at t = {t:g}; change its parameters")
        return out


def factors(covariance: Array, size: float | None = None) -> Array:
    """Return lower triangular factors of positive semidefinite matrices (…, n, n).

    Parameters
    ----------
    covariance : ndarray
    size : float, optional
        What the entries would be without cancellation; pivots that are rounding of it are zero.
    """
    n = covariance.shape[-1]
    scale = np.abs(covariance).max(axis=(-1, -2)) if size is None else np.full(covariance.shape[:-2], size)
    tiny = _MERGED * n * np.finfo(float).eps * scale
    found = np.zeros_like(covariance)
    for j in range(n):
        column = covariance[..., j:, j] - np.einsum("...ik,...k->...i", found[..., j:, :j], found[..., j, :j])
        pivot = column[..., 0]
        kept = pivot > tiny
        root = np.sqrt(np.where(kept, pivot, 1.0))
        found[..., j:, j] = np.where(kept[..., None], column / root[..., None], 0.0)
    return found


def solved(factor: Array, right: Array) -> Array:
    """Return ``right F^{-T}`` for lower triangular F; columns of zero pivots are zero."""
    found = np.zeros_like(right)
    for j in range(factor.shape[-1]):
        pivot = factor[..., j, j, None]
        left = right[..., j] - np.einsum("...ik,...k->...i", found[..., :j], factor[..., j, :j])
        found[..., j] = np.where(pivot > 0.0, left / np.where(pivot > 0.0, pivot, 1.0), 0.0)
    return found


def rotation(own: Array, factor: Array) -> Array:
    r"""Return the orthogonal O for which B O g is closest in mean square to A g, g standard normal.

    It maximises tr(AᵀBO): with :math:`B^\top A = P\Sigma Q^\top` it is PQᵀ, and the distance that of Bures.
    """
    left, _, right = np.linalg.svd(own.swapaxes(-1, -2) @ factor)
    return np.asarray(left @ right)
