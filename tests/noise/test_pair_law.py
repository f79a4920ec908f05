"""Cosines of two tokens in common noise: paths, Fokker–Planck equation and exact answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import betainc

from symflow.errors import InputError
from symflow.noise.fokker_planck import pair_law
from symflow.noise.one_point import OnePointLaw
from symflow.noise.pair import PairCoefficients, pair_paths


class Linear:
    """κ(u) = u/d + b: the field of a random matrix, and a common shift."""

    def __init__(self, dim, shift=0.0):
        self.dim, self.shift = dim, shift

    def kappa(self, u):
        return np.asarray(u) / self.dim + self.shift


class Quadratic:
    """κ(u) = (1 + u)²/4: no odd field, and moments of u up to any degree couple upwards."""

    def __init__(self, dim):
        self.dim = dim

    def kappa(self, u):
        return 0.25 * (1.0 + np.asarray(u)) ** 2


FIELDS = (Linear(2, 0.3), Linear(3), Quadratic(2), Quadratic(3), Quadratic(5), Linear(32, 0.02))


def _g(field, u):
    """G₀ and G₁ as the paper has them."""
    k, one, d = field.kappa(u), field.kappa(1.0), field.dim
    return k * (d - 2 + u**2) - one * (d - 1) * u, (1 - u**2) * (one - u * k)


@pytest.mark.parametrize("field", FIELDS)
def test_coefficients_are_those_of_the_derivation(field):
    u = np.linspace(-1, 1, 41)
    drift, diffusion = _g(field, u)
    found = PairCoefficients(field)
    assert np.allclose(found.drift(u), drift, rtol=0, atol=1e-14)
    assert np.allclose(found.diffusion(u), diffusion, rtol=0, atol=1e-14)


@pytest.mark.parametrize("field", FIELDS)
def test_logit_coefficients_follow_from_the_chain_rule(field):
    s = np.linspace(-9, 9, 37)
    u, first, second = np.tanh(s / 2), np.cosh(s / 2) ** 2 * 2, np.sinh(s) * np.cosh(s / 2) ** 2 * 2
    drift, diffusion = _g(field, u)
    a, b = PairCoefficients(field).logit(s)
    assert np.allclose(b, diffusion * first**2, rtol=1e-10)
    assert np.allclose(a, drift * first + diffusion * second, rtol=1e-9, atol=1e-9)


def test_mass_is_conserved_and_positive():
    for field in FIELDS:
        law = pair_law(field, -0.4, [0.1, 1.0, 30.0], steps=200)
        assert np.abs(law.mass.sum(axis=1) - 1.0).max() < 1e-12
        assert law.mass.min() >= 0.0


def test_paths_and_fokker_planck_agree():
    """Distribution functions and means; the error of the step is removed by Richardson's extrapolation."""
    levels, count, times = np.array([-0.6, -0.2, 0.2, 0.6, 0.95]), 4000, np.array([0.5, 2.0])
    for number, field in enumerate(FIELDS):
        unit = 2.0 / (field.kappa(1.0) * (field.dim - 1))  # until a single token has forgotten its place
        fine, coarse = (
            pair_paths(field, 0.1, times * unit, dt=0.02 * part * unit, paths=count, rng=10 * part + number)
            for part in (1, 2)
        )
        law = pair_law(field, 0.1, times * unit)
        share = [(one.u[:, :, None] <= levels).mean(axis=0) for one in (fine, coarse)]
        # 60 comparisons in all: one beyond 4.5 standard errors happens in one of 2500 seeds
        allowed = 4.5 * np.sqrt(5 * np.maximum(law.cdf(levels) * (1 - law.cdf(levels)), 2.0 / count) / count)
        gap = np.abs(2 * share[0] - share[1] - law.cdf(levels))
        assert (gap <= allowed + law.error[:, None]).all(), number
        mean = 2 * fine.u.mean(axis=0) - coarse.u.mean(axis=0)
        assert (np.abs(mean - law.mean()) <= 4.5 * fine.u.std(axis=0) * np.sqrt(5 / count)).all(), number


def test_paths_have_the_declared_weak_order():
    field, count = Quadratic(3), 60_000
    exact = pair_law(field, 0.1, [1.0]).mean()[0]
    errors = [
        pair_paths(field, 0.1, [1.0], dt=dt, paths=count, rng=5).u.mean() - exact for dt in (0.25, 0.125)
    ]
    # the mean has the standard error 0.0025, the order 0.1
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.4)


def test_refinement_agrees_with_the_error_that_is_told():
    field, levels = Quadratic(3), np.linspace(-0.9, 0.9, 19)
    exact = pair_law(field, 0.1, [1.0], cells=800, steps=16000).cdf(levels)
    previous = np.inf
    for cells, steps in ((50, 250), (100, 1000), (200, 4000)):
        law = pair_law(field, 0.1, [1.0], cells=cells, steps=steps)
        gap = np.abs(law.cdf(levels) - exact).max()
        assert gap <= law.error[0]
        assert gap < 0.5 * previous
        previous = gap


