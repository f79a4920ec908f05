r"""The long-time regimes in the plane: what the theorem says, and what the integrator finds.

Each regime is a choice of parameters and starts with a *prediction* that is computed from the stated theorem
and from the start alone.  The report runs the compiled flow and shows the two beside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

Array = NDArray[np.float64]

IDENTITY = np.eye(2)
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the theorem says about one start; what it does not speak about is None.

    Attributes
    ----------
    limit : ndarray or None
        :math:`\\lim_{t\\to\\infty}\\Sigma(t)`.
    at_end : ndarray or None
        Σ at the end of the run.
    t_star : float or None
        Blow-up time.
    ray : int or None
        The coordinate axis whose multiples :math:`s\\,e_ie_i^\\top` hold the limit.
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
        The statement in LaTeX text with mathematics between ``$``.
    reference : str
        Where the theorem is from, or how it follows.
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


def regimes(name: str) -> tuple[Regime, ...]:
    """Return the regimes of a shipped model; none for a model without a long-time theorem."""
    return {"softmax": _softmax, "l2": _l2}.get(name, tuple)()


def _softmax() -> tuple[Regime, ...]:
    identity = {"V": IDENTITY}
    return (
        Regime(
            "zero",
            "shrinks to zero",
            r"Let $V = I$ and $S = A + A^{\top} \prec 0$. Then "
            r"$\Sigma(t) = \Sigma_0^{1/2}(I - t\,\Sigma_0^{1/2}S\Sigma_0^{1/2})^{-1}\Sigma_0^{1/2} \to "
            r"0$ like $1/t$.",
            "CACP25",
            identity | {"A": np.array([[-0.5, 0.9], [-0.3, -1.0]])},
            100.0,
            _closed_form,
            _STARTS,
        ),
        Regime(
            "line",
            "to a line",
            r"Let $V = I$ and $S = A + A^{\top} \preceq 0$ with $\ker(S)$ spanned by $n$. Then "
            r"$\Sigma(t) \to n\,(n^{\top}\Sigma_0^{-1}n)^{-1}n^{\top}$, of rank one; the rest decays "
            r"like $1/t$.",
            "CACP25",
            identity | {"A": np.array([[-0.5, 0.5], [0.5, -0.5]])},
            100.0,
            _closed_form,
            _STARTS,
        ),
        Regime(
            "two-lines",
            "two lines",
            r"Let $V = P$ be the exchange of the two coordinates and $A = -P$, so that "
            r"$S = VA + A^{\top}V^{\top} = -2I \prec 0$, yet the limit is not $0$: "
            r"$\Sigma_{11} - \Sigma_{22} = \operatorname{tr}(M\Sigma)$ with $M = "
            r"\operatorname{diag}(1,-1)$ is "
            r"conserved, because $MV$ is skew and $\Sigma A\Sigma$ symmetric, and "
            r"$\dot\Sigma_{12} = -2(\Sigma_{11}+\Sigma_{22})\Sigma_{12}$. Hence "
            r"$\Sigma(t) \to \operatorname{diag}\bigl(\max(\delta,0),\,\max(-\delta,0)\bigr)$ with "
            r"$\delta = \Sigma_{11}-\Sigma_{22}$ at $t = 0$.",
            "the conserved quantity, directly from the closed equation",
            {"V": SWAP, "A": -SWAP},
            60.0,
            _conserved_difference,
            _STARTS,
        ),
        Regime(
            "blow-up",
            "blows up",
            r"Let $V = I$ and $\lambda_{\max}(S) > 0$, $S = A + A^{\top}$, $\Sigma_0 \succ 0$. Then "
            r"$\Sigma$ leaves "
            r"every bounded set at $t^* = 1/\lambda_{\max}(\Sigma_0^{1/2}S\Sigma_0^{1/2})$.",
            "CACP25",
            identity | {"A": np.array([[0.3, 0.7], [-0.2, -0.5]])},
            20.0,
            _closed_form,
            _STARTS,
        ),
    )


def _l2() -> tuple[Regime, ...]:
    square = np.array([[0.8, 0.3], [-0.2, 0.6]])
    row = np.array([[0.7, -0.7]])
    theorem = (
        r"With $V = I$ and $K = -Q$, the matrix $M = Q\Sigma Q^{\top}$ obeys $\dot M = "
        r"-4M^2(I+2M)^{-1}$: its "
        r"eigenvectors stay, every eigenvalue is $m(t) = 1/u(t)$ with "
        r"$u(t) = 2\,W\bigl(\tfrac12u_0e^{u_0/2+2t}\bigr)$ (Lambert's $W$), and "
        r"$\Sigma(t)^{-1} = \Sigma_0^{-1} + Q^{\top}(M(t)^{-1} - M_0^{-1})Q$."
    )
    return (
        Regime(
            "zero",
            "shrinks to zero",
            theorem + r" Here $Q$ is injective, hence $\Sigma(t) \to 0$ like $1/t$.",
            "CACP25 for the limit; the closed form follows from the equation of $M$",
            {"Q": square, "K": -square, "V": IDENTITY},
            50.0,
            _distance_closed_form,
            _STARTS,
        ),
        Regime(
            "line",
            "to a line",
            theorem + r" Here $\ker(Q)$ is spanned by $n$, hence "
            r"$\Sigma(t) \to n\,(n^{\top}\Sigma_0^{-1}n)^{-1}n^{\top}$, as for softmax.",
            "CACP25 for the limit; the closed form follows from the equation of $M$",
            {"Q": row, "K": -row, "V": IDENTITY},
            50.0,
            _distance_closed_form,
            _STARTS,
        ),
        Regime(
            "two-lines",
            "two lines",
            r"Let $V = P$ be the exchange of the two coordinates, $K = I$ and $Q = -P$. Writing "
            r"$(I+2\Sigma)^{-1}\Sigma = aI + b\Sigma$, $a, b > 0$, one finds "
            r"$\dot\Sigma_{11}-\dot\Sigma_{22} = -4a\,(\Sigma_{11}-\Sigma_{22})$ and "
            r"$\dot\Sigma_{12} = -4\bigl(a + b(\Sigma_{11}+\Sigma_{22})\bigr)\Sigma_{12}$: the sign of "
            r"$\Sigma_{11}-\Sigma_{22}$ stays and decides to which of the two axes the law collapses.",
            "directly from the closed equation",
            {"Q": -SWAP, "K": IDENTITY, "V": SWAP},
            60.0,
            _sign_of_difference,
            _STARTS,
        ),
        Regime(
            "blow-up",
            "blows up",
            r"Let $K = (1,0)$, $Q = (0,1)$, $V = \operatorname{diag}(0,1)$: $K$ is not injective. Then "
            r"$\Sigma_{11}$ is constant, $\dot\Sigma_{12} = 2\Sigma_{12}^2/(1+2\Sigma_{11})$, and "
            r"$\Sigma$ blows up at "
            r"$t^* = (1+2\Sigma_{11})/(2\Sigma_{12})$ when $\Sigma_{12} > 0$ at $t = 0$.",
            "directly from the closed equation; contradicts “distance attention never blows up”",
            {"Q": np.array([[0.0, 1.0]]), "K": np.array([[1.0, 0.0]]), "V": np.diag([0.0, 1.0])},
            20.0,
            _rank_deficient_blow_up,
            _CORRELATED_STARTS,
        ),
    )


def _cov(a: float, b: float, c: float) -> Array:
    return np.array([[a, c], [c, b]])


_STARTS = (
    _cov(1.0, 0.4, 0.3),
    _cov(0.5, 1.1, -0.4),
    _cov(1.0, 0.8, 0.6),
    _cov(1.3, 0.3, -0.1),
    _cov(0.4, 1.3, 0.5),
)
_CORRELATED_STARTS = (_cov(1.0, 1.0, 0.5), _cov(0.5, 1.1, 0.4), _cov(1.2, 0.6, 0.6), _cov(1.3, 0.5, 0.3))


def square_root(cov: Array) -> Array:
    """Return the symmetric positive semidefinite root."""
    weights, axes = np.linalg.eigh(cov)
    return np.asarray(axes * np.sqrt(np.maximum(weights, 0.0)) @ axes.T)


def commuting_prediction(S: Array, cov: Array, end: float | None) -> Prediction:
    r"""Return what the closed form says for V = I, or V commuting with Σ₀ and S.

    .. math:: \Sigma(t) = \Sigma_0^{1/2}(I - t\Sigma_0^{1/2}S\Sigma_0^{1/2})^{-1}\Sigma_0^{1/2}, \qquad
              t^* = 1/\lambda_{\max}(\Sigma_0^{1/2}S\Sigma_0^{1/2}) \text{ if positive}

    Parameters
    ----------
    S : ndarray, (d, d)
        :math:`VA + A^\top V^\top`.
    cov : ndarray, (d, d)
        Σ₀ ⪰ 0.
    end : float or None
        Where Σ is wanted.

    References
    ----------
    CACP25.
    """
    root = square_root(cov)
    rates, axes = np.linalg.eigh(root @ S @ root)
    noise = 64 * np.finfo(float).eps * len(S) * np.abs(rates).max(initial=0.0)
    if rates[-1] > noise:
        return Prediction(t_star=float(1.0 / rates[-1]))
    rates = np.where(np.abs(rates) <= noise, 0.0, rates)
    turned = root @ axes
    limit = turned * (rates == 0.0) @ turned.T
    return Prediction(limit=limit, at_end=None if end is None else turned / (1.0 - end * rates) @ turned.T)


def _closed_form(params: Mapping[str, Array], cov: Array, end: float) -> Prediction:
    product = params["V"] @ params["A"]
    return commuting_prediction(product + product.T, cov, end)


def _conserved_difference(_params: Mapping[str, Array], cov: Array, _end: float) -> Prediction:
    difference = cov[0, 0] - cov[1, 1]
    return Prediction(limit=np.diag([max(difference, 0.0), max(-difference, 0.0)]))


def _distance_closed_form(params: Mapping[str, Array], cov: Array, end: float) -> Prediction:
    Q = params["Q"]
    eigenvalues, axes = np.linalg.eigh(Q @ cov @ Q.T)
    start = 1.0 / eigenvalues
    # Lambert's W of e^z by the equation w + log w = z: the exponential itself may overflow.
    inverse = np.array([2.0 * _lambert_of_exponential(np.log(u / 2) + u / 2 + 2 * end) for u in start])
    at_end = np.linalg.inv(np.linalg.inv(cov) + Q.T @ (axes * (inverse - start) @ axes.T) @ Q)
    kernel = np.linalg.svd(Q)[2][len(Q) :].T
    limit = kernel @ np.linalg.inv(kernel.T @ np.linalg.inv(cov) @ kernel) @ kernel.T
    return Prediction(limit=limit, at_end=at_end)


def _lambert_of_exponential(z: float) -> float:
    if z < 500.0:
        return float(lambertw(np.exp(z)).real)
    w = z - np.log(z)
    for _ in range(4):  # Newton, quadratic from an error of order log(z)/z
        w -= (w + np.log(w) - z) / (1.0 + 1.0 / w)
    return float(w)


def _sign_of_difference(_params: Mapping[str, Array], cov: Array, _end: float) -> Prediction:
    return Prediction(ray=0 if cov[0, 0] > cov[1, 1] else 1)


def _rank_deficient_blow_up(_params: Mapping[str, Array], cov: Array, _end: float) -> Prediction:
    return Prediction(t_star=float((1 + 2 * cov[0, 0]) / (2 * cov[0, 1])))


def compare(
    prediction: Prediction, t: Array, cov: Array, status: str, t_star: float | None
) -> dict[str, Any]:
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
        return _row("blow-up time $t^*$", f"{prediction.t_star:.9g}", shown, error, 1e-6, "relative")
    if status != "finished":
        return _row("no blow-up", "global", status, np.inf, 0.0, "")
    if prediction.at_end is not None:
        error = float(np.abs(cov[-1] - prediction.at_end).max() / np.abs(prediction.at_end).max())
        name = rf"$\operatorname{{tr}}\Sigma({t[-1]:g})$"
        shown, found = f"{np.trace(prediction.at_end):.9g}", f"{np.trace(cov[-1]):.9g}"
        return _row(name, shown, found, error, 1e-7, "relative, all entries")
    if prediction.ray is not None:
        wanted = cov[-1, prediction.ray, prediction.ray]
        error = float(np.abs(cov[-1] - wanted * np.diag(np.eye(2)[prediction.ray])).max() / wanted)
        axis = f"axis {prediction.ray + 1}"
        return _row(
            "collapses to", axis, axis if error <= 1e-6 else "elsewhere", error, 1e-6, "share off the axis"
        )
    limit = cov[-1] if prediction.limit is None else prediction.limit
    error = float(np.abs(cov[-1] - limit).max() / np.trace(cov[0]))
    name = r"$\operatorname{tr}\Sigma(\infty)$"
    return _row(
        name,
        f"{np.trace(limit):.9g}",
        f"{np.trace(cov[-1]):.9g}",
        error,
        1e-7,
        "relative to the start, all entries",
    )


def _row(quantity: str, theorem: str, run: str, error: float, tolerance: float, unit: str) -> dict[str, Any]:
    return {
        "quantity": quantity,
        "theorem": theorem,
        "measured": run,
        "difference": float(error),
        "tolerance": tolerance,
        "unit": unit,
        "agrees": bool(error <= tolerance),
    }
