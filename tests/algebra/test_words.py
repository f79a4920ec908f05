"""The normal form of matrix words: identities it must prove, and soundness against exact evaluation."""

import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from sympy import (
    Abs,
    Determinant,
    Identity,
    Integer,
    Inverse,
    MatPow,
    Max,
    Rational,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
    exp,
    log,
    sqrt,
)
from sympy.matrices.expressions.dotproduct import DotProduct

from symflow.algebra.sampling import SingularPoint, agree_at_rational_points
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import LogDet
from symflow.algebra.words import identical, normal_form
from symflow.errors import InputError

d, k = dimension("d"), dimension("k")
A, B, C, M, N, V, Sigma = (matrix(n, d, d) for n in ("A", "B", "C", "M", "N", "V", "Sigma"))
K = matrix("K", k, d)
x, y, z = (vector(n, d) for n in "xyz")
beta = Symbol("beta", positive=True)
tau = Symbol("tau", positive=True)
eye, eye_k = Identity(d), Identity(k)
X = Inverse(eye - Sigma * C)

PROVEN = [
    # S005: the residual of the softmax mean is zero, and an inverse cancels without being adjacent
    (V * (x + Sigma * A * x), V * x + V * Sigma * A * x, ()),
    (A * (x + y) - A * y, A * x, ()),
    (Inverse(K.T * K) * K.T * K, eye, ()),
    (V * (eye + M) * Inverse(eye + M) * A, V * A, ()),
    (Inverse(eye + M + N) * (eye + M + N), eye, ()),
    ((A + B) * Inverse(A + B), eye, ()),
    (M * Inverse(eye + M), Inverse(eye + M) * M, ()),
    # transposes, traces, scalars
    ((A * B).T, B.T * A.T, ()),
    (Trace(A * B * C), Trace(B.T * A.T * C.T), ()),
    (Trace(Sigma * A), Trace(A.T * Sigma), (Sigma,)),
    (Trace(eye), d, ()),
    (Trace(x * y.T * A), Trace(x.T * A.T * y), ()),
    (x * y.T * A * x * y.T, Trace(y.T * A * x) * x * y.T, ()),
    (x.T * A * y, Trace(y.T * A.T * x), ()),
    (DotProduct(x, y), Trace(y.T * x), ()),
    (MatPow(A, 3) * Inverse(A), A * A, ()),
    (MatPow(A, -2), Inverse(A) * Inverse(A), ()),
    # coefficients
    (sqrt(2) * sqrt(8) * A, 4 * A, ()),
    (beta / tau * A + A / tau, (1 + beta) / tau * A, ()),
    ((beta**2 - 1) / (beta - 1) * x, (beta + 1) * x, ()),
    (1 / (1 + sqrt(2)) * x, (sqrt(2) - 1) * x, ()),
    (1 / (1 + Trace(A)) * (1 + Trace(A)) ** 2 * A, A + Trace(A) * A, ()),
    (Trace(A) / (1 + Trace(A)) * x, x - 1 / (1 + Trace(A)) * x, ()),
    (0.5 * A, A / 2, ()),
    # functions of scalars
    (exp(Trace(A)) * exp(Trace(B)), exp(Trace(A + B)), ()),
    (exp(beta + Trace(A)) * exp(-Trace(A.T)), exp(beta), ()),
    (Max(Trace(A), 0), Max(0, Trace(A.T)), ()),
    (log(Determinant(A * B)), LogDet(A) + LogDet(B), ()),
    # inverses
    (Inverse(Inverse(A)), A, ()),
    (Inverse(A.T), Inverse(A).T, ()),
    (Inverse(A * (eye + B)), Inverse(eye + B) * Inverse(A), ()),
    (Inverse(2 * (eye + M)), Inverse(eye + M) / 2, ()),
    (Inverse(beta * eye), eye / beta, ()),
    (Inverse(Trace(A) * B), Inverse(B) / Trace(A), ()),
    (Inverse(eye + A).T, Inverse(eye + A.T), ()),
    (Inverse(eye + Inverse(A) * M), Inverse(A + M) * A, ()),
    # push-through
    (Sigma * Inverse(eye + 2 * K.T * K * Sigma), Inverse(eye + 2 * Sigma * K.T * K) * Sigma, ()),
    (K * Inverse(eye + Sigma * K.T * K), Inverse(eye_k + K * Sigma * K.T) * K, ()),
    (Inverse(Inverse(Sigma) - C), X * Sigma, ()),
    (Inverse(Inverse(Sigma) - C), Sigma * Inverse(eye - C * Sigma), ()),
    (Inverse(Inverse(Sigma) - C) * Inverse(Sigma) * x, X * x, ()),
    (Inverse(Sigma) * X - Inverse(Sigma), C * X, ()),
    ((X * Sigma).T, X * Sigma, (Sigma, C)),
    (Trace(X * A), Trace(Inverse(eye - C * Sigma) * A.T), (Sigma, C)),
    (Trace(x.T * C * X * y), Trace(y.T * C * X * x), (Sigma, C)),
    (
        C * Inverse(eye - Sigma * C - Sigma * B) * Sigma + B * Inverse(eye - Sigma * (B + C)) * Sigma,
        Inverse(eye - (B + C) * Sigma) - eye,
        (),
    ),
    # determinants
    (LogDet(eye_k + K * Sigma * K.T), LogDet(eye + K.T * K * Sigma), ()),
    (LogDet(Inverse(Sigma) - C) + LogDet(Sigma), LogDet(eye - C * Sigma), ()),
    (LogDet(3 * A), d * log(3) + LogDet(A.T), ()),
    (LogDet(Inverse(eye + A)), -LogDet(eye + A), ()),
]


