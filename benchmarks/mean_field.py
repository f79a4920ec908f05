"""Gaussian tokens against the Gaussian equations: twenty replicates of 5000 tokens, fewer of 10⁵.

Softmax attention in dimension two. Each run of the equations starts at the moments of its sample. Printed are
the mean differences of all moments with standard errors from the replicates, the spread of the weights along
the runs, which must stay below a quarter, the slope of log error against log n, and seconds per run.

    python benchmarks/mean_field.py [--replicates N] [--sizes N N ...] [--large N] [--seed N] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from pathlib import Path
from typing import Any

from symflow.bench.machine import machine
from symflow.claims.cacp25.mean_field import gaussian_differences, slope_of

NAMES = ("mean 1", "mean 2", "cov 11", "cov 12", "cov 22")
TIME = 1.0


def measure(count: int, replicates: int, seed: int) -> dict[str, Any]:
    """Return differences of moments, their standard errors, and what the runs cost."""
    found, spreads, seconds = [], [], []
    for replicate in range(replicates):
        start = time.perf_counter()
        differences, spread = gaussian_differences(count, TIME, (seed, count, replicate))
        seconds.append(time.perf_counter() - start)
        found.append(differences)
        spreads.append(spread)
    columns = list(zip(*found, strict=True))
    error = [statistics.stdev(c) / math.sqrt(len(c)) if len(c) > 1 else None for c in columns]
    return {
        "n": count,
        "replicates": replicates,
        "difference": [statistics.fmean(c) for c in columns],
        "error": error,
        "norms": [math.hypot(*row) for row in found],
        "largest spread": max(spreads),
        "seconds": statistics.median(seconds),
    }


def line(row: dict[str, Any]) -> str:
    """Return one row of the table."""
    pairs = zip(NAMES, row["difference"], row["error"], strict=True)
    shown = ", ".join(
        f"{name} {value:+.5f}" + ("" if error is None else f" ± {error:.5f}") for name, value, error in pairs
    )
    return (
        f"n = {row['n']}, {row['replicates']} replicates, {row['seconds']:.2f} s each: {shown}; "
        f"largest spread of the weights {row['largest spread']:.3f}"
    )


def slope(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the slope of log error against log n and its standard error, from the replicates."""
    counts = [row["n"] for row in rows]
    slopes = [slope_of(counts, errors) for errors in zip(*(row["norms"] for row in rows), strict=True)]
    return statistics.fmean(slopes), statistics.stdev(slopes) / math.sqrt(len(slopes))


def main() -> None:
    """Print machine and table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[312, 1250, 5000])
    parser.add_argument("--large", type=int, default=100_000, help="tokens of one more run; 0 for none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    options = parser.parse_args()
    for name, value in machine().items():
        print(f"{name}: {value}")
    rows = []
    for count in options.sizes:
        rows.append(measure(count, options.replicates, options.seed))
        print(line(rows[-1]), flush=True)
    if len(rows) > 1 and options.replicates > 1:
        print("slope of log error against log n: {:.3f} ± {:.3f}".format(*slope(rows)))
    if options.large:
        rows.append(measure(options.large, 1, options.seed))
        print(line(rows[-1]))
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
