r"""Linear attention in the plane: with mean zero the covariance moves as for softmax."""

from __future__ import annotations

from functools import partial

import numpy as np

from symflow.models.attention.linear import Linear
from symflow.report.regimes.closed_form import exact_prediction
from symflow.report.regimes.regime import Regime
from symflow.report.regimes.starts import FEW

IDENTITY = np.eye(2)

_exact = partial(exact_prediction, Linear())

_ZERO = Regime(
    "zero",
    "shrinks to zero",
    "",
    "",
    {"V": IDENTITY, "A": np.array([[-0.5, 0.9], [-0.3, -1.0]])},
    100.0,
    _exact,
    FEW,
)

_LINE = Regime(
    "line",
    "to a line",
    "",
    "",
    {"V": IDENTITY, "A": np.array([[-0.5, 0.5], [0.5, -0.5]])},
    100.0,
    _exact,
    FEW,
)

_BLOW_UP = Regime(
    "blow-up",
    "blows up",
    "",
    "",
    {"V": IDENTITY, "A": np.array([[0.3, 0.7], [-0.2, -0.5]])},
    20.0,
    _exact,
    FEW,
)

#: What a mean changes.
REMARK = (
    r"With a mean $\alpha \ne 0$ the second moment $M = \Sigma+\alpha\alpha^{\top}$ takes the place of "
    r"$\Sigma$: $\dot\alpha = VMA\alpha$ and $\dot\Sigma = VMA\Sigma + \Sigma A^{\top}MV^{\top}$, so that "
    r"a mean alone may make the law blow up, as it cannot under softmax attention."
)

REGIMES = (_ZERO, _LINE, _BLOW_UP)