@pytest.mark.parametrize(("left", "right", "symmetric"), PROVEN, ids=[str(i) for i in range(len(PROVEN))])
def test_identities_are_proven(left, right, symmetric):
    assert identical(left, right, symmetric)


DIFFERENT = [
    (A * B, B * A, ()),
    (Sigma, Sigma.T, ()),
    (Trace(A * B * C), Trace(A * C * B), ()),
    (Inverse(eye + A), Inverse(eye - A), ()),
    (sqrt(Trace(A) ** 2), Trace(A), ()),
    (Trace(A) ** 2, Trace(A * A), ()),
    (Trace(A), Trace(matrix("A", k, k)), ()),
    (A, matrix("A", k, k), ()),
    (LogDet(A + B), LogDet(A) + LogDet(B), ()),
    (A, ZeroMatrix(d, d), ()),
    (exp(Trace(A)), exp(Trace(B)), ()),
    (Symbol("beta") * A, beta * A, ()),
]


@pytest.mark.parametrize(
    ("left", "right", "symmetric"), DIFFERENT, ids=[str(i) for i in range(len(DIFFERENT))]
)
def test_what_differs_is_never_identified(left, right, symmetric):
    assert not identical(left, right, symmetric)


def test_the_length_of_a_normalised_vector_is_one():
    # S009: no imaginary unit, no Abs
    unit = Trace(x.T * x) ** Rational(-1, 2) * x
    assert identical(Trace(unit.T * unit), 1)


def test_arithmetic_of_normal_forms_follows_that_of_expressions():
    left, right = normal_form(A + Inverse(eye + B)), normal_form(x * y.T)
    assert left * right == normal_form((A + Inverse(eye + B)) * x * y.T)
    assert left + right - left == right
    assert (left * right).T == right.T * left.T
    assert hash(left) == hash(normal_form(Inverse(eye + B) + A))
    assert left.shape == (d, d)
    assert (left - left).is_zero
    with pytest.raises(InputError, match="shapes"):
        left + normal_form(x)


@pytest.mark.parametrize(
    "expr",
    [x[0, 0] + Trace(A), Abs(x[0, 0]) * Trace(A), MatPow(A, beta), Inverse(A - A), Inverse(ZeroMatrix(d, d))],
)
def test_what_the_calculus_does_not_know_is_refused(expr):
    with pytest.raises(InputError):
        normal_form(expr)


def test_normal_forms_pickle_with_equal_hash():
    form = normal_form(Inverse(eye + A * Sigma) * x + Trace(A) ** 2 * exp(Trace(B)) * x)
    copy = pickle.loads(pickle.dumps(form))
    assert copy == form
    assert hash(copy) == hash(form)


def test_normal_form_text_does_not_depend_on_the_hash_seed():
    program = (
        "from sympy import *\nfrom symflow.algebra.words import normal_form\n"
        "d = Symbol('d', integer=True, positive=True); I = Identity(d)\n"
        "A, B, S = (MatrixSymbol(n, d, d) for n in 'ABS'); x, y = (MatrixSymbol(n, d, 1) for n in 'xy')\n"
        "e = (S + A*B.T)*Inverse(I + A*S + B)*(x + y*Trace(A*S*B)) + exp(Trace(x.T*y))*Trace(x.T*A*y)**2*y\n"
        "n = normal_form(e, (S,)); print(n, n.key)"
    )
    texts = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        texts.add(run.stdout)
    assert len(texts) == 1


