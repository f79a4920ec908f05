"""The evaluators: exact values, natural scale and condition, batches — each against hand-made numbers."""

import numpy as np
import pytest
from sympy import Identity, Inverse, MatrixSymbol, Rational, Symbol, Trace, sqrt

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


def test_an_unknown_node_is_refused_by_name():
    from sympy.matrices.expressions import HadamardProduct

    with pytest.raises(InputError, match="cannot evaluate a HadamardProduct"):
        Batched(VALUES, SIZES)(HadamardProduct(A, MatrixSymbol("Sigma", d, d)))
