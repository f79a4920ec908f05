"""The evaluators: exact values, natural scale and condition, batches — each against hand-made numbers."""

import numpy as np
import pytest
from sympy import Identity, Integer, Inverse, MatPow, MatrixSymbol, Rational, Symbol, Trace, sqrt

from symflow.algebra.families import FamilySum
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.errors import InputError
from symflow.verify.evaluate import Batched, Exact, Magnitude, context, to_float

d = dimension("d")
A, S = matrix("A", d, d), matrix("Sigma", d, d)
x, y = vector("x", d), vector("y", d)
beta = Symbol("beta", positive=True)

VALUES = {
    "A": np.array([[1.0, -2.0], [0.5, 3.0]]),
    "Sigma": np.array([[2.0, 0.25], [0.25, 1.0]]),
    "x": np.array([1.0, -1.0]),
    "y": np.array([0.5, 2.0]),
    "beta": np.asarray(0.1),
}
SIZES = {"d": 2}


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (A * S * x, lambda v: v["A"] @ v["Sigma"] @ v["x"][:, None]),
        (2 * beta * A.T + Identity(d) / 3, lambda v: 0.2 * v["A"].T + np.eye(2) / 3),
        (Inverse(Identity(d) + S) * x, lambda v: np.linalg.solve(np.eye(2) + v["Sigma"], v["x"][:, None])),
    ],
)
def test_exact_and_batched_agree_with_numpy(expr, expected):
    wanted = expected(VALUES)
    np.testing.assert_allclose(to_float(Exact(VALUES, SIZES, context())(expr)), wanted, rtol=1e-15)
    np.testing.assert_allclose(Batched(VALUES, SIZES)(expr), wanted, rtol=1e-14)


def test_floats_enter_as_the_binary_numbers_they_are():
    ctx = context()
    value = Exact(VALUES, SIZES, ctx)(beta)
    assert value != ctx.mpf("0.1")
    assert value == ctx.mpf(0.1)


def test_numbers_are_exact_to_fifty_digits():
    ctx = context()
    evaluate = Exact(VALUES, SIZES, ctx)
    assert abs(evaluate(Rational(1, 3)) - ctx.mpf(1) / 3) < ctx.mpf(10) ** -50
    assert abs(evaluate(sqrt(2)) - ctx.sqrt(2)) < ctx.mpf(10) ** -49


def test_the_context_is_private():
    import mpmath

    before = mpmath.mp.dps
    context(70)
    assert mpmath.mp.dps == before


def test_magnitude_is_the_expression_of_absolute_values():
    exact = Exact(VALUES, SIZES, context())
    found = to_float(Magnitude(exact)(A * x - 2 * y))
    wanted = np.abs(VALUES["A"]) @ np.abs(VALUES["x"])[:, None] + 2 * np.abs(VALUES["y"])[:, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_condition_is_that_of_the_worst_solve():
    nearly = dict(VALUES, Sigma=np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-20]]))
    magnitude = Magnitude(Exact(nearly, SIZES, context()))
    magnitude(Inverse(S) * x)
    inverse = np.linalg.inv(nearly["Sigma"])
    wanted = np.abs(nearly["Sigma"]).sum(1).max() * np.abs(inverse).sum(1).max()
    assert magnitude.condition == pytest.approx(wanted, rel=1e-9)
    assert magnitude.condition > 1e6


def test_batches_over_tokens():
    rng = np.random.default_rng(0)
    tokens = rng.normal(size=(7, 2))
    values = dict(VALUES) | {"y": tokens[:, :, None]}
    score = beta * Trace(y.T * A * x)
    wanted = 0.1 * tokens @ VALUES["A"] @ VALUES["x"]
    np.testing.assert_allclose(Batched(values, SIZES)(score), wanted, rtol=1e-14)


V = matrix("V", d, d)
H = dimension("H")
STACKED = VALUES | {"V": np.random.default_rng(3).normal(size=(3, 2, 2)), "b": np.arange(6.0).reshape(3, 2)}


