"""Lowering: programs compute what the flow says, in the right order and without needless arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import MatrixSymbol, ZeroMatrix

from symflow import Attention, compile
from symflow.algebra.variation import gateaux
from symflow.codegen.lower import lower
from symflow.codegen.numpy_printer import numpy_source
from symflow.codegen.program import Combine, Factorise, Gemm, Program, RequirePositive, Solve
from symflow.errors import InputError
from symflow.flow import Flow

#: Products of a handful of 5 × 5 matrices with standard normal entries, one solve: a few hundred ulp.
TOLERANCE = 1e-12


def run(programs: dict[str, Program]) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(numpy_source(programs.values(), "test"), namespace)
    return namespace


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE * max(1.0, float(np.abs(b).max())))


def test_moments_equal_the_drift(flow: Flow, make: Any) -> None:
    at = make.point(flow)
    mean, cov = run(lower(flow))["moments"](
        *at.arguments(["alpha", "Sigma", *(p.name for p in flow.parameters)])
    )
    close(mean, make.numeric(flow.drift[0], at.values))
    close(cov, make.numeric(flow.drift[1], at.values))
    assert (cov == cov.T).all()


def test_factor_flows_by_the_velocity_gradient(flow: Flow, make: Any) -> None:
    at = make.point(flow)
    if flow.covariance is not None and flow.covariance.diffusion != 0:
        assert set(lower(flow)) == {"moments", "domain", "tangent"}  # a factor does not flow by itself
        return
    parameters = at.arguments([p.name for p in flow.parameters])
    mean, factor = run(lower(flow))["factor"](at.values["alpha"], at.factor, *parameters)
    assert flow.covariance is not None
    close(mean, make.numeric(flow.drift[0], at.values))
    close(factor, make.numeric(flow.covariance.velocity_gradient, at.values) @ at.factor)


def test_tangent_equals_the_gateaux_derivative(flow: Flow, make: Any) -> None:
    """Words are differentiated here, SymPy trees there; the direction is not symmetric."""
    if flow.name in ("sinkhorn", "sinkhorn-QK", "traced"):
        return  # no tree for the derivative: see below
    at = make.point(flow)
    rng = np.random.default_rng(1)
    delta = {"h": rng.normal(size=(5, 1)), "S": rng.normal(size=(5, 5))}
    directions = {make.alpha: MatrixSymbol("h", make.d, 1), make.sigma: MatrixSymbol("S", make.d, make.d)}
    assert flow.covariance is not None
    half = gateaux(flow.covariance.velocity_gradient * make.sigma, directions)
    exact = make.numeric(half, {**at.values, **delta})
    parameters = at.arguments([p.name for p in flow.parameters])
    mean, cov = run(lower(flow))["tangent"](
        at.values["alpha"], at.values["Sigma"], *delta.values(), *parameters
    )
    close(mean, make.numeric(gateaux(flow.drift[0], directions), {**at.values, **delta}))
    close(cov, exact + exact.T)


def test_tangent_is_the_limit_of_difference_quotients(flow: Flow, make: Any) -> None:
    """Of the words themselves: two central differences of step h and 2h, extrapolated, leave h⁴."""
    at = make.point(flow, d=4)
    assert flow.covariance is not None
    rng, step = np.random.default_rng(1), 1e-3
    delta = {"alpha": rng.normal(size=(4, 1)), "Sigma": rng.normal(size=(4, 4))}

    def half(h: float) -> list[Any]:
        values = {**at.values, **{name: at.values[name] + h * delta[name] for name in delta}}
        return [
            make.numeric(e, values) for e in (flow.drift[0], flow.covariance.velocity_gradient * make.sigma)
        ]

    inner, outer = (
        [(a - b) / (2 * h) for a, b in zip(half(h), half(-h), strict=True)] for h in (step, 2 * step)
    )
    mean, cov = ((4 * a - b) / 3 for a, b in zip(inner, outer, strict=True))
    parameters = at.arguments([p.name for p in flow.parameters])
    found = run(lower(flow))["tangent"](at.values["alpha"], at.values["Sigma"], *delta.values(), *parameters)
    for a, b in zip(found, (mean, cov + cov.T), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * max(1.0, float(np.abs(b).max())))


@pytest.mark.parametrize("name", ["softmax", "l2"])
def test_factor_form_never_makes_a_d_by_d_matrix(make: Any, name: str) -> None:
    program = lower(make.flows[name]())["factor"]
    assert all((op.out.rows, op.out.cols) != ("d", "d") for op in program.ops)


@pytest.mark.parametrize(("entry", "size"), [("moments", "k"), ("factor", "r"), ("tangent", "k")])
def test_l2_solves_in_the_smallest_size_and_factorises_once(make: Any, entry: str, size: str) -> None:
    factorised = [op for op in lower(make.flows["l2"]())[entry].ops if isinstance(op, Factorise)]
    assert [(op.a.rows, op.a.cols) for op in factorised] == [(size, size)]


def test_domain_check_comes_first_where_the_tilt_has_no_sign(make: Any) -> None:
    ops = lower(make.flows["tilted"]())["factor"].ops
    check = next(i for i, op in enumerate(ops) if isinstance(op, RequirePositive))
    assert check < next(i for i, op in enumerate(ops) if isinstance(op, Solve))
    assert not any(isinstance(op, RequirePositive) for op in lower(make.flows["l2"]())["factor"].ops)


def test_softmax_moments_are_three_products_and_two_matrix_vectors(make: Any) -> None:
    """VΣA is shared between mean and covariance; Σ' is one product and its transpose."""
    gemms = [op for op in lower(make.flows["softmax"]())["moments"].ops if isinstance(op, Gemm)]
    assert sum(op.out.cols == "d" for op in gemms) == 3
    assert sum(op.out.cols == 1 for op in gemms) == 2


