"""Theorems about common noise beside paths of tokens, with honest standard errors and fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

import symflow
from symflow.claims import claim
from symflow.claims.abgsr26.chaos import EXPERIMENT, cloud_distances, slopes
from symflow.energies import Dissipation
from symflow.noise.fokker_planck import pair_law
from symflow.noise.one_point import OnePointLaw
from symflow.noise.pair import pair_paths

FREE = symflow.Softmax(space="sphere", sign=0)


def sphere(seed, n, d):
    x = np.random.default_rng([seed, n, d]).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def within(samples, exact, errors=4.0, bias=0.0):
    """Whether the mean of samples is within that many standard errors, and a bias."""
    error = np.std(samples, ddof=1) / np.sqrt(len(samples))
    return abs(np.mean(samples) - exact) <= errors * error + bias


@pytest.mark.parametrize(("name", "bias"), [("relu", 0), ("tanh", 0), ("sigmoid", 0), ("silu", 0.1)])
def test_two_tokens_have_the_law_of_the_pair_process(name, bias):
    """Mean cosine at t = 1: tokens in compiled steps, the pair process, the Fokker–Planck equation."""
    noise = symflow.CommonNoise(name, bias, bias, dim=3)
    start = np.array([[1.0, 0.0, 0.0], [0.2, np.sqrt(0.96), 0.0]])
    run = symflow.ensemble(FREE, start, {}, (0, 1), noise=noise, dt=0.01, rng=11, paths=3000)
    tokens = (run.x[:, -1, 0] * run.x[:, -1, 1]).sum(axis=-1)
    exact = pair_law(noise, 0.2, [1.0]).mean()[0]
    assert within(tokens, exact, bias=0.004)
    assert within(pair_paths(noise, 0.2, [1.0], dt=0.01, paths=3000, rng=12).u[:, -1], exact, bias=0.004)


@pytest.mark.parametrize(("name", "dim"), [("relu", 2), ("tanh", 4), ("sigmoid", 3)])
def test_close_tokens_part_or_meet_at_the_lyapunov_exponent(name, dim):
    noise = symflow.CommonNoise(name, dim=dim)
    pair = np.zeros((2, dim))
    pair[0, 0], pair[1, :2] = 1.0, (np.cos(1e-4), np.sin(1e-4))
    run = symflow.ensemble(FREE, pair, {}, (0, 2), noise=noise, dt=0.01, rng=13, paths=1500)
    slope = np.log(np.linalg.norm(run.x[:, -1, 0] - run.x[:, -1, 1], axis=-1) / 1e-4) / 2.0
    assert within(slope, float(noise.lyapunov), bias=0.005)
    assert slope.std() / np.sqrt(1500) < 0.2 * abs(float(noise.lyapunov))


def test_one_token_moves_as_a_brownian_motion():
    noise = symflow.CommonNoise("relu", 0.1, 0.1, dim=4)
    start = sphere(1, 1, 4)
    run = symflow.ensemble(FREE, start, {}, (0, 2), noise=noise, dt=0.01, rng=14, paths=3000)
    cosine = run.x[:, -1, 0] @ start[0]
    law = OnePointLaw(noise)
    assert within(cosine, float(law.mean(2.0)), bias=0.002)
    assert within(cosine**2, float(law.second_moment(2.0)), bias=0.002)


@pytest.mark.parametrize("factor", [0, 1])
def test_the_energy_decays_below_its_certified_bound(factor):
    """λ̄' < 0: three standard errors above the mean are below the bound at every time."""
    noise, energy, times = symflow.CommonNoise("relu", 0.1, 0.1, dim=16), Dissipation(1), np.linspace(0, 4, 9)
    rate, start = float(noise.rate(1)), sphere(2, 12, 16)
    model = symflow.Softmax(space="sphere", sign=factor)
    run = symflow.ensemble(model, start, {}, (0, 4), t_eval=times, noise=noise, dt=0.05, rng=15, paths=200)
    values = np.array([energy.value(x) for x in run.x]) / energy.value(start)
    error = values.std(axis=0) / np.sqrt(200)
    assert rate < -0.1
    assert (values.mean(axis=0) + 3 * error <= np.exp(rate * times) + 1e-12).all()
    assert claim("ABGSR26/energy-decay").documented == "proved"


def test_conditional_chaos_is_about_one_noise():
    """In one noise clouds approach each other; in different ones they do not. Other seeds decide alike."""
    same, other = (
        cloud_distances(3, (16, 64), paths=32, time=1.0, dt=0.1, seed=5, shared=shared)
        for shared in (True, False)
    )
    assert slopes((16, 64), same).mean() < -0.5 < slopes((16, 64), other).mean()
    small = EXPERIMENT.measure(seed=77, sizes={"paths": 32})
    assert sum(estimate.met for estimate in small.estimates) >= 4
