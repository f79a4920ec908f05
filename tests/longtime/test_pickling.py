"""Results of every criterion go through pickle and still check themselves."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from symflow import L2, Gaussian, Linear, Sinkhorn, Softmax, long_time

I2 = np.eye(2)
COV = [[1.0, 0.5], [0.5, 1.0]]
LAYER = {"W": -0.25 * I2, "c": [0, 0]}
NOISY = Softmax(diffusion=0.5)

#: Criterion, model, mean, covariance, parameters.
CASES: list[tuple[str, Any, Any, Any, dict[str, Any]]] = [
    ("commuting", Softmax(), [1, 2], COV, {"V": I2, "A": -I2}),
    ("commuting", Softmax(), [0, 0], COV, {"V": I2, "A": [[0.5, 0.25], [0.0, -1.0]]}),
    ("commuting", Softmax(), [1, 0], I2, {"V": I2, "A": [[0, 1], [-1, 0]]}),
    ("radial", Softmax(), [0, 0], [[1, -1], [-1, 2]], {"V": np.diag([1.0, 2.0]), "A": [[-1, -4], [1, -1]]}),
    ("riccati", NOISY, [0], [[1]], {"V": [[1]], "A": [[-0.5]]}),
    ("scalar-layer", Softmax(feed_forward=True), [0, 0], COV, {"V": I2, "A": -I2, **LAYER}),
    ("skew-plane", Softmax(), [0, 0], I2, {"V": np.diag([2.0, 1.0]), "A": [[0, 1], [-1, 0]]}),
    ("reflection", Softmax(), [0, 0], COV, {"V": np.diag([1.0, -1.0]), "A": np.diag([-1.0, 0.5])}),
    ("modes-distance", L2(), [0, 0], COV, {"V": I2, "Q": [[0.75, -0.75]], "K": [[-0.75, 0.75]]}),
    ("modes-transport", Sinkhorn(), [1, 0], COV, {"V": I2, "A": -I2}),
    ("linear-fractional", L2(), [0, 0], COV, {"K": [[1, 0]], "Q": [[0, 1]], "V": np.diag([0.0, 1.0])}),
    ("affine", Softmax(sign=0, feed_forward=True, diffusion=0.5), [1, 0], COV, {"V": I2, "A": I2, **LAYER}),
    ("noise-modes", NOISY, [0, 0], I2, {"V": I2, "A": [[0.5, 0.25], [0.25, -3.0]]}),
    ("noise-commuting", NOISY, [0, 0], np.diag([1.0, 2.0]), {"V": np.diag([1.0, 2.0]), "A": -I2}),
    ("noise-scalar", NOISY, [0, 0], COV, {"V": I2, "A": [[-0.5, 0.25], [0.25, -3.0]]}),
    ("noise-scalar", NOISY, [0, 0], COV, {"V": I2, "A": [[0.5, 0.25], [0.25, -3.0]]}),
    (
        "noise-weighted-trace",
        NOISY,
        [0, 0],
        COV,
        {"V": np.diag([1.0, 2.0]), "A": [[-0.5, 1.0], [-0.5, -1.0]]},
    ),
    ("weighted-trace", Softmax(), [0, 0], COV, {"V": np.diag([1.0, 2.0]), "A": [[-1.0, 0.25], [0.5, -1.0]]}),
    ("bounded-gradient", Sinkhorn(), [0, 0], COV, {"V": np.diag([1.0, 4.0]), "A": [[-1, -3], [0, -1]]}),
    ("validated-integration", Softmax(), [0, 0], I2, {"V": np.diag([1.0, 4.0]), "A": [[-1, -3], [0, -1]]}),
    ("second-moment, commuting", Linear(), [1, -1], COV, {"V": I2, "A": -I2}),
    ("", L2(), [0, 0], COV, {"K": [[1, 0]], "Q": [[0, 1]], "V": np.diag([0.5, 1.0])}),
]


@pytest.mark.parametrize(("name", "model", "mean", "cov", "params"), CASES)
def test_results_pickle(name: str, model: Any, mean: Any, cov: Any, params: dict[str, Any]) -> None:
    result = long_time(model, Gaussian(mean, cov), params)
    assert ("" if result.criterion is None else result.criterion.name) == name
    t = 0.1
    before = None if result.closed_form is None else result.closed_form(t)  # fills caches that do not pickle
    back = pickle.loads(pickle.dumps(result))
    assert repr(back) == repr(result)
    assert back.to_latex() == result.to_latex()
    assert back.check()
    if before is not None:
        for one, other in zip(before, back.closed_form(t), strict=True):
            np.testing.assert_array_equal(one, other)
    if getattr(result.closed_form, "mean", None) is not None:
        assert back.closed_form.alpha(t) == result.closed_form.alpha(t)


def test_a_pickled_ball_contains_what_it_was() -> None:
    with ctx.workprec(256):
        ball = arb(2).sqrt() + arb(0, 1e-20)
    back = pickle.loads(pickle.dumps(ball))
    with ctx.workprec(256):
        assert back.contains(ball)
        assert float(back.rad()) <= float(ball.rad()) * (1 + 2.0**-28)
