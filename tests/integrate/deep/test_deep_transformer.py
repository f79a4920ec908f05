"""Networks against their definition, written down in NumPy with the same draws."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

from symflow import (
    L2,
    CommonNoise,
    DeepTransformer,
    Linear,
    Masked,
    MultiHead,
    Sigmoid,
    Sinkhorn,
    Softmax,
    Unnormalised,
    ensemble,
    solve,
)
from symflow.errors import InputError

ACTIVATIONS = {
    "relu": lambda z: np.maximum(z, 0.0),
    "leaky_relu": lambda z: np.maximum(z, 0.01 * z),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "silu": lambda z: z / (1.0 + np.exp(-z)),
    "erf": erf,
    "linear": lambda z: z,
    "z*tanh(3*z) + z**3/10": lambda z: z * np.tanh(3 * z) + z**3 / 10,
}
ROUNDING = 1e-13  # a few layers amplify errors of 1e-16


def unit(x: Any) -> Any:
    """Return x/|x| along the last axis."""
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def cloud(n: int, d: int, seed: int = 0) -> Any:
    return unit(np.random.default_rng(seed).normal(size=(n, d)))


def averages(weights: Any, x: Any) -> Any:
    return weights @ x / weights.sum(axis=1, keepdims=True)


def defined(network: DeepTransformer, x: Any, rng: int, path: int, attn: Any, phi: Any) -> Any:
    """Return the tokens after the last layer, by the definition."""
    h, d, m = network.horizon / network.layers, x.shape[1], network.width
    for layer in range(network.layers):
        w = network.weights(rng, layer, path)
        y = unit(x + h * attn(x))
        x = unit(y + np.sqrt(h) * (phi(y @ w.U.T / np.sqrt(d) + w.b_U) @ w.W.T / np.sqrt(m) + w.b_W))
    return x


SPHERE = {"space": "sphere"}


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_run_is_the_definition_for_every_activation(name: str, backend: str) -> None:
    noise = CommonNoise(name, 0.3, 0.2, dim=3)
    network = DeepTransformer(Softmax(**SPHERE, sign=0), noise, 5, 37, 2.0)
    x0 = cloud(11, 3)
    run = network.run(x0, 7, path=3, backend=backend)
    expected = defined(network, x0, 7, 3, lambda x: 0.0 * x, ACTIVATIONS[name])
    assert run.status == "finished" and run.x.shape == (6, 11, 3)
    np.testing.assert_allclose(run.t, np.arange(6) * 0.4, rtol=1e-15)
    np.testing.assert_allclose(run.x[-1], expected, rtol=0, atol=ROUNDING)
    assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() < 1e-12


def doubly_stochastic(kernel: Any) -> Any:
    """Return D K D with row and column sums 1, by the iteration of Sinkhorn for symmetric K."""
    scale = np.ones(len(kernel))
    for _ in range(2000):
        scale = np.sqrt(scale / (kernel @ scale))
    return scale[:, None] * kernel * scale


VARIANTS = {
    "softmax": (Softmax(**SPHERE, beta=2), lambda x: averages(np.exp(2 * x @ x.T), x)),
    "repulsive": (Softmax(**SPHERE, sign=-1), lambda x: -averages(np.exp(x @ x.T), x)),
    "l2": (L2(**SPHERE), lambda x: averages(np.exp(2 * x @ x.T), x)),
    "linear": (Linear(**SPHERE), lambda x: x @ x.T @ x / len(x)),
    "unnormalised": (Unnormalised(**SPHERE), lambda x: np.exp(x @ x.T) @ x / len(x)),
    "sigmoid": (Sigmoid(**SPHERE), lambda x: 1 / (1 + np.exp(-x @ x.T)) @ x / len(x)),
    "sinkhorn": (Sinkhorn(**SPHERE), lambda x: doubly_stochastic(np.exp(x @ x.T)) @ x),
    "masked": (Masked(Softmax(**SPHERE)), lambda x: averages(np.tril(np.exp(x @ x.T)), x)),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_attention_is_not_projected_before_it_is_added(name: str) -> None:
    model, attn = VARIANTS[name]
    network = DeepTransformer(model, CommonNoise("relu", 0.1, 0.1, dim=3), 4, 9, 1.5)
    x0 = cloud(6, 3)
    run = network.run(x0, 1, backend="numpy")
    expected = defined(network, x0, 1, 0, attn, ACTIVATIONS["relu"])
    np.testing.assert_allclose(run.x[-1], expected, rtol=0, atol=1e-11 if name == "sinkhorn" else ROUNDING)
    assert run.nfev == 4


def test_parameters_and_heads() -> None:
    rng = np.random.default_rng(3)
    q, k, v = rng.normal(size=(3, 2, 3, 3))
    noise, x0 = CommonNoise("relu", dim=3), cloud(5, 3)
    many = DeepTransformer(MultiHead(Softmax(**SPHERE)), noise, 3, 5, 1.0, params={"Q": q, "K": k, "V": v})

    def heads(x: Any) -> Any:
        return sum(averages(np.exp(x @ q[h].T @ k[h] @ x.T), x @ v[h].T) for h in range(2))

    expected = defined(many, x0, 1, 0, heads, ACTIVATIONS["relu"])
    np.testing.assert_allclose(many.run(x0, 1, backend="numpy").x[-1], expected, rtol=0, atol=ROUNDING)
    unlike = DeepTransformer(
        MultiHead([Softmax(**SPHERE), Linear(**SPHERE)]), noise, 3, 5, 1.0, params={"V_1": v[0]}
    )

    def sums(x: Any) -> Any:
        return averages(np.exp(x @ x.T), x @ v[0].T) + x @ x.T @ x / len(x)

    expected = defined(unlike, x0, 1, 0, sums, ACTIVATIONS["relu"])
    np.testing.assert_allclose(unlike.run(x0, 1, backend="numpy").x[-1], expected, rtol=0, atol=ROUNDING)
    still = DeepTransformer(Linear(**SPHERE), noise, 4, 5, 1.0)
    moving = DeepTransformer(
        Linear(**SPHERE), noise, 4, 5, 1.0, params={"V": lambda t: (1 if t < 0.5 else 2) * np.eye(3)}
    )
    one, other = (network.run(x0, 1, backend="numpy").x for network in (still, moving))
    np.testing.assert_allclose(one[:3], other[:3], atol=ROUNDING)  # layers 0 and 1 are at t = 0 and 1/4
    assert np.abs(one[3] - other[3]).max() > 1e-3


# ------------------------------------------------------------------------------------------------ streams


@pytest.fixture(scope="module")
def network() -> DeepTransformer:
    """Softmax attention with β = 4 and ReLU with biases."""
    return DeepTransformer(Softmax(**SPHERE, beta=4), CommonNoise("relu", 0.1, 0.1, dim=3), 12, 40, 1.0)


def test_a_path_is_the_same_alone_in_company_and_on_threads(network: DeepTransformer) -> None:
    x0 = cloud(7, 3)
    together = network.run(x0, 5, paths=9, every=4)
    assert together.x.shape == (9, 4, 7, 3) and (together.status == "finished").all()
    np.testing.assert_array_equal(together.x, network.run(x0, 5, paths=9, every=4, threads=3).x)
    alone = network.run(x0, np.random.default_rng(5), path=6)
    np.testing.assert_array_equal(together.x[6], alone.x[::4])
    np.testing.assert_array_equal(network.run(x0, 5, paths=[6, 2]).x[:, -1], together.x[[6, 2], -1])
    np.testing.assert_array_equal(together.member(6).x[-1], alone.x[-1])
    clouds = np.stack([cloud(7, 3, seed) for seed in range(3)])
    several = network.run(clouds, 5)
    np.testing.assert_array_equal(several.x[2, -1], network.run(clouds[2], 5, path=2).x[-1])
    assert not np.allclose(network.run(x0, 6).x[-1], network.run(x0, 5).x[-1])
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - that nobody touches it
    network.run(x0, 5)
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_compiled_layers_agree_with_numpy(network: DeepTransformer) -> None:
    for n in (1, 7, 8, 17):
        x0 = cloud(n, 3)
        np.testing.assert_allclose(
            network.run(x0, 2).x, network.run(x0, 2, backend="numpy").x, rtol=0, atol=ROUNDING
        )


def test_the_layers_draw_the_fields_of_the_equation() -> None:
    """Deeper networks follow the path of the equation that is drawn from the same features."""
    noise, model, x0 = CommonNoise("tanh", 0.1, 0.1, dim=3), Softmax(**SPHERE), cloud(6, 3)
    gaps = []
    for layers in (64, 1024):
        deep = DeepTransformer(model, noise, layers, 8, 1.0).run(x0, 3).x[-1]
        path = solve(model, x0, {}, (0, 1), noise=noise, dt=1 / layers, rng=3, draw="features", features=8)
        gaps.append(np.abs(deep - path.x[-1]).max())
    assert gaps[1] < gaps[0] / 2 and gaps[1] < 0.03  # of order L^(-1/2); other draws are 0.5 apart


def test_the_law_is_that_of_the_equation() -> None:
    """Mean cosine at t = 1, bias 0.1: network, covariance draws and features within 3 standard errors."""
    noise, model, x0 = CommonNoise("relu", 0.1, 0.1, dim=8), Softmax(**SPHERE, beta=4), cloud(16, 8, 5)

    def statistic(x: Any) -> tuple[float, float]:
        cosines = (np.sum(x.sum(axis=1) ** 2, axis=-1) - 16) / (16 * 15)
        return float(cosines.mean()), float(cosines.var(ddof=1) / cosines.size)

    ends = [DeepTransformer(model, noise, 100, 64, 1.0).run(x0, 1, paths=192).x[:, -1]]
    for draw in ("covariance", "features"):
        run = ensemble(model, x0, {}, (0, 1), noise=noise, dt=0.01, rng=2, paths=192, draw=draw)
        ends.append(run.x[:, -1])
    (a, va), *others = (statistic(x) for x in ends)
    for b, vb in others:
        assert abs(a - b) < 3 * np.sqrt(va + vb)
    silent = DeepTransformer(Softmax(**SPHERE, beta=4, sign=0), noise, 100, 64, 1.0).run(x0, 1, paths=192)
    c, vc = statistic(silent.x[:, -1])
    assert abs(a - c) > 3 * np.sqrt(va + vc)  # so that the test can tell laws apart


# ------------------------------------------------------------------------------------------------ requests


def test_what_is_recorded_and_how_a_run_is_stopped(network: DeepTransformer) -> None:
    x0 = cloud(4, 3)
    np.testing.assert_allclose(network.run(x0, 1, t_eval=[0.25, 0.5001, 1.0]).t, [0.25, 0.5, 1.0])
    np.testing.assert_allclose(network.run(x0, 1, every=5).t, np.array([0, 5, 10, 12]) / 12)
    seen: list[float] = []
    stopped = network.run(x0, 1, callback=lambda t, x: seen.append(t) or len(seen) == 3)
    assert stopped.status == "stopped" and stopped.t[-1] == seen[-1] == 0.25 and "callback" in stopped.message
    late = DeepTransformer(network.model, network.noise, 10**7, 40, 1.0).run(
        x0, 1, every=10**6, max_wall_time=0.05
    )
    assert late.status == "stopped" and "max_wall_time" in late.message and late.t[-1] < 1
    told: list[tuple[int, int]] = []
    network.run(x0, 1, paths=3, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (3, 3)
    assert network.run(x0, 1).energy(1.0).shape == (13,) and network.run(x0, 1).cosines().shape == (13, 4, 4)


def test_numbers_that_are_not_finite_end_a_run() -> None:
    noise = CommonNoise("exp(z)", 0, 300, dim=3)
    run = DeepTransformer(Softmax(**SPHERE, sign=0), noise, 3, 64, 1.0).run(cloud(4, 3), 1)
    assert run.status == "non-finite" and "layer" in run.message and np.isfinite(run.x).all()


REFUSED = [
    ({"layers": 0}, {}, "layers = 0"),
    ({"width": 2.5}, {}, "width = 2.5"),
    ({"horizon": -1}, {}, "horizon"),
    ({"noise": "relu"}, {}, "noise must be a CommonNoise"),
    ({"model": "softmax"}, {}, "model must be an attention model"),
    ({"model": Softmax()}, {}, "space='sphere'"),
    ({"model": Softmax(**SPHERE, diffusion=0.1)}, {}, "diffusion"),
    ({"params": {"V": np.eye(2)}}, {}, "V must have shape"),
    ({"params": {"B": np.eye(3)}}, {}, "'B' is unknown"),
    ({}, {"x0": np.zeros((2, 3))}, r"x0\[0\] is zero"),
    ({}, {"x0": cloud(2, 4)}, "dim = 3"),
    ({}, {"rng": -1}, "rng"),
    ({}, {"paths": 0}, "paths"),
    ({}, {"path": -1}, "path"),
    ({}, {"every": 0}, "every"),
    ({}, {"t_eval": [0.0, 2.0]}, r"t_eval\[1\]"),
    ({}, {"t_eval": [0.5, 0.25]}, "increasing"),
    ({}, {"every": 1, "t_eval": [0.5]}, "one of them"),
    ({}, {"backend": "gpu"}, "backend"),
    ({}, {"threads": 0}, "threads"),
    ({}, {"paths": 2, "callback": print}, "callback"),
    ({}, {"max_wall_time": 0}, "max_wall_time"),
    ({"layers": 10**9}, {}, "every"),
]


@pytest.mark.parametrize(("made", "asked", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_bad_input_is_refused_by_name(made: Any, asked: Any, words: str) -> None:
    noise = CommonNoise("relu", dim=3)
    parts = {"model": Softmax(**SPHERE), "noise": noise, "layers": 4, "width": 5, "horizon": 1.0}
    with pytest.raises(InputError, match=words):
        DeepTransformer(**parts | made).run(**{"x0": cloud(2, 3)} | asked)


def test_weights_of_a_layer_that_is_not_there(network: DeepTransformer) -> None:
    with pytest.raises(InputError, match="layer = 12"):
        network.weights(1, 12)


_SCRIPT = """
import signal
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
from symflow import CommonNoise, DeepTransformer, Softmax
model, noise = Softmax(space="sphere", sign=0), CommonNoise("relu", dim=3)
first = DeepTransformer(model, noise, 10, 8, 1.0).run(np.eye(3), 1)
print("running", flush=True)
try:
    DeepTransformer(model, noise, 10**9, 512, 1.0).run(np.eye(3), 1, every=10**9)
except KeyboardInterrupt:
    again = DeepTransformer(model, noise, 10, 8, 1.0).run(np.eye(3), 1)
    print("interrupted", np.array_equal(again.x, first.x), flush=True)
"""


def test_an_interrupt_ends_a_deep_run() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _SCRIPT], stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(0.3)
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted True\n"
        assert time.perf_counter() - sent < 2.0
        assert process.wait(timeout=20) == 0
