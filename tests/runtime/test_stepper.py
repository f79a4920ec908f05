"""The compiled stepper: order, dense output, ends, blow-up; its NumPy twin as second witness."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from symflow.integrate.python_stepper import PythonStepper
from symflow_ext import runtime

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass
class Run:
    """Everything a stepper produced."""

    stepper: Any
    status: str
    t: Array
    y: Array
    c: Array

    def at(self, times: Array) -> Array:
        """Evaluate the dense output."""
        out = np.empty((times.size, self.y.shape[1]))
        runtime.interpolate(self.t, self.y, self.c, times, out)
        return out


def run(
    rhs: Any,
    y0: Any,
    t0: float,
    t1: float,
    method: str = "dop853",
    twin: bool = False,
    capacity: int = 4000,
    **kw: Any,
) -> Run:
    y0 = np.asarray(y0, float)
    settings = {"rtol": 1e-9, "atol": np.full(y0.size, 1e-12)} | kw
    if twin:
        stepper: Any = PythonStepper(rhs, method, t0, y0, t1, **settings)
    else:
        call = rhs if isinstance(rhs, (runtime.Call, runtime.PyCall)) else runtime.PyCall(rhs, y0.size)
        stepper = runtime.Stepper(call, method, t0, y0, t1, **settings)
    t, y = np.empty(capacity + 1), np.empty((capacity + 1, y0.size))
    c = np.empty((capacity, stepper.dense_rows, y0.size))
    status, n = stepper.advance(t, y, c, capacity, 60.0)
    return Run(stepper, status, t[: n + 1], y[: n + 1], c[:n])


def rotation(t: float, y: Array, dy: Array) -> None:
    dy[0], dy[1] = y[1], -y[0]


def pendulum(t: float, y: Array, dy: Array) -> None:
    dy[0], dy[1] = y[1], -math.sin(y[0]) + 0.3 * math.cos(2.0 * t)


@pytest.mark.parametrize(("method", "order"), [("dop853", 8), ("dp5", 5), ("rk4", 4)])
@pytest.mark.parametrize("twin", [False, True])
def test_observed_order(method: str, order: int, twin: bool) -> None:
    """Halving the step divides the error by 2^order; the slack covers the next term of the expansion."""
    reference = solve_ivp(
        lambda t, y: [y[1], -math.sin(y[0]) + 0.3 * math.cos(2.0 * t)],
        (0, 4),
        [1.0, 0.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-14,
    ).y[:, -1]
    steps = {"dop853": (0.4, 0.2), "dp5": (0.1, 0.05), "rk4": (0.1, 0.05)}[
        method
    ]  # errors far above rounding
    errors = [
        np.abs(run(pendulum, [1.0, 0.0], 0.0, 4.0, method, twin, dt=dt).y[-1] - reference).max()
        for dt in steps
    ]
    assert abs(math.log2(errors[0] / errors[1]) - order) < 0.6


@pytest.mark.parametrize(("method", "order"), [("dop853", 7), ("dp5", 4), ("rk4", 3)])
def test_observed_order_of_the_dense_output(method: str, order: int) -> None:
    """The local error of an interpolant of degree p is O(h^(p+1)): at least its order over a whole run."""
    times = np.linspace(0.0, 4.0, 400)
    errors = [
        np.abs(run(rotation, [1.0, 0.0], 0.0, 4.0, method, dt=dt).at(times)[:, 0] - np.cos(times)).max()
        for dt in (0.5, 0.25)
    ]
    assert math.log2(errors[0] / errors[1]) > order - 0.3


@pytest.mark.parametrize("name", ["dop853", "dp5", "rk4"])
def test_tableaux_satisfy_the_first_order_conditions(name: str) -> None:
    """Rows sum to their nodes, weights to 1, b·c = 1/2, b·c² = 1/3, b·Ac = 1/6; the errors sum to 0."""
    table = runtime.TABLEAUX[name]
    c = np.array(table.c)
    a = np.array([[row.get(j, 0.0) for j in range(c.size)] for row in table.a])
    b = np.array([table.b.get(j, 0.0) for j in range(c.size)])
    assert np.abs(a.sum(1) - c).max() < 1e-14
    assert np.array_equal(a, np.tril(a, -1))
    assert abs(b.sum() - 1.0) < 1e-14
    for power in range(1, table.order):
        assert abs(b @ c**power - 1.0 / (power + 1)) < 1e-13, power
    assert abs(b @ a @ c - 1.0 / 6.0) < 1e-13
    for row in (table.error, table.error_low):
        assert abs(sum(row.values())) < 1e-13


def test_dop853_has_the_published_coefficients() -> None:
    published = pytest.importorskip("scipy.integrate._ivp.dop853_coefficients")
    table = runtime.TABLEAUX["dop853"]
    for i, row in enumerate((*table.a, table.b, *table.dense_a)):
        assert all(published.A[i, j] == weight for j, weight in row.items())
        assert np.count_nonzero(published.A[i]) == len(row)
    assert all(published.E5[j] == weight for j, weight in table.error.items())
    assert all(abs(published.E3[j] - weight) < 1e-16 for j, weight in table.error_low.items())
    for i, row in enumerate(table.dense):
        assert all(published.D[i, j] == weight for j, weight in row.items())


@pytest.mark.parametrize("method", ["dop853", "dp5"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_the_tolerance_is_kept(method: str, rtol: float) -> None:
    found = run(rotation, [1.0, 0.0], 0.0, 20.0, method, rtol=rtol, atol=np.full(2, rtol))
    assert found.status == "finished"
    assert found.t[-1] == 20.0
    # local errors below rtol add up over the steps of twenty units of time
    assert np.abs(found.y[-1] - [math.cos(20.0), -math.sin(20.0)]).max() < 100 * rtol


@pytest.mark.parametrize("method", ["dop853", "dp5", "rk4"])
@pytest.mark.parametrize("span", [(0.0, 3.0), (1.0, -2.0)])
def test_the_numpy_twin_takes_the_same_steps(method: str, span: tuple[float, float]) -> None:
    fixed = {"dt": 0.05} if method == "rk4" else {}
    first, second = (run(pendulum, [1.0, 0.0], *span, method, twin, **fixed) for twin in (False, True))
    assert first.status == second.status == "finished"
    assert first.stepper.nfev == second.stepper.nfev
    # the same arithmetic in another order of summation; step sizes feel it through the error estimate
    assert np.allclose(first.t, second.t, rtol=1e-6)
    assert np.allclose(first.y[-1], second.y[-1], rtol=1e-9, atol=1e-10)
    if method == "rk4":
        assert np.allclose(first.c, second.c, rtol=1e-9, atol=1e-14)


def test_a_compiled_entry_gives_the_numbers_of_python(hand_kernel: Any) -> None:
    compiled = run(runtime.Call(hand_kernel(), "oscillator", (), [np.array([1.0])], 2), [1.0, 0.0], 0.0, 10.0)
    python = run(rotation, [1.0, 0.0], 0.0, 10.0)
    assert np.array_equal(compiled.t, python.t)
    assert np.array_equal(compiled.y, python.y)


def test_chunks_do_not_change_the_steps() -> None:
    whole = run(rotation, [1.0, 0.0], 0.0, 10.0)
    call = runtime.PyCall(rotation, 2)
    stepper = runtime.Stepper(
        call, "dop853", 0.0, np.array([1.0, 0.0]), 10.0, rtol=1e-9, atol=np.full(2, 1e-12)
    )
    times = [0.0]
    status = "running"
    while status == "running":
        t, y = np.empty(3), np.empty((3, 2))
        status, n = stepper.advance(t, y, None, 2, 60.0)
        times += t[1 : n + 1].tolist()
    assert times == whole.t.tolist()


def test_a_deadline_ends_a_chunk() -> None:
    stepper = runtime.Stepper(
        runtime.PyCall(rotation, 2),
        "dop853",
        0.0,
        np.array([1.0, 0.0]),
        1e6,
        rtol=1e-9,
        atol=np.full(2, 1e-12),
    )
    t, y = np.empty(100_001), np.empty((100_001, 2))
    status, n = stepper.advance(t, y, None, 100_000, 0.01)
    assert status == "running"
    assert 1 <= n < 100_000


@pytest.mark.parametrize("method", ["dop853", "dp5"])
@pytest.mark.parametrize("span", [(0.0, 1e-4), (0.5, 0.5 - 1e-9), (3.0, 3.7), (1e8, 1e8 + 1e-6)])
@pytest.mark.parametrize("twin", [False, True])
def test_nothing_is_evaluated_outside_of_the_interval(
    method: str, span: tuple[float, float], twin: bool
) -> None:
    """N068."""
    seen: list[float] = []

    def rhs(t: float, y: Array, dy: Array) -> None:
        seen.append(t)
        dy[0] = -1e-3 * y[0]

    assert run(rhs, [1.0], *span, method, twin).status == "finished"
    assert min(span) <= min(seen)
    assert max(seen) <= max(span)


@pytest.mark.parametrize("twin", [False, True])
def test_max_step_and_first_step(twin: bool) -> None:
    found = run(rotation, [1.0, 0.0], 0.0, 1.0, twin=twin, max_step=0.125, first_step=0.01)
    assert found.t[1] == 0.01
    assert np.diff(found.t).max() <= 0.125 * (1 + 1e-6)


def test_an_empty_interval_is_finished_at_once() -> None:
    found = run(rotation, [1.0, 0.0], 2.0, 2.0)
    assert (found.status, found.t.tolist()) == ("finished", [2.0])


# --------------------------------------------------------------------------------------------- how runs end


@pytest.mark.parametrize("method", ["dop853", "dp5"])
@pytest.mark.parametrize("twin", [False, True])
@pytest.mark.parametrize("power", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_blow_up_time(method: str, twin: bool, power: float, sign: float) -> None:
    """|y|' = |y|^(1+p)/p from 1: |y| = (1 - t)^(-1/p), so t* = 1; forwards and backwards."""

    def rhs(t: float, y: Array, dy: Array) -> None:
        dy[0] = sign * y[0] * abs(y[0]) ** power / power

    found = run(rhs, [1.0], 0.0, sign * 3.0, method, twin)
    assert found.status == "blow-up"
    assert abs(found.stepper.singularity - sign) < 1e-7  # rtol = 1e-9 per step over about a hundred steps
    assert abs(found.t[-1]) < 1.0
    assert np.isfinite(found.y).all()


