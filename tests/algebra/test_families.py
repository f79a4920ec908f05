"""Sums over a family: what the normal form proves, the derivative, text, LaTeX and exact values."""

import pickle

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sympy import Identity, Inverse, MatPow, Rational, Trace, Transpose

from symflow.algebra.affine import affine_parts
from symflow.algebra.definite import is_negative_semidefinite
from symflow.algebra.families import FamilySum
from symflow.algebra.grammar import parse, parse_score, to_text
from symflow.algebra.latex import latex
from symflow.algebra.sampling import agree_at_rational_points, draw, evaluate
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.terms import terms
from symflow.algebra.transposition import transposed
from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import identical, normal_form
from symflow.errors import GrammarError, InputError, NotAffine

d, k, H = dimension("d"), dimension("k"), dimension("H")
A, B, M, S, V = (matrix(n, d, d) for n in ("A", "B", "M", "Sigma", "V"))
C, X = matrix("C", d, d), matrix("X", d, d)
K = matrix("K", k, d)
x, y, b = vector("x", d), vector("y", d), vector("b", d)
eye = Identity(d)
MEMBERS = (A, B, K, V, b)


def over(body):
    return FamilySum(body, MEMBERS, H)


PROVEN = [
    (over(A + B), over(A) + over(B)),
    (over(S * A * M), S * over(A) * M),
    (over(V * S * A * S), over(V * S * A) * S),
    (over(S * M), H * S * M),
    (over(x), H * x),
    (over(2 * A - A), over(A)),
    (over(A.T), over(A).T),
    (over(K.T * K), over(K.T * K).T),
    (over(b.T * x), x.T * over(b)),
    (over(Trace(M) * A), Trace(M) * over(A)),
    # two indices do not mix
    (over(over(A) * B), over(A) * over(B)),
    (over(over(A)), H * over(A)),
    # scalars: what is summed last does not depend on the factor that was taken out
    (Trace(over(A * M * B) * C), Trace(over(B * C * A) * M)),
    (x.T * over(Trace(A) * B) * y, over(Trace(A) * (x.T * B * y))),
    (Trace(over(K.T * K) * S), Trace(over(Trace(K * S * K.T) * Identity(1)))),
    # inverses of sums, and inverses inside sums
    (Inverse(over(A)) * over(A), eye),
    (Inverse(eye + S * over(K.T * K)) * S, S * Inverse(eye + over(K.T * K) * S)),
    (over(V * Inverse(eye + 2 * S * K.T * K) * S), over(V * S * Inverse(eye + 2 * K.T * K * S))),
    (over(A * Inverse(eye + M * A)) * M, H * eye - over(Inverse(eye + A * M))),
    (M * over(A * Inverse(eye + M * A)), H * eye - over(Inverse(eye + M * A))),
]


@pytest.mark.parametrize(("left", "right"), PROVEN, ids=[str(i) for i in range(len(PROVEN))])
def test_identities_of_sums_are_proven(left, right):
    assert identical(left, right, symmetric=(S,))


@pytest.mark.parametrize("index", [0, 1, 4, 6, 8, 10, 12, 13, 14, 17, 18])
def test_what_is_proven_holds_at_rational_points(index):
    left, right = PROVEN[index]
    assert agree_at_rational_points(left, right, sizes=(1, 2), points=1, seed=index, psd=(S,)).agrees


def test_values_of_members_have_a_leading_axis():
    values = {"A": [[[1]], [[2]], [[5]]], "Sigma": [[3]]}
    assert evaluate(S * over(A * S * A), values) == [[3 * 3 * (1 + 4 + 25)]]
    assert evaluate(H * over(A), values) == [[3 * 8]]
    with pytest.raises(InputError, match="3 matrices, but H is 2"):
        evaluate(over(A), values, {H: 2})
    with pytest.raises(InputError, match="A must be a list of matrices"):
        evaluate(over(A), {"A": 3})
    with pytest.raises(InputError, match="A is a member of a family in one place"):
        evaluate(over(A) + A, values)
    drawn = draw([A, S], {"d": 2, "H": 3}, seed=1, psd=(A,), families={A: H})
    assert [len(m) for m in drawn["A"]] == [2, 2, 2]
    assert all(m[0][1] == m[1][0] and m[0][0] >= 0 for m in drawn["A"])


