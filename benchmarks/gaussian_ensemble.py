"""Ensembles and single small runs beside heyoka and numbalsoda, in one interleaved run.

All are timed in turn, round by round, so that a change of the machine's pace meets them alike. Medians and
the shortest are printed, ratios of either: they differ where others use the machine. "running" is the
integration with every array prepared, as it is for the peers; "whole call" is ``symflow.ensemble`` from a
list of laws to the result.

    python benchmarks/gaussian_ensemble.py [--peers PYTHON] [--rounds N]

PYTHON is an interpreter in which the peers are installed (pip install heyoka numba numbalsoda; the latter is
built from source and needs a Fortran compiler).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ensemble_problem import ATOL, END, MEMBERS, RTOL, error, matrix, starts

from symflow import Gaussian, Softmax, ensemble
from symflow.bench.machine import machine
from symflow.integrate.backends import covariances
from symflow.integrate.ensemble.lanes import LaneRun, lane_run
from symflow.integrate.ensemble.members import read_members
from symflow.integrate.ensemble.threads import Watch, run_threads
from symflow.integrate.options import read_options

Timed = Callable[[], float]


class Peers:
    """The process in which the peers run; it answers one request at a time."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).with_name("ensemble_peers.py")
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([python, str(script)], stdin=pipe, stdout=pipe, text=True)
        self.versions: dict[str, str] = self._read()
        self.errors: dict[str, float] = {}

    def timed(self, job: str, d: int, threads: int, repeats: int) -> Timed:
        """Return what runs a job once and returns seconds per run."""

        def once() -> float:
            assert self._process.stdin is not None
            request = {"job": job, "d": d, "threads": threads, "repeats": repeats}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._read()
            self.errors[job] = answer["error"]
            return float(answer["seconds"])

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


def laws(d: int, count: int) -> list[Gaussian]:
    """Return the first initial laws."""
    means, covs = starts(d)
    return [Gaussian(m, 0.5 * (s + s.T)) for m, s in zip(means[:count], covs[:count], strict=True)]


def prepared(d: int, count: int, lanes: int) -> LaneRun:
    """Return an ensemble with every array in place."""
    options = read_options(
        d, (0.0, END), t_eval=[END], method="dop853", rtol=RTOL, atol=ATOL, dt=None, max_step=None,
        first_step=None, events=None, dense_output=False, callback=None, max_wall_time=None,
    )  # fmt: skip
    members = read_members(Softmax(), tuple(laws(d, count)), {"A": matrix(d), "V": np.eye(d)}, (0.0, END))
    assert options.t_eval is not None
    run = lane_run(members, options, options.t_eval, 8, "compiled", lanes)
    assert run is not None
    return run


def running(run: LaneRun, threads: int) -> Timed:
    """Return what integrates a prepared ensemble."""

    def once() -> float:
        start = time.perf_counter()
        run.batch.rewind()
        run_threads(run.worker, threads, Watch(run.done, run.members.count, None, None))
        return time.perf_counter() - start

    return once


def one_lane(d: int, repeats: int) -> Timed:
    """Return what integrates the first member alone, in a kernel of scalars."""
    run = prepared(d, 1, 1)

    def once() -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            run.batch.rewind()
            run.worker()()
        return (time.perf_counter() - start) / repeats

    return once


def whole(d: int) -> Timed:
    """Return what calls ``ensemble`` from laws to result."""
    initials, params = laws(d, MEMBERS), {"A": matrix(d), "V": np.eye(d)}

    def once() -> float:
        start = time.perf_counter()
        ensemble(Softmax(), initials, params, (0.0, END), t_eval=[END], rtol=RTOL, atol=ATOL)
        return time.perf_counter() - start

    return once


class Seconds(NamedTuple):
    """Of one job."""

    median: float
    shortest: float

    def over(self, other: Seconds) -> str:
        """Return how many times longer than another, by medians and by the shortest."""
        return f"{self.median / other.median:5.2f} ({self.shortest / other.shortest:.2f})"


def interleaved(jobs: dict[str, Timed], rounds: int) -> dict[str, Seconds]:
    """Return the time of every job, each run once per round."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()  # what compiles, compiles here
    for _ in range(rounds):
        for name, job in jobs.items():
            times[name].append(job())
    return {name: Seconds(statistics.median(found), min(found)) for name, found in times.items()}


def batch(d: int, peers: Peers, rounds: int) -> None:
    """Print the table of an ensemble."""
    run = prepared(d, MEMBERS, 8)
    jobs = {f"symflow running, {n} thread(s)": running(run, n) for n in (1, 2)}
    jobs["symflow whole call, 1 thread"] = whole(d)
    if "heyoka" in peers.versions:
        jobs |= {f"heyoka batch {w}": peers.timed(f"heyoka batch {w}", d, 1, 1) for w in (4, 8)}
    if "numbalsoda" in peers.versions:
        jobs |= {
            f"numbalsoda prange, {n} thread(s)": peers.timed("numbalsoda batch", d, n, 1) for n in (1, 2)
        }
    found = interleaved(jobs, rounds)
    print(f"\nd = {d}, {MEMBERS} members; error {error(d, covariances(run.rows().factor[:, -1])):.1e}")
    for name, seconds in found.items():
        print(f"  {name:32s} {1e3 * seconds.median:9.3f} ms ({1e3 * seconds.shortest:.3f})")
    heyoka = [seconds for name, seconds in found.items() if name.startswith("heyoka")]
    for n in (1, 2):
        mine = found[f"symflow running, {n} thread(s)"]
        if heyoka:
            best = Seconds(min(s.median for s in heyoka), min(s.shortest for s in heyoka))
            print(f"  heyoka's best, 1 thread / symflow, {n} thread(s): {best.over(mine)}")
        peer = found.get(f"numbalsoda prange, {n} thread(s)")
        if peer is not None:
            print(f"  numbalsoda, {n} thread(s) / symflow, {n} thread(s): {peer.over(mine)}")


def single(d: int, peers: Peers, rounds: int) -> None:
    """Print the table of one run."""
    jobs = {"symflow, one lane": one_lane(d, 200)}
    for name in peers.versions:
        jobs[name] = peers.timed(f"{name} single", d, 1, 200)
    found = interleaved(jobs, rounds)
    print(f"\nd = {d}, one run")
    mine = found["symflow, one lane"]
    for name, seconds in found.items():
        print(
            f"  {name:32s} {1e6 * seconds.median:9.2f} µs ({1e6 * seconds.shortest:.2f})"
            f"   {seconds.over(mine)} of symflow"
        )


def main() -> None:
    """Print machine and tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=31)
    asked = parser.parse_args()
    peers = Peers(asked.peers)
    for name, value in machine().items():
        print(f"{name:9s} {value}")
    print("peers    ", ", ".join(f"{name} {version}" for name, version in peers.versions.items()) or "none")
    for d in (2, 3):
        batch(d, peers, asked.rounds)
        single(d, peers, asked.rounds)
    print("\nlargest errors of the peers:", {name: f"{value:.1e}" for name, value in peers.errors.items()})
    peers.close()


if __name__ == "__main__":
    main()
