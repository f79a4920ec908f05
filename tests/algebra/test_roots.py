"""Principal square roots: what the normal form proves, and its agreement with evaluation to many digits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Identity, Inverse, MatPow, Rational, Symbol, Trace, sqrt

from symflow.algebra.families import FamilySum
from symflow.algebra.latex import latex
from symflow.algebra.sampling import (
    SingularPoint,
    agree_at_rational_points,
    agree_numerically,
    context,
    principal_root,
)
from symflow.algebra.symbols import dimension, matrix
from symflow.algebra.transposition import transposed
from symflow.algebra.variation import LogDet, gateaux
from symflow.algebra.words import identical, normal_form
from symflow.errors import InputError

d, k = dimension("d"), dimension("k")
A, B, S = (matrix(n, d, d) for n in ("A", "B", "Sigma"))
K = matrix("K", k, d)
eye, eye_k = Identity(d), Identity(k)
tau = Symbol("tau", positive=True)


def root(base):
    return MatPow(base, Rational(1, 2))


P = eye + 4 * S * A.T * S * A
X = Inverse(eye + root(P))
C = 2 * X * S * A.T * S  # cross-covariance of the optimal coupling of a Gaussian with itself
CT = 2 * S * A * S * Inverse(eye + root(eye + 4 * A.T * S * A * S))

PROVEN = [
    (root(P) * root(P), P),
    (MatPow(P, Rational(3, 2)), root(P) * P),
    (root(P) * P, P * root(P)),
    (root(A) * A, A * root(A)),
    (root(A + B) * (A + B), (A + B) * root(A + B)),
    (root(P).T, root(eye + 4 * A.T * S * A * S)),
    (root(S).T, root(S)),
    (S * root(eye + 4 * A.T * S * A * S), root(eye + 4 * S * A.T * S * A) * S),
    (K * root(eye + K.T * K), root(eye_k + K * K.T) * K),
    (S * Inverse(eye + root(eye + 4 * A.T * S * A * S)), X * S),
    (K * Inverse(eye + root(eye + K.T * K)), Inverse(eye_k + root(eye_k + K * K.T)) * K),
    (root(4 * eye), 2 * eye),
    (root(tau**2 * eye + A), tau * root(eye + A / tau**2)),
    (root(2 * A), sqrt(2) * root(A)),
    (Inverse(root(P)) * root(P), eye),
    (Inverse(root(P)) * Inverse(root(P)), Inverse(P)),
    (MatPow(P, Rational(-1, 2)), Inverse(root(P))),
    (root(P) * Inverse(P), Inverse(P) * root(P)),
    (X * Inverse(P), Inverse(P) * X),
    (X * root(P), eye - X),
    (X * S * A.T * S * A, (root(P) - eye) / 4),
    (S * A.T * S * A * X, (root(P) - eye) / 4),
    (LogDet(root(P)), LogDet(P) / 2),
    # the optimality of a Sinkhorn coupling, for every A and Σ
    (C.T, CT),
    (C, S * A.T * (S - C.T * Inverse(S) * C)),
    (Inverse(S) * C * Inverse(S - C.T * Inverse(S) * C), A.T),
]


@pytest.mark.parametrize(("left", "right"), PROVEN, ids=[str(i) for i in range(len(PROVEN))])
def test_identities_of_roots_are_proven(left, right):
    assert identical(left, right, symmetric=(S,))
    form = normal_form(left, (S,))
    assert normal_form(form.to_sympy(), (S,)) == form


@pytest.mark.parametrize("index", [1, 3, 5, 7, 8, 10, 15, 20, 24])
def test_what_is_proven_holds_to_thirty_digits(index):
    left, right = PROVEN[index]
    assert agree_numerically(left, right, sizes=(1, 2), points=1, seed=index, psd=(S,)).agrees


DIFFERENT = [
    (root(A) * root(B), root(A * B)),
    (root(A * A), A),
    (root(P), root(P).T),
    (root(eye + A), eye + root(A)),
    (root(A), root(-A)),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT, ids=[str(i) for i in range(len(DIFFERENT))])
def test_different_roots_stay_different(left, right):
    assert not identical(left, right, symmetric=(S,))


@pytest.mark.parametrize("B", [A, K.T * matrix("Q", k, d)], ids=["A", "KQ"])
@pytest.mark.parametrize("scale", [1, Symbol("beta", nonnegative=True) / tau], ids=["one", "symbolic"])
def test_the_optimal_coupling_of_a_scaled_score(B, scale):
    inverse = Inverse(eye + root(eye + 4 * scale**2 * S * B.T * S * B))
    cross, velocity = 2 * scale * inverse * S * B.T * S, 2 * scale * S * B * inverse
    assert identical(cross, scale * S * B.T * (S - cross.T * Inverse(S) * cross), (S,))
    assert identical(velocity * S, cross.T, (S,))


def test_a_scalar_score_has_a_coupling_without_products():
    base = eye + 4 * tau**2 * S * S
    assert identical((root(base) - eye) / (2 * tau), 2 * tau * Inverse(eye + root(base)) * S * S, (S,))


def test_roots_inside_a_sum_over_a_family():
    velocity = FamilySum(2 * B * S * A * Inverse(eye + root(P)), (A, B), dimension("H"))
    turned = FamilySum(2 * Inverse(eye + root(P)) * S * A.T * S * B.T, (A, B), dimension("H"))
    assert identical((velocity * S).T, turned, (S,))


def test_a_root_does_not_change_its_size_unless_the_new_eigenvalue_is_positive():
    # For k > d the matrix KKᵀ − I has the eigenvalue −1, and no principal root exists.
    assert not identical(root(K * K.T - eye_k) * K, K * root(K.T * K - eye))
    # I − (I + KᵀK)^{1/2} may be invertible where its counterpart in the other size is not.
    small, large = eye - root(eye + K.T * K), eye_k - root(eye_k + K * K.T)
    assert not identical(K * Inverse(small), Inverse(large) * K)


def test_a_root_has_no_derivative_in_words():
    with pytest.raises(InputError, match="R·dR"):
        gateaux(root(P), {S: B})
    assert gateaux(root(P), {B: A}).is_ZeroMatrix


def test_numeric_agreement_says_what_it_is_and_finds_differences():
    sampled = agree_numerically(root(eye + A * A.T), root(eye + A.T * A), sizes=(2,), points=1)
    assert not sampled.agrees
    assert sampled.method == "evaluation with 60 digits at rational points"
    with pytest.raises(InputError, match="agree_numerically"):
        agree_at_rational_points(root(A), A)


def test_a_principal_root_is_checked():
    ctx = context(40)
    given_matrix = ctx.matrix([[2, -3], [3, 2]])
    found = principal_root(given_matrix, ctx)
    assert ctx.mnorm(found * found - given_matrix, 1) < ctx.mpf(10) ** -38
    for bad in ([[-1, 0], [0, 2]], [[0, 1], [0, 0]], [[0, 0], [0, 0]]):
        with pytest.raises(SingularPoint):
            principal_root(ctx.matrix(bad), ctx)


def test_latex_of_a_root():
    assert latex(X * S) == r"(I+(I+4\Sigma A^{\top}\Sigma A)^{1/2})^{-1}\Sigma"
    assert latex(root(S)) == r"\Sigma^{1/2}"
    assert latex(Trace(root(S))) == r"\operatorname{tr}(\Sigma^{1/2})"


def test_transposition_goes_under_the_root():
    assert transposed(root(P), (S,)) == root(eye + 4 * A.T * S * A * S)


_LETTERS = [root(P), X, S, A, A.T, P, Inverse(P), root(eye + S)]
_WORDS = st.lists(st.sampled_from(_LETTERS), min_size=1, max_size=3)


@settings(max_examples=12, deadline=None)
@given(word=_WORDS, seed=st.integers(0, 99))
def test_rewriting_keeps_the_value(word, seed):
    value = word[0]
    for factor in word[1:]:
        value = value * factor
    rewritten = normal_form(value, (S,)).to_sympy()
    assert agree_numerically(value, rewritten, sizes=(1, 2), points=1, seed=seed, psd=(S,)).agrees