@pytest.mark.parametrize("t0", [1e6, -1e6, 1e3])
def test_blow_up_far_from_the_origin_of_time(t0: float) -> None:
    def rhs(t: float, y: Array, dy: Array) -> None:
        dy[0] = y[0] ** 3

    found = run(rhs, [1.0], t0, t0 + 3.0)
    assert found.status == "blow-up"
    assert abs(found.stepper.singularity - t0 - 0.5) < 1e-6


@pytest.mark.parametrize("twin", [False, True])
def test_only_the_watched_part_can_blow_up(twin: bool) -> None:
    """y₀' = y₀ is large, y₁' = y₁² has its singularity at t = 1; unwatched, the run ends where steps do."""

    def rhs(t: float, y: Array, dy: Array) -> None:
        dy[0], dy[1] = y[0], y[1] * y[1]

    found = run(rhs, [1e12, 1.0], 0.0, 2.0, twin=twin, watch=1)
    assert found.status == "blow-up"
    assert abs(found.stepper.singularity - 1.0) < 1e-8
    assert run(rhs, [1e12, 1.0], 0.0, 2.0, twin=twin, watch=2).status != "blow-up"


def test_a_part_that_does_not_exist_cannot_be_watched() -> None:
    with pytest.raises(ValueError, match="watch = 3"):
        run(lambda t, y, dy: 0, [1.0], 0.0, 1.0, watch=3)


