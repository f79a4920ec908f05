"""Common noise in numbers: check values, independent quadrature, tables, refusals."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from symflow import CommonNoise
from symflow.algebra.exact.numbers import Ball
from symflow.errors import InputError
from symflow.models.noise.activation import UserActivation
from symflow.models.noise.leaky_relu import LeakyReLU
from symflow.models.noise.registry import activation, activations
from symflow.noise.table import certified, exponent_table

_MPMATH = {
    "relu": (lambda z: max(z, mpmath.mpf(0)), lambda z: mpmath.mpf(z > 0), [0]),
    "tanh": (mpmath.tanh, lambda z: mpmath.sech(z) ** 2, []),
    "silu": (
        lambda z: z / (1 + mpmath.exp(-z)),
        lambda z: 1 / (1 + mpmath.exp(-z)) + z * mpmath.exp(-z) / (1 + mpmath.exp(-z)) ** 2,
        [],
    ),
}


@pytest.mark.parametrize(
    ("name", "sigma", "dim", "lyapunov", "dissipation", "tolerance"),
    [
        ("relu", 0.1, 5, -0.13, 0.17, 1e-15),
        ("tanh", 0, 64, -0.01501952, 0.03059871, 5e-9),  # as many digits as the check values have
        ("sigmoid", 0, 5, -0.5113712, -0.4770816, 5e-8),
    ],
)
def test_check_values_of_exponents(name, sigma, dim, lyapunov, dissipation, tolerance):
    noise = CommonNoise(name, sigma, sigma, dim)
    assert abs(float(noise.lyapunov) - lyapunov) <= tolerance
    assert abs(float(noise.dissipation) - dissipation) <= tolerance
    assert noise.lyapunov.radius < Fraction(1, 10**18)


@pytest.mark.parametrize("name", sorted(_MPMATH))
def test_ends_agree_with_quadrature_at_fifty_digits(name):
    phi, slope, knots = _MPMATH[name]
    noise = CommonNoise(name, 0.1, 0.2, dim=5, digits=30)
    with mpmath.workdps(50):
        deviation = mpmath.sqrt(mpmath.mpf(noise.variance.numerator) / noise.variance.denominator)
        grid = sorted({*range(-16, 17, 2), *knots})
        square, steep = (
            mpmath.quad(lambda x, f=f: f(deviation * x) ** 2 * mpmath.npdf(x), grid) for f in (phi, slope)
        )
        expected = square + mpmath.mpf(1) / 100, steep / 5
        for ball, value in zip((noise.kappa_at_one, noise.slope_at_one), expected, strict=True):
            middle = mpmath.mpf(ball.midpoint.numerator) / ball.midpoint.denominator
            assert abs(middle - value) < mpmath.mpf(10) ** -28
            assert ball.radius < Fraction(1, 10**28)


def test_erf_and_relu_have_their_closed_forms_between_the_ends():
    erf, relu = CommonNoise("erf", 0, 0.3, dim=4), CommonNoise("relu", 0, 0.3, dim=4)
    q = 0.25 + 0.09
    for u in (-1.0, -0.4, 0.0, 0.7, 1.0):
        covariance = u / 4 + 0.09
        r = covariance / q
        closed = 2 / math.pi * math.asin(2 * covariance / (1 + 2 * q))
        assert abs(float(erf.enclose(u)) - closed) < 1e-15
        closed = q / (2 * math.pi) * (math.sqrt(max(0.0, 1 - r * r)) + r * (math.pi - math.acos(min(r, 1.0))))
        assert abs(float(relu.enclose(u)) - closed) < 1e-15


def test_covariance_is_that_of_simulated_fields():
    noise = CommonNoise("silu", 0.2, 0.3, dim=3)
    random = np.random.default_rng(7)
    u, count = 0.35, 400_000
    q, covariance = 1 / 3 + 0.09, u / 3 + 0.09
    root = np.linalg.cholesky([[q, covariance], [covariance, q]])
    z = root @ random.standard_normal((2, count))
    products = np.prod(z / (1 + np.exp(-z)), axis=0)
    error = products.std() / math.sqrt(count)
    assert abs(products.mean() + 0.04 - noise.kappa(u)) < 4 * error  # fails by chance once in 16000 seeds


@pytest.mark.parametrize(
    ("name", "sigma_u"), [("relu", 0), ("relu", 0.1), ("leaky_relu", 1), ("tanh", 0), ("erf", 0.2)]
)
def test_tables_agree_with_enclosures(name, sigma_u):
    noise = CommonNoise(name, 0.1, sigma_u, dim=5)
    points = [-1.0, -1 + 1e-12, -0.999, -0.31, -1e-9, 0.0, 0.2, 0.75, 0.999999, 1 - 1e-13, 1.0]
    values, slopes = noise.kappa(points), noise.kappa_derivative(points)
    for u, value, slope in zip(points, values, slopes, strict=True):
        assert abs(value - float(noise.enclose(u))) <= 1e-14 * float(noise.kappa_at_one)
        assert abs(slope - float(noise.enclose_derivative(u))) <= 1e-14 * float(noise.slope_at_one)
    program = noise.kappa_program(pieces=16, terms=12, per_unit=15.999)
    assert program.error < 1e-11
    assert np.abs(program(np.array(points)) - values).max() <= program.error + 1e-15


def test_moments_vanish_at_the_critical_exponent():
    noise = CommonNoise("relu", 0.1, 0.1, dim=5)
    assert 0.0 in noise.moment_exponent(0)
    assert noise.moment_exponent(2) == noise.dissipation
    critical = noise.critical_exponent
    assert (
        noise.moment_exponent(float(critical) - 1e-6).upper
        < 0
        < noise.moment_exponent(float(critical) + 1e-6).lower
    )


@pytest.mark.parametrize(("name", "sigma", "dim"), [("relu", 0.1, 64), ("relu", 0, 5), ("sigmoid", 0, 5)])
def test_the_rate_is_the_minimum_over_a_grid(name, sigma, dim):
    noise, beta = CommonNoise(name, sigma, sigma, dim), 2.0
    u = np.linspace(-1, 1 - 1e-6, 4001)
    one, here = float(noise.kappa_at_one), noise.kappa(u)
    drift = here * (dim - 2 + u * u) - one * (dim - 1) * u
    diffusion = (1 - u * u) * (one - u * here)
    ratio = beta * np.exp(beta * u) * (drift + beta * diffusion) / (np.exp(beta) - np.exp(beta * u))
    rate = noise.rate(beta)
    assert rate.upper >= -ratio.min() - 1e-7  # rounding of 1 − u near the end
    # Where the minimum is the limit at u = 1, ReLU reaches it like √(1 − u), 1e-3 at the last place.
    assert abs(float(rate) + ratio.min()) < 1e-3 * max(1.0, abs(float(rate)))


@pytest.mark.parametrize("u", [-0.3, 0.0, 0.5, 0.999])
def test_linear_noise_synchronises_like_an_angle(u):
    found = CommonNoise("linear", dim=3).sync_probability(u)
    assert abs(float(found) - (1 - math.acos(u) / math.pi)) < 1e-15
    assert found.radius < Fraction(1, 10**15)


def test_synchronisation_agrees_with_plain_quadrature():
    noise = CommonNoise("tanh", dim=5)
    u = np.linspace(0, 1, 200_001)[:-1] + 2.5e-6
    one, here = float(noise.kappa_at_one), noise.kappa(u)
    slope = -(here * (3 + u * u) - 4 * one * u) / ((1 - u * u) * (one - u * here))
    scale = np.exp(np.cumsum(slope) * 5e-6)
    share = scale[:100_000].sum() / scale.sum()
    # The singularity (1 − u)^γ at the end costs the midpoint rule about h^(1 + γ).
    assert abs(float(noise.sync_probability(0.5)) - (0.5 + share / 2)) < 3e-3


@pytest.mark.parametrize(("name", "sigma"), [("relu", 0), ("silu", 0.1)])
def test_schoenberg_coefficients_add_up(name, sigma):
    noise = CommonNoise(name, sigma, sigma, dim=3)
    coefficients = [noise.gegenbauer(k) for k in range(4)]
    assert all(ball.upper >= 0 for ball in coefficients)
    u = np.polynomial.legendre.leggauss(400)
    for k in (0, 1, 2):
        polynomial = np.polynomial.legendre.Legendre.basis(k)(u[0])
        # The kink at the ends costs Gauss' rule about n^-5.
        found = (2 * k + 1) / 2 * np.sum(u[1] * noise.kappa(u[0]) * polynomial)
        assert abs(found - float(coefficients[k])) < 1e-9


def test_odd_fields_are_recognised_by_identity():
    assert CommonNoise("tanh", dim=3).is_odd
    assert CommonNoise("sigmoid(z) - 1/2", dim=3).is_odd
    assert not CommonNoise("tanh", sigma_w=0.1, dim=3).is_odd
    assert not CommonNoise("relu", dim=3).is_odd


def test_every_shipped_activation_and_own_ones_give_a_field():
    for name in activations():
        noise = CommonNoise(name, 0.1, 0, 4)
        assert abs(noise.kappa(1.0) - float(noise.kappa_at_one)) < 1e-15
        assert activation(name).reference
    assert CommonNoise(LeakyReLU("1/5"), dim=3).activation.phi == "Max(z, (1/5)*z)"
    own = CommonNoise("z*(1 + erf(z))/2", dim=3)
    assert pickle.loads(pickle.dumps(own)).lyapunov == own.lyapunov


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("exp(z**2)", "grows too fast"),
        ("1/z", "divide by zero"),
        ("log(z)", "logarithm"),
        ("sqrt(z)", "root"),
        ("Heaviside(z)", "jumps"),
        ("Max(z - 1, 0)", "kink"),
        ("rleu", "Did you mean"),
    ],
)
def test_activations_without_a_field_are_refused_by_name(given, message):
    with pytest.raises(InputError, match=message):
        CommonNoise(given, dim=3)


@pytest.mark.parametrize(
    "arguments", [{"dim": 1}, {"dim": None}, {"dim": 3, "sigma_w": -1}, {"dim": 3, "sigma_u": float("nan")}]
)
def test_bad_numbers_are_refused(arguments):
    with pytest.raises(InputError):
        CommonNoise("relu", **arguments)
    with pytest.raises(InputError, match="odd"):
        CommonNoise("relu", dim=3).sync_probability(0.5)
    with pytest.raises(InputError):
        CommonNoise("relu", dim=3).kappa(1.5)


def test_digits_in_the_table_are_certified():
    (row,) = exponent_table(["tanh"], [64], [0])
    assert row.texts(8)["lyapunov"] == "-0.015019524"
    assert certified(Ball(Fraction(1, 3), Fraction(1, 10**4)), 8) == "0.333"
    assert json.dumps(row.texts(3))


def test_a_user_activation_is_one_expression_in_z():
    with pytest.raises(InputError):
        UserActivation("z + w")
