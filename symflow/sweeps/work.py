"""The work of a sweep: a block of cells in, what is kept of them out. Runs in any thread or process.

Small cells that differ by seed, beta or temperature only run as one ensemble, all others one by one. Which of
the two is decided by what the spec says, so that a cell has the same bits in whatever company it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.errors import SymflowError
from symflow.integrate.ensemble.run import ensemble
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.gaussian_run import run_gaussian
from symflow.integrate.options import IMPLICIT
from symflow.integrate.tokens.run import run_tokens
from symflow.integrate.tokens.state import read_tokens
from symflow.integrate.trajectory import Trajectory
from symflow.spec import Spec
from symflow.sweeps.cells import SEED, Cells, run_options
from symflow.sweeps.plan import output_times
from symflow.sweeps.statistics import Statistic, collect, read_statistics

Array = NDArray[np.float64]

#: What the numbers of one cell can bring about; it is recorded there and does not end the sweep.
_OF_A_CELL = (SymflowError, ArithmeticError, ValueError, MemoryError, RuntimeError, Warning)

ERROR = "error"  #: status of a cell that has no run

_SCALARS = ("beta", "temperature")
_FREE = (SEED, *(("model", name) for name in _SCALARS))  # paths along which cells share a run
_SMALL = 4096  # numbers of a state: larger ones gain nothing in company
_TOGETHER = 1 << 21  # numbers that the runs of an ensemble may hold


@dataclass(frozen=True)
class Job:
    """Cells of one block; everything a worker needs."""

    cells: Cells
    kind: str
    positions: bool
    along: bool
    block: range
    wanted: tuple[int, ...]

    def statistics(self) -> tuple[Statistic, ...]:
        """Return what is kept."""
        return read_statistics(self.cells.sweep.statistics, self.kind, positions=self.positions)

    def times(self, spec: Spec) -> Array:
        """Return the times at which a run is recorded: both ends where nothing is computed in between."""
        return output_times(spec) if self.along else np.array(spec.t_span)


@dataclass
class Outcome:
    """What is kept of each cell that has ended, by its number."""

    status: dict[int, str] = field(default_factory=dict)
    message: dict[int, str] = field(default_factory=dict)
    t_star: dict[int, float] = field(default_factory=dict)
    arrays: dict[int, dict[str, Array]] = field(default_factory=dict)

    def add(self, cell: int, run: Trajectory, arrays: dict[str, Array]) -> None:
        """Enter a run."""
        self.status[cell], self.message[cell], self.arrays[cell] = run.status, run.message, arrays
        if run.t_star is not None:
            self.t_star[cell] = run.t_star

    def fail(self, cell: int, error: BaseException) -> None:
        """Enter a cell that has no run."""
        self.status[cell] = ERROR
        self.message[cell] = f"{type(error).__name__}: {' '.join(str(error).split())}"


Group = list[tuple[int, Spec]]


def run_job(job: Job, stop: Callable[[], bool] = lambda: False) -> Outcome:
    """Run the wanted cells of a block.

    Parameters
    ----------
    job : Job
    stop : callable
        Asked before each run, and during runs that are not short; where it says so, the rest is left out.
    """
    statistics, outcome = job.statistics(), Outcome()
    for group in _groups(job, outcome):
        if stop():
            break
        _run_group(job, group, statistics, outcome, stop)
    return outcome


def _groups(job: Job, outcome: Outcome) -> Iterator[Group]:
    """Return the wanted cells, those together that run together; cells without a spec have failed."""
    wanted, shared = set(job.wanted), None
    group: Group = []
    for cell, spec in job.cells.specs(job.block):
        if cell not in wanted:
            continue
        if not isinstance(spec, Spec):
            outcome.fail(cell, spec)
            continue
        own = {path: value for path, value in job.cells.values(cell).items() if path not in _FREE}
        if group and (own != shared or len(group) == _most(job, group[0][1])):
            yield group
            group = []
        group.append((cell, spec))
        shared = own
    if group:
        yield group


def _most(job: Job, spec: Spec) -> int:
    """Return how many cells like this one run together."""
    state = _size(spec)
    if state > _SMALL or spec.solver.get("method") in IMPLICIT or not _is_constant(spec):
        return 1
    return max(1, _TOGETHER // (state * job.times(spec).size))


def _size(spec: Spec) -> int:
    initial = spec.initial
    assert initial is not None
    return int(initial.cov.size if isinstance(initial, Gaussian) else initial.size)


def _is_constant(spec: Spec) -> bool:
    return all(isinstance(value, np.ndarray) for value in spec.parameters.values())


def _run_group(
    job: Job,
    group: Group,
    statistics: tuple[Statistic, ...],
    outcome: Outcome,
    stop: Callable[[], bool],
) -> None:
    """Run cells together; where one of them fails, each for itself."""
    try:
        for cell, spec, run in _runs(job, group, stop):
            if run.status == "stopped":
                return
            outcome.add(cell, run, collect(statistics, run, spec.model, job.times(spec)))
    except _OF_A_CELL as error:
        if len(group) == 1:
            outcome.fail(group[0][0], error)
            return
        for one in group:
            _run_group(job, [one], statistics, outcome, stop)


def _runs(job: Job, group: Group, stop: Callable[[], bool]) -> Iterator[tuple[int, Spec, Trajectory]]:
    first = group[0][1]
    times = job.times(first)
    if not any(path in _FREE for path in job.cells.values(group[0][0])) or _most(job, first) == 1:
        for cell, spec in group:
            yield cell, spec, run_alone(spec, times, stop)
        return
    initials: Any = [spec.initial for _, spec in group]
    own = {name: [float(getattr(spec.model, name)) for _, spec in group] for name in _SCALARS}
    varied = {name: np.array(values) for name, values in own.items() if len(set(values)) > 1}
    params = {**first.parameters, **varied}
    together = ensemble(first.model, initials, params, first.t_span, t_eval=times, **first.solver)
    for i, (cell, spec) in enumerate(group):
        yield cell, spec, together.member(i)


def run_alone(spec: Spec, times: Array, stop: Callable[[], bool]) -> Trajectory:
    """Return the run of one spec, as :func:`symflow.solve` makes it; it ends early where ``stop`` says so."""
    options = replace(run_options(spec, times), cancelled=stop)
    if isinstance(spec.initial, Gaussian):
        return run_gaussian(spec.model, spec.initial, spec.parameters, options, "auto")
    tokens = read_tokens(spec.model, spec.initial)
    return run_tokens(spec.model, tokens, spec.parameters, options, "auto")
