"""Quadratic decomposition of scores."""

import pytest
from sympy import Identity, Inverse, MatrixSymbol, Symbol, Trace, ZeroMatrix, erf, exp

from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.sampling import agree_at_rational_points
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.words import identical
from symflow.errors import InputError, NotQuadratic

d, k, m = dimension("d"), dimension("k"), dimension("m")
A, C, S = (matrix(n, d, d) for n in "ACS")
Q, K = matrix("Q", k, d), matrix("K", k, d)
x, y, u, v = (vector(n, d) for n in "xyuv")
bq, bk = vector("bq", k), vector("bk", k)
beta, tau = Symbol("beta", positive=True), Symbol("tau", positive=True)
gap = Q * x - K * y
zero, none = ZeroMatrix(d, d), ZeroMatrix(d, 1)

SCORES = [
    (Trace(y.T * A * x), A, zero, none, 0),
    (beta / tau * Trace((Q * x).T * K * y), beta / tau * K.T * Q, zero, none, 0),
    (Trace((Q * x + bq).T * (K * y + bk)), K.T * Q, zero, K.T * bq, Trace(x.T * Q.T * bk) + Trace(bq.T * bk)),
    (
        -beta * Trace(gap.T * gap),
        2 * beta * K.T * Q,
        -2 * beta * K.T * K,
        none,
        -beta * Trace(x.T * Q.T * Q * x),
    ),
    (Trace(y.T * C * y) / 2, zero, (C + C.T) / 2, none, 0),
    (Trace(y.T * u) * Trace(v.T * y), zero, u * v.T + v * u.T, none, 0),
    (Trace(u.T * y) ** 2, zero, 2 * u * u.T, none, 0),
    (Trace(y.T * u) * Trace(x.T * v), u * v.T, zero, none, 0),
    (
        Trace(A) * Trace(y.T * y) + exp(Trace(x.T * x)),
        zero,
        2 * Trace(A) * Identity(d),
        none,
        exp(Trace(x.T * x)),
    ),
    (erf(Trace(x.T * A * x)), zero, zero, none, erf(Trace(x.T * A * x))),
    (Trace(u.T * y), zero, zero, u, 0),
    (Trace(y * x.T * A), A.T, zero, none, 0),
    (y.T * A * x, A, zero, none, 0),
    (Trace(y.T * Inverse(Identity(d) + A) * x), Inverse(Identity(d) + A), zero, none, 0),
    (Trace(x.T * y), Identity(d), zero, none, 0),
]


@pytest.mark.parametrize(("score", "B", "C", "c", "rest"), SCORES, ids=[str(s[0]) for s in SCORES])
def test_parts_of_a_quadratic_score(score, B, C, c, rest):
    form = quadratic_form(score, x, y)
    assert (form.B.shape, form.C.shape, form.c.shape) == ((d, d), (d, d), (d, 1))
    assert identical(form.B, B)
    assert identical(form.C, C)
    assert identical(form.c, c)
    assert identical(form.rest, rest)
    assert identical(form.C, form.C.T)
    assert identical(form.score(), score)


def test_the_parts_put_together_have_the_value_of_the_score():
    score = -beta * Trace(gap.T * gap) + Trace(y.T * A * y) + Trace(u.T * y)
    form = quadratic_form(score, x, y)
    assert agree_at_rational_points(form.score(), score, sizes=(1, 2)).agrees


def test_query_and_key_of_different_sizes():
    query, weight = vector("x", m), matrix("W", d, m)
    form = quadratic_form(Trace(y.T * weight * query), query, y)
    assert weight == form.B
    assert zero == form.C


def test_symmetric_symbols_are_used():
    form = quadratic_form(Trace(y.T * S * y) / 2, x, y, symmetric=(S,))
    assert form.C == S
    assert form.symmetric == (S,)


def test_vectors_of_size_one():
    p, q = MatrixSymbol("p", 1, 1), MatrixSymbol("q", 1, 1)
    form = quadratic_form(beta * Trace(p * q) - Trace(q) ** 2, p, q)
    assert beta * Identity(1) == form.B
    assert -2 * Identity(1) == form.C


NOT_QUADRATIC = [
    (Trace(y.T * y) ** 2, Trace(y.T * y) ** 2),
    (Trace(x.T * y) ** 2, Trace(x.T * y) ** 2),
    (Trace(x.T * y) + exp(Trace(x.T * y)), exp(Trace(x.T * y))),
    (Trace(x.T * x) * Trace(y.T * A * y), Trace(x.T * x) * Trace(y.T * A * y)),
    (Trace(x.T * u) * Trace(y.T * A * y), Trace(u.T * x) * Trace(y.T * A * y)),
    (Trace(x.T * x) * Trace(x.T * y), Trace(x.T * x) * Trace(x.T * y)),
    (exp(Trace(x.T * x)) * Trace(u.T * y), exp(Trace(x.T * x)) * Trace(u.T * y)),
    (1 / Trace(y.T * y), 1 / Trace(y.T * y)),
    (1 / (1 + Trace(y.T * y)), 1 / (1 + Trace(y.T * y))),
    (Trace(u.T * Inverse(A + y * u.T) * v), None),
]


@pytest.mark.parametrize(("score", "term"), NOT_QUADRATIC, ids=[str(s[0]) for s in NOT_QUADRATIC])
def test_what_is_left_over_is_named(score, term):
    with pytest.raises(NotQuadratic) as caught:
        quadratic_form(score, x, y)
    assert caught.value.term is not None
    assert term is None or identical(caught.value.term, term)


@pytest.mark.parametrize(
    "call", [lambda: quadratic_form(A * x, x, y), lambda: quadratic_form(Trace(A), A, y)]
)
def test_bad_input_is_refused(call):
    with pytest.raises(InputError):
        call()
