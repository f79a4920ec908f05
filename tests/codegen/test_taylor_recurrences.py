"""Taylor coefficients: three executions of one recursion, beside a closed form that knows nothing of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow import L2, Linear, Masked, MultiHead, Sinkhorn, Softmax, compile, gaussian_closure
from symflow.codegen.build import missing
from symflow.codegen.lower import programs_of
from symflow.codegen.program import Array as Named
from symflow.codegen.program import Operand, Program, Scaled, Sylvester, TraceOf
from symflow.codegen.taylor.binding import bind_series
from symflow.codegen.taylor.c_source import taylor_source
from symflow.codegen.taylor.instructions import Plan
from symflow.codegen.taylor.latex import taylor_recurrences
from symflow.codegen.taylor.numpy_source import NumpySeries
from symflow.codegen.taylor.recursion import order_for, recursion
from symflow.errors import InputError

Array = np.ndarray[Any, np.dtype[np.float64]]

ORDER = 9
QKV, BIASES = frozenset({"Q", "K", "V"}), frozenset({"bq", "bk", "bv"})
MODELS: dict[str, tuple[Any, frozenset[str]]] = {
    "softmax-A": (Softmax(), frozenset({"A", "V"})),
    "softmax-QK": (Softmax(), QKV),
    "l2-QK": (L2(), QKV),
    "linear": (Linear(), frozenset({"A", "V"})),
    "linear-biases": (Linear(), QKV | BIASES),
    "sinkhorn": (Sinkhorn(), frozenset({"A", "V"})),
    "sinkhorn-QK": (Sinkhorn(), QKV),
    "heads": (MultiHead(Softmax()), frozenset({"A", "V"})),
    "heads-W": (MultiHead(Softmax()), QKV | {"W"}),
    "heads-biases": (MultiHead(Softmax()), QKV | BIASES | {"W", "bo"}),
    "heads-l2": (MultiHead(L2()), QKV | BIASES | {"W", "bo"}),
    "heads-linear": (MultiHead(Linear()), QKV),
    "heads-sinkhorn": (MultiHead(Sinkhorn()), QKV | {"W"}),
    "masked": (Masked(Linear()), frozenset({"A", "V"})),
    "masked-heads": (Masked(MultiHead(Linear())), QKV),
}
SIZES = [(1, 1, 1), (3, 2, 1), (10, 4, 7)]
HEADS, VALUES, POSITIONS = 3, 2, 4


def example(model: Any, names: frozenset[str], form: str, sizes: tuple[int, int, int]) -> tuple[Any, ...]:
    """Return recursion, sizes, values and a state."""
    program = programs_of(model, names)[form]
    table = {**dict(zip(("d", "k", "r"), sizes, strict=True)), "m": VALUES, "H": HEADS, "n": POSITIONS}
    dims = {name: table[name] for name in program.dimensions}
    return (recursion(program, dims), list(dims.values()), *numbers(program, dims))


def numbers(program: Program, sizes: dict[str, int]) -> tuple[dict[str, Array], Array]:
    """Return values of the parameters and a state of several positions or one."""

    def shape(a: Named) -> tuple[int, ...]:
        axes = (a.rows, a.cols) if a.lead is None else (a.lead, a.rows, a.cols)
        return tuple(n if isinstance(n, int) else sizes[n] for n in axes)

    rng = np.random.default_rng(sum(sizes.values()))
    values = {}
    for p in program.parameters:
        scalar = p.name in program.scalars
        values[p.name] = np.asarray(0.8) if scalar else rng.normal(size=shape(p)) / np.sqrt(shape(p)[-2])
    states = [0.7 * rng.normal(size=shape(a)) for a in program.inputs]
    if program.name == "moments":
        states[1] = states[1] @ np.swapaxes(states[1], -1, -2)
    return values, np.concatenate([x.ravel() for x in states])


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
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_the_runtime_executes_what_numpy_does(name: str, sizes: tuple[int, int, int], form: str) -> None:
    source, dims, values, state = example(*MODELS[name], form, sizes)
    expected = np.zeros((ORDER + 1, state.size))
    assert NumpySeries(source, dims, values, ORDER)(0.0, state, expected) == 0
    numbers = NumpySeries(source, dims, values, ORDER)
    found = compiled_coefficients(Plan(numbers).layout().series(numbers), state)
    # sums of some hundred products in another order, beside solves of a condition below 1e3
    assert np.abs(found - expected[1:]).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.skipif(missing() is not None, reason="no compiler")
@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("softmax-A", form) for form in ("factor", "moments")),
        *((name, "factor") for name in ("l2-QK", "heads-l2", "heads-sinkhorn", "masked")),
    ],
)
def test_printed_coefficients_agree(name: str, form: str) -> None:
    """Softmax keeps the mean beside the factor at this size, in part of L2 it has a place of its own."""
    from symflow_ext.call import Call

    model, names = MODELS[name]
    source, dims, values, state = example(model, names, form, (3, 2, 3))
    expected = np.zeros((ORDER + 1, state.size))
    NumpySeries(source, dims, values, ORDER)(0.0, state, expected)
    kernel = compile(model, backend="compiled", given=names)
    loaded, _ = kernel.bound({k: v for k, v in values.items() if k not in ("beta", "temperature")})
    bound = {p.name: values[p.name] for p in loaded.interface.parameters}
    call = bind_series(model, names, loaded, form, dims, bound, ORDER)
    assert isinstance(call, Call)
    found = compiled_coefficients(call, state)
    assert np.abs(found - expected[1:]).max() < 1e-12 * np.abs(expected).max()


def test_many_heads_are_not_printed() -> None:
    """A text with every row of eight heads of size eight would take a compiler a minute."""
    model, names = MODELS["heads-l2"]
    kernel = compile(model, given=names)
    _, dims, values, state = example(model, names, "factor", (8, 8, 8))
    series = kernel.series("factor", dims, values, ORDER)
    assert type(series).__name__ == ("Series" if kernel.backend == "compiled" else "NumpySeries")
    assert series.size == state.size


@pytest.mark.parametrize("form", ["factor", "moments"])
@pytest.mark.parametrize("name", MODELS)
def test_coefficients_solve_the_equation(name: str, form: str) -> None:
    """The polynomial's derivative is the right-hand side along it, up to the power that is left out."""
    model, names = MODELS[name]
    source, dims, values, state = example(model, names, form, (3, 2, 2))
    rows = np.zeros((ORDER + 1, state.size))
    assert NumpySeries(source, dims, values, ORDER)(0.0, state, rows) == 0
    rhs = compile(model, backend="numpy", given=names).bind(form, dims, values)
    defects, scale = [], np.abs(rows).max()
    for h in (2e-2, 1e-2):
        slope = np.empty(state.size)
        rhs(0.0, h ** np.arange(ORDER + 1) @ rows, slope)
        powers = np.arange(1, ORDER + 1) * h ** np.arange(ORDER)
        defects.append(np.abs(powers @ rows[1:] - slope).max() / scale)
    assert defects[1] < max(defects[0] * 2.0 ** (1 - ORDER), 1e-14)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_closed_form_has_these_coefficients(d: int) -> None:
    """For V = I: Σ(t) = (Σ₀⁻¹ − tS)⁻¹ with S = A + Aᵀ, hence Σ_[k] = (Σ₀S)ᵏΣ₀."""
    source = recursion(programs_of(Softmax(), frozenset({"A", "V"}))["moments"], {})
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