def test_mean_alone_multiplies_vectors_first(make: Any) -> None:
    gemms = [op for op in lower(make.flows["softmax"]())["factor"].ops if isinstance(op, Gemm)]
    for_mean = [op for op in gemms if op.out.cols == 1]
    assert len(for_mean) == 3  # (FᵀA)·α, whose matrix the factor needs too, α + F·, V·
    assert all(op.b.cols == 1 for op in for_mean)


def test_zero_parameters_keep_their_shape(make: Any) -> None:
    """C036: a drift that vanishes is zeros of the right shape, whether by symbol or by value."""
    zero = ZeroMatrix(make.d, make.d)
    flow = make.covariance_flow("still", ZeroMatrix(make.d, 1), zero, (MatrixSymbol("V", make.d, make.d),))
    functions = run(lower(flow))
    mean, cov = functions["moments"](np.ones((4, 1)), np.eye(4), np.eye(4))
    assert mean.shape == (4, 1)
    assert cov.shape == (4, 4)
    assert not mean.any()
    assert not cov.any()
    assert any(isinstance(op, Combine) and not op.terms for op in lower(flow)["moments"].ops)


def test_a_state_as_drift_is_copied(make: Any) -> None:
    flow = Flow("copy", (make.alpha,), (make.alpha,), (), (make.d,))
    programs = lower(flow)
    assert "factor" not in programs
    y = np.ones((3, 1))
    (dy,) = run(programs)["moments"](y)
    assert (dy == y).all()
    assert dy is not y


def test_strangers_in_the_drift_are_refused(make: Any) -> None:
    flow = make.covariance_flow("odd", MatrixSymbol("W", make.d, make.d) * make.alpha, make.one, ())
    with pytest.raises(InputError, match="'W'"):
        lower(flow)


def test_generated_names_do_not_clash(make: Any) -> None:
    """C027: parameters called like our temporaries, inputs and outputs."""
    names = ["w0", "w1", "F", "drift_alpha", "delta_alpha", "c0", "r"]
    symbols = [MatrixSymbol(name, make.d, make.d) for name in names]
    product = symbols[0]
    for symbol in symbols[1:]:
        product = product * symbol
    flow = make.covariance_flow("clash", product * make.alpha, product * make.sigma, tuple(symbols))
    at = make.point(flow)
    functions = run(lower(flow))
    mean, _ = functions["moments"](*at.arguments(["alpha", "Sigma", *names]))
    close(mean, make.numeric(flow.drift[0], at.values))
    mean, factor = functions["factor"](at.values["alpha"], at.factor, *at.arguments(names))
    close(factor, make.numeric(flow.covariance.velocity_gradient, at.values) @ at.factor)


def test_two_symbols_of_one_name_are_refused() -> None:
    """alpha and Sigma are the states; a score that declares one of them is told so."""
    with pytest.raises(InputError, match="two symbols called 'alpha'"):
        compile(Attention("alpha*dot(x, A*y)"), backend="numpy")
