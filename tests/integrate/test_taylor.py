"""The Taylor method: accuracy against tolerance, dense output, events, blow-up, structure, fallbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from symflow import L2, Attention, Gaussian, Linear, Masked, MultiHead, Sinkhorn, Softmax, solve
from symflow.codegen.build import missing
from symflow.codegen.taylor import binding
from symflow.errors import BuildError, InputError
from symflow.integrate.taylor import PythonTaylorStepper
from symflow_ext import runtime

Array = np.ndarray[Any, np.dtype[np.float64]]


def example(d: int, rank: int | None = None) -> tuple[Gaussian, dict[str, Any]]:
    """Return a law and parameters A = −I + perturbation, V = I."""
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, rank or d)) / np.sqrt(d)
    cov = root @ root.T + (0.2 * np.eye(d) if rank is None else 0.0)
    a = -np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    return Gaussian(rng.normal(size=d), cov), {"A": a, "V": np.eye(d)}


def exact(law: Gaussian, params: dict[str, Any], t: float) -> Array:
    """Σ(t)⁻¹ = Σ₀⁻¹ − t(A + Aᵀ) for V = I."""
    s = params["A"] + params["A"].T
    return np.asarray(np.linalg.inv(np.linalg.inv(law.cov) - t * s))


def heads(seed: int, d: int, k: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"Q": (k, d), "K": (k, d), "V": (d, d)}
    return {name: 0.5 * rng.normal(size=shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
@pytest.mark.parametrize(("model", "d", "k"), [(Softmax(), 3, 2), (L2(), 3, 2), (L2(), 10, 3)])
def test_agrees_with_dop853(model: Any, d: int, k: int, backend: str) -> None:
    law, params = example(d)[0], heads(1, d, k)
    run = solve(model, law, params, (0, 0.5), method="taylor", rtol=1e-12, atol=1e-14, backend=backend)
    other = solve(model, law, params, (0, 0.5), method="dop853", rtol=1e-13, atol=1e-15)
    assert run.status == other.status == "finished"
    scale = np.abs(other.cov[-1]).max()
    assert np.abs(run.cov[-1] - other.cov[-1]).max() < 2e-11 * scale
    assert np.abs(run.mean[-1] - other.mean[-1]).max() < 2e-11 * np.abs(other.mean[-1]).max()


@pytest.mark.parametrize("d", [2, 3, 8, 12])
def test_the_error_follows_the_tolerance(d: int) -> None:
    """Ten steps and more add up: the error stays within a few tolerances and above a thousandth of one."""
    law, params = example(d)
    expected = exact(law, params, 10.0)
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12, 1e-13):
        run = solve(Softmax(), law, params, (0, 10), method="taylor", rtol=rtol, atol=1e-3 * rtol)
        error = np.abs(run.cov[-1] - expected).max() / np.abs(expected).max()
        assert error < 5 * rtol
        assert error > 1e-3 * rtol


def no_compiler(*args: Any) -> Any:
    raise BuildError("no C compiler is on PATH")


@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-8, 1e-11, 1e-13])
def test_random_systems_meet_the_tolerance(rtol: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 draws, d = 2, ..., 6: rates of 1e-2 to 1e2, covariances down to 1e-6 of their norm; no luck needed.

    The worst of 600 such runs was a quarter of rtol; the median has to be in its range, too.
    """
    monkeypatch.setattr(binding, "_capsule", no_compiler)  # one recursion for every size, none built
    errors = []
    for seed in range(50):
        rng, d = np.random.default_rng(seed), 2 + seed % 5
        turn, other, skew = (rng.normal(size=(d, d)) for _ in range(3))
        turn, other = np.linalg.qr(turn)[0], np.linalg.qr(other)[0]
        a = skew - skew.T - (turn * 10.0 ** rng.uniform(-2, 2, size=d)) @ turn.T
        smallest = -6 if seed % 3 == 0 else -1
        cov = (other * 10.0 ** rng.uniform(smallest, 0, size=d)) @ other.T
        law, params = Gaussian(rng.normal(size=d), 0.5 * (cov + cov.T)), {"A": a, "V": np.eye(d)}
        run = solve(Softmax(), law, params, (0, 3), method="taylor", rtol=rtol, atol=1e-3 * rtol)
        assert run.status == "finished"
        root, s = np.linalg.cholesky(law.cov), a + a.T
        for t, found in zip(run.t, run.cov, strict=True):
            expected = root @ np.linalg.solve(np.eye(d) - t * root.T @ s @ root, root.T)
            errors.append(np.abs(found - expected).max() / np.abs(expected).max())
    assert max(errors) < rtol
    assert np.median(errors) > 1e-4 * rtol


