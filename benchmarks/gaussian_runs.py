"""Time of Gaussian runs beside SciPy: stepping alone (no Python inside), ``solve`` as a whole, blow-up.

Softmax, V = I, A = −I + perturbation, T = 10, rtol = 1e-9. The peer is what a user would write otherwise,
SciPy's DOP853 with the equations in NumPy. All three are timed in turn, round by round, so that a change of
the machine's pace meets them alike; the shortest of each counts, and only ratios travel to other machines.

    python benchmarks/gaussian_runs.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import machine
from scipy.integrate import solve_ivp

from symflow import Gaussian, Softmax, compile, solve
from symflow_ext import runtime

Job = Callable[[], Any]


def interleaved(jobs: list[Job], rounds: int) -> list[float]:
    """Return the shortest time of every job in milliseconds, each run once per round."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(rounds):
        for job, found in zip(jobs, times, strict=True):
            start = time.perf_counter()
            job()
            found.append(time.perf_counter() - start)
    return [1e3 * min(found) for found in times]


def example(d: int) -> tuple[Gaussian, dict[str, Any]]:
    """Return a law and parameters of size d."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(d, d)) / np.sqrt(d)
    cov = root @ root.T + 0.1 * np.eye(d)
    a = -np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    return Gaussian(rng.normal(size=d), 0.5 * (cov + cov.T)), {"A": a, "V": np.eye(d)}


def stepping(law: Gaussian, params: dict[str, Any]) -> Job:
    """Return the compiled loop alone; it returns the number of evaluations."""
    call = compile(Softmax()).bind("factor", (law.dim, law.rank), params)
    y0 = np.concatenate([law.mean, law.factor().ravel()])
    times, states, atol = np.empty(257), np.empty((257, y0.size)), np.full(y0.size, 1e-12)

    def run() -> int:
        stepper = runtime.Stepper(call, "dop853", 0.0, y0, 10.0, rtol=1e-9, atol=atol)
        stepper.advance(times, states, None, 256, 60.0)
        return int(stepper.nfev)

    return run


def peer(law: Gaussian, params: dict[str, Any], end: float) -> Job:
    """Return the run that a user would write with SciPy and NumPy."""
    d = law.dim
    v, a = np.asarray(params["V"]), np.asarray(params["A"])

    def drift(t: float, y: Any) -> Any:
        mean, cov = y[:d], y[d:].reshape(d, d)
        product = v @ cov @ a
        half = product @ cov
        return np.concatenate([v @ mean + product @ mean, (half + half.T).ravel()])

    y0 = np.concatenate([law.mean, law.cov.ravel()])
    return lambda: solve_ivp(drift, (0.0, end), y0, method="DOP853", rtol=1e-9, atol=1e-12)


def main() -> None:
    """Print the table."""
    for name, value in machine().items():
        print(f"{name:9s} {value}")
    print("\n  d   stepping/ms   evaluations   ns/evaluation   solve/ms   SciPy/ms   SciPy/solve")
    for d in (2, 3, 8, 32, 128):
        law, params = example(d)
        loop = stepping(law, params)
        jobs = [
            loop,
            lambda law=law, params=params: solve(Softmax(), law, params, (0, 10)),
            peer(law, params, 10.0),
        ]
        alone, whole, other = interleaved(jobs, 30 if d < 20 else 4)
        nfev = loop()
        print(
            f"{d:3d} {alone:12.4f} {nfev:12d} {1e6 * alone / nfev:14.0f} {whole:13.2f} {other:10.2f} "
            f"{other / whole:12.1f}"
        )
    law = Gaussian([1.0, 0.5], [[2.0, 0.5], [0.5, 1.0]])
    params = {"A": [[0.3, 0.7], [-0.2, -0.5]], "V": np.eye(2)}
    whole, other = interleaved([lambda: solve(Softmax(), law, params, (0, 1)), peer(law, params, 1.0)], 10)
    print(f"blow-up, d = 2: {whole:.2f} ms with t*; SciPy stops without one after {other:.0f} ms")


if __name__ == "__main__":
    main()
