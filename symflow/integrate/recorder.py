"""Keeps of each chunk of a run what the caller asked for."""

from __future__ import annotations

import numpy as np

from symflow.checking import Array
from symflow.integrate.dense import Dense, JoinedDense
from symflow.integrate.layout import Layout
from symflow.integrate.methods import Chunk
from symflow.integrate.options import Options


class Recorder:
    """Collects times and states, and the dense output where it is needed later.

    Parameters
    ----------
    options : Options
    layout : Layout
    """

    def __init__(self, options: Options, layout: Layout) -> None:
        self._options, self._layout = options, layout
        self._times: list[Array] = []
        self._states: list[Array] = []
        self._parts: list[Dense] = []
        self.last_time = options.t0
        self.last_state = np.empty(0)
        self._empty = True

    def add(self, chunk: Chunk, stop: float | None) -> None:
        """Take in a chunk, up to the time ``stop`` where a terminal event ended the run."""
        first = self._empty
        self._empty = False
        if chunk.dense is not None and self._options.dense_output:
            self._parts.append(chunk.dense)
        end = float(chunk.times[-1]) if stop is None else stop
        if self._options.t_eval is None:
            self._keep_steps(chunk, end, first)
        else:
            self._keep_requested(chunk, end, first)
        self.last_time = end
        if stop is None or chunk.dense is None:
            self.last_state = chunk.states[-1]
        else:
            self.last_state = chunk.dense.evaluate(np.array([stop]))[0]

    def _keep_steps(self, chunk: Chunk, end: float, first: bool) -> None:
        sign = self._options.direction
        kept = sign * chunk.times <= sign * end
        kept[0] = first
        self._times.append(chunk.times[kept])
        self._states.append(chunk.states[kept])

    def _keep_requested(self, chunk: Chunk, end: float, first: bool) -> None:
        wanted = self._options.t_eval
        assert wanted is not None
        sign, start = self._options.direction, float(chunk.times[0])
        here = wanted[(sign * wanted > sign * start) & (sign * wanted <= sign * end)]
        if first and wanted.size and wanted[0] == start:
            self._times.append(wanted[:1])
            self._states.append(chunk.states[:1])
        if here.size and chunk.dense is not None:
            self._times.append(here)
            self._states.append(chunk.dense.evaluate(here))
        elif here.size and here[-1] == chunk.times[-1]:  # the last time, and nothing was kept in between
            self._times.append(here)
            self._states.append(chunk.states[-1:])

    @property
    def dense(self) -> Dense | None:
        """The dense output of the run so far."""
        return JoinedDense(tuple(self._parts), self.last_time) if self._parts else None

    def finish(self, complete: bool) -> tuple[Array, Array]:
        """Return all times and states; a run that ended early has its last point as last row."""
        times, states = self._times, self._states
        if not complete and not (times and times[-1].size and times[-1][-1] == self.last_time):
            times = [*times, np.array([self.last_time])]
            states = [*states, self.last_state[None, :]]
        if not times:
            return np.empty(0), np.empty((0, self._layout.size))
        return np.concatenate(times), np.concatenate(states)
