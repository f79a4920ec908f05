"""Zeros of event functions along the dense output: all in a step, not only changes of sign at its ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from symflow.checking import Array
from symflow.errors import InputError
from symflow.integrate.dense import Dense
from symflow.integrate.layout import Layout
from symflow.integrate.options import Event

_DEGREE = 16
_DEPTH = 8  # halvings of a step in which the event function is not yet resolved
_RESOLVED = 1e-10  # size of the last coefficients relative to the largest
_SAME = 1e-8  # zeros this close, relative to the piece, are one zero found twice
_NODES = chebyshev.chebpts1(_DEGREE + 1)
_TRANSFORM = chebyshev.chebvander(_NODES, _DEGREE).T * (2.0 / (_DEGREE + 1))
_TRANSFORM[0] *= 0.5


@dataclass(frozen=True)
class Crossing:
    """A zero of event ``index`` at time ``t``; zeros within ``width`` of it are the same one found twice."""

    t: float
    index: int
    width: float


@dataclass
class EventFinder:
    """Finds the zeros of events on successive stretches of a run.

    Parameters
    ----------
    events : tuple of callable
        ``event(t, *seen)``, what the layout shows: ``(t, mean, cov)`` or ``(t, x)``, with optional
        attributes ``terminal`` (bool, or how many zeros end the run) and ``direction`` (> 0: only zeros at
        which it increases along the run; < 0: decreases).
    layout : Layout
        How the state holds what an event sees.
    t0 : float
        Start of the run; a zero there is where the run begins, not an event.
    direction : float
        1 forwards, −1 backwards.
    """

    events: tuple[Event, ...]
    layout: Layout
    t0: float
    direction: float
    times: list[list[float]] = field(default_factory=list)
    states: list[list[Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.times = [[] for _ in self.events]
        self.states = [[] for _ in self.events]

    def scan(self, dense: Dense) -> float | None:
        """Record the zeros on a stretch; return the time of the first terminal one, or None."""
        for left, right in zip(dense.nodes[:-1].tolist(), dense.nodes[1:].tolist(), strict=True):
            found = [
                Crossing(t, index, _SAME * abs(right - left))
                for index in range(len(self.events))
                for t in self._zeros(index, dense, left, right, 0)
            ]
            for crossing in sorted(found, key=lambda c: self.direction * c.t):
                if self._record(crossing, dense):
                    return crossing.t  # an event need not be defined in the steps behind it
        return None

    @property
    def found(self) -> tuple[Array, ...]:
        """The zeros of each event."""
        return tuple(np.array(times) for times in self.times)

    def seen(self, index: int) -> tuple[Array, ...]:
        """Return what the layout shows at the zeros of event ``index``."""
        return self.layout.seen(np.array(self.states[index]).reshape(-1, self.layout.size))

    def _record(self, crossing: Crossing, dense: Dense) -> bool:
        """Append a zero unless it is the last one again; tell whether it ends the run."""
        times = self.times[crossing.index]
        before = times[-1] if times else self.t0
        if self.direction * (crossing.t - before) <= crossing.width:
            return False
        times.append(crossing.t)
        self.states[crossing.index].append(dense.evaluate(np.array([crossing.t]))[0])
        terminal = getattr(self.events[crossing.index], "terminal", False)
        return bool(terminal) and len(times) >= int(terminal)

    def _zeros(self, index: int, dense: Dense, left: float, right: float, depth: int) -> list[float]:
        middle, radius = 0.5 * (left + right), 0.5 * (right - left)
        coefficients = _TRANSFORM @ self._values(index, dense, middle + radius * _NODES)
        largest = float(np.abs(coefficients).max())
        if largest == 0.0:
            return []  # vanishes on the whole piece: no isolated zero
        if np.abs(coefficients[-3:]).max() > _RESOLVED * largest and depth < _DEPTH:
            first = self._zeros(index, dense, left, middle, depth + 1)
            return _merge([*first, *self._zeros(index, dense, middle, right, depth + 1)], _SAME * abs(radius))
        roots = _real_roots(coefficients, getattr(self.events[index], "direction", 0))
        return [right if x >= 1.0 else left if x <= -1.0 else middle + radius * x for x in roots]

    def _values(self, index: int, dense: Dense, times: Array) -> Array:
        seen = self.layout.seen(dense.evaluate(times))
        function: Callable[..., Any] = self.events[index]
        values = np.array(
            [_number(function(float(t), *parts), index) for t, *parts in zip(times, *seen, strict=True)]
        )
        if not np.isfinite(values).all():
            t = float(times[int(np.flatnonzero(~np.isfinite(values))[0])])
            raise InputError(f"events[{index}] is not finite at t = {t!r}; define it along the whole run")
        return values


def _number(value: Any, index: int) -> float:
    """Return what an event function gave as a float; an array of one entry counts."""
    entries = np.asarray(value)
    if entries.size != 1 or entries.dtype.kind not in "biuf":
        raise InputError(
            f"events[{index}] must return one real number, got {type(value).__name__} "
            f"of shape {entries.shape}; return for example mean[0] or x[0, 0]"
        )
    return float(entries.reshape(())[()])


def _real_roots(coefficients: Array, direction: float) -> list[float]:
    """Return the zeros in [−1, 1] at which the series crosses in the wanted direction, ascending."""
    if abs(coefficients[0]) > np.abs(coefficients[1:]).sum():
        return []
    kept = chebyshev.chebtrim(coefficients, 1e-14 * float(np.abs(coefficients).max()))
    roots = chebyshev.chebroots(kept)
    slack = 1e-12
    real = np.sort(roots.real[(np.abs(roots.imag) < _SAME) & (np.abs(roots.real) <= 1.0 + slack)])
    real = np.clip(real, -1.0, 1.0)
    if direction:
        slope = chebyshev.chebval(real, chebyshev.chebder(kept))
        real = real[slope * math.copysign(1.0, direction) > 0.0]
    return _merge([float(x) for x in real], _SAME)


def _merge(points: list[float], distance: float) -> list[float]:
    """Drop each point that repeats its predecessor."""
    kept: list[float] = []
    for point in points:
        if not kept or abs(point - kept[-1]) > distance:
            kept.append(point)
    return kept
