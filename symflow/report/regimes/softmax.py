r"""Softmax attention in the plane: four regimes."""

from __future__ import annotations

from functools import partial

import numpy as np

from symflow.models.attention.softmax import Softmax
from symflow.report.regimes.closed_form import exact_prediction
from symflow.report.regimes.regime import Regime
from symflow.report.regimes.starts import SPREAD

IDENTITY = np.eye(2)
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


_exact = partial(exact_prediction, Softmax())

_ZERO = Regime(
    "zero",
    "shrinks to zero",
    r"Let $V = I$, $S = A + A^{\top} \prec 0$ and $\Sigma_0 \succeq 0$. Then "
    r"$\Sigma(t) = \Sigma_0^{1/2}(I - t\,\Sigma_0^{1/2}S\Sigma_0^{1/2})^{-1}\Sigma_0^{1/2} \to 0$ "
    "like $1/t$.",
    "CACP25",
    {"V": IDENTITY, "A": np.array([[-0.5, 0.9], [-0.3, -1.0]])},
    100.0,
    _exact,
    SPREAD,
)

_LINE = Regime(
    "line",
    "to a line",
    r"Let $V = I$, $S = A + A^{\top} \preceq 0$ with $\ker(S)$ spanned by $n$, and $\Sigma_0 \succ 0$. Then "
    r"$\Sigma(t) \to n\,(n^{\top}\Sigma_0^{-1}n)^{-1}n^{\top}$, of rank one; the rest decays like $1/t$.",
    "CACP25",
    {"V": IDENTITY, "A": np.array([[-0.5, 0.5], [0.5, -0.5]])},
    100.0,
    _exact,
    SPREAD,
)

_TWO_LINES = Regime(
    "two-lines",
    "two lines",
    r"Let $V = P$ be the exchange of the two coordinates, $A = -P$ and $\Sigma_0 \succeq 0$. Then "
    r"$S = VA + A^{\top}V^{\top} = -2I \prec 0$, yet the limit need not be $0$: "
    r"$\Sigma_{11} - \Sigma_{22} = \operatorname{tr}(M\Sigma)$ with $M = \operatorname{diag}(1,-1)$ is "
    r"conserved, because $MV$ is skew and $\Sigma A\Sigma$ symmetric; "
    r"$\dot\Sigma_{11} = \dot\Sigma_{22} = -2(\Sigma_{11}\Sigma_{22}+\Sigma_{12}^2) \le 0$ and "
    r"$\dot\Sigma_{12} = -2(\Sigma_{11}+\Sigma_{22})\Sigma_{12}$. So all entries converge, "
    r"$\Sigma_{11}\Sigma_{22}$ and $\Sigma_{12}$ to $0$, and "
    r"$\Sigma(t) \to \operatorname{diag}\bigl(\max(\delta,0),\,\max(-\delta,0)\bigr)$ with "
    r"$\delta = \Sigma_{11}-\Sigma_{22}$ at $t = 0$.",
    "the conserved quantity, directly from the closed equation",
    {"V": SWAP, "A": -SWAP},
    60.0,
    _exact,
    SPREAD,
)

_BLOW_UP = Regime(
    "blow-up",
    "blows up",
    r"Let $V = I$, $\lambda_{\max}(S) > 0$ for $S = A + A^{\top}$, and $\Sigma_0 \succ 0$. Then "
    r"$\Sigma$ leaves every bounded set at $t^* = 1/\lambda_{\max}(\Sigma_0^{1/2}S\Sigma_0^{1/2})$.",
    "CACP25",
    {"V": IDENTITY, "A": np.array([[0.3, 0.7], [-0.2, -0.5]])},
    20.0,
    _exact,
    SPREAD,
)

#: What S = VA + AᵀVᵀ is often said to decide, and does not; both examples solve the closed equation.
REMARK = (
    r"For a general $V$ the sign of $S = VA + A^{\top}V^{\top}$ decides nothing. With "
    r"$V = \operatorname{diag}(1,2)$, $A = \begin{pmatrix}-1&-4\\1&-1\end{pmatrix}$ and "
    r"$\Sigma_0 = \begin{pmatrix}1&-1\\-1&2\end{pmatrix}$ one has $S \prec 0$, yet "
    r"$\Sigma(t) = \Sigma_0/(1-2t)$ blows up. With $V = \operatorname{diag}(2,1)$, "
    r"$A = \begin{pmatrix}0&1\\-1&0\end{pmatrix}$ and $\Sigma_0 = I$ one has $\lambda_{\max}(S) = 1$, yet "
    r"$\Sigma(t) = \begin{pmatrix}1&\tanh(t)\\\tanh(t)&1\end{pmatrix}$ exists for all times."
)

REGIMES = (_ZERO, _LINE, _TWO_LINES, _BLOW_UP)
