"""Gradients and Hessians of an energy at many clouds on spheres, in orthonormal frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symflow.checking import Array
from symflow.energies import Energy

#: Step of central differences of gradients: errors of truncation and rounding are both near 1e-10.
_STEP = 6e-6


def frames(x: Array) -> Array:
    """Return orthonormal tangent frames at points of the sphere.

    Parameters
    ----------
    x : ndarray, (..., d)
        Unit vectors.

    Returns
    -------
    ndarray, (..., d, d − 1)
        The other columns of the reflection that takes x to the first axis, up to sign.
    """
    d = x.shape[-1]
    normal = x.copy()
    normal[..., 0] += np.copysign(1.0, x[..., 0])
    square = np.einsum("...i,...i->...", normal, normal)[..., None, None]
    reflection = np.eye(d) - 2.0 * normal[..., :, None] * normal[..., None, :] / square
    return np.asarray(reflection[..., 1:])


@dataclass(frozen=True)
class Derivatives:
    """Gradients (B, m) and Hessians (B, m, m) in the frames (B, n, d, d − 1), m = n(d − 1)."""

    gradient: Array
    hessian: Array
    frames: Array


def derivatives(energy: Energy, x: Array) -> Derivatives:
    """Return the Riemannian gradient and Hessian for Σ|ξ_i|², at each cloud of (B, n, d)."""
    clouds, n, d = x.shape
    gradient = _euclidean(energy, x)
    curvature = _curvature(energy, x)
    basis = frames(x)
    tangent = np.einsum("bnd,bndk->bnk", gradient, basis)
    hessian = np.einsum("bidk,bidje,bjel->bikjl", basis, curvature, basis)
    radial = np.einsum("bnd,bnd->bn", gradient, x)
    tokens, directions = np.arange(n)[:, None], np.arange(d - 1)[None, :]
    hessian[:, tokens, directions, tokens, directions] -= radial[:, :, None]
    size = n * (d - 1)
    flat = hessian.reshape(clouds, size, size)
    return Derivatives(tangent.reshape(clouds, size), 0.5 * (flat + flat.swapaxes(1, 2)), basis)


def gradients(energy: Energy, x: Array) -> Array:
    """Return the sizes of the Riemannian gradients at each cloud."""
    return np.asarray(np.linalg.norm(np.asarray(energy.gradient(x, "sphere")), axis=(1, 2)))


def _euclidean(energy: Energy, x: Array) -> Array:
    return np.asarray(energy.gradient(x, "euclidean"))


def _curvature(energy: Energy, x: Array) -> Array:
    """Return the second derivatives (B, n, d, n, d) of the energy in the surrounding space."""
    clouds, n, d = x.shape
    shifts = _STEP * np.eye(n * d).reshape(n * d, 1, n, d)
    ahead, behind = ((x[None] + s * shifts).reshape(-1, n, d) for s in (1.0, -1.0))
    slopes = (_euclidean(energy, ahead) - _euclidean(energy, behind)) / (2.0 * _STEP)
    return slopes.reshape(n, d, clouds, n, d).transpose(2, 0, 1, 3, 4)
