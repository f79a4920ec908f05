"""The random layer of a network as numbers: its activation, its biases, and what it draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from sympy import Expr

from symflow.checking import Array
from symflow.errors import InputError
from symflow.integrate.schedule import instructions
from symflow.models.noise.statement import Z
from symflow.noise.common import CommonNoise

#: The fourth word of a counter for realisations of a field, in ``paths/symflow_paths.h``.
STREAM = 2


@dataclass(frozen=True)
class Weights:
    """One layer.

    Attributes
    ----------
    U, W : ndarray, (m, d), (d, m)
        Standard normal.
    b_U, b_W : ndarray, (m,), (d,)
        Biases with their standard deviations.
    """

    U: Array
    b_U: Array
    W: Array
    b_W: Array


@dataclass(frozen=True, eq=False)
class RandomLayer:
    r"""Layers :math:`G(y) = m^{-1/2} W \phi(d^{-1/2} U y + b_U) + b_W` of width m.

    Attributes
    ----------
    phi : Expr
        φ in the symbol z.
    sigma_w, sigma_u : float
    dim, width : int
    """

    phi: Expr
    sigma_w: float
    sigma_u: float
    dim: int
    width: int

    @cached_property
    def function(self) -> Callable[[Array], Any]:
        """φ of arrays."""
        return sympy.lambdify(Z, self.phi, ["scipy", "numpy"])  # type: ignore[no-any-return]

    @property
    def program(self) -> tuple[Array, Array]:
        """φ as instructions for compiled layers.

        Raises
        ------
        InputError
            If a function has no instruction.
        """
        return instructions([self.phi], "activation")

    @property
    def size(self) -> int:
        """How many numbers a layer draws."""
        return self.width * (2 * self.dim + 1) + self.dim

    def read(self, drawn: Array) -> Weights:
        """Return the layer that is made of ``size`` standard normal numbers."""
        m, d = self.width, self.dim
        u, w = drawn[: m * d].reshape(m, d), drawn[m * d : 2 * m * d].reshape(m, d)
        inner, outer = drawn[2 * m * d : 2 * m * d + m], drawn[2 * m * d + m :]
        return Weights(U=u, b_U=self.sigma_u * inner, W=w.T, b_W=self.sigma_w * outer)

    def features(self, weights: Weights, y: Array) -> Array:
        """Return φ(d^{-1/2}Uy + b_U), (n, m), at tokens (n, d)."""
        arguments = y @ weights.U.T / np.sqrt(self.dim) + weights.b_U
        with np.errstate(all="ignore"):  # tails of exponentials; what is not finite ends the run by name
            return np.broadcast_to(np.asarray(self.function(arguments), dtype=np.float64), arguments.shape)

    def field(self, weights: Weights, y: Array) -> Array:
        """Return G(y), (n, d)."""
        return np.asarray(self.features(weights, y) @ weights.W.T / np.sqrt(self.width) + weights.b_W)


def read_layer(noise: Any, width: int) -> RandomLayer:
    """Return the layers of a network.

    Raises
    ------
    InputError
        If ``noise`` is no common noise.
    """
    if not isinstance(noise, CommonNoise):
        given = type(noise).__name__
        raise InputError(f"noise must be a CommonNoise such as CommonNoise('relu', dim=4), got {given}")
    phi = noise.statement.phi
    return RandomLayer(phi, float(noise.sigma_w), float(noise.sigma_u), noise.dim, width)


def normals(key: tuple[int, int], path: int, layer: int, count: int) -> Array:
    r"""Return the normal numbers of a layer of a path, by NumPy's Philox and the method of Box and Muller.

    Of two words the first gives the radius :math:`\sqrt{-2\log u}` by its upper 52 bits, the second the
    angle: an eighth of a turn either way by its upper 52 bits, quarters by its lowest two.
    """
    counter = np.array([0, layer, path, STREAM], dtype=np.uint64)
    generator = np.random.Philox(counter=counter, key=np.array(key, dtype=np.uint64))
    first, second = generator.random_raw((count + 3) // 4 * 4).reshape(-1, 2).T
    radius = np.sqrt(-2.0 * np.log(1.0 - (first >> np.uint64(12)) * 2.0**-52))
    angle = 0.5 * np.pi * ((second >> np.uint64(12)) * 2.0**-52 - 0.5)
    swapped, turned = (second & np.uint64(1)).astype(bool), (second & np.uint64(2)).astype(bool)
    radius = np.where(turned, -radius, radius)
    cosine, sine = radius * np.cos(angle), radius * np.sin(angle)
    pairs = np.stack([np.where(swapped, sine, cosine), np.where(swapped, cosine, sine)], axis=1)
    return pairs.reshape(-1)[:count]
