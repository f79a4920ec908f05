"""Tokens with noise: laws that are known, orders of convergence, streams, and what is refused.

Public reports: M093 (Brownian motion on the sphere), N066 (no way back in time), R101 (seeds), R103 (Itô and
Stratonovich), R104 (shapes of noise), R106 (no noise, linear drift), U114 (Ctrl-C).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.stats import linregress

from symflow import L2, Gaussian, Linear, Sigmoid, Sinkhorn, Softmax, Unnormalised, ensemble, errors, solve
from symflow.integrate.stochastic.field import paths_module, schoenberg
from symflow.integrate.stochastic.own import solve_sde
from symflow.integrate.stochastic.streams import stream_key
from symflow.noise.common import CommonNoise

pytest.importorskip("symflow_ext.paths")

SPHERE = Softmax(space="sphere")
STILL = Softmax(space="sphere", sign=0)
DRAWS: list[dict[str, Any]] = [
    {},
    {"draw": "features", "features": 32},
    {"draw": "harmonics", "degree": 10},
    {"draw": "features", "features": 32, "method": "heun"},
    {"draw": "harmonics", "degree": 10, "method": "heun"},
]


def on_sphere(n: int, d: int, seed: int = 0) -> Any:
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def within(sample: Any, mean: float, errors_allowed: float = 4.0) -> bool:
    """Whether the mean of independent numbers is as far from ``mean`` as chance allows."""
    return abs(np.mean(sample) - mean) < errors_allowed * np.std(sample) / np.sqrt(np.size(sample))


# ------------------------------------------------------------ known laws


def test_brownian_motion_on_the_sphere() -> None:
    x0 = np.tile([1.0, 0.0, 0.0], (64, 1))
    for method in ("euler-maruyama", "heun"):
        runs = ensemble(STILL, x0, {}, (0, 1), noise=0.6, dt=0.01, rng=1, paths=400, method=method)
        assert within(runs.x[:, -1, :, 0], np.exp(-0.36), 4.0)
        assert np.abs(np.linalg.norm(runs.x, axis=-1) - 1.0).max() < 1e-12


def test_a_token_in_common_noise_is_brownian_motion_on_the_sphere() -> None:
    noise = CommonNoise("relu", 0.5, 0.5, dim=3)
    expected = np.exp(-noise.kappa(1.0))  # E x₁ decays like (d − 1)κ(1)/2
    x0 = np.array([[1.0, 0.0, 0.0]])
    for how in DRAWS:
        runs = ensemble(STILL, x0, {}, (0, 1), noise=noise, dt=0.05, rng=2, paths=800, **how)
        assert within(runs.x[:, -1, 0, 0], expected)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("how", DRAWS[:3], ids=["covariance", "features", "harmonics"])
def test_increments_have_the_covariance_of_the_field(how: dict[str, Any], d: int) -> None:
    noise, h, x0 = CommonNoise("relu", 0.3, 0.2, dim=d), 1e-8, on_sphere(4, d, seed=3)
    runs = ensemble(STILL, x0, {}, (0, h), noise=noise, dt=h, rng=4, paths=4000, **how)
    moves = (runs.x[:, 1] - x0) / np.sqrt(h)
    for i in range(4):
        for j in range(i + 1):
            project = [np.eye(d) - np.outer(x, x) for x in (x0[i], x0[j])]
            expected = noise.kappa(x0[i] @ x0[j]) * np.trace(project[0] @ project[1])
            assert within((moves[:, i] * moves[:, j]).sum(axis=1), expected)


def test_linear_drift_has_the_variance_of_ornstein_and_uhlenbeck() -> None:
    # One token sees itself alone: A = 0, V = −1 is dx = −x dt + √(2ε)dB; Heun's bias is below 1e-3.
    model, params = Softmax(diffusion=0.3), {"A": [[0.0]], "V": [[-1.0]]}
    runs = ensemble(model, [[1.2]], params, (0, 1), dt=0.05, rng=5, paths=20_000, method="heun")
    variance = 0.3 * (1.0 - np.exp(-2.0))
    x = runs.x[:, -1, 0, 0]
    assert within(x, 1.2 * np.exp(-1.0))
    assert abs(x.var() - variance) < 4.0 * variance * np.sqrt(2.0 / x.size)


def test_no_noise_is_the_flow() -> None:
    x0 = on_sphere(6, 3)
    flow = solve(SPHERE, x0, {}, (0, 1), t_eval=[1.0]).x[-1]
    errors_of: dict[str, list[float]] = {}
    for method in ("euler-maruyama", "heun"):
        for dt in (0.1, 0.05):
            found = solve(SPHERE, x0, {}, (0, 1), noise=0.0, dt=dt, method=method, t_eval=[1.0]).x[-1]
            errors_of.setdefault(method, []).append(float(np.abs(found - flow).max()))
    assert 1.7 < np.divide(*errors_of["euler-maruyama"]) < 2.3
    assert 3.4 < np.divide(*errors_of["heun"]) < 4.6
    fine = solve(SPHERE, x0, {}, (0, 1), noise=0.0, dt=1e-3, method="heun", t_eval=[1.0]).x[-1]
    assert np.abs(fine - flow).max() < 1e-6


def test_the_draws_agree_and_a_root_of_the_covariance_in_heuns_method_does_not() -> None:
    # Attention makes the tokens gather, which the drift of a wrong reading changes.
    # Standard errors are about 0.01, and so are the biases of the steps.
    noise, x0, h = CommonNoise("3*Max(z, 0)", dim=8), on_sphere(32, 8, seed=5), 0.02
    model = Softmax(space="sphere", beta=4)
    means = []
    for how in (DRAWS[0], DRAWS[1], DRAWS[3]):
        runs = ensemble(model, x0, {}, (0, 1), noise=noise, dt=h, rng=6, paths=400, **how)
        means.append(_mean_cosine(runs.x[:, -1]))
    wrong = _mean_cosine(_with_a_root_of_the_covariance(noise, x0, h, steps=50, paths=400))
    for mean, error in means[1:]:
        assert abs(means[0][0] - mean) < 3.0 * np.hypot(means[0][1], error)
    for mean, error in means:
        assert abs(mean - wrong[0]) > 4.5 * np.hypot(error, wrong[1])


def _mean_cosine(x: Any) -> tuple[float, float]:
    """Return the mean over paths and pairs of tokens, and its standard error."""
    n = x.shape[1]
    means = (np.square(x.sum(axis=1)).sum(axis=1) - n) / (n * (n - 1))
    return float(means.mean()), float(means.std() / np.sqrt(means.size))


def _with_a_root_of_the_covariance(noise: CommonNoise, x0: Any, h: float, steps: int, paths: int) -> Any:
    """Return tokens by Heun's method with the triangular factor as if it were the noise: it is not."""
    rng, x = np.random.default_rng(0), np.broadcast_to(x0, (paths, *x0.shape)).copy()

    def move(at: Any, z: Any) -> Any:
        cosine = np.clip(at @ at.swapaxes(1, 2), -1.0, 1.0)
        weight = np.exp(4.0 * cosine)
        v = h * (weight @ at) / weight.sum(axis=-1, keepdims=True)
        v += np.sqrt(h) * np.linalg.cholesky(noise.kappa(cosine) + 1e-10 * np.eye(len(x0))) @ z
        return v - (v * at).sum(axis=-1, keepdims=True) * at

    for _ in range(steps):
        z = rng.normal(size=x.shape)
        first = move(x, z)
        ahead = x + first
        second = move(ahead / np.linalg.norm(ahead, axis=-1, keepdims=True), z)
        x = x + 0.5 * (first + second)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return x


