"""Multi-start Newton for the zeros of a gradient on a product of spheres."""

from __future__ import annotations

import numpy as np

from symflow.checking import Array
from symflow.codegen.hessians.kernel import HessianKernel, Newton

_ROUNDS = 120
#: Gradients below this share of the largest eigenvalue count as zero.
_TOLERANCE = 1e-11
#: Length of a step, over all tokens.
_LONGEST = 0.5
#: Damping below which an eigenvalue that vanishes along rotations would be divided by.
_LEAST = 1e-12


def draw(count: int, n: int, d: int, rng: np.random.Generator) -> Array:
    """Return clouds (count, n, d): every second uniform, the others near few points and their opposites."""
    clouds = rng.normal(size=(count, n, d))
    for k in range(1, count, 2):
        centres = rng.normal(size=(int(rng.integers(1, n + 1)), d))
        signs = rng.choice((-1.0, 1.0), size=(n, 1))
        clouds[k] = signs * centres[rng.integers(len(centres), size=n)] + 0.05 * clouds[k]
    return np.asarray(clouds / np.linalg.norm(clouds, axis=-1, keepdims=True))


def newton(kernel: HessianKernel, x: Array) -> Array:
    r"""Return the critical points (K, n, d) that damped Newton steps reach from the clouds (B, n, d).

    A step is :math:`-(H^2 + \mu^2)^{-1}Hg`, so that points of every index attract; μ falls with each step
    that makes the gradient smaller and grows otherwise.
    """
    found = []
    damping = np.full(len(x), 0.3)
    here = kernel.newton(x)
    for _ in range(_ROUNDS):
        size, scale = np.linalg.norm(here.slopes, axis=1), np.abs(here.matrix).max(axis=(1, 2))
        done = size <= _TOLERANCE * scale
        found.append(x[done])
        x, damping, size = x[~done], damping[~done], size[~done]
        here = Newton(*(part[~done] for part in here))
        if not len(x):
            break
        tried = _moved(x, here, damping)
        there = kernel.newton(tried)
        better = np.linalg.norm(there.slopes, axis=1) < size
        damping = np.where(better, np.maximum(0.2 * damping, _LEAST), np.minimum(4.0 * damping, 1e6))
        x = _where(better, tried, x)
        here = Newton(*(_where(better, new, old) for new, old in zip(there, here, strict=True)))
    return _polished(kernel, np.concatenate(found))


def nearest(kernel: HessianKernel, x: Array) -> Array:
    """Return the point (n, d) to which Newton steps lead from tokens that are nearly critical."""
    found = x[None]
    for _ in range(6):
        found = _moved(found, kernel.newton(found), np.full(1, _LEAST))
    return np.asarray(found[0])


def _polished(kernel: HessianKernel, x: Array) -> Array:
    """Return points after a few steps without damping, which leave nothing but rounding."""
    for _ in range(4 if len(x) else 0):
        x = _moved(x, kernel.newton(x), np.full(len(x), _LEAST))
    return x


def _moved(x: Array, here: Newton, damping: Array) -> Array:
    values, vectors = np.linalg.eigh(here.matrix)
    scale = np.abs(values).max(axis=1, keepdims=True)
    weights = values / (values**2 + (damping[:, None] * scale) ** 2)
    along = np.einsum("bij,bi->bj", vectors, here.slopes)
    step = -np.einsum("bij,bj->bi", vectors, weights * along)
    length = np.linalg.norm(step, axis=1, keepdims=True)
    step = step * np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300))
    moved = x + np.einsum("bndk,bnk->bnd", here.frames, step.reshape(*x.shape[:2], -1))
    return np.asarray(moved / np.linalg.norm(moved, axis=-1, keepdims=True))


def _where(chosen: Array, new: Array, old: Array) -> Array:
    return np.where(chosen.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