def test_means_change_as_the_generator_says():
    r"""d/dt E f(u) = E(G₀f' + G₁f'') for f = u, u³, by differences of the law in time."""
    for field in (Linear(3), Quadratic(5)):
        law = pair_law(field, 0.5, [1.0, 1.01], cells=800, steps=8000)
        numbers = PairCoefficients(field)
        for power in (1, 3):
            slope = np.diff(law.mean(lambda u, p=power: u**p))[0] / 0.01
            u = law.centres
            bent = numbers.diffusion(u) * (power - 1) * u ** max(power - 2, 0)
            rate = power * (law.mass @ (numbers.drift(u) * u ** (power - 1) + bent)).mean()
            assert slope == pytest.approx(rate, abs=5e-4)


def test_uniform_tokens_without_bias_stay_uniform_on_average():
    """The start is the law of the cosine of two uniform tokens; the odd field keeps its symmetry."""
    for d in (2, 3, 6):
        law = pair_law(Linear(d), "uniform", [0.0, 1.0])
        u = np.linspace(-0.99, 0.99, 23)
        assert np.abs(law.cdf(u)[0] - betainc((d - 1) / 2, (d - 1) / 2, (1 + u) / 2)).max() < 2e-3
        assert np.abs(law.cdf(u)[1] + law.cdf(-u)[1] - 1.0).max() < 1e-8


def test_linear_layers_synchronise_with_the_known_probability():
    r"""φ(z) = z: tokens end as x or −x, P(sync | u₀) = 1 − θ₀/π in the plane."""
    for start in (-0.5, 0.2):
        expected = 1.0 - np.arccos(start) / np.pi
        law = pair_law(Linear(2), start, [80.0])
        assert 1.0 - law.cdf(0.0)[0] == pytest.approx(expected, abs=0.003)
        found = pair_paths(Linear(2), start, [60.0], dt=0.1, paths=3000, rng=3)
        assert np.abs(found.u).min() > 0.9
        share = float((found.u > 0).mean())
        assert abs(share - expected) < 4.0 * np.sqrt(expected * (1 - expected) / 3000)


def test_distances_shrink_at_the_lyapunov_exponent():
    r"""λ₁ = ½(d − 3)κ'(1) − ½(d − 1)κ(1): κ = u/3, d = 3 gives −1/3; κ = (1 + u)²/4, d = 5 gives −1."""
    for field, exponent in ((Linear(3), -1.0 / 3.0), (Quadratic(5), -1.0)):
        found = pair_paths(field, 1.0 - 1e-6, [0.0, 1.0], dt=0.01, paths=4000, rng=8)
        slope = np.diff(found.log_distance, axis=1)[:, 0]
        assert abs(slope.mean() - exponent) < 4.0 * slope.std() / np.sqrt(4000) + 0.02


def test_merged_tokens_stay_merged_and_paths_have_a_seed():
    field = Quadratic(4)
    assert pair_paths(field, 1.0, [1.0], dt=0.1, paths=5, rng=0).angle.max() == 0.0
    one, again = (pair_paths(field, 0.3, [1.0], dt=0.1, paths=5, rng=7).angle for _ in range(2))
    assert np.array_equal(one, again)


@pytest.mark.parametrize("dim", [2, 3, 5, 64])
def test_one_token_is_a_brownian_motion(dim):
    law = OnePointLaw(Linear(dim, 0.1))
    rate = 1.0 / dim + 0.1
    assert law.mean(0.7) == pytest.approx(np.exp(-rate * (dim - 1) * 0.35), rel=1e-14)
    # E c² by its own equation: d/dt E c² = κ(1)(1 − d E c²)
    solved = solve_ivp(lambda t, y: rate * (1 - dim * y), (0, 0.7), [1.0], rtol=1e-11, atol=1e-13).y[0, -1]
    assert law.second_moment(0.7) == pytest.approx(solved, rel=1e-8)
    angle = (np.arange(20000) + 0.5) * np.pi / 20000
    weight = np.sin(angle) * np.pi / 20000
    density = law.density(np.cos(angle), 0.7)
    assert density.min() > -1e-9
    for power, expected in ((0, 1.0), (1, law.mean(0.7)), (2, law.second_moment(0.7))):
        assert (density * np.cos(angle) ** power * weight).sum() == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pair_law(Linear(3), 1.5, [1.0]), "start = 1.5"),
        (lambda: pair_law(Linear(3), "anywhere", [1.0]), "uniform"),
        (lambda: pair_law(Linear(3), 0.0, [1.0, 0.5]), "times"),
        (lambda: pair_law(Linear(3), 0.0, [1.0], cells=7), "cells = 7"),
        (lambda: pair_paths(Linear(3), 0.0, [1.0], dt=0.0, paths=3, rng=0), "dt = 0"),
        (lambda: pair_paths(Linear(3), 0.0, [1.0], dt=0.1, paths=0, rng=0), "paths = 0"),
        (lambda: OnePointLaw(Linear(3)).density(0.0, 0.0), "t = 0"),
        (lambda: OnePointLaw(Linear(3)).harmonic(-1, 0.0), "degree = -1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
