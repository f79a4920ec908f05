"""The tilting lemma: derived, compared with the known closed forms, with exact values and with quadrature."""

import time
from fractions import Fraction

import mpmath
import pytest
from sympy import (
    Identity,
    Integer,
    Inverse,
    MatrixSymbol,
    Piecewise,
    Rational,
    S,
    Symbol,
    Trace,
    ZeroMatrix,
    erf,
    exp,
    pi,
    simplify,
    sqrt,
)

from symflow.algebra.gaussian import gaussian_integral, log_normaliser, tilted_covariance, tilted_mean
from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.sampling import agree_at_rational_points, draw, evaluate
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import LogDet, gateaux, gradient
from symflow.algebra.words import identical, normal_form
from symflow.errors import InputError

d, k = dimension("d"), dimension("k")
A, C, Sigma, V = (matrix(n, d, d) for n in ("A", "C", "Sigma", "V"))
Q, K = matrix("Q", k, d), matrix("K", k, d)
x, y, u, alpha = (vector(n, d) for n in ("x", "y", "u", "alpha"))
bq, bk = vector("bq", k), vector("bk", k)
beta = Symbol("beta", positive=True)
eye = Identity(d)
gap = Q * x - K * y

SOFTMAX = quadratic_form(Trace(y.T * A * x), x, y)
L2 = quadratic_form(-Trace(gap.T * gap), x, y)
GENERAL = quadratic_form(Trace(y.T * A * x) + Trace(y.T * C * y) / 2 + Trace(u.T * y), x, y)


def test_softmax_mean_has_no_inverse():
    mean = tilted_mean(SOFTMAX, alpha, Sigma, x)
    assert identical(mean, alpha + Sigma * A * x, (Sigma,))
    assert not mean.has(Inverse)
    assert tilted_covariance(SOFTMAX, Sigma) == Sigma
    assert not log_normaliser(SOFTMAX, alpha, Sigma, x).has(Inverse, LogDet)


def test_biases_shift_the_source():
    form = quadratic_form(beta * Trace((Q * x + bq).T * (K * y + bk)), x, y)
    right = alpha + beta * Sigma * K.T * (Q * x + bq)
    assert identical(tilted_mean(form, alpha, Sigma, x), right, (Sigma,))


def test_l2_mean_is_the_known_one():
    right = Inverse(eye + 2 * Sigma * K.T * K) * (alpha + 2 * Sigma * K.T * Q * x)
    mean = tilted_mean(L2, alpha, Sigma, x)
    assert identical(mean, right, (Sigma,))
    assert not mean.has(Inverse(Sigma))


def test_tilted_covariance_is_symmetric():
    covariance = tilted_covariance(GENERAL, Sigma)
    assert identical(covariance, covariance.T, (Sigma,))
    assert identical(covariance, Inverse(eye - Sigma * GENERAL.C) * Sigma, (Sigma,))


@pytest.mark.parametrize("form", [SOFTMAX, L2, GENERAL], ids=["softmax", "l2", "general"])
def test_mean_and_covariance_are_derivatives_of_the_log_normaliser(form):
    """The cumulant route: log ∫ e^{s + ⟨w,y⟩} dN has the tilted mean and covariance as derivatives in w."""
    w = vector("w", d)
    tilted = quadratic_form(form.score() + Trace(w.T * y), x, y)
    value = log_normaliser(tilted, alpha, Sigma, x)
    mean = gradient(value, w, (Sigma,))
    assert identical(mean, tilted_mean(tilted, alpha, Sigma, x), (Sigma,))
    direction = vector("h", d)
    second = gateaux(mean, {w: direction})
    assert identical(second, tilted_covariance(tilted, Sigma) * direction, (Sigma,))


def test_another_query_is_put_in_the_place_of_x():
    mean = tilted_mean(GENERAL, alpha, Sigma, V * x)
    right = Inverse(eye - Sigma * GENERAL.C) * (alpha + Sigma * (A * V * x + u))
    assert identical(mean, right, (Sigma,))


def test_completing_the_square_agrees_with_exact_sampling():
    """At invertible Σ the mean is H⁻¹b with H = Σ⁻¹ − C and b = Σ⁻¹α + Ax + u."""
    H = Inverse(Sigma) - GENERAL.C
    b = Inverse(Sigma) * alpha + A * x + u
    found = agree_at_rational_points(tilted_mean(GENERAL, alpha, Sigma, x), Inverse(H) * b, psd=(Sigma,))
    assert found.agrees, found.evidence


