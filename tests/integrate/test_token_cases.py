"""Public fault reports as runs of tokens: what enters, what is asked along the way, and how runs end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

from symflow import L2, Linear, Softmax, Unnormalised, energies, ensemble, solve
from symflow.errors import InputError

BACKENDS = ("compiled", "numpy")
MODEL = Softmax(space="sphere", beta=4)


def sphere(n: int, d: int, seed: int = 0) -> Any:
    x = np.random.default_rng(seed).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


X = sphere(6, 3)
A, V = np.random.default_rng(5).standard_normal((2, 3, 3)) / 3
TURN = 2 * np.pi * np.array([[0.0, -1.0], [1.0, 0.0]])


# --- what enters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        np.asfortranarray,
        lambda m: np.repeat(m, 3, axis=1)[:, ::3],
        lambda m: m.astype(object),
        sympy.Matrix,
        sympy.SparseMatrix,
        lambda m: (row for row in m),
        lambda m: dict(enumerate(m)).values(),
    ],
)
def test_tokens_and_matrices_of_any_kind(convert: Callable[[Any], Any], backend: str) -> None:
    """C038, C043, U117: the same numbers, and what is given stays as it is."""
    plain, keep = X * 1.5, (X * 1.5).copy()
    wanted = solve(Softmax(), plain, {"A": A, "V": V}, (0, 1), backend=backend)
    found = solve(Softmax(), convert(plain), {"A": convert(A), "V": convert(V)}, (0, 1), backend=backend)
    assert np.array_equal(found.x, wanted.x)
    assert np.array_equal(plain, keep)


@pytest.mark.parametrize("backend", BACKENDS)
def test_integers_and_single_precision(backend: str) -> None:
    """C044: computed in double precision, nothing is truncated."""
    whole = solve(MODEL, np.eye(3, dtype=int), {}, (0, 1), backend=backend)
    assert whole.x.dtype == np.float64
    assert np.array_equal(whole.x, solve(MODEL, np.eye(3), {}, (0, 1), backend=backend).x)
    assert 0 < whole.x[-1, 0, 1] < 1
    single = X.astype(np.float32)
    found = solve(MODEL, single, {}, (0, 1), backend=backend)
    assert np.array_equal(found.x, solve(MODEL, single.astype(float), {}, (0, 1), backend=backend).x)
    assert np.abs(np.linalg.norm(found.x, axis=2) - 1).max() < 1e-15


def test_members_come_in_any_iterable() -> None:
    """U117."""
    clouds = [sphere(4, 3, seed) for seed in range(3)]
    wanted = ensemble(MODEL, np.array(clouds), {}, (0, 1)).x
    for given in (iter(clouds), [c.tolist() for c in clouds], tuple(clouds)):
        assert np.array_equal(ensemble(MODEL, given, {}, (0, 1)).x, wanted)
    with pytest.raises(InputError, match=r"tokens \(B, n, d\), got int"):
        ensemble(MODEL, 5, {}, (0, 1))


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.where(np.arange(18).reshape(6, 3) == 10, np.nan, X), r"initial\[3, 1\] is nan"),
        (np.where(np.arange(18).reshape(6, 3) == 2, -np.inf, X), r"initial\[0, 2\] is -inf"),
        ([[1e200, 0.0], [1.0, 0.0]], r"initial\[0\] has norm 1e\+200"),
        ([[1.0, 0.0], [1e-320, 0.0]], r"initial\[1\] has norm 9.99989e-321"),
        ([[1.0, 0.0], [0.0, 0.0]], r"initial\[1\] is zero and has no direction"),
        ([[1.0, 0.0], [1.0]], "ragged"),
        (np.eye(2) * 1j, "complex"),
        (np.zeros((0, 3)), r"shape \(0, 3\)"),
        ({1.0, 2.0}, "set"),
        ("tokens", "got str"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_bad_tokens_are_refused_at_once(x: Any, words: str) -> None:
    """N063: by name and index, without a step."""
    start = time.perf_counter()
    with pytest.raises(InputError, match=words):
        solve(MODEL, x, {}, (0, 1))
    assert time.perf_counter() - start < 1.0


def test_a_matrix_without_numbers_is_refused() -> None:
    """N063."""
    with pytest.raises(InputError, match=r"V\[1, 2\] is nan"):
        solve(MODEL, X, {"V": np.where(np.arange(9).reshape(3, 3) == 5, np.nan, V)}, (0, 1))
    t = sympy.Symbol("t")
    with pytest.raises(InputError, match=r"V\(t = 0\)\[0, 0\] is inf"):
        solve(MODEL, X, {"V": sympy.eye(3) / t}, (0, 1))
    with pytest.raises(InputError, match=r"V has samples on \[0, 0.5\].*cover t_span"):
        solve(MODEL, X, {"V": ([0, 0.5], [V, V])}, (0, 1))


# --- times -----------------------------------------------------------------------------------------


def test_times_of_runs_on_the_sphere() -> None:
    """N064, N067, N073."""
    run = solve(MODEL, X, {}, (0, 0.3), t_eval=[0, 0.1 + 0.2])
    assert run.t.tolist() == [0.0, 0.3]
    assert run.x.shape == (2, 6, 3)
    assert ensemble(MODEL, [X, X, X, X], {}, (0, 0.3), t_eval=[0, 0.1, 0.3]).x.shape == (4, 3, 6, 3)
    for bad, name in (
        ({"t_span": (0, 1, 2)}, "t_span"),
        ({"t_span": (0, np.nan)}, "t_span"),
        ({"t_eval": [0, 0.5, 0.2]}, "t_eval"),
        ({"t_eval": [0, 0.5, 0.5]}, "t_eval"),
        ({"t_eval": [0, 1.1]}, "t_eval"),
    ):
        with pytest.raises(InputError, match=name):
            solve(**({"model": MODEL, "initial": X, "params": {}, "t_span": (0, 1)} | bad))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("model", [MODEL, Unnormalised(space="sphere", beta=2), L2(space="sphere")])
def test_forward_and_back_again_on_the_sphere(model: Any, backend: str) -> None:
    """N066: the flow backwards in time ends where it began; errors grow at most like the flow contracts."""
    there = solve(model, X, {}, (0, 0.5), rtol=1e-12, atol=1e-13, backend=backend)
    back = solve(model, there.x[-1], {}, (0.5, 0), rtol=1e-12, atol=1e-13, backend=backend)
    assert back.t[-1] == 0.0
    assert back.x[-1] == pytest.approx(X, abs=1e-8)
    assert np.abs(np.linalg.norm(back.x, axis=2) - 1).max() < 1e-12
    assert np.abs(there.x[-1] - X).max() > 0.01


@pytest.mark.parametrize("method", ["dop853", "rk4", "radau"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_parameter_is_asked_outside_of_a_run(backend: str, method: str) -> None:
    """N068."""
    end, asked = 1e-4, []

    def value(t: float) -> Any:
        asked.append(t)
        assert 0.0 <= t <= end
        return np.eye(3)

    step = {"dt": 3e-5} if method == "rk4" else {}
    start = sphere(2, 3) if method == "radau" else X
    run = solve(MODEL, start, {"V": value}, (0, end), method=method, backend=backend, **step)
    assert run.status == "finished"
    assert max(asked) == end


# --- events and callbacks --------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("space", ["sphere", "euclidean"])
def test_every_crossing_of_a_token_that_turns(space: str, backend: str) -> None:
    """N069: twenty zeros of cos 2πt, also where several fall into one step."""
    params = {"Q": np.zeros((2, 2)), "K": np.eye(2), "V": TURN}
    start, zeros = [[1.0, 0.0]], 0.25 + 0.5 * np.arange(20)
    for rtol, atol, off in ((1e-6, 1e-9, 1e-3), (1e-2, 1e-2, None)):
        run = solve(
            Softmax(space=space), start, params, (0, 10), rtol=rtol, atol=atol, backend=backend,
            events=lambda t, x: x[0, 0], dense_output=True,
        )  # fmt: skip
        (found,) = run.t_events
        if off is not None:
            assert found == pytest.approx(zeros, abs=off)
        fine = np.linspace(0, 10, 40_001)
        values = run.sol(fine)[:, 0, 0]
        changes = int((values[:-1] * values[1:] < 0).sum())
        assert len(found) == changes
        assert np.abs(run.sol(found)[:, 0, 0]).max() < 1e-9
        assert np.array_equal(run.x_events[0], run.sol(found))


def test_an_event_at_the_end_of_a_step() -> None:
    """N071."""
    run = solve(MODEL, X, {}, (0, 1), max_step=0.125, events=lambda t, x: t - 0.25, dense_output=True)
    assert run.t_events[0] == pytest.approx([0.25], abs=1e-12)
    assert (np.diff(run.t) > 0).all()
    assert run.sol(0.25).shape == (6, 3)
    with pytest.raises(InputError, match="outside of the run"):
        run.sol(1.5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("model", [MODEL, Softmax(beta=2)])
def test_events_and_callbacks_get_copies(model: Any, backend: str) -> None:
    """U115: whatever they do to the tokens, the run is the same; what they raise arrives."""
    params = {} if model is MODEL else {"A": A, "V": V}

    def spoil(t: float, x: Any) -> float:
        value = float(x[0, 0])
        x[...] = 99.0
        return value

    wanted = solve(model, X, params, (0, 1), backend=backend, callback=lambda t, x: None)
    seen: list[float] = []
    found = solve(
        model, X, params, (0, 1), backend=backend, events=spoil,
        callback=lambda t, x: seen.append(t) or spoil(t, x) > 98,
    )  # fmt: skip
    assert np.array_equal(found.x, wanted.x)
    assert seen == wanted.t[1:-1].tolist()
    with pytest.raises(ZeroDivisionError):
        solve(model, X, params, (0, 1), backend=backend, callback=lambda t, x: 1 / 0)
    with pytest.raises(InputError, match=r"events\[0\] must return one real number"):
        solve(model, X, params, (0, 1), backend=backend, events=lambda t, x: x[:, 0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_callbacks_and_the_wall_clock_end_runs(backend: str) -> None:
    """U115: in compiled code and in Python alike."""
    run = solve(MODEL, X, {}, (0, 1e3), backend=backend, callback=lambda t, x: t > 0.5)
    assert (run.status, run.success) == ("stopped", False)
    assert 0.5 < run.t[-1] < 1e3
    many, start = sphere(300, 3), time.perf_counter()
    run = solve(
        MODEL, many, {}, (0, 1e9), method="rk4", dt=1e-3, t_eval=[1e9], max_wall_time=0.3, backend=backend
    )
    assert run.status == "stopped"
    assert "max_wall_time = 0.3 s" in run.message
    assert time.perf_counter() - start < 3.0
    runs = ensemble(
        MODEL,
        [many, many],
        {},
        (0, 1e9),
        method="rk4",
        dt=1e-3,
        t_eval=[1e9],
        max_wall_time=0.3,
        backend=backend,
    )
    assert runs.status.tolist() == ["stopped", "stopped"]


_SCRIPT = """
import signal
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
from symflow import Softmax, solve
x = np.random.default_rng(0).standard_normal((2000, 3))
x /= np.linalg.norm(x, axis=1)[:, None]
model = Softmax(space="sphere", beta=2)
few = lambda: solve(model, x[:20], {{}}, (0, 1), backend={backend!r}).x
first = few()
print("running", flush=True)
try:
    long = {{"method": "rk4", "dt": 1e-6, "t_eval": [1e3], "summation": "direct"}}
    solve(model, x, {{}}, (0, 1e3), backend={backend!r}, **long)