def test_equations_of_heads_carry_an_index() -> None:
    flow = gaussian_closure(MultiHead(L2()), QKV | {"W"}).flow
    text = "\n".join(taylor_recurrences(flow, "factor"))
    assert r"\left(W_{0,h}\right)_{[k]} = V_{h} F_{[k]}" in text
    assert r"_{[k]} = \sum_{h=1}^{H} 2 W_{h} \left(W_{8,h}\right)_{[k]}" in text
    assert r"W_{5,h}^{-\top} \left(" in text
    root = "\n".join(taylor_recurrences(gaussian_closure(Sinkhorn(), frozenset({"A", "V"})).flow))
    assert r"\sum_{j=1}^{k-1} \left(W_{6}\right)_{[j]} \left(W_{6}\right)_{[k-j]} \quad (k \ge 1)" in root
    with pytest.raises(InputError, match="from position to position"):
        taylor_recurrences(gaussian_closure(Masked(Linear()), frozenset({"A", "V"})).flow)


def trace_program(kind: str) -> Program:
    """Return X' = tr(·) X for a trace of X, of a product, or beside constants, read as is or turned."""
    x, p, out = Named("X", "d", "d"), Named("P", "d", "d"), Named("drift_X", "d", "d")
    of_x, of_p = Operand(x), Operand(p)
    traces = {
        "plain": (of_x, None),
        "square": (of_x, of_x),
        "gram": (of_x.T, of_x),
        "constant": (of_p, of_x),
        "constant-turned": (of_p.T, of_x),
        "constant-last": (of_x, of_p),
    }
    factor = Named("w", 1, 1)
    ops = (TraceOf(factor, *traces[kind]), Scaled(out, factor, of_x.T if kind == "gram" else of_x))
    return Program("moments", "traces", (x,), (out,), (p,), (), ("d",), ops)


