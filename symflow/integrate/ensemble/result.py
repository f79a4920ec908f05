"""What an ensemble leaves: moments of every member at shared times, and how each ended."""

from __future__ import annotations

import os
from dataclasses import InitVar, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.integrate.archive import read_archive, write_archive
from symflow.integrate.backends import covariances
from symflow.integrate.checking import Array
from symflow.integrate.trajectory import GaussianTrajectory

_TEXTS = ("message", "model", "method", "backend")


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """Means and covariances of B members at T times: member first, then time.

    Attributes
    ----------
    t : ndarray, (T,)
        The times of all members.
    mean : ndarray, (B, T, d)
        NaN at times that a member did not reach; :meth:`member` leaves those out.
    factor : ndarray, (B, T, d, r)
        F with ``Σ = FFᵀ``, NaN likewise.
    status : ndarray of str, (B,)
        How each member ended, as in :class:`~symflow.Trajectory`; ``"stopped"`` where it had not.
    t_star : ndarray, (B,)
        Time of the singularity where the status is ``"blow-up"``, else NaN.
    nfev : ndarray of int, (B,)
        Evaluations of the right-hand side.
    reasons : ndarray of str, (B,)
        What the last refused step failed on, empty where none is worth telling.
    last_t, last_mean, last_factor : ndarray, (B,), (B, d), (B, d, r)
        Where each member ended; NaN where it was stopped.
    message : str
        The ensemble in a sentence.
    model, method, backend : str
        What was integrated, how, and by what.
    """

    t: Array
    mean: Array
    factor: Array
    status: NDArray[np.str_]
    t_star: Array
    nfev: NDArray[np.int64]
    reasons: NDArray[np.str_]
    last_t: Array
    last_mean: Array
    last_factor: Array
    message: str = ""
    model: str = ""
    method: str = ""
    backend: str = ""

    @cached_property
    def cov(self) -> Array:
        """Covariances (B, T, d, d): FFᵀ, symmetric to the last bit, positive semidefinite; NaN like F."""
        d, r = self.factor.shape[-2:]
        return covariances(self.factor.reshape(-1, d, r)).reshape(*self.factor.shape[:-1], d)

    @property
    def success(self) -> NDArray[np.bool_]:
        """Which members reached the last time, (B,)."""
        return np.asarray(self.status == "finished")

    @property
    def completed(self) -> NDArray[np.bool_]:
        """Which members ran to their end, whatever it was, before the ensemble was stopped, (B,)."""
        return np.asarray(self.status != "stopped")

    def __len__(self) -> int:
        return int(self.status.size)

    def member(self, i: int) -> GaussianTrajectory:
        """Return the run of one member.

        Parameters
        ----------
        i : int
            Index, negative from the end.

        Raises
        ------
        InputError
            If there is no such member.
        """
        count = len(self)
        if not -count <= i < count:
            raise InputError(f"member {i} is not there; the ensemble has members 0 to {count - 1}")
        reached = np.isfinite(self.mean[i].reshape(self.t.size, -1)).all(axis=1)
        t, mean, factor = self.t[reached], self.mean[i][reached], self.factor[i][reached]
        if self.status[i] not in ("finished", "stopped") and not (t.size and t[-1] == self.last_t[i]):
            t = np.append(t, self.last_t[i])
            mean = np.concatenate([mean, self.last_mean[i][None]])
            factor = np.concatenate([factor, self.last_factor[i][None]])
        star = None if np.isnan(self.t_star[i]) else float(self.t_star[i])
        status = str(self.status[i])
        return GaussianTrajectory(
            t=t,
            mean=mean,
            factor=factor,
            status=status,
            message=self._message(i, status),
            t_star=star,
            nfev=int(self.nfev[i]),
            model=self.model,
            method=self.method,
        )

    def _message(self, i: int, status: str) -> str:
        where, why = f"t = {self.last_t[i]:.10g}", str(self.reasons[i])
        if status == "finished":
            return f"reached {where}"
        if status == "stopped":
            return self.message
        if status == "blow-up":
            return f"{self.model} blows up in finite time: tr(cov) → ∞ at t* = {self.t_star[i]:.10g}"
        if status == "non-finite":
            return f"the solution leaves the range of floating-point numbers near {where}, no singularity"
        if why == "outside-domain":
            return f"the normaliser of {self.model} diverges near {where}; end the run earlier, or reduce cov"
        if why == "singular":
            return f"a linear system of {self.model} becomes singular near {where}; end the run earlier"
        return f"the step size fell below the spacing of floating-point numbers at {where}; try a larger rtol"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an ``.npz`` file and return its path.

        Raises
        ------
        InputError
            If the folder does not exist.
        """
        header = {"kind": "ensemble", **{name: getattr(self, name) for name in _TEXTS}}
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _TEXTS}
        return write_archive(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ensemble:
        """Read what :meth:`save` wrote.

        Raises
        ------
        InputError
            If the file is not a saved ensemble.
        """
        header, arrays = read_archive(path, "ensemble")
        if header.pop("kind", None) != "ensemble":
            raise InputError(f"{os.fspath(path)} is not a saved ensemble; it may be a run: Trajectory.load")
        everything: dict[str, Any] = {**arrays, **header}
        return cls(**everything)

    def __repr__(self) -> str:
        names, counts = np.unique(self.status, return_counts=True)
        ends = ", ".join(f"{n} {name}" for name, n in zip(names, counts, strict=True))
        return f"Ensemble({len(self)} members: {ends}; {self.t.size} times)"


@dataclass(eq=False)
class Rows:
    """The arrays that members fill, before they become an :class:`Ensemble`; NaN where none has ended.

    Parameters
    ----------
    members, times : int
    shape : tuple of int
        Of a mean: (d,), or (n, d) at n positions.
    rank : int
        Columns of the factors.
    """

    members: InitVar[int]
    times: InitVar[int]
    shape: InitVar[tuple[int, ...]]
    rank: InitVar[int]

    def __post_init__(self, members: int, times: int, shape: tuple[int, ...], rank: int) -> None:
        """Make the arrays."""
        self.mean = np.full((members, times, *shape), np.nan)
        self.factor = np.full((members, times, *shape, rank), np.nan)
        self.status: NDArray[np.str_] = np.full(members, "stopped", dtype="<U14")
        self.reasons: NDArray[np.str_] = np.full(members, "", dtype="<U14")
        self.t_star, self.last_t = np.full(members, np.nan), np.full(members, np.nan)
        self.last_mean = np.full((members, *shape), np.nan)
        self.last_factor = np.full((members, *shape, rank), np.nan)
        self.nfev = np.zeros(members, dtype=np.int64)

    def ensemble(self, t: Array, message: str, model: str, method: str, backend: str) -> Ensemble:
        """Return the finished record."""
        return Ensemble(
            t=t,
            **{name: getattr(self, name) for name in vars(self)},
            message=message,
            model=model,
            method=method,
            backend=backend,
        )
