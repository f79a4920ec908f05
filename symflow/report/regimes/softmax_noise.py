r"""Softmax attention with idiosyncratic noise: a steady state, or none."""

from __future__ import annotations

from functools import partial

import numpy as np

from symflow.models.attention.softmax import Softmax
from symflow.report.regimes.closed_form import exact_prediction
from symflow.report.regimes.regime import Regime
from symflow.report.regimes.starts import FEW

IDENTITY = np.eye(2)

_exact = partial(exact_prediction, Softmax(diffusion="1/10"))

_STEADY = Regime(
    "steady",
    "to a steady state",
    "",
    "",
    {"V": IDENTITY, "A": np.array([[-0.5, 0.9], [-0.3, -1.0]])},
    60.0,
    _exact,
    FEW,
)

#: What noise changes.
REMARK = (
    r"Noise fills every direction: the rank of $\Sigma(t)$ is full for every $t > 0$. A steady state exists "
    r"here exactly if $S = VA + A^{\top}V^{\top} \prec 0$; along the kernel of a singular $S \preceq 0$ the "
    r"covariance grows without bound."
)

REGIMES = (_STEADY,)
