"""Threads that share the work of an ensemble; the first one looks after progress, the clock and Ctrl-C."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from collections.abc import Callable

#: ``progress(done, total)`` is called with how many members have ended.
Progress = Callable[[int, int], object]

_TICK = 0.05  # seconds between two looks at the clock


class Watch:
    """Looks after the clock and reports progress.

    Parameters
    ----------
    done : callable
        Returns how many members have ended.
    total : int
        How many there are.
    progress : callable or None
    max_wall_time : float or None
        Seconds.
    """

    def __init__(
        self, done: Callable[[], int], total: int, progress: Progress | None, max_wall_time: float | None
    ) -> None:
        self._done, self._total, self._progress = done, total, progress
        self._end = None if max_wall_time is None else time.perf_counter() + max_wall_time
        self._last = -1

    def over(self) -> bool:
        """Report progress, and tell whether the time is over."""
        done = self._done() if self._progress is not None else self._last
        if self._progress is not None and done != self._last:
            self._last = done
            self._progress(done, self._total)
        return self._end is not None and time.perf_counter() > self._end


def line_of_progress(done: int, total: int) -> None:
    """Write ``done`` of ``total`` to the standard error stream, over the line before."""
    end = "\n" if done == total else ""
    print(f"\r{done} of {total} members", end=end, file=sys.stderr, flush=True)  # noqa: T201


def in_a_sentence(done: int, total: int, interrupted: bool, max_wall_time: float | None) -> str:
    """Return how many members ran to their end, and why not all."""
    message = f"{done} of {total} members ran to their end"
    if interrupted:
        return f"{message}; interrupted"
    return message if done == total else f"{message}; max_wall_time = {max_wall_time:g} s was over"


def run_threads(make: Callable[[], Callable[[], bool]], threads: int, watch: Watch) -> bool:
    """Advance until no work is left, the time is over, or the user interrupts; return whether they did.

    Parameters
    ----------
    make : callable
        Called once per thread; returns what advances for a short time and tells whether no work is left.
    threads : int
        How many, the calling one included.
    watch : Watch
    """
    stop = threading.Event()
    helpers = [_Helper(make(), stop) for _ in range(threads - 1)]
    mine = make()
    try:
        for helper in helpers:
            helper.start()
        while not mine() and not watch.over():
            pass
        while any(helper.works() for helper in helpers) and not watch.over():
            pass
    except KeyboardInterrupt:
        return True
    finally:
        stop.set()
        for helper in helpers:
            helper.finish()
    watch.over()
    return False


class _Helper:
    """A thread beside the calling one, which does not wait for it to start: small ensembles are shorter."""

    def __init__(self, advance: Callable[[], bool], stop: threading.Event) -> None:
        self._advance, self._stop = advance, stop
        self._at_work, self._is_started = threading.Lock(), False
        self._error: BaseException | None = None

    def start(self) -> None:
        """Begin; the lock is held while there is work."""
        self._at_work.acquire()
        _thread.start_new_thread(self._run, ())
        self._is_started = True

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and not self._advance():
                pass
        except BaseException as error:  # noqa: BLE001 - the calling thread raises it again
            self._error = error
        finally:
            self._at_work.release()

    def works(self) -> bool:
        """Wait a moment, and tell whether it is still at work; raise what it raised."""
        ended = self._at_work.acquire(timeout=_TICK)
        if ended:
            self._at_work.release()
        if self._error is not None:
            raise self._error
        return not ended

    def finish(self) -> None:
        """Wait until the step under way has ended."""
        if self._is_started:
            with self._at_work:
                pass