def test_merged_and_opposite_tokens_move_together() -> None:
    x = on_sphere(3, 3, seed=8)
    x0 = np.stack([x[0], x[1], x[0], x[2], x[1], x[0]])
    run = solve(SPHERE, x0, {}, (0, 2), noise=CommonNoise("relu", dim=3), dt=0.01, rng=9)
    assert run.success
    assert np.abs(run.x[:, [0, 0, 1]] - run.x[:, [2, 5, 4]]).max() < 1e-12
    assert np.abs(run.x[:, 0] - run.x[:, 1]).max() > 0.1
    odd = CommonNoise("linear", dim=3)
    run = solve(STILL, np.stack([x[0], -x[0], x[1]]), {}, (0, 2), noise=odd, dt=0.01, rng=9)
    assert np.abs(run.x[:, 0] + run.x[:, 1]).max() < 1e-12


# ------------------------------------------------------------ orders


def _strong_errors(reference: Any, runs: list[Any]) -> list[float]:
    return [float(np.sqrt(np.mean(np.sum((run - reference) ** 2, axis=-1)))) for run in runs]


def test_strong_order_on_the_sphere_is_as_declared() -> None:
    x0, noise = on_sphere(3, 3, seed=1), CommonNoise("relu", 0.5, 0.5, dim=3)

    def end(substeps: int) -> Any:
        h = substeps / 512
        return ensemble(SPHERE, x0, {}, (0, 1), noise=noise, dt=h, substeps=substeps, rng=3, paths=200).x[
            :, -1
        ]

    sizes = [8, 16, 32, 64]
    errors_found = _strong_errors(end(1), [end(size) for size in sizes])
    slope = linregress(np.log(sizes), np.log(errors_found)).slope
    assert 0.4 < slope < 0.75


