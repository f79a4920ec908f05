"""What the machine can do, measured: operations in registers, exponentials, products of matrices, bytes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_SIZE = 768  # of the square matrices whose product is timed
_LENGTH = 1 << 22  # of the vectors that are streamed, beyond every cache
_ROUNDS = 4
_MANY_ROUNDS = 12  # of short timings, since another process may have a core
_SHARE = 10e-3  # seconds that one timing in registers takes


@dataclass(frozen=True)
class Limits:
    """Roofs.

    Attributes
    ----------
    speed : float
        Operations per second of multiplying and adding registers.
    exponential : float
        Seconds of an exponential of what lies in the first cache, alone.
    products : float
        Operations per second of a product of large matrices in NumPy.
    bandwidth : float
        Bytes per second of a sum of long vectors in NumPy, with one thread.
    """

    speed: float
    exponential: float
    products: float
    bandwidth: float


def measure_limits(threads: int = 1) -> Limits:
    """Measure them with so many threads, of a process that NumPy lets have as many for products.

    Without the compiled runtime the speed is that of products, and exponentials are NumPy's.
    """
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, _SIZE, _SIZE))
    product = np.empty_like(a)
    x, y = rng.normal(size=(2, _LENGTH))
    total = np.empty_like(x)
    products = 2.0 * _SIZE**3 / _shortest(lambda: np.matmul(a, b, out=product))
    bandwidth = 24.0 * _LENGTH / _shortest(lambda: np.add(x, y, out=total))
    try:
        from symflow_ext.limits import NUMBERS, OPERATIONS, multiply_add, powers
    except ImportError:
        few = np.linspace(-1.0, 0.0, 512)
        out = np.empty_like(few)
        return Limits(products, _shortest(lambda: np.exp(few, out=out)) / few.size, products, bandwidth)
    exponents = np.linspace(-20.0, 0.0, NUMBERS)
    per_round = _together(multiply_add, threads)
    per_sweep = _together(lambda rounds: powers(exponents, rounds), threads)
    return Limits(OPERATIONS / per_round, per_sweep / NUMBERS, products, bandwidth)


def _together(work: Callable[[int], object], threads: int) -> float:
    """Return seconds per round where so many threads run at the same time, over their number."""
    work(1000)  # registers may be slow at first
    start = time.perf_counter()
    work(1000)
    rounds = max(1000, int(1000 * _SHARE / (time.perf_counter() - start)))

    def everywhere() -> None:
        team = [threading.Thread(target=work, args=(rounds,)) for _ in range(threads)]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()

    return _shortest(everywhere, _MANY_ROUNDS) / (rounds * threads)


def _shortest(work: Callable[[], object], rounds: int = _ROUNDS) -> float:
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
