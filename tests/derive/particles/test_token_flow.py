"""Systems of tokens: pairings of scores, symmetry, what is refused, and that every check can fail."""

import pickle
from dataclasses import replace

import pytest
import sympy
from sympy import Identity, Max, Piecewise, Symbol, Trace, exp, tanh

from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.words import identical
from symflow.derive.particles import symmetry, token_flow
from symflow.derive.particles.checks import RescaledVelocity, ScoreOfPairings, SymmetricScore, TokenVelocities
from symflow.derive.particles.pairings import paired_score
from symflow.derive.particles.system import has_rescaled_frame, rescaling
from symflow.errors import CheckFailed, InputError, NoTokenFlow
from symflow.flow import SCORE
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.registry import attention_models

D, K = dimension("d"), dimension("k")
A, M, Q, KEY = matrix("A", D, D), matrix("M", D, D), matrix("Q", K, D), matrix("K", K, D)
X, Y = vector("x", D), vector("y", D)
BETA, TAU = Symbol("beta", nonnegative=True), Symbol("temperature", positive=True)
VARIANTS = sorted(attention_models().values(), key=lambda kind: kind.name)


class Laplacian(AttentionModel):
    """A throw-away variant: |x − y| in place of its square, with a weight of its own."""

    name = "laplacian"
    title = "Laplacian attention"
    score = "-sqrt(norm2(Q*x - K*y)) + dot(c, y)"
    kernel = "Max(1 + s, 0)"
    value = "norm2(y)*V*y"
    normalise = "none"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d"), "c": ("d",)}


CHECKED = [
    *((kind(), None) for kind in VARIANTS),
    *((kind(space="sphere"), ()) for kind in (Softmax, L2, Sinkhorn)),
    (L2(), {"Q", "K", "V", "bq", "bk", "bv", "bo"}),
    (Laplacian(), None),
    (Masked(Softmax(space="sphere", sign=-1)), {"V"}),
    (MultiHead(Softmax(), feed_forward=True), None),
    (MultiHead([Softmax(), Sigmoid()], sign=-1), None),
    (
        Attention("Piecewise(dot(x, y), norm2(x) < dot(x, y), tanh(dot(x, A*y)/sqrt(d)))", normalise="none"),
        None,
    ),
]


@pytest.mark.parametrize(("model", "given"), CHECKED, ids=lambda v: getattr(v, "name", None))
def test_every_step_passes_its_check(model, given):
    derivation = token_flow(model, given)
    assert derivation.check()
    kinds = [step.kind for step in derivation.steps]
    assert kinds[0] == "definition" and "result" in kinds
    assert pickle.loads(pickle.dumps(derivation)).flow == derivation.flow


def the_term(model, given=None):
    (term,) = token_flow(model, given).flow.terms
    return term


@pytest.mark.parametrize("kind", [Softmax, Unnormalised, Linear, Sigmoid, Sinkhorn])
def test_the_scale_is_applied_once_per_token(kind):
    term = the_term(kind().with_symbolic_scale(), {"Q", "K", "V"})
    (pairing,) = term.pairings
    assert term.score == pairing.symbol
    assert not pairing.difference
    assert pairing.left == (BETA / TAU) * Q * X
    assert pairing.right == KEY * Y
    assert term.symmetric_if == ((KEY, Q),)
    assert (term.feature, term.matrix) == (Y, matrix("V", D, D))


def test_a_square_distance_is_not_multiplied_out():
    term = the_term(L2().with_symbolic_scale())
    (pairing,) = term.pairings
    assert (pairing.left, pairing.right, pairing.difference) == (Q * X, KEY * Y, True)
    assert term.score == -BETA * pairing.symbol / TAU
    assert (term.rows, term.columns) == ((), ())


def test_attention_on_the_sphere_costs_one_inner_product():
    for kind, normalise in ((Softmax, "softmax"), (Unnormalised, "none")):
        flow = token_flow(kind(space="sphere"), ()).flow
        (term,) = flow.terms
        (pairing,) = term.pairings
        assert (pairing.left, pairing.right) == (X, Y)
        assert term.matrix == Identity(D)
        assert (term.weight, term.normalise, term.symmetric_if) == (exp(SCORE), normalise, ())
        assert (flow.space, flow.parameters) == ("sphere", ())


def test_weights_and_prefactors():
    assert the_term(Linear()).weight == SCORE
    assert the_term(Sigmoid()).weight == 1 / (1 + exp(-SCORE))
    assert the_term(Sinkhorn().with_symbolic_scale()).prefactor == 1 / TAU
    assert the_term(Softmax(sign=-1)).prefactor == -1
    assert token_flow(Softmax(sign=0)).flow.terms == ()
    assert the_term(Attention("exp(dot(x, y))", normalise="none")).weight == exp(SCORE)


