"""Number fields and sums of exponentials against mpmath and SymPy, their texts, and expressions at points."""

import functools
import operator
import random
from fractions import Fraction as F

import mpmath
import pytest
from sympy import MatrixSymbol, Rational, Symbol, Trace, cos, exp, pi, sqrt
from sympy.abc import x

from symflow.algebra.exact.evaluation import evaluate_exact
from symflow.algebra.exact.exponentials import ExpFraction, ExpSum, exact_quotient, exponential
from symflow.algebra.exact.fields import cosines, field_of, from_sympy
from symflow.algebra.exact.numbers import AlgebraicNumber
from symflow.algebra.exact.real import sign
from symflow.algebra.exact.texts import read_exact
from symflow.errors import GrammarError, InputError, Undecided

mpmath.mp.dps = 60
#: Balls of 128 bits and 60 digits: what differs by less agrees.
TOLERANCE = mpmath.mpf(10) ** -36


def _random_sum(rng, terms=4, field=None):
    total = ExpSum({})
    for _ in range(rng.randint(1, terms)):
        a, c = (F(rng.randint(-9, 9), rng.randint(1, 6)) for _ in range(2))
        if field is not None:
            a, c = (field.element([q, F(rng.randint(-3, 3)), F(rng.randint(-2, 2), 3)]) for q in (a, c))
        total = total + c * exponential(a)
    return total


def _mp(value):
    """Evaluate with mpmath, independently of balls."""
    if isinstance(value, F):
        return mpmath.mpf(value.numerator) / value.denominator
    if isinstance(value, ExpFraction):
        return _mp(value.numerator) / _mp(value.denominator)
    if isinstance(value, ExpSum):
        return mpmath.fsum(_mp(c) * mpmath.exp(_mp(a)) for a, c in value.terms.items())
    theta = _theta(value.field.root)
    return mpmath.fsum(_mp(c) * theta**k for k, c in enumerate(value.coefficients))


@functools.cache
def _theta(root):
    roots = mpmath.polyroots([int(c) for c in reversed(root.polynomial)], maxsteps=500, extraprec=400)
    return sorted(mpmath.re(z) for z in roots if abs(mpmath.im(z)) < TOLERANCE)[root.index]


@pytest.mark.parametrize("n", [None, 5, 7])
def test_arithmetic_agrees_with_mpmath(n):
    rng = random.Random(20 + (n or 0))
    field = cosines(n).field if n else None
    for _ in range(12):
        a, b = _random_sum(rng, field=field), _random_sum(rng, field=field)
        for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
            if operation is operator.truediv and not b:
                continue
            value = operation(a, b)
            expected = operation(_mp(a), _mp(b))
            ball = value.arb(128)
            assert abs(mpmath.mpf(ball.mid().str(50, radius=False)) - expected) < TOLERANCE * (
                1 + abs(expected)
            )
            assert value.sign() == mpmath.sign(mpmath.chop(expected, tol=TOLERANCE))
            assert read_exact(str(value), field) == value


def test_signs_far_below_double_precision():
    # e^{1/N} − (1 + 1/N + 1/(2N²)) = 1/(6N³) + …, and the neighbouring truncation with the opposite sign
    n = 10**40
    e = exponential(F(1, n))
    assert (e - (1 + F(1, n) + F(1, 2 * n**2))).sign() == 1
    assert (e - (1 + F(1, n) + F(1, 2 * n**2) + F(1, n**3))).sign() == -1
    assert (exponential(10**6) - exponential(10**6 - F(1, 10**9))).sign() == 1
    assert exponential(F(1, 3)) * exponential(F(2, 3)) - exponential(1) == 0


def test_numbers_without_a_sign_are_left_open_in_bounded_time():
    tiny = exponential(F(1, 2 ** (1 << 21))) - 1  # about 2^-(2 million)
    with pytest.raises(Undecided, match="bits"):
        tiny.sign()


def test_quotients_cancel():
    e = exponential(F(1, 2))
    assert (e**4 - 1) / (e**2 + 1) == e**2 - 1
    assert isinstance((e**4 - 1) / (e**2 + 1), ExpSum)
    assert hash((e**2 - 1) / ((e + 1) * (e + 2))) == hash((e - 1) / (e + 2))
    s = cosines(5)
    p, q = exponential(s.cos(1)) + s.sin(1), exponential(s.cos(2)) - 2
    assert exact_quotient(p * q, q) == p
    assert (p * q) / q == p
    assert exact_quotient(p, q) is None
    assert p / (p * q) == 1 / q
    with pytest.raises(ZeroDivisionError):
        p / (q - q)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 9, 12])
def test_cosines_of_polygons(n):
    polygon = cosines(n)
    for k in range(-1, n + 1):
        assert abs(_mp(polygon.cos(k)) - mpmath.cos(2 * mpmath.pi * k / n)) < TOLERANCE
        assert abs(_mp(polygon.sin(k)) - mpmath.sin(2 * mpmath.pi * k / n)) < TOLERANCE
        assert polygon.cos(k) ** 2 + polygon.sin(k) ** 2 == 1


