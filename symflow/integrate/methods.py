"""Drivers: what advances a run by a chunk of steps, whatever the method and the backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from symflow.checking import Array
from symflow.integrate.backends import runtime
from symflow.integrate.dense import Dense, TableauDense
from symflow.integrate.options import Options
from symflow.integrate.python_stepper import PythonStepper
from symflow.integrate.taylor import PythonTaylorStepper

Inside = Callable[[float, Array], bool]

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
    """An explicit Runge-Kutta or Taylor run; compiled steps where the runtime is there.

    Parameters
    ----------
    call : Bound or callable
        ``f(t, y, dy) -> status``; for ``"taylor"`` what ``Kernel.series`` returns.
    y0 : ndarray, (n,)
    atol : ndarray, (n,)
    options : Options
    watch : int
        Where the covariance begins: the mean solves a linear equation and becomes infinite only with it.
    inside : callable or None
        Tells whether an accepted state lies in the domain of a right-hand side that does not see its edge.
    row : int
        Length of the rows of the covariance or its factor.
    sphere : int
        Length of the rows of the state that are retracted onto the unit sphere; 0: none.
    """

    def __init__(
        self,
        call: Any,
        y0: Array,
        atol: Array,
        options: Options,
        watch: int,
        inside: Inside | None = None,
        row: int = 1,
        sphere: int = 0,
    ) -> None:
        settings: dict[str, Any] = {"rtol": options.rtol, "atol": atol, "watch": watch}
        settings |= {"max_step": options.max_step, "first_step": options.first_step}
        self._powers = options.method == "taylor"
        self._stepper: Any = (
            _taylor(call, y0, options, row, settings)
            if self._powers
            else _tableau(call, y0, options, settings | {"sphere": sphere})
        )
        self._n, self._inside, self._left = y0.size, inside, False
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
        return "outside-domain" if self._left else str(self._stepper.reason)

    def advance(self, seconds: float) -> Chunk:
        """Take steps for about ``seconds``."""
        times, states = np.empty(self._capacity + 1), np.empty((self._capacity + 1, self._n))
        coefficients = np.empty((self._capacity, self._rows, self._n)) if self._rows else None
        with np.errstate(all="ignore"):  # what overflows is refused as a step
            status, taken = self._stepper.advance(times, states, coefficients, self._capacity, seconds)
        if self._inside is not None:
            status, taken = self._stopped_at_edge(status, times[: taken + 1], states)
        times, states = times[: taken + 1].copy(), states[: taken + 1].copy()
        dense = None
        if coefficients is not None and taken:
            dense = TableauDense(times, states, coefficients[:taken].copy(), self._powers)
        return Chunk(status, times, states, dense)

    def _stopped_at_edge(self, status: str, times: Array, states: Array) -> tuple[str, int]:
        """Return the status and the number of steps up to the last one inside the domain."""
        assert self._inside is not None
        for i, t in enumerate(times):
            if not self._inside(float(t), states[i]):
                self._left = True
                return "step-too-small", max(i - 1, 0)
        return status, times.size - 1


def _tableau(call: Any, y0: Array, options: Options, settings: dict[str, Any]) -> Any:
    """Return the stepper of a Runge-Kutta method."""
    settings = {**settings, "dt": options.dt}
    compiled = runtime()
    if compiled is None:
        return PythonStepper(call, options.method, options.t0, y0, options.t1, **settings)
    ready = (compiled.Call, compiled.PyCall, compiled.Scheduled)
    bound = call if isinstance(call, ready) else compiled.PyCall(call, y0.size)
    return compiled.Stepper(bound, options.method, options.t0, y0, options.t1, **settings)


def _taylor(call: Any, y0: Array, options: Options, row: int, settings: dict[str, Any]) -> Any:
    """Return the stepper of the Taylor method: the one in NumPy where the coefficients come from NumPy."""
    span = options.t0, y0, options.t1
    compiled = runtime()
    if compiled is not None and isinstance(call, (compiled.Call, compiled.Series)):
        return compiled.TaylorStepper(call, *span, row=row, **settings)
    return PythonTaylorStepper(call, call.order, *span, row=row, **settings)
