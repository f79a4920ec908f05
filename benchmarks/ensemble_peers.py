"""The peers of the ensemble benchmark, in the interpreter in which they are installed.

Reads ``PEER KIND d threads repeats`` line by line, runs that once, and answers with seconds per run and the
error of the covariance; ``gaussian_ensemble.py`` starts it. Compilation happens at the first run and is not
counted.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ensemble_problem import ATOL, END, MEMBERS, RTOL, error, matrix, starts

WIDTHS = (4, 8)  # members per register of heyoka's batch integrator


def states(d: int) -> Any:
    """Return the flat states (B, d + d²)."""
    means, covs = starts(d)
    return np.concatenate([means, covs.reshape(MEMBERS, -1)], axis=1)


def drift(y: Any, d: int, total: Callable[[list[Any]], Any]) -> list[Any]:
    """Return mean and covariance equations entry by entry, V = I."""
    a, n = matrix(d), range(d)
    mean, cov = y[:d], [[y[d + i * d + j] for j in n] for i in n]
    gain = [[total([cov[i][k] * float(a[k, j]) for k in n]) for j in n] for i in n]
    half = [[total([gain[i][k] * cov[k][j] for k in n]) for j in n] for i in n]
    means = [mean[i] + total([gain[i][k] * mean[k] for k in n]) for i in n]
    return means + [half[i][j] + half[j][i] for i in n for j in n]


def heyoka_system(hy: Any, d: int) -> list[Any]:
    """Return the equations as heyoka expressions."""
    names = hy.make_vars(*[f"y{i}" for i in range(d + d * d)])
    return list(zip(names, drift(names, d, hy.sum), strict=True))


@functools.cache
def heyoka_batch(d: int, threads: int, width: int) -> Callable[[], Any]:
    """Return a run of all members, ``width`` at a time."""
    hy = importlib.import_module("heyoka")
    y = states(d)
    stepper = hy.taylor_adaptive_batch(heyoka_system(hy, d), np.repeat(y[0][:, None], width, 1), tol=RTOL)
    blocks = y.reshape(-1, width, y.shape[1]).transpose(0, 2, 1).copy()
    out = np.empty_like(blocks)

    def run() -> Any:
        for k, block in enumerate(blocks):
            stepper.set_time(0.0)
            stepper.state[:] = block
            stepper.propagate_until(END)
            out[k] = stepper.state
        return out.transpose(0, 2, 1).reshape(y.shape)

    return run


@functools.cache
def heyoka_single(d: int, threads: int) -> Callable[[], Any]:
    """Return a run of the first member."""
    hy = importlib.import_module("heyoka")
    y = states(d)[0]
    stepper = hy.taylor_adaptive(heyoka_system(hy, d), y.tolist(), tol=RTOL)

    def run() -> Any:
        stepper.time = 0.0
        stepper.state[:] = y
        stepper.propagate_until(END)
        return stepper.state[None, :]

    return run


@functools.cache
def numbalsoda_functions(d: int) -> tuple[Any, Any]:
    """Return the compiled equations' address and a parallel loop over members."""
    nb, ns = importlib.import_module("numba"), importlib.import_module("numbalsoda")
    size = d + d * d

    @nb.cfunc(ns.lsoda_sig)  # type: ignore[untyped-decorator]
    def equations(t: Any, u: Any, du: Any, p: Any) -> None:
        y, out, a = nb.carray(u, (size,)), nb.carray(du, (size,)), nb.carray(p, (d * d,))
        gain = np.empty((d, d))
        for i in range(d):
            for j in range(d):
                total = 0.0
                for k in range(d):
                    total += y[d + i * d + k] * a[k * d + j]
                gain[i, j] = total
        for i in range(d):
            total = y[i]
            for k in range(d):
                total += gain[i, k] * y[k]
            out[i] = total
        for i in range(d):
            for j in range(d):
                total = 0.0
                for k in range(d):
                    total += gain[i, k] * y[d + k * d + j] + y[d + i * d + k] * gain[j, k]
                out[d + i * d + j] = total

    dop853, address = ns.dop853, equations.address

    @nb.njit(parallel=True)  # type: ignore[untyped-decorator]
    def loop(y: Any, p: Any, times: Any) -> Any:
        out = np.empty_like(y)
        for i in nb.prange(y.shape[0]):
            u, _ = dop853(address, y[i], times, data=p, rtol=1e-9, atol=1e-12)
            out[i] = u[-1]
        return out

    return equations, loop


def numbalsoda_batch(d: int, threads: int) -> Callable[[], Any]:
    """Return a run of all members."""
    nb = importlib.import_module("numba")
    _, loop = numbalsoda_functions(d)
    y, p, times = states(d), matrix(d).ravel().copy(), np.array([0.0, END])
    nb.set_num_threads(threads)
    return lambda: loop(y, p, times)


def numbalsoda_single(d: int, threads: int) -> Callable[[], Any]:
    """Return a run of the first member."""
    ns = importlib.import_module("numbalsoda")
    equations, _ = numbalsoda_functions(d)
    y, p, times = states(d)[0], matrix(d).ravel().copy(), np.array([0.0, END])
    address = equations.address
    return lambda: ns.dop853(address, y, times, data=p, rtol=RTOL, atol=ATOL)[0][-1:]


JOBS: dict[str, Callable[..., Callable[[], Any]]] = {
    **{f"heyoka batch {w}": functools.partial(heyoka_batch, width=w) for w in WIDTHS},
    "heyoka single": heyoka_single,
    "numbalsoda batch": numbalsoda_batch,
    "numbalsoda single": numbalsoda_single,
}


def available() -> dict[str, str]:
    """Return the peers that are installed, with their versions."""
    found = {}
    for name in ("heyoka", "numbalsoda"):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        found[name] = importlib.metadata.version(name)
    return found


def main() -> None:
    """Answer requests until the input ends."""
    # threads that wait by spinning would take a core from whoever is timed next
    os.environ.update(NUMBA_THREADING_LAYER="omp", OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0")
    os.environ.setdefault("NUMBA_NUM_THREADS", "2")
    print(json.dumps(available()), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        d, repeats = request["d"], request["repeats"]
        run = JOBS[request["job"]](d, request["threads"])
        final = run()
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        seconds = (time.perf_counter() - start) / repeats
        answer = {"seconds": seconds, "error": error(d, final[:, d:].reshape(-1, d, d))}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
