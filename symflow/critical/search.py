"""Multi-start Newton for the zeros of a gradient on a product of spheres."""

from __future__ import annotations

import numpy as np

from symflow.checking import Array
from symflow.critical.numeric import Derivatives, derivatives
from symflow.energies import Energy

_ROUNDS = 120
#: Gradients below this share of the largest eigenvalue count as zero.
_TOLERANCE = 1e-11
#: Length of a step, over all tokens.
_LONGEST = 0.5
#: Damping below which an eigenvalue that vanishes along rotations would be divided by.
_LEAST = 1e-9


def starts(count: int, n: int, d: int, rng: np.random.Generator) -> Array:
    """Return clouds (count, n, d): every second uniform, the others near few points and their opposites."""
    clouds = rng.normal(size=(count, n, d))
    for k in range(1, count, 2):
        centres = rng.normal(size=(int(rng.integers(1, n + 1)), d))
        signs = rng.choice((-1.0, 1.0), size=(n, 1))
        clouds[k] = signs * centres[rng.integers(len(centres), size=n)] + 0.05 * clouds[k]
    return np.asarray(clouds / np.linalg.norm(clouds, axis=-1, keepdims=True))


def newton(energy: Energy, x: Array) -> Array:
    """Return the critical points (K, n, d) that damped Newton steps for the gradient reach from each cloud.

    A step is :math:`-(H^2 + \\mu^2)^{-1}Hg`, so that points of every index attract; μ falls with each step
    that makes the gradient smaller and grows otherwise.
    """
    found = []
    damping = np.full(len(x), 0.3)
    here = derivatives(energy, x)
    for _ in range(_ROUNDS):
        size, scale = np.linalg.norm(here.gradient, axis=1), np.abs(here.hessian).max(axis=(1, 2))
        done = size <= _TOLERANCE * scale
        found.append(x[done])
        x, damping, here = x[~done], damping[~done], _chosen(here, ~done)
        if not len(x):
            break
        size = size[~done]
        tried = _moved(x, here, damping)
        there = derivatives(energy, tried)
        better = np.linalg.norm(there.gradient, axis=1) < size
        damping = np.where(better, np.maximum(0.2 * damping, _LEAST), np.minimum(4.0 * damping, 1e6))
        x = np.where(better[:, None, None], tried, x)
        here = _merged(here, there, better)
    return _polished(energy, np.concatenate(found))


def _polished(energy: Energy, x: Array) -> Array:
    """Return points after two steps without damping, which leave nothing but rounding."""
    for _ in range(2 if len(x) else 0):
        x = _moved(x, derivatives(energy, x), np.full(len(x), _LEAST))
    return x


def _moved(x: Array, here: Derivatives, damping: Array) -> Array:
    values, vectors = np.linalg.eigh(here.hessian)
    scale = np.abs(values).max(axis=1, keepdims=True)
    weights = values / (values**2 + (damping[:, None] * scale) ** 2)
    along = np.einsum("bij,bi->bj", vectors, here.gradient)
    step = -np.einsum("bij,bj->bi", vectors, weights * along)
    length = np.linalg.norm(step, axis=1, keepdims=True)
    step = step * np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300))
    tangent = np.einsum("bndk,bnk->bnd", here.frames, step.reshape(*x.shape[:2], -1))
    moved = x + tangent
    return np.asarray(moved / np.linalg.norm(moved, axis=-1, keepdims=True))


def _chosen(parts: Derivatives, kept: Array) -> Derivatives:
    return Derivatives(parts.gradient[kept], parts.hessian[kept], parts.frames[kept])


def _merged(old: Derivatives, new: Derivatives, chosen: Array) -> Derivatives:
    return Derivatives(
        np.where(chosen[:, None], new.gradient, old.gradient),
        np.where(chosen[:, None, None], new.hessian, old.hessian),
        np.where(chosen[:, None, None, None], new.frames, old.frames),
    )