def test_weak_order_on_the_sphere_is_at_least_as_declared() -> None:
    # E x₁ = e^{−σ²} of Brownian motion with σ = 1 is far off for these steps; 10⁵ samples, error 0.0015.
    x0 = np.tile([1.0, 0.0, 0.0], (256, 1))
    biases = []
    for h in (0.5, 0.25, 0.125):
        runs = ensemble(STILL, x0, {}, (0, 1), noise=1.0, dt=h, rng=11, paths=400)
        biases.append(abs(float(runs.x[:, -1, :, 0].mean()) - np.exp(-1.0)))
    assert biases[2] > 0.005  # more than chance
    assert linregress(np.log([0.5, 0.25, 0.125]), np.log(biases)).slope > 0.8


def test_ito_and_stratonovich_of_one_equation() -> None:
    ends, slopes = {}, {}
    for reading, exact in (("ito", -0.5), ("stratonovich", 0.0)):

        def run(substeps: int, reading: str = reading) -> Any:
            return solve_sde(
                lambda t, x: np.zeros_like(x), lambda t, x: x, 1.0, (0, 1), dt=substeps / 128, rng=2,
                paths=500, substeps=substeps, interpretation=reading,
            )[1][:, -1, 0]  # fmt: skip

        motion = solve_sde(
            lambda t, x: np.zeros_like(x), lambda t, x: np.ones_like(x), 0.0, (0, 1), dt=1 / 128, rng=2,
            paths=500, interpretation="ito",
        )[1][:, -1, 0]  # fmt: skip
        solution = np.exp(motion + exact)
        ends[reading] = run(1)
        wrong = [float(np.abs(run(size) - solution).mean()) for size in (2, 4, 8, 16)]
        slopes[reading] = linregress(np.log([2, 4, 8, 16]), np.log(wrong)).slope
    assert within(ends["ito"], 1.0)
    assert within(ends["stratonovich"], np.exp(0.5))
    assert 0.4 < slopes["ito"] < 0.65  # Euler and Maruyama: 1/2
    assert 0.85 < slopes["stratonovich"] < 1.15  # Heun, one Brownian motion: 1


# ------------------------------------------------------------ streams


