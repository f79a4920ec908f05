"""What a sweep keeps of every run: a registry of functions of a trajectory.

A statistic states on which runs it is defined, the axes of its values, and how they are computed. What is
computed *along* a run has a row for every output time, and is missing (NaN) where a run did not get there;
what is of its *end* belongs to the last point that the run reached.
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.clustering import Clusters, fraction_above
from symflow.energies import energy_along
from symflow.errors import InputError
from symflow.integrate.tokens.trajectory import TokenTrajectory
from symflow.integrate.trajectory import Trajectory
from symflow.models.attention.model import AttentionModel

Array = NDArray[np.float64]

GAUSSIAN, TOKENS = "Gaussian", "tokens"
TIME = "time"  #: the axis of output times
#: Kept of every run, whatever else is.
ALWAYS = ("status", "message", "t_star")
#: Kept where ``[sweep]`` names no statistics.
DEFAULT = ("final",)

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True)
class Measured:
    """One array that a statistic leaves of a run.

    Attributes
    ----------
    suffix : str
        Added to the statistic's name.
    axes : tuple of str
        Names of its axes, ``"time"`` first where it is computed along the run.
    compute : callable
        ``compute(run, model, *arguments)``; along the run it returns a row for every time of the run.
    whole : bool
        Whether it looks at every output time, though it leaves no row for each.
    """

    suffix: str
    axes: tuple[str, ...]
    compute: Callable[..., Any]
    whole: bool = False


@dataclass(frozen=True)
class Statistic:
    """A name with arguments, as ``[sweep]`` states it.

    Attributes
    ----------
    name : str
        Its name in the store, e.g. ``"cosine_fraction(0.999)"``.
    kind : str
        Runs it is computed of: ``"Gaussian"`` or ``"tokens"``.
    measured : tuple of Measured
    arguments : tuple of float
    """

    name: str
    kind: str
    measured: tuple[Measured, ...]
    arguments: tuple[float, ...] = field(default=())

    def variables(self) -> dict[str, tuple[str, ...]]:
        """Return the axes of every array, by its name in the store."""
        return {f"{self.name}{part.suffix}": part.axes for part in self.measured}

    @property
    def along(self) -> bool:
        """Whether it needs the output times of a run, not only its ends."""
        return any(part.whole or TIME in part.axes for part in self.measured)

    def of(self, run: Trajectory, model: AttentionModel) -> dict[str, Array]:
        """Return every array of a run by its name in the store."""
        return {
            f"{self.name}{part.suffix}": np.asarray(
                part.compute(run, model, *self.arguments), dtype=np.float64
            )
            for part in self.measured
        }


_KNOWN: dict[str, dict[str, tuple[Measured, ...]]] = {}


def _offer(
    name: str, kind: str, *parts: tuple[str, tuple[str, ...], Callable[..., Any]], whole: bool = False
) -> None:
    _KNOWN.setdefault(name, {})[kind] = tuple(Measured(*part, whole) for part in parts)


def known_statistics() -> dict[str, tuple[str, ...]]:
    """Return the kinds of runs on which each statistic is defined, by name."""
    return {name: tuple(kinds) for name, kinds in _KNOWN.items()} | dict.fromkeys(ALWAYS, (GAUSSIAN, TOKENS))


def read_statistics(names: tuple[str, ...] | None, kind: str, *, positions: bool) -> tuple[Statistic, ...]:
    """Return what names such as ``"cosine_fraction(0.999)"`` stand for.

    Parameters
    ----------
    names : tuple of str or None
        None stands for the default.
    kind : str
        ``"Gaussian"`` or ``"tokens"``.
    positions : bool
        Whether Gaussian laws have a leading axis of positions.

    Raises
    ------
    InputError
        If a name is unknown, given twice, not defined for this kind, or its arguments do not fit.
    """
    found: dict[str, Statistic] = {}
    for i, text in enumerate(DEFAULT if names is None else names):
        where = f"[sweep] statistics[{i}] = {text!r}"
        name, arguments = _read_call(where, text)
        if name in ALWAYS and not arguments:
            continue
        statistic = _statistic(where, name, arguments, kind, positions)
        if statistic.name in found:
            raise InputError(f"{where} is given twice; keep one of them")
        found[statistic.name] = statistic
    return tuple(found.values())


def _read_call(where: str, text: str) -> tuple[str, tuple[float, ...]]:
    match = _CALL.fullmatch(text)
    if match is None:
        raise InputError(f"{where} is not a name, or a name with numbers as in 'cosine_fraction(0.999)'")
    name, inside = match.groups()
    if inside is None:
        return name, ()
    try:
        return name, tuple(float(part) for part in inside.split(","))
    except ValueError:
        raise InputError(f"{where}: what stands in parentheses must be numbers") from None


def _statistic(where: str, name: str, arguments: tuple[float, ...], kind: str, positions: bool) -> Statistic:
    if name not in _KNOWN:
        names = sorted(known_statistics())
        nearest = difflib.get_close_matches(name, names, 1)
        remedy = f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join(names)}"
        raise InputError(f"{where} is unknown; {remedy}")
    if kind not in _KNOWN[name]:
        raise InputError(
            f"{where} is defined for {' and '.join(_KNOWN[name])} only; these runs are of {kind}"
        )
    parts = _KNOWN[name][kind]
    takes = list(inspect.signature(parts[0].compute).parameters.values())[2:]
    needed = sum(parameter.default is inspect.Parameter.empty for parameter in takes)
    if not needed <= len(arguments) <= len(takes):
        form = f"{name}({', '.join(parameter.name for parameter in takes)})" if takes else name
        raise InputError(f"{where} does not fit; write {form}")
    for number in arguments:
        if not np.isfinite(number):
            raise InputError(f"{where}: {number} is not finite")
    if positions:
        parts = tuple(_along_positions(part) for part in parts)
    shown = f"{name}({', '.join(f'{_short(number)}' for number in arguments)})" if arguments else name
    return Statistic(shown, kind, parts, arguments)


def _short(number: float) -> str:
    """Return the shortest text of a number.

    >>> _short(0.9), _short(9.0)
    ('0.9', '9')
    """
    return repr(number).removesuffix(".0")


def _along_positions(part: Measured) -> Measured:
    """Return the same array with the axis of positions that laws under a mask have."""
    if "row" not in part.axes:
        return part
    before = (TIME,) if part.axes[:1] == (TIME,) else ()
    return replace(part, axes=(*before, "position", *part.axes[len(before) :]))


# ---- Gaussian laws


def _eigenvalues(run: Trajectory, model: AttentionModel) -> Array:
    """Return the eigenvalues of the covariance, largest first, from the singular values of its factor."""
    values = np.zeros(run.mean.shape)
    singular = np.linalg.svd(run.factor, compute_uv=False) ** 2
    values[..., : singular.shape[-1]] = singular
    return values


_offer("mean", GAUSSIAN, ("", (TIME, "row"), lambda run, model: run.mean))
_offer("cov", GAUSSIAN, ("", (TIME, "row", "column"), lambda run, model: run.cov))
_offer("eigenvalues", GAUSSIAN, ("", (TIME, "row"), _eigenvalues))
_offer(
    "final",
    GAUSSIAN,
    ("_mean", ("row",), lambda run, model: run.mean[-1]),
    ("_cov", ("row", "column"), lambda run, model: run.cov[-1]),
)

# ---- tokens


def _fraction(run: Trajectory, model: AttentionModel, level: float) -> Array:
    """Return the fraction of pairs of different tokens whose cosine is at least a level."""
    return np.asarray(fraction_above(run.x, level, distinct=True))


def _cluster_count(run: Trajectory, model: AttentionModel, threshold: float | None = None) -> Array:
    """Return how many clusters there are."""
    return np.asarray(_clusters(run, threshold).count, dtype=np.float64)


def _merge_time(run: Trajectory, model: AttentionModel, threshold: float | None = None) -> float:
    """Return when all tokens have become one cluster, infinity where they have not."""
    found = _clusters(run, threshold)
    if found.count[-1] > 1:
        return math.inf
    return float(found.merge_times[-1]) if found.merge_times.size else float(run.t[0])


def _clusters(run: Trajectory, threshold: float | None) -> Clusters:
    assert isinstance(run, TokenTrajectory)
    return run.clusters(threshold)


def _energy(run: Trajectory, model: AttentionModel, beta: float | None = None) -> Array:
    """Return the interaction energy, with the model's own β where none is given."""
    return energy_along(float(model.scale) if beta is None else beta, run.x)


