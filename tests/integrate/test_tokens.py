"""Interacting tokens: check values, the sphere, degenerate sizes, ends of runs, frames."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.special import expit

import symflow
from symflow import (
    L2,
    Attention,
    Gaussian,
    Linear,
    Masked,
    MultiHead,
    Sigmoid,
    Sinkhorn,
    Softmax,
    Trajectory,
    Unnormalised,
    solve,
)
from symflow.errors import InputError, IntegrationError

BACKENDS = ("compiled", "numpy")


def sphere(n: int, d: int, seed: int = 0) -> Any:
    x = np.random.default_rng(seed).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


def plain(n: int, d: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n, d))


def matrices(d: int, seed: int = 5) -> dict[str, Any]:
    a, v = np.random.default_rng(seed).standard_normal((2, d, d)) / d
    return {"A": a, "V": v}


# --- published numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_cosines_of_two_tokens_and_of_an_orthonormal_start(backend: str) -> None:
    """M091: both follow an equation of one cosine; ten digits."""
    two = np.array([[1.0, 0.0], [np.cos(0.8), np.sin(0.8)]])
    run = solve(Softmax(space="sphere", beta=1.3), two, {}, (0, 1), backend=backend)
    assert run.x[-1, 0] @ run.x[-1, 1] == pytest.approx(0.9426568934, abs=5e-11)
    run = solve(Softmax(space="sphere", beta=2), np.eye(5)[:4], {}, (0, 1.5), backend=backend)
    cosines = run.x[-1] @ run.x[-1].T
    assert cosines[np.triu_indices(4, 1)] == pytest.approx(0.4730824530, abs=5e-11)


def test_an_orthonormal_start_reaches_the_published_hitting_times() -> None:
    """The common cosine γ of n = 32 tokens under SA, β = 1."""
    levels = (0.5, 0.9, 0.999)
    events = [lambda t, x, level=level: x[0] @ x[1] - level for level in levels]
    run = solve(Softmax(space="sphere"), np.eye(32), {}, (0, 6), events=events)
    assert [float(t[0]) for t in run.t_events] == pytest.approx([1.81994, 2.91557, 5.27028], abs=6e-6)


# --- the sphere ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["dop853", "dp5", "rk4", "radau"])
def test_tokens_stay_on_the_sphere(method: str, backend: str) -> None:
    """M090: a long run at a loose tolerance; outputs between the steps too."""
    if method == "radau" and backend == "numpy":
        end, times = 2.0, np.linspace(0, 2, 5)
    else:
        end, times = 100.0, np.linspace(0, 100, 37)
    step = {"dt": 0.05} if method == "rk4" else {}
    run = solve(
        Softmax(space="sphere", beta=4), sphere(16, 3), {}, (0, end),
        t_eval=times, method=method, rtol=1e-4, atol=1e-6, backend=backend, dense_output=True, **step,
    )  # fmt: skip
    assert run.status == "finished"
    assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() < 1e-12
    between = run.sol(np.linspace(0, end, 101))
    assert np.abs(np.linalg.norm(between, axis=-1) - 1.0).max() < 1e-12


@pytest.mark.parametrize(("method", "order", "steps"), [("rk4", 4, (20, 40, 80)), ("dop853", 8, (3, 6, 12))])
def test_retraction_keeps_the_order(method: str, order: int, steps: tuple[int, ...]) -> None:
    """M090: steps of one size, halved; the error falls as the order says."""
    start, model, end = sphere(6, 3, seed=2), Softmax(space="sphere", beta=3), 1.5
    exact = solve(model, start, {}, (0, end), rtol=1e-13, atol=1e-14).x[-1]
    errors = []
    for count in steps:
        h = end / count
        fixed = {"dt": h} if method == "rk4" else {"max_step": h, "first_step": h, "rtol": 1.0, "atol": 1.0}
        run = solve(model, start, {}, (0, end), method=method, **fixed)
        assert run.t.size == count + 1
        errors.append(np.abs(run.x[-1] - exact).max())
    slopes = -np.diff(np.log2(errors))
    assert slopes[-1] > order - 0.4, slopes


def test_a_start_off_the_sphere_is_refused_by_index() -> None:
    model, start = Softmax(space="sphere"), sphere(4, 3)
    start[2] *= 1.01
    with pytest.raises(InputError, match=r"initial\[2\] has norm 1.01.*x / \|x\|"):
        solve(model, start, {}, (0, 1))
    start[2] = 0.0
    with pytest.raises(InputError, match=r"initial\[2\] is zero"):
        solve(model, start, {}, (0, 1))
    with pytest.raises(InputError, match="does not live on the sphere"):
        solve(model, Gaussian([0.0], [[1.0]]), {}, (0, 1))


def test_rounding_of_the_caller_is_retracted() -> None:
    start = sphere(4, 3) * (1.0 + 1e-9)
    run = solve(Softmax(space="sphere"), start, {}, (0, 1))
    assert np.abs(np.linalg.norm(run.x[0], axis=1) - 1.0).max() < 1e-15


# --- every variant against SciPy and the definition ------------------------------------------------


def weights(name: str, s: Any) -> Any:
    """Return the weights by their definition, all pairs at once."""
    n = len(s)
    if name == "softmax":
        w = np.exp(s - s.max(axis=1, keepdims=True))
        return w / w.sum(axis=1, keepdims=True)
    if name == "sinkhorn":
        f, g = np.zeros(n), np.zeros(n)
        for _ in range(3000):
            f = -np.log(np.mean(np.exp(s + g), axis=1))
            g = -np.log(np.mean(np.exp(s + f[:, None]), axis=0))
        return np.exp(f[:, None] + s + g) / n
    return {"sigmoid": expit, "linear": lambda z: z, "unnormalised": np.exp}[name](s) / n


CASES = {
    "softmax": (Softmax, "softmax"),
    "l2": (L2, "softmax"),
    "sinkhorn": (Sinkhorn, "sinkhorn"),
    "sigmoid": (Sigmoid, "sigmoid"),
    "linear": (Linear, "linear"),
    "unnormalised": (Unnormalised, "unnormalised"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("space", ["euclidean", "sphere"])
@pytest.mark.parametrize("name", CASES)
def test_every_variant_follows_its_definition(name: str, space: str, backend: str) -> None:
    """SciPy's integrator on the definition, all pairs in one matrix; |error| ≲ the tolerances of both."""
    make, kind = CASES[name]
    rng = np.random.default_rng(7)
    q, k = 0.6 * rng.standard_normal((2, 2, 3))
    v = 0.5 * rng.standard_normal((3, 3))
    start = sphere(7, 3) if space == "sphere" else plain(7, 3)

    def velocity(t: float, y: Any) -> Any:
        x = y.reshape(start.shape)
        if name == "l2":
            s = -np.sum((x @ q.T)[:, None] ** 2 - 2 * (x @ q.T)[:, None] * (x @ k.T) + (x @ k.T) ** 2, axis=2)
        else:
            s = (x @ q.T) @ (x @ k.T).T
        out = weights(kind, 0.8 * s) @ x @ v.T / (1.25 if name == "sinkhorn" else 1.0)
        if space == "sphere":
            out -= np.sum(out * x, axis=1, keepdims=True) * x
        return out.ravel()

    scale = {"temperature": 1.25} if name == "sinkhorn" else {"beta": 0.8}
    run = solve(make(space=space, **scale), start, {"Q": q, "K": k, "V": v}, (0, 1), backend=backend)
    witness = solve_ivp(velocity, (0, 1), start.ravel(), method="DOP853", rtol=1e-10, atol=1e-12)
    assert run.success
    assert np.abs(run.x[-1].ravel() - witness.y[:, -1]).max() < 1e-8


