"""The command ``bench``: symflow beside installed peers and the machine's limit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._output import console, json_option, print_json, progress, table

if TYPE_CHECKING:
    from rich.table import Table

    from symflow.bench.contest import Result
    from symflow.bench.run import Report


@click.command()
@click.argument("tasks", nargs=-1)
@click.option("--peers", is_flag=True, help="Beside NumPy and SciPy, every peer that is installed.")
@click.option(
    "--threads", type=click.IntRange(min=1), multiple=True, default=(1,), show_default=True,
    help="May be repeated: all are timed in turn.",
)  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=1), default=7, show_default=True, help="Timings of each.")
@click.option("--size", type=click.Choice(["small", "full"]), default="full", show_default=True)
@click.option(
    "--realtime", is_flag=True, help="Time at real-time priority, where others use the machine, too."
)
@click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw a roofline: .svg, .pdf or .png."
)
@json_option
def bench(
    tasks: tuple[str, ...],
    peers: bool,
    threads: tuple[int, ...],
    rounds: int,
    size: str,
    realtime: bool,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Time TASKS (T1, T2, T3, T4, T7; all by default) beside peers and the limit of this machine.

    T1: velocity of tokens on the sphere; T2: a run of 64 tokens; T3: a run of a Gaussian law; T4: paths of
    tokens with common noise; T7: velocity of many tokens on the circle and S². Each is timed right after
    symflow, round by round, in a process of its own: ratios hold, times depend on the load.
    """
    from symflow.errors import InputError

    if figure is not None and figure.suffix not in (".svg", ".pdf", ".png"):
        raise InputError(f"--figure {figure}: give a name that ends in .svg, .pdf or .png")
    if figure is not None and not figure.parent.is_dir():
        raise InputError(f"--figure {figure}: the folder {figure.parent} does not exist; make it first")
    from symflow.bench import run_bench

    with progress("measuring the machine") as show:
        report = run_bench(
            tasks, peers=peers, size=size, rounds=rounds, threads=threads, realtime=realtime, progress=show
        )
    if figure is not None:
        _draw(report, figure)
    if as_json:
        print_json(_data(report, figure))
    else:
        _print(report)


def _data(report: Report, figure: Path | None) -> dict[str, Any]:
    return dataclasses.asdict(report) | {"figure": figure and str(figure)}


def _print(report: Report) -> None:
    screen = console()
    for name, value in report.machine.items():
        screen.print(f"{name:9} {value}", markup=False)
    for threads, limits in report.limits.items():
        told = f"{limits.speed / 1e9:.4g} Gflop/s in registers, {1e9 * limits.exponential:.3g} ns for exp, "
        told += f"{limits.products / 1e9:.4g} Gflop/s in products, {limits.bandwidth / 1e9:.3g} GB/s"
        screen.print(f"{'limits':9} {threads} thread{'s' * (threads > 1)}: {told}", markup=False)
    for (task, case, unit), results in groupby(
        report.results, lambda result: (result.task, result.case, result.unit)
    ):
        screen.print(_table(f"{task}: {case}, {unit}", results))
    screen.print("over symflow: the median over rounds, and of the shortest times", markup=False)
    if report.missing:
        screen.print(f"not installed: {', '.join(report.missing)}", markup=False)
    for place, why in report.failed.items():
        click.echo(f"symflow: {place} was left out: {why}", err=True)


def _table(title: str, results: Iterable[Result]) -> Table:
    """Return one case; two ratios, of medians over rounds and of shortest times."""
    rows = table(
        "",
        "threads",
        "median",
        "shortest",
        "over symflow",
        "over the limit",
        "first run",
        "error",
        title=title,
    )
    for result in results:
        over = "" if result.limit is None else f"{result.median / result.limit:.3g}"
        rows.add_row(
            result.name, str(result.threads), f"{result.median:.4g}", f"{result.shortest:.4g}",
            f"{result.ratio:.3g} ({result.ratio_of_shortest:.3g})", over, f"{result.first:.2g} s",
            f"{result.error:.1e}",
        )  # fmt: skip
    return rows


def _draw(report: Report, path: Path) -> None:
    from symflow.errors import InputError
    from symflow.plot import save
    from symflow.plot.roofline import roofline

    threads, limits = next(iter(report.limits.items()))
    points: dict[str, list[tuple[float, float]]] = {}
    for result in report.results:
        if result.intensity is not None and result.rate is not None and result.threads == threads:
            points.setdefault(result.name, []).append((result.intensity, result.rate))
    if not points:
        raise InputError("--figure needs T1 or T2, whose operations are counted")
    drawn = roofline(points, limits.speed, limits.bandwidth, products=limits.products)
    save(drawn, path.with_suffix(""), (path.suffix.removeprefix("."),))