except KeyboardInterrupt:
    print("interrupted", np.array_equal(few(), first), flush=True)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_interrupt_ends_a_long_run_of_tokens(backend: str) -> None:
    """U114: 10⁹ steps of 2000 tokens; within two seconds, and later runs are what they were."""
    script = [sys.executable, "-c", _SCRIPT.format(backend=backend)]
    _interrupted(script)


_SCALING = """
import signal
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
from symflow import Sinkhorn, solve
rng = np.random.default_rng(0)
x, (q, k) = rng.standard_normal((3000, 3)), rng.standard_normal((2, 3, 3))
run = lambda n: solve(Sinkhorn(temperature=0.05), x[:n], {"Q": q, "K": k, "V": np.eye(3)}, (0, 1e-3))
first = run(2).x
print("running", flush=True)
try:
    run(3000)
except KeyboardInterrupt:
    print("interrupted", np.array_equal(run(2).x, first), flush=True)
"""


def test_an_interrupt_ends_one_scaling() -> None:
    """U114: a single right-hand side that takes minutes."""
    _interrupted([sys.executable, "-c", _SCALING])


def _interrupted(script: list[str]) -> None:
    """Interrupt a script a second after it says that it runs; it is to answer within two."""
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(1.0)
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted True\n"
        assert time.perf_counter() - sent < 2.0
        assert process.wait(timeout=20) == 0


