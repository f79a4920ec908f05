"""Run the tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from symflow.bench import circle, gaussian, trajectory, velocity
from symflow.bench.contest import Contest, Result, measure
from symflow.bench.limits import Limits, measure_limits
from symflow.bench.machine import machine
from symflow.errors import InputError

#: What a task compares, by name.
TASKS: dict[str, Callable[[str, bool], Iterator[Contest]]] = {
    "T1": velocity.contests,
    "T2": trajectory.contests,
    "T3": gaussian.contests,
    "T7": circle.contests,
}
SIZES = ("small", "full")


@dataclass
class Report:
    """What was measured, and on what.

    Attributes
    ----------
    machine : dict
        Processor, load, versions, compiler.
    limits : Limits
    results : list of Result
    failed : dict
        Why a peer is missing from a case, by case and name.
    """

    machine: dict[str, str]
    limits: Limits
    results: list[Result] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def run_bench(
    tasks: Iterable[str] = (),
    *,
    peers: bool = False,
    size: str = "full",
    rounds: int = 7,
    progress: Callable[[str], Any] = lambda text: None,
) -> Report:
    """Time tasks beside NumPy and SciPy, and beside every peer that is installed.

    Parameters
    ----------
    tasks : iterable of str
        Names of :data:`TASKS`, all by default.
    peers : bool
        Whether other packages than NumPy and SciPy take part.
    size : str
        ``"full"``, or ``"small"`` for cases of milliseconds.
    rounds : int
        How often each is timed.
    progress : callable
        Called with each case before it is timed.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    chosen = list(tasks) or list(TASKS)
    for name in chosen:
        if name not in TASKS:
            raise InputError(f"task {name!r} is unknown; choose from {', '.join(TASKS)}")
    if size not in SIZES:
        raise InputError(f"size = {size!r} is unknown; use {' or '.join(map(repr, SIZES))}")
    if rounds < 1:
        raise InputError(f"rounds = {rounds} must be at least 1")
    report = Report(machine(), measure_limits())
    for name in chosen:
        for contest in TASKS[name](size, peers):
            progress(f"{contest.task}: {contest.case}")
            measured = measure(contest, rounds, report.limits.speed)
            report.results += measured.results
            report.failed |= {
                f"{contest.task}, {contest.case}, {peer}": why for peer, why in measured.failed.items()
            }
    return report
