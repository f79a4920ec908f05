"""Events: every zero in a step, directions, terminal ones, zeros at step ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow import Gaussian, Softmax, solve
from symflow.errors import InputError

OMEGA = 2 * np.pi
TURN = {"V": np.array([[0.0, -OMEGA], [OMEGA, 0.0]]), "A": np.zeros((2, 2))}  # α turns once per unit of time
LAW = Gaussian([1.0, 0.0], np.zeros((2, 2)))


def first_coordinate(t: float, mean: Any, cov: Any) -> float:
    return float(mean[0])


def event(function: Any, **attributes: Any) -> Any:
    def copy(t: float, mean: Any, cov: Any) -> float:
        return float(function(t, mean, cov))

    for name, value in attributes.items():
        setattr(copy, name, value)
    return copy


CROSSINGS = 0.25 + 0.5 * np.arange(20)


@pytest.mark.parametrize("method", ["dop853", "dp5", "rk4", "radau"])
def test_every_crossing_is_found(method: str) -> None:
    """N069: twenty crossings at ¼ + k/2."""
    dt = {"dt": 0.02} if method == "rk4" else {"rtol": 1e-6}
    run = solve(Softmax(), LAW, TURN, (0, 10), events=first_coordinate, method=method, **dt)
    assert run.t_events[0].size == 20
    assert np.abs(run.t_events[0] - CROSSINGS).max() < 1e-3
    assert np.abs(run.mean_events[0][:, 0]).max() < 1e-6
    assert run.cov_events[0].shape == (20, 2, 2)


def test_every_zero_of_the_dense_output_at_a_coarse_tolerance() -> None:
    """N069: Several crossings within one step; the zeros are those of the interpolant, sampled finely."""
    run = solve(Softmax(), LAW, TURN, (0, 10), events=first_coordinate, rtol=0.3, atol=0.3, dense_output=True)
    times = np.linspace(0, 10, 200_001)
    values = run.sol(times)[0][:, 0]
    changes = times[:-1][np.sign(values[:-1]) * np.sign(values[1:]) < 0]
    assert run.t.size < 30
    assert run.t_events[0].size == changes.size
    assert np.abs(run.t_events[0] - changes).max() < 1e-4


def test_an_event_need_not_be_defined_in_the_steps_behind_a_terminal_one() -> None:
    """√(1.2 − t) − 1 vanishes at t = 0.2 and is not a number beyond t = 1.2."""
    root = event(lambda t, mean, cov: np.sqrt(1.2 - t) - 1.0 if t < 1.2 else np.nan, terminal=True)
    run = solve(Softmax(), LAW, TURN, (0, 10), events=root, max_step=0.5)
    assert run.status == "event"
    assert abs(run.t[-1] - 0.2) < 1e-9


def test_several_zeros_of_a_fast_event_in_one_step() -> None:
    fast = event(lambda t, mean, cov: np.sin(200.0 * t))
    run = solve(Softmax(), Gaussian(1.0, 1.0), {"V": [[1e-3]], "A": [[0.0]]}, (0, 1), events=fast)
    assert run.t.size < 10
    assert np.allclose(run.t_events[0], np.pi / 200 * np.arange(1, 64), atol=1e-10)


def test_directions() -> None:
    rising, falling = (event(first_coordinate, direction=sign) for sign in (1, -1))
    run = solve(Softmax(), LAW, TURN, (0, 10), events=[rising, falling])
    assert np.abs(run.t_events[0] - CROSSINGS[1::2]).max() < 1e-8
    assert np.abs(run.t_events[1] - CROSSINGS[::2]).max() < 1e-8


def test_directions_follow_the_run_backwards() -> None:
    rising = event(first_coordinate, direction=1)
    run = solve(Softmax(), LAW, TURN, (0, -2), events=rising)
    assert np.abs(run.t_events[0] - [-0.75, -1.75]).max() < 1e-8


@pytest.mark.parametrize(("terminal", "stop"), [(True, 0.25), (3, 1.25)])
@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_terminal_event_ends_the_run(terminal: Any, stop: float, method: str) -> None:
    run = solve(
        Softmax(),
        LAW,
        TURN,
        (0, 10),
        events=event(first_coordinate, terminal=terminal),
        method=method,
        dense_output=True,
    )
    assert (run.status, run.success) == ("event", True)
    assert abs(run.t[-1] - stop) < 1e-6
    assert abs(run.mean[-1, 0]) < 1e-6
    assert np.all(np.diff(run.t) > 0)
    assert "event" in run.message
    with pytest.raises(InputError, match="outside"):
        run.sol(stop + 0.1)


def test_nothing_is_recorded_beyond_a_terminal_event() -> None:
    events = [event(first_coordinate, terminal=True), event(lambda t, mean, cov: t - 0.3)]
    run = solve(Softmax(), LAW, TURN, (0, 10), events=events, t_eval=np.linspace(0, 10, 101))
    assert run.t_events[1].size == 0
    assert np.allclose(run.t, [0.0, 0.1, 0.2, 0.25])


def test_an_event_at_the_end_of_a_step() -> None:
    """N071: max_step = 0.125 puts a node onto the crossing at 0.25."""
    run = solve(Softmax(), LAW, TURN, (0, 1), events=first_coordinate, max_step=0.125, dense_output=True)
    assert np.abs(run.t_events[0] - [0.25, 0.75]).max() < 1e-8
    assert np.all(np.diff(run.t) > 0)
    mean, _ = run.sol(0.25)
    assert abs(mean[0]) < 1e-8


def test_an_event_exactly_at_a_node_is_found_once() -> None:
    at_node = event(lambda t, mean, cov: t - 0.5)
    run = solve(Softmax(), LAW, TURN, (0, 1), events=at_node, method="rk4", dt=0.125)
    assert 0.5 in run.t
    assert np.allclose(run.t_events[0], [0.5], atol=1e-12)


def test_a_zero_at_the_start_is_not_an_event() -> None:
    run = solve(
        Softmax(),
        Gaussian([0.0, 1.0], np.zeros((2, 2))),
        TURN,
        (0, 1),
        events=event(first_coordinate, terminal=True),
    )
    assert run.status == "event"
    assert abs(run.t[-1] - 0.5) < 1e-8


def test_a_zero_at_the_end_is() -> None:
    run = solve(Softmax(), LAW, TURN, (0, 1), events=event(lambda t, mean, cov: t - 1.0))
    assert run.t_events[0].tolist() == [1.0]


def test_an_event_that_vanishes_identically_has_no_isolated_zero() -> None:
    run = solve(Softmax(), LAW, TURN, (0, 1), events=event(lambda t, mean, cov: cov[0, 0]))
    assert run.t_events[0].size == 0


def test_events_see_mean_and_covariance() -> None:
    """Σ = Σ₀/(1 + 2t) falls to 1/2 at t = 1/2."""
    half = event(lambda t, mean, cov: cov[0, 0] - 0.5, terminal=True)
    run = solve(Softmax(), Gaussian(0.0, 1.0), {"V": [[1.0]], "A": [[-1.0]]}, (0, 10), events=half)
    assert abs(run.t[-1] - 0.5) < 1e-8


def test_bad_events_are_refused() -> None:
    with pytest.raises(InputError, match=r"events\[1\] must be a function"):
        solve(Softmax(), LAW, TURN, (0, 1), events=[first_coordinate, 3])
    with pytest.raises(InputError, match=r"events\[0\] is not finite at t"):
        solve(Softmax(), LAW, TURN, (0, 1), events=lambda t, mean, cov: float("nan"))


def test_an_exception_in_an_event_passes_through() -> None:
    def broken(t: float, mean: Any, cov: Any) -> float:
        raise KeyError("in the event")

    with pytest.raises(KeyError, match="in the event"):
        solve(Softmax(), LAW, TURN, (0, 1), events=broken)


def test_events_and_times_come_in_any_iterable() -> None:
    """U117: order kept."""
    events = (event(lambda t, mean, cov, at=at: t - at) for at in (0.7, 0.2))
    run = solve(Softmax(), LAW, TURN, iter((0, 1)), events=events, t_eval=(i / 4 for i in range(5)))
    assert [round(float(t), 8) for (t,) in run.t_events] == [0.7, 0.2]
    assert run.t.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("value", [np.zeros(2), None, "zero", 1j])
def test_an_event_that_is_not_a_number_is_refused_by_index(value: Any) -> None:
    events = [first_coordinate, lambda t, mean, cov: value]
    with pytest.raises(InputError, match=r"events\[1\] must return one real number"):
        solve(Softmax(), LAW, TURN, (0, 1), events=events)


def test_an_event_may_return_an_array_of_one_entry() -> None:
    run = solve(Softmax(), LAW, TURN, (0, 1), events=lambda t, mean, cov: mean[:1])
    assert np.allclose(run.t_events[0], [0.25, 0.75])


@pytest.mark.parametrize(
    "attributes",
    [{"terminal": -1}, {"terminal": 1.5}, {"terminal": "x"}, {"direction": "up"}, {"direction": np.nan}],
)
def test_attributes_that_mean_nothing_are_refused(attributes: Any) -> None:
    (name,) = attributes
    with pytest.raises(InputError, match=rf"events\[0\].{name}"):
        solve(Softmax(), LAW, TURN, (0, 1), events=event(first_coordinate, **attributes))