def test_one_seed_is_one_path_whatever_else_runs() -> None:
    x0, noise = on_sphere(5, 3), CommonNoise("relu", 0.1, 0.1, dim=3)
    state = np.random.get_state()[1].copy()  # noqa: NPY002, it has to stay as it is
    common: dict[str, Any] = {"noise": noise, "dt": 0.02, "t_eval": [0.0, 0.31, 0.5]}
    runs = ensemble(SPHERE, x0, {}, (0, 0.5), rng=7, paths=20, **common)
    again = ensemble(SPHERE, x0, {}, (0, 0.5), rng=np.random.default_rng(7), paths=20, threads=3, **common)
    assert np.array_equal(runs.x, again.x)
    alone = ensemble(SPHERE, x0, {}, (0, 0.5), rng=7, paths=[13], **common)
    assert np.array_equal(alone.x[0], runs.x[13])
    others = ensemble(SPHERE, x0, {}, (0, 0.5), rng=7, paths=[19, 13, 2], **common)
    assert np.array_equal(others.x, runs.x[[19, 13, 2]])
    single = solve(SPHERE, x0, {}, (0, 0.5), rng=7, path=13, **common)
    assert np.array_equal(single.x, runs.x[13])
    every = solve(SPHERE, x0, {}, (0, 0.5), rng=7, path=13, noise=noise, dt=0.02)
    assert np.array_equal(every.x[-1], runs.x[13, -1])
    assert not np.array_equal(runs.x[12], runs.x[13])
    assert not np.array_equal(ensemble(SPHERE, x0, {}, (0, 0.5), rng=8, paths=20, **common).x, runs.x)
    generator = np.random.default_rng(7)
    first, second = (solve(SPHERE, x0, {}, (0, 0.5), rng=generator, **common).x for _ in range(2))
    assert np.array_equal(first, runs.x[0])
    assert not np.array_equal(first, second)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_shapes_of_additive_noise() -> None:
    params, x0 = {"A": -np.eye(3), "V": np.eye(3)}, np.random.default_rng(0).normal(size=(4, 3))

    def run(noise: Any, **model: Any) -> Any:
        return solve(Softmax(**model), x0, params, (0, 1), noise=noise, dt=0.1, rng=4).x

    number = run(0.5)
    for same in (0.5 * np.ones(3), 0.5 * np.eye(3), (0.5 * np.eye(3)).tolist()):
        assert np.array_equal(run(same), number)
    assert np.allclose(run(None, diffusion=0.125), number, rtol=0, atol=1e-14)
    narrow = run([[1.0], [0.0], [2.0]])
    quiet = solve(Softmax(), x0, {"A": np.zeros((3, 3)), "V": np.zeros((3, 3))}, (0, 1), dt=0.1, rng=4,
                  noise=[[1.0], [0.0], [2.0]]).x  # fmt: skip
    moved = quiet[-1] - x0
    assert np.allclose(moved[:, 2], 2.0 * moved[:, 0])
    assert np.all(moved[:, 1] == 0.0)
    assert narrow.shape == number.shape
    for wrong in (np.ones(4), np.ones((4, 3)), np.ones((3, 0)), "relu", np.nan):
        with pytest.raises(errors.InputError, match="noise"):
            run(wrong)


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (L2(space="sphere", beta=2), {}),
        (Sigmoid(space="sphere"), {}),
        (Unnormalised(space="sphere"), {}),
        (Linear(space="sphere"), {}),
        (Sinkhorn(space="sphere"), {}),
        (Softmax(space="sphere", sign=-1, beta=3), {}),
        (Softmax(space="sphere"), {"V": np.diag([1.0, -1.0, 2.0])}),
    ],
)
def test_every_model_runs_with_common_noise(model: Any, params: dict[str, Any]) -> None:
    x0, noise = on_sphere(5, 3, seed=2), CommonNoise("relu", dim=3)
    velocity = solve(model, x0, params, (0, 1e-6), method="rk4", dt=1e-6).x[-1] - x0
    still = solve(STILL, x0, {}, (0, 1e-6), noise=noise, dt=1e-6, rng=1).x[-1] - x0
    both = solve(model, x0, params, (0, 1e-6), noise=noise, dt=1e-6, rng=1).x[-1] - x0
    assert np.abs(both - still - velocity).max() < 1e-8  # products of both are of order h^{3/2}


