"""Taylor arithmetic of certificates: bounds that hold, enclosures that contain, exact numbers that agree."""

import random
from fractions import Fraction

import flint
import pytest
from sympy import Rational

from symflow.algebra.text.syntax import read
from symflow.certify.propositions.velocity import read_velocity
from symflow.certify.search.counterexample import velocity_record
from symflow.certify.taylor.enclosed import EnclosedSeries, integrated
from symflow.certify.taylor.exact import ExactSeries
from symflow.certify.taylor.majorant import Majorants, tail
from symflow.certify.taylor.tree import evaluate
from symflow.certify.taylor.velocity import (
    ExactVelocity,
    Setting,
    check_domination,
    enclosed_difference,
    exact_value,
)
from symflow.certify.terms import Rejected
from symflow.derive.nonclosure import Law
from symflow.derive.nonclosure.quadrature import Velocity
from symflow.derive.nonclosure.reduction import at_size_one, parameters
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked

ORDER = 4
TEXTS = [
    "x*y - y**2/3",
    "(1 + x)**3*y**2 - 2*x",
    "exp(x*y)",
    "exp(x*y - y**4/4)",
    "sigmoid(x*y + 1)",
    "tanh(x*y)*y",
    "sin(x*y) - cos(x)*y",
    "erf(x*y/2)",
    "exp(tanh(x*y))",
    "1/(2 + y**2)",
    "1/(1 + exp(x*y))**2",
    "sqrt(2)*exp(-x**2*y**2)",
    "sqrt(1 + x**2)*y",
    "x*Max(y, 0) - Abs(y)",
]
POINTS = [Fraction(0), Fraction(1, 2), Fraction(-3, 4)]


def coefficients(text, point, y):
    arithmetic = EnclosedSeries(ORDER)
    values = {"x": arithmetic.query(point), "y": arithmetic.key(y)}
    found = evaluate(read(text), values, arithmetic)
    return [found[n].real for n in range(ORDER + 1)]


@pytest.mark.parametrize("text", TEXTS)
def test_bounds_hold_at_every_key(text):
    for point in POINTS:
        majorants = Majorants(ORDER)
        values = {"x": majorants.query(point), "y": majorants.key()}
        bounds = evaluate(read(text), values, majorants)
        for y in (-40.0, -6.5, -1.25, -0.1, 0.0, 0.3, 1.0, 2.5, 11.0):
            for found, bound in zip(coefficients(text, point, y), bounds, strict=True):
                size, linear, square = bound.growth
                limit = size * (linear * abs(y) + square * y * y).exp()
                assert not abs(found) > limit, (text, point, y)
                if bound.signed is not None:
                    value = sum((c * flint.arb(y) ** n for n, c in enumerate(bound.signed)), flint.arb(0))
                    assert value.overlaps(found)
            if bounds[0].least is not None:
                assert not coefficients(text, point, y)[0] < bounds[0].least


@pytest.mark.parametrize(
    "text", ["exp(exp(x*y))", "exp(y**3)", "exp(x*y**4)", "1/y", "log(1 + y**2)", "Max(x, y)"]
)
def test_what_has_no_bound_is_refused(text):
    majorants = Majorants(ORDER)
    values = {"x": majorants.query(Fraction(0)), "y": majorants.key()}
    with pytest.raises(Rejected):
        evaluate(read(text), values, majorants)


@pytest.mark.parametrize(
    "text", [text for text in TEXTS if not any(f in text for f in ("erf", "1/(2", "Max"))]
)
def test_exact_and_enclosed_series_agree_where_both_exist(text):
    exact = ExactSeries(ORDER)
    try:
        series = evaluate(read(text), {"x": exact.query(Fraction(0)), "y": exact.key()}, exact)
    except Rejected:
        assert "sigmoid" in text or "y**4" in text  # around another point than zero, or beyond quadratics
        return
    y = Fraction(3, 5)
    for part, ball in zip(series, coefficients(text, Fraction(0), float(y)), strict=True):
        value = sum(
            float(r) * q**0.5 * float(y) ** n * 2.718281828459045 ** float(a * y * y + b * y + c)
            for (q, n, a, b, c), r in part.items()
        )
        assert abs(value - float(ball.mid())) < 1e-12


def test_a_tail_is_bounded_by_its_bound():
    majorants = Majorants(0)
    (bound,) = evaluate(read("exp(y)*y**2"), {"y": majorants.key()}, majorants)
    mean, variance = Fraction(1), Fraction(2)
    whole = integrated(lambda y, _: y.exp() * y * y, bound, mean, variance)
    expected = Fraction(11) * 1  # E[Y² e^Y] = e^{m + v/2} ((m + v)² + v)
    assert whole.overlaps(expected.numerator * flint.arb(2).exp())
    assert tail(bound, 30, mean, variance) < tail(bound, 20, mean, variance) < 1


KERNELS = ["dot(x, A*y)", "dot(x, A*y) - a*norm2(y)", "dot(x, y)*dot(x, y)/9 + dot(y, c)", "sin(dot(x, A*y))"]


@pytest.mark.parametrize(("score", "masked"), [*((score, False) for score in KERNELS), (KERNELS[1], True)])
def test_derivatives_agree_with_quadrature_for_random_parameters(score, masked):
    rng = random.Random(score)
    model = Attention(score, value="V*y + b")
    statement = (Masked(model) if masked else model).statement()
    stated = read_velocity(velocity_record(statement))
    count = 2 if masked else 1
    values = {name: Fraction(rng.randint(1, 6), 8) for name in stated.symbols}
    laws = tuple((Fraction(rng.randint(-4, 4), 4), Fraction(rng.randint(2, 6), 8)) for _ in range(count))
    weights = (Fraction(1, 3), Fraction(2, 3)) if masked else (Fraction(1),)
    setting = Setting(stated, values, laws, weights, Fraction(1, 4))
    with flint.ctx.workprec(128):
        check_domination(setting, 3, None)
        balls = {order: enclosed_difference(setting, order, None) for order in (2, 3)}
        second = enclosed_difference(setting, 2, Fraction(1, 2))
    numbers = {symbol: Rational(values[symbol.name]) for symbol in parameters(statement)}
    velocity = Velocity(
        [part.substitute(numbers) for part in at_size_one(statement)],
        [Law(Rational(mean), Rational(variance)) for mean, variance in laws],
        [Rational(weight) for weight in weights],
    )
    for order, ball in balls.items():
        measured = velocity.difference(Rational(1, 4), order, None)
        assert abs(float(measured) - float(ball.mid())) < 1e-10 * (1 + abs(float(measured)))
        assert float(ball.rad()) < 1e-12
    measured = velocity.difference(Rational(1, 4), 2, Rational(1, 2))
    assert abs(float(measured) - float(second.mid())) < 1e-12


def test_exact_derivatives_of_a_closed_model_vanish():
    stated = read_velocity(velocity_record(Attention("dot(x, A*y) - norm2(y)").statement()))
    values = {name: Fraction(2, 3) for name in stated.symbols}
    for point in POINTS:
        setting = Setting(stated, values, ((Fraction(1), Fraction(1, 2)),), (Fraction(1),), point)
        assert [ExactVelocity(setting).derivative(order) for order in (2, 3, 5)] == [{}, {}, {}]
        assert ExactVelocity(setting).derivative(1) == exact_value("1/9")  # V·A·v/(1 + 2v), v = 1/2
