"""The spectrum of the uniform law: known rates, quadrature with fifty digits, tokens on the circle."""

import mpmath
import numpy as np
import pytest
from sympy import Symbol, besseli, simplify, symbols

from symflow.clustering import uniform_instability
from symflow.clustering.zonal import COSINE, ZonalTerm
from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised

SPHERE = {"space": "sphere"}
VARIANTS = [
    Softmax(**SPHERE, beta=3),
    Unnormalised(**SPHERE, beta=3),
    Linear(**SPHERE),
    Sigmoid(**SPHERE),
    L2(**SPHERE),
    Sinkhorn(**SPHERE, temperature=2),
    Softmax(**SPHERE, sign=-1),
]


def test_softmax_has_the_rates_of_the_literature_for_every_mode_and_dimension():
    k, d = (Symbol(name, integer=True, positive=True) for name in "kd")
    rate = uniform_instability(Softmax(**SPHERE).with_symbolic_scale()).rate()
    beta = next(s for s in rate.free_symbols if s.name == "beta")
    tau = next(s for s in rate.free_symbols if s.name == "temperature")
    expected = k * (k + d - 2) / beta * besseli(k + d / 2 - 1, beta) / besseli(d / 2 - 1, beta)
    assert simplify(rate.subs(tau, 1) / expected) == 1
    usa = uniform_instability(Unnormalised(**SPHERE).with_symbolic_scale()).rate(3, 2).subs(tau, 1)
    assert simplify(usa / (9 / beta * besseli(3, beta))) == 1


@pytest.mark.parametrize("model", VARIANTS, ids=lambda m: f"{m.name}{m.sign}")
@pytest.mark.parametrize(("k", "d"), [(1, 2), (2, 3), (3, 5)])
def test_rates_agree_with_quadrature_in_fifty_digits(model, k, d):
    spectrum = uniform_instability(model)
    measured = spectrum.numerical_rate(k, d)
    with mpmath.workdps(50):
        exact = mpmath.mpf(str(spectrum.rate(k, d).evalf(50)))
        assert abs(exact - measured) < mpmath.mpf(10) ** -46


def circle_velocity(model, theta):
    """The definition for tokens at angles on the circle."""
    gap = theta[None, :] - theta[:, None]
    c = np.cos(gap) / float(model.temperature) * float(model.beta)
    kernel = {"l2": np.exp(2 * c - 2), "linear": c, "sigmoid": 1 / (1 + np.exp(-c))}.get(
        model.name, np.exp(c)
    )
    if model.normalise == "softmax":
        weights = kernel / kernel.sum(axis=1, keepdims=True)
    elif model.normalise == "sinkhorn":
        scale = np.ones(len(theta))
        for _ in range(200):
            scale = np.sqrt(scale / (kernel @ scale))
        weights = scale[:, None] * kernel * scale / float(model.temperature)
    else:
        weights = kernel / len(theta)
    return model.sign * (weights * np.sin(gap)).sum(axis=1)


@pytest.mark.parametrize("model", VARIANTS, ids=lambda m: f"{m.name}{m.sign}")
@pytest.mark.parametrize("k", [1, 2, 3])
def test_tokens_on_the_circle_grow_at_the_rate(model, k):
    """A lattice of tokens moved by ε sin(kθ) is the law 1 − εk cos(kθ) to first order."""
    base, size = 2 * np.pi * np.arange(128) / 128, 1e-6
    moved = [circle_velocity(model, base + s * size * np.sin(k * base)) for s in (1, -1)]
    growth = (moved[0] - moved[1]) / (2 * size) @ np.sin(k * base) / 64
    expected = float(uniform_instability(model).numerical_rate(k, 2, digits=20))
    assert growth == pytest.approx(expected, abs=1e-8)


def test_any_zonal_weight():
    u = COSINE
    term = ZonalTerm(1 + u + u**2, "none")
    spectrum = uniform_instability((term,))
    beta = symbols("beta")
    assert not spectrum.rate(3, 4).has(beta)
    for k in (1, 2, 3, 4):
        assert float(spectrum.rate(k, 4)) == pytest.approx(
            float(spectrum.numerical_rate(k, 4, 20)), abs=1e-15
        )
    assert spectrum.rate(4, 4) == 0  # a polynomial of degree two moves three modes only


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: uniform_instability(Sigmoid(**SPHERE)).rate(), "must be numbers"),
        (lambda: uniform_instability(Softmax(**SPHERE)).rate(0, 2), "k = 0"),
        (lambda: uniform_instability(Softmax(**SPHERE)).rate(1, 1), "d = 1"),
        (
            lambda: uniform_instability(Softmax(**SPHERE).with_symbolic_scale()).numerical_rate(1, 2),
            "needs a value",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
