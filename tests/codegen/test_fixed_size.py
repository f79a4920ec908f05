"""Straight-line code at fixed sizes: its text, evaluated with one NumPy array per register, is the flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow import Softmax
from symflow.codegen.build import Builder
from symflow.codegen.fixed.entries import Block, needed
from symflow.codegen.fixed.kernel import fixed_kernel
from symflow.codegen.fixed.printer import lanes_source, tableau_macros
from symflow.codegen.fixed.unroll import Straight, Unsupported, unroll
from symflow.codegen.lower import lower
from symflow.codegen.program import Array, Combine, Factorise, Operand, Program, Solve
from symflow_ext.tableau import TABLEAUX

LANES = 5
#: Sums of at most a dozen terms of order one, and solves of condition below 1e3.
CLOSE = 1e-11

FUNCTIONS: dict[str, Any] = {
    "select": np.where,
    "absolute": np.abs,
    "root": np.sqrt,
    "less": np.less,
    "complement": np.logical_not,
    "splat": lambda x: np.full(LANES, x),
}


def evaluate(straight: Straight, states: list[Any], params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return derivative and refusals; ``states`` and ``params`` have a leading axis of lanes."""
    y = [states[n][:, i, j] for n, i, j in straight.slots]
    p = [params[name][:, i, j] for name, i, j in straight.parameters]
    names: dict[str, Any] = {**FUNCTIONS, "y": y, "p": p}
    names["c"] = [eval(text, names) for text in straight.coefficients]
    for assignment in straight.body:
        names[assignment.target] = eval(assignment.text, names)
    refused = [eval(text, names) for text in (*straight.singular, *straight.outside)]
    return [eval(text, names) for text in straight.slopes], refused


def points(make: Any, flow: Any, d: int, k: int, r: int) -> tuple[list[Any], dict[str, Any]]:
    """Return one point per lane, and the parameters with a leading axis of lanes."""
    found = [make.point(flow, seed, d=d, k=k, r=r) for seed in range(LANES)]
    names = {s.name for s in flow.parameters}
    params = {
        name: np.stack(
            [
                np.asarray(f.values[name], dtype=float).reshape(np.shape(f.values[name]) or (1, 1))
                for f in found
            ]
        )
        for name in names
    }
    return found, params


def sized(program: Program, d: int, k: int, r: int) -> dict[str, int]:
    return {name: {"d": d, "k": k, "r": r}[name] for name in program.dimensions}


@pytest.mark.parametrize(("d", "k", "r"), [(1, 1, 1), (3, 2, 2), (4, 3, 4)])
@pytest.mark.parametrize(
    ("name", "entry"),
    [(name, entry) for name in ("softmax", "l2", "tilted", "traced") for entry in ("factor", "moments")]
    + [("noisy", "moments")],
)
def test_straight_line_code_is_the_flow_in_every_lane(
    make: Any, name: str, entry: str, d: int, k: int, r: int
) -> None:
    flow = make.flows[name]()
    program = lower(flow)[entry]
    straight = unroll(program, sized(program, d, k, r), {})
    found, params = points(make, flow, d, k, r)
    means = np.stack([f.values["alpha"] for f in found])
    square = np.stack([f.factor if entry == "factor" else f.values["Sigma"] for f in found])
    slopes, refused = evaluate(straight, [means, square], params)
    assert not np.any(refused)
    for lane, f in enumerate(found):
        mean, cov = (make.numeric(expression, f.values) for expression in flow.drift)
        for (state, i, j), slope in zip(straight.slots, slopes, strict=True):
            if state == 0:
                assert slope[lane] == pytest.approx(mean[i, j], rel=CLOSE, abs=CLOSE)
            elif entry == "moments":
                assert slope[lane] == pytest.approx(cov[i, j], rel=CLOSE, abs=CLOSE)
        if entry == "factor":
            moved = np.zeros((d, r))
            for (state, i, j), slope in zip(straight.slots, slopes, strict=True):
                if state == 1:
                    moved[i, j] = slope[lane]
            both = moved @ f.factor.T
            np.testing.assert_allclose(both + both.T, cov, rtol=CLOSE, atol=CLOSE)


def test_known_ones_and_zeros_shorten_the_code_and_turn_the_factor(make: Any) -> None:
    flow, d = make.flows["softmax"](), 3
    program = lower(flow)["factor"]
    unit = {"V": {(i, j): float(i == j) for i in range(d) for j in range(d)}}
    scalars = {"beta": {(0, 0): 1.0}, "temperature": {(0, 0): 1.0}}
    straight = unroll(program, sized(program, d, d, d), unit | scalars)
    assert straight.kinds == ("full", "lower")
    assert len(straight.slots) == d + d * (d + 1) // 2
    assert straight.coefficients == ()
    assert {name for name, _, _ in straight.parameters} == {"A"}
    found, params = points(make, flow, d, d, d)
    low = np.stack([np.linalg.cholesky(f.factor @ f.factor.T) for f in found])
    means = np.stack([f.values["alpha"] for f in found])
    slopes, _ = evaluate(straight, [means, low], params)
    for lane, f in enumerate(found):
        values = f.values | {"V": np.eye(d), "beta": 1.0, "temperature": 1.0}
        moved = np.zeros((d, d))
        for (state, i, j), slope in zip(straight.slots, slopes, strict=True):
            if state == 1:
                moved[i, j] = slope[lane]
        both = moved @ low[lane].T
        np.testing.assert_allclose(both + both.T, make.numeric(flow.drift[1], values), rtol=CLOSE, atol=CLOSE)