def _covariance(run: Trajectory, model: AttentionModel) -> Array:
    """Return the covariances (T, d, d) of the empirical laws."""
    centred = run.x - run.x.mean(axis=1, keepdims=True)
    product: Array = np.matmul(np.swapaxes(centred, 1, 2), centred) / run.x.shape[1]
    return product


_offer("x", TOKENS, ("", (TIME, "token", "coordinate"), lambda run, model: run.x))
_offer("mean", TOKENS, ("", (TIME, "row"), lambda run, model: run.x.mean(axis=1)))
_offer("cov", TOKENS, ("", (TIME, "row", "column"), _covariance))
_offer("cosine_fraction", TOKENS, ("", (TIME,), _fraction))
_offer("clusters", TOKENS, ("", (TIME,), _cluster_count))
_offer("merge_time", TOKENS, ("", (), _merge_time), whole=True)
_offer("energy", TOKENS, ("", (TIME,), _energy))
_offer("final", TOKENS, ("_x", ("token", "coordinate"), lambda run, model: run.x[-1]))

# ---- both

for _kind in (GAUSSIAN, TOKENS):
    _offer("nfev", _kind, ("", (), lambda run, model: run.nfev))
    _offer("t_last", _kind, ("", (), lambda run, model: run.t[-1]))


def collect(
    statistics: tuple[Statistic, ...], run: Trajectory, model: AttentionModel, times: Array
) -> dict[str, Array]:
    """Return all arrays of a run; rows of times that it did not reach are NaN.

    Parameters
    ----------
    statistics : tuple of Statistic
    run : Trajectory
    model : AttentionModel
    times : ndarray, (T,)
        The output times that were asked for.
    """
    both = min(times.size, run.t.size)  # a run that ends early has its last point as one row more
    reached = int(np.count_nonzero(times[:both] == run.t[:both]))
    result: dict[str, Array] = {}
    for statistic in statistics:
        axes = statistic.variables()
        for name, values in statistic.of(run, model).items():
            if axes[name][:1] == (TIME,):
                rows = np.full((times.size, *values.shape[1:]), np.nan)
                rows[:reached] = values[:reached]
                values = rows
            result[name] = values
    return result