def test_heads_masks_layers_and_signs_add_up() -> None:
    """One step of every combinator against sums of plain runs' velocities, by differences in time."""
    x, h, d = plain(5, 3), 1e-6, 3
    one, two = matrices(d, 1), matrices(d, 2)
    stacked = {name: np.array([one[name], two[name]]) for name in one}

    def rate(model: Any, params: Any, backend: str = "numpy") -> Any:  # both are compared where kernels are
        run = solve(model, x, params, (0, h), rtol=1e-12, atol=1e-14, backend=backend)
        back = solve(model, x, params, (0, -h), rtol=1e-12, atol=1e-14, backend=backend)
        return (run.x[-1] - back.x[-1]) / (2 * h)

    heads = rate(MultiHead(Softmax()), stacked, "compiled")
    assert heads == pytest.approx(rate(Softmax(), one) + rate(Softmax(), two), abs=1e-7)
    w, c = matrices(d, 3)["A"], np.arange(3.0)
    layer = rate(Softmax(sign=-1, feed_forward=True), one | {"W": w, "c": c})
    assert layer == pytest.approx(-rate(Softmax(), one) + x @ w.T + c, abs=1e-7)
    masked = rate(Masked(Softmax(), sink=0.4), one)
    theta = np.array([0.4, *[0.15] * 4])
    for i in range(5):
        s = x[: i + 1] @ one["A"] @ x[i]
        w_i = theta[: i + 1] * np.exp(s)
        assert masked[i] == pytest.approx(one["V"] @ (w_i @ x[: i + 1]) / w_i.sum(), abs=1e-7)


