"""When sums over pairs are avoided: what is there, what pays, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow.codegen.expansions import fast_sum
from symflow.codegen.expansions.costs import direct, harmonic
from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead

CLOSE = 1e-12
TURN = np.array([[0.6, -0.8], [0.8, 0.6]])


def tokens(n: int, d: int, sphere: bool = True) -> Any:
    x = np.random.default_rng(n + d).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1)[:, None] if sphere else x


def value_of(found: Any, x: Any) -> Any:
    dy = np.full(x.size, np.nan)
    assert found.call(0.0, np.ascontiguousarray(x.ravel()), dy) == 0
    return dy.reshape(x.shape)


def projected(v: Any, x: Any) -> Any:
    return v - (v * x).sum(axis=1)[:, None] * x


@pytest.mark.parametrize("d", [2, 3])
def test_many_tokens_are_summed_fast_and_few_are_not(d: int) -> None:
    model = Softmax(space="sphere", beta=9)
    assert fast_sum(model, (d, 20), {}) is None
    found = fast_sum(model, (d, 5000), {})
    assert found is not None
    assert (found.method, found.error <= 1e-13) == ("harmonics", True)
    assert found.nanoseconds < found.direct_nanoseconds


def test_where_many_modes_do_not_pay_pairs_are_summed() -> None:
    model = Softmax(space="sphere", beta=150)
    assert fast_sum(model, (3, 2000), {}) is None
    assert fast_sum(model, (3, 2000), {}, summation="fast") is not None
    assert fast_sum(model, (3, 200_000), {}) is not None


def test_costs_grow_like_tokens_and_like_pairs() -> None:
    assert direct(2 * 10**6, 3) > 3.99 * direct(10**6, 3)
    assert harmonic(2 * 10**6, 3, 30, 1) < 2.01 * harmonic(10**6, 3, 30, 1)


def test_a_looser_tolerance_keeps_fewer_modes() -> None:
    model = Softmax(space="sphere", beta=9)
    sharp, loose = (fast_sum(model, (2, 5000), {}, tolerance) for tolerance in (1e-13, 1e-6))
    assert sharp is not None
    assert loose is not None
    assert loose.modes < sharp.modes
    x = tokens(5000, 2)
    assert 0 < np.abs(value_of(loose, x) - value_of(sharp, x)).max() < 1e-6


def test_direct_is_never_fast() -> None:
    assert fast_sum(Softmax(space="sphere"), (2, 5000), {}, summation="direct") is None


@pytest.mark.parametrize(
    ("model", "dims", "params", "reason"),
    [
        (Softmax(), (2, 500), {"A": np.eye(2), "V": np.eye(2)}, "do not live on a sphere"),
        (Softmax(space="sphere"), (4, 500), {}, "circle and on S²"),
        (Softmax(space="sphere"), (2, 500), {"A": np.diag([1.0, 2.0]), "V": np.eye(2)}, "no multiple of I"),
        (Softmax(space="sphere"), (2, 500), {"A": lambda t: np.eye(2)}, "not an array of numbers"),
        (Softmax(space="sphere", beta=10**7), (2, 500), {}, "too many modes"),
        (Sigmoid(space="sphere"), (2, 500), {}, "no exponentials"),
        (Unnormalised(space="sphere", beta=720), (2, 500), {}, "overflow"),
        (Masked(Softmax(space="sphere")), (2, 500), {}, "before them"),
    ],
)
def test_asked_for_what_there_is_not(model: Any, dims: Any, params: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        fast_sum(model, dims, params, summation="fast")
    assert fast_sum(model, dims, params) is None


def test_options_are_refused_by_name() -> None:
    model = Softmax(space="sphere")
    with pytest.raises(InputError, match="summation = 'slow'"):
        fast_sum(model, (2, 500), {}, summation="slow")
    for tolerance in (0.0, 1.0, float("nan"), True, "1e-3"):
        with pytest.raises(InputError, match="tolerance"):
            fast_sum(model, (2, 500), {}, tolerance)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one size for each of"):
        fast_sum(model, (2, 2, 500), {})


@pytest.mark.parametrize("sign", [1, -1])
def test_distances_of_unit_vectors(sign: int) -> None:
    x, value = tokens(400, 2), np.array([[1.0, 2.0], [0.5, -1.0]])
    found = fast_sum(
        L2(space="sphere", beta=2, sign=sign), (2, 2, 400), {"Q": TURN, "K": 3 * np.eye(2), "V": value}
    )
    assert found is not None
    score = -2.0 * (((x @ TURN.T)[:, None] - 3.0 * x[None]) ** 2).sum(axis=2)
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    mean = weight @ x / weight.sum(axis=1)[:, None]
    assert np.abs(value_of(found, x) - projected(sign * mean @ value.T, x)).max() < CLOSE


def test_weights_that_are_not_normalised_keep_their_size() -> None:
    x = tokens(400, 3)
    found = fast_sum(Unnormalised(space="sphere", beta=3, temperature=0.5), (3, 400), {}, summation="fast")
    mean = np.exp(6.0 * x @ x.T) @ x / 400
    assert np.abs(value_of(found, x) - projected(mean, x)).max() < CLOSE * np.exp(6.0)


def test_biases_of_the_value_and_a_layer() -> None:
    x, rng = tokens(300, 2), np.random.default_rng(8)
    params = {"Q": TURN, "K": np.eye(2), "V": rng.normal(size=(2, 2)), "bq": np.zeros(2), "bk": np.ones(2)}
    params |= {"bv": rng.normal(size=2), "bo": rng.normal(size=2)}
    params |= {"W": rng.normal(size=(2, 2)), "c": rng.normal(size=2)}
    found = fast_sum(Softmax(space="sphere", beta=4, feed_forward=True), (2, 2, 300), params)
    assert found is not None
    weight = np.exp(4.0 * ((x @ TURN.T) @ (x + 1.0).T - 2.0))
    mean = weight @ (x @ params["V"].T + params["bv"]) / weight.sum(axis=1)[:, None]
    v = mean + params["bo"] + x @ params["W"].T + params["c"]
    assert np.abs(value_of(found, x) - projected(v, x)).max() < CLOSE


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("d", [1, 5])
def test_linear_attention_in_any_space(masked: bool, d: int) -> None:
    x, rng, n = tokens(900, d, sphere=False), np.random.default_rng(1), 900
    a, v = rng.normal(size=(2, d, d))
    model = Masked(Linear(beta=0.5), sink=0.25) if masked else Linear(beta=0.5)
    found = fast_sum(model, (d, n), {"A": a, "V": v})
    assert found is not None
    assert (found.method, found.error) == ("moments", 0.0)
    weight = 0.5 * (x @ a.T) @ x.T
    weight = np.tril(weight) * np.array(model.weights(n)) if isinstance(model, Masked) else weight / n
    expected = weight @ x @ v.T
    assert np.allclose(value_of(found, x), expected, rtol=CLOSE, atol=CLOSE * np.abs(expected).max())


@pytest.mark.parametrize("variant", [Softmax, Linear])
def test_heads(variant: Any) -> None:
    """Each head has a rotation of its own."""
    x, rng, heads = tokens(2000, 2), np.random.default_rng(4), 3
    q = np.stack([s * np.linalg.qr(rng.normal(size=(2, 2)))[0] for s in (1.0, 2.0, 0.5)])
    k, v = np.stack([np.eye(2)] * heads), rng.normal(size=(heads, 2, 2))
    w = rng.normal(size=(heads, 2, 2))
    model = MultiHead(variant(space="sphere"))
    dims = tuple(2 for _ in model.statement(("Q", "K", "V", "W")).dimensions[:-1]) + (heads, 2000)
    found = fast_sum(model, dims, {"Q": q, "K": k, "V": v, "W": w})
    assert found is not None
    expected = np.zeros_like(x)
    for h in range(heads):
        score = (x @ q[h].T) @ x.T
        weight = np.exp(score) if variant is Softmax else score / 2000
        mean = weight @ x / (weight.sum(axis=1)[:, None] if variant is Softmax else 1.0)
        expected += mean @ v[h].T @ w[h].T
    assert np.abs(value_of(found, x) - projected(expected, x)).max() < 10 * CLOSE
