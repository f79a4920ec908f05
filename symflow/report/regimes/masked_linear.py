r"""Linear attention under a causal mask: four positions that start from one law."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symflow.models.attention.linear import Linear
from symflow.models.combinators.masked import Masked
from symflow.report.regimes.closed_form import exact_prediction
from symflow.report.regimes.regime import Array, Prediction, Regime

POSITIONS = 4
MODEL = Masked(Linear(), sink=0.25)
_START = np.array([[[1.0, 0.25], [0.25, 0.5]]] * POSITIONS)


def _first(params: Mapping[str, Array], start: Array, end: float | None) -> Prediction:
    """Return what is proved about the first position, which sees nothing but itself."""
    share = MODEL.weights(POSITIONS)[0]
    return exact_prediction(Linear(), {"V": share * params["V"], "A": params["A"]}, start[0], end)


_ZERO = Regime(
    "zero",
    "one position after the other",
    r"The first position sees itself only: with the mass $\theta_1$ that the law of positions has there, "
    r"its covariance solves $\dot\Sigma_1 = \theta_1(V\Sigma_1A\Sigma_1 + "
    r"\Sigma_1A^{\top}\Sigma_1V^{\top})$, so for $V = I$ it is $\Sigma_1(t) = \Sigma_0^{1/2}(I - "
    r"\theta_1t\,\Sigma_0^{1/2}(A+A^{\top})\Sigma_0^{1/2})^{-1}\Sigma_0^{1/2}$. Every later position is "
    r"driven by the running sum of those before it and of itself.",
    "CACP25 and directly from the closed equation",
    {"V": np.eye(2), "A": np.array([[-1.0, 0.5], [-0.5, -0.5]])},
    100.0,
    _first,
    (_START,),
)

REGIMES = (_ZERO,)
