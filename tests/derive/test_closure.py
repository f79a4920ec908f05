"""The Gaussian closure against the answer key, and its steps against their independent checks."""

import pickle
from dataclasses import replace
from typing import Any

import pytest
from sympy import Abs, Identity, Inverse, Rational, Symbol, Trace, conjugate, im, re, sqrt

from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.words import identical
from symflow.derive.closure import gaussian_closure
from symflow.errors import (
    CheckFailed,
    ClosureUndecided,
    InputError,
    NormaliserDiverges,
    NotGaussianPreserving,
)
from symflow.models.attention.l2 import L2
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.registry import attention_models

d, k = dimension("d"), dimension("k")
I = Identity(d)
alpha, Sigma = vector("alpha", d), matrix("Sigma", d, d)
A, V, C = matrix("A", d, d), matrix("V", d, d), matrix("C", d, d)
Q, K = matrix("Q", k, d), matrix("K", k, d)
bq, bk, bv, bo = vector("bq", k), vector("bk", k), vector("bv", d), vector("bo", d)


def closes(model):
    """Whether a closure is derived."""
    try:
        gaussian_closure(model)
    except (NotGaussianPreserving, ClosureUndecided):
        return False
    return True


PLAIN = [model() for model in attention_models().values()]
#: What the contract tests do not see: biases of heads and masks, layers, noise, signs.
CHANGED = [
    *(combined(model) for model in PLAIN for combined in (MultiHead, Masked)),
    *(replace(model, sign=-1) for model in PLAIN),
    *(replace(model, sign=0, feed_forward=True) for model in PLAIN),
    *(replace(model, feed_forward=True, diffusion="1/10") for model in (*PLAIN, *map(MultiHead, PLAIN))),
]
ALL = [(model, max(model.parametrisations(), key=len)) for model in CHANGED if closes(model)]


def named(value):
    if isinstance(value, frozenset):
        return "-".join(sorted(value))
    return value.statement().name


class WithSelfTerm(AttentionModel):
    """A throw-away variant: a term ½yᵀCy and a linear term."""

    name = "self-term"
    title = "Softmax attention with a self term"
    score = "dot(Q*x, K*y) + dot(y, C*y)/2 + dot(c, y)"
    value = "V*y"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d"), "C": ("d", "d"), "c": ("d",)}
    reference = ""


def same(left, right):
    return identical(left, right, (Sigma,))


def test_softmax_has_the_published_ode():
    derivation = gaussian_closure(Softmax())
    assert same(derivation.mean_rhs, V * (I + Sigma * A) * alpha)
    assert same(derivation.cov_rhs, V * Sigma * A * Sigma + Sigma * A.T * Sigma * V.T)


def test_softmax_in_query_and_key():
    derivation = gaussian_closure(Softmax(), {"Q", "K", "V"})
    assert same(derivation.mean_rhs, V * (I + Sigma * K.T * Q) * alpha)
    half = V * Sigma * K.T * Q * Sigma
    assert same(derivation.cov_rhs, half + half.T)


def test_l2_has_the_published_ode():
    derivation = gaussian_closure(L2())
    gain = Inverse(I + 2 * Sigma * K.T * K)
    half = 2 * V * gain * Sigma * K.T * Q * Sigma
    assert same(derivation.mean_rhs, V * gain * (I + 2 * Sigma * K.T * Q) * alpha)
    assert same(derivation.cov_rhs, half + half.T)
    assert derivation.flow.covariance.tilt is None


def test_biases_are_affine_terms():
    derivation = gaussian_closure(Softmax(), {"Q", "K", "V", "bq", "bk", "bv", "bo"})
    expected = V * (I + Sigma * K.T * Q) * alpha + V * Sigma * K.T * bq + bv + bo
    assert same(derivation.mean_rhs, expected)
    half = V * Sigma * K.T * Q * Sigma
    assert same(derivation.cov_rhs, half + half.T)


def test_the_key_bias_matters_for_l2_only():
    derivation = gaussian_closure(L2(), {"Q", "K", "V", "bq"})
    gain = Inverse(I + 2 * Sigma * K.T * K)
    mean = gain * (alpha + 2 * Sigma * (K.T * Q * alpha + K.T * bq - K.T * bk))
    assert same(derivation.mean_rhs, V * mean + bv + bo)


