"""What is timed against each other: cases, contestants, and what their times say."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.bench.limits import Limits

Array = NDArray[np.float64]

OWN = "symflow"

#: A run of a contestant; it returns what it has computed.
Run = Callable[[], Any]

#: Flops that an exponential counts where operations are shown: a polynomial, and what leads to it.
EXPONENTIAL = 20.0


@dataclass(frozen=True)
class Entry:
    """A contestant.

    Attributes
    ----------
    packages : tuple of str
        What it needs; contestants whose first package is the same share a process.
    make : callable
        Returns its run, ready to be timed.
    """

    packages: tuple[str, ...]
    make: Callable[[], Run]

    @property
    def missing(self) -> str | None:
        """A package that is not installed, or None."""
        return next((name for name in self.packages if not installed([name])), None)


@dataclass(frozen=True)
class Needs:
    """What a run cannot do without.

    Attributes
    ----------
    multiply_adds : float
        Multiplications with an addition.
    exponentials : float
    bytes : float
        To and from memory.
    """

    multiply_adds: float
    exponentials: float
    bytes: float

    def __mul__(self, times: float) -> Needs:
        """Return what so many runs need."""
        return Needs(self.multiply_adds * times, self.exponentials * times, self.bytes * times)

    @property
    def operations(self) -> float:
        """Flops, an exponential as :data:`EXPONENTIAL`."""
        return 2.0 * self.multiply_adds + EXPONENTIAL * self.exponentials

    def seconds(self, limits: Limits) -> float:
        """Return the shortest time in which the machine can do it from its registers."""
        return 2.0 * self.multiply_adds / limits.speed + self.exponentials * limits.exponential


@dataclass(frozen=True)
class Contest:
    """One case of a task.

    Attributes
    ----------
    task, case : str
        E.g. ``"T1"`` and ``"n = 256, d = 3"``.
    entries : dict of str to Entry
        :data:`OWN` is one of them.
    exact : callable
        Returns what a run has to return, or its rows ``rows``.
    unit : str
        Of the numbers that are shown, e.g. ``"ns per pair"``.
    scale : float
        That number over seconds.
    rows : array of int, optional
        Which rows of a result are compared; all by default.
    needs : callable, optional
        Returns what a run needs at least, where that is known.
    threaded : bool
        Whether more than one thread is worth a try.
    """

    task: str
    case: str
    entries: Mapping[str, Entry]
    exact: Callable[[], Array]
    unit: str
    scale: float
    rows: NDArray[np.intp] | None = None
    needs: Callable[[], Needs] | None = None
    threaded: bool = False

    def error(self, result: Any) -> float:
        """Return the largest difference from the exact result."""
        found = np.asarray(result, dtype=np.float64)
        return float(np.abs((found if self.rows is None else found[self.rows]) - self.exact()).max())


@dataclass
class Times:
    """What the process of a contestant tells.

    Attributes
    ----------
    error, first : float
        Largest difference from the exact result; seconds of the first run.
    rounds : list of (float, float)
        Seconds per run of symflow and, right after it, of the contestant.
    """

    error: float
    first: float
    rounds: list[tuple[float, float]]


@dataclass(frozen=True)
class Result:
    """Time and error of one contestant.

    Attributes
    ----------
    task, case, name, unit : str
    threads : int
    median, shortest : float
        In the unit of the contest.
    ratio : float
        The median over rounds of its time over symflow's right before.
    ratio_of_shortest : float
        Its shortest time over symflow's.
    first : float
        Seconds of its first run, which may compile.
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
    threads: int
    median: float
    shortest: float
    ratio: float
    ratio_of_shortest: float
    first: float
    error: float
    limit: float | None = None
    intensity: float | None = None
    rate: float | None = None


def installed(names: Iterable[str]) -> list[str]:
    """Return which packages can be imported.

    >>> installed(["numpy", "no_such_package"])
    ['numpy']
    """
    return [name for name in names if importlib.util.find_spec(name) is not None]


def timed(run: Callable[[], Any], repeats: int = 1) -> float:
    """Return seconds per run."""
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def result_of(contest: Contest, name: str, threads: int, times: Times, limits: Limits) -> Result:
    """Return what the times of a contestant say."""
    own, other = zip(*times.rounds, strict=True)
    median, needs = statistics.median(other), contest.needs and contest.needs()
    return Result(
        task=contest.task,
        case=contest.case,
        name=name,
        unit=contest.unit,
        threads=threads,
        median=median * contest.scale,
        shortest=min(other) * contest.scale,
        ratio=statistics.median(b / a for a, b in times.rounds),
        ratio_of_shortest=min(other) / min(own),
        first=times.first,
        error=times.error,
        limit=needs.seconds(limits) * contest.scale if needs else None,
        intensity=needs.operations / needs.bytes if needs else None,
        rate=needs.operations / median if needs else None,
    )
