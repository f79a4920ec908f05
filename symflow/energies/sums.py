"""Sums over pairs of tokens whose exponentials may exceed the range of doubles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.clustering.pairs import blocks, tokens

LOG_LARGEST = math.log(np.finfo(np.float64).max)


def as_clouds(x: Any) -> tuple[Array, tuple[int, ...]]:
    """Return the tokens as (B, n, d), and the leading axes that were flattened."""
    array = tokens(x)
    return array.reshape(-1, *array.shape[-2:]), array.shape[:-2]


def shaped(values: Array, lead: tuple[int, ...]) -> Any:
    return values.reshape(lead) if lead else float(values[0])


def largest_square(x: Array) -> float:
    return float(np.einsum("...d,...d->...", x, x).max())


def log_mean(left: Array, right: Array) -> Array:
    """Return the logarithm of the mean of exp(left_i · right_j) over all pairs, for each cloud."""
    frames, n = left.shape[:2]
    log = np.full(frames, -np.inf)
    for chosen, rows in blocks(frames, n):
        scores = left[chosen, rows] @ right[chosen].swapaxes(1, 2)
        top = scores.max(axis=(1, 2))
        part = top + np.log(np.exp(scores - top[:, None, None]).sum(axis=(1, 2)))
        log[chosen] = np.logaddexp(log[chosen], part)
    return log - 2.0 * math.log(n)


def scaled_sums(left: Array, right: Array, values: Array) -> tuple[Array, Array]:
    """Return s and G with ``exp(s) G_i = n⁻² Σ_j exp(left_i · right_j) values_j``."""
    frames, n = left.shape[:2]
    tops, sums = np.empty((frames, n)), np.empty((frames, n, values.shape[2]))
    for chosen, rows in blocks(frames, n):
        scores = left[chosen, rows] @ right[chosen].swapaxes(1, 2)
        top = scores.max(axis=2)
        tops[chosen, rows] = top
        sums[chosen, rows] = np.exp(scores - top[..., None]) @ values[chosen]
    log = tops.max(axis=1)
    return log - 2.0 * math.log(n), np.exp(tops - log[:, None])[..., None] * sums
