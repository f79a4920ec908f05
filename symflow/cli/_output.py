"""What the commands share: the ``--json`` switch, the console, tables, progress, and JSON of numbers."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table

F = TypeVar("F", bound=Callable[..., Any])

_PIPE_WIDTH = 120  #: columns when standard output is no terminal


def json_option(function: F) -> F:
    """Add ``--json`` to a command, as its parameter ``as_json``."""
    option: Callable[[F], F] = click.option(
        "--json", "as_json", is_flag=True, help="Print exactly one JSON object on standard output."
    )
    return option(function)


def console() -> Console:
    """Return the console on standard output."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False, soft_wrap=False)


def table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table in the one style that all commands use."""
    from rich import box
    from rich.table import Table

    result = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        result.add_column(column, overflow="fold")
    return result


def indented(label: str, text: str) -> Padding:
    """Return a paragraph with a label in the margin."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=10, style="dim")
    grid.add_column(overflow="fold")
    grid.add_row(label, Text(text))
    return Padding(grid, (0, 0, 0, 2))


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object; numbers that JSON has no word for (NaN, ∞) become null."""
    click.echo(json.dumps(jsonable(data), allow_nan=False, indent=2, ensure_ascii=False))


def jsonable(value: Any) -> Any:
    """Return ``value`` made of what JSON knows; arrays become nested lists, anything symbolic its text.

    Examples
    --------
    >>> jsonable({"t_star": float("inf"), "shape": (2, 3)})
    {'t_star': None, 'shape': [2, 3]}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):  # NumPy arrays and scalars, without importing NumPy
        return jsonable(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(entry) for entry in value]
    return str(value)


@contextmanager
def progress(description: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner on standard error while work is long; yields a function that changes its text."""
    from rich.console import Console

    with Console(stderr=True).status(description) as status:
        yield status.update


@contextmanager
def remaining(description: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with the remaining time on standard error; yields ``progress(done, total)``."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