# --- tolerances and methods ------------------------------------------------------------------------


def test_tolerances_of_tokens() -> None:
    """N079: one per coordinate; what is below rounding is raised, what is negative refused."""
    wanted = solve(MODEL, X, {}, (0, 1), rtol=1e-12, atol=1e-14).x[-1]
    run = solve(MODEL, X, {}, (0, 1), atol=[1e-12, 1e-11, 1e-10])
    assert run.x[-1] == pytest.approx(wanted, abs=1e-8)
    with pytest.warns(UserWarning, match="below rounding"):
        run = solve(MODEL, X, {}, (0, 1), rtol=0)
    assert run.x[-1] == pytest.approx(wanted, abs=1e-11)
    with pytest.raises(InputError, match="rtol = -1"):
        solve(MODEL, X, {}, (0, 1), rtol=-1)
    with pytest.raises(InputError, match=r"one number per coordinate \(3\)"):
        solve(MODEL, X, {}, (0, 1), atol=[1e-9, 1e-9])


@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_members_run_by_implicit_methods(method: str) -> None:
    """Each is the single run of its cloud to the bit."""
    clouds = [sphere(3, 2, seed) for seed in range(3)]
    runs = ensemble(MODEL, clouds, {}, (0, 1), method=method, rtol=1e-6, atol=1e-8)
    for i, cloud in enumerate(clouds):
        single = solve(MODEL, cloud, {}, (0, 1), method=method, rtol=1e-6, atol=1e-8, t_eval=[0, 1])
        assert np.array_equal(runs.x[i], single.x)
    with pytest.raises(InputError, match=f"'fast' is not available for method '{method}'"):
        solve(MODEL, clouds[0], {}, (0, 1), method=method, summation="fast")