@pytest.mark.parametrize("twin", [False, True])
def test_a_run_that_could_not_start_starts_again(twin: bool) -> None:
    """The first evaluation leaves the domain, the second one does not: nothing of the first is used."""
    codes = iter([2])

    def rhs(t: float, y: Array, dy: Array) -> int:
        dy[0] = -y[0]
        return next(codes, 0)

    failed = run(rhs, [1.0], 0.0, 1.0, twin=twin)
    assert failed.status == "step-too-small"
    times, states = np.empty(101), np.empty((101, 1))
    status, taken = failed.stepper.advance(times, states, None, 100, 60.0)
    assert status == "finished"
    assert abs(states[taken, 0] - math.exp(-1.0)) < 1e-9


@pytest.mark.parametrize(
    "growth",
    [
        lambda t: 100.0,
        lambda t: math.exp(min(t, 700.0)),
        lambda t: 1e6,
        lambda t: 3.0 * t * t,
    ],
    ids=["exponential", "double exponential", "fast exponential", "gaussian"],
)
@pytest.mark.parametrize("twin", [False, True])
def test_growth_without_singularity_is_not_blow_up(growth: Callable[[float], float], twin: bool) -> None:
    def rhs(t: float, y: Array, dy: Array) -> None:
        dy[0] = growth(t) * y[0]

    found = run(rhs, [1.0], 0.0, 30.0, twin=twin, rtol=1e-6, capacity=20_000)
    assert found.status == "non-finite"
    assert np.isfinite(found.y).all()
    assert np.isfinite(found.y**2).all()
    assert found.y[-1, 0] > 1e100


