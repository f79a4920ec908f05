"""Runs from uniform starts, for measurements."""

from __future__ import annotations

from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.integrate.ensemble.run import ensemble
from symflow.models.attention.softmax import Softmax


def uniform_starts(seed: int, runs: int, n: int, d: int) -> Array:
    """Return independent uniform tokens of the sphere, (runs, n, d)."""
    x = np.random.default_rng([seed, n, d]).normal(size=(runs, n, d))
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


def run(starts: Array, times: Any, beta: float, *, sign: int = 1, rtol: float = 1e-6) -> Array:
    """Return softmax attention with Q = K = V = I from every start at every time, (runs, T, n, d)."""
    model = Softmax(space="sphere", beta=beta, sign=sign)
    grid = np.concatenate([[0.0], np.asarray(times, dtype=float)])
    found = ensemble(model, starts, {}, (0.0, grid[-1]), t_eval=grid, rtol=rtol, atol=1e-2 * rtol)
    return np.asarray(found.x[:, 1:])
