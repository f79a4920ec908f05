"""What an ensemble leaves: every member at shared times, and how each ended."""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from dataclasses import InitVar, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symflow.checking import Array
from symflow.errors import InputError
from symflow.integrate.archive import read_archive, write_archive
from symflow.integrate.backends import covariances
from symflow.integrate.trajectory import GaussianTrajectory


class Ensemble(ABC):
    """What B runs leave, member first, then time; of Gaussian laws ``mean`` and ``cov``, of tokens ``x``.

    Attributes
    ----------
    t : ndarray, (T,)
        The times of all members.
    status : ndarray of str, (B,)
        How each member ended, as in :class:`~symflow.Trajectory`; ``"stopped"`` where it had not.
    t_star : ndarray, (B,)
        Time of the singularity where the status is ``"blow-up"``, else NaN.
    nfev : ndarray of int, (B,)
        Evaluations of the right-hand side.
    reasons : ndarray of str, (B,)
        What the last refused step failed on, empty where none is worth telling.
    last_t : ndarray, (B,)
        When each member ended; NaN where it was stopped.
    message : str
        The ensemble in a sentence.
    model, method, backend : str
        What was integrated, how, and by what.
    """

    t: Array
    status: NDArray[np.str_]
    t_star: Array
    nfev: NDArray[np.int64]
    reasons: NDArray[np.str_]
    last_t: Array
    message: str
    model: str
    method: str
    backend: str

    #: What a member is made of, which is NaN where it was not reached, and what a file says it holds.
    _states: ClassVar[tuple[str, ...]] = ()
    _kind: ClassVar[str] = ""
    #: What grows without bound in a blow-up.
    _exploding: ClassVar[str] = ""

    if TYPE_CHECKING:  # what only one kind has

        @property
        def mean(self) -> Array: ...
        @property
        def factor(self) -> Array: ...
        @property
        def cov(self) -> Array: ...
        @property
        def last_mean(self) -> Array: ...
        @property
        def last_factor(self) -> Array: ...
        @property
        def x(self) -> Array: ...
        @property
        def last_x(self) -> Array: ...

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

    def member(self, i: int) -> Any:
        """Return the run of one member, a :class:`~symflow.Trajectory`.

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
        first = getattr(self, self._states[0])[i]
        reached = np.isfinite(first.reshape(self.t.size, -1)).all(axis=1)
        states = {name: getattr(self, name)[i][reached] for name in self._states}
        t = self.t[reached]
        if self.status[i] not in ("finished", "stopped") and not (t.size and t[-1] == self.last_t[i]):
            t = np.append(t, self.last_t[i])
            states = {
                name: np.concatenate([values, getattr(self, f"last_{name}")[i][None]])
                for name, values in states.items()
            }
        status = str(self.status[i])
        common = {
            "t": t,
            "status": status,
            "message": self._message(i, status),
            "t_star": None if np.isnan(self.t_star[i]) else float(self.t_star[i]),
            "nfev": int(self.nfev[i]),
            "model": self.model,
            "method": self.method,
        }
        return self._trajectory(common | states)

    @abstractmethod
    def _trajectory(self, parts: dict[str, Any]) -> Any:
        """Return the run with these fields."""

    def _message(self, i: int, status: str) -> str:
        where, why = f"t = {self.last_t[i]:.10g}", str(self.reasons[i])
        if status == "finished":
            return f"reached {where}"
        if status == "stopped":
            return self.message
        if status == "blow-up":
            return (
                f"{self.model} blows up in finite time: {self._exploding} → ∞ at t* = {self.t_star[i]:.10g}"
            )
        if status == "non-finite":
            return f"the solution leaves the range of floating-point numbers near {where}, no singularity"
        if why == "outside-domain":
            return f"the normaliser of {self.model} diverges near {where}; end the run earlier, or reduce cov"
        if why == "singular":
            return f"a linear system of {self.model} becomes singular near {where}; end the run earlier"
        if why == "not-converged":
            return f"the scaling of the weights of {self.model} does not converge near {where}"
        return f"the step size fell below the spacing of floating-point numbers at {where}; try a larger rtol"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an ``.npz`` file and return its path.

        Raises
        ------
        InputError
            If the folder does not exist.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        header = {"kind": self._kind, **{k: v for k, v in values.items() if isinstance(v, str)}}
        return write_archive(path, header, {k: v for k, v in values.items() if not isinstance(v, str)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ensemble:
        """Read what :meth:`save` wrote.

        Raises
        ------
        InputError
            If the file is not a saved ensemble.
        """
        header, arrays = read_archive(path, "ensemble")
        importlib.import_module("symflow.integrate.tokens.ensemble")
        kinds = {kind._kind: kind for kind in Ensemble.__subclasses__()}
        kind = kinds.get(str(header.pop("kind", None)))
        if kind is None:
            raise InputError(f"{os.fspath(path)} is not a saved ensemble; it may be a run: Trajectory.load")
        everything: dict[str, Any] = {**arrays, **header}
        return kind(**everything)

    def __repr__(self) -> str:
        names, counts = np.unique(self.status, return_counts=True)
        ends = ", ".join(f"{n} {name}" for name, n in zip(names, counts, strict=True))
        return f"{type(self).__name__}({len(self)} members: {ends}; {self.t.size} times)"


@dataclass(frozen=True, eq=False, repr=False)
class GaussianEnsemble(Ensemble):
    """Means and covariances of B members at T times: member first, then time.

    Attributes
    ----------
    mean : ndarray, (B, T, d)
        NaN at times that a member did not reach; :meth:`member` leaves those out.
    factor : ndarray, (B, T, d, r)
        F with ``Σ = FFᵀ``, NaN likewise.
    last_mean, last_factor : ndarray, (B, d), (B, d, r)
        Where each member ended; NaN where it was stopped.
    t, status, t_star, nfev, reasons, last_t, message, model, method, backend
        As for every :class:`Ensemble`.
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

    _states: ClassVar[tuple[str, ...]] = ("mean", "factor")
    _kind: ClassVar[str] = "ensemble"
    _exploding: ClassVar[str] = "tr(cov)"

    @cached_property
    def cov(self) -> Array:
        """Covariances (B, T, d, d): FFᵀ, symmetric to the last bit, positive semidefinite; NaN like F."""
        d, r = self.factor.shape[-2:]
        return covariances(self.factor.reshape(-1, d, r)).reshape(*self.factor.shape[:-1], d)

    def _trajectory(self, parts: dict[str, Any]) -> GaussianTrajectory:
        return GaussianTrajectory(**parts)


@dataclass(eq=False)
class Rows:
    """The arrays that members fill, before they become a :class:`GaussianEnsemble`; NaN where none has ended.

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

    def ensemble(self, t: Array, message: str, model: str, method: str, backend: str) -> GaussianEnsemble:
        """Return the finished record."""
        return GaussianEnsemble(
            t=t,
            **{name: getattr(self, name) for name in vars(self)},
            message=message,
            model=model,
            method=method,
            backend=backend,
        )
