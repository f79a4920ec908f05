"""Sums over tokens without their pairs, against the sums over pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from symflow.codegen.expansions import fast_sum
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow_ext import fast_sums, runtime

#: Agreement with the sum over pairs, both of them rounded.
CLOSE = 1e-12


@pytest.fixture(params=[8, 4, 2])
def registers(request: Any) -> Iterator[int]:
    """Use registers of one width."""
    fast_sums.use_registers(request.param)
    yield request.param
    fast_sums.use_registers(8)


@pytest.fixture
def threads() -> Iterator[Any]:
    before = runtime.threads()
    yield runtime.set_threads
    runtime.set_threads(before)


def on_sphere(n: int, d: int, seed: int = 0) -> Any:
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


def over_pairs(x: Any, kappa: float, rows: Any = slice(None), turn: Any = None, value: Any = None) -> Any:
    """Return the velocity of some rows by the definition."""
    d = x.shape[1]
    query = x[rows] if turn is None else x[rows] @ turn.T
    score = kappa * query @ x.T
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    mean = (weight @ x) / weight.sum(axis=1)[:, None] @ (np.eye(d) if value is None else value).T
    return mean - (mean * x[rows]).sum(axis=1)[:, None] * x[rows]


def velocity(x: Any, kappa: float, **params: Any) -> Any:
    found = fast_sum(Softmax(space="sphere", beta=kappa), x.shape[::-1], params, summation="fast")
    assert found is not None
    assert found.method == "harmonics"
    dy = np.full(x.size, np.nan)
    assert found.call(0.0, np.ascontiguousarray(x.ravel()), dy) == 0
    return dy.reshape(x.shape)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("kappa", [0.0, 1e-9, 0.3, 9.0, 60.0])
@pytest.mark.parametrize("n", [1, 37, 1300])
def test_the_mean_of_softmax(registers: int, d: int, kappa: float, n: int) -> None:
    x = on_sphere(n, d)
    assert np.abs(velocity(x, kappa) - over_pairs(x, kappa)).max() < CLOSE


@pytest.mark.parametrize("d", [2, 3])
def test_general_values_and_rotated_queries(registers: int, d: int) -> None:
    rng = np.random.default_rng(3)
    turn, value = np.linalg.qr(rng.normal(size=(d, d)))[0], rng.normal(size=(d, d))
    x = on_sphere(700, d)
    found = velocity(x, 2.0, A=3.0 * turn, V=value)
    assert np.abs(found - over_pairs(x, 6.0, turn=turn, value=value)).max() < CLOSE


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("kappa", [9.0, 40.0])
def test_lonely_tokens_are_summed_directly(d: int, kappa: float) -> None:
    """Their mass is about 1/n, and what harmonics round would be divided by it."""
    x = on_sphere(20000, d)
    x[:, 0] = np.abs(x[:, 0]) + 5.0
    x[7, :] = 0.0
    x[7, 0] = -1.0
    x /= np.linalg.norm(x, axis=1)[:, None]
    rows = np.array([7, 0, 19999])
    assert np.abs(velocity(x, kappa)[rows] - over_pairs(x, kappa, rows)).max() < CLOSE


@pytest.mark.parametrize(("d", "kappa"), [(2, 18.0), (2, 400.0), (3, 18.0), (3, 150.0)])
def test_all_keys_far_from_all_queries(registers: int, d: int, kappa: float) -> None:
    """A = −I and one cluster: masses are e^{−2κ}, beneath all numbers where κ is large."""
    x = on_sphere(600, d)
    x[:, 0] += 40.0
    x /= np.linalg.norm(x, axis=1)[:, None]
    found = velocity(x, kappa, A=-np.eye(d), V=np.eye(d))
    assert np.abs(found - over_pairs(x, kappa, turn=-np.eye(d))).max() < CLOSE


def test_lonely_tokens_without_normalisation() -> None:
    x = on_sphere(600, 2)
    x[:, 0] += 40.0
    x /= np.linalg.norm(x, axis=1)[:, None]
    model = Unnormalised(space="sphere", beta=3)
    found = fast_sum(model, (2, 600), {"A": -2.0 * np.eye(2), "V": np.eye(2)}, summation="fast")
    assert found is not None
    dy = np.zeros(1200)
    found.call(0.0, x.ravel(), dy)
    mean = np.exp(-6.0 * x @ x.T) @ x / 600
    expected = mean - (mean * x).sum(axis=1)[:, None] * x
    assert np.abs(dy.reshape(600, 2) - expected).max() < CLOSE * np.exp(-6.0)


def test_coincident_antipodal_and_polar_tokens() -> None:
    x = np.repeat([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1e-9, 0.0, 1.0], [1.0, 0.0, 0.0]], 50, axis=0)
    assert np.abs(velocity(x, 5.0) - over_pairs(x, 5.0)).max() < CLOSE


def test_many_modes_on_the_circle() -> None:
    """κ = 1000 needs about 280 of them; scores themselves round to 1000·2⁻⁵³."""
    x = on_sphere(1500, 2)
    assert np.abs(velocity(x, 1000.0) - over_pairs(x, 1000.0)).max() < CLOSE


@pytest.mark.parametrize("d", [2, 3])
def test_many_tokens(d: int) -> None:
    x, rows = on_sphere(100_000, d), np.arange(0, 100_000, 5000)
    assert np.abs(velocity(x, 9.0)[rows] - over_pairs(x, 9.0, rows)).max() < CLOSE


@pytest.mark.parametrize("d", [2, 3])
def test_bits_do_not_depend_on_threads(threads: Any, d: int) -> None:
    x, found = on_sphere(30_001, d), []
    for count in (1, 2, 3):
        threads(count)
        found.append(velocity(x, 9.0))
    assert all(np.array_equal(other, found[0]) for other in found[1:])


def test_a_copy_has_scratch_of_its_own() -> None:
    x = on_sphere(400, 3)
    found = fast_sum(Softmax(space="sphere", beta=4), (3, 400), {}, summation="fast")
    assert found is not None
    first, second, y = np.zeros(1200), np.zeros(1200), x.ravel()
    found.call(0.0, y, first)
    found.call.copy()(0.0, y, second)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (50, 3), (60, 70)])
@pytest.mark.parametrize("sphere", [False, True])
def test_moments(causal: bool, n: int, d: int, sphere: bool) -> None:
    rng = np.random.default_rng(5)
    y, background, theta = rng.normal(size=(n, d)), rng.normal(size=(d + 1, d)), rng.random(n)
    expected, rows = y @ background[:d].T + background[d], []
    for _ in range(2):
        b, m = rng.normal(size=(2, d, d))
        key, query, shift = rng.normal(size=(3, d))
        weight = (y @ b.T) @ y.T + (y @ key)[None, :] + (y @ query)[:, None] + 0.5
        weight = np.tril(weight) * theta if causal else weight / n
        expected = expected + weight @ y @ m.T + weight.sum(axis=1)[:, None] * shift
        rows.append(np.concatenate([b.ravel(), key, query, [0.5], m.ravel(), shift]))
    if sphere:
        expected = expected - (expected * y).sum(axis=1)[:, None] * y
    call = fast_sums.Moments(n, d, background, np.array(rows), theta if causal else None, sphere)
    dy = np.zeros(n * d)
    assert call(0.0, y.ravel(), dy) == 0
    assert np.allclose(dy.reshape(n, d), expected, rtol=CLOSE, atol=CLOSE * np.abs(expected).max())


def test_the_stepper_takes_it() -> None:
    """Two tokens at angle 0.8, β = 1.3, have the cosine 0.9426568934 at t = 1."""
    found = fast_sum(Softmax(space="sphere", beta=1.3), (2, 2), {}, summation="fast")
    assert found is not None
    y0 = np.array([1.0, 0.0, np.cos(0.8), np.sin(0.8)])
    stepper = runtime.Stepper(found.call, "dop853", 0.0, y0, 1.0, rtol=1e-11, atol=np.full(4, 1e-13))
    t, y = np.empty(101), np.empty((101, 4))
    status, steps = stepper.advance(t, y, np.empty((100, stepper.dense_rows, 4)), 100, 60.0)
    assert status == "finished"
    assert abs(y[steps, :2] @ y[steps, 2:] - 0.9426568934) < 1e-9


def test_what_cannot_be_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="d = 2 or 3"):
        fast_sums.Harmonics(5, 4, np.zeros((4, 4)), np.zeros(4), [{}])
    with pytest.raises(ValueError, match="must be positive"):
        fast_sums.Moments(0, 2, np.zeros((3, 2)), np.zeros((0, 15)))
    with pytest.raises(ValueError, match="background must hold 6"):
        fast_sums.Moments(3, 2, np.zeros((2, 2)), np.zeros((0, 15)))