def test_dimensions_parameters_and_weights():
    flow = token_flow(Masked(MultiHead(L2())).with_symbolic_scale()).flow
    assert [str(size) for size in flow.dimensions] == ["d", "k", "H", "n"]
    assert [p.name for p in flow.parameters] == ["Q", "K", "V", "beta", "temperature", "theta"]
    assert flow.weights == flow.parameters[-1]
    assert flow.count == flow.dimensions[-1]
    plain = token_flow(Softmax()).flow
    assert plain.weights is None
    assert [str(size) for size in plain.dimensions] == ["d", "n"]


# ---- scores of users --------------------------------------------------------------------------------


def pieces(text):
    statement = Attention(text).statement()
    found = paired_score(statement.score, X, Y)
    return (
        [(p.left, p.right, p.difference) for p in found.pairings],
        [value for _, value in found.rows],
        [value for _, value in found.columns],
        found.score,
    )


U1, U2 = Symbol("u_1", real=True), Symbol("u_2", real=True)
DISTANCE = Symbol("u_1", nonnegative=True)
A1, B1 = Symbol("a_1", real=True), Symbol("b_1", real=True)
NORM_X, NORM_Y = Trace(X.T * X), Trace(Y.T * Y)


@pytest.mark.parametrize(
    ("text", "pairings", "rows", "columns", "score"),
    [
        ("norm2(x)", [], [NORM_X], [], A1),
        ("norm2(y)", [], [], [NORM_Y], B1),
        ("3", [], [], [], 3),
        ("-sqrt(norm2(x - y))", [(X, Y, True)], [], [], -sympy.sqrt(DISTANCE)),
        ("norm2(Q*(x + y))", [(Q * X, -Q * Y, True)], [], [], DISTANCE),
        ("dot(x, A*y) + dot(y, M*x)", [(M * X + A.T * X, Y, False)], [], [], U1),
        ("tanh(dot(x, y)/sqrt(d))", [(X / sympy.sqrt(D), Y, False)], [], [], tanh(U1)),
        ("2*dot(x, y) + dot(x, y)**2", [(X, Y, False)], [], [], 2 * U1 + U1**2),
        ("dot(x, y)*norm2(x)*norm2(y)", [(X, Y, False)], [NORM_X], [NORM_Y], A1 * B1 * U1),
        ("dot(x - y, M*(x - y))", [(-M.T * X - M * X, Y, False)], None, None, A1 + B1 + U1),
        ("Max(dot(x, A*y), dot(x, y))", [(X, Y, False), (A.T * X, Y, False)], [], [], Max(U1, U2)),
        ("dot(y, inv(eye(d) + x*x.T)*y)", [(X, Y, False)], [1 / (1 + NORM_X)], [NORM_Y], B1 - A1 * U1**2),
        (
            "Piecewise(dot(x, y), dot(x, y) < norm2(x), norm2(y))",
            [(X, Y, False)],
            [NORM_X],
            [NORM_Y],
            Piecewise((U1, U1 < A1), (B1, True)),
        ),
    ],
)
def test_what_a_score_is_made_of(text, pairings, rows, columns, score):
    found = pieces(text)
    for side in (0, 1):
        seen, expected = ([pairing[side] for pairing in group] for group in (found[0], pairings))
        assert all(identical(a, b) for a, b in zip(seen, expected, strict=True))
    assert [pairing[2] for pairing in found[0]] == [pairing[2] for pairing in pairings]
    assert rows is None or found[1] == rows
    assert columns is None or found[2] == columns
    assert sorted(found[3].atoms(Symbol), key=str) == sorted(sympy.sympify(score).atoms(Symbol), key=str)
    if len(pairings) < 2:
        assert sympy.expand(found[3] - score) == 0


def test_symbols_of_any_assumptions_are_taken_by_name():
    size = Symbol("d")
    x, y = (sympy.MatrixSymbol(name, size, 1) for name in "xy")
    term = the_term(Attention(Symbol("g", integer=True) * Trace(x.T * y) ** 2 / 2, normalise="none"))
    (pairing,) = term.pairings
    assert (pairing.left, pairing.right) == (X, Y)
    assert term.score == Symbol("g", real=True) * pairing.symbol**2 / 2


def test_names_of_a_user_stay_apart_from_ours():
    term = the_term(Attention("u_1*dot(x, y)**2 + a_1*norm2(x)"))
    (pairing,), ((row, _),) = term.pairings, term.rows
    assert {pairing.symbol.name, row.name}.isdisjoint({"u_1", "a_1"})
    assert Symbol("u_1", real=True) in term.score.free_symbols


@pytest.mark.parametrize(
    ("text", "equations"),
    [
        ("dot(x, y)", ()),
        ("norm2(x) + norm2(y) + erf(dot(x, y))", ()),
        ("dot(x, A*y)", ((A, A.T),)),
        ("dot(x, A*y) + tanh(dot(x, M*y))", ((A, A.T), (M, M.T))),
        ("dot(x, A*y) + dot(y, M*x)", ((A, M),)),
        ("norm2(x) + dot(x, y)", None),
        ("dot(c, x)*dot(x, y)", None),
    ],
)
def test_symmetry_is_proved_under_equations(text, equations):
    assert the_term(Attention(text)).symmetric_if == equations