def test_a_masked_scaling_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="doubly stochastic"):
        solve(Masked(Sinkhorn()), plain(4, 2), matrices(2), (0, 1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_score_with_cases_runs(backend: str) -> None:
    """C031, C033: a rectified score, and one that is given piece by piece."""
    rectified = Attention("Max(dot(Q*x, K*y), 0)", space="sphere")
    q = np.array([[1.0, 0.5, -0.2], [0.3, -1.0, 0.8]])
    run = solve(
        rectified, sphere(6, 3), {"Q": q, "K": q[::-1].copy(), "V": np.eye(3)}, (0, 2), backend=backend
    )

    def velocity(t: float, y: Any) -> Any:
        x = y.reshape(6, 3)
        w = np.exp(np.maximum((x @ q.T) @ (x @ q[::-1].T).T, 0.0))
        out = w @ x / w.sum(axis=1, keepdims=True)
        return (out - np.sum(out * x, axis=1, keepdims=True) * x).ravel()

    witness = solve_ivp(velocity, (0, 2), sphere(6, 3).ravel(), method="DOP853", rtol=1e-10, atol=1e-12)
    assert np.abs(run.x[-1].ravel() - witness.y[:, -1]).max() < 1e-6  # the score has a kink


# --- degenerate sizes ------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_degenerate_sizes(backend: str) -> None:
    """A086."""
    alone = sphere(1, 4)
    run = solve(Softmax(space="sphere", beta=7), alone, {}, (0, 3), backend=backend)
    assert np.array_equal(run.x[-1], run.x[0])
    v = matrices(3)["V"]
    run = solve(Softmax(), plain(1, 3), {"A": np.eye(3), "V": v}, (0, 2), backend=backend)
    assert run.x[-1, 0] == pytest.approx(expm(2 * v) @ plain(1, 3)[0], abs=1e-9)
    signs = np.array([[1.0], [-1.0], [1.0]])
    run = solve(Softmax(space="sphere", beta=2), signs, {}, (0, 3), backend=backend)
    assert np.array_equal(run.x[-1], signs)
    run = solve(Softmax(), [[2.0]], {"A": [[1.0]], "V": [[-1.0]]}, (0, 1), backend=backend)
    assert run.x[-1, 0, 0] == pytest.approx(2 * np.exp(-1.0), abs=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("beta", [1.0, 9.0, 1e3, 1e5, 1e20])
def test_coincident_and_antipodal_tokens_rest(beta: float, backend: str) -> None:
    """M088, A083: x and −x do not move, nor do copies of one token."""
    x = sphere(1, 3)[0]
    for cloud in ([x, -x], [x, x, x], [x, -x, x, -x]):
        run = solve(Softmax(space="sphere", beta=beta), cloud, {}, (0, 5), backend=backend)
        assert run.status == "finished"
        assert np.abs(run.x[-1] - run.x[0]).max() < 1e-14


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("beta", [1e5, 1e20, 1e300])
def test_huge_inverse_temperatures_run(beta: float, backend: str) -> None:
    """A083: every token listens to itself and rests, even where rounding of a score is beyond exponents."""
    run = solve(Softmax(space="sphere", beta=beta), sphere(5, 3), {}, (0, 10), backend=backend)
    assert run.status == "finished"
    assert np.abs(run.x[-1] - run.x[0]).max() < 1e-12


# --- how runs end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_finite_time_blow_up_is_found(backend: str) -> None:
    """x' = x³ from 1 is infinite at 1/2."""
    one = {"A": [[1.0]], "V": [[1.0]]}
    run = solve(Linear(), [[1.0]], one, (0, 2), backend=backend)
    assert run.status == "blow-up"
    assert run.t_star == pytest.approx(0.5, abs=1e-8)
    assert np.isfinite(run.x).all()
    run = solve(Unnormalised(), [[1.0]], one, (0, 2), backend=backend)
    assert run.status == "blow-up"
    assert run.t_star == pytest.approx(0.109691967, abs=1e-6)  # ½E₁(1)
    with pytest.raises(IntegrationError, match="blows up"):
        solve(Linear(), [[1.0]], one, (0, 2), backend=backend, raise_on_failure=True)


def test_growth_without_a_singularity_is_non_finite() -> None:
    run = solve(Softmax(), [[1.0]], {"A": [[0.0]], "V": [[5.0]]}, (0, 1e4))
    assert run.status == "non-finite"
    assert np.isfinite(run.x).all()


def test_what_tokens_do_not_have_is_refused() -> None:
    start, params = plain(3, 2), matrices(2)
    with pytest.raises(InputError, match="taylor"):
        solve(Softmax(), start, params, (0, 1), method="taylor")
    with pytest.raises(InputError, match="noise"):
        solve(Softmax(diffusion=0.1), start, params, (0, 1))
    with pytest.raises(InputError, match="frame 'moving' is unknown"):
        solve(Softmax(), start, params, (0, 1), frame="moving")
    with pytest.raises(InputError, match="summation 'no' is unknown"):
        solve(Softmax(), start, params, (0, 1), summation="no")
    with pytest.raises(InputError, match="options of tokens"):
        solve(Softmax(), Gaussian([0, 0], np.eye(2)), params, (0, 1), frame="rescaled")
    with pytest.raises(InputError, match=r"A must have shape.*the tokens"):
        solve(Softmax(), plain(3, 4), params, (0, 1))
    with pytest.raises(InputError, match="shape"):
        solve(Softmax(), np.zeros(3), params, (0, 1))
    with pytest.raises(InputError, match=r"initial\[1, 0\] is nan"):
        solve(Softmax(), [[0.0, 0.0], [np.nan, 1.0]], params, (0, 1))


# --- options ---------------------------------------------------------------------------------------


def test_events_callbacks_and_limits_see_tokens() -> None:
    model, start = Softmax(space="sphere", beta=2), sphere(5, 3)

    def meeting(t: float, x: Any) -> float:
        return float(x[0] @ x[1]) - 0.95

    meeting.terminal = True  # type: ignore[attr-defined]
    run = solve(model, start, {}, (0, 50), events=meeting)
    assert run.status == "event"
    assert run.x_events[0].shape == (1, 5, 3)
    assert run.x_events[0][0, 0] @ run.x_events[0][0, 1] == pytest.approx(0.95, abs=1e-9)
    seen = []
    run = solve(model, start, {}, (0, 50), callback=lambda t, x: seen.append(x.shape) or t > 1)
    assert run.status == "stopped"
    assert set(seen) == {(5, 3)}
    run = solve(model, sphere(400, 3), {}, (0, 1e9), max_wall_time=0.2, max_step=1e-3, t_eval=[0.0, 1e9])
    assert run.status == "stopped"


def test_runs_go_backwards_and_parameters_follow_the_time() -> None:
    start, params = plain(6, 2), matrices(2)
    there = solve(Softmax(), start, params, (0, 1), rtol=1e-11)
    back = solve(Softmax(), there.x[-1], params, (1, 0), rtol=1e-11)
    assert back.x[-1] == pytest.approx(start, abs=1e-8)

    def value(t: float) -> Any:
        return params["V"] * np.cos(t)

    for moving in (value, (np.linspace(0, 2, 200), [value(t) for t in np.linspace(0, 2, 200)])):
        run = solve(Softmax(), start, params | {"V": moving}, (0, 2))

        def velocity(t: float, y: Any) -> Any:
            x = y.reshape(6, 2)
            return (weights("softmax", x @ params["A"].T @ x.T) @ x @ value(t).T).ravel()

        witness = solve_ivp(velocity, (0, 2), start.ravel(), method="DOP853", rtol=1e-10, atol=1e-12)
        assert np.abs(run.x[-1].ravel() - witness.y[:, -1]).max() < 1e-6


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("span", [(0, 1.5), (0.5, 2.0)])
def test_the_rescaled_frame_is_the_same_flow(span: tuple[float, float], backend: str) -> None:
    start, p = plain(6, 3), matrices(3)
    q, k = 0.5 * np.random.default_rng(3).standard_normal((2, 2, 3))
    for model, params in ((Softmax(beta=2), p), (L2(), {"Q": q, "K": k, "V": p["V"]})):
        x = solve(model, start, params, span, rtol=1e-11, backend=backend).x[-1]
        run = solve(model, start, params, span, rtol=1e-11, frame="rescaled", backend=backend)
        assert run.frame == "rescaled"
        assert run.x[-1] == pytest.approx(x @ expm(-span[1] * p["V"]).T, abs=1e-8)


def test_the_rescaled_frame_reaches_where_tokens_overflow() -> None:
    """x grows like e^{5t}: at t = 200 no double holds it, while z converges to few points."""
    start = plain(8, 2)
    params = {"A": np.eye(2), "V": 5.0 * np.eye(2)}
    assert solve(Softmax(), start, params, (0, 200)).status == "non-finite"
    run = solve(Softmax(), start, params, (0, 60), frame="rescaled")
    assert run.status == "finished"
    assert np.isfinite(run.x).all()
    longer = solve(Softmax(), start, params, (0, 200), frame="rescaled")
    assert longer.status == "non-finite"
    assert "the scores leave" in longer.message
    assert "frame=" not in longer.message
    with pytest.raises(InputError, match="not available for sigmoid: the weights do not sum to one"):
        solve(Sigmoid(), start, params, (0, 1), frame="rescaled")


# --- what is left ----------------------------------------------------------------------------------


def test_files_hold_tokens(tmp_path: Path) -> None:
    run = solve(Softmax(space="sphere"), sphere(4, 3), {}, (0, 1), events=lambda t, x: t - 0.5)
    loaded = Trajectory.load(run.save(tmp_path / "tokens"))
    assert type(loaded) is type(run)
    assert np.array_equal(loaded.x, run.x)
    assert np.array_equal(loaded.x_events[0], run.x_events[0])
    assert (loaded.space, loaded.frame, loaded.summation) == (run.space, run.frame, run.summation)
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.x, run.x)
    with pytest.raises(AttributeError, match="a run of tokens has x"):
        _ = run.mean
    law = solve(Softmax(), Gaussian([0.0], [[1.0]]), {"A": [[-1.0]], "V": [[1.0]]}, (0, 1))
    with pytest.raises(AttributeError, match="has mean and cov"):
        _ = law.x


def test_members_of_an_ensemble_are_single_runs() -> None:
    clouds = np.array([sphere(9, 3, seed) for seed in range(6)])
    model, betas = Softmax(space="sphere"), np.array([1.0, 1.0, 4.0, 4.0, 4.0, 9.0])
    times = [0.0, 0.5, 2.0]
    runs = {
        threads: symflow.ensemble(
            model, clouds, {"beta": betas}, (0, 2), t_eval=times, threads=threads, chunk=2
        )
        for threads in (1, 2)
    }
    assert np.array_equal(runs[1].x, runs[2].x)
    assert runs[1].success.all()
    for i, (cloud, beta) in enumerate(zip(clouds, betas, strict=True)):
        run = solve(Softmax(space="sphere", beta=float(beta)), cloud, {}, (0, 2), t_eval=times)
        assert np.array_equal(run.x, runs[1].member(i).x)
    with pytest.raises(InputError, match=r"initials\[1\]\[0\] has norm 2"):
        symflow.ensemble(model, [clouds[0], 2.0 * clouds[1]], {}, (0, 1))


def test_an_ensemble_knows_how_its_members_ended(tmp_path: Path) -> None:
    starts = np.array([[[1.0]], [[0.1]]])
    runs = symflow.ensemble(Linear(), starts, {"A": [[1.0]], "V": [[1.0]]}, (0, 1))
    assert runs.status.tolist() == ["blow-up", "finished"]
    assert runs.t_star[0] == pytest.approx(0.5, abs=1e-8)
    loaded = symflow.Ensemble.load(runs.save(tmp_path / "runs"))
    assert np.array_equal(loaded.x, runs.x, equal_nan=True)
    assert loaded.member(0).status == "blow-up"


def test_a_velocity_that_no_number_holds_is_refused() -> None:
    """A085: weights e^{800} that are not normalised are no silent infinity."""
    with pytest.raises(InputError, match="velocity of token 0 is not finite"):
        symflow.compile(Unnormalised(space="sphere", beta=800))(0.0, sphere(3, 3))
