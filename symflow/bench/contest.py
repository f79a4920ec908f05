"""What is timed against each other: in turn, round by round, so that a change of pace meets all alike."""

from __future__ import annotations

import importlib.util
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OWN = "symflow"

#: A run of a contestant; it returns what it has computed.
Run = Callable[[], Any]

#: How a peer may fail on a machine; it is then left out and the reason told.
_OF_A_PEER = (ImportError, OSError, RuntimeError, ValueError, TypeError, AttributeError)

_CLOCK = 5e-3  # seconds that one timing takes at least


@dataclass(frozen=True)
class Contest:
    """One case of a task.

    Attributes
    ----------
    task, case : str
        E.g. ``"T1"`` and ``"n = 256, d = 3"``.
    entries : dict of str to callable
        ``make()`` returns the run of a contestant, ready to be timed; :data:`OWN` is one of them.
    exact : ndarray
        What a run has to return.
    unit : str
        Of the numbers that are shown, e.g. ``"ns per pair"``.
    scale : float
        That number over seconds.
    operations, bytes : float
        What a run needs at least, 0 where that is not known.
    """

    task: str
    case: str
    entries: Mapping[str, Callable[[], Run]]
    exact: Array
    unit: str
    scale: float
    operations: float = 0.0
    bytes: float = 0.0


@dataclass(frozen=True)
class Result:
    """Time and error of one contestant.

    Attributes
    ----------
    task, case, name, unit : str
    median, shortest : float
        In the unit of the contest.
    ratio : float
        Its median over symflow's.
    error : float
        Largest difference from the exact result.
    limit : float or None
        What the machine allows, in the same unit.
    intensity, rate : float or None
        Operations per byte, operations per second.
    """

    task: str
    case: str
    name: str
    unit: str
    median: float
    shortest: float
    ratio: float
    error: float
    limit: float | None = None
    intensity: float | None = None
    rate: float | None = None


@dataclass
class Measured:
    """The results of a contest, and the peers that failed with the reason."""

    results: list[Result] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def installed(names: Iterable[str]) -> list[str]:
    """Return which packages can be imported.

    >>> installed(["numpy", "no_such_package"])
    ['numpy']
    """
    return [name for name in names if importlib.util.find_spec(name) is not None]


def measure(contest: Contest, rounds: int, speed: float) -> Measured:
    """Time every contestant of a contest in turn.

    Parameters
    ----------
    contest : Contest
    rounds : int
    speed : float
        Operations per second of the machine.
    """
    measured = Measured()
    runs: dict[str, Run] = {}
    errors: dict[str, float] = {}
    for name, make in contest.entries.items():
        try:
            run = make()
            errors[name] = float(np.abs(np.asarray(run(), dtype=np.float64) - contest.exact).max())
        except _OF_A_PEER as error:
            if name == OWN:
                raise
            measured.failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        else:
            runs[name] = run
    repeats = {name: max(1, math.ceil(_CLOCK / max(timed(run, 1), 1e-9))) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(timed(run, repeats[name]))
    own = statistics.median(times[OWN])
    for name, found in times.items():
        measured.results.append(_result(contest, name, found, own, errors[name], speed))
    return measured


def timed(run: Run, repeats: int = 1) -> float:
    """Return seconds per run."""
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def _result(
    contest: Contest, name: str, times: list[float], own: float, error: float, speed: float
) -> Result:
    median, known = statistics.median(times), contest.operations > 0.0
    return Result(
        task=contest.task,
        case=contest.case,
        name=name,
        unit=contest.unit,
        median=median * contest.scale,
        shortest=min(times) * contest.scale,
        ratio=median / own,
        error=error,
        limit=contest.operations / speed * contest.scale if known else None,
        intensity=contest.operations / contest.bytes if known else None,
        rate=contest.operations / median if known else None,
    )
