"""Models on the sphere: what may be left out, and what it is then."""

import pytest
from sympy import Identity, MatrixSymbol

from symflow.algebra.symbols import dimension
from symflow.algebra.words import identical
from symflow.codegen.forms import select
from symflow.codegen.keys import model_key
from symflow.derive.closure import gaussian_closure
from symflow.derive.outcome import closure_status
from symflow.errors import ClosureUndecided, InputError, NoGaussianLaws
from symflow.flow import SCORE
from symflow.models.attention.l2 import L2
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.registry import attention_models

D, K = dimension("d"), dimension("k")
VARIANTS = sorted(attention_models().items())
UNLIKE = MultiHead([Softmax(space="sphere"), L2(space="sphere")])
MODELS = [
    *(kind(space="sphere") for _, kind in VARIANTS),
    Attention("dot(Q*x, K*y) + dot(c, y)", space="sphere"),
    MultiHead(Softmax(space="sphere")),
    Masked(L2(space="sphere")),
    UNLIKE,
]


def named(value):
    return getattr(value, "name", None)


@pytest.mark.parametrize(("name", "kind"), VARIANTS)
def test_what_is_left_out_is_the_identity(name, kind):
    """The statement without Q, K and V is the one with them, at I."""
    full, bare = (kind(space="sphere").statement(names) for names in ({"Q", "K", "V"}, ()))
    assert bare.parameters == ()
    assert bare.dimensions == (D,)
    square = {
        MatrixSymbol(n, *shape): Identity(D) for n, shape in (("Q", (K, D)), ("K", (K, D)), ("V", (D, D)))
    }
    for line in ("score", "kernel", "value"):
        at_identity = getattr(full.head, line).xreplace(square).doit()
        assert identical(at_identity, getattr(bare.head, line))


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_every_parametrisation_states_its_own_parameters(model):
    seen = {}
    listed = [names for names in model.parametrisations() if len(names) < 3]
    for names in listed:
        statement = model.statement(names)
        given = {p.name for p in statement.parameters} - {"theta"}
        assert given == names
        assert statement.space == "sphere"
        seen[statement.name] = names
    assert len(seen) == len(listed), "two parametrisations have one name"
    assert len({model_key(model, names) for names in listed}) == len(seen)


def test_the_shipped_parametrisations_without_biases():
    bare = {names for names in Softmax(space="sphere").parametrisations() if "bq" not in names}
    assert {frozenset(n) for n in ("", "V", "A", "AV", "QK", "QKV", "Q", "KV")} <= bare
    assert not any("A" in names for names in L2(space="sphere").parametrisations())


@pytest.mark.parametrize("names", [frozenset(), frozenset("V"), frozenset("QK")])
def test_names_select_a_parametrisation(names):
    model = Softmax(space="sphere")
    assert select(model, names, model.parametrisations()[0], None) == (names, frozenset())
    biases = frozenset(("bq", "bk", "bv", "bo"))
    assert select(model, names | {"bk"}, frozenset(), None) == (names | biases, biases - {"bk"})


def test_sizes_of_a_lone_matrix():
    """Q without K maps to the space of tokens; a chain of square matrices has one size."""
    assert Softmax(space="sphere").statement({"Q"}).parameters[0].shape == (D, D)
    assert Softmax(space="sphere").statement({"Q", "K"}).parameters[0].shape == (K, D)
    chained = Attention("dot(Q*P*x, K*y)", space="sphere").statement({"P"})
    assert chained.parameters[0].shape == (D, D)


@pytest.mark.parametrize(("name", "kind"), VARIANTS)
def test_on_the_plain_space_everything_has_to_be_given(name, kind):
    with pytest.raises(InputError, match="missing"):
        kind().statement(())
    with pytest.raises(InputError, match=r"'V' of .* is missing"):
        kind().statement({"Q", "K"})


def test_other_parameters_have_to_be_given():
    with pytest.raises(InputError, match="'A' of attention is missing"):
        Attention("dot(x, A*y)", space="sphere").statement({"V"})
    with pytest.raises(InputError, match="'W' of softmax is missing"):
        Softmax(space="sphere", feed_forward=True).statement(())


def test_heads_need_one_matrix_at_least():
    heads = MultiHead(Softmax(space="sphere"))
    assert heads.statement({"W"}).stacked.keys() == {"W"}
    with pytest.raises(InputError, match="how many heads"):
        heads.statement(())
    assert all(names & {"A", "Q", "K", "V", "W", "bq"} for names in heads.parametrisations())
    assert UNLIKE.statement(()).parameters == ()


@pytest.mark.parametrize(
    "build",
    [
        lambda: Softmax(space="torus"),
        lambda: MultiHead(Softmax(), space="sphere"),
        lambda: Masked(Softmax(), space="sphere"),
        lambda: MultiHead([Softmax(), L2()], space="sphere"),
        lambda: MultiHead([Softmax(), L2(space="sphere")]),
    ],
)
def test_a_space_that_cannot_be_is_refused(build):
    with pytest.raises(InputError, match="space"):
        build()


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_combinations_live_where_their_parts_do(model):
    assert model.space == "sphere"
    assert model.with_symbolic_scale().space == "sphere"


def test_a_gaussian_is_refused_by_name():
    with pytest.raises(NoGaussianLaws, match="does not live on the sphere; use token_flow") as caught:
        gaussian_closure(Softmax(space="sphere"))
    assert isinstance(caught.value, ClosureUndecided)
    assert closure_status(Softmax(space="sphere")) == "undecided"


def test_the_weight_of_a_head_is_its_kernel():
    class Rectified(AttentionModel):
        name, title, score, kernel = "rectified", "Rectified", "dot(Q*x, K*y)", "Max(s, 0)**2"
        value, normalise = "V*y", "softmax"
        parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d")}

    (head,) = Rectified().statement().heads
    assert head.weight.free_symbols == {SCORE}
    assert head.weight.xreplace({SCORE: head.score}) == head.kernel
