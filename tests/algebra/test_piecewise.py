"""Scores with cases: text, SymPy, normal form, exact values, slopes (C031, C033)."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest
import sympy
from sympy import (
    Abs,
    And,
    DiracDelta,
    Eq,
    Heaviside,
    Max,
    Ne,
    Not,
    Or,
    Piecewise,
    Rational,
    Symbol,
    Trace,
    exp,
)

from symflow.algebra.choice import Choice
from symflow.algebra.grammar import parse, parse_score, to_text
from symflow.algebra.sampling import agree_at_rational_points, evaluate
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import gateaux
from symflow.algebra.words import identical, normal_form
from symflow.errors import GrammarError, InputError
from symflow.models.attention.user import Attention

D = dimension("d")
A, X, Y, H = matrix("A", D, D), vector("x", D), vector("y", D), vector("h", D)
U = Trace(X.T * A * Y)
A_, B_, C_ = (Symbol(name, real=True) for name in "abc")
SYMBOLS = {"a": A_, "b": B_, "c": C_}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Piecewise(a, a < b, b)", Piecewise((A_, A_ < B_), (B_, True))),
        ("Piecewise(1, a == 0, 2, b != 1, 3)", Piecewise((1, Eq(A_, 0)), (2, Ne(B_, 1)), (3, True))),
        (
            "Piecewise(a, And(a <= b, b > c), 1/2)",
            Piecewise((A_, And(A_ <= B_, B_ > C_)), (Rational(1, 2), True)),
        ),
        ("Piecewise(a, Or(a ≥ b, Not(c ≠ 0)), 0)", Piecewise((A_, Or(A_ >= B_, Not(Ne(C_, 0)))), (0, True))),
    ],
)
def test_cases_are_read_and_written(text, expected):
    read = parse(text, SYMBOLS)
    assert read == expected
    assert parse(to_text(read), SYMBOLS) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Piecewise(a, a < b)", "at least 3"),
        ("Piecewise(a, a < b, b, b < c)", "without condition"),
        ("Piecewise(a, b, c)", "argument 2 of Piecewise must be a condition"),
        ("Piecewise(a < b, a < b, c)", "argument 1 of Piecewise must be a value"),
        ("Max(a < b, c)", "argument 1 of Max must be a value"),
        ("And(a < b, b < c)", "stands in Piecewise only"),
        ("a < b", "expected an operator"),
        ("Piecewise(a, a < b < c, b)", "expected"),
        ("Piecewise(a, Not(b), c)", "argument 1 of Not must be a condition"),
        ("DiracDelta(a)", "distribution"),
    ],
)
def test_misplaced_conditions_are_refused(text, message):
    with pytest.raises(GrammarError, match=message):
        parse(text, SYMBOLS)


def test_shapes_are_inferred_through_cases():
    found = parse_score("Piecewise(dot(Q*x, K*y), norm2(x) < s, 0)")
    assert dict(found.shapes) == {"Q": ("k", "d"), "K": ("k", "d"), "s": ()}
    with pytest.raises(GrammarError, match="shapes differ"):
        parse_score("Piecewise(1, x < y, 2)")


def test_a_score_of_sympy_with_cases_is_a_model():
    size = Symbol("d")  # without the assumptions of our own symbols
    x, y = (sympy.MatrixSymbol(name, size, 1) for name in "xy")
    angle = Trace(x.T * y) * Symbol("omega")
    model = Attention(Piecewise((1, Eq(angle, 0)), (sympy.sin(angle) / angle, True)), normalise="none")
    assert dict(model.parameters) == {"omega": (), "V": ("d", "d")}
    assert model.statement().score.has(Piecewise)


@pytest.mark.parametrize(
    ("score", "message"), [(Piecewise((U, U < 1)), "last case"), (DiracDelta(U), "distribution")]
)
def test_a_score_without_values_is_refused(score, message):
    with pytest.raises(InputError, match=message):
        Attention(score)


def test_the_normal_form_keeps_cases():
    score = Piecewise((Trace(X.T * A * Y), Trace(Y.T * Y) < 1), (exp(U), True))
    form = normal_form(score)
    assert form.to_sympy() == score
    assert pickle.loads(pickle.dumps(form)) == form
    assert identical(score, score.xreplace({U: Trace(Y.T * A.T * X)}))
    assert not identical(score, score.xreplace({U: Trace(Y.T * A * X)}))
    assert not identical(score, Piecewise((U, Trace(Y.T * Y) <= 1), (exp(U), True)))


def test_a_choice_gives_its_expression_back():
    expression = Piecewise((A_, And(A_ < B_, Ne(C_, 0))), (B_ + 1, True))
    choice = Choice.of(expression)
    assert choice(*choice.parts(expression)) == expression


@pytest.mark.parametrize(("a", "value"), [(-1, Fraction(3)), (0, Fraction(1, 2)), (1, Fraction(5))])
def test_exact_values(a, value):
    expression = Piecewise((2 + Abs(A_), A_ < 0), (Heaviside(A_), Eq(A_, 0)), (Max(A_, 5), True))
    assert evaluate(expression, {"a": a}) == value


def test_cases_agree_at_rational_points():
    one = Piecewise((U, U > 0), (0, True))
    assert agree_at_rational_points(one, Max(U, 0)).agrees
    assert not agree_at_rational_points(one, U).agrees


def test_slopes_are_taken_from_the_chosen_side():
    score = Piecewise((U**2, U > 0), (0, True))
    slope = gateaux(score, {X: H})
    assert agree_at_rational_points(slope, Max(2 * U, 0) * Trace(H.T * A * Y)).agrees
    relu = gateaux(Max(U, 0), {X: H})
    assert evaluate(relu, {"x": [[0]], "y": [[1]], "A": [[1]], "h": [[1]]}) == Fraction(1, 2)
    with pytest.raises(InputError, match="distribution"):
        gateaux(relu, {X: H})
