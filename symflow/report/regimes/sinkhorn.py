r"""Sinkhorn attention in the plane: never a blow-up; decay like 1/t, a line, exponential growth."""

from __future__ import annotations

from functools import partial

import numpy as np

from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.report.regimes.closed_form import exact_prediction
from symflow.report.regimes.regime import Regime
from symflow.report.regimes.starts import FEW

IDENTITY = np.eye(2)

_exact = partial(exact_prediction, Sinkhorn())

_ZERO = Regime(
    "zero",
    "shrinks to zero",
    "",
    "",
    {"V": IDENTITY, "A": np.array([[-0.5, 0.25], [0.25, -1.0]])},
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

_GROWTH = Regime(
    "growth",
    "grows like an exponential",
    "",
    "",
    {"V": IDENTITY, "A": np.array([[0.3, 0.2], [0.2, 0.5]])},
    3.0,
    _exact,
    FEW,
)

REGIMES = (_ZERO, _LINE, _GROWTH)
