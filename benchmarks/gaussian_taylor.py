"""Time of Gaussian runs by Taylor series beside heyoka's, at equal tolerance, with the error of each.

Softmax, V = I, A = −I + perturbation, T = 10, rtol = 1e-9; Σ(t)⁻¹ = Σ₀⁻¹ − t(A + Aᵀ) is the exact answer.
Both steppers start from a prepared integrator. What a call costs without a step (a run of length zero) is
measured in the same rounds and subtracted; it stands in its own column. heyoka lives in an environment of its
own, and its rounds alternate with ours; numbalsoda's DOP853 runs beside it where it is installed.

    python -m venv PEER && PEER/bin/pip install heyoka numpy numbalsoda
    python benchmarks/gaussian_taylor.py PEER/bin/python
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from symflow import Softmax, compile
from symflow.bench.machine import machine
from symflow.codegen.taylor.recursion import order_for
from symflow_ext import runtime

END, RTOL, ATOL = 10.0, 1e-9, 1e-12
ROUNDS, REPEATS = 9, 60

#: The peer: reads d, A and the state from each line, answers with medians in ms and its final state.
PEER = """
import json, sys, time
import heyoka as hy, numpy as np
made = {}
def make(d, a, y):
    v = hy.make_vars(*[f"y{i}" for i in range(d + d * d)])
    m, s = v[:d], [[v[d + i * d + j] for j in range(d)] for i in range(d)]
    p = [[hy.sum([s[i][k] * a[k][j] for k in range(d)]) for j in range(d)] for i in range(d)]
    q = [[hy.sum([p[i][k] * s[k][j] for k in range(d)]) for j in range(d)] for i in range(d)]
    f = [m[i] + hy.sum([p[i][k] * m[k] for k in range(d)]) for i in range(d)]
    f += [q[i][j] + q[j][i] for i in range(d) for j in range(d)]
    return hy.taylor_adaptive(list(zip(v, f)), y, tol=float(sys.argv[1]), compact_mode=d > 3)
def median(f, n):
    times = []
    for _ in range(n):
        t = time.perf_counter(); f(); times.append(time.perf_counter() - t)
    return 1e3 * float(np.median(times))
try:
    import numbalsoda as ns
    from ensemble_peers import numbalsoda_functions
except ImportError:
    ns = None
print(hy.__version__, flush=True)
def other(d, a, y, end, n):
    if ns is None:
        return None
    address, p = numbalsoda_functions(d)[0].address, np.array(a).ravel()
    run = lambda end: ns.dop853(address, np.array(y), np.array([0.0, end]), data=p, rtol=float(sys.argv[1]),
                                atol=1e-12)
    run(end)
    return [median(lambda: run(end), n), median(lambda: run(1e-12), n)]
for line in sys.stdin:
    d, a, y, end, n = json.loads(line)
    ta = made.setdefault(d, None) or make(d, a, y)
    made[d] = ta
    start = np.array(y)
    def run(end=end):
        ta.time = 0.0; ta.state[:] = start; return ta.propagate_until(end)
    empty = median(lambda: run(0.0), n)
    whole = median(run, n)
    steps = run()[3]
    third = other(d, a, y, end, n)
    print(json.dumps([whole, empty, int(steps), ta.order, ta.state.tolist(), third]), flush=True)
"""


def example(d: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return A, mean and covariance of size d."""
    rng = np.random.default_rng(0)
    a = -np.eye(d) + 0.2 * rng.normal(size=(d, d)) / np.sqrt(d)
    rng = np.random.default_rng(1)
    mean, root = rng.normal(size=d), rng.normal(size=(d, d)) / np.sqrt(d)
    return a, mean, root @ root.T + 0.3 * np.eye(d)


def median(job: Callable[[], Any], repeats: int) -> float:
    """Return the median time of a job in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def stepping(form: str, d: int) -> tuple[Callable[[float], int], Callable[[], Any]]:
    """Return the compiled loop up to a time, and what reads its last covariance."""
    a, mean, cov = example(d)
    order = order_for(RTOL)
    dims = (d, d) if form == "factor" else (d,)
    call = compile(Softmax()).series(form, dims, {"A": a, "V": np.eye(d)}, order)
    matrix = np.linalg.cholesky(cov) if form == "factor" else cov
    y0 = np.concatenate([mean, matrix.ravel()])
    times, states, atol = np.empty(257), np.empty((257, y0.size)), np.full(y0.size, ATOL)
    taken = [0]

    def run(end: float = END) -> int:
        stepper = runtime.TaylorStepper(call, 0.0, y0, end, rtol=RTOL, atol=atol, watch=d, row=d)
        status, taken[0] = stepper.advance(times, states, None, 256, 60.0)
        assert status == "finished"
        return taken[0]

    def last() -> Any:
        found = states[taken[0], d:].reshape(d, d)
        return found @ found.T if form == "factor" else found

    return run, last


def main(python: str) -> None:
    """Print the table."""
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    peer = subprocess.Popen(
        [python, "-c", PEER, str(RTOL)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=here
    )
    assert peer.stdin is not None and peer.stdout is not None
    for name, value in {**machine(), "heyoka": peer.stdout.readline().strip()}.items():
        print(f"{name:9s} {value}")
    print(
        f"order     {order_for(RTOL)}, medians of {ROUNDS} rounds in ms, a call without a step subtracted\n"
    )
    print(
        "  d  form      steps     stepping   a call     error    heyoka   a call   steps     error   ratio"
        "  numbalsoda   ratio"
    )
    for d in (2, 3, 8, 16):
        a, mean, cov = example(d)
        exact = np.linalg.inv(np.linalg.inv(cov) - END * (a + a.T))
        repeats = REPEATS if d < 10 else 5
        jobs = {form: stepping(form, d) for form in ("factor", "moments")}
        ours: dict[str, list[list[float]]] = {form: [] for form in jobs}
        theirs: list[list[float]] = []
        thirds: list[float] = []
        answer: list[Any] = []
        for _ in range(ROUNDS):
            for form, (run, _) in jobs.items():
                empty = median(lambda run=run: run(0.0), repeats)  # type: ignore[misc]
                ours[form].append([median(run, repeats), empty])
            state = np.concatenate([mean, cov.ravel()])
            peer.stdin.write(json.dumps([d, a.tolist(), state.tolist(), END, repeats]) + "\n")
            peer.stdin.flush()
            answer = json.loads(peer.stdout.readline())
            theirs.append(answer[:2])
            if answer[5] is not None:
                thirds.append(answer[5][0] - answer[5][1])
        other = np.median(np.array(theirs), axis=0)
        wrong = np.abs(np.array(answer[4])[d:].reshape(d, d) - exact).max() / np.abs(exact).max()
        for form, (run, last) in jobs.items():
            steps = run(END)
            error = np.abs(last() - exact).max() / np.abs(exact).max()
            whole, empty = np.median(np.array(ours[form]), axis=0)
            ratio = (other[0] - other[1]) / (whole - empty)
            print(
                f"{d:3d}  {form:8s} {steps:6d} {whole - empty:12.5f} {empty:8.5f} {error:9.1e} "
                f"{other[0] - other[1]:9.5f} {other[1]:8.5f} {answer[2]:7d} {wrong:9.1e} {ratio:7.2f}"
                + (f" {np.median(thirds):11.5f} {np.median(thirds) / (whole - empty):7.2f}" if thirds else "")
            )
    peer.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1])