def test_members_of_a_family_are_slices():
    expr = A * FamilySum(V * S * V.T * x - vector("b", d), (V, vector("b", d)), H) + x
    v = STACKED
    summed = sum(
        v["V"][h] @ v["Sigma"] @ v["V"][h].T @ v["x"][:, None] - v["b"][h][:, None] for h in range(3)
    )
    wanted = v["A"] @ summed + v["x"][:, None]
    exact = Exact(STACKED, {"d": 2, "H": 3}, context())
    np.testing.assert_allclose(to_float(exact(expr)), wanted, rtol=1e-14)
    np.testing.assert_allclose(Batched(STACKED, {"d": 2, "H": 3})(expr), wanted, rtol=1e-13)
    assert np.all(to_float(Magnitude(exact)(expr)) >= np.abs(wanted))
    with pytest.raises(InputError, match="3 matrices, fewer"):
        Exact(STACKED, {"d": 2, "H": 4}, context())(expr)


def test_the_condition_of_a_solve_inside_a_sum_counts():
    nearly = STACKED | {"V": np.array([np.eye(2), [[1.0, 1.0], [1.0, 1.0 + 2.0**-20]]])}
    magnitude = Magnitude(Exact(nearly, {"d": 2, "H": 2}, context()))
    magnitude(FamilySum(Inverse(V), (V,), H))
    assert magnitude.condition > 1e6


def test_principal_roots():
    base = Identity(d) + 4 * S * A.T * S * A
    root = MatPow(base, Rational(1, 2))
    exact, batched = Exact(VALUES, SIZES, context()), Batched(VALUES, SIZES)
    found = exact(root)
    assert exact.ctx.mnorm(found * found - exact(base), 1) < 1e-45
    assert min(np.linalg.eigvals(to_float(found)).real) > 0
    np.testing.assert_allclose(batched(root), to_float(found), rtol=1e-13)
    np.testing.assert_allclose(
        batched(MatPow(base, Rational(-1, 2))), np.linalg.inv(to_float(found)), rtol=1e-12
    )
    np.testing.assert_allclose(
        to_float(exact(MatPow(base, Rational(3, 2)) * Inverse(base))), batched(root), 1e-12
    )
    assert np.all(to_float(Magnitude(exact)(root)) == np.abs(to_float(found)))
    stack = dict(VALUES) | {"A": np.stack([VALUES["A"], -2 * VALUES["A"]])}
    np.testing.assert_allclose(Batched(stack, SIZES)(root)[0], to_float(found), rtol=1e-13)
    with pytest.raises(InputError, match="principal"):
        exact(MatPow(-S, Rational(1, 2)))
    with pytest.raises(InputError, match="principal"):
        batched(MatPow(-S, Rational(1, 2)))


def test_roots_of_ill_conditioned_matrices():
    """(I + uvᵀ)^{1/2} = I + (√(1 + vᵀu) − 1)/(vᵀu) uvᵀ, here with a condition of 1e24 and more."""
    u, v = matrix("u", d, Integer(1)), matrix("v", d, Integer(1))
    values = {"u": 1e12 * np.array([[1.0], [2.0], [-1.0]]), "v": 1e12 * np.array([[2.0], [0.5], [1.0]])}
    exact = Exact(values, {"d": 3}, context())
    found, outer = exact(MatPow(Identity(d) + u * v.T, Rational(1, 2))), exact(u * v.T)
    inner = exact.ctx.mpf(2) * exact.ctx.mpf(10) ** 24
    wanted = exact.ctx.eye(3) + (exact.ctx.sqrt(1 + inner) - 1) / inner * outer
    assert exact.ctx.mnorm(found - wanted, 1) < 1e-20 * exact.ctx.mnorm(wanted, 1)


def test_an_unknown_node_is_refused_by_name():
    from sympy.matrices.expressions import HadamardProduct

    with pytest.raises(InputError, match="cannot evaluate a HadamardProduct"):
        Batched(VALUES, SIZES)(HadamardProduct(A, MatrixSymbol("Sigma", d, d)))