def test_a_drift_that_becomes_infinite_at_a_finite_state_is_not_blow_up() -> None:
    """y' = 1/(2(1 - y)) from 0: y = 1 - sqrt(1 - t) stays below 1."""

    def rhs(t: float, y: Array, dy: Array) -> int:
        dy[0] = 0.5 / (1.0 - y[0]) if y[0] < 1.0 else 0.0
        return 0 if y[0] < 1.0 else 2

    found = run(rhs, [0.0], 0.0, 2.0)
    assert found.status == "step-too-small"
    assert found.stepper.reason == "outside-domain"
    assert abs(found.t[-1] - 1.0) < 1e-9


def test_the_edge_of_a_domain(hand_kernel: Any) -> None:
    found = run(runtime.Call(hand_kernel(), "fenced", (), [np.array([0.5])], 1), [0.0], 0.0, 1.0)
    assert found.status == "step-too-small"
    assert found.stepper.reason == "outside-domain"
    assert abs(found.t[-1] - 0.5) < 1e-14
    assert found.y[-1, 0] <= 0.5


@pytest.mark.parametrize("twin", [False, True])
def test_a_jump_to_nan_ends_the_run_before_it(twin: bool) -> None:
    def rhs(t: float, y: Array, dy: Array) -> None:
        dy[0] = 1.0 if t < 0.3 else math.nan

    found = run(rhs, [0.0], 0.0, 1.0, twin=twin)
    assert found.status == "non-finite"
    assert abs(found.t[-1] - 0.3) < 1e-12
    assert np.isfinite(found.y).all()


@pytest.mark.parametrize("method", ["dop853", "dp5", "rk4"])
@pytest.mark.parametrize("twin", [False, True])
def test_nan_at_the_start_ends_at_once(method: str, twin: bool) -> None:
    """N063: the search for a first step does not go on for ever."""

    def rhs(t: float, y: Array, dy: Array) -> None:
        dy[0] = math.nan

    found = run(rhs, [0.0], 0.0, 1.0, method, twin, **({"dt": 0.1} if method == "rk4" else {}))
    assert found.status == "non-finite"
    assert found.stepper.nfev == 1


@pytest.mark.parametrize("twin", [False, True])
def test_a_fixed_step_does_not_jump_over_a_singularity(twin: bool) -> None:
    def rhs(t: float, y: Array, dy: Array) -> None:
        dy[0] = y[0] ** 3

    found = run(rhs, [1.0], 0.0, 3.0, "rk4", twin, dt=1e-3)
    assert found.status == "blow-up"
    assert abs(found.stepper.singularity - 0.5) < 1e-3


def test_an_exception_in_the_middle_of_a_run() -> None:
    def rhs(t: float, y: Array, dy: Array) -> None:
        if t > 0.5:
            raise KeyError("late")
        dy[0] = 1.0

    with pytest.raises(KeyError, match="late"):
        run(rhs, [0.0], 0.0, 1.0)


def test_the_same_call_serves_after_an_exception() -> None:
    fail = True

    def rhs(t: float, y: Array, dy: Array) -> None:
        if fail:
            raise KeyError("once")
        dy[0] = 1.0

    call = runtime.PyCall(rhs, 1)
    with pytest.raises(KeyError):
        run(call, [0.0], 0.0, 1.0)
    fail = False
    assert run(call, [0.0], 0.0, 1.0).status == "finished"


def test_a_negative_capacity_is_refused() -> None:
    """Row 0 is always written, also where no step is taken."""
    stepper = run(lambda t, y, dy: 0, [1.0], 0.0, 1.0).stepper
    with pytest.raises(ValueError, match="capacity = -1"):
        stepper.advance(np.empty(0), np.empty((0, 1)), None, -1, 1.0)


def test_a_method_without_error_estimate_wants_dt() -> None:
    with pytest.raises(ValueError, match="dt"):
        run(rotation, [1.0, 0.0], 0.0, 1.0, "rk4")