def test_fast_sums_are_refused_where_there_are_none() -> None:
    """Before anything is compiled."""
    with pytest.raises(InputError, match="not available in the rescaled frame"):
        solve(Softmax(), X, {"A": A, "V": V}, (0, 1), frame="rescaled", summation="fast")
    with pytest.raises(InputError, match="constant in time, 'V' is not"):
        solve(MODEL, X, {"V": lambda t: V}, (0, 1), summation="fast")


# --- extremes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_runs_in_the_limit_of_large_scales(backend: str) -> None:
    """A083: with Q ≠ K each token follows P_x V x_{j*}, where j* is the argmax of its score."""
    q = np.random.default_rng(8).standard_normal((3, 3))
    scores = X @ q.T @ X.T
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    assert (first - second).min() > 0.02
    h, params = 1e-4, {"Q": q, "K": np.eye(3), "V": V}
    for beta in (1e4, 1e5):
        model = Softmax(space="sphere", beta=beta)
        ends = [
            solve(model, X, params, (0, t), rtol=1e-12, atol=1e-14, backend=backend).x[-1] for t in (h, -h)
        ]
        winner = X[np.argmax(scores, axis=1)] @ V.T
        wanted = winner - np.sum(winner * X, axis=1)[:, None] * X
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(wanted, abs=1e-6)  # h² times a third derivative


def test_energies_beyond_doubles() -> None:
    """A085: five distinct tokens at β = 10³; in logarithms, never a silent infinity."""
    x, energy = X[:5], energies.Interaction(1e3)
    pairs = 1e3 * (x @ x.T)
    exact = pairs.max() + np.log(np.exp(pairs - pairs.max()).sum()) - np.log(2e3 * 25)
    assert energy.log_value(x) == pytest.approx(exact, abs=1e-9)
    assert round(energy.log_value(x), 4) == 990.7897
    run = solve(Softmax(space="sphere", beta=1e3), x, {}, (0, 1))
    with pytest.raises(InputError, match="beyond the range of doubles; use log_value"):
        run.energy(energy)
    assert energy.log_value(run.x) == pytest.approx(np.full(run.t.size, exact), abs=1e-6)
    log, gradient = energy.log_gradient(x)
    assert np.isfinite(log)
    assert np.isfinite(gradient).all()


def test_a_velocity_that_is_no_number_ends_the_run() -> None:
    """N082: on the sphere it is the score that is too large, not the tokens; accessors work."""
    run = solve(Unnormalised(space="sphere", beta=800), X, {}, (0, 1))
    assert (run.status, run.success) == ("non-finite", False)
    assert "score or parameters smaller" in run.message
    assert np.isfinite(run.x).all()
    assert run.cosines().shape == (1, 6, 6)
    assert run.clusters() is not None
    assert run.to_dict()["status"] == "non-finite"


def test_growth_of_tokens_is_followed_until_doubles_end() -> None:
    """x grows like e^{5t}: scores reach 1e19 at t ≈ 4, and squares of tokens leave the range at t ≈ 70."""
    params = {"A": np.eye(2), "V": 5 * np.eye(2)}
    ends = [solve(Softmax(), X[:, :2], params, (0, 200), backend=backend) for backend in BACKENDS]
    for run in ends:
        assert run.status == "non-finite"
        assert np.abs(run.x[-1]).max() > 1e100
        assert np.isfinite(run.x).all()
    assert ends[0].t[-1] == pytest.approx(ends[1].t[-1], rel=0.05)


def test_a_singularity_is_found_in_both_directions() -> None:
    """N061: x' = ±x³ from 1 is infinite at ±1/2."""
    for sign in (1.0, -1.0):
        run = solve(Linear(), [[1.0]], {"A": [[1.0]], "V": [[sign]]}, (0, 2 * sign))
        assert run.status == "blow-up"
        assert run.t_star == pytest.approx(0.5 * sign, abs=1e-8)
        assert np.isfinite(run.x).all()
        assert abs(run.t[-1]) < 0.5


def test_memory_grows_with_the_tokens_not_with_their_pairs() -> None:
    """C039: a run of 4000 tokens in NumPy holds far less than one matrix of all pairs (128 MB)."""
    x = sphere(4000, 3)
    tracemalloc.start()
    solve(MODEL, x, {}, (0, 1e-3), method="rk4", dt=1e-3, backend="numpy")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64e6
