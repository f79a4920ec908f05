"""How long a user waits for a compiled callable: cold (nothing cached), from the cache, and shipped.

    python benchmarks/build_latency.py [--runs 5]

Every run is a fresh process. Timed is what follows ``import symflow, sympy``: importing the rest of the
package, reading the expression, and all else up to a kernel that can be called. "+ first call" adds
importing NumPy and the first evaluation. The ratio is measured time over target. Bytecode is there before
the first measured run, as after an installation, whatever the environment says about writing it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from symflow.bench.machine import machine

ROOT = Path(__file__).resolve().parents[1]

CHILD = """
import sys, time
sys.path.insert(0, {root!r})
import symflow, sympy
start = time.perf_counter()
from symflow import Attention, L2, Softmax, compile
kernel = compile({model}, backend="compiled")
ready = time.perf_counter()
import numpy as np
eye = np.eye(3)
kernel(0.0, np.ones(3), eye, **{{name: eye for name in {names!r}}})
print(ready - start, time.perf_counter() - start)
"""

#: Label, model, parameters, and the target in seconds for a cold process.
CASES = (
    ("user expression, C = 0", 'Attention("dot(Q*x, K*y)")', "QKV"),
    ("user expression, tilted", 'Attention("dot(Q*x, K*y) - norm2(K*y)")', "QKV"),
)
SHIPPED = (("Softmax", "Softmax()", "AV"), ("L2", "L2()", "QKV"))
COLD_TARGET, CACHED_TARGET = 1.0, 0.030

#: Label, seconds until there is a kernel and until its first value, target.
Row = tuple[str, list[tuple[float, float]], float]


def once(model: str, names: str, folder: Path, bytecode: Path) -> tuple[float, float]:
    """Run one fresh process with ``folder`` as cache of kernels."""
    code = CHILD.format(root=str(ROOT), model=model, names=names)
    env = {**os.environ, "SYMFLOW_CACHE_DIR": str(folder), "PYTHONPYCACHEPREFIX": str(bytecode)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    ready, called = map(float, done.stdout.split())
    return ready, called


def measure(model: str, names: str, runs: int, bytecode: Path) -> dict[str, list[tuple[float, float]]]:
    """Return the times of cold and cached processes, after one of each that is not counted."""
    cold, cached = [], []
    for _ in range(runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(once(model, names, Path(folder), bytecode))
            cached.append(once(model, names, Path(folder), bytecode))
    return {"cold": cold[1:], "cached": cached[1:]}


def measured(runs: int, bytecode: Path) -> list[Row]:
    """Return label, times and target of every case."""
    rows: list[Row] = []
    for label, model, names in CASES:
        times = measure(model, names, runs, bytecode)
        for kind, target in (("cold", COLD_TARGET), ("cached", CACHED_TARGET)):
            rows.append((f"{label}, {kind}", times[kind], target))
    for label, model, names in SHIPPED:  # built on first use where setup.py has not run
        times = measure(model, names, runs, bytecode)
        rows.append((f"{label}, shipped or cached", times["cached"], CACHED_TARGET))
    return rows


def main() -> None:
    """Print one line per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="processes per case; the median is printed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as bytecode:
        rows = measured(options.runs, Path(bytecode))
    report(machine(), rows, options.json)


def report(about: dict[str, str], rows: list[Row], as_json: bool) -> None:
    """Print medians, ranges and ratios."""
    if as_json:
        print(json.dumps({**about, "seconds": {label: times for label, times, _ in rows}}))
        return
    for name, value in about.items():
        print(f"{name:10}{value}")
    print(f"\n{'':36}{'median':>9}{'min':>9}{'max':>9}{'target':>9}{'ratio':>7}{'+ first call':>14}")
    for label, times, target in rows:
        ready = [t[0] for t in times]
        median, called = statistics.median(ready), statistics.median(t[1] for t in times)
        numbers = "".join(f"{1e3 * t:7.0f}ms" for t in (median, min(ready), max(ready), target))
        print(f"{label:36}{numbers}{median / target:7.2f}{1e3 * called:12.0f}ms")


if __name__ == "__main__":
    main()
