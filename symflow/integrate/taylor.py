"""Taylor steps in NumPy: the compiled ``TaylorStepper`` where it was not built, and its witness in tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.codegen.kernel import Kernel
from symflow.codegen.taylor.recursion import order_for
from symflow.errors import InputError
from symflow.integrate.growth import GrowthMonitor
from symflow.integrate.problem import Problem
from symflow.integrate.python_stepper import NON_FINITE, PythonStepper


def series_call(kernel: Kernel, problem: Problem, entry: str, dims: Any, rtol: float) -> Any:
    """Return what writes the Taylor coefficients of a problem at a state, of the order that suits ``rtol``.

    Raises
    ------
    InputError
        If a parameter depends on time: the recurrences are those of an autonomous system.
    """
    if problem.schedule:
        name = next(iter(problem.schedule))
        raise InputError(
            f"method 'taylor' takes parameters that are constant in time, {name!r} is not; use 'dop853'"
        )
    return kernel.series(entry, dims, problem.kernel_values, order_for(rtol))


class PythonTaylorStepper(PythonStepper):
    """One run of an autonomous ``y' = f(y)`` by its Taylor series; see ``symflow_ext.taylor_stepper``.

    Parameters
    ----------
    call : callable
        ``f(t, y, rows) -> status`` writes the coefficients 0, …, order into ``rows`` (order + 1, n).
    order : int
    t0, y0, t1, rtol, atol, max_step, first_step, watch
        As for :class:`PythonStepper`.
    row : int
        From ``watch`` on the components come in rows of this length with one magnitude each.
    """

    def __init__(
        self,
        call: Callable[[float, Array, Array], int],
        order: int,
        t0: float,
        y0: Array,
        t1: float,
        *,
        rtol: float,
        atol: Array,
        max_step: float | None = None,
        first_step: float | None = None,
        watch: int = 0,
        row: int = 1,
    ) -> None:
        self._call, self._order, self._row, self._watched = call, order, row, watch
        self.t, self.t0, self.t1 = t0, t0, t1
        self._direction = 1.0 if t1 >= t0 else -1.0
        self._rtol, self._atol = rtol, atol
        self._max_step = math.inf if max_step is None else max_step
        self._first, self._dt = first_step, None
        self._y = y0.copy()
        self._rows = np.zeros((order + 1, y0.size))
        self._monitor = GrowthMonitor(t0, t1, watch=watch)
        self.h = 0.0
        self.nfev = self.accepted = self.rejected = 0
        self._reason = 0
        self._started = False

    @property
    def dense_rows(self) -> int:
        """How many coefficient vectors the dense output of a step has."""
        return self._order

    def _expand(self, y: Array) -> tuple[int, Array]:
        """Return status and coefficients at a state."""
        self.nfev += 1
        rows = np.empty_like(self._rows)
        code = int(self._call(self.t, y, rows) or 0)
        if code == 0 and not (math.isfinite(float(np.sum(y * y))) and np.isfinite(rows[1]).all()):
            code = NON_FINITE
        return code, rows

    def _start(self) -> str:
        code, self._rows = self._expand(self._y)
        self._reason = code
        if code:
            return "non-finite" if code == NON_FINITE else "step-too-small"
        self._started = True
        self.h = self._horizon() if self._first is None else min(self._horizon(), self._first)
        self._monitor.update(self.t, self._y, self._rows[1])
        return "running"

    def _step(self, dense: Array | None) -> str:
        """Take one step, halved until the series at its end exists and the defect is within the tolerance."""
        before = math.inf
        while True:
            least = 10.0 * abs(math.nextafter(self.t, self._direction * math.inf) - self.t)
            if self.h < least < abs(self.t1 - self.t):  # beyond its radius a series says nothing
                return "step-too-small"
            t_new = self._target(least)
            h = t_new - self.t
            y_new = self._sum(h)
            code, rows = self._expand(y_new) if np.isfinite(y_new).all() else (NON_FINITE, self._rows)
            if code == 0:
                defect = self._defect(h, y_new, rows[1])
                if defect <= 1.0 or defect > 0.5 * before:  # what halving leaves as it was is rounding
                    break
                before = defect
            self.rejected += 1
            self._reason = code
            if abs(h) <= least:
                return "non-finite" if code == NON_FINITE else "step-too-small"
            self.h = max(least, 0.5 * abs(h))
        if dense is not None:
            dense[:] = self._rows[1:] * (h ** np.arange(1, self._order + 1))[:, None]
        self.t, self._y, self._rows = t_new, y_new, rows
        self.accepted += 1
        self._reason = 0
        self.h = self._horizon()
        if self._monitor.update(self.t, self._y, self._rows[1]):
            return "blow-up"
        return "finished" if self.t == self.t1 else "running"

    def _sum(self, h: float) -> Array:
        total: Array = self._rows[-1].copy()
        for row in self._rows[-2::-1]:
            total *= h
            total += row
        return total

    def _defect(self, h: float, y_new: Array, slope: Array) -> float:
        """Return the first term that a step leaves out, in units of the tolerance."""
        k = np.arange(1, self._order + 1)
        defect = (k * h ** (k - 1)) @ self._rows[1:] - slope
        scale = self._scale(np.maximum(np.abs(self._y), np.abs(y_new)))
        return float(np.max(np.abs(defect) / scale)) * abs(h) / (self._order + 1)

    def _scale(self, size: Array) -> Array:
        """Return the tolerance of every component, from its magnitude or that of its row."""
        rows = size[self._watched :].reshape(-1, self._row)
        size[self._watched :] = np.repeat(rows.max(axis=1, initial=0.0), self._row)
        return self._atol + self._rtol * size + 1e-300

    def _horizon(self) -> float:
        """Return the step for which the last two terms are within the tolerance."""
        scale = self._scale(np.abs(self._y))
        found = []
        for k in (self._order, self._order - 1):
            found.append(_radius(float(np.max(np.abs(self._rows[k]) / scale)), k))
        return min(found)


def _radius(size: float, k: int) -> float:
    """Return the h with ``h^k size = 1``; a coefficient that has overflowed allows no step."""
    if size == 0.0:
        return math.inf
    return (1.0 / size) ** (1.0 / k) if size < math.inf else 0.0
