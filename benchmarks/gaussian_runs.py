"""Time of single Gaussian runs: stepping alone, ``solve`` as a whole, SciPy, and peers that are installed.

Softmax, V = I, A = −I + perturbation, T = 10, rtol = 1e-9; Σ(t)⁻¹ = Σ₀⁻¹ − t(A + Aᵀ) is the exact answer. All
are timed in turn, round by round, so that a change of the machine's pace meets them alike; medians and the
shortest are printed. "stepping" starts from a bound call; what a call costs, a run over one tiny step, is
measured in the same rounds, printed, and subtracted from stepping and peers. ``solve`` and SciPy are whole.

    python benchmarks/gaussian_runs.py [--peers PYTHON ...] [--threads N] [--rounds N]

PYTHON has heyoka, numbalsoda (built with a Fortran compiler) or diffrax; several may be given.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from symflow import Gaussian, Softmax, bench, compile, solve
from symflow.bench.contest import timed
from symflow.bench.gaussian import ATOL, END, RTOL, example, with_scipy
from symflow.bench.machine import machine
from symflow_ext import runtime

REPEATS = {2: 100, 3: 100, 8: 20, 32: 2, 128: 1}  # of short runs, so that a clock tick does not count


class Times(NamedTuple):
    """Seconds of one run, and of a call without steps."""

    run: float
    call: float


Job = Callable[[], Times]


class Peers:
    """One interpreter with peers; it answers one problem at a time."""

    def __init__(self, python: str, threads: int) -> None:
        script, pipe = Path(str(bench.__file__)).with_name("gaussian_peers.py"), subprocess.PIPE
        command = [python, str(script), str(threads)]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.largest: dict[str, list[Any]] = self._read()

    def job(self, peer: str, law: Gaussian, a: Any, exact: Any, errors: dict[str, float]) -> Job:
        """Return what runs a peer, and keep its largest error."""
        problem = {"peer": peer, "a": a.tolist(), "mean": law.mean.tolist(), "cov": law.cov.tolist()}
        problem |= {"end": END, "rtol": RTOL, "atol": ATOL, "repeats": REPEATS[law.dim]}

        def once() -> Times:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(problem) + "\n")
            self._process.stdin.flush()
            answer = self._read()
            errors[peer] = relative_error(answer["cov"], exact)
            return Times(answer["seconds"], answer["call"])

        return once

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the peers' interpreter ended; its message is above")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def relative_error(cov: Any, exact: Any) -> float:
    """Return the largest error over the largest entry."""
    return float(np.abs(np.asarray(cov) - exact).max() / np.abs(exact).max())


def stepping(law: Gaussian, params: dict[str, Any]) -> Callable[[float], int]:
    """Return the compiled loop alone, as ``solve`` runs it up to a time; it returns the evaluations."""
    call = compile(Softmax()).bind("turned", (law.dim, law.rank), params)
    factor = law.factor().copy()
    runtime.turn(factor)
    y0 = np.concatenate([law.mean, factor.ravel()])
    times, states, atol = np.empty(257), np.empty((257, y0.size)), np.full(y0.size, ATOL)

    def run(end: float) -> int:
        stepper = runtime.Stepper(call, "dop853", 0.0, y0, end, rtol=RTOL, atol=atol, watch=law.dim)
        stepper.advance(times, states, None, 256, 60.0)
        return int(stepper.nfev)

    return run


def jobs_of(d: int, peers: list[Peers], errors: dict[str, float]) -> tuple[dict[str, Job], int]:
    """Return everything that is timed at size d, and the evaluations of a run."""
    law, params = example(d)
    loop, n = stepping(law, params), REPEATS[d]
    exact = np.linalg.inv(np.linalg.inv(law.cov) - END * (params["A"] + params["A"].T))
    other = with_scipy(law, params["A"])
    run = solve(Softmax(), law, params, (0, END))
    errors["solve"], errors["SciPy"] = (
        relative_error(run.cov[-1], exact),
        relative_error(other(), exact),
    )
    jobs: dict[str, Job] = {
        "stepping": lambda: Times(timed(lambda: loop(END), n), timed(lambda: loop(1e-9 * END), n)),
        "solve": lambda: Times(timed(lambda: solve(Softmax(), law, params, (0, END))), 0.0),
        "SciPy": lambda: Times(timed(other), 0.0),
    }
    for group in peers:
        for name, (_, largest) in group.largest.items():
            if d <= largest:
                jobs[name] = group.job(name, law, params["A"], exact, errors)
    return jobs, loop(END)


def table(d: int, peers: list[Peers], rounds: int) -> None:
    """Print one size."""
    errors: dict[str, float] = {}
    jobs, nfev = jobs_of(d, peers, errors)
    found: dict[str, list[Times]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            found[name].append(job())
    net = {name: [max(t.run - t.call, 0.0) for t in times] for name, times in found.items()}
    own = net["stepping"]
    print(f"\nd = {d}, {nfev} evaluations, {1e9 * statistics.median(own) / nfev:.0f} ns each")
    print(f"{'':12}{'median/ms':>11}{'shortest':>10}{'a call':>9}{'over stepping':>15}{'error':>9}")
    for name, times in net.items():
        call = 1e3 * statistics.median(t.call for t in found[name])
        ratios = f"{statistics.median(times) / statistics.median(own):8.2f} ({min(times) / min(own):.2f})"
        error = errors.get(name, errors["solve"])
        median, shortest = 1e3 * statistics.median(times), 1e3 * min(times)
        print(f"{name:12}{median:11.4f}{shortest:10.4f}{call:9.4f}{ratios:>15}{error:9.1e}")


def blow_up() -> None:
    """Print a run into a singularity."""
    law = Gaussian([1.0, 0.5], [[2.0, 0.5], [0.5, 1.0]])
    params = {"A": [[0.3, 0.7], [-0.2, -0.5]], "V": np.eye(2)}
    other = with_scipy(law, np.array(params["A"]), 1.0)
    rounds = [(timed(lambda: solve(Softmax(), law, params, (0, 1))), timed(other)) for _ in range(10)]
    own, peer = (1e3 * min(column) for column in zip(*rounds, strict=True))
    print(f"\nblow-up, d = 2: {own:.2f} ms with t*; SciPy stops without one after {peer:.0f} ms")


def main() -> None:
    """Print machine and tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", action="append", default=[], metavar="PYTHON")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    runtime.set_threads(asked.threads)
    peers = [Peers(python, asked.threads) for python in asked.peers or [sys.executable]]
    for name, value in machine().items():
        print(f"{name:9s} {value}")
    versions = ", ".join(f"{name} {version}" for p in peers for name, (version, _) in p.largest.items())
    print(f"peers     {versions or 'none'}\nthreads   {asked.threads}")
    for d in REPEATS:
        table(d, peers, asked.rounds if d < 100 else max(3, asked.rounds // 3))
    blow_up()
    for group in peers:
        group.close()


if __name__ == "__main__":
    main()
