"""What a run leaves: times, states, and how it ended."""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symflow.checking import Array, real_array
from symflow.errors import InputError
from symflow.integrate.archive import read_archive, write_archive
from symflow.integrate.backends import covariances
from symflow.integrate.dense import Dense
from symflow.integrate.layout import Layout

#: Every way in which a run can end.
STATUSES = ("finished", "event", "blow-up", "step-too-small", "non-finite", "stopped")
_SUCCESS = ("finished", "event")
_HEADER = ("model", "method", "status", "message", "t_star", "nfev")
_ELSEWHERE = dict.fromkeys(("mean", "cov", "factor"), "; a run of tokens has x") | {
    "x": "; a run of a Gaussian law has mean and cov"
}


class Trajectory(ABC):
    """What every run leaves; of a Gaussian law it has ``mean`` and ``cov``, of tokens ``x``.

    Attributes
    ----------
    t : ndarray, (T,)
        Times: ``t_eval``, or every accepted step. A run that ends early has its last point as last row.
    status : str
        ``"finished"``, ``"event"``, ``"blow-up"``, ``"step-too-small"``, ``"non-finite"`` or ``"stopped"``.
    message : str
        The status in a sentence.
    t_star : float or None
        Time of the singularity where the status is ``"blow-up"``.
    nfev : int
        Evaluations of the right-hand side.
    t_events : tuple of ndarray
        Zeros of each event.
    model, method : str
        What was integrated, and how.
    """

    t: Array
    status: str
    message: str
    t_star: float | None
    nfev: int
    t_events: tuple[Array, ...]
    model: str
    method: str
    _dense: Dense | None
    _layout: Layout | None

    #: Arrays that are shown, that make up a run, and at its events; texts of one kind; which array tells it.
    _shown: ClassVar[tuple[str, ...]] = ()
    _arrays: ClassVar[tuple[str, ...]] = ()
    _at_events: ClassVar[tuple[str, ...]] = ()
    _named: ClassVar[tuple[str, ...]] = ()
    _required: ClassVar[str] = ""

    if TYPE_CHECKING:  # what only one kind of run has; asking the other kind says so

        @property
        def mean(self) -> Array: ...
        @property
        def cov(self) -> Array: ...
        @property
        def factor(self) -> Array: ...
        @property
        def mean_events(self) -> tuple[Array, ...]: ...
        @property
        def cov_events(self) -> tuple[Array, ...]: ...
        @property
        def x(self) -> Array: ...
        @property
        def x_events(self) -> tuple[Array, ...]: ...
    else:

        def __getattr__(self, name: str) -> Any:
            hint = _ELSEWHERE.get(name, "")
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")

    @property
    def success(self) -> bool:
        """Whether the run reached the end of its interval or a terminal event."""
        return self.status in _SUCCESS

    def sol(self, t: Any) -> Any:
        """Return the solution at any time of the run.

        Parameters
        ----------
        t : float or array_like, (m,)
            Times between the first and the last one of the run.

        Returns
        -------
        tuple of ndarray, or ndarray
            Mean (d,) or (m, d) and covariance (d, d) or (m, d, d); of tokens (n, d) or (m, n, d).

        Raises
        ------
        InputError
            If the run was made without ``dense_output=True``, or a time lies outside of it.
        """
        if self._layout is None or self._dense is None:
            raise InputError("this trajectory has no dense output; run solve(..., dense_output=True)")
        times = real_array(t, "t")
        flat = times.reshape(-1)
        nodes = self._dense.nodes
        low, high = min(nodes[0], nodes[-1]), max(nodes[0], nodes[-1])
        outside = np.flatnonzero((flat < low) | (flat > high))
        if outside.size:
            raise InputError(
                f"t = {float(flat[outside[0]])!r} lies outside of the run, [{low:.10g}, {high:.10g}]"
            )
        seen = self._layout.seen(self._dense.evaluate(flat))
        found = tuple(part.reshape(*times.shape, *part.shape[1:]) for part in seen)
        return found if len(found) > 1 else found[0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, texts and lists, ready for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("t", *self._shown)}
        return {
            **self._header(),
            "success": self.success,
            **arrays,
            "t_events": [times.tolist() for times in self.t_events],
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an ``.npz`` file (everything but the dense output) and return its path.

        Raises
        ------
        InputError
            If the folder does not exist.

        Examples
        --------
        >>> import tempfile
        >>> run = GaussianTrajectory(
        ...     np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2, 1)), "finished", "reached t = 0"
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Trajectory.load(run.save(Path(folder, "run.npz")))
        GaussianTrajectory('finished', d=2, 1 time in [0, 0])
        """
        events = {
            f"{name}_{i}": values
            for name in ("t_events", *self._at_events)
            for i, values in enumerate(getattr(self, name))
        }
        header = {"events": len(self.t_events), **self._header()}
        arrays = {name: getattr(self, name) for name in dict.fromkeys(("t", *self._shown, *self._arrays))}
        return write_archive(path, header, arrays | events)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read what :meth:`save` wrote.

        Raises
        ------
        InputError
            If the file is not a saved trajectory.
        """
        header, stored = read_archive(path, "trajectory")
        importlib.import_module("symflow.integrate.tokens.trajectory")
        kinds = [kind for kind in Trajectory.__subclasses__() if kind._required in stored]
        if "events" not in header or not kinds:
            raise InputError(
                f"{os.fspath(path)} is not a saved trajectory; for an ensemble use Ensemble.load"
            )
        kind = kinds[0]
        count = header.pop("events")
        events = {
            name: tuple(stored[f"{name}_{i}"] for i in range(count))
            for name in ("t_events", *kind._at_events)
        }
        arrays = {name: stored[name] for name in ("t", *kind._arrays)}
        fields: dict[str, Any] = {**arrays, **events, **header}
        return kind(**fields)

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset`` with time as the first coordinate.

        Raises
        ------
        ImportError
            If xarray is not installed.
        """
        try:
            xarray = importlib.import_module("xarray")
        except ImportError as error:
            raise ImportError("to_xarray() needs xarray; install it with: pip install xarray") from error
        attributes = {name: getattr(self, name) for name in ("model", "method", "status", "message")}
        return xarray.Dataset(self._variables(), coords={"time": self.t}, attrs=attributes)

    def _header(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*_HEADER, *self._named)}

    @abstractmethod
    def _variables(self) -> dict[str, tuple[tuple[str, ...], Array]]:
        """Return arrays with the names of their axes."""

    @abstractmethod
    def _sizes(self) -> str:
        """Return the sizes in words."""

    def __repr__(self) -> str:
        times = f"{self.t.size} time{'' if self.t.size == 1 else 's'}"
        span = f" in [{self.t[0]:.6g}, {self.t[-1]:.6g}]" if self.t.size else ""
        star = "" if self.t_star is None else f", t_star={self.t_star:.10g}"
        return f"{type(self).__name__}({self.status!r}, {self._sizes()}, {times}{span}{star})"


@dataclass(frozen=True, eq=False, repr=False)
class GaussianTrajectory(Trajectory):
    """Mean and covariance along a run; time is the first axis, positions of causal attention the second.

    Attributes
    ----------
    mean : ndarray, (T, d)
    factor : ndarray, (T, d, r)
        F with ``Σ = FFᵀ``; r is the rank of the initial covariance, which the flow keeps.
    mean_events, cov_events : tuple of ndarray
        The moments at the zeros of each event.
    t, status, message, t_star, nfev, t_events, model, method
        As for every :class:`Trajectory`.
    """

    t: Array
    mean: Array
    factor: Array
    status: str
    message: str
    t_star: float | None = None
    nfev: int = 0
    t_events: tuple[Array, ...] = ()
    mean_events: tuple[Array, ...] = ()
    cov_events: tuple[Array, ...] = ()
    model: str = ""
    method: str = ""
    _dense: Dense | None = field(default=None)
    _layout: Layout | None = field(default=None)

    _arrays: ClassVar[tuple[str, ...]] = ("mean", "factor")
    _shown: ClassVar[tuple[str, ...]] = ("mean", "cov")
    _at_events: ClassVar[tuple[str, ...]] = ("mean_events", "cov_events")
    _required: ClassVar[str] = "factor"

    @cached_property
    def cov(self) -> Array:
        """Covariances (T, d, d): FFᵀ, symmetric to the last bit and positive semidefinite."""
        return covariances(self.factor)

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.mean.shape[-1])

    def energy(self, which: Any) -> Array:
        """Return an energy of the law at every time, (T,), from its closed form.

        Parameters
        ----------
        which : energy of :mod:`symflow.energies`, or number
            E.g. ``energies.SelfTransport(A, epsilon)``; a number stands for the interaction energy with that
            beta.

        Raises
        ------
        InputError
            If the energy has no closed form or is infinite at some time, or the law depends on positions.
        """
        from symflow.energies import energy_of_laws

        if self.mean.ndim != 2:
            raise InputError("the law depends on positions; take the energy of one position at a time")
        return energy_of_laws(which, self.mean, self.cov)

    def _header(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*_HEADER, *self._named)}

    def _variables(self) -> dict[str, tuple[tuple[str, ...], Array]]:
        leading = ("time",) if self.mean.ndim == 2 else ("time", "position")
        return {"mean": ((*leading, "row"), self.mean), "cov": ((*leading, "row", "column"), self.cov)}

    def _sizes(self) -> str:
        return f"d={self.dim}"
