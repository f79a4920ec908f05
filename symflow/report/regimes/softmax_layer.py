r"""Softmax attention beside a feed-forward layer Wx + c with W = wI."""

from __future__ import annotations

from functools import partial

import numpy as np

from symflow.models.attention.softmax import Softmax
from symflow.report.regimes.closed_form import exact_prediction
from symflow.report.regimes.regime import Regime
from symflow.report.regimes.starts import FEW

IDENTITY = np.eye(2)

_exact = partial(exact_prediction, Softmax(feed_forward=True))

_SHIFT = np.array([1.0, 0.0])
_DAMPED = -0.25 * IDENTITY
_EXPANDING = 0.25 * IDENTITY

_BALANCE = Regime(
    "balance",
    "the layer feeds what attention contracts",
    "",
    "",
    {"V": IDENTITY, "A": np.array([[-0.5, 0.9], [-0.3, -1.0]]), "W": _EXPANDING, "c": _SHIFT},
    20.0,
    _exact,
    FEW,
)

_ZERO = Regime(
    "zero",
    "a damping layer keeps small laws from blowing up",
    "",
    "",
    {"V": IDENTITY, "A": 0.125 * IDENTITY, "W": _DAMPED, "c": _SHIFT},
    20.0,
    _exact,
    FEW,
)

_BLOW_UP = Regime(
    "blow-up",
    "blows up",
    "",
    "",
    {"V": IDENTITY, "A": np.array([[0.5, 0.75], [-0.25, -0.5]]), "W": _EXPANDING, "c": _SHIFT},
    20.0,
    _exact,
    FEW,
)

REGIMES = (_BALANCE, _ZERO, _BLOW_UP)
