"""Calls of compiled entries and of Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow_ext import runtime


def test_a_compiled_entry(hand_kernel: Any) -> None:
    call = runtime.Call(hand_kernel(), "oscillator", (), [np.array([2.0])], 2)
    dy = np.zeros(2)
    assert call(0.0, np.array([3.0, 5.0]), dy) == 0
    assert dy.tolist() == [10.0, -6.0]


def test_parameters_are_copied(hand_kernel: Any) -> None:
    frequency = np.array([2.0])
    call = runtime.Call(hand_kernel(), "oscillator", (), [frequency], 2)
    frequency[0] = 100.0
    dy = np.zeros(2)
    call(0.0, np.array([0.0, 1.0]), dy)
    assert dy[0] == 2.0


@pytest.mark.parametrize("d", [3, 70])
def test_an_entry_reaches_the_linear_algebra(hand_kernel: Any, d: int) -> None:
    a, y = np.random.default_rng(1).normal(size=(2, d, d))
    call = runtime.Call(hand_kernel(), "linear", (d, d), [np.zeros(1), a], d * d)
    dy = np.zeros(d * d)
    assert call(0.0, y.ravel(), dy) == 0
    assert np.allclose(dy.reshape(d, d), a @ y, rtol=1e-12, atol=1e-12)


def test_a_copy_has_its_own_memory(hand_kernel: Any) -> None:
    call = runtime.Call(hand_kernel(), "oscillator", (), [np.array([2.0])], 2).copy()
    dy = np.zeros(2)
    call(0.0, np.array([0.0, 1.0]), dy)
    assert dy[0] == 2.0


def test_a_capsule_of_another_abi_is_refused(hand_kernel: Any) -> None:
    with pytest.raises(ValueError, match="another version"):
        runtime.Call(hand_kernel(b"symflow.kernel.0000"), "oscillator", (), [np.zeros(1)], 2)


def test_an_unknown_entry_is_refused_with_the_known_ones(hand_kernel: Any) -> None:
    with pytest.raises(ValueError, match=r"'tangent'; it has oscillator, linear, fenced"):
        runtime.Call(hand_kernel(), "tangent", (), [np.zeros(1)], 2)


@pytest.mark.parametrize(
    ("y", "dy", "message"),
    [
        (np.zeros(3), np.zeros(2), "y must hold 2 numbers, got 3"),
        (np.zeros(2), np.zeros(1), "dy must hold 2 numbers, got 1"),
        (np.zeros(2, np.float32), np.zeros(2), "y must be an array of float64"),
        (np.zeros(2), np.zeros(2, np.int64), "dy must be an array of float64"),
    ],
)
def test_wrong_buffers_are_refused(hand_kernel: Any, y: Any, dy: Any, message: str) -> None:
    call = runtime.Call(hand_kernel(), "oscillator", (), [np.zeros(1)], 2)
    with pytest.raises(ValueError, match=message):
        call(0.0, y, dy)


def test_a_python_function_behind_the_same_interface() -> None:
    def rhs(t: float, y: Any, dy: Any) -> int | None:
        dy[:] = t * y
        return 1 if y[0] < 0.0 else None

    call = runtime.PyCall(rhs, 1)
    dy = np.zeros(1)
    assert call(2.0, np.array([3.0]), dy) == 0
    assert dy[0] == 6.0
    assert runtime.STATUS[call(2.0, np.array([-3.0]), dy)] == "singular"


def test_an_exception_passes_through() -> None:
    def rhs(t: float, y: Any, dy: Any) -> None:
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        runtime.PyCall(rhs, 1)(0.0, np.zeros(1), np.zeros(1))


def test_a_status_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="None, 0, 1, 2 or 4, got 7"):
        runtime.PyCall(lambda t, y, dy: 7, 1)(0.0, np.zeros(1), np.zeros(1))


def test_a_call_that_is_in_use_refuses_a_second_user() -> None:
    def rhs(t: float, y: Any, dy: Any) -> None:
        call(t, np.zeros(1), np.zeros(1))

    call = runtime.PyCall(rhs, 1)
    with pytest.raises(RuntimeError, match="in use"):
        call(0.0, np.zeros(1), np.zeros(1))
