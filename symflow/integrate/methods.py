"""Drivers: what advances a run by a chunk of steps, whatever the method and the backend."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from symflow.integrate.backends import runtime
from symflow.integrate.checking import Array
from symflow.integrate.dense import Dense, PieceDense, TableauDense
from symflow.integrate.growth import GrowthMonitor
from symflow.integrate.options import Options
from symflow.integrate.python_stepper import PythonStepper

_CHUNK_STEPS = 256
_CHUNK_BYTES = 1 << 26


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some steps of a run.

    Attributes
    ----------
    status : str
        ``"running"`` or how the run ended.
    times : ndarray, (m + 1,)
        Where the chunk starts, then every accepted step.
    states : ndarray, (m + 1, n)
    dense : Dense or None
        The solution in between, where it was asked for and there is a step.
    """

    status: str
    times: Array
    states: Array
    dense: Dense | None


class Driver(Protocol):
    """A run that is under way."""

    @property
    def nfev(self) -> int:
        """Evaluations of the right-hand side so far."""
        ...

    @property
    def singularity(self) -> float:
        """The extrapolated time of blow-up."""
        ...

    @property
    def reason(self) -> str:
        """Why the last refused step was refused."""
        ...

    def advance(self, seconds: float) -> Chunk:
        """Take steps for about ``seconds``."""
        ...


class TableauDriver:
    """An explicit Runge-Kutta run; compiled steps where the runtime is there.

    Parameters
    ----------
    call : Bound or callable
        ``f(t, y, dy) -> status``.
    y0 : ndarray, (n,)
    atol : ndarray, (n,)
    options : Options
    """

    def __init__(self, call: Any, y0: Array, atol: Array, options: Options) -> None:
        settings: dict[str, Any] = {
            "rtol": options.rtol,
            "atol": atol,
            "max_step": options.max_step,
            "first_step": options.first_step,
            "dt": options.dt,
        }
        compiled = runtime()
        if compiled is None:
            self._stepper: Any = PythonStepper(call, options.method, options.t0, y0, options.t1, **settings)
        else:
            bound = (
                call if isinstance(call, (compiled.Call, compiled.PyCall)) else compiled.PyCall(call, y0.size)
            )
            self._stepper = compiled.Stepper(bound, options.method, options.t0, y0, options.t1, **settings)
        self._n = y0.size
        self._rows = self._stepper.dense_rows if options.needs_dense else 0
        limit = 1 if options.callback is not None else _CHUNK_STEPS
        self._capacity = max(1, min(limit, _CHUNK_BYTES // (8 * self._n * (1 + self._rows))))

    @property
    def nfev(self) -> int:
        """Evaluations of the right-hand side so far."""
        return int(self._stepper.nfev)

    @property
    def singularity(self) -> float:
        """The extrapolated time of blow-up."""
        return float(self._stepper.singularity)

    @property
    def reason(self) -> str:
        """Why the last refused step was refused."""
        return str(self._stepper.reason)

    def advance(self, seconds: float) -> Chunk:
        """Take steps for about ``seconds``."""
        times, states = np.empty(self._capacity + 1), np.empty((self._capacity + 1, self._n))
        coefficients = np.empty((self._capacity, self._rows, self._n)) if self._rows else None
        with np.errstate(all="ignore"):  # what overflows is refused as a step
            status, taken = self._stepper.advance(times, states, coefficients, self._capacity, seconds)
        times, states = times[: taken + 1].copy(), states[: taken + 1].copy()
        dense = None
        if coefficients is not None and taken:
            dense = TableauDense(times, states, coefficients[:taken].copy())
        return Chunk(status, times, states, dense)


class ImplicitDriver:
    """A stiff run through ``scipy.integrate.Radau`` or ``BDF``, with the same watch over blow-up.

    Parameters
    ----------
    rhs : callable
        ``f(t, y) -> dy``.
    jacobian : callable or None
        ``J(t, y)``, (n, n).
    y0, atol : ndarray, (n,)
    options : Options
    """

    def __init__(
        self,
        rhs: Callable[[float, Array], Array],
        jacobian: Callable[[float, Array], Array] | None,
        y0: Array,
        atol: Array,
        options: Options,
    ) -> None:
        from scipy.integrate import BDF, Radau

        method = {"radau": Radau, "bdf": BDF}[options.method]
        limits = {"max_step": options.max_step or np.inf, "first_step": options.first_step}
        self._rhs, self._options = rhs, options
        self._broken = False
        with np.errstate(all="ignore"):
            self._solver = method(
                self._guarded,
                options.t0,
                y0,
                options.t1,
                rtol=options.rtol,
                atol=atol,
                jac=jacobian,
                **limits,
            )
        self._monitor = GrowthMonitor(options.t0, options.direction)
        self.reason = "accuracy"

    def _guarded(self, t: float, y: Array) -> Array:
        """Evaluate, and remember whether the last slope was finite: that is why a step fails."""
        slope = self._rhs(t, y)
        self._broken = not bool(np.isfinite(slope).all())
        return slope

    @property
    def nfev(self) -> int:
        """Evaluations of the right-hand side so far."""
        return int(self._solver.nfev)

    @property
    def singularity(self) -> float:
        """The extrapolated time of blow-up."""
        return self._monitor.singularity

    def advance(self, seconds: float) -> Chunk:
        """Take steps for about ``seconds``."""
        deadline = time.perf_counter() + seconds
        solver = self._solver
        times, states, pieces = [solver.t], [solver.y.copy()], []
        status = "finished" if solver.t == self._options.t1 else "running"
        while status == "running" and len(times) <= _CHUNK_STEPS:
            with np.errstate(all="ignore"):
                solver.step()
            status = self._judge()
            if status in ("step-too-small", "non-finite"):
                break
            times.append(solver.t)
            states.append(solver.y.copy())
            pieces.append(solver.dense_output() if self._options.needs_dense else None)
            if time.perf_counter() > deadline or self._options.callback is not None:
                break
        nodes = np.array(times)
        dense = PieceDense(nodes, tuple(pieces)) if pieces and self._options.needs_dense else None
        return Chunk(status, nodes, np.array(states), dense)

    def _judge(self) -> str:
        """Return the status after a step of the solver."""
        solver = self._solver
        if solver.status == "failed":
            self.reason = "non-finite" if self._broken else "accuracy"
            return "non-finite" if self._broken else "step-too-small"
        slope = self._rhs(solver.t, solver.y)
        if not (np.isfinite(solver.y).all() and np.isfinite(slope).all()):
            self.reason = "non-finite"
            return "non-finite"
        if self._monitor.update(solver.t, solver.y, slope):
            return "blow-up"
        return "finished" if solver.status == "finished" else "running"
