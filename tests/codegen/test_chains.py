"""Ordered positions: one loop, running sums before and including each position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow.codegen import calls
from symflow.codegen.load import Form
from symflow.codegen.lower import lower
from symflow.codegen.program import Loop

D, N, R = 3, 5, 2
RNG = np.random.default_rng(5)
FACTOR = RNG.normal(size=(N, D, R))
MEAN = RNG.normal(size=(N, D))
COV = FACTOR @ FACTOR.transpose(0, 2, 1)
A, V = RNG.normal(size=(2, D, D))
THETA = RNG.uniform(0.1, 0.3, size=N)
VALUES = {"A": A, "V": V, "theta": THETA}


@pytest.fixture(scope="module")
def built(make: Any) -> tuple[Form, Form]:
    """Causal linear attention, compiled and in NumPy."""
    return make.forms(make.chain())["chain"]  # type: ignore[no-any-return]


def drift(mean: Any, cov: Any) -> tuple[Any, Any, Any]:
    """The definition: position s sees the moments of all τ ≤ s."""
    seen = np.cumsum(THETA[:, None, None] * (cov + mean[:, :, None] * mean[:, None, :]), axis=0)
    gradient = V @ seen @ A
    half = gradient @ cov
    return (gradient @ mean[:, :, None])[:, :, 0], half + half.transpose(0, 2, 1), gradient


@pytest.mark.parametrize("which", [0, 1])
def test_every_position_sees_itself_and_those_before(built: tuple[Form, Form], which: int) -> None:
    call = calls.bind(built[which], "moments", (D, N), VALUES)
    found = calls.evaluate(call, 0.0, np.concatenate([MEAN.ravel(), COV.ravel()]))
    mean, cov, gradient = drift(MEAN, COV)
    np.testing.assert_allclose(found[: N * D].reshape(N, D), mean, atol=1e-12)
    np.testing.assert_allclose(found[N * D :].reshape(N, D, D), cov, atol=1e-12)
    call = calls.bind(built[which], "factor", (D, N, R), VALUES)
    found = calls.evaluate(call, 0.0, np.concatenate([MEAN.ravel(), FACTOR.ravel()]))
    np.testing.assert_allclose(found[N * D :].reshape(N, D, R), gradient @ FACTOR, atol=1e-12)


@pytest.mark.parametrize("which", [0, 1])
def test_tangent_of_all_positions(built: tuple[Form, Form], which: int) -> None:
    """Every entry is a cubic polynomial, so the central difference is exact but for the cubic term."""
    d_mean, d_cov = RNG.normal(size=MEAN.shape), RNG.normal(size=COV.shape)
    state = np.concatenate([x.ravel() for x in (MEAN, COV, d_mean, d_cov)])
    found = calls.evaluate(calls.bind(built[which], "tangent", (D, N), VALUES), 0.0, state)

    def quotient(h: float) -> Any:
        ends = [drift(MEAN + s * h * d_mean, COV + s * h * d_cov)[:2] for s in (1, -1)]
        return np.concatenate([((a - b) / (2 * h)).ravel() for a, b in zip(*ends, strict=True)])

    exact = (4 * quotient(0.01) - quotient(0.02)) / 3
    seen = found[: exact.size].copy()
    # The program takes M + Mᵀ of M = LΣ, the definition above LΣ + (LΣ)ᵀ too: the same in any direction.
    np.testing.assert_allclose(seen, exact, atol=1e-9 * np.abs(exact).max())


def test_one_loop_whatever_the_number_of_positions(make: Any) -> None:
    for program in lower(make.chain()).values():
        assert sum(isinstance(op, Loop) for op in program.ops) == 1
        assert program.inputs[0].lead == "n"


def test_positions_lead_in_the_shapes(built: tuple[Form, Form]) -> None:
    entry = built[0].interface.entry("factor")
    assert [slot.shown for slot in entry.inputs] == ["(n, d)", "(n, d, r)"]
    assert [slot.shown for slot in built[0].interface.entry("moments").outputs] == ["(n, d)", "(n, d, d)"]
