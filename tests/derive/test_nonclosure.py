"""Witnesses that Gaussians are not preserved: derived, exact, and right by quadrature."""

import pickle
from dataclasses import replace

import mpmath
import pytest
from sympy import Rational, diff, exp, sqrt

from symflow.algebra.exact.numbers import Ball
from symflow.derive.nonclosure import Law, Witness, diverging_normaliser, refute_closure
from symflow.derive.nonclosure.balls import NotBounded
from symflow.derive.nonclosure.balls import expectation as enclosed
from symflow.derive.nonclosure.moments import Diverges, NotElementary
from symflow.derive.nonclosure.moments import expectation as exact
from symflow.derive.nonclosure.quadrature import Velocity
from symflow.derive.nonclosure.reduction import X, Y, at_size_one
from symflow.errors import CheckFailed, NormaliserDiverges, NotGaussianPreserving
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead

STANDARD = Law(Rational(0), Rational(1))
OPEN = [
    Sigmoid(),
    Sigmoid(beta="sqrt(2)", diffusion=1),
    Unnormalised(feed_forward=True),
    MultiHead(Sigmoid()),
    *(Masked(model) for model in (Softmax(), L2())),
    Attention("dot(x, y)**2"),
    Attention("dot(x, y) + dot(x, x)*dot(c, y)"),
    Attention("erf(dot(x, A*y))", normalise="none"),
    Attention("tanh(dot(x, y))"),
    Attention("Max(dot(x, A*y), 0)", normalise="none"),
    Attention("dot(x, y) - dot(y, y)**2"),
    Attention("dot(x, y)", value="V*y*tanh(dot(y, y))"),
]


def label(model):
    return f"{model.name} {model.score}"


@pytest.mark.parametrize("model", OPEN, ids=label)
def test_a_witness_agrees_with_quadrature_of_the_definition(model):
    refutation = refute_closure(model)
    assert isinstance(refutation, NotGaussianPreserving)
    witness = refutation.witness
    assert witness.order >= 2
    assert witness.dimension == 1
    assert all(law.variance > 0 for law in witness.laws)
    assert 0 not in witness.value if isinstance(witness.value, Ball) else witness.value != 0
    assert str(witness) in str(refutation)
    assert witness.check()
    assert pickle.loads(pickle.dumps(refutation)).witness == witness
    text = witness.to_latex()
    assert text.isprintable() or "\n" in text
    assert text.count("$") % 2 == 0
    assert r"\neq 0" in text


def test_the_third_derivative_of_sigmoid_attention():
    witness = refute_closure(Sigmoid()).witness
    logistic = 1 / (1 + exp(-X))
    assert witness.value == 3 * diff(logistic, X, 3).subs(X, 0)  # E[Y⁴] = 3
    assert (witness.point, witness.order, witness.laws) == (0, 3, (STANDARD,))
    assert dict(witness.parameters) == {"A": 1, "V": 1}


def test_masked_softmax_is_x_plus_the_logistic_function():
    witness = refute_closure(Masked(Softmax())).witness
    assert witness.laws == (STANDARD, Law(Rational(1), Rational(1)))
    assert witness.weights == (Rational(1, 2), Rational(1, 2))
    velocity = Velocity(witness.integrals, witness.laws, witness.weights)
    for x in (Rational(-3, 2), Rational(1, 4), Rational(2)):
        point, _ = velocity.number(x)
        assert abs(velocity(point) - point - 1 / (1 + mpmath.exp(-point))) < 1e-14
    assert witness.value == diff(1 / (1 + exp(-X)), X, 3).subs(X, 0)


@pytest.mark.parametrize(
    "model",
    [
        Softmax(),
        L2(),
        Linear(),
        Masked(Linear()),
        MultiHead(Softmax()),
        Sigmoid(beta=0),
        Sigmoid(sign=0),
        Sinkhorn(),
        Attention("dot(x, y)**2", normalise="sinkhorn"),
        Attention("dot(x, y) + exp(dot(x, x))"),
    ],
    ids=label,
)
def test_nothing_is_found_where_nothing_is_known_or_the_velocity_is_affine(model):
    assert refute_closure(model) is None


@pytest.mark.parametrize("score", ["dot(y, y)**2", "dot(x, y)*norm2(y)", "exp(dot(x, A*y))", "dot(c, y)**3"])
def test_a_diverging_normaliser_is_refused_by_name(score):
    with pytest.raises(NormaliserDiverges, match="for every Gaussian μ of positive variance"):
        refute_closure(Attention(f"dot(x, y) + {score}" if "exp" not in score else score))


@pytest.mark.parametrize("score", ["-dot(y, y)**2", "a*dot(y, y)**2", "dot(x, y)**2", "tanh(dot(y, y))"])
def test_a_normaliser_that_may_be_finite_is_not_refused(score):
    assert diverging_normaliser(Attention(f"dot(x, y) + {score}").statement()) is None


def test_derivatives_at_a_point_where_the_integrals_diverge_beside_it_are_no_witness():
    # at x = 0 all derivatives exist formally, but for a > 0 the normaliser is infinite beside it
    assert refute_closure(Attention("a*exp(dot(x, y))")) is None


def test_a_wrong_value_fails_its_check():
    witness = refute_closure(Sigmoid()).witness
    for wrong in (Rational(-3, 8) + Rational(1, 10**9), -witness.value):
        with pytest.raises(CheckFailed):
            replace(witness, value=wrong).check()
    with pytest.raises(CheckFailed):
        replace(witness, order=2).check()


def test_exact_moments_complete_the_square():
    law = Law(Rational(1), Rational(1, 2))
    for integrand in (Y**4, Y**3 * exp(Y / 2), (Y + 1) ** 2 * exp(Y**2 / 3 - Y), exp(2 * Y) - Y):
        ball = enclosed(integrand, law)
        assert abs(float(ball.mid()) - float(exact(integrand, law))) < 1e-13 * float(exact(integrand, law))
    assert exact(exp(Y**2 / 4), STANDARD) == sqrt(2)
    with pytest.raises(Diverges):
        exact(exp(Y**2 / 2), STANDARD)
    with pytest.raises(NotElementary):
        exact(1 / (1 + exp(Y)), STANDARD)


def test_integrals_without_a_bound_are_not_enclosed():
    for integrand in (exp(Y**2), exp(Y**4), 1 / Y, exp(exp(Y)), 1 / (exp(Y) - 1)):
        with pytest.raises(NotBounded):
            enclosed(integrand, STANDARD)


def test_matrices_are_numbers_at_size_one():
    (integral,) = at_size_one(L2().statement())
    values = dict.fromkeys(integral.kernel.free_symbols - {X, Y}, 1)
    assert integral.substitute(values).kernel == exp(-((X - Y) ** 2))
    assert integral.normalised


def test_a_witness_says_everything_in_one_line():
    witness = refute_closure(Masked(Softmax())).witness
    assert str(witness) == (
        "d = 1, A = 1, V = 1, positions with laws N(0, 1), N(1, 1) and weights 1/2, 1/2: Γ′′′(0) = -1/8 ≠ 0"
    )
    assert isinstance(witness, Witness)
