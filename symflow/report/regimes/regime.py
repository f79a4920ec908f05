r"""What a regime is, and how a run is compared with what its theorem predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symflow.report.comparison import Comparison, comparison

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the theorem says about one start; what it does not speak about is None.

    Attributes
    ----------
    limit : ndarray or None
        The limit of Σ(t) as t → ∞.
    at_end : ndarray or None
        Σ at the end of the run.
    t_star : float or None
        Blow-up time.
    ray : int or None
        The axis i of the limit s·e_i e_iᵀ, whose size s > 0 the theorem does not give.
    """

    limit: Array | None = None
    at_end: Array | None = None
    t_star: float | None = None
    ray: int | None = None


@dataclass(frozen=True, eq=False)
class Regime:
    """One regime of one model.

    Attributes
    ----------
    key, title : str
    theorem : str
        The statement in LaTeX text with mathematics between ``$``; where empty, that of the criterion which
        :func:`symflow.long_time` finds.
    reference : str
        Where the theorem is from, or how it follows; empty with an empty theorem.
    params : mapping of str to ndarray
    horizon : float
        End of the runs.
    predict : callable
        ``predict(params, cov, end)`` → :class:`Prediction`, from the theorem and nothing else.
    starts : tuple of ndarray
        Initial covariances, positive definite.
    """

    key: str
    title: str
    theorem: str
    reference: str
    params: Mapping[str, Array]
    horizon: float
    predict: Callable[[Mapping[str, Array], Array, float], Prediction]
    starts: tuple[Array, ...]


def compare(prediction: Prediction, t: Array, cov: Array, status: str, t_star: float | None) -> Comparison:
    """Return what theorem and run say: quantity, theorem, measured, difference, tolerance, unit, agrees.

    Parameters
    ----------
    prediction : Prediction
    t, cov : ndarray
        Output of the run.
    status : str
        How the run ended; without a predicted blow-up it must have finished.
    t_star : float or None
        As measured by the integrator.
    """
    if prediction.t_star is not None:
        error = np.inf if t_star is None else abs(t_star / prediction.t_star - 1)
        shown = status if t_star is None else f"{t_star:.9g}"
        return comparison("blow-up time $t^*$", f"{prediction.t_star:.9g}", shown, error, 1e-6, "relative")
    if status != "finished":
        return comparison("no blow-up", "global", status, np.inf, 0.0, "")
    if prediction.at_end is not None:
        error = float(np.abs(cov[-1] - prediction.at_end).max() / np.abs(prediction.at_end).max())
        name = rf"$\operatorname{{tr}}\Sigma({t[-1]:g})$"
        shown, found = f"{np.trace(prediction.at_end):.9g}", f"{np.trace(cov[-1]):.9g}"
        return comparison(name, shown, found, error, 1e-7, "relative, all entries")
    if prediction.ray is not None:
        wanted = cov[-1, prediction.ray, prediction.ray]
        error = float(np.abs(cov[-1] - wanted * np.diag(np.eye(2)[prediction.ray])).max() / wanted)
        axis = f"axis {prediction.ray + 1}"
        return comparison(
            "collapses to", axis, axis if error <= 1e-6 else "elsewhere", error, 1e-6, "share off the axis"
        )
    if prediction.limit is None:  # nothing but existence is predicted, and the run has finished
        return comparison("no blow-up", "global", status, 0.0, 0.0, "")
    limit = prediction.limit
    error = float(np.abs(cov[-1] - limit).max() / np.trace(cov[0]))
    name = rf"$\operatorname{{tr}}\Sigma$, limit and run to $t = {t[-1]:g}$"
    return comparison(
        name,
        f"{np.trace(limit):.9g}",
        f"{np.trace(cov[-1]):.9g}",
        error,
        1e-7,
        "relative to the start, all entries",
    )
