"""Models: what they accept, what they refuse, and what they state."""

import pickle
from fractions import Fraction

import pytest
from sympy import MatrixSymbol, Rational, Symbol, sqrt

from symflow.algebra.words import identical
from symflow.errors import GrammarError, InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention
from symflow.models.registry import attention_model, attention_models
from symflow.models.scalars import exact_scalar


def test_the_registry_finds_the_shipped_variants_by_scanning():
    assert {"l2": L2, "softmax": Softmax}.items() <= attention_models().items()
    assert "attention" not in attention_models()


def test_an_unknown_model_names_the_nearest_one():
    with pytest.raises(InputError, match="Did you mean 'softmax'"):
        attention_model("sofmax")


def test_A_alone_is_enough_exactly_where_the_score_depends_on_the_product():
    assert Softmax().accepts_product()
    assert not L2().accepts_product()
    assert Attention("dot(Q*x, K*y)").accepts_product()
    assert not Attention("dot(Q*x, K*y) + norm2(Q*x)").accepts_product()


def test_default_parametrisation():
    assert [p.name for p in Softmax().statement().parameters] == ["A", "V"] or [
        p.name for p in Softmax().statement().parameters
    ] == ["V", "A"]
    assert {p.name for p in L2().statement().parameters} == {"Q", "K", "V"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"V"}, "'Q' of softmax is missing.*A = KᵀQ"),
        ({"A", "Q", "V"}, "not both"),
        ({"A", "V", "bqq"}, "'bqq' is unknown.*Did you mean 'bq'"),
        ({"A"}, "'V' of softmax is missing"),
    ],
)
def test_unusable_parameters_are_refused_by_name(given, message):
    with pytest.raises(InputError, match=message):
        Softmax().statement(given)


def test_A_is_refused_for_l2():
    with pytest.raises(InputError, match="not enough for l2"):
        L2().statement({"A", "V"})


def test_the_scale_is_exact():
    assert Softmax(beta=0.1).scale == Rational(1, 10)
    assert Softmax(temperature="sqrt(32)").scale == 1 / sqrt(32)
    assert Softmax(beta=3, temperature=2).scale == Rational(3, 2)


@pytest.mark.parametrize("beta", [float("nan"), float("inf"), -1, "x", None, True, 1j])
def test_a_bad_beta_is_refused_by_name(beta):
    with pytest.raises(InputError, match=r"beta|'x'"):
        Softmax(beta=beta)


@pytest.mark.parametrize("temperature", [10**400, Fraction(1, 10**400), "exp(1000)"])
def test_a_scalar_beyond_the_floats_is_refused_by_name(temperature):
    with pytest.raises(InputError, match="temperature is a number beyond"):
        Softmax(temperature=temperature)


def test_a_zero_temperature_is_refused():
    with pytest.raises(InputError, match="temperature = 0 is out of its domain"):
        Softmax(temperature=0)


def test_symbols_are_accepted_as_scalars():
    beta = Symbol("beta", positive=True)
    assert Softmax(beta=beta).statement().parameters[-1] == beta
    assert exact_scalar("beta", beta, allow_zero=True) == beta


def test_the_affine_form_has_every_bias_even_if_one_is_given():
    names = {p.name for p in Softmax().statement({"A", "V", "bv"}).parameters}
    assert names == {"A", "V", "bq", "bk", "bv", "bo"}


def test_a_user_score_as_sympy_or_text_is_the_same_model():
    d = Symbol("d", integer=True, positive=True)
    x, y = MatrixSymbol("x", d, 1), MatrixSymbol("y", d, 1)
    A, C = MatrixSymbol("A", d, d), MatrixSymbol("C", d, d)
    from_sympy = Attention(y.T * A * x + y.T * C * y / 2)
    from_text = Attention("dot(y, A*x) + dot(y, C*y)/2")
    assert (
        dict(from_sympy.parameters)
        == dict(from_text.parameters)
        == {"A": ("d", "d"), "C": ("d", "d"), "V": ("d", "d")}
    )
    assert identical(from_sympy.statement().score, from_text.statement().score)


def test_a_symbol_that_its_text_cannot_hold_is_refused():
    d = Symbol("d")
    x, y = MatrixSymbol("x", d, 1), MatrixSymbol("y", d, 1)
    with pytest.raises(InputError, match="score: 'm' is a matrix but would be read as a number"):
        Attention(x.T * MatrixSymbol("m", d, d) * y)
    with pytest.raises(InputError, match="value: 'S' is a number but would be read as a matrix"):
        Attention(x.T * y, Symbol("S") * MatrixSymbol("V", d, d) * y)
    model = Attention(x.T * MatrixSymbol("M", d, d) * y + MatrixSymbol("c", d, 1).T * y)
    assert model.parameters == {"M": ("d", "d"), "c": ("d",), "V": ("d", "d")}


def test_a_user_parameter_called_A_is_a_parameter_of_the_score():
    statement = Attention("dot(y, A*x) + dot(Q*x, K*y)").statement()
    assert {p.name for p in statement.parameters} == {"A", "Q", "K", "V"}


def test_text_is_data():
    with pytest.raises(GrammarError):
        Attention("__import__('os').system('true')")


def test_an_unknown_normalisation_is_refused():
    with pytest.raises(InputError, match="normalise = 'gumbel'"):
        Attention("dot(y, A*x)", normalise="gumbel")


@pytest.mark.parametrize("name", ["beta", "temperature"])
def test_the_scalars_of_every_model_are_not_parameters_of_a_score(name):
    with pytest.raises(InputError, match=f"'{name}' in score or value"):
        Attention(f"{name}*dot(x, M*y)")


def test_a_value_that_depends_on_the_query_is_refused():
    with pytest.raises(InputError, match=r"value = 'V\*y \+ W\*x' of attention contains x"):
        Attention("dot(x, M*y)", "V*y + W*x").statement()


def test_models_pickle_compare_and_hash():
    for model in (Softmax(beta=2), L2(), Attention("dot(y, A*x)", beta=2, name="mine")):
        copy = pickle.loads(pickle.dumps(model))
        assert copy == model and hash(copy) == hash(model) and copy.statement() == model.statement()


def test_a_variant_is_one_class():
    class Shifted(AttentionModel):
        name = "shifted"
        score = "dot(Q*x, K*y) + dot(c, y)"
        value = "V*y"
        parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d"), "c": ("d",)}

    names = {p.name for p in Shifted().statement().parameters}
    assert names == {"A", "V", "c"}
