"""The processes of contestants: one per family of packages and number of threads; one at a time works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import Any

from symflow.errors import InputError

#: What bounds the pools of threads of the packages, among them symflow's.
_POOLS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "SYMFLOW_NUM_THREADS",
)  # fmt: skip

#: Threads that wait by spinning would take a core from whoever is timed next.
_ALIKE = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}

_LEVEL = 50  #: real-time priority, in the middle of what there is


class Ended(RuntimeError):
    """A process that has ended before its answer."""


class Process:
    """A process with so many cores and threads; requests are answered one after the other."""

    def __init__(self, threads: int, realtime: bool) -> None:
        self._messages = tempfile.TemporaryFile(mode="w+", encoding="utf-8")  # noqa: SIM115, until `close`
        command = [sys.executable, "-m", "symflow.bench.worker", str(_LEVEL if realtime else 0)]
        path = os.pathsep.join(entry for entry in sys.path if entry)
        environment = os.environ | dict.fromkeys(_POOLS, str(threads)) | _ALIKE | {"PYTHONPATH": path}
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, sorted(allowed)[:threads])  # a child has those of its parent
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._messages, text=True,
                env=environment,
            )  # fmt: skip
        finally:
            os.sched_setaffinity(0, allowed)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises
        ------
        Ended
            If the process has ended, with the last lines that it wrote.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Ended(f"its process ended with {self._process.wait()}: {self._last_lines()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_lines(self) -> str:
        self._messages.seek(0)
        return " ".join(self._messages.read()[-400:].split())

    def close(self) -> None:
        """End it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.terminate()
        self._process.wait()
        self._messages.close()


class Processes:
    """All of them; a context manager. They start when they are first asked for."""

    def __init__(self, realtime: bool = False) -> None:
        self._realtime = realtime
        self._all: dict[tuple[str, int], Process] = {}

    def of(self, family: str, threads: int) -> Process:
        """Return the process of a family."""
        key = family, threads
        if key not in self._all:
            self._all[key] = Process(threads, self._realtime)
        return self._all[key]

    def drop(self, family: str, threads: int) -> None:
        """End a process; the next request starts another one."""
        self._all.pop((family, threads)).close()

    def forget(self) -> None:
        """Let all forget their runs."""
        for process in self._all.values():
            process.ask(do="forget")

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._all.values():
            process.close()


def require_realtime() -> None:
    """Refuse real-time priority where this process may not have it."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_LEVEL))
    except PermissionError:
        raise InputError("realtime = True needs the right to real-time priority; leave it out") from None
    os.sched_setscheduler(0, *before)
