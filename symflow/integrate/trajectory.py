"""What a run leaves: times, means, covariances, and how it ended."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from symflow.errors import InputError
from symflow.integrate.archive import read_archive, write_archive
from symflow.integrate.backends import covariances
from symflow.integrate.checking import Array, real_array
from symflow.integrate.dense import Dense
from symflow.integrate.layout import Layout

#: Every way in which a run can end.
STATUSES = ("finished", "event", "blow-up", "step-too-small", "non-finite", "stopped")
_SUCCESS = ("finished", "event")


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Mean and covariance along a run; time is the first axis, positions of causal attention the second.

    Attributes
    ----------
    t : ndarray, (T,)
        Times: ``t_eval``, or every accepted step. A run that ends early has its last point as last row.
    mean : ndarray, (T, d)
    factor : ndarray, (T, d, r)
        F with ``Σ = FFᵀ``; r is the rank of the initial covariance, which the flow keeps.
    status : str
        ``"finished"``, ``"event"``, ``"blow-up"``, ``"step-too-small"``, ``"non-finite"`` or ``"stopped"``.
    message : str
        The status in a sentence.
    t_star : float or None
        Time of the singularity where the status is ``"blow-up"``.
    nfev : int
        Evaluations of the right-hand side.
    t_events, mean_events, cov_events : tuple of ndarray
        Zeros of each event and the moments there.
    model, method : str
        What was integrated, and how.
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

    @cached_property
    def cov(self) -> Array:
        """Covariances (T, d, d): FFᵀ, symmetric to the last bit and positive semidefinite."""
        return covariances(self.factor)

    @property
    def success(self) -> bool:
        """Whether the run reached the end of its interval or a terminal event."""
        return self.status in _SUCCESS

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.mean.shape[-1])

    def sol(self, t: Any) -> tuple[Array, Array]:
        """Return mean and covariance at any time of the run.

        Parameters
        ----------
        t : float or array_like, (m,)
            Times between the first and the last one of the run.

        Returns
        -------
        mean : ndarray, (d,) or (m, d)
        cov : ndarray, (d, d) or (m, d, d)

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
        means, factors = self._layout.factors(self._dense.evaluate(flat))
        covs = covariances(factors)
        return means.reshape(*times.shape, *means.shape[1:]), covs.reshape(*times.shape, *covs.shape[1:])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, texts and lists, ready for JSON."""
        return {
            "model": self.model,
            "method": self.method,
            "status": self.status,
            "success": self.success,
            "message": self.message,
            "t_star": self.t_star,
            "nfev": self.nfev,
            "t": self.t.tolist(),
            "mean": self.mean.tolist(),
            "cov": self.cov.tolist(),
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
        >>> run = Trajectory(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2, 1)), "finished", "reached t = 0")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Trajectory.load(run.save(Path(folder, "run.npz")))
        Trajectory('finished', d=2, 1 time in [0, 0])
        """
        scalars = {
            name: getattr(self, name) for name in ("status", "message", "t_star", "nfev", "model", "method")
        }
        events = {
            f"{name}_{i}": values
            for name in ("t_events", "mean_events", "cov_events")
            for i, values in enumerate(getattr(self, name))
        }
        header = {"events": len(self.t_events), **scalars}
        arrays = {"t": self.t, "mean": self.mean, "cov": self.cov, "factor": self.factor}
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
        if "events" not in header:
            raise InputError(
                f"{os.fspath(path)} is not a saved trajectory; for an ensemble use Ensemble.load"
            )
        count = header.pop("events")
        events = {
            name: tuple(stored[f"{name}_{i}"] for i in range(count))
            for name in ("t_events", "mean_events", "cov_events")
        }
        arrays = {name: stored[name] for name in ("t", "mean", "factor")}
        fields: dict[str, Any] = {**arrays, **events, **header}
        return cls(**fields)

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset`` with coordinates ``time``, ``row`` and ``column``.

        Raises
        ------
        ImportError
            If xarray is not installed.
        """
        try:
            xarray = importlib.import_module("xarray")
        except ImportError as error:
            raise ImportError("to_xarray() needs xarray; install it with: pip install xarray") from error
        leading = ("time",) if self.mean.ndim == 2 else ("time", "position")
        variables = {"mean": ((*leading, "row"), self.mean), "cov": ((*leading, "row", "column"), self.cov)}
        attributes = {
            "model": self.model,
            "method": self.method,
            "status": self.status,
            "message": self.message,
        }
        return xarray.Dataset(variables, coords={"time": self.t}, attrs=attributes)

    def __repr__(self) -> str:
        times = f"{self.t.size} time{'' if self.t.size == 1 else 's'}"
        span = f" in [{self.t[0]:.6g}, {self.t[-1]:.6g}]" if self.t.size else ""
        star = "" if self.t_star is None else f", t_star={self.t_star:.10g}"
        return f"Trajectory({self.status!r}, d={self.dim}, {times}{span}{star})"
