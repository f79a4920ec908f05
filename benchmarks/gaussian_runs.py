"""Time of Gaussian runs: stepping alone (no Python inside) and ``solve`` as a whole; finite-time blow-up.

Softmax, V = I, A = −I + perturbation, T = 10, rtol = 1e-9; the best of several, on an idle machine.

    python benchmarks/gaussian_runs.py
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from symflow import Gaussian, Softmax, compile, solve
from symflow_ext import runtime


def best(function: Callable[[], Any], repeats: int) -> float:
    """Return the shortest of several times, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def example(d: int) -> tuple[Gaussian, dict[str, Any]]:
    """Return a law and parameters of size d."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(d, d)) / np.sqrt(d)
    cov = root @ root.T + 0.1 * np.eye(d)
    a = -np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    return Gaussian(rng.normal(size=d), 0.5 * (cov + cov.T)), {"A": a, "V": np.eye(d)}


def stepping(d: int) -> tuple[float, int]:
    """Return the time of the compiled loop and the number of evaluations."""
    law, params = example(d)
    call = compile(Softmax()).bind("factor", (d, law.rank), params)
    y0 = np.concatenate([law.mean, law.factor().ravel()])
    times, states = np.empty(257), np.empty((257, y0.size))
    steppers: list[Any] = []

    def run() -> None:
        stepper = runtime.Stepper(call, "dop853", 0.0, y0, 10.0, rtol=1e-9, atol=np.full(y0.size, 1e-12))
        steppers.append(stepper)
        stepper.advance(times, states, None, 256, 60.0)

    return best(run, 100 if d < 20 else 5), steppers[-1].nfev


def main() -> None:
    """Print the table."""
    versions = platform.python_version(), np.__version__, scipy.__version__
    print(platform.processor() or platform.machine(), *versions)
    print("  d   stepping/ms   evaluations   ns/evaluation   solve/ms")
    for d in (2, 3, 8, 32, 128):
        law, params = example(d)
        loop, nfev = stepping(d)
        whole = best(
            lambda law=law, params=params: solve(Softmax(), law, params, (0, 10)), 10 if d < 20 else 3
        )
        print(f"{d:3d} {loop:12.4f} {nfev:12d} {1e6 * loop / nfev:14.0f} {whole:13.2f}")
    law = Gaussian([1.0, 0.5], [[2.0, 0.5], [0.5, 1.0]])
    params = {"A": [[0.3, 0.7], [-0.2, -0.5]], "V": np.eye(2)}
    print(f"blow-up, d = 2: {best(lambda: solve(Softmax(), law, params, (0, 1)), 20):.2f} ms")


if __name__ == "__main__":
    main()