def test_sums_that_differ_are_told_apart_at_rational_points():
    assert not agree_at_rational_points(over(A * B), over(A) * over(B), points=1).agrees


DIFFERENT = [
    (over(A * B), over(A) * over(B)),
    (over(A), A),
    (over(A), FamilySum(A, (A,), dimension("G"))),
    (over(b.T * b), over(b).T * over(b)),
    (over(A), over(A).T),
    (FamilySum(A * B, (A,), H), over(A * B)),
    (Trace(over(A * M * B) * C), Trace(over(A * C * B) * M)),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT, ids=[str(i) for i in range(len(DIFFERENT))])
def test_different_sums_stay_different(left, right):
    assert not identical(left, right, symmetric=(S,))


def test_a_sum_is_written_without_the_letters_that_stand_outside():
    assert normal_form(over(M * V * S * A * S), (S,)).to_sympy() == M * FamilySum(V * S * A, (A, V), H) * S


@pytest.mark.parametrize("left", [pair[0] for pair in PROVEN], ids=[str(i) for i in range(len(PROVEN))])
def test_restoring_and_reading_again_changes_nothing(left):
    form = normal_form(left, (S,))
    assert normal_form(form.to_sympy(), (S,)) == form
    copy = pickle.loads(pickle.dumps(form))
    assert copy == form
    assert hash(copy) == hash(form)


def test_the_derivative_passes_into_the_summand():
    direction = matrix("D", d, d)
    found = gateaux(over(V * X * A * X), {X: direction})
    assert identical(found, over(V * direction * A * X) + over(V * X * A * direction))
    assert gateaux(over(V), {X: direction}).is_ZeroMatrix
    with pytest.raises(InputError, match="A stands for every matrix of a family"):
        gateaux(over(A * X), {A: direction})


GRADIENTS = [
    Trace(over(V * X * A) * M),
    Trace(over(A * M * B) * X),
    Trace(over(A * X * B) * M * over(V)),
    Trace(over(Trace(A) * (x.T * B * X * y))),
    Trace(over(K.T * K) * X) ** 2,
    Trace(over(A * X * B * X.T)),
]


@pytest.mark.parametrize("scalar", GRADIENTS, ids=[str(i) for i in range(len(GRADIENTS))])
def test_gradients_of_sums(scalar):
    direction = matrix("D", d, d)
    slope = gradient(scalar, X)
    assert agree_at_rational_points(
        Trace(slope.T * direction), gateaux(scalar, {X: direction}), points=1
    ).agrees


def test_signs_of_sums_of_squares():
    assert is_negative_semidefinite(-over(K.T * K))
    assert is_negative_semidefinite(-2 * S * over(K.T * K) * S - over(b * b.T), (S,))
    assert not is_negative_semidefinite(over(K.T * K))
    assert not is_negative_semidefinite(-over(A))
    assert not is_negative_semidefinite(-M * over(K.T * K) * S, (S,))


def test_affine_parts_and_terms_see_through_a_sum():
    linear, constant = affine_parts(over(V * (S * A * y + b)), y)
    assert identical(linear, over(V * S * A))
    assert identical(constant, over(V * b))
    assert list(terms(over(2 * V * S) + M)) == [(1, (M,)), (2, (FamilySum(V, (V,), H), S))]
    with pytest.raises(NotAffine):
        affine_parts(over(V * y * y.T * A * y), y)


def test_transposition_goes_into_the_summand():
    assert transposed(over(V * S * A), (S,)) == over(A.T * S * V.T)
    assert identical(transposed(over(V * S * A), (S,)), Transpose(over(V * S * A)), (S,))