def stable_system(seed: int) -> tuple[Any, Gaussian, dict[str, Any], float]:
    """Return a model that bounds its covariances, a law, parameters and how long to run."""
    rng, d = np.random.default_rng(seed), 2 + seed % 5

    def draw(*shape: int) -> Array:
        return np.asarray(rng.normal(size=shape) / np.sqrt(shape[-1]))

    turn = np.linalg.qr(draw(d, d))[0]
    cov = (turn * 10.0 ** rng.uniform(-8 if seed % 3 == 0 else -1, 0, size=d)) @ turn.T
    law, one, half = Gaussian(draw(d), 0.5 * (cov + cov.T)), np.eye(d), draw(d, d)
    models: list[tuple[Any, dict[str, Any], float]] = [
        (L2(), {"Q": draw(d, d), "K": draw(d, d), "V": draw(d, d) - one}, 2.0),
        (Sinkhorn(), {"A": 2.0 * draw(d, d), "V": draw(d, d) - one}, 2.0),
        (Linear(), {"A": half @ half.T, "V": -one}, 5.0),
        (Softmax(diffusion=0.05), {"A": -half @ half.T, "V": one}, 2.0),
        (
            MultiHead(Softmax()),
            {"Q": draw(2, 1, d), "K": draw(2, 1, d), "V": draw(2, 1, d), "W": draw(2, d, 1)},
            0.5,
        ),
    ]
    model, params, end = models[seed % len(models)]
    return model, law, params, end


def test_other_models_meet_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """25 draws against DOP853 at a tolerance a thousand times smaller, mean and covariance at nine times."""
    monkeypatch.setattr(binding, "_capsule", no_compiler)
    for seed in range(25):
        model, law, params, end = stable_system(seed)
        times = np.linspace(0, end, 9)
        other = solve(model, law, params, (0, end), rtol=1e-13, atol=1e-16, t_eval=times)
        assert other.status == "finished"
        for rtol in (1e-4, 1e-10):
            run = solve(
                model, law, params, (0, end), method="taylor", rtol=rtol, atol=1e-3 * rtol, t_eval=times
            )
            assert run.status == "finished"
            for found, expected in ((run.mean, other.mean), (run.cov, other.cov)):
                for x, y in zip(found, expected, strict=True):
                    assert np.abs(x - y).max() < 3 * rtol * np.abs(y).max()


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-10])
def test_gaps_in_the_series_do_not_lengthen_a_step(rtol: float, backend: str) -> None:
    """x' = 1 − x³, x(0) = 0: of orders 6 and 18 the last two coefficients vanish, of order 11 one does not.

    t as a function of x is (log((x² + x + 1)/(1 − x)²) + 2√3 arctan((2x + 1)/√3) − π/√3)/6.
    """
    params = {"A": [[-1.0]], "V": [[1.0]], "W": [[0.0]], "c": [1.0]}
    law, model = Gaussian([0.0], [[0.0]]), Linear(feed_forward=True)
    kwargs: dict[str, Any] = {"rtol": rtol, "atol": 1e-3 * rtol, "backend": backend}
    run = solve(model, law, params, (0, 3), method="taylor", **kwargs)
    assert run.nfev > len(run.t) or rtol == 1e-6  # steps were refused
    x, three = run.mean[1:, 0], np.sqrt(3.0)
    angle = 2 * three * np.arctan((2 * x + 1) / three) - np.pi / three
    t = (np.log((x * x + x + 1) / (1 - x) ** 2) + angle) / 6
    assert np.abs((t - run.t[1:]) * (1 - x**3)).max() < 2 * rtol