def test_attention_in_lanes_is_that_of_the_kernel() -> None:
    noise, common = CommonNoise("relu", dim=3), {"dt": 0.05, "rng": 1}
    for n in (1, 3, 4, 9):
        x0 = on_sphere(n, 3, seed=n)
        for model in (Softmax(space="sphere", beta=5), Softmax(space="sphere", sign=-1, temperature=0.01)):
            lanes = solve(model, x0, {}, (0, 0.5), noise=noise, **common)
            kernel = solve(model, x0, {"V": np.eye(3)}, (0, 0.5), noise=noise, **common)
            assert np.abs(lanes.x - kernel.x).max() < 1e-10
            numpy = solve(model, x0, {}, (0, 0.5), noise=noise, backend="numpy", **common)
            assert np.abs(lanes.x - numpy.x).max() < 1e-10


def test_schoenberg_coefficients_sum_up_to_the_covariance() -> None:
    u = np.linspace(-1.0, 1.0, 41)
    noise = CommonNoise("relu", 0.2, 0.3, dim=2)
    chebyshev = schoenberg(noise.kappa, 2, 60)
    assert np.abs(np.polynomial.chebyshev.chebval(u, chebyshev) - noise.kappa(u)).max() < 1e-5
    legendre = schoenberg(noise.kappa, 3, 60)
    assert np.abs(np.polynomial.legendre.legval(u, legendre) - noise.kappa(u)).max() < 1e-5
    assert legendre.min() >= 0.0


# ------------------------------------------------------------ ends and refusals


def test_ways_in_which_a_path_ends() -> None:
    x0, noise = on_sphere(3, 3), CommonNoise("relu", dim=3)
    called = solve(SPHERE, x0, {}, (0, 1), noise=noise, dt=0.1, rng=1, callback=lambda t, x: t > 0.45)
    assert (called.status, called.t[-1], called.x.shape) == ("stopped", 0.5, (6, 3, 3))
    late = solve(SPHERE, x0, {}, (0, 1e9), noise=noise, dt=0.1, rng=1, max_wall_time=0.05, t_eval=[0.0, 1e9])
    assert late.status == "stopped"
    assert late.t.size == 2
    assert 0.0 < late.t[-1] < 1e9
    assert "max_wall_time" in late.message
    grows = Linear()
    params = {"A": np.eye(1), "V": np.eye(1)}
    blown = solve(grows, [[3.0], [2.0]], params, (0, 50), noise=0.1, dt=0.1, rng=1)
    assert blown.status == "non-finite"
    assert np.isfinite(blown.x).all()
    assert blown.t[-1] < 50.0
    runs = ensemble(grows, [[3.0], [2.0]], params, (0, 50), noise=0.1, dt=0.1, rng=1, paths=3)
    assert runs.status.tolist() == ["non-finite"] * 3
    assert np.array_equal(runs.member(0).x[-1], blown.x[-1])
    short = solve(SPHERE, x0, {}, (0, 0.25), noise=noise, dt=0.1, rng=1)
    assert np.allclose(short.t, [0.0, 0.1, 0.2, 0.25])
    assert solve(SPHERE, x0, {}, (0, 0), noise=noise, dt=0.1, rng=1).t.tolist() == [0.0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"t_span": (1, 0)}, "backwards"),
        ({"dt": None}, "give dt"),
        ({"dt": -0.1}, "dt"),
        ({"method": "dop853"}, "dop853"),
        ({"method": "heun", "draw": "covariance"}, "one realisation at two|one .*realisation"),
        ({"draw": "cholesky"}, "draw"),
        ({"features": 0, "draw": "features"}, "features"),
        ({"noise": CommonNoise("relu", dim=4)}, "dim = 4"),
        ({"rng": "seven"}, "rng"),
        ({"rng": -1}, "rng"),
        ({"path": -1}, "path"),
        ({"events": lambda t, x: 0.0}, "events"),
        ({"dense_output": True}, "dense_output"),
        ({"summation": "fast"}, "summation"),
    ],
)
def test_what_is_refused_by_name(given: dict[str, Any], told: str) -> None:
    asked: dict[str, Any] = {"t_span": (0, 1), "noise": CommonNoise("relu", dim=3), "dt": 0.1, **given}
    span = asked.pop("t_span")
    with pytest.raises(errors.InputError, match=told):
        solve(SPHERE, on_sphere(3, 3), {}, span, **asked)