WRITTEN = [
    (over(V * S * K.T * K * S), r"\sum_{h=1}^{H} V_{h}\Sigma K_{h}^{\top}K_{h}\Sigma"),
    (over(V * S) * x, r"\left(\sum_{h=1}^{H} V_{h}\Sigma\right)x"),
    (M * over(A), r"M\sum_{h=1}^{H} A_{h}"),
    (over(A + V), r"\sum_{h=1}^{H}(A_{h}+V_{h})"),
    (over(-A * x) + x, r"-\sum_{h=1}^{H} A_{h}x + x"),
    (FamilySum(V * vector("bv", d), (V, vector("bv", d)), H), r"\sum_{h=1}^{H} V_{h}b_{v,h}"),
    (over(matrix("h", d, d) * A), r"\sum_{j=1}^{H} hA_{j}"),
    (over(over(A) * B), r"\sum_{h=1}^{H}\left(\sum_{j=1}^{H} A_{j}\right)B_{h}"),
    (Trace(over(x.T * A * y)) ** 2, r"\left(\sum_{h=1}^{H}\langle x, A_{h}y\rangle\right)^{2}"),
]


@pytest.mark.parametrize(("expr", "text"), WRITTEN, ids=[str(i) for i in range(len(WRITTEN))])
def test_latex_of_sums(expr, text):
    assert latex(expr) == text


TEXTS = [
    (over(V * S * A) * S, "sum(V*Sigma*A, H, A, V)*Sigma"),
    (Inverse(eye + S * over(K.T * K)), "inv(Sigma*sum(K.T*K, H, K) + eye(d))"),
    (over(over(A) * B), "sum(sum(A, H, A)*B, H, A, B)"),
    (Trace(over(x.T * A * y)), "sum(x.T*A*y, H, A)"),
    (Trace(over(Trace(A) * Trace(B) * Identity(1))), "sum(tr(A)*tr(B), H, A, B)"),
    (MatPow(eye + over(A), Rational(1, 2)) * S, "sqrtm(sum(A, H, A) + eye(d))*Sigma"),
    (MatPow(A, Rational(-3, 2)), "inv(sqrtm(A))*inv(sqrtm(A))*inv(sqrtm(A))"),
]
NAMES = {str(s.name): s for s in (A, B, K, M, S, V, b, x, y)} | {"H": H, "d": d, "k": k}


@pytest.mark.parametrize(("expr", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_text_of_sums_and_roots(expr, text):
    assert to_text(expr) == text
    again = parse(text, NAMES)
    assert to_text(again) == text
    assert identical(again, expr)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum(A, H)", "at least 3"),
        ("sum(A, H, A*B)", "names of matrices"),
        ("sum(A, H, H)", "names of matrices"),
        ("sum(A, A, A)", "size"),
        ("sum(M, H, A)", "none of its members"),
        ("sqrtm(K)", "square"),
        ("sqrtm(2)", "write sqrt"),
    ],
)
def test_text_that_is_no_sum_or_root_is_refused(text, message):
    with pytest.raises(GrammarError, match=message):
        parse(text, NAMES)


def test_a_score_has_no_sum_but_may_have_a_root():
    with pytest.raises(GrammarError, match="unknown function 'sum'"):
        parse_score("dot(x, sum(A, H, A)*y)")
    assert parse_score("dot(x, sqrtm(A)*y)").shapes == (("A", ("d", "d")),)


_FACTORS = [A, A.T, B, K.T * K, M, S, S, M.T, Inverse(eye + M * A), Inverse(eye + S * M)]
_CHAINS = st.lists(st.sampled_from(_FACTORS), min_size=1, max_size=4)


def _times(factors):
    value = eye
    for factor in factors:
        value = value * factor
    return value


@settings(max_examples=40, deadline=None)
@given(chains=st.lists(_CHAINS, min_size=1, max_size=2), outer=_CHAINS)
def test_sums_are_linear_whatever_is_summed(chains, outer):
    bodies = [_times(chain) for chain in chains]
    whole = over(sum(bodies[1:], bodies[0]))
    parts = [over(body) for body in bodies]
    assert identical(whole, sum(parts[1:], parts[0]), (S,))
    assert identical(whole.T, over(sum(bodies[1:], bodies[0]).T), (S,))
    factors = [f for f in outer if not f.has(A, B, K)]
    assume(factors)
    left = _times(factors)
    assert identical(left * whole, over(left * sum(bodies[1:], bodies[0])), (S,))
