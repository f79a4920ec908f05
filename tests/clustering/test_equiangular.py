"""The equation of the common cosine: check values, tokens in many digits, and hitting times."""

import math

import mpmath
import numpy as np
import pytest
from sympy import exp, simplify, symbols

from symflow.clustering import equiangular_flow
from symflow.clustering.equiangular import COUNT, GAMMA
from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.combinators.masked import Masked

SPHERE = {"space": "sphere"}


def test_the_equations_are_those_of_the_literature():
    beta, tau = symbols("beta temperature", positive=True)
    by_name = {"beta": beta, "temperature": tau}
    for model, expected in (
        (
            Softmax(**SPHERE),
            2 * exp(beta * GAMMA) / (exp(beta) + (COUNT - 1) * exp(beta * GAMMA)),
        ),
        (Unnormalised(**SPHERE), 2 * exp(beta * GAMMA) / COUNT),
    ):
        rhs = equiangular_flow(model.with_symbolic_scale()).rhs
        rhs = rhs.subs({s: by_name[s.name] for s in rhs.free_symbols if s.name in by_name}).subs(tau, 1)
        expected = expected * (1 - GAMMA) * ((COUNT - 1) * GAMMA + 1)
        assert simplify(rhs - expected) == 0


def test_hitting_times_of_softmax_attention():
    flow = equiangular_flow(Softmax(**SPHERE))
    times = [flow.hitting_time(level, 32) for level in (0.5, 0.9, 0.999)]
    # by quadrature with forty digits of the equation in the literature; 1.8199349 is also quoted as 1.81994
    np.testing.assert_allclose(times, [1.8199348844774847, 2.9155657120113547, 5.27028390758624], rtol=1e-15)
    np.testing.assert_allclose(times, [1.81994, 2.91557, 5.27028], atol=6e-6)


def test_four_orthonormal_and_two_tokens():
    assert round(equiangular_flow(Softmax(**SPHERE, beta=2)).cosine_at(1.5, 4), 10) == 0.4730824530
    flow = equiangular_flow(Softmax(**SPHERE, beta=1.3))
    assert round(flow.cosine_at(1.0, 2, start=math.cos(0.8)), 10) == 0.9426568934


def test_without_interaction_the_solution_is_explicit():
    flow = equiangular_flow(Softmax(**SPHERE, beta=0))
    for t in (0.3, 2.0, 6.0):
        exact = (math.exp(2 * t) - 1) / (math.exp(2 * t) + 9)
        assert flow.cosine_at(t, 10) == pytest.approx(exact, rel=1e-15)
    times = np.linspace(0, 8, 9)
    exact = np.expm1(2 * times) / (np.exp(2 * times) + 9)
    np.testing.assert_allclose(flow.curve(times, 10), exact, atol=1e-13)


def kernel(model, c):
    """The weight of a pair of unit tokens with cosine c, as the variant defines it."""
    name = model.name
    if name == "l2":
        return mpmath.exp(-(2 - 2 * c))
    return {"linear": c, "sigmoid": 1 / (1 + mpmath.exp(-c))}.get(name, mpmath.exp(c))


@pytest.mark.parametrize("variant", [Softmax, L2, Sinkhorn, Sigmoid, Linear, Unnormalised])
def test_the_rate_is_that_of_tokens(variant):
    """n tokens with Gram matrix (1 − γ)I + γ11ᵀ: differentiate ⟨x₀, x₁⟩ along the definition."""
    model, n, gamma = variant(**SPHERE), 5, 0.3
    with mpmath.workdps(30):
        gram = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                gram[i, j] = 1 if i == j else mpmath.mpf(gamma)
        x = mpmath.cholesky(gram)
        rows = [x[i, :] for i in range(n)]

        def dot(a, b):
            return sum(a[k] * b[k] for k in range(n))

        def velocity(i):
            weights = [kernel(model, dot(rows[i], rows[j])) for j in range(n)]
            mass = n if variant in (Sigmoid, Linear, Unnormalised) else sum(weights)
            drift = sum((w * row for w, row in zip(weights, rows, strict=True)), mpmath.zeros(1, n)) / mass
            return drift - dot(drift, rows[i]) * rows[i]

        expected = dot(velocity(0), rows[1]) + dot(velocity(1), rows[0])
        other = dot(velocity(2), rows[4]) + dot(velocity(4), rows[2])
    assert abs(expected - other) < 1e-25
    assert equiangular_flow(model).rate(gamma, n) == pytest.approx(float(expected), rel=1e-14)


def test_large_beta_does_not_overflow():
    flow = equiangular_flow(Softmax(**SPHERE, beta=600))
    assert math.log(flow.hitting_time(0.5, 32)) == pytest.approx(600 - math.log(2 * 600), abs=0.2)
    assert np.isfinite(flow.curve([0.0, 1.0], 32)).all()
    with pytest.raises(InputError, match=r"10\^\d+"):
        equiangular_flow(Softmax(**SPHERE, beta=2000)).hitting_time(0.5, 32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: equiangular_flow(Softmax()), "missing|sphere"),
        (lambda: equiangular_flow(Masked(Softmax(**SPHERE))), "mask"),
        (lambda: equiangular_flow(Softmax(**SPHERE)).rate(0.1, 1), "n = 1"),
        (lambda: equiangular_flow(Softmax(**SPHERE)).hitting_time(1.0, 4), "less than, one"),
        (lambda: equiangular_flow(Softmax(**SPHERE)).hitting_time(0.5, 4, start=-0.4), "common cosine above"),
        (lambda: equiangular_flow(Softmax(**SPHERE, sign=-1)).hitting_time(0.5, 4), "does not increase"),
        (lambda: equiangular_flow(Softmax(**SPHERE).with_symbolic_scale()).rate(0.1, 4), "'beta'"),
        (lambda: equiangular_flow(Softmax(**SPHERE)).rate(0.1, 4, beta=2), "'beta'"),
        (lambda: equiangular_flow(Softmax(**SPHERE)).cosine_at(-1.0, 4), "time = -1.0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
