"""Velocities without a sum over pairs, against Fourier and dense sums in NumPy and the sums over pairs.

Softmax attention on the sphere, V = I. The Fourier sums of NumPy keep what is above 1e-16 of the first
coefficient, ours what the proved bound asks for. All are timed in turn; shortest times are compared, and the
largest difference from the definition at 64 tokens is printed.

    python benchmarks/fast_sums.py [--threads N] [--rounds N] [--largest N] [--dense N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import ive

from symflow import Softmax, compile
from symflow.bench.machine import machine
from symflow.codegen.expansions import fast_sum
from symflow_ext import runtime

BETAS = (1.0, 9.0, 81.0)
TOKENS = 16384


def uniform(n: int, d: int) -> Any:
    """Return tokens on the sphere."""
    x = np.random.default_rng(n).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


def definition(x: Any, beta: float, rows: Any, block: int = 256) -> Any:
    """Return the velocity of some rows, block by block."""
    out = np.empty((len(rows), x.shape[1]))
    for start in range(0, len(rows), block):
        own = x[rows[start : start + block]]
        weight = np.exp(beta * (own @ x.T - 1.0))
        mean = weight @ x / weight.sum(axis=1)[:, None]
        out[start : start + block] = mean - (mean * own).sum(axis=1)[:, None] * own
    return out


def numpy_fourier(x: Any, beta: float) -> Any:
    """Return the angular velocity from powers of z = e^{iθ}, one array per mode."""
    scale = ive(np.arange(400), beta)
    modes = int(np.nonzero(scale > 1e-16 * scale[0])[0][-1]) + 1
    z = x[:, 0] + 1j * x[:, 1]
    powers = np.empty((modes + 1, len(z)), complex)
    powers[0] = 1.0
    for k in range(1, modes + 1):
        np.multiply(powers[k - 1], z, out=powers[k])
    moments = powers.sum(axis=1).conj() * np.where(np.arange(modes + 1) > 0, 2.0, 1.0) * scale[: modes + 1]
    slopes = moments * np.arange(modes + 1)
    mass = moments.real @ powers.real - moments.imag @ powers.imag
    across = -(slopes.real @ powers.imag + slopes.imag @ powers.real)
    return across / (beta * mass)


def timed(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the shortest seconds of every job, all run in turn."""
    seen: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            seen[name].append(time.perf_counter() - start)
    return {name: min(times) for name, times in seen.items()}


def row(d: int, n: int, beta: float, rounds: int, dense: int) -> str:
    """Return one line: times in µs, ratios, modes, and the error."""
    x, dy = uniform(n, d), np.empty(n * d)
    y, model = x.ravel(), Softmax(space="sphere", beta=beta)
    found = fast_sum(model, (d, n), {}, summation="fast")
    assert found is not None
    jobs: dict[str, Callable[[], Any]] = {"fast": lambda: found.call(0.0, y, dy)}
    if n <= dense:
        pairs, out = compile(model).bind("tokens", (d, n), {}), np.empty(n * d)
        jobs["pairs"] = lambda: pairs(0.0, y, out)
        jobs["numpy dense"] = lambda: definition(x, beta, np.arange(n))
    if d == 2:
        jobs["numpy Fourier"] = lambda: numpy_fourier(x, beta)
    times = timed(jobs, rounds)
    found.call(0.0, y, dy)
    rows = np.arange(0, n, max(1, n // 64))
    error = np.abs(dy.reshape(n, d)[rows] - definition(x, beta, rows)).max()
    ratios = ", ".join(
        f"{name} {seconds / times['fast']:.1f}x" for name, seconds in times.items() if name != "fast"
    )
    each = 1e9 * times["fast"] / n
    return (
        f"d = {d}, β = {beta:g}, n = {n}: M = {found.modes}, {1e6 * times['fast']:.0f} µs "
        f"= {each:.1f} ns/token; {ratios or 'alone'}; error {error:.1e}"
    )


def lines(rounds: int, largest: int, dense: int) -> Iterator[str]:
    """Yield the table: targets first, then growth."""
    for d in (2, 3):
        for beta in BETAS:
            yield row(d, TOKENS, beta, rounds, dense)
    for d in (2, 3):
        for n in (10**3, 10**4, 10**5, 10**6):
            if n <= largest:
                yield row(d, n, 9.0, max(3, rounds // 4), dense)


def main() -> None:
    """Print machine and table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--largest", type=int, default=10**6)
    parser.add_argument("--dense", type=int, default=TOKENS, help="the most tokens whose pairs are summed")
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    for name, value in machine().items():
        print(f"{name}: {value}")
    print(f"threads: {options.threads}")
    for line in lines(options.rounds, options.largest, options.dense):
        print(line, flush=True)


if __name__ == "__main__":
    main()