@pytest.mark.parametrize(
    ("beta", "temperature", "scale"), [(2, 1, 2), (0.5, 1, Rational(1, 2)), (1, "sqrt(32)", 1 / sqrt(32))]
)
def test_the_scale_multiplies_A(beta, temperature, scale):
    derivation = gaussian_closure(Softmax(beta=beta, temperature=temperature))
    assert same(derivation.mean_rhs, V * (I + scale * Sigma * A) * alpha)
    half = scale * V * Sigma * A * Sigma
    assert same(derivation.cov_rhs, half + half.T)


@pytest.mark.parametrize(("model", "given"), ALL, ids=named)
def test_every_step_passes_its_independent_check(model, given):
    assert gaussian_closure(model, given).check() is True


def test_symbolic_scale_checks_too():
    assert gaussian_closure(L2().with_symbolic_scale()).check()


def test_a_throw_away_variant_gets_its_ode():
    derivation = gaussian_closure(WithSelfTerm())
    c = vector("c", d)
    S = (C + C.T) / 2
    gain = Inverse(I - Sigma * S)
    assert same(derivation.mean_rhs, V * gain * (alpha + Sigma * (A * alpha + c)))
    half = V * gain * Sigma * A * Sigma
    assert same(derivation.cov_rhs, half + half.T)
    assert same(derivation.flow.covariance.tilt, S)
    assert derivation.check()


def test_a_user_score_from_text_derives_like_a_class():
    ours = gaussian_closure(Attention("dot(Q*x, K*y)", name="mine"))
    assert same(ours.mean_rhs, gaussian_closure(Softmax()).mean_rhs)
    assert ours.check()


@pytest.mark.parametrize("score", ["tanh(dot(x, y))", "Max(dot(x, A*y), 0)"])
def test_a_score_that_is_not_quadratic_is_refuted_by_a_witness(score):
    with pytest.raises(NotGaussianPreserving) as refused:
        gaussian_closure(Attention(score))
    assert refused.value.witness is not None
    assert isinstance(refused.value.__cause__, ClosureUndecided)


@pytest.mark.parametrize("score", ["dot(x,y)**2*norm2(y)", "norm2(y)**2", "exp(dot(x, y))"])
def test_a_score_whose_normaliser_diverges_is_refused_by_name(score):
    with pytest.raises(NormaliserDiverges, match="∞ for every Gaussian"):
        gaussian_closure(Attention(score))


def test_what_is_neither_derived_nor_refuted_is_undecided():
    with pytest.raises(ClosureUndecided, match="undecided"):
        gaussian_closure(Attention("dot(x, y)**2", normalise="sinkhorn"))


def test_a_value_that_is_not_affine_is_refuted_by_a_witness():
    with pytest.raises(NotGaussianPreserving):
        gaussian_closure(Attention("dot(y, A*x)", value="dot(c, y)*y"))


def test_a_wrong_ode_is_caught_by_the_checks():
    good = gaussian_closure(Softmax())
    last = good.steps[-1]
    spoiled = replace(last, check=replace(last.check, cov_rhs=2 * good.cov_rhs))
    with pytest.raises(CheckFailed, match="continuity equation"):
        replace(good, steps=(*good.steps[:-1], spoiled)).check()


def test_a_wrong_tilted_mean_is_caught_by_quadrature():
    velocity = gaussian_closure(L2()).steps[3]
    assert velocity.check.run().passed
    wrong = replace(velocity.check, formula=velocity.check.formula * Rational(1001, 1000))
    assert not wrong.run().passed


def test_substitution_is_by_name():
    derivation = gaussian_closure(Softmax(beta=Symbol("beta", positive=True)))
    mean, _ = derivation.substitute({"beta": 2})
    assert same(mean, V * (I + 2 * Sigma * A) * alpha)
    with pytest.raises(InputError, match="'gamma' does not occur"):
        derivation.substitute({"gamma": 2})


def test_derivations_pickle():
    derivation = gaussian_closure(L2())
    copy = pickle.loads(pickle.dumps(derivation))
    assert copy.flow == derivation.flow and copy.check()


def test_the_text_form_is_one_line():
    assert "\n" not in repr(gaussian_closure(Softmax()))


