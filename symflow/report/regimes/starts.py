"""Initial covariances in the plane, spread over the inside of the cone."""

from __future__ import annotations

import numpy as np

from symflow.report.regimes.regime import Array


def _cov(a: float, b: float, c: float) -> Array:
    return np.array([[a, c], [c, b]])


SPREAD = (
    _cov(1.0, 0.4, 0.3),
    _cov(0.5, 1.1, -0.4),
    _cov(1.0, 0.8, 0.6),
    _cov(1.3, 0.3, -0.1),
    _cov(0.4, 1.3, 0.5),
)
#: With a positive covariance of the two coordinates.
CORRELATED = (_cov(1.0, 1.0, 0.5), _cov(0.5, 1.1, 0.4), _cov(1.2, 0.6, 0.6), _cov(1.3, 0.5, 0.3))
#: Three of them, with dyadic entries.
FEW = (_cov(1.0, 0.5, 0.25), _cov(0.5, 1.0, -0.375), _cov(1.25, 0.25, 0.125))
