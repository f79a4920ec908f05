"""The peers of the benchmark of single runs; as a script, in the interpreter in which they are installed.

Reads one problem per line (JSON: peer, a, mean, cov, end, rtol, atol, repeats), runs it, and answers with the
seconds per run, the same for a run over one tiny step (what a call costs), and the last covariance.
``benchmarks/gaussian_runs.py`` starts it. Compilation happens at the first run and is not counted.

    python gaussian_peers.py THREADS
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[float], Any]  #: integrates to a time and returns the last covariance
LARGEST = {"heyoka": 8, "numbalsoda": 128, "diffrax": 1024}  # beyond, compilation or the run takes minutes


def heyoka(problem: dict[str, Any], a: Any, y: Any) -> Run:
    """Return Taylor's method, every entry an expression."""
    hy, d, n = importlib.import_module("heyoka"), len(a), range(len(a))
    v = hy.make_vars(*[f"y{i}" for i in range(d + d * d)])
    mean, cov = v[:d], [[v[d + i * d + j] for j in n] for i in n]
    gain = [[hy.sum([cov[i][k] * float(a[k, j]) for k in n]) for j in n] for i in n]
    half = [[hy.sum([gain[i][k] * cov[k][j] for k in n]) for j in n] for i in n]
    drift = [mean[i] + hy.sum([gain[i][k] * mean[k] for k in n]) for i in n]
    drift += [half[i][j] + half[j][i] for i in n for j in n]
    pairs = list(zip(v, drift, strict=True))
    stepper = hy.taylor_adaptive(pairs, y.tolist(), tol=problem["rtol"], compact_mode=d > 3)

    def run(end: float) -> Any:
        stepper.time = 0.0
        stepper.state[:] = y
        stepper.propagate_until(end)
        return stepper.state[d:].reshape(d, d)

    return run


def numbalsoda(problem: dict[str, Any], a: Any, y: Any) -> Run:
    """Return DOP853 in Fortran, the equations as loops in Numba."""
    nb, ns, d = importlib.import_module("numba"), importlib.import_module("numbalsoda"), len(a)
    size = d + d * d

    @nb.cfunc(ns.lsoda_sig)  # type: ignore[untyped-decorator]
    def equations(t: Any, u: Any, du: Any, p: Any) -> None:
        x, out, m = nb.carray(u, (size,)), nb.carray(du, (size,)), nb.carray(p, (d, d))
        gain = np.zeros((d, d))
        for i in range(d):
            for k in range(d):
                for j in range(d):
                    gain[i, j] += x[d + i * d + k] * m[k, j]
        half = np.zeros((d, d))
        for i in range(d):
            total = x[i]
            for k in range(d):
                total += gain[i, k] * x[k]
                for j in range(d):
                    half[i, j] += gain[i, k] * x[d + k * d + j]
            out[i] = total
        for i in range(d):
            for j in range(d):
                out[d + i * d + j] = half[i, j] + half[j, i]

    address, p = equations.address, np.ascontiguousarray(a).ravel()
    settings = {"data": p, "rtol": problem["rtol"], "atol": problem["atol"]}

    def run(end: float) -> Any:
        return ns.dop853(address, y, np.array([0.0, end]), **settings)[0][-1, d:].reshape(d, d)

    return run


def diffrax(problem: dict[str, Any], a: Any, y: Any) -> Run:
    """Return Dopri8 with matrix products in XLA."""
    jax, dfx = importlib.import_module("jax"), importlib.import_module("diffrax")
    jax.config.update("jax_enable_x64", True)
    d, matrix, start = len(a), jax.numpy.asarray(a), jax.numpy.asarray(y)

    def drift(t: Any, state: Any, args: Any) -> Any:
        mean, cov = state
        gain = cov @ matrix
        half = gain @ cov
        return mean + gain @ mean, half + half.T

    control = dfx.PIDController(rtol=problem["rtol"], atol=problem["atol"])

    def solve(y0: Any, end: Any) -> Any:
        return dfx.diffeqsolve(
            dfx.ODETerm(drift), dfx.Dopri8(), 0.0, end, None, y0, stepsize_controller=control
        ).ys[1][-1]

    compiled, state = jax.jit(solve), (start[:d], start[d:].reshape(d, d))
    return lambda end: np.asarray(compiled(state, end))


PEERS = {"heyoka": heyoka, "numbalsoda": numbalsoda, "diffrax": diffrax}


def available() -> dict[str, Any]:
    """Return the peers that are installed: version and largest size."""
    found = {}
    for name in PEERS:
        if importlib.util.find_spec(name) is not None:
            found[name] = [importlib.metadata.version(name), LARGEST[name]]
    return found


def per_run(run: Run, end: float, repeats: int) -> float:
    """Return the seconds of one run."""
    start = time.perf_counter()
    for _ in range(repeats):
        run(end)
    return (time.perf_counter() - start) / repeats


def _say(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main(threads: int) -> None:
    """Answer requests until the input ends."""
    # threads that wait by spinning would take a core from whoever is timed next
    os.environ.update(OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    _say(available())
    made: dict[tuple[str, int], Run] = {}
    for line in sys.stdin:
        problem = json.loads(line)
        a = np.array(problem["a"])
        y = np.concatenate([problem["mean"], np.ravel(problem["cov"])])
        key = problem["peer"], len(a)
        if key not in made:
            made[key] = PEERS[key[0]](problem, a, y)
            made[key](problem["end"])
        tiny, repeats = 1e-9 * problem["end"], problem["repeats"]
        answer = {"call": per_run(made[key], tiny, repeats)}
        answer["seconds"] = per_run(made[key], problem["end"], repeats)
        _say(answer | {"cov": made[key](problem["end"]).tolist()})


if __name__ == "__main__":
    main(int(sys.argv[1]))
