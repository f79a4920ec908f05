r"""Two heads of softmax attention in the plane."""

from __future__ import annotations

from functools import partial

import numpy as np

from symflow.models.attention.softmax import Softmax
from symflow.models.combinators.multihead import MultiHead
from symflow.report.regimes.closed_form import exact_prediction
from symflow.report.regimes.regime import Regime
from symflow.report.regimes.starts import FEW

IDENTITY = np.eye(2)

_exact = partial(exact_prediction, MultiHead(Softmax()))

_BOTH = np.array([IDENTITY, 0.5 * IDENTITY])

_ZERO = Regime(
    "zero",
    "shrinks to zero",
    "",
    "",
    {"V": _BOTH, "A": np.array([[[-0.5, 0.9], [-0.3, -1.0]], -0.25 * IDENTITY])},
    100.0,
    _exact,
    FEW,
)

_LINE = Regime(
    "line",
    "to a line",
    "",
    "",
    {"V": _BOTH, "A": np.array([[[-0.5, 0.5], [0.5, -0.5]], [[-1.0, 1.0], [1.0, -1.0]]])},
    100.0,
    _exact,
    FEW,
)

_BLOW_UP = Regime(
    "blow-up",
    "blows up",
    "",
    "",
    {"V": _BOTH, "A": np.array([[[-0.5, 0.9], [-0.3, -1.0]], 2.0 * IDENTITY])},
    20.0,
    _exact,
    FEW,
)

REGIMES = (_ZERO, _LINE, _BLOW_UP)
