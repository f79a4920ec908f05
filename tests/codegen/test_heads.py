"""Several heads: one loop, low rank kept, cost as it should be."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sympy import MatrixSymbol, Symbol

from symflow import Linear, Masked, MultiHead, Softmax, compile
from symflow.algebra.families import FamilySum
from symflow.codegen import calls
from symflow.codegen.load import Form
from symflow.codegen.lower import lower
from symflow.codegen.numpy_printer import numpy_source
from symflow.codegen.program import Factorise, Gemm, Loop, Op, Solve, flattened
from symflow.errors import InputError
from symflow.flow import Flow


def flops(ops: Iterable[Op], sizes: Mapping[str, int]) -> int:
    """Return the multiplications and additions of products and solves, loops as often as they run."""

    def n(size: Any) -> int:
        return size if isinstance(size, int) else sizes[size]

    total = 0
    for op in ops:
        if isinstance(op, Loop):
            total += n(op.count) * flops(op.body, sizes)
        elif isinstance(op, Gemm):
            total += 2 * n(op.a.rows) * n(op.a.cols) * n(op.b.cols)
        elif isinstance(op, Solve):
            total += 2 * n(op.out.rows) ** 2 * n(op.out.cols)
        elif isinstance(op, Factorise):
            total += 2 * n(op.out.rows) ** 3 // 3
    return total


def low_rank(make: Any) -> Flow:
    """Heads with output matrices, without a layer, as in a real network."""
    d, k, m, h = make.d, make.k, *(Symbol(n, integer=True, positive=True) for n in "mH")
    q, kk, v, w = (
        MatrixSymbol(n, *s) for n, s in [("Q", (k, d)), ("K", (k, d)), ("V", (m, d)), ("W", (d, m))]
    )
    family = (q, kk, v, w)
    gradient = FamilySum(w * v * make.sigma * kk.T * q, family, h)
    mean = FamilySum(w * v * (make.one + make.sigma * kk.T * q) * make.alpha, family, h)
    flow = make.covariance_flow("low-rank", mean, gradient, family)
    return replace(flow, dimensions=(d, k, m, h), stacked={symbol.name: h for symbol in family})


@pytest.mark.parametrize("entry", ["moments", "factor", "tangent"])
def test_cost_is_d_squared_k_per_head(make: Any, entry: str) -> None:
    """Twelve heads of 32 in d = 384; doubling k = m and halving the heads costs the same to leading order."""
    program = lower(low_rank(make))[entry]
    d, heads, k = 384, 12, 32
    sizes = {"d": d, "k": k, "m": k, "H": heads, "r": d}
    unit = 2 * d * d * k * heads  # one product d × d × k per head
    products = {"moments": 5, "factor": 5, "tangent": 12}[entry]
    assert flops(program.ops, sizes) <= products * unit
    assert flops(program.ops, sizes | {"H": 2 * heads}) <= 2 * products * unit
    big = {"d": 2 * d, "k": k, "m": k, "H": heads, "r": 2 * d}
    assert flops(program.ops, big) < 4.2 * flops(program.ops, sizes)  # d², not d³


@pytest.mark.parametrize("entry", ["moments", "factor", "tangent"])
def test_heads_are_a_loop_and_not_unrolled(make: Any, entry: str) -> None:
    program = lower(low_rank(make))[entry]
    assert sum(isinstance(op, Loop) for op in program.ops) == 2  # covariance and mean
    assert len(list(flattened(program.ops))) < 60


def test_factor_form_of_heads_makes_no_d_by_d_matrix(make: Any) -> None:
    for op in flattened(lower(low_rank(make))["factor"].ops):
        assert (op.out.rows, op.out.cols) != ("d", "d")


def test_what_does_not_depend_on_the_head_is_computed_once(make: Any) -> None:
    """V_h·(BΣB)·A_h: the product in the middle stands before the loop."""
    h = Symbol("H", integer=True, positive=True)
    b, v, a = (MatrixSymbol(name, make.d, make.d) for name in "BVA")
    gradient = FamilySum(v * (b * make.sigma * b).T * a, (v, a), h)
    flow = make.covariance_flow("middle", make.alpha, gradient, (b, v, a))
    flow = replace(flow, dimensions=(make.d, h), stacked={"V": h, "A": h})
    ops = lower(flow)["moments"].ops
    (loop,) = (op for op in ops if isinstance(op, Loop))
    assert sum(isinstance(op, Gemm) for op in ops[: ops.index(loop)]) == 2


def test_heads_of_one_sum_to_the_single_head(make: Any) -> None:
    """H = 1 is softmax attention in Q and K with A = KᵀQ; H = 2 adds."""
    flow = low_rank(make)
    namespace: dict[str, Any] = {}
    exec(numpy_source(lower(flow).values(), "t"), namespace)
    rng = np.random.default_rng(0)
    d, k = 5, 2
    q, kk, v = rng.normal(size=(3, 2, k, d))
    w, f, alpha = rng.normal(size=(2, d, k)), rng.normal(size=(d, 3)), rng.normal(size=(d, 1))
    _, both = namespace["factor"](alpha, f, q, kk, v, w)
    expected = sum(w[h] @ v[h] @ f @ f.T @ kk[h].T @ q[h] @ f for h in range(2))
    np.testing.assert_allclose(both, expected, rtol=1e-12, atol=1e-12)


def test_no_heads_at_all_give_zero(make: Any) -> None:
    flow = low_rank(make)
    namespace: dict[str, Any] = {}
    exec(numpy_source(lower(flow).values(), "t"), namespace)
    empty = [np.zeros((0, *shape)) for shape in ((2, 4), (2, 4), (2, 4), (4, 2))]
    mean, cov = namespace["moments"](np.ones((4, 1)), np.eye(4), *empty)
    assert not mean.any()
    assert not cov.any()


def test_a_stacked_parameter_outside_its_sum_is_refused(make: Any) -> None:
    h = Symbol("H", integer=True, positive=True)
    v = MatrixSymbol("V", make.d, make.d)
    flow = make.covariance_flow("outside", make.alpha, v, (v,))
    flow = replace(flow, dimensions=(make.d, h), stacked={"V": h})
    with pytest.raises(InputError, match="'V' has a leading axis"):
        lower(flow)


def test_a_sum_inside_a_sum_is_refused(make: Any) -> None:
    h = Symbol("H", integer=True, positive=True)
    v, w = (MatrixSymbol(name, make.d, make.d) for name in "VW")
    nested = FamilySum(v * FamilySum(w, (w,), h), (v,), h)
    flow = replace(
        make.covariance_flow("nested", make.alpha, nested, (v, w)),
        dimensions=(make.d, h),
        stacked={"V": h, "W": h},
    )
    with pytest.raises(InputError, match="inside another"):
        lower(flow)


def test_low_rank_heads_are_faster_than_dense_ones(make: Any) -> None:
    """d = 192, 12 heads of 16: counted 16/192 of the work per head; a third of the time leaves room."""
    flow = low_rank(make)
    dense = make.flows["tilted-heads"]()  # V_h(I − ΣC_h)⁻¹ΣA_h, one d³ after another
    forms = make.forms(flow, dense)
    rng = np.random.default_rng(0)
    d, heads, k = 192, 12, 16

    def best(form: Form, dims: tuple[int, ...], values: dict[str, Any]) -> float:
        call = calls.bind(form, "moments", dims, values)
        y = np.concatenate([np.ones(d), np.eye(d).ravel()])
        dy, times = np.zeros(y.size), []
        for _ in range(3):
            start = time.perf_counter()
            assert call(0.0, y, dy) == 0
            times.append(time.perf_counter() - start)
        return min(times)

    narrow = {name: rng.normal(size=(heads, k, d)) / d for name in "QKV"}
    narrow["W"] = rng.normal(size=(heads, d, k)) / d
    wide = {name: rng.normal(size=(heads, d, d)) / d**2 for name in "AVC"}
    assert (
        best(forms["low-rank"][0], (d, k, k, heads), narrow)
        < best(forms["tilted-heads"][0], (d, heads), wide) / 3
    )


def test_heads_are_checked_by_name_and_shape() -> None:
    """Arrays with a leading axis, through the public call."""
    kernel = compile(MultiHead([Softmax(), Softmax()]), backend="numpy")
    eye = np.stack([np.eye(3)] * 2)
    mean, cov = kernel(0.0, np.ones(3), np.eye(3), A=eye, V=eye)
    np.testing.assert_allclose(mean, 4 * np.ones(3))
    np.testing.assert_allclose(cov, 4 * np.eye(3))
    with pytest.raises(InputError, match=r"'V' has shape \(3, 3\); give shape \(H, d, d\)"):
        kernel(0.0, np.ones(3), np.eye(3), A=eye, V=np.eye(3))
    with pytest.raises(InputError, match="'A' has 3 heads, the model has 2"):
        kernel(0.0, np.ones(3), np.eye(3), A=np.stack([np.eye(3)] * 3), V=np.stack([np.eye(3)] * 3))
    with pytest.raises(InputError, match="H = 2"):
        kernel(0.0, np.ones(3), np.eye(3), A=eye, V=np.stack([np.eye(3)] * 3))


def test_masked_kernels_know_the_law_of_their_positions() -> None:
    """θ comes from the model unless it is given; uniform over two positions here."""
    kernel = compile(Masked(Linear()), backend="numpy")
    mean, cov = np.array([[1.0], [2.0]]), np.array([[[1.0]], [[3.0]]])
    one = [[1.0]]
    found = kernel(0.0, mean, cov, A=one, V=one)
    first, second = 0.5 * 2.0, 0.5 * (2.0 + 7.0)  # Σ_τ θ_τ (Σ_τ + α_τ²)
    np.testing.assert_allclose(found[0], [[first], [2 * second]])
    np.testing.assert_allclose(found[1].ravel(), [2 * first, 6 * second])
    other = kernel(0.0, mean, cov, A=one, V=one, theta=[0.0, 1.0])
    np.testing.assert_allclose(other[0], [[0.0], [14.0]])


def test_noise_is_an_argument_and_leaves_no_factor() -> None:
    kernel = compile(Softmax(diffusion=0.25), backend="numpy")
    zero = np.zeros((2, 2))
    for given, expected in (({}, 0.5), ({"diffusion": 3.0}, 6.0)):
        _, cov = kernel(0.0, np.zeros(2), np.eye(2), A=zero, V=zero, **given)
        np.testing.assert_array_equal(cov, expected * np.eye(2))
    assert not kernel.interface().has("factor")
    with pytest.raises(InputError, match="no noise"):
        compile(Softmax(), backend="numpy")(0.0, np.zeros(2), np.eye(2), A=zero, V=zero, diffusion=1.0)
