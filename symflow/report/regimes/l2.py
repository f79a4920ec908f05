r"""Attention by distance in the plane: the same four regimes for other reasons."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from symflow.models.attention.l2 import L2
from symflow.report.regimes.closed_form import exact_prediction
from symflow.report.regimes.regime import Array, Prediction, Regime
from symflow.report.regimes.starts import CORRELATED, SPREAD

IDENTITY = np.eye(2)
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])
_SQUARE = np.array([[0.8, 0.3], [-0.2, 0.6]])
_ROW = np.array([[0.7, -0.7]])

_CLOSED_FORM = (
    r"Let $V = I$ and $K = -Q$ with linearly independent rows, and $\Sigma_0 \succ 0$. Then "
    r"$M = Q\Sigma Q^{\top}$ obeys $\dot M = -4M^2(I+2M)^{-1}$: its "
    r"eigenvectors stay, every eigenvalue is $m(t) = 1/u(t)$ with "
    r"$u(t) = 2\,W\bigl(\tfrac12u_0e^{u_0/2+2t}\bigr)$ (Lambert's $W$), and "
    r"$\Sigma(t)^{-1} = \Sigma_0^{-1} + Q^{\top}(M(t)^{-1} - M_0^{-1})Q$."
)
_SOURCE = "CACP25 for the limit; the closed form follows from the equation of $M$"


_exact = partial(exact_prediction, L2())


def _sign_of_difference(_params: Mapping[str, Array], cov: Array, _end: float) -> Prediction:
    return Prediction(ray=0 if cov[0, 0] > cov[1, 1] else 1)


_ZERO = Regime(
    "zero",
    "shrinks to zero",
    _CLOSED_FORM + r" Here $Q$ is invertible, hence $\Sigma(t) \to 0$ like $1/t$.",
    _SOURCE,
    {"Q": _SQUARE, "K": -_SQUARE, "V": IDENTITY},
    50.0,
    _exact,
    SPREAD,
)

_LINE = Regime(
    "line",
    "to a line",
    _CLOSED_FORM + r" Here $\ker(Q)$ is spanned by $n$, hence "
    r"$\Sigma(t) \to n\,(n^{\top}\Sigma_0^{-1}n)^{-1}n^{\top}$, as for softmax.",
    _SOURCE,
    {"Q": _ROW, "K": -_ROW, "V": IDENTITY},
    50.0,
    _exact,
    SPREAD,
)

_TWO_LINES = Regime(
    "two-lines",
    "two lines",
    r"Let $V = P$ be the exchange of the two coordinates, $K = I$, $Q = -P$ and $\Sigma_0 \succeq 0$. Since "
    r"$(I+2\Sigma)^{-1}\Sigma = b\,(2\det(\Sigma)\,I + \Sigma)$ with $b = 1/\det(I+2\Sigma)$, the difference "
    r"$\delta = \Sigma_{11} - \Sigma_{22}$ obeys $\dot\delta = -8b\det(\Sigma)\,\delta$, while "
    r"$\dot\Sigma_{11}$ and $\dot\Sigma_{22}$ are at most $-4b\,\Sigma_{11}\Sigma_{22}$. So "
    r"$\int_0^\infty b\det(\Sigma)\,dt$ is finite, and a $\delta \ne 0$ keeps its sign and tends to a "
    r"$\delta_\infty \ne 0$: $\Sigma(t) \to "
    r"\operatorname{diag}\bigl(\max(\delta_\infty,0),\,\max(-\delta_\infty,0)\bigr)$, on the axis that the "
    r"sign of $\delta$ chooses at $t = 0$.",
    "directly from the closed equation",
    {"Q": -SWAP, "K": IDENTITY, "V": SWAP},
    60.0,
    _sign_of_difference,
    SPREAD,
)

_BLOW_UP = Regime(
    "blow-up",
    "blows up",
    r"Let $K = (1,0)$, $Q = (0,1)$, $V = \operatorname{diag}(0,1)$: $K$ is not injective. Then "
    r"$\Sigma_{11}$ is constant, $\dot\Sigma_{12} = 2\Sigma_{12}^2/(1+2\Sigma_{11})$, and "
    r"$\Sigma$ blows up at $t^* = (1+2\Sigma_{11})/(2\Sigma_{12})$ when $\Sigma_{12} > 0$ at $t = 0$.",
    "directly from the closed equation; contradicts “distance attention never blows up”",
    {"Q": np.array([[0.0, 1.0]]), "K": np.array([[1.0, 0.0]]), "V": np.diag([0.0, 1.0])},
    20.0,
    _exact,
    CORRELATED,
)

REGIMES = (_ZERO, _LINE, _TWO_LINES, _BLOW_UP)
