"""Ensembles of small dimension: one member per lane of a vector register, threads that share one queue."""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import Array
from symflow.codegen.fixed.kernel import LANES, LARGEST, FixedKernel, fixed_kernel
from symflow.codegen.fixed.unroll import Unsupported
from symflow.errors import BackendWarning, BuildError
from symflow.integrate.backends import runtime
from symflow.integrate.ensemble.members import Members
from symflow.integrate.ensemble.result import Rows
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.options import Options

_SECONDS = 0.05  # how long a thread stays out of reach of Ctrl-C and the wall clock
_METHOD = "dop853"  # whose tableau the kernels are printed with
_REASONS = ("", "singular", "outside-domain", "", "")
_LOG = logging.getLogger("symflow.ensemble")


@dataclass(frozen=True, eq=False)
class LaneRun:
    """An ensemble ready to run in lanes.

    Attributes
    ----------
    batch : Batch
        Of ``symflow_ext.lanes``.
    kernel : FixedKernel
    members : Members
    rank : int
        Columns of a factor.
    out, last_t, last_y, t_star : ndarray
    status, reason, nfev, reached : ndarray of int
        What the threads fill.
    """

    batch: Any
    kernel: FixedKernel
    members: Members
    rank: int
    out: Array
    last_t: Array
    last_y: Array
    t_star: Array
    status: NDArray[np.int64]
    reason: NDArray[np.int64]
    nfev: NDArray[np.int64]
    reached: NDArray[np.int64]

    def worker(self) -> Callable[[], bool]:
        """Return what advances one thread and tells whether no member is left."""
        worker = _lanes().Worker(self.batch)
        return lambda: bool(worker.advance(_SECONDS))

    def done(self) -> int:
        """Return how many members have ended."""
        return int(np.count_nonzero(self.status))

    def rows(self) -> Rows:
        """Return moments and ends of all members."""
        members, times, _ = self.out.shape
        d = self.members.problem.initial.dim
        rows = Rows(members, times, (d,), self.rank)
        ended = self.status > 0
        rows.status[:] = np.array(_lanes().STATUSES)[self.status]
        rows.reasons[ended] = np.array(_REASONS)[self.reason[ended]]
        rows.nfev[:] = self.nfev
        rows.last_t[ended] = self.last_t[ended]
        blown = rows.status == "blow-up"
        rows.t_star[blown] = self.t_star[blown]
        rows.last_mean[ended], rows.last_factor[ended] = self._moments(self.last_y[ended])
        written = ended[:, None] & (np.arange(times)[None, :] < self.reached[:, None])
        rows.mean[written], rows.factor[written] = self._moments(self.out[written])
        return rows

    def _moments(self, states: Array) -> tuple[Array, Array]:
        """Return means (m, d) and factors (m, d, r) of states (m, n)."""
        d = self.members.problem.initial.dim
        mean, square = np.zeros((len(states), d)), np.zeros((len(states), d, self.rank))
        for n, (state, i, j) in enumerate(self.kernel.slots):
            if state == 0:
                mean[:, i] = states[:, n]
            else:
                square[:, i, j] = states[:, n]
                if self.kernel.kinds[state] == "symmetric":
                    square[:, j, i] = states[:, n]
        return mean, square if self.kernel.entry == "factor" else factors_of(square)


def _lanes() -> Any:
    return importlib.import_module("symflow_ext.lanes")


def lane_run(
    members: Members, options: Options, times: Array, chunk: int, backend: str, lanes: int = LANES
) -> LaneRun | None:
    """Return the ensemble in lanes, or None where it has to run member by member; a log line says why.

    Raises
    ------
    BuildError
        If the kernel cannot be compiled and ``backend`` is ``"compiled"``.
    """
    why = _unfit(members, options, backend)
    if why is None:
        try:
            return _prepared(members, options, times, chunk, lanes)
        except Unsupported as error:
            why = f"there is no straight-line code for {error}"
        except BuildError as error:
            if backend == "compiled":
                raise
            why = str(error).splitlines()[0]
            warnings.warn(f"the ensemble runs member by member: {why}", BackendWarning, stacklevel=4)
    _LOG.info("%s runs member by member: %s", members.problem.statement.name, why)
    return None


def _unfit(members: Members, options: Options, backend: str) -> str | None:
    """Return why an ensemble cannot run in lanes, or None."""
    problem = members.problem
    if backend == "numpy":
        return "backend='numpy'"
    if runtime() is None:
        return "the compiled runtime is missing"
    if options.method != _METHOD:
        return f"method {options.method!r} has no lanes"
    if problem.initial.dim > LARGEST:
        return f"d = {problem.initial.dim} is larger than {LARGEST}"
    if problem.schedule:
        return "a parameter depends on time"
    if problem.statement.positions is not None:
        return "there are positions"
    return None