@pytest.mark.parametrize(
    ("score", "bounded"),
    [
        ("dot(x, y) - norm2(K*y) + norm2(y)", False),
        ("dot(x, y) - norm2(K*y) - norm2(y)", True),
        ("dot(x, y) - dot(a, y)**2", True),
        ("dot(x, y) + dot(a, y)*dot(b, y)", False),
        ("s*dot(Q*x, K*y) - norm2(y)/2", True),
        ("dot(c, y)", True),
        ("norm2(x)", True),
        ("0", True),
        ("-dot(x - y, S*(x - y))/2", False),
    ],
)
def test_the_sign_of_the_tilt_decides_whether_there_is_a_domain(score, bounded):
    derivation = gaussian_closure(Attention(score))
    assert derivation.check()
    assert (derivation.flow.covariance.tilt is None) is bounded


@pytest.mark.parametrize(
    ("score", "name"),
    [("dot(x, Sigma*y)", "Sigma"), ("dot(x, A*y) + dot(alpha, y)", "alpha"), ("alpha*dot(x, y)", "alpha")],
)
def test_a_parameter_called_like_a_state_is_refused(score, name):
    """C027: it would be taken for the mean or the covariance, and the equations would be wrong."""
    with pytest.raises(InputError, match=f"two symbols called '{name}'"):
        gaussian_closure(Attention(score))


def test_two_symbols_of_one_name_are_refused():
    """S010: β/β with two different symbols looks like 1."""
    model = Softmax(beta=Symbol("beta"), temperature=Symbol("beta", positive=True))
    with pytest.raises(InputError, match="two symbols called 'beta'"):
        gaussian_closure(model)


@pytest.mark.parametrize("key", ["beta", Symbol("beta"), Symbol("beta", real=True)])
def test_substitution_by_a_symbol_goes_by_its_name(key):
    """S010: never an unchanged expression."""
    derivation = gaussian_closure(Softmax(beta=Symbol("beta", positive=True)))
    mean, _ = derivation.substitute({key: 2})
    assert same(mean, V * (I + 2 * Sigma * A) * alpha)


@pytest.mark.parametrize(("name", "value"), [("A", vector("u", d)), ("A", Symbol("c")), ("beta", A)])
def test_substitution_of_another_shape_is_refused(name, value):
    derivation = gaussian_closure(Softmax(beta=Symbol("beta", positive=True)))
    with pytest.raises(InputError, match=f"{name} has shape"):
        derivation.substitute({name: value})


@pytest.mark.parametrize(
    "kind", [list, tuple, iter, dict.fromkeys, lambda names: dict.fromkeys(names).keys()]
)
def test_parameters_in_use_come_in_any_iterable(kind):
    """U117."""
    assert (
        gaussian_closure(Softmax(), kind(["Q", "K", "V"])).flow
        == gaussian_closure(Softmax(), frozenset("QKV")).flow
    )


@pytest.mark.parametrize("name", ['a"""b', "a\nb", "../a", "a\\", "a\x00"])
def test_a_name_that_could_leave_its_place_is_refused(name):
    """C030: it becomes a part of file names, comments and docstrings of generated code."""
    with pytest.raises(InputError, match="name = "):
        Attention("dot(x, A*y)", name=name)


def test_symbols_without_assumptions_are_read_as_real():
    """S008: no Abs, re or conjugate of what the user declared without assumptions."""
    x, y = vector("x", d), vector("y", d)
    derivation = gaussian_closure(Attention(Symbol("c") * Trace(x.T * A * y) - Trace(y.T * y) * Symbol("s")))
    assert not derivation.mean_rhs.has(Abs, re, im, conjugate)
    assert same(derivation.substitute({"s": 0})[0], V * (I + Symbol("c", real=True) * Sigma * A.T) * alpha)
    assert derivation.check()


@pytest.mark.parametrize(
    "score", ["dot(Q*x, K*y)/sqrt(d)", "(dot(Q*x, K*y) - norm2(K*y))/sqrt(d)", "d*dot(Q*x, K*y)"]
)
def test_a_score_that_the_dimension_scales_is_checked_at_every_size(score):
    assert gaussian_closure(Attention(score)).check()


@pytest.mark.parametrize("model", [3, "softmax", Softmax], ids=["number", "name", "class"])
def test_what_is_not_a_model_is_refused(model: Any) -> None:
    with pytest.raises(InputError, match=r"model must be an attention model such as Softmax\(\), got"):
        gaussian_closure(model)
