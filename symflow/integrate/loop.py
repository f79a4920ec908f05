"""The loop over chunks of a run; signals, events, callback and clock are looked after in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from symflow.checking import Array
from symflow.integrate.dense import Dense
from symflow.integrate.events import EventFinder
from symflow.integrate.layout import Layout
from symflow.integrate.methods import Driver
from symflow.integrate.options import Callback, Options
from symflow.integrate.recorder import Recorder

_CHUNK_SECONDS = 0.03  # how long a run stays out of reach of Ctrl-C, callbacks and the wall clock

#: ``describe(status, t, state)`` says how a run ended, and what to do about it.
Describe = Callable[[str, float, Array], str]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is left when a run has ended.

    Attributes
    ----------
    times, states : ndarray, (T,), (T, n)
    status, message : str
    finder : EventFinder
        The zeros of the events.
    dense : Dense or None
    """

    times: Array
    states: Array
    status: str
    message: str
    finder: EventFinder
    dense: Dense | None

    def common(self, driver: Driver, options: Options, layout: Layout, model: str) -> dict[str, Any]:
        """Return what every trajectory holds, by name."""
        return {
            "t": self.times,
            "status": self.status,
            "message": self.message,
            "t_star": driver.singularity if self.status == "blow-up" else None,
            "nfev": driver.nfev,
            "t_events": self.finder.found,
            "model": model,
            "method": options.method,
            "_dense": self.dense,
            "_layout": layout if options.dense_output else None,
        }


def follow(driver: Driver, layout: Layout, options: Options, describe: Describe) -> Outcome:
    """Advance a run chunk by chunk until it ends."""
    finder = EventFinder(options.events, layout, options.t0, options.direction)
    recorder = Recorder(options, layout)
    start = time.perf_counter()
    while True:
        chunk = driver.advance(_CHUNK_SECONDS)
        stop = finder.scan(chunk.dense) if options.events and chunk.dense is not None else None
        recorder.add(chunk, stop)
        status, t = chunk.status, float(recorder.last_time)
        if stop is not None:
            status, message = "event", f"a terminal event ended the run at t = {stop:.10g}"
        elif status != "running":
            message = describe(status, t, recorder.last_state)
        elif chunk.times.size > 1 and _asks_to_stop(options.callback, layout, recorder):
            status, message = "stopped", f"the callback ended the run at t = {t:.10g}"
        elif options.max_wall_time is not None and time.perf_counter() - start > options.max_wall_time:
            status = "stopped"
            message = f"max_wall_time = {options.max_wall_time:g} s was over at t = {t:.10g}"
        elif options.cancelled is not None and options.cancelled():
            status, message = "stopped", f"the run was cancelled at t = {t:.10g}"
        if status != "running":
            times, states = recorder.finish(complete=status == "finished")
            return Outcome(times, states, status, message, finder, recorder.dense)


def _asks_to_stop(callback: Callback | None, layout: Layout, recorder: Recorder) -> bool:
    if callback is None:
        return False
    seen = layout.seen(recorder.last_state[None, :])
    return bool(callback(float(recorder.last_time), *(part[0] for part in seen)))
