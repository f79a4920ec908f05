"""The process of some contestants: makes their runs and times them when it is asked to.

Packages share a process only with those they build on, so that neither their pools of threads nor the modes
of the processor that they set meet the others. Requests and answers are JSON, one per line:

    {"do": "make", "task": "T1", "size": "full", "case": "n = 64, d = 3", "name": "NumPy"}  → error, first
    {"do": "time", "name": "NumPy"}                                                         → seconds
    {"do": "forget"}                                                                        → nothing
    {"do": "limits", "threads": 1}                                                          → the limits
"""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import os
import sys
import time
from typing import Any

from symflow.bench.contest import Run, timed
from symflow.bench.limits import measure_limits
from symflow.bench.tasks import find_contest

#: How a peer may fail on a machine; it is then left out and the reason told.
_OF_A_PEER = (ImportError, OSError, RuntimeError, ValueError, TypeError, AttributeError)

_CLOCK = 5e-3  # seconds that one timing takes at least
_LONG = 50e-3  # seconds of a run that needs no other before it to fill the caches


class Runs:
    """The runs of one case.

    Parameters
    ----------
    level : int
        Real-time priority at which they are timed; 0 for none.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self._runs: dict[str, tuple[Run, int]] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked for."""
        match request:
            case {"do": "make"}:
                return self._make(request)
            case {"do": "time", "name": str(name)}:
                return {"seconds": self._time(*self._runs[name])}
            case {"do": "limits", "threads": int(threads)}:
                with self._urgent():
                    return dataclasses.asdict(measure_limits(threads))
        self._runs.clear()
        return {}

    def _make(self, request: dict[str, Any]) -> dict[str, Any]:
        contest = find_contest(request["task"], request["size"], request["case"])
        try:
            run = contest.entries[request["name"]].make()
            start = time.perf_counter()
            result = run()
            first = time.perf_counter() - start
            error = contest.error(result)
        except _OF_A_PEER as failure:
            return {"failed": f"{type(failure).__name__}: {' '.join(str(failure).split())[:200]}"}
        self._runs[request["name"]] = run, max(1, math.ceil(_CLOCK / max(timed(run), 1e-9)))
        return {"error": error, "first": first}

    def _time(self, run: Run, repeats: int) -> float:
        with self._urgent():
            if repeats > _CLOCK / _LONG:
                run()
            return timed(run, repeats)

    def _urgent(self) -> _Urgent:
        return _Urgent(self._level)


class _Urgent:
    """Real-time priority of every thread of this process; no garbage collection."""

    def __init__(self, level: int) -> None:
        self._level = level

    def __enter__(self) -> None:
        gc.collect()
        gc.disable()
        self._set(os.SCHED_FIFO, self._level)

    def __exit__(self, *_: object) -> None:
        self._set(os.SCHED_OTHER, 0)
        gc.enable()

    def _set(self, policy: int, level: int) -> None:
        if self._level:
            for thread in os.listdir("/proc/self/task"):
                os.sched_setscheduler(int(thread), policy, os.sched_param(level))


def main(level: int) -> None:
    """Answer until there are no more requests; what packages print goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    runs = Runs(level)
    for line in sys.stdin:
        answers.write(json.dumps(runs.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
