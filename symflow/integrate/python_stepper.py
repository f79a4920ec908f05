"""The compiled stepper written in NumPy: used where the runtime was not built, and its witness in tests."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.integrate.growth import GrowthMonitor
from symflow_ext.tableau import TABLEAUX, Row, Tableau

Rhs = Callable[[float, Array, Array], Any]

REASONS = ("accuracy", "singular", "outside-domain", "raised", "not-converged", "non-finite")
NON_FINITE = REASONS.index("non-finite")
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 6.0


class PythonStepper:
    """One run of ``y' = f(t, y)`` with explicit Runge-Kutta steps; see ``symflow_ext.stepper.Stepper``.

    Parameters
    ----------
    call : callable
        ``f(t, y, dy) -> status or None``.
    method : str
        ``"dop853"``, ``"dp5"`` or ``"rk4"``.
    t0, y0, t1
        Initial time and state, final time.
    rtol, atol : float, ndarray (n,)
        Tolerances.
    max_step, first_step, dt : float or None
        Bounds of the step size; a fixed step size.
    watch : int
        First of the components that are watched for blow-up.
    sphere : int
        Length of the rows of the state that are retracted onto the unit sphere after every step; 0: none.
    """

    def __init__(
        self,
        call: Rhs,
        method: str,
        t0: float,
        y0: Array,
        t1: float,
        *,
        rtol: float,
        atol: Array,
        max_step: float | None = None,
        first_step: float | None = None,
        dt: float | None = None,
        watch: int | None = 0,
        sphere: int = 0,
    ) -> None:
        self._call, self._sphere = call, sphere
        self._table: Tableau = TABLEAUX[method]
        self.t, self.t0, self.t1 = t0, t0, t1
        self._direction = 1.0 if t1 >= t0 else -1.0
        self._rtol, self._atol = rtol, atol
        self._max_step = math.inf if max_step is None else max_step
        self._first, self._dt = first_step, dt
        self._exponent = 1.0 / (self._table.error_order + 1)
        self._y = y0.copy()
        stages = len(self._table.c)
        self._last = stages
        self._k = np.zeros((stages + 1 + len(self._table.dense_c), y0.size))
        self._monitor = GrowthMonitor(t0, t1, dt or 0.0, watch=y0.size if watch is None else watch)
        self.h = 0.0
        self.nfev = self.accepted = self.rejected = 0
        self._reason = 0
        self._started = False

    @property
    def dense_rows(self) -> int:
        """How many coefficient vectors the dense output of a step has."""
        return 3 + len(self._table.dense)

    @property
    def singularity(self) -> float:
        """The extrapolated time of blow-up."""
        return self._monitor.singularity

    @property
    def reason(self) -> str:
        """Why the last refused step was refused."""
        return REASONS[self._reason]

    def advance(
        self, times: Array, states: Array, coefficients: Array | None, capacity: int, seconds: float
    ) -> tuple[str, int]:
        """Take up to ``capacity`` steps in about ``seconds``; return ``(status, steps taken)``."""
        deadline = time.perf_counter() + seconds
        with np.errstate(all="ignore"):  # what overflows is refused as a step
            status = "running" if self._started else self._start()
            times[0], states[0] = self.t, self._y
            taken = 0
            while status == "running" and taken < capacity:
                if self.t == self.t1:
                    return "finished", taken
                status = self._step(None if coefficients is None else coefficients[taken])
                if status in ("running", "finished", "blow-up"):
                    taken += 1
                    times[taken], states[taken] = self.t, self._y
                if time.perf_counter() > deadline:
                    break
        return status, taken

    def _evaluate(self, t: float, y: Array, slope: Array) -> int:
        self.nfev += 1
        return int(self._call(t, y, slope) or 0)

    def _start(self) -> str:
        code = self._evaluate(self.t, self._y, self._k[0])
        if code:
            self._reason = code
            return "step-too-small"
        if not _is_finite(self._y, self._k[0]):
            self._reason = NON_FINITE
            return "non-finite"
        self._started = True
        if self._dt is not None:
            self.h = self._dt
        elif self._first is not None:
            self.h = min(self._first, self._max_step)
        else:
            self.h = self._guess()
        self._monitor.update(self.t, self._y, self._k[0])
        return "running"

    def _guess(self) -> float:
        """Return the first step size; the probe stays within the interval."""
        span = abs(self.t1 - self.t)
        d0, d1 = self._norm(self._y), self._norm(self._k[0])
        probe = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        probe = min(probe, 0.5 * span, self._max_step)
        if not probe > 0.0:
            return probe
        there, slope = self._y + self._direction * probe * self._k[0], self._k[1]
        if self._evaluate(self.t + self._direction * probe, there, slope) or not _is_finite(there, slope):
            return probe
        d2 = self._norm(slope - self._k[0]) / probe
        worst = max(d1, d2)
        h = max(1e-6, 1e-3 * probe) if worst <= 1e-15 else (0.01 / worst) ** self._exponent
        return min(h, 100.0 * probe, self._max_step)

    def _step(self, dense: Array | None) -> str:
        """Take one step, however often it has to be halved."""
        refused = False
        while True:
            least = 10.0 * abs(math.nextafter(self.t, self._direction * math.inf) - self.t)
            t_new = self._target(least)
            h = t_new - self.t
            code, y_new, error = self._attempt(t_new, h)
            if code == 0 and error <= 1.0:
                break
            self.rejected += 1
            self._reason = code
            if self._dt is not None or abs(h) <= least:
                return "non-finite" if code == NON_FINITE else "step-too-small"
            shrink = 0.5 if code else max(_SHRINK, _SAFETY * error**-self._exponent)
            self.h = max(least, abs(h) * shrink)
            refused = True
        if dense is not None:
            self._dense(h, y_new, dense)
        return self._accept(t_new, h, y_new, error, refused)

    def _target(self, least: float) -> float:
        left = abs(self.t1 - self.t)
        if self._dt is not None:
            if left <= self._dt * (1.0 + 1e-9):
                return self.t1
            return self.t0 + self._direction * (self.accepted + 1) * self._dt
        self.h = max(min(self.h, self._max_step), least)
        if left <= self.h * 1.0000001:
            return self.t1
        return self.t + self._direction * (0.5 * left if left < 2.0 * self.h else self.h)

    def _attempt(self, t_new: float, h: float) -> tuple[int, Array, float]:
        """Return status, new state and weighted error of one step."""
        table, k = self._table, self._k
        for i in range(1, self._last):
            t = t_new if table.c[i] == 1.0 else self.t + table.c[i] * h
            code = self._evaluate(t, self._y + h * _combine(table.a[i], k), k[i])
            if code:
                return code, self._y, 0.0
        y_new = self._retracted(self._y + h * _combine(table.b, k))
        if not _is_finite(y_new):
            return NON_FINITE, self._y, 0.0
        early = self._last in table.error
        error = 0.0
        if not early and self._dt is None:
            error = self._error(h, y_new)
            if not error <= 1.0:
                return 0, y_new, error
        code = self._evaluate(t_new, y_new, k[self._last])
        if code == 0 and not _is_finite(y_new, k[self._last]):
            code = NON_FINITE
        if code == 0 and early and self._dt is None:
            error = self._error(h, y_new)
        return code, y_new, error

    def _retracted(self, y: Array) -> Array:
        if not self._sphere:
            return y
        rows = y.reshape(-1, self._sphere)
        return np.asarray(rows / np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))).reshape(-1)

    def _error(self, h: float, y_new: Array) -> float:
        scale = self._atol + self._rtol * np.maximum(np.abs(self._y), np.abs(y_new)) + 1e-300
        high = float(np.sum((_combine(self._table.error, self._k) / scale) ** 2))
        if high == 0.0:
            return 0.0
        if not self._table.error_low:
            return abs(h) * math.sqrt(high / y_new.size)
        low = float(np.sum((_combine(self._table.error_low, self._k) / scale) ** 2))
        return abs(h) * high / math.sqrt((high + 0.01 * low) * y_new.size)

    def _dense(self, h: float, y_new: Array, out: Array) -> None:
        """Write the coefficients of the dense output from ``t`` to ``t + h``."""
        table, k = self._table, self._k
        out[0] = y_new - self._y
        out[1] = h * k[0] - out[0]
        out[2] = out[0] - h * k[self._last] - out[1]
        out[3:] = 0.0
        for i, (node, row) in enumerate(zip(table.dense_c, table.dense_a, strict=True), start=self._last + 1):
            stage = self._y + h * _combine(row, k)
            if self._evaluate(self.t + node * h, stage, k[i]) or not _is_finite(stage, k[i]):
                return  # the cubic part alone: an extra stage left the domain, the step itself did not
        for i, row in enumerate(table.dense):
            out[3 + i] = h * _combine(row, k)

    def _accept(self, t_new: float, h: float, y_new: Array, error: float, refused: bool) -> str:
        self.t, self._y = t_new, y_new
        self._k[0] = self._k[self._last]
        self.accepted += 1
        self._reason = 0
        if self._dt is None:
            growth = min(_GROW, max(_SHRINK, _SAFETY * error**-self._exponent)) if error > 0.0 else _GROW
            self.h = abs(h) * (min(1.0, growth) if refused else growth)
        if self._monitor.update(self.t, self._y, self._k[0]):
            return "blow-up"
        return "finished" if self.t == self.t1 else "running"

    def _norm(self, x: Array) -> float:
        scaled = x / (self._atol + self._rtol * np.abs(self._y) + 1e-300)
        return math.sqrt(float(np.sum(scaled * scaled)) / x.size)


def _combine(row: Row, k: Array) -> Array:
    total = np.zeros(k.shape[1])
    for index, weight in row.items():
        total += weight * k[index]
    return total


def _is_finite(y: Array, slope: Array | None = None) -> bool:
    """Tell whether y, ``|y|²`` and the slope are finite: the covariance of a factor is its square."""
    return math.isfinite(float(np.sum(y * y))) and (slope is None or bool(np.isfinite(slope).all()))