def test_rows_are_exchanged_lane_by_lane_and_singular_lanes_are_told() -> None:
    n = 3
    a, b = Array("A", n, n), Array("y", n, 1)
    factors, x, z = Array("w", n, n), Array("x", n, 1), Array("z", n, 1)
    ops = (Factorise(factors, a), Solve(x, factors, False, Operand(b)), Solve(z, factors, True, Operand(x)))
    program = Program("moments", "test", (b,), (z,), (a,), (), (), ops)
    straight = unroll(program, {}, {})
    rng = np.random.default_rng(0)
    matrices = rng.normal(size=(LANES, n, n))
    matrices[0] = [[0, 2, 0], [0, 0, 3], [5, 0, 0]]  # needs two exchanges
    matrices[1] = np.diag([1e-18, 1.0, 1.0])[[1, 0, 2]]
    matrices[4] = [[1, 2, 3], [2, 4, 6], [1, 0, 1]]  # exactly singular
    right = rng.normal(size=(LANES, n, 1))
    with np.errstate(all="ignore"):  # the singular lane
        slopes, refused = evaluate(straight, [right], {"A": matrices})
    assert [bool(lane) for lane in np.any(refused, axis=0)] == [False, False, False, False, True]
    for lane in range(4):
        expected = np.linalg.solve(matrices[lane].T, np.linalg.solve(matrices[lane], right[lane]))[:, 0]
        np.testing.assert_allclose([s[lane] for s in slopes], expected, rtol=1e-9)


def test_a_state_outside_the_domain_is_refused_in_its_lane_only(make: Any) -> None:
    flow = make.flows["tilted"]()
    program = lower(flow)["factor"]
    straight = unroll(program, sized(program, 2, 2, 2), {})
    found, params = points(make, flow, 2, 2, 2)
    params["C"] = np.zeros((LANES, 2, 2))
    params["C"][3] = 10.0 * np.eye(2)
    factors = np.stack([np.eye(2)] * LANES)
    means = np.stack([f.values["alpha"] for f in found])
    with np.errstate(invalid="ignore"):
        _, refused = evaluate(straight, [means, factors], params)
    assert np.any(refused, axis=0).tolist() == [False, False, False, True, False]


def test_what_is_unknown_is_refused_by_name() -> None:
    class Strange(Combine):
        """An operation nobody has heard of."""

    out = Array("dx", 1, 1)
    program = Program("moments", "test", (Array("x", 1, 1),), (out,), (), (), (), (Strange(out),))
    with pytest.raises(Unsupported, match="Strange"):
        unroll(program, {}, {})


def test_a_block_computes_nothing_twice_and_drops_what_is_not_needed() -> None:
    block = Block()
    one, two = block.total([("a", "b"), (0.0, "c")]), block.total([("a", "b")])
    assert one == two
    assert block.total([(1.0, "a")]) == "a"
    assert block.total([(2.0, 3.0), (0.0, "a")]) == 6.0
    unused = block.total([("d", "e")])
    kept = needed(block.assignments, [str(one)])
    assert [assignment.target for assignment in kept] == [one]
    assert unused not in [assignment.target for assignment in kept]


def test_the_tableau_is_printed_from_the_table() -> None:
    macros = dict(tableau_macros())
    table = TABLEAUX["dop853"]
    assert macros["STAGES"] == str(len(table.c))
    row = macros["ROW_11(X)"]
    numbers: dict[int, float] = {}
    eval(row.replace(") X(", "), X("), {"X": lambda stage, weight: numbers.__setitem__(stage, weight)})
    assert numbers == table.a[11]


def test_printed_source_names_states_and_parameters(make: Any) -> None:
    program = lower(make.flows["softmax"]())["factor"]
    straight = unroll(program, sized(program, 2, 2, 1), {})
    text = lanes_source(program, straight, 8, 'a "title"\\', "0" * 16, "symflow test").text
    assert "state: alpha[0, 0], alpha[1, 0], F[0, 0], F[1, 0]" in text
    assert "#define SYMFLOW_LANES 8" in text
    assert "a 'title'/" in text


def test_a_kernel_is_built_once_per_size_pattern_and_width(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = pytest.importorskip("symflow_ext.lanes")
    names = frozenset({"A", "V"})
    first = fixed_kernel(Softmax(), names, "factor", (2, 1), {}, lanes=4)
    assert lanes.shape_of(first.capsule)[:2] == (4, 4)
    monkeypatch.setattr(Builder, "build", lambda *_, **__: pytest.fail("it was built again"))
    fixed_kernel(Softmax(), names, "factor", (2, 1), {}, lanes=4)
    counts = {name: np.zeros(0, dtype=np.int64) for name in ("status", "reason", "nfev", "reached")}
    arrays = {name: np.zeros(0) for name in ("out", "last_t", "last_y", "t_star")} | counts
    with pytest.raises(ValueError, match="has 10 parameters"):
        lanes.Batch(
            first.capsule, np.zeros((0, 4)), [], 0.0, 1.0, np.zeros(0), rtol=1e-6, atol=np.ones(4), **arrays
        )