@pytest.mark.parametrize("kind", ["plain", "square", "gram", "constant", "constant-turned", "constant-last"])
@pytest.mark.parametrize("d", [1, 3])
def test_traces_and_factors(kind: str, d: int) -> None:
    """Beside NumPy's coefficients, those by differences of the right-hand side along the polynomial."""
    source = recursion(trace_program(kind), {})
    rng = np.random.default_rng(d)
    values, state = {"P": rng.normal(size=(d, d))}, rng.normal(size=d * d)
    numbers = NumpySeries(source, [d], values, ORDER)
    rows = np.zeros((ORDER + 1, state.size))
    assert numbers(0.0, state, rows) == 0
    found = compiled_coefficients(Plan(numbers).layout().series(numbers), state)
    assert np.abs(found - rows[1:]).max() < 1e-13 * np.abs(rows).max()
    x, p = state.reshape(d, d), values["P"]

    def slope(y: Array) -> Array:
        m = y.reshape(d, d)
        a, b = {"plain": (m, None), "square": (m, m), "gram": (m.T, m), "constant-turned": (p.T, m)}.get(
            kind, (p, m)
        )
        factor = np.trace(a if b is None else a @ b)
        return np.asarray(factor * (m.T if kind == "gram" else m)).ravel()

    assert np.allclose(rows[1], slope(x))
    h = 1e-3 / max(1.0, np.abs(x).max() ** 2)
    along = [s * h * rows[1] + h * h * rows[2] for s in (1.0, -1.0)]
    second = (slope(state + along[0]) - slope(state + along[1])) / (4 * h)
    assert np.abs(second - rows[2]).max() < 1e-4 * np.abs(rows).max()


@pytest.mark.parametrize("kind", ["plain", "gram", "constant-turned"])
def test_traces_are_printed(kind: str) -> None:
    source = recursion(trace_program(kind), {})
    text = taylor_source(source, {"d": 3}, "a test", "0", "a test").text
    total = "r0 = (v2){" if kind == "plain" else "s2_0"
    assert total in text
    assert "s1_0 += " in text  # every row is multiplied by the number


def test_what_has_no_recurrence_is_refused_by_name() -> None:
    from dataclasses import replace

    program = programs_of(Softmax(), frozenset({"A", "V"}))["moments"]
    first = program.ops[0]
    moved = Sylvester(first.out, program.inputs[1], program.inputs[1])  # type: ignore[union-attr]
    with pytest.raises(InputError, match="no recurrence for Sylvester"):
        recursion(replace(program, ops=(moved, *program.ops[1:])), {})
    with pytest.raises(InputError, match="not a right-hand side"):
        recursion(programs_of(Softmax(), frozenset({"A", "V"}))["tangent"], {})


def test_order_follows_the_tolerance() -> None:
    orders = [order_for(10.0**-n) for n in range(2, 15)]
    assert orders == sorted(orders)
    assert (orders[0], order_for(1e-9), orders[-1]) == (6, 16, 25)
