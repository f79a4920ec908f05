"""Runs of tokens in common noise, for measurements."""

from __future__ import annotations

from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.integrate.ensemble.run import ensemble
from symflow.models.attention.softmax import Softmax
from symflow.noise.common import CommonNoise

FEATURES = 128  #: units of a layer whose realisation several clouds share


def uniform_clouds(seed: int, *shape: int) -> Array:
    """Return independent uniform tokens of the sphere; the last axis is the coordinate."""
    x = np.random.default_rng([seed, *shape]).normal(size=shape)
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


def through_noise(
    starts: Array,
    noise: CommonNoise,
    times: Any,
    *,
    dt: float,
    seed: int,
    sign: int = 1,
    beta: float = 1.0,
    draw: str = "features",
) -> Array:
    """Return tokens from every start (paths, n, d) at every time, (paths, T, n, d), with Q = K = V = I.

    Start p sees the noise of path p of the seed. Drawn as features it is a function of the place, so that
    other starts with the same seed see the same one.
    """
    model = Softmax(space="sphere", beta=beta, sign=sign)
    grid = np.concatenate([[0.0], np.asarray(times, dtype=float)])
    found = ensemble(
        model, starts, {}, (0.0, grid[-1]), t_eval=grid, noise=noise, dt=dt, rng=seed, draw=draw,
        features=FEATURES if draw == "features" else None,
    )  # fmt: skip
    return np.asarray(found.x[:, 1:])
