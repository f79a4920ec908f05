"""Run a sweep: the missing blocks through an executor, each kept as soon as it has ended."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symflow.errors import InputError, SweepInterrupted
from symflow.spec import Spec, load_spec, parse_spec
from symflow.sweeps.plan import Plan, make_plan
from symflow.sweeps.store import Store, open_store
from symflow.sweeps.work import Job, Outcome, run_job

if TYPE_CHECKING:
    from xarray import Dataset

#: ``progress(done, total)`` is called with how many cells have ended.
Progress = Callable[[int, int], object]

_TICK = 0.1  # seconds between two looks at whether the user interrupts
_QUEUED = 4  # jobs per worker that wait in a pool of our own, so that few are given up


def sweep(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Spec,
    store: str | os.PathLike[str],
    executor: Executor | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Dataset:
    r"""Run a spec for every combination of the values that its section ``[sweep]`` states.

    .. math:: \text{cells} = A_1\times\dots\times A_m, \qquad
              \text{each one run of } \texttt{[model]}, \texttt{[parameters]}, \texttt{[initial]},
              \texttt{[time]}, \texttt{[solver]}

    What ``statistics`` names is kept of every run, in a zarr store with one axis per swept key. A sweep that
    was interrupted goes on where it was when it is called again; whatever the executor, and in whichever
    order cells end, the store has the same bytes.

    Parameters
    ----------
    spec : path, dict or Spec
        A spec file, its content, or what :func:`symflow.load_spec` returned.
    store : path
        Folder of the store; it is made, or gone on with.
    executor : concurrent.futures.Executor, optional
        Where cells run, e.g. a ``ProcessPoolExecutor`` or ``client.get_executor()`` of ``dask.distributed``;
        threads of this process by default. It is not shut down.
    threads : int, optional
        How many threads where there is no executor; one per core by default.
    progress : callable, optional
        ``progress(done, total)`` at the beginning and after every block of cells.

    Returns
    -------
    xarray.Dataset
        The store, opened. ``status`` is ``"error"`` where a cell has no run, and ``message`` says why.

    Raises
    ------
    InputError
        If the spec, a value of an axis or the store cannot be used, before any work.
    SweepInterrupted
        After Ctrl-C, a ``KeyboardInterrupt``; what had ended is kept.

    Examples
    --------
    >>> import tempfile
    >>> run = {"model": {"attention": "softmax"}, "parameters": {"V": [[1.0]], "A": [[1.0]]},
    ...        "initial": {"mean": [0.0], "cov": [[1.0]]}, "time": {"t_span": [0, 0.4]},
    ...        "sweep": {"model.beta": [0.5, 1.0, 2.0]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sweep(run, f"{folder}/blow-up.zarr").load()
    >>> found.status.values.tolist(), found.t_star.sel(beta=2.0).round(6).item()
    (['finished', 'finished', 'blow-up'], 0.25)
    """
    read, text = _read(spec)
    plan = make_plan(read)
    if executor is not None and threads is not None:
        raise InputError("threads are for a sweep without executor; drop one of them")
    kept = open_store(Path(store), plan, text)
    todo = [(place, _job(plan, block, wanted)) for place, block, wanted in kept.missing()]
    if todo:
        with _executor(executor, threads) as (pool, most):
            _run(plan, kept, todo, pool, most, progress)
    elif progress is not None:
        progress(plan.sweep.count, plan.sweep.count)
    return kept.open()


def _read(spec: Any) -> tuple[Spec, str | None]:
    """Return the checked spec, and the text of its file."""
    if isinstance(spec, Spec):
        return spec, None
    if isinstance(spec, Mapping):
        return parse_spec(spec), None
    if not isinstance(spec, (str, os.PathLike)):
        raise InputError(f"spec must be a path, its content or a Spec, got {type(spec).__name__}")
    read = load_spec(os.fspath(spec))
    return read, Path(spec).read_text(encoding="utf-8")


def _job(plan: Plan, block: range, wanted: tuple[int, ...]) -> Job:
    return Job(plan.cells, plan.kind, plan.positions, plan.times is not None, block, wanted)


@contextlib.contextmanager
def _executor(executor: Executor | None, threads: int | None) -> Iterator[tuple[Executor, int | None]]:
    """Return where jobs run, and how many may be handed over at a time."""
    if executor is not None:
        if not isinstance(executor, Executor):
            raise InputError(f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}")
        yield executor, None
        return
    count = len(os.sched_getaffinity(0)) if threads is None else threads
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"threads = {threads!r} must be a whole number ≥ 1")
    with ThreadPoolExecutor(count, "symflow-sweep") as pool:
        yield pool, _QUEUED * count


def _run(
    plan: Plan,
    store: Store,
    todo: list[tuple[tuple[slice, ...], Job]],
    pool: Executor,
    most: int | None,
    progress: Progress | None,
) -> None:
    """Hand jobs over and keep what comes back, until all is done or the user interrupts."""
    stop, total = threading.Event(), plan.sweep.count
    done = total - sum(len(job.wanted) for _, job in todo)
    # only threads of this process can be asked to leave the rest of a block out
    work = functools.partial(run_job, stop=stop.is_set) if isinstance(pool, ThreadPoolExecutor) else run_job
    waiting = iter(todo)
    running: dict[Future[Outcome], tuple[tuple[slice, ...], Job]] = {}
    with _interrupts(stop):
        try:
            _report(progress, done, total)
            while True:
                while not stop.is_set() and (most is None or len(running) < most):
                    following = next(waiting, None)
                    if following is None:
                        break
                    running[pool.submit(work, following[1])] = following
                if not running:
                    break
                ended, _ = concurrent.futures.wait(running, _TICK, FIRST_COMPLETED)
                if stop.is_set():
                    ended |= _give_up(running)
                for future in ended:
                    done += _keep(store, future, *running.pop(future))
                if ended:
                    _report(progress, done, total)
        except KeyboardInterrupt:
            stop.set()
            for future in _give_up(running):
                done += _keep(store, future, *running.pop(future))
    if done < total:
        raise SweepInterrupted(
            f"interrupted: {done} of {total} cells are done and kept in {store.path}; "
            "run the same sweep again to go on"
        )


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


def _give_up(running: Mapping[Future[Outcome], Any]) -> set[Future[Outcome]]:
    """Cancel what has not begun, wait for what has, and return all."""
    for future in running:
        future.cancel()
    concurrent.futures.wait(running)
    return set(running)


def _keep(store: Store, future: Future[Outcome], place: tuple[slice, ...], job: Job) -> int:
    """Write what a job has left; return how many cells that are."""
    if future.cancelled():
        return 0
    outcome = future.result()
    store.write(place, job.block, outcome)
    return len(outcome.status)


@contextlib.contextmanager
def _interrupts(stop: threading.Event) -> Iterator[None]:
    """Let the first Ctrl-C end the sweep in order, and the second one at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # someone else looks after it
        yield
        return
    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