SINGULAR = {"zero": [[0, 0], [0, 0]], "rank one": [[4, -2], [-2, 1]]}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_covariances_have_a_tilted_mean(name):
    """S015: the value at Σ = 0 and at rank one, against the moments computed without any density.

    For Σ = ffᵀ and y = α + fZ the tilt of Z ~ N(0, 1) has variance v = 1/(1 − fᵀCf) and mean
    v fᵀ(Cα + Bx + c).
    """
    values = draw([A, K, Q, V, x, alpha], {"d": 2, "k": 1}, seed=5)
    values["Sigma"] = SINGULAR[name]
    f = [Integer(2), Integer(-1)] if name == "rank one" else [Integer(0), Integer(0)]
    values["f"] = [[Fraction(int(v))] for v in f]
    column = vector("f", d)
    for form in (SOFTMAX, L2):
        mean = evaluate(V * tilted_mean(form, alpha, Sigma, x), values)
        scale = 1 / (1 - Trace(column.T * form.C * column))
        slope = Trace(column.T * form.C * alpha) + Trace(column.T * form.B * x)
        assert mean == evaluate(V * (alpha + scale * slope * column), values)
        if name == "zero":
            assert mean == evaluate(V * alpha, values)
        assert not tilted_mean(form, alpha, Sigma, x).has(Inverse(Sigma))


def test_log_normaliser_against_quadrature_in_one_dimension():
    """∫exp(½cy² + by)N(m, s)(dy) by mpmath at 30 digits; the quadrature is good to at least 15."""
    c, b, m, s = Rational(-3, 2), Rational(2, 5), Rational(1, 3), Rational(7, 4)
    one = MatrixSymbol("y", 1, 1)
    form = quadratic_form(c * Trace(one * one) / 2 + b * Trace(one), MatrixSymbol("x", 1, 1), one)
    value = log_normaliser(form, m * Identity(1), MatrixSymbol("s", 1, 1), ZeroMatrix(1, 1))
    number = value.replace(LogDet, lambda M: _log(Trace(M).doit())).subs(Trace(MatrixSymbol("s", 1, 1)), s)
    with mpmath.workdps(30):
        density = lambda t: mpmath.exp(  # noqa: E731
            mpmath.mpf(c.p) / c.q * t**2 / 2 + mpmath.mpf(b.p) / b.q * t - (t - mpmath.mpf(1) / 3) ** 2 / 3.5
        )
        integral = mpmath.quad(density, [-40, -5, 0, 5, 40]) / mpmath.sqrt(2 * mpmath.pi * 1.75)
        assert abs(mpmath.mpf(str(number.evalf(25))) - mpmath.log(integral)) < mpmath.mpf(10) ** -15


def _log(value):
    from sympy import log

    return log(value)


def test_gaussian_integral_with_a_negative_coefficient():
    # S012: ∫exp(a(y² + 2y))dy = √(π/(−a))·e^{−a}
    a = Symbol("a", negative=True)
    value = gaussian_integral(-2 * a * Identity(1), 2 * a * Identity(1))
    assert simplify(value - sqrt(pi / -a) * exp(-a)) == 0
    assert abs(float(value.subs(a, -1)) - 4.81802909) < 1e-8  # the answer is printed with nine digits


def test_exponential_moment_of_a_normal_variable():
    # S013: E[exp(sY)] = exp(sm + s²σ²/2) for s of unknown sign, at once
    s, sigma = Symbol("s", real=True), MatrixSymbol("v", 1, 1)
    one, m = MatrixSymbol("y", 1, 1), MatrixSymbol("m", 1, 1)
    started = time.process_time()
    form = quadratic_form(s * Trace(one), MatrixSymbol("x", 1, 1), one)
    moment = exp(log_normaliser(form, m, sigma, ZeroMatrix(1, 1)))
    assert time.process_time() - started < 2
    assert identical(moment, exp(s * Trace(m) + s**2 * Trace(sigma) / 2))
    assert not moment.has(erf, Piecewise)


def test_gaussian_integral_of_symbolic_size():
    value = gaussian_integral(Sigma, alpha)
    right = (2 * pi) ** (d / 2) * exp(-LogDet(Sigma) / 2) * exp(Trace(alpha.T * Inverse(Sigma) * alpha) / 2)
    assert identical(value, right)
    diagonal = gaussian_integral(4 * eye, ZeroMatrix(d, 1))
    assert simplify(diagonal - (pi / 2) ** (d / 2)) == 0


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: gaussian_integral(-eye, alpha), "diverges"),
        (lambda: gaussian_integral(S.Zero * eye, alpha), "diverges"),
        (lambda: gaussian_integral(-A.T * A - beta * eye, alpha), "diverges"),
        (lambda: gaussian_integral(-K.T * K, alpha), "diverges"),
        (lambda: gaussian_integral(K, alpha), "shape"),
        (lambda: gaussian_integral(Sigma, bq), "shape"),
        (lambda: tilted_mean(SOFTMAX, bq, Sigma, x), "alpha"),
        (lambda: tilted_mean(SOFTMAX, alpha, K, x), "Sigma"),
        (lambda: log_normaliser(SOFTMAX, alpha, Sigma, bq), "x has shape"),
    ],
)
def test_bad_input_is_refused(call, word):
    with pytest.raises(InputError, match=word):
        call()


def test_the_whole_derivation_takes_milliseconds():
    """A guard against simplification in inner loops: about 0.05 s of processor time, 1 s is the bound."""
    started = time.process_time()
    form = quadratic_form(-beta * Trace(gap.T * gap), x, y)
    normal_form(V * tilted_mean(form, alpha, Sigma, x), (Sigma,))
    gradient(log_normaliser(form, alpha, Sigma, x), x, (Sigma,))
    assert time.process_time() - started < 1
