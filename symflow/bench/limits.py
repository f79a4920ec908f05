"""What the machine can do, measured: operations per second in registers, bytes per second from memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_SIZE = 1024  # of the square matrices whose product is timed
_LENGTH = 1 << 23  # of the vectors that are streamed, beyond every cache
_ROUNDS = 5


@dataclass(frozen=True)
class Limits:
    """Two roofs.

    Attributes
    ----------
    speed : float
        Operations per second of a product of large matrices, near the peak of multiplying and adding.
    bandwidth : float
        Bytes per second of a sum of long vectors.
    """

    speed: float
    bandwidth: float


def measure_limits() -> Limits:
    """Measure both, with as many threads as NumPy may use for products, and one for the sum."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, _SIZE, _SIZE))
    product = np.empty_like(a)
    x, y = rng.normal(size=(2, _LENGTH))
    total = np.empty_like(x)
    per_product = _shortest(lambda: np.matmul(a, b, out=product))
    per_sum = _shortest(lambda: np.add(x, y, out=total))
    return Limits(speed=2.0 * _SIZE**3 / per_product, bandwidth=24.0 * _LENGTH / per_sum)


def _shortest(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