def _prepared(members: Members, options: Options, times: Array, chunk: int, lanes: int) -> LaneRun:
    problem = members.problem
    noisy = problem.is_noisy
    rank = problem.initial.dim if noisy else max(1, _rank(members.initials))
    kernel = fixed_kernel(
        problem.model,
        problem.parametrisation,
        "moments" if noisy else "factor",
        (*problem.dims, rank),
        _known(members),
        lanes,
    )
    count, n = members.count, len(kernel.slots)
    arrays: dict[str, Any] = {
        "out": np.zeros((count, times.size, n)),
        "last_t": np.zeros(count),
        "last_y": np.zeros((count, n)),
        "t_star": np.zeros(count),
        **{name: np.zeros(count, dtype=np.int64) for name in ("status", "reason", "nfev", "reached")},
    }
    batch = _lanes().Batch(
        kernel.capsule,
        _states(members.initials, kernel, rank),
        [_number(members, name, i, j) for name, i, j in kernel.parameters],
        options.t0,
        options.t1,
        times,
        rtol=options.rtol,
        atol=np.array([options.atol[i] for _, i, _ in kernel.slots]),
        max_step=options.max_step,
        first_step=options.first_step,
        claim=chunk,
        **arrays,
    )
    return LaneRun(batch, kernel, members, rank, **arrays)


def _known(members: Members) -> dict[str, dict[tuple[int, int], float]]:
    """Return the shared parameters that are the identity, zero, or the number one: they become code."""
    found = {}
    for name, value in members.problem.values.items():
        array = value.reshape(-1, 1) if value.ndim < 2 else value
        rows, cols = array.shape[-2:]
        is_unit = rows == cols and np.array_equal(array, np.eye(rows))
        if name not in members.own and array.ndim == 2 and (is_unit or not array.any()):
            found[name] = {(i, j): float(array[i, j]) for i in range(rows) for j in range(cols)}
    return found


def _number(members: Members, name: str, i: int, j: int) -> tuple[Array, int, int]:
    """Return where entry (i, j) of a parameter lies: array, offset, stride from member to member."""
    cols = members.problem.values[name].shape[-1] if members.problem.values[name].ndim > 1 else 1
    if name not in members.own:
        return members.problem.values[name].reshape(-1), i * cols + j, 0
    values = members.own[name]
    return values.reshape(-1), i * cols + j, values.size // len(values)


# ------------------------------------------------------------------------------------------ initial states


def _states(laws: tuple[Gaussian, ...], kernel: FixedKernel, rank: int) -> Array:
    """Return the flat states of all members."""
    means = np.array([law.mean for law in laws])
    covs = np.array([law.cov for law in laws])
    square = triangular_factors(laws, covs, rank) if kernel.entry == "factor" else covs
    columns = [means[:, i] if state == 0 else square[:, i, j] for state, i, j in kernel.slots]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def _rank(laws: tuple[Gaussian, ...]) -> int:
    """Return the largest rank; full where every covariance has a Cholesky factor far from singular."""
    covs = np.array([law.cov for law in laws])
    if _cholesky(covs)[1].all():
        return laws[0].dim
    return max(law.rank for law in laws)


def triangular_factors(laws: tuple[Gaussian, ...], covs: Array, rank: int) -> Array:
    """Return F (B, d, rank) with ``Σ = FFᵀ`` and zeros above the diagonal, singular covariances included."""
    factors, regular = _cholesky(covs)
    factors = factors[:, :, :rank]
    for m in np.flatnonzero(~regular | (rank < covs.shape[-1])):
        padded = np.zeros((covs.shape[-1], rank))
        padded[:, : laws[m].rank] = laws[m].factor()
        triangle: Any = np.linalg.qr(padded.T, mode="r")
        factors[m] = np.tril(triangle.T)  # F = RᵀQᵀ and FFᵀ = RᵀR
    return factors


def _cholesky(covs: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return lower triangular factors (B, d, d), and which covariances are far enough from singular for them.

    Sums in a fixed order, entry by entry for all members at once.
    """
    d = covs.shape[-1]
    low = np.zeros_like(covs)
    floor = d * np.finfo(np.float64).eps * np.diagonal(covs, axis1=1, axis2=2).max(axis=1)
    regular = np.ones(len(covs), dtype=bool)
    for j in range(d):
        rest = covs[:, :, j].copy()
        for k in range(j):
            rest -= low[:, :, k] * low[:, j, k, None]
        regular &= rest[:, j] > floor
        root = np.sqrt(np.where(regular, rest[:, j], 1.0))
        low[:, j:, j] = rest[:, j:] / root[:, None]
        low[:, j, j] = root
    return low, regular


def factors_of(covs: Array) -> Array:
    """Return F (m, d, d) with ``Σ = FFᵀ`` by pivoted Cholesky; what rounding made negative is zero."""
    m, d, _ = covs.shape
    rest, factors, index = covs.copy(), np.zeros_like(covs), np.arange(m)
    for k in range(d):
        pivot = np.argmax(np.diagonal(rest, axis1=1, axis2=2), axis=1)
        size = rest[index, pivot, pivot]
        scale = np.where(size > 0.0, np.sqrt(np.where(size > 0.0, size, 1.0)), np.inf)
        column = rest[index, :, pivot] / scale[:, None]
        factors[:, :, k] = column
        rest -= column[:, :, None] * column[:, None, :]
        rest[index, pivot, :] = rest[index, :, pivot] = 0.0
    return factors