def test_refusals_beside_noise() -> None:
    noise = CommonNoise("relu", dim=1 + 1)
    with pytest.raises(errors.InputError, match="Gaussian"):
        solve(
            Softmax(), Gaussian([0.0, 0.0], np.eye(2)), {"A": np.eye(2), "V": np.eye(2)}, (0, 1), noise=noise
        )
    with pytest.raises(errors.InputError, match="sphere"):
        solve(Softmax(), np.ones((2, 2)), {"A": np.eye(2), "V": np.eye(2)}, (0, 1), noise=noise, dt=0.1)
    with pytest.raises(errors.InputError, match="draw"):
        solve(SPHERE, on_sphere(2, 2), {}, (0, 1), draw="features")
    with pytest.raises(errors.InputError, match="harmonics"):
        solve(SPHERE, on_sphere(2, 4), {}, (0, 1), noise=CommonNoise("relu", dim=4), dt=0.1, draw="harmonics")
    with pytest.raises(errors.InputError, match="paths"):
        ensemble(SPHERE, on_sphere(2, 2), {}, (0, 1), noise=0.1, dt=0.1, paths=0)
    with pytest.raises(errors.InputError, match="clouds"):
        ensemble(SPHERE, np.stack([on_sphere(2, 2)] * 3), {}, (0, 1), noise=0.1, dt=0.1, paths=4)
    with pytest.raises(errors.InputError, match="interpretation"):
        solve_sde(lambda t, x: x, lambda t, x: x, 1.0, (0, 1), dt=0.1, interpretation="")


def test_an_interrupt_ends_a_long_path() -> None:
    script = """
import numpy as np, time
from symflow import Softmax, solve
x = np.random.default_rng(0).normal(size=(256, 3)); x /= np.linalg.norm(x, axis=1, keepdims=True)
go = lambda steps: solve(Softmax(space="sphere", beta=2), x, {}, (0, steps * 0.01), noise=0.1, dt=0.01, rng=1,
                         t_eval=[steps * 0.01])
go(1)
print("ready", flush=True)
try:
    go(10**9)
except KeyboardInterrupt:
    print("interrupted", go(3).status, flush=True)
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        assert process.stdout.readline() == "interrupted finished\n"
        assert time.perf_counter() - start < 2.0
        assert process.wait(10) == 0


@pytest.mark.parametrize("phi", ["relu", "leaky_relu", "linear", "z**3/3 - z"])
def test_a_step_with_a_layer_is_that_of_its_definition(phi: str) -> None:
    d, m, h, noise = 3, 5, 0.04, CommonNoise(phi, 0.3, 0.2, dim=3)
    x = on_sphere(2, d, seed=1)
    found = solve(STILL, x, {}, (0, h), noise=noise, dt=h, rng=1, draw="features", features=m).x[-1]
    drawn = paths_module().draw_numbers(stream_key(1), m * (2 * d + 1) + d, [0], 0, 2)[0]
    inner, outer, inner_bias, outer_bias = np.split(drawn, [m * d, 2 * m * d, m * (2 * d + 1)])
    hidden = x @ inner.reshape(m, d).T / np.sqrt(d) + 0.2 * inner_bias
    activation = sympy.lambdify(noise.statement.z, noise.statement.phi, "numpy")
    field = activation(hidden) @ outer.reshape(m, d) / np.sqrt(m) + 0.3 * outer_bias
    move = np.sqrt(h) * (field - (field * x).sum(axis=1, keepdims=True) * x)
    expected = x + (1.0 + (move**2).sum(axis=1, keepdims=True) / 3.0) * move
    assert np.abs(found - expected / np.linalg.norm(expected, axis=1, keepdims=True)).max() < 1e-14
