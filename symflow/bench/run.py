"""Run the tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from symflow.bench.contest import OWN, Contest, Result, Times, result_of
from symflow.bench.limits import Limits
from symflow.bench.machine import machine
from symflow.bench.processes import Ended, Processes, require_realtime
from symflow.bench.tasks import SIZES, TASKS
from symflow.errors import InputError

_ALWAYS = (OWN, "numpy", "scipy")  #: packages that are no peers: symflow needs them


@dataclass
class Report:
    """What was measured, and on what.

    Attributes
    ----------
    machine : dict
        Processor, load, versions, compiler.
    limits : dict of int to Limits
        By number of threads.
    results : list of Result
    missing : list of str
        Peers that are not installed.
    failed : dict
        Why a peer is missing from a case, by case and name.
    """

    machine: dict[str, str]
    limits: dict[int, Limits]
    results: list[Result] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def run_bench(
    tasks: Iterable[str] = (),
    *,
    peers: bool = False,
    size: str = "full",
    rounds: int = 7,
    threads: Sequence[int] = (1,),
    realtime: bool = False,
    progress: Callable[[str], Any] = lambda text: None,
) -> Report:
    """Time tasks beside NumPy and SciPy, and beside every peer that is installed.

    In every round each contestant is timed right after symflow, so that a change of pace meets both.

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
    threads : sequence of int
        Numbers of threads; each contestant has as many cores. T2 and T3, where threads do not pay,
        are run with the first.
    realtime : bool
        Time at real-time priority, on a machine that others use, too.
    progress : callable
        Called with each case before it is timed.

    Raises
    ------
    InputError
        If a name is unknown, or a number cannot be used.
    """
    chosen = list(tasks) or list(TASKS)
    _refuse(chosen, size, rounds, threads)
    if realtime:
        require_realtime()
    with Processes(realtime) as processes:
        limits = {
            count: Limits(**processes.of(OWN, count).ask(do="limits", threads=count)) for count in threads
        }
        report = Report(machine(), limits)
        for name in chosen:
            for contest in TASKS[name](size):
                progress(f"{contest.task}: {contest.case}")
                _hold(contest, _Settings(peers, size, rounds), processes, report)
    return report


@dataclass(frozen=True)
class _Settings:
    peers: bool
    size: str
    rounds: int


def _refuse(tasks: list[str], size: str, rounds: int, threads: Sequence[int]) -> None:
    for name in tasks:
        if name not in TASKS:
            raise InputError(f"task {name!r} is unknown; choose from {', '.join(TASKS)}")
    if size not in SIZES:
        raise InputError(f"size = {size!r} is unknown; use {' or '.join(map(repr, SIZES))}")
    if rounds < 1:
        raise InputError(f"rounds = {rounds} must be at least 1")
    if not threads or any(count < 1 for count in threads) or len(set(threads)) < len(threads):
        raise InputError(f"threads = {list(threads)} must be different numbers of at least 1")


def _hold(contest: Contest, settings: _Settings, processes: Processes, report: Report) -> None:
    """Time one case and add what there is to tell to the report."""
    names = _taking_part(contest, settings.peers, report)
    found: dict[tuple[str, int], Times] = {}
    for count in list(report.limits)[: None if contest.threaded else 1]:
        for name in names:
            times = _prepared(contest, name, count, settings, processes, report)
            if times is not None:
                found[name, count] = times
    for _ in range(settings.rounds):
        for name, count in list(found):
            _round(contest, name, count, found, processes, report)
    processes.forget()
    report.results += [
        result_of(contest, name, count, times, report.limits[count]) for (name, count), times in found.items()
    ]


def _taking_part(contest: Contest, peers: bool, report: Report) -> list[str]:
    """Return the contestants that are wanted and can run; the others are told."""
    names = []
    for name, entry in contest.entries.items():
        if not peers and not set(entry.packages) <= set(_ALWAYS):
            continue
        missing = entry.missing
        if missing is None:
            names.append(name)
        elif missing not in report.missing:
            report.missing.append(missing)
    return names


def _prepared(
    contest: Contest, name: str, count: int, settings: _Settings, processes: Processes, report: Report
) -> Times | None:
    """Let a process make a run; None, and the reason told, where it cannot."""
    family = contest.entries[name].packages[0]
    try:
        answer = processes.of(family, count).ask(
            do="make", task=contest.task, size=settings.size, case=contest.case, name=name
        )
    except Ended as ended:
        processes.drop(family, count)
        answer = {"failed": str(ended)}
    if "failed" not in answer:
        return Times(answer["error"], answer["first"], [])
    _tell(contest, name, count, answer["failed"], report)
    return None


def _round(
    contest: Contest,
    name: str,
    count: int,
    found: dict[tuple[str, int], Times],
    processes: Processes,
    report: Report,
) -> None:
    """Time symflow, and right after it a contestant."""
    own = processes.of(OWN, count).ask(do="time", name=OWN)["seconds"]
    family = contest.entries[name].packages[0]
    try:
        other = processes.of(family, count).ask(do="time", name=name)["seconds"]
    except Ended as ended:
        processes.drop(family, count)
        del found[name, count]
        _tell(contest, name, count, str(ended), report)
    else:
        found[name, count].rounds.append((own, other))


def _tell(contest: Contest, name: str, count: int, why: str, report: Report) -> None:
    if name == OWN:
        raise RuntimeError(f"{contest.task}, {contest.case}: symflow failed: {why}")
    report.failed[f"{contest.task}, {contest.case}, {name}, threads {count}"] = why
