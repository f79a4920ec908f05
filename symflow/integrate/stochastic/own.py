"""Small stochastic equations of a user's own, written in NumPy; tokens have compiled steps instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symflow.checking import Array, positive_number, real_array
from symflow.errors import InputError
from symflow.integrate.stochastic.field import paths_module
from symflow.integrate.stochastic.options import Steps, read_steps
from symflow.integrate.stochastic.streams import path_numbers, stream_key

#: Which method follows which reading of the noise.
INTERPRETATIONS = {"ito": "euler-maruyama", "stratonovich": "heun"}
_STREAM = 3  # none of those of tokens

#: ``f(t, x)`` of all paths at once.
Field = Callable[[float, Array], Any]


def solve_sde(
    drift: Field,
    diffusion: Field,
    x0: Any,
    t_span: Any,
    *,
    dt: float,
    interpretation: str,
    rng: Any = None,
    paths: Any = 1,
    substeps: int = 1,
) -> tuple[Array, Array]:
    r"""Integrate an equation in ℝᵈ, read as the caller says.

    .. math:: dx = b(t, x)\,dt + \sigma(t, x)\,dB \;\text{(Itô)} \qquad\text{or}\qquad
              dx = b(t, x)\,dt + \sigma(t, x)\circ dB \;\text{(Stratonovich)}

    Itô is followed by the method of Euler and Maruyama, of strong order 1/2 and weak order 1; Stratonovich by
    that of Heun, of strong order 1 where the noise commutes (one Brownian motion, or diagonal), else 1/2.

    Parameters
    ----------
    drift, diffusion : callable
        ``f(t, x)`` of all paths, x of shape (paths, d). ``drift`` returns that shape; ``diffusion`` too, for
        one Brownian motion per coordinate, or (paths, d, r) for r of them.
    x0 : array_like, (d,) or a number
    t_span : (float, float)
    dt : float
    interpretation : str
        ``"ito"`` or ``"stratonovich"``; there is no default, because the two differ.
    rng, paths, substeps : optional
        As in :func:`symflow.ensemble`.

    Returns
    -------
    t : ndarray, (T,)
    x : ndarray, (paths, T, d)

    Raises
    ------
    InputError
        If an argument cannot be used, or a function returns another shape.

    References
    ----------
    Kloeden, Platen, *Numerical Solution of Stochastic Differential Equations*, chapters 10 and 11.

    Examples
    --------
    >>> growth = dict(dt=0.01, rng=1, paths=2000)
    >>> ends = [
    ...     solve_sde(lambda t, x: 0 * x, lambda t, x: x, 1.0, (0, 1), interpretation=reading, **growth)[1]
    ...     for reading in ("ito", "stratonovich")
    ... ]
    >>> [round(float(x[:, -1].mean()), 0) for x in ends]  # 1 and √e
    [1.0, 2.0]
    """
    if interpretation not in INTERPRETATIONS:
        known = " or ".join(map(repr, INTERPRETATIONS))
        raise InputError(f"interpretation = {interpretation!r} must be {known}")
    start = np.atleast_1d(real_array(x0, "x0"))
    if start.ndim != 1:
        raise InputError(f"x0 must be a number or (d,), got shape {start.shape}")
    method = INTERPRETATIONS[interpretation]
    steps = read_steps(
        start.size, t_span, dt=positive_number(dt, "dt"), method=method, draw="features", features=None,
        degree=None, substeps=substeps,
    )  # fmt: skip
    numbers, key = path_numbers(paths, None), stream_key(rng)
    x = np.broadcast_to(start, (numbers.size, start.size)).copy()
    kept = [x]
    for step in range(steps.count):
        x = _step(drift, diffusion, x, steps, step, (key, numbers.tolist()))
        kept.append(x)
    return steps.times(0, steps.count), np.stack(kept, axis=1)


def _step(
    drift: Field, diffusion: Field, x: Array, steps: Steps, step: int, streams: tuple[Any, list[int]]
) -> Array:
    t, end = steps.times(step, step + 1).tolist()
    h = end - t
    sigma = _array(diffusion(t, x), "diffusion", x)
    width = sigma.shape[-1]
    noise = np.sqrt(h) * _increments(streams, steps, step, width)
    first = h * _array(drift(t, x), "drift", x) + _applied(sigma, noise)
    if steps.method == "euler-maruyama":
        return np.asarray(x + first)
    ahead = x + first
    second = h * _array(drift(end, ahead), "drift", x)
    second += _applied(_array(diffusion(end, ahead), "diffusion", x), noise)
    return np.asarray(x + 0.5 * (first + second))


def _increments(streams: tuple[Any, list[int]], steps: Steps, step: int, width: int) -> Array:
    """Return what a step draws (paths, width), of variance one."""
    (key, numbers), fine = streams, steps.substeps
    draws = (paths_module().draw_numbers(key, width, numbers, step * fine + k, _STREAM) for k in range(fine))
    return np.asarray(sum(draws) / np.sqrt(fine))


def _applied(sigma: Array, noise: Array) -> Array:
    return sigma * noise if sigma.ndim == 2 else np.einsum("pij,pj->pi", sigma, noise)


def _array(value: Any, name: str, x: Array) -> Array:
    """Return what a function returned; a diffusion may have one axis more than x."""
    found = np.asarray(value, dtype=np.float64)
    if found.shape == x.shape or (name == "diffusion" and found.ndim == 3 and found.shape[:2] == x.shape):
        return found
    more = " or (paths, d, r)" if name == "diffusion" else ""
    raise InputError(f"{name} returned shape {found.shape} for x of shape {x.shape}; return that{more}")
