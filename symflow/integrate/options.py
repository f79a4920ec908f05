"""What a caller may ask of a run, checked before any work."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.checking import Array, positive_number, real_array, real_number
from symflow.errors import InputError

ADAPTIVE = ("dop853", "dp5", "taylor", "radau", "bdf")
IMPLICIT = ("radau", "bdf")
FIXED = ("rk4",)
METHODS = (*ADAPTIVE, *FIXED)

_RTOL_FLOOR = 100.0 * float(np.finfo(np.float64).eps)
_END_ULPS = 8  # how far a sum of floats may miss the end of the interval

#: ``f(t, mean, cov)`` of a Gaussian law, ``f(t, x)`` of tokens.
Event = Callable[..., float]
Callback = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Options:
    """A checked request; see :func:`symflow.solve`."""

    t0: float
    t1: float
    t_eval: Array | None
    method: str
    rtol: float
    atol: Array
    dt: float | None
    max_step: float | None
    first_step: float | None
    events: tuple[Event, ...]
    dense_output: bool
    callback: Callback | None
    max_wall_time: float | None
    cancelled: Callable[[], bool] | None = None  #: asked from time to time; another thread may want an end

    @property
    def direction(self) -> float:
        """1 forwards, −1 backwards."""
        return 1.0 if self.t1 >= self.t0 else -1.0

    @property
    def needs_dense(self) -> bool:
        """Whether something between the steps is asked for; the first and the last time are steps."""
        between = self.t_eval is not None and not np.isin(self.t_eval, (self.t0, self.t1)).all()
        return self.dense_output or between or bool(self.events)


def read_options(
    dim: int,
    t_span: Any,
    *,
    t_eval: Any,
    method: str,
    rtol: Any,
    atol: Any,
    dt: Any,
    max_step: Any,
    first_step: Any,
    events: Any,
    dense_output: bool,
    callback: Callback | None,
    max_wall_time: Any,
    seen: str = "t, mean, cov",
) -> Options:
    """Check a request for a run in dimension ``dim``; ``seen`` names what functions of the caller get.

    Raises
    ------
    InputError
        Naming the argument, what is wrong with it and what to give instead.
    """
    t0, t1 = _time_span(t_span)
    _refuse_method(method, dt)
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be a function callback({seen}), got {type(callback).__name__}")
    return Options(
        t0=t0,
        t1=t1,
        t_eval=None if t_eval is None else _evaluation_times(t_eval, t0, t1),
        method=method,
        rtol=_relative_tolerance(rtol),
        atol=_absolute_tolerance(atol, dim),
        dt=None if dt is None else positive_number(dt, "dt"),
        max_step=None if max_step is None or max_step == np.inf else positive_number(max_step, "max_step"),
        first_step=None if first_step is None else positive_number(first_step, "first_step"),
        events=_event_functions(events, seen),
        dense_output=bool(dense_output),
        callback=callback,
        max_wall_time=None if max_wall_time is None else positive_number(max_wall_time, "max_wall_time"),
    )


def _time_span(t_span: Any) -> tuple[float, float]:
    span = real_array(t_span, "t_span")
    if span.shape != (2,):
        raise InputError(f"t_span must be two times (start, end), got shape {span.shape}")
    return float(span[0]), float(span[1])


def _refuse_method(method: str, dt: Any) -> None:
    if method not in METHODS:
        raise InputError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}")
    if method in FIXED and dt is None:
        raise InputError(f"method {method!r} takes steps of fixed size; give dt")
    if method in ADAPTIVE and dt is not None:
        raise InputError(f"method {method!r} chooses its own steps; drop dt or use {', '.join(FIXED)}")


def _evaluation_times(t_eval: Any, t0: float, t1: float) -> Array:
    """Return the requested times, those that miss an end by rounding moved onto it."""
    times = real_array(t_eval, "t_eval")
    if times.ndim != 1:
        raise InputError(f"t_eval must be a list of times, got shape {times.shape}")
    sign = 1.0 if t1 >= t0 else -1.0
    slack = _END_ULPS * float(np.spacing(max(abs(t0), abs(t1))))
    outside = np.flatnonzero((sign * (times - t0) < -slack) | (sign * (times - t1) > slack))
    if outside.size:
        i = int(outside[0])
        raise InputError(f"t_eval[{i}] = {float(times[i])!r} lies outside of t_span = ({t0!r}, {t1!r})")
    times = np.clip(times, min(t0, t1), max(t0, t1))
    wrong = np.flatnonzero(sign * np.diff(times) <= 0.0)
    if wrong.size:
        i = int(wrong[0])
        order = "increasing" if sign > 0 else "decreasing"
        raise InputError(
            f"t_eval must be strictly {order} without duplicates: t_eval[{i}] = {float(times[i])!r}, "
            f"t_eval[{i + 1}] = {float(times[i + 1])!r}"
        )
    return times


def _relative_tolerance(rtol: Any) -> float:
    value = real_number(rtol, "rtol")
    if value < 0.0:
        raise InputError(f"rtol = {value!r} is negative; give a number > 0")
    if value < _RTOL_FLOOR:
        warnings.warn(
            f"rtol = {value!r} is below rounding; {_RTOL_FLOOR:.3g} is used", UserWarning, stacklevel=5
        )
    return max(value, _RTOL_FLOOR)


def _absolute_tolerance(atol: Any, dim: int) -> Array:
    """Return one tolerance per coordinate."""
    values = real_array(atol, "atol")
    if values.ndim > 1 or values.size not in (1, dim):
        raise InputError(
            f"atol must be a number or one number per coordinate ({dim}), got shape {values.shape}"
        )
    if (values < 0.0).any():
        raise InputError(f"atol has a negative entry {float(values.min())!r}; give numbers ≥ 0")
    return np.broadcast_to(values.reshape(-1), (dim,)).copy()


def _event_functions(events: Any, seen: str) -> tuple[Event, ...]:
    if events is None:
        return ()
    functions = tuple(events) if isinstance(events, Iterable) else (events,)
    for i, function in enumerate(functions):
        if not callable(function):
            raise InputError(f"events[{i}] must be a function event({seen}), got {type(function).__name__}")
        _refuse_attributes(function, f"events[{i}]")
    return functions


def _refuse_attributes(function: Event, name: str) -> None:
    """Refuse an event whose ``terminal`` or ``direction`` would be taken for something else."""
    terminal = getattr(function, "terminal", False)
    if terminal is not None and not (isinstance(terminal, (int, np.bool_, np.integer)) and terminal >= 0):
        raise InputError(f"{name}.terminal = {terminal!r} must be True, False or a number of zeros ≥ 0")
    direction = getattr(function, "direction", 0)
    if not isinstance(direction, (int, float, np.number)) or math.isnan(direction):
        raise InputError(f"{name}.direction = {direction!r} must be −1, 0 or 1")