def test_many_parameters_do_not_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five vectors have 56 sets of equations, of 10 numbers each; few pairs of them need a normal form."""
    met = []
    monkeypatch.setattr(symmetry, "identical", lambda *given: met.append(given) or identical(*given))
    text = "+".join(f"tanh(dot(many{i}, x))*sin(dot(many{i}, y))" for i in range(5))
    assert the_term(Attention(text, "y")).symmetric_if is None
    assert len(met) <= 100


def test_a_value_that_is_not_affine_is_a_feature():
    term = the_term(Attention("dot(x, y)", value="norm2(y)*V*y"))
    assert term.matrix == matrix("V", D, D)
    assert term.feature == NORM_Y * Y


# ---- refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Softmax(diffusion=0.1), "noise"),
        (Masked(Sinkhorn()), "doubly stochastic triangular matrix is diagonal"),
        (Masked(MultiHead(Sinkhorn(space="sphere"))), "triangular"),
        (Attention("dot(x, inv(A + x*y.T)*y)"), "couples x and y"),
    ],
)
def test_what_has_no_token_flow_is_refused_with_the_reason(model, message):
    with pytest.raises(NoTokenFlow, match=message):
        token_flow(model)


def test_unusable_input_is_refused():
    with pytest.raises(InputError, match="must be an attention model"):
        token_flow("softmax")
    with pytest.raises(InputError, match="two symbols called 'n'"):
        token_flow(Attention("n*dot(x, y)"))


# ---- the rescaled frame -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        (Softmax(), None, True),
        (L2(), None, True),
        (Masked(Softmax()), None, True),
        (Softmax(), max(Softmax().parametrisations(), key=len), False),
        (Softmax(space="sphere"), None, False),
        (Softmax(feed_forward=True), None, False),
        (MultiHead(Softmax()), None, False),
        (Unnormalised(), None, False),
        (Sinkhorn(), None, False),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_where_there_is_a_rescaled_frame(model, given, expected):
    derivation = token_flow(model, given)
    assert has_rescaled_frame(derivation.flow) is expected
    assert (derivation.steps[-1].title == "The rescaled frame") is expected


def test_the_frame_of_repulsion_is_that_of_minus_V():
    flow = token_flow(Softmax(sign=-1)).flow
    assert rescaling(flow) == -matrix("V", D, D)
    assert "e^{-t(-V)}" in token_flow(Softmax(sign=-1)).to_latex(fragment=True)


# ---- every check can fail ---------------------------------------------------------------------------


def test_checks_see_what_is_wrong():
    derivation = token_flow(Softmax(), {"Q", "K", "V"})
    statement, flow = derivation.statement, derivation.flow
    (term,) = flow.terms
    (head,) = statement.heads
    (pairing,) = term.pairings
    wrong_score = replace(term, score=-term.score)
    swapped = replace(term, pairings=(replace(pairing, left=KEY * X, right=Q * Y),))
    assert ScoreOfPairings(statement, head, term).run().passed
    for changed in (wrong_score, swapped):
        assert not ScoreOfPairings(statement, head, changed).run().passed
    for changed in (
        replace(term, matrix=matrix("V", D, D).T),
        replace(term, normalise="none"),
        replace(term, prefactor=sympy.Integer(2)),
    ):
        assert not TokenVelocities(statement, replace(flow, terms=(changed,))).run().passed
    assert not TokenVelocities(statement, replace(flow, space="sphere")).run().passed
    assert not SymmetricScore(statement, head, ()).run().passed
    assert SymmetricScore(statement, head, ((KEY, Q),)).run().passed
    assert not RescaledVelocity(statement, 2 * matrix("V", D, D)).run().passed


def test_a_wrong_derivation_raises():
    derivation = token_flow(Linear(space="sphere"), ())
    step = derivation.steps[-1]
    flow = replace(derivation.flow, background=X)
    on_plain_space = replace(flow, space="euclidean")
    spoilt = replace(
        derivation, steps=(replace(step, check=TokenVelocities(derivation.statement, on_plain_space)),)
    )
    with pytest.raises(CheckFailed, match="system of tokens"):
        spoilt.check()


# ---- documents --------------------------------------------------------------------------------------


def test_documents_show_the_system():
    derivation = token_flow(Softmax(space="sphere"), ())
    text = derivation.to_latex()
    for part in (r"\mathbb{S}^{d-1}", r"P_x = I - xx^{\top}", r"\dot{x}_i", r"e^{s_{ij}}", r"\cite{GLPR23}"):
        assert part in text
    assert "<math" in derivation.to_html()
    assert derivation._repr_latex_().startswith(r"$$\begin{aligned}")
    fragment = token_flow(MultiHead([Sinkhorn(), Linear()])).to_latex(fragment=True)
    assert r"e^{f_i+s^{(1)}_{ij}+g_j}" in fragment
    assert r"s^{(2)}_{ij}" in fragment