# --- random expressions --------------------------------------------------------------------------------

_SHAPES = {"dd": (d, d), "dk": (d, k), "kd": (k, d), "d1": (d, 1)}
_LEAVES = {
    "dd": [A, B, Sigma, Transpose(A), eye, x * y.T],
    "dk": [K.T, matrix("W", d, k)],
    "kd": [K, matrix("W", d, k).T],
    "d1": [x, y],
}
_INNER = {"dd": ["d", "k"], "dk": ["d"], "kd": ["d"], "d1": ["d", "k"]}


@st.composite
def expressions(draw, kind="dd", depth=3):
    """A random matrix expression of one of the shapes."""
    if depth == 0:
        return draw(st.sampled_from(_LEAVES[kind]))
    choice = draw(st.integers(0, 9))
    smaller = depth - 1
    if choice <= 2:
        return draw(expressions(kind, smaller)) + draw(expressions(kind, smaller))
    if choice <= 5:
        r, c = kind
        m = draw(st.sampled_from([m for m in "dk" if r + m in _LEAVES and (m + c in _LEAVES or m == "d")]))
        if m + c in _LEAVES:
            return draw(expressions(r + m, smaller)) * draw(expressions(m + c, smaller))
    if choice == 6:
        return draw(st.sampled_from([2, -1, Rational(3, 2), beta])) * draw(expressions(kind, smaller))
    if choice == 7:
        return Trace(draw(expressions("dd", smaller))) * draw(expressions(kind, smaller))
    if choice == 8 and kind == "dd":
        inner = eye + draw(expressions("dd", smaller))
        assume(not normal_form(inner, (Sigma,)).is_zero)
        return Inverse(inner)
    if choice == 9 and kind == "dd":
        return Transpose(draw(expressions("dd", smaller)))
    return draw(st.sampled_from(_LEAVES[kind]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(expressions())
def test_the_normal_form_has_the_value_of_the_expression(expr):
    form = normal_form(expr, (Sigma,))
    try:
        sampled = agree_at_rational_points(expr, form.to_sympy(), sizes=(1, 2), points=1, symmetric=(Sigma,))
    except SingularPoint:
        reject()
    assert sampled.agrees, sampled.evidence


@settings(max_examples=40, deadline=None, derandomize=True)
@given(expressions(depth=2), expressions(depth=2), expressions(depth=2))
def test_what_is_identical_agrees_at_rational_points_and_conversely(a, b, c):
    rewritten = [
        (a * (b + c), a * b + a * c),
        ((a * b).T, b.T * a.T),
        (Trace(a * b), Trace(b.T * a.T)),
        (x.T * a * y, y.T * a.T * x),
    ]
    for left, right in rewritten:
        assert identical(left, right, (Sigma,))
    push_through = (a * Inverse(eye + b * a), Inverse(eye + a * b) * a)
    for left, right in [*rewritten, push_through, (a, b), (a * b, b * a)]:
        try:
            sampled = agree_at_rational_points(left, right, sizes=(2,), points=2, symmetric=(Sigma,))
        except SingularPoint:
            continue
        assert sampled.agrees or not identical(left, right, (Sigma,)), sampled.evidence


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([A, B, Sigma, A.T]), min_size=1, max_size=3), st.sampled_from([Integer(1), beta])
)
def test_push_through_is_proven_for_every_product(letters, scale):
    p, r = letters[0], eye
    for letter in letters[1:]:
        r = r * letter
    left = p * Inverse(eye + scale * r * p)
    assert identical(left, Inverse(eye + scale * p * r) * p, (Sigma,))
    assert identical(left * (eye + scale * r * p), p, (Sigma,))


@pytest.mark.parametrize("kind", [list, tuple, set, iter])
def test_symmetric_symbols_come_in_any_iterable(kind):
    """U117: one that can be read only once is not taken for an empty one."""
    assert identical(Trace(Sigma * A), Trace(A.T * Sigma), kind([Sigma]))
    assert normal_form(Sigma - Sigma.T, kind([Sigma])).is_zero
    assert agree_at_rational_points(Sigma, Sigma.T, iter((1, 2)), symmetric=kind([Sigma])).agrees
