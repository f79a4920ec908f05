"""Stiff runs through SciPy's implicit methods, fed with the compiled right-hand side and Jacobian."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.errors import InputError, NormaliserDiverges
from symflow.integrate.dense import PieceDense
from symflow.integrate.growth import GrowthMonitor
from symflow.integrate.methods import Chunk
from symflow.integrate.options import Options

_CHUNK_STEPS = 64
_LEFT = 1e-7  # these methods cannot follow a singularity as closely as explicit ones

_INDEFINITE = 1e-3  # share of Σ's largest eigenvalue by which one may be negative where Σ diverges

_LARGEST = float(np.finfo(float).max) / 4.0  # of a state whose symmetric part and factor are finite too

Rhs = Callable[[float, Array], Array]
Inside = Callable[[float, Array], bool]


class ImplicitDriver:
    """A run of ``scipy.integrate.Radau`` or ``BDF``, watched for blow-up like the explicit methods.

    Parameters
    ----------
    rhs : callable
        ``f(t, y) -> dy``; raises NormaliserDiverges where it is not defined.
    jacobian : callable or None
        ``J(t, y)``, (n, n); None lets SciPy take differences.
    y0, atol : ndarray, (n,)
    options : Options
    watch : int
        Where the covariance begins: d, for the state is (α, Σ); 0 where the state has none.
    inside : callable or None
        Tells whether a state lies in the domain of the right-hand side; None where every state does.

    Raises
    ------
    NormaliserDiverges
        If the right-hand side is not defined at the start.
    """

    def __init__(
        self,
        rhs: Rhs,
        jacobian: Rhs | None,
        y0: Array,
        atol: Array,
        options: Options,
        watch: int,
        inside: Inside | None = None,
    ) -> None:
        self._rhs, self._options, self._y0, self._inside = rhs, options, y0, inside
        self._dim = watch
        self._trouble = "accuracy"
        self.reason = "accuracy"
        self._monitor = GrowthMonitor(options.t0, options.t1, left=_LEFT, watch=watch)
        slope = rhs(options.t0, y0)
        # SciPy would search for a first step without end where the first slope is not finite
        self._solver: Any = self._make(jacobian, atol) if np.isfinite(slope).all() else None
        self._monitor.update(options.t0, y0, slope)

    def _make(self, jacobian: Rhs | None, atol: Array) -> Any:
        from scipy.integrate import BDF, Radau

        method = {"radau": Radau, "bdf": BDF}[self._options.method]
        options = self._options
        limits = {"max_step": options.max_step or np.inf, "first_step": options.first_step}
        tolerances = {"rtol": options.rtol, "atol": atol}
        with np.errstate(all="ignore"):
            return method(
                self._guarded, options.t0, self._y0, options.t1, jac=jacobian, **tolerances, **limits
            )

    def _guarded(self, t: float, y: Array) -> Array:
        """Evaluate; where that is impossible, NaN makes the solver shorten its step."""
        try:
            slope = self._rhs(t, y)
        except NormaliserDiverges:
            self._trouble = "outside-domain"
            return np.full_like(y, np.nan)
        self._trouble = "accuracy" if np.isfinite(slope).all() else "non-finite"
        return slope

    @property
    def nfev(self) -> int:
        """Evaluations of the right-hand side so far."""
        return 1 if self._solver is None else int(self._solver.nfev)

    @property
    def singularity(self) -> float:
        """The extrapolated time of blow-up."""
        return self._monitor.singularity

    def advance(self, seconds: float) -> Chunk:
        """Take steps for about ``seconds``."""
        options, solver = self._options, self._solver
        if solver is None or options.t0 == options.t1:
            self.reason = "non-finite"
            status = "non-finite" if solver is None else "finished"
            return Chunk(status, np.array([options.t0]), self._y0[None, :], None)
        deadline = time.perf_counter() + seconds
        times, states, pieces = [solver.t], [solver.y.copy()], []
        status = "running"
        while status == "running" and len(times) <= _CHUNK_STEPS:
            with np.errstate(all="ignore"):
                status = self._step()
            if status in ("step-too-small", "non-finite"):
                break
            times.append(solver.t)
            states.append(solver.y.copy())
            pieces.append(solver.dense_output() if options.needs_dense else None)
            if time.perf_counter() > deadline or options.callback is not None:
                break
        nodes = np.array(times)
        dense = PieceDense(nodes, tuple(pieces)) if pieces and options.needs_dense else None
        return Chunk(status, nodes, np.array(states), dense)

    def _step(self) -> str:
        """Take a step of the solver and return the status after it."""
        try:
            self._solver.step()
        except InputError:
            raise
        except ValueError:  # SciPy's linear algebra refuses what has overflowed in the Newton iteration
            self.reason = "non-finite"
            return "non-finite"
        return self._judge()

    def _judge(self) -> str:
        """Return the status after a step of the solver."""
        solver = self._solver
        if solver.status == "failed":
            self.reason = self._trouble
            return "non-finite" if self._trouble == "non-finite" else "step-too-small"
        if self._inside is not None and not self._inside(solver.t, solver.y):
            self.reason = "outside-domain"
            return "step-too-small"
        slope = self._guarded(solver.t, solver.y)
        if self._trouble == "outside-domain":
            self.reason = self._trouble
            return "step-too-small"
        if not (np.abs(solver.y).max() < _LARGEST and np.isfinite(slope).all()):
            return self._diverging("non-finite")
        if self._monitor.update(solver.t, solver.y, slope):
            return self._diverging("blow-up")
        return "finished" if solver.status == "finished" else "running"

    def _diverging(self, status: str) -> str:
        """Return the status of a state that diverges: that is the flow's doing only where Σ ⪰ 0.

        A negative eigenvalue, which an error of the size of the tolerance may produce, diverges by itself.
        """
        if self._dim == 0:
            self.reason = status
            return status
        cov = self._solver.y[self._dim :].reshape(self._dim, self._dim)
        with np.errstate(all="ignore"):
            scaled = cov / np.abs(cov).max()
        if np.isfinite(scaled).all():
            values = np.linalg.eigvalsh(scaled + scaled.T)
            if values[0] < -_INDEFINITE * values[-1]:
                self.reason = "indefinite"
                return "step-too-small"
        self.reason = status
        return status