@pytest.mark.parametrize("d", [2, 9])
def test_ornstein_uhlenbeck(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without attention α' = Wα + c and Σ' = WΣ + ΣWᵀ + 2εI: exponentials, and Lyapunov's equation."""
    monkeypatch.setattr(binding, "_capsule", no_compiler)
    law, _ = example(d)
    rng, eps, zero = np.random.default_rng(d), 0.25, np.zeros((d, d))
    w, c = 0.5 * rng.normal(size=(d, d)) - 2.0 * np.eye(d), rng.normal(size=d)
    model, params = Softmax(feed_forward=True, diffusion=eps), {"A": zero, "V": zero, "W": w, "c": c}
    run = solve(model, law, params, (0, 2), method="taylor", rtol=1e-12, atol=1e-14)
    flow, fixed = scipy.linalg.expm(2 * w), -np.linalg.solve(w, c)
    limit = scipy.linalg.solve_continuous_lyapunov(w, -2 * eps * np.eye(d))
    assert np.abs(run.mean[-1] - fixed - flow @ (law.mean - fixed)).max() < 1e-11
    assert np.abs(run.cov[-1] - limit - flow @ (law.cov - limit) @ flow.T).max() < 1e-11


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_riccati_equation_with_noise(backend: str) -> None:
    """Case N080: Σ' = 2vaΣ² + 2ε has the solution Σ* tanh(2√(ε|va|) t + artanh(Σ₀/Σ*))."""
    params = {"A": [[-0.5]], "V": [[1.0]]}
    run = solve(
        Softmax(diffusion=0.3), Gaussian([0.0], [[0.2]]), params, (0, 1), method="taylor", backend=backend
    )
    limit = np.sqrt(0.3 / 0.5)
    expected = limit * np.tanh(2 * np.sqrt(0.3 * 0.5) * run.t + np.arctanh(0.2 / limit))
    assert np.abs(run.cov[:, 0, 0] - expected).max() < 1e-9
    assert abs(run.cov[-1, 0, 0] - 0.602174245487) < 1e-9


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_linear_attention_of_one_mode(sign: float, backend: str) -> None:
    """d = 1, α = 0: Σ' = 2vaΣ², so Σ = Σ₀/(1 − 2vaΣ₀t), up to a blow-up where va > 0."""
    law, params = Gaussian([0.0], [[0.5]]), {"A": [[2.0]], "V": [[sign]]}
    run = solve(Linear(), law, params, (0, 1), method="taylor", rtol=1e-12, backend=backend)
    assert run.status == ("blow-up" if sign > 0 else "finished")
    if sign > 0:
        assert run.t_star is not None and abs(run.t_star - 0.5) < 1e-9
    early = run.t < 0.45
    expected = 0.5 / (1 - 2 * sign * run.t[early])
    assert np.abs(run.cov[early, 0, 0] / expected - 1).max() < 1e-10


@pytest.mark.parametrize("d", [3, 10])
def test_masked_linear_attention(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions that see each other: against DOP853, and the first one against a run of its own."""
    monkeypatch.setattr(binding, "_capsule", no_compiler)
    laws = [example(seed)[0] for seed in (d, d)]
    rng = np.random.default_rng(d)
    a, v = (0.4 * rng.normal(size=(d, d)) / np.sqrt(d) for _ in range(2))
    law = Gaussian(np.stack([laws[0].mean, 0.5 * laws[1].mean]), np.stack([laws[0].cov, 2.0 * laws[1].cov]))
    model, params = Masked(Linear()), {"A": a, "V": v}
    run = solve(model, law, params, (0, 0.15), method="taylor", rtol=1e-12, atol=1e-14)
    other = solve(model, law, params, (0, 0.15), rtol=1e-13, atol=1e-15)
    assert run.status == other.status == "finished"
    assert np.abs(run.cov[-1] - other.cov[-1]).max() < 1e-11 * np.abs(other.cov[-1]).max()
    weight = float(model.weights(2)[0])
    alone = solve(Linear(), laws[0], {"A": weight * a, "V": v}, (0, 0.15), method="taylor", rtol=1e-12)
    assert np.abs(run.cov[-1, 0] - alone.cov[-1]).max() < 1e-11 * np.abs(alone.cov[-1]).max()


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_a_run_ends_where_the_normaliser_diverges(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ' = 2Σ²/(1 − cΣ) for A = V = 1, C = c: Σ = 1/c at t with 2t = 1/Σ₀ − c − c log(1/(cΣ₀))."""
    monkeypatch.setattr(binding, "_capsule", no_compiler)
    model = Attention("dot(x, A*y) + dot(y, C*y)/2", value="V*y", normalise="softmax")
    params, law = {"A": [[1.0]], "C": [[0.5]], "V": [[1.0]]}, Gaussian([0.0], [[0.5]])
    run = solve(model, law, params, (0, 3), method="taylor", backend=backend)
    assert run.status == "step-too-small"
    assert "normaliser of attention diverges" in run.message
    edge = 0.5 * (1 / 0.5 - 0.5 - 0.5 * np.log(1 / (0.5 * 0.5)))
    assert abs(run.t[-1] - edge) < 1e-7


@pytest.mark.skipif(missing() is not None, reason="no compiler")
@pytest.mark.parametrize("model", [MultiHead(Sinkhorn()), MultiHead(L2())], ids=["sinkhorn", "l2"])
def test_printed_heads_with_biases(model: Any) -> None:
    rng, d = np.random.default_rng(4), 3
    shapes = {"Q": (2, 2, d), "K": (2, 2, d), "V": (2, 2, d), "W": (2, d, 2), "bq": (2, 2), "bk": (2, 2)}
    shapes |= {"bv": (2, 2), "bo": (d,)}
    params = {name: 0.6 * rng.normal(size=shape) for name, shape in shapes.items()}
    law = example(d)[0]
    run = solve(model, law, params, (0, 2), method="taylor", rtol=1e-12, atol=1e-14, backend="compiled")
    other = solve(model, law, params, (0, 2), rtol=1e-13, atol=1e-15)
    assert run.status == other.status == "finished"
    assert np.abs(run.cov[-1] - other.cov[-1]).max() < 1e-10 * np.abs(other.cov[-1]).max()
    assert np.abs(run.mean[-1] - other.mean[-1]).max() < 1e-10 * np.abs(other.mean[-1]).max()


def test_steps_have_the_order_of_the_series() -> None:
    """Steps of one size: halving them divides the error by 2^p, p the order."""
    law, params = example(2)
    expected, errors = exact(law, params, 1.0), []
    for h in (0.125, 0.0625):
        run = solve(
            Softmax(), law, params, (0, 1), method="taylor", rtol=1e-3, atol=1.0, max_step=h, first_step=h
        )
        assert len(run.t) == 1 + round(1.0 / h)
        errors.append(np.abs(run.cov[-1] - expected).max())
    order = np.log2(errors[0] / errors[1])
    assert 5.5 < order < 7.5  # order_for(1e-3) = 6


def test_dense_output_events_and_the_way_back() -> None:
    law, params = example(3)
    level = 0.5 * float(np.trace(law.cov))

    def crossing(t: float, mean: Array, cov: Array) -> float:
        return float(np.trace(cov)) - level

    kwargs: dict[str, Any] = {"method": "taylor", "rtol": 1e-12, "atol": 1e-14}
    times = np.linspace(0, 4, 23)
    run = solve(Softmax(), law, params, (0, 4), t_eval=times, events=crossing, dense_output=True, **kwargs)
    assert run.t.tolist() == times.tolist()
    for t, cov in zip(run.t, run.cov, strict=True):
        assert np.abs(cov - exact(law, params, float(t))).max() < 1e-11
    (found,) = run.t_events[0].tolist()
    assert abs(np.trace(exact(law, params, found)) - level) < 1e-11
    last = Gaussian(run.mean[-1], run.cov[-1])
    back = solve(Softmax(), last, params, (4, 0), **kwargs)
    assert np.abs(back.cov[-1] - law.cov).max() < 1e-9
    assert np.abs(back.mean[-1] - law.mean).max() < 1e-9


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_blow_up_time(d: int, backend: str) -> None:
    """t* = 1/λ_max(Σ₀^½ (A + Aᵀ) Σ₀^½) for V = I."""
    law, params = example(d)
    params["A"] = -params["A"]
    basis = np.linalg.cholesky(law.cov)
    t_star = 1.0 / float(np.linalg.eigvalsh(basis.T @ (params["A"] + params["A"].T) @ basis).max())
    run = solve(
        Softmax(), law, params, (0, 3 * t_star), method="taylor", rtol=1e-13, atol=1e-15, backend=backend
    )
    assert run.status == "blow-up"
    assert run.t_star is not None
    assert abs(run.t_star / t_star - 1) < 1e-9
    assert run.t[-1] < t_star
    assert np.isfinite(run.cov).all()


def test_long_stiff_run_of_a_singular_law_keeps_rank_and_semidefiniteness() -> None:
    """Rates from 1 to 1e4 over T = 1e3; a factor of rank 2 in dimension 4. A mean would grow like exp(t)."""
    law, params = example(4, rank=2)
    law = Gaussian(np.zeros(4), law.cov)
    params["A"] = -np.diag([1e4, 1e2, 1.0, 1.0])
    run = solve(Softmax(), law, params, (0, 1e3), method="taylor", rtol=1e-8)
    assert run.status == "finished"
    assert run.factor.shape[1:] == (4, 2)
    for cov in (run.cov[len(run.t) // 2], run.cov[-1]):
        values = np.linalg.eigvalsh(cov)
        assert values.min() > -1e-15 * values.max()
        assert np.linalg.matrix_rank(cov, tol=1e-12 * values.max()) <= 2
    implicit = solve(Softmax(), law, params, (0, 1e3), method="radau", rtol=1e-9)
    # decay to zero: compared in units of the initial law
    assert np.abs(run.cov[-1] - implicit.cov[-1]).max() < 1e-6 * np.abs(law.cov).max()


def test_nearly_singular_covariance() -> None:
    law, params = example(3)
    tiny = Gaussian(law.mean, law.cov * np.outer([1, 1e-6, 1e-6], [1, 1e-6, 1e-6]))
    run = solve(Softmax(), tiny, params, (0, 5), method="taylor", rtol=1e-10, atol=1e-16)
    other = solve(Softmax(), tiny, params, (0, 5), method="dop853", rtol=1e-12, atol=1e-18)
    assert np.abs(run.cov[-1] / other.cov[-1] - 1).max() < 1e-8
    assert np.linalg.eigvalsh(run.cov[-1]).min() > 0


def test_time_dependent_parameters_are_refused() -> None:
    law, params = example(2)
    params["A"] = lambda t: np.eye(2) * np.cos(t)
    with pytest.raises(InputError, match="constant in time, 'A' is not"):
        solve(Softmax(), law, params, (0, 1), method="taylor")


def test_without_a_compiler_the_runtime_executes_the_recurrences(monkeypatch: pytest.MonkeyPatch) -> None:
    law, params = example(2)
    expected = solve(Softmax(), law, params, (0, 2), method="taylor")
    monkeypatch.setattr(binding, "_capsule", no_compiler)
    found = solve(Softmax(), law, params, (0, 2), method="taylor")
    assert found.t.size == expected.t.size
    assert np.abs(found.cov[-1] - expected.cov[-1]).max() < 1e-14


def scalar_riccati(order: int) -> Any:
    """Return what writes the coefficients of y' = y², y(0) = y: those of y/(1 − yt)."""

    def call(t: float, y: Array, out: Array) -> int:
        rows = out.reshape(-1, y.size)
        for k in range(len(rows)):
            rows[k] = y ** (k + 1)
        return 0

    return call


def test_python_steps_stop_at_a_pole() -> None:
    stepper = PythonTaylorStepper(
        scalar_riccati(16), 16, 0.0, np.array([2.0]), 1.0, rtol=1e-13, atol=np.array([1e-15])
    )
    times, states = np.empty(201), np.empty((201, 1))
    status, taken = stepper.advance(times, states, None, 200, 60.0)
    assert status == "blow-up"
    assert abs(stepper.singularity - 0.5) < 1e-10
    early = taken // 4  # close to the pole its distance is known to fewer digits
    assert np.allclose(states[:early, 0], 2.0 / (1.0 - 2.0 * times[:early]), rtol=1e-11)


def test_bad_sizes_are_refused() -> None:
    call = runtime.PyCall(lambda t, y, dy: None, 2)
    with pytest.raises(AttributeError):
        runtime.TaylorStepper(call, 0.0, np.zeros(2), 1.0, rtol=1e-6, atol=np.zeros(2))
    none = np.zeros((0, 15), dtype=np.int64), np.zeros((0, 2))
    series = runtime.Series(*none, 4, [], [(0, 2)], 2, 0, 1)
    with pytest.raises(ValueError, match="the order is 1"):
        runtime.TaylorStepper(series, 0.0, np.zeros(2), 1.0, rtol=1e-6, atol=np.zeros(2))
    with pytest.raises(ValueError, match="a constant at 3 of 2 numbers"):
        runtime.Series(*none, 4, [(3, np.zeros(2))], [(0, 2)], 2, 0, 1)
    series = runtime.Series(*none, 4, [], [(0, 2)], 2, 0, 3)
    with pytest.raises(ValueError, match="row = 3"):
        runtime.TaylorStepper(series, 0.0, np.zeros(2), 1.0, rtol=1e-6, atol=np.zeros(2), row=3)
