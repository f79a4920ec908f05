"""Taylor coefficients: three executions of one recursion, beside a closed form that knows nothing of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow import L2, Softmax, compile, gaussian_closure
from symflow.codegen.build import missing
from symflow.codegen.lower import programs_of
from symflow.codegen.program import TraceOf
from symflow.codegen.taylor import order_for, recursion
from symflow.codegen.taylor_bind import bind_series
from symflow.codegen.taylor_latex import taylor_recurrences
from symflow.codegen.taylor_numpy import NumpySeries
from symflow.codegen.taylor_plan import Plan
from symflow.errors import InputError

Array = np.ndarray[Any, np.dtype[np.float64]]

ORDER = 9
MODELS: list[tuple[Any, frozenset[str]]] = [
    (Softmax(), frozenset({"A", "V"})),
    (Softmax(), frozenset({"Q", "K", "V"})),
    (L2(), frozenset({"Q", "K", "V"})),
]
SIZES = [(1, 1, 1), (2, 2, 2), (3, 2, 1), (3, 3, 3), (5, 3, 4), (8, 8, 8)]


def example(model: Any, names: frozenset[str], form: str, sizes: tuple[int, int, int]) -> tuple[Any, ...]:
    """Return recursion, sizes, values and a state."""
    source = recursion(programs_of(model, names)[form])
    dims = [dict(zip(("d", "k", "r"), sizes, strict=True))[n] for n in source.program.dimensions]
    table = dict(zip(source.program.dimensions, dims, strict=True))
    rng = np.random.default_rng(sum(sizes))
    values = {}
    for p in source.program.parameters:
        shape = tuple(n if isinstance(n, int) else table[n] for n in (p.rows, p.cols))
        scalar = p.name in source.program.scalars
        values[p.name] = np.asarray(0.8) if scalar else rng.normal(size=shape) / np.sqrt(shape[0])
    size = NumpySeries(source, dims, values, ORDER).size
    state = 0.7 * rng.normal(size=size)
    if form == "moments":
        root = state[sizes[0] :].reshape(sizes[0], sizes[0])
        state[sizes[0] :] = (root @ root.T).ravel()
    return source, dims, values, state


def compiled_coefficients(call: Any, y: Array) -> Array:
    """Return the coefficients of a compiled series: the dense output of one step, over powers of its size."""
    runtime = pytest.importorskip("symflow_ext.runtime")
    stepper = runtime.TaylorStepper(
        call, 0.0, y, 1.0, rtol=1e-9, atol=np.full(y.size, 1e-12), first_step=1e-2
    )
    times, states, rows = np.empty(2), np.empty((2, y.size)), np.empty((1, ORDER, y.size))
    assert stepper.advance(times, states, rows, 1, 60.0) == ("running", 1)
    return np.asarray(rows[0] / (times[1] - times[0]) ** np.arange(1, ORDER + 1)[:, None])


@pytest.mark.parametrize("form", ["factor", "moments"])
@pytest.mark.parametrize("sizes", [*SIZES, (12, 4, 9)], ids=str)
@pytest.mark.parametrize(("model", "names"), MODELS, ids=["softmax-A", "softmax-QK", "l2-QK"])
def test_the_runtime_executes_what_numpy_does(
    model: Any, names: frozenset[str], sizes: tuple[int, int, int], form: str
) -> None:
    runtime = pytest.importorskip("symflow_ext.runtime")
    source, dims, values, state = example(model, names, form, sizes)
    expected = np.zeros((ORDER + 1, state.size))
    assert NumpySeries(source, dims, values, ORDER)(0.0, state, expected) == 0
    plan = Plan(source, dims, values, ORDER)
    lines = [line.fields() for line in plan.instructions]
    series = runtime.Series(lines, plan.memory(), plan.states(), plan.size, plan.pivots, ORDER)
    found = compiled_coefficients(series, state)
    # sums of some hundred products in another order, beside solves of a condition below 1e3
    assert np.abs(found - expected[1:]).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.skipif(missing() is not None, reason="no compiler")
@pytest.mark.parametrize("form", ["factor", "moments"])
@pytest.mark.parametrize("sizes", [(3, 2, 3)], ids=str)
@pytest.mark.parametrize(("model", "names"), MODELS, ids=["softmax-A", "softmax-QK", "l2-QK"])
def test_printed_coefficients_agree(
    model: Any, names: frozenset[str], sizes: tuple[int, int, int], form: str
) -> None:
    """Softmax keeps the mean beside the factor at this size, in part of L2 it has a place of its own."""
    from symflow_ext.call import Call

    source, dims, values, state = example(model, names, form, sizes)
    expected = np.zeros((ORDER + 1, state.size))
    NumpySeries(source, dims, values, ORDER)(0.0, state, expected)
    kernel = compile(model, backend="compiled", given=names)
    loaded, bound = kernel.bound({k: v for k, v in values.items() if k not in ("beta", "temperature")})
    bound |= values
    call = bind_series(model, names, loaded, form, dims, bound, ORDER)
    assert isinstance(call, Call)
    found = compiled_coefficients(call, state)
    assert np.abs(found - expected[1:]).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_closed_form_has_these_coefficients(d: int) -> None:
    """For V = I: Σ(t) = (Σ₀⁻¹ − tS)⁻¹ with S = A + Aᵀ, hence Σ_[k] = (Σ₀S)ᵏΣ₀."""
    source = recursion(programs_of(Softmax(), frozenset({"A", "V"}))["moments"])
    rng = np.random.default_rng(d)
    a, root = rng.normal(size=(d, d)), rng.normal(size=(d, d))
    cov = root @ root.T
    values = {"A": a, "V": np.eye(d), "beta": np.asarray(1.0), "temperature": np.asarray(1.0)}
    state = np.concatenate([rng.normal(size=d), cov.ravel()])
    out = np.zeros((ORDER + 1, state.size))
    NumpySeries(source, [d], values, ORDER)(0.0, state, out)
    for k in range(ORDER + 1):
        expected = np.linalg.matrix_power(cov @ (a + a.T), k) @ cov
        assert np.abs(out[k, d:].reshape(d, d) - expected).max() < 1e-12 * max(1.0, np.abs(expected).max())


def test_equations_name_what_is_computed() -> None:
    flow = gaussian_closure(L2(), {"Q", "K", "V"}).flow
    text = "\n".join(taylor_recurrences(flow, "factor"))
    assert r"(k+1) F_{[k+1]} = \left(\dot{F}\right)_{[k]}" in text
    assert r"W_{6}^{-1} \left(\left(W_{3}\right)_{[k]} - \sum_{j=1}^{k}" in text  # the solve
    assert r"\delta_{k0} W_{4}" in text  # a constant counts once
    assert len(taylor_recurrences(flow)) == len(lowered(flow)) + 2
    with pytest.raises(InputError, match="form = 'tangent'"):
        taylor_recurrences(flow, "tangent")


def lowered(flow: Any) -> Any:
    from symflow.codegen.lower import lower

    return lower(flow)["moments"].ops


def test_what_has_no_recurrence_is_refused_by_name() -> None:
    from dataclasses import replace

    program = programs_of(Softmax(), frozenset({"A", "V"}))["moments"]
    trace = TraceOf(program.ops[0].out, program.ops[0].a)  # type: ignore[union-attr]
    with pytest.raises(InputError, match="no recurrence for TraceOf"):
        recursion(replace(program, ops=(trace, *program.ops[1:])))
    with pytest.raises(InputError, match="not a right-hand side"):
        recursion(programs_of(Softmax(), frozenset({"A", "V"}))["tangent"])


def test_order_follows_the_tolerance() -> None:
    orders = [order_for(10.0**-n) for n in range(2, 15)]
    assert orders == sorted(orders)
    assert (orders[0], order_for(1e-9), orders[-1]) == (6, 16, 25)
