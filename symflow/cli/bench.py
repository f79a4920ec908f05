"""The command ``bench``: symflow beside installed peers and the machine's limit."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._output import console, json_option, print_json, progress, table

if TYPE_CHECKING:
    from symflow.bench.run import Report

_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@click.command()
@click.argument("tasks", nargs=-1)
@click.option("--peers", is_flag=True, help="Beside NumPy and SciPy, every peer that is installed.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=7, show_default=True, help="Timings of each.")
@click.option("--size", type=click.Choice(["small", "full"]), default="full", show_default=True)
@click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw a roofline: .svg, .pdf or .png."
)
@json_option
def bench(
    tasks: tuple[str, ...],
    peers: bool,
    threads: int,
    rounds: int,
    size: str,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Time TASKS (T1, T2, T3, T7; all by default) beside peers and the limit of this machine.

    T1: velocity of tokens on the sphere; T2: a run of 64 tokens; T3: a run of a Gaussian law; T7: velocity of
    many tokens on the circle. All are timed in turn, round by round: ratios hold, times depend on the load.
    """
    from symflow.errors import InputError

    if figure is not None and figure.suffix not in (".svg", ".pdf", ".png"):
        raise InputError(f"--figure {figure}: give a name that ends in .svg, .pdf or .png")
    if figure is not None and not figure.parent.is_dir():
        raise InputError(f"--figure {figure}: the folder {figure.parent} does not exist; make it first")
    _confine(threads)
    from symflow.bench import run_bench

    with progress("measuring the machine") as show:
        report = run_bench(tasks, peers=peers, size=size, rounds=rounds, progress=show)
    if figure is not None:
        _draw(report, figure)
    if as_json:
        print_json(_data(report, threads, figure))
    else:
        _print(report, threads)


def _confine(threads: int) -> None:
    """Let packages have as many threads and cores, before they are imported; none is to wait by spinning."""
    os.environ.update(dict.fromkeys(_POOLS, str(threads)), OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0")
    os.environ["SYMFLOW_NUM_THREADS"] = str(threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _data(report: Report, threads: int, figure: Path | None) -> dict[str, Any]:
    return {
        "machine": report.machine,
        "threads": threads,
        "limits": dataclasses.asdict(report.limits),
        "results": [dataclasses.asdict(result) for result in report.results],
        "failed": report.failed,
        "figure": figure and str(figure),
    }


def _print(report: Report, threads: int) -> None:
    screen = console()
    for name, value in report.machine.items():
        screen.print(f"{name:9} {value}", markup=False)
    limits = f"{report.limits.speed / 1e9:.4g} Gop/s in products, {report.limits.bandwidth / 1e9:.3g} GB/s"
    screen.print(f"threads   {threads}\nlimits    {limits}", markup=False)
    rows = table("task", "case", "", "median", "shortest", "unit", "over symflow", "over the limit", "error")
    for result in report.results:
        over = "" if result.limit is None else f"{result.median / result.limit:.3g}"
        rows.add_row(
            result.task, result.case, result.name, f"{result.median:.4g}", f"{result.shortest:.4g}",
            result.unit, f"{result.ratio:.3g}", over, f"{result.error:.1e}",
        )  # fmt: skip
    screen.print(rows)
    for place, why in report.failed.items():
        click.echo(f"symflow: {place} was left out: {why}", err=True)


def _draw(report: Report, path: Path) -> None:
    from symflow.errors import InputError
    from symflow.plot import save
    from symflow.plot.roofline import roofline

    points: dict[str, list[tuple[float, float]]] = {}
    for result in report.results:
        if result.intensity is not None and result.rate is not None:
            points.setdefault(result.name, []).append((result.intensity, result.rate))
    if not points:
        raise InputError("--figure needs T1 or T2, whose operations are counted")
    drawn = roofline(points, report.limits.speed, report.limits.bandwidth)
    save(drawn, path.with_suffix(""), (path.suffix.removeprefix("."),))