def test_sympy_numbers_come_into_one_field():
    given = [
        sqrt(2),
        sqrt(3),
        1 / (1 + sqrt(2) + sqrt(3)),
        Rational(1, 3),
        cos(pi / 12),
        8 ** Rational(-1, 3),
    ]
    for number, element in zip(given, from_sympy(given), strict=True):
        assert abs(_mp(element) - mpmath.mpf(number.evalf(50))) < TOLERANCE
    root2, root3, *_ = from_sympy(given)
    assert (root2 * root3) ** 2 == 6
    assert from_sympy([Rational(1, 2)]) == [F(1, 2)]
    with pytest.raises(InputError, match="pi"):
        from_sympy([pi])
    with pytest.raises(InputError, match="algebraic"):
        from_sympy([sqrt(-2)])


def test_fields_are_checked():
    assert field_of([-2, 0, 1], 1, 2).generator > F(7, 5)
    assert field_of([-2, 0, 1], -2, -1).generator < F(-7, 5)
    for polynomial, ends, word in (
        ([-4, 0, 1], (1, 3), "irreducible"),
        ([-2, 0, 1], (-2, 2), "2 roots"),
        ([-2, 0, 1], (3, 4), "0 roots"),
    ):
        with pytest.raises(InputError, match=word):
            field_of(polynomial, *ends)
    with pytest.raises(InputError, match="different fields"):
        cosines(5).cos(1) + cosines(7).cos(1)


def test_equal_numbers_of_different_kinds():
    half = cosines(6).cos(1)
    assert half == F(1, 2)
    assert hash(half) == hash(F(1, 2))
    assert exponential(half) == exponential(0.5)
    assert ExpSum({F(0): F(1, 2)}) == half
    assert from_sympy([sqrt(5)])[0] != F(9, 4)
    assert AlgebraicNumber((-2, 0, 1), 1) == field_of([-2, 0, 1], 1, 2).generator.minimal_polynomial()
    assert sorted([exponential(1), F(3), exponential(F(1, 2)), half]) == [
        half,
        exponential(F(1, 2)),
        exponential(1),
        3,
    ]
    assert abs(1 - exponential(1)) == exponential(1) - 1
    assert sign(F(-3)) == -1


def test_floats_and_balls():
    e = exponential(1)
    assert float(e) == 2.718281828459045
    assert float(1 / (1 + e)) == pytest.approx(0.2689414213699951, rel=1e-16)
    assert e.ball(200).radius < F(1, 2**198)
    assert F(27182818284590452353, 10**19) not in e.ball(200)
    assert (e + sqrt(4)).to_sympy() == exp(1) + 2


@pytest.mark.parametrize(
    "text", ["exp(exp(1))", "y", "1/0", "exp(1", "__import__('os')", "theta", "log(2)", "1/(1-1)"]
)
def test_texts_that_are_no_numbers_are_refused(text):
    with pytest.raises((InputError, GrammarError)):
        read_exact(text)


def test_expressions_at_exact_points():
    d = Symbol("d", integer=True, positive=True)
    X, Y, A = MatrixSymbol("x", d, 1), MatrixSymbol("y", d, 1), MatrixSymbol("A", d, d)
    beta = Symbol("beta")
    pentagon = cosines(5)
    corners = [[[pentagon.cos(k)], [pentagon.sin(k)]] for k in range(5)]
    pair = exp(beta * Trace(X.T * Y)) / beta
    value = evaluate_exact(pair, {"x": corners[0], "y": corners[2], "beta": F(1, 2)})
    assert value == 2 * exponential(pentagon.cos(2) / 2)
    weighted = A.I * X * exp(Trace(X.T * X))
    assert evaluate_exact(weighted, {"x": [[1], [2]], "A": [[2, 0], [0, 0.5]]}) == [
        [exponential(5) / 2],
        [4 * exponential(5)],
    ]
    inverse = evaluate_exact(A.I, {"A": [[exponential(1), 1], [1, 1]]})
    assert inverse[0][0] * (exponential(1) - 1) == 1
    assert evaluate_exact(x**2 + 1, {"x": pentagon.cos(1)}) == pentagon.cos(1) ** 2 + 1
    assert evaluate_exact(abs(x), {"x": pentagon.cos(2)}) == -pentagon.cos(2)
    assert isinstance(evaluate_exact(exp(x), {"x": 0}), F)


@pytest.mark.parametrize(
    ("expr", "values", "word"),
    [
        (exp(exp(x)), {"x": 1}, "neither rational"),
        (sqrt(x), {"x": 2}, "square root"),
        (x, {"x": float("nan")}, "finite"),
        (x, {"x": "1"}, "not an exact number"),
        (x, {}, "no entry"),
    ],
)
def test_expressions_without_exact_value_are_refused(expr, values, word):
    with pytest.raises(InputError, match=word):
        evaluate_exact(expr, values)
