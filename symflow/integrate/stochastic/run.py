"""One path of tokens with noise."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.integrate.stochastic.equation import Equation, read_equation
from symflow.integrate.stochastic.field import paths_module
from symflow.integrate.stochastic.options import STAGES, Steps
from symflow.integrate.stochastic.streams import path_numbers, stream_key
from symflow.integrate.tokens.state import Tokens
from symflow.integrate.tokens.trajectory import TokenTrajectory

_CHUNK_SECONDS = 0.03  # how long a run stays out of reach of Ctrl-C, callbacks and the wall clock
_PAGE_STEPS, _PAGE_BYTES = 1024, 1 << 26


def run_path(
    model: Any,
    tokens: Tokens,
    params: Mapping[str, Any],
    noise: Any,
    steps: Steps,
    rng: Any,
    path: int,
    backend: str,
) -> TokenTrajectory:
    """Integrate one path; see :func:`symflow.solve`.

    Raises
    ------
    InputError
        If an argument cannot be used, before any work.
    """
    numbers = path_numbers([path], None)
    equation = read_equation(model, tokens, params, noise, steps, stream_key(rng), backend)
    return _Run(equation, tokens, numbers).follow()


class _Run:
    """A path that is followed chunk by chunk; without ``t_eval`` every step is recorded, page by page."""

    def __init__(self, equation: Equation, tokens: Tokens, numbers: Any) -> None:
        self._equation, self._steps, self._shape = equation, equation.steps, tokens.x.shape
        self._status, self._reason, self._ended, self._reached = np.zeros((4, 1), dtype=np.int64)
        self._last, self._kept = np.empty((1, *self._shape)), list[tuple[Array, Array]]()
        room = self._turn(0)
        arrays = {"status": self._status, "reason": self._reason, "ended": self._ended}
        self._paths = equation.paths(
            tokens.x, numbers, {**room, **arrays, "reached": self._reached, "last": self._last}
        )
        self._worker = equation.worker(self._paths)

    def _turn(self, first: int) -> dict[str, Any]:
        """Return where to record next: the requested times, or the steps from ``first`` on."""
        count, wanted = self._steps.count, self._steps.t_eval
        rows = max(1, min(_PAGE_STEPS, _PAGE_BYTES // (8 * self._last.size)))
        self._end = count if wanted is not None else min(first + rows - 1, count)
        self._times = self._steps.times(first, self._end) if wanted is None else wanted
        self._out = np.empty((1, self._times.size, *self._shape))
        steps, shares = self._steps.places(self._times)
        return {"rows": steps, "shares": shares, "out": self._out}

    def follow(self) -> TokenTrajectory:
        """Advance until the path ends."""
        start, steps = time.perf_counter(), self._steps
        while True:
            until = self._end if steps.callback is None else min(self._worker.step + 1, self._end)
            self._worker.advance(_CHUNK_SECONDS, until)
            ended = bool(self._status[0])
            step = int(self._ended[0]) if ended else int(self._worker.step)
            t = float(steps.times(step, step)[0])
            if ended:
                status = paths_module().STATUSES[self._status[0]]
                return self._trajectory(status, self._equation.message(status, t, int(self._reason[0])), t)
            self._worker.keep()
            if steps.callback is not None and steps.callback(t, self._equation.layout.seen(self._last)[0][0]):
                return self._trajectory("stopped", f"the callback ended the run at t = {t:.10g}", t)
            if steps.max_wall_time is not None and time.perf_counter() - start > steps.max_wall_time:
                over = f"max_wall_time = {steps.max_wall_time:g} s was over at t = {t:.10g}"
                return self._trajectory("stopped", over, t)
            if step == self._end:
                self._keep()
                self._worker.record(**self._turn(self._end + 1))

    def _keep(self) -> None:
        reached = int(self._reached[0])
        self._kept.append((self._times[:reached], self._out[0, :reached]))
        self._reached[0] = 0

    def _trajectory(self, status: str, message: str, t: float) -> TokenTrajectory:
        """Return what was recorded; a path that ended early has its last tokens as last row."""
        self._keep()
        times = np.concatenate([page for page, _ in self._kept])
        x = np.concatenate([page for _, page in self._kept])
        if status != "finished" and not (times.size and times[-1] == t):
            times, x = np.append(times, t), np.concatenate([x, self._last])
        problem, steps = self._equation.problem, self._steps
        return TokenTrajectory(
            t=times,
            x=self._equation.layout.seen(x)[0],
            status=status,
            message=message,
            nfev=STAGES[steps.method] * (int(self._ended[0]) or int(self._worker.step)),
            model=problem.statement.name,
            method=steps.method,
            space=problem.model.space,
        )
