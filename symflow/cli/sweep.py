"""The command ``sweep``: many runs of a spec file into one store."""

from __future__ import annotations

import contextlib
import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._codes import FAILED, INTERRUPTED, SUCCESS
from symflow.cli._output import console, json_option, print_json, remaining, table

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from xarray import Dataset


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder of the store, made or gone on with."
)
@click.option("--dask", metavar="ADDRESS", help="Run on the workers of a dask.distributed scheduler.")
@click.option("--threads", type=click.IntRange(min=1), help="How many threads; one per core by default.")
@json_option
def sweep(spec: Path, out: Path, dask: str | None, threads: int | None, as_json: bool) -> int:
    """Run a spec file for every combination of values in its section [sweep].

    Results go to a zarr store that xarray opens. The same command goes on with a store that is not complete.
    """
    from symflow.errors import SweepInterrupted
    from symflow.sweeps import sweep as run_sweep

    if dask is not None and threads is not None:
        raise click.UsageError("--threads belongs to runs in this process; drop it or --dask.")
    try:
        with _workers(dask) as executor, remaining(f"sweep {spec.stem}", quiet=as_json) as progress:
            found = run_sweep(spec, out, executor, threads=threads, progress=progress)
    except SweepInterrupted as interruption:
        click.echo(f"symflow: {interruption}", err=True)
        if as_json:
            print_json({"error": "SweepInterrupted", "message": str(interruption)})
        return INTERRUPTED
    summary = _summary(found, spec, out)
    if as_json:
        print_json(summary)
    else:
        _print_summary(summary)
    return FAILED if summary["failed"] else SUCCESS


@contextlib.contextmanager
def _workers(address: str | None) -> Iterator[Executor | None]:
    """Return an executor on the workers of a scheduler, or None."""
    from symflow.errors import InputError

    if address is None:
        yield None
        return
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise InputError("--dask needs dask.distributed; install it with: pip install distributed") from None
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise InputError(f"--dask {address}: no scheduler answers there ({error})") from None
    with client:
        yield client.get_executor()


def _summary(found: Dataset, spec: Path, out: Path) -> dict[str, Any]:
    status = [str(value) for value in found["status"].values.ravel()]
    messages = [str(value) for value in found["message"].values.ravel()]
    return {
        "name": spec.stem,
        "model": found.attrs["model"],
        "path": str(out),
        "axes": {str(name): int(found.sizes[name]) for name in found["status"].dims},
        "cells": len(status),
        "failed": status.count("error"),
        "first_failure": next((m for s, m in zip(status, messages, strict=True) if s == "error"), None),
        "status": dict(sorted(Counter(status).items())),
        "variables": sorted(str(name) for name in found.data_vars),
    }


def _print_summary(summary: dict[str, Any]) -> None:
    screen = console()
    axes = " × ".join(f"{name} ({size})" for name, size in summary["axes"].items())
    screen.print(f"[bold]{summary['name']}[/]  {summary['model']}, {axes}")
    rows = table("status", "cells")
    for status, count in summary["status"].items():
        rows.add_row(status, str(count))
    screen.print(rows)
    screen.print(f"kept: {', '.join(summary['variables'])}", markup=False)
    if summary["failed"]:
        click.echo(
            f"symflow: {summary['failed']} cells failed; the first: {summary['first_failure']}", err=True
        )
    click.echo(f"wrote {summary['path']}", err=True)
