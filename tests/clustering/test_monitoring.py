"""Growth of the energy along velocities of tokens."""

import numpy as np
import pytest

from symflow.clustering import energy_growth
from symflow.energies import Dissipation, Interaction
from symflow.errors import InputError


def unit(shape, seed=0):
    x = np.random.default_rng(seed).normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def velocity(x, beta, normalised):
    score = beta * x @ x.swapaxes(-1, -2)
    kernel = np.exp(score - beta)
    mass = kernel.sum(axis=-1, keepdims=True) if normalised else np.exp(-beta) * x.shape[-2]
    drift = (kernel / mass) @ x
    return drift - (drift * x).sum(axis=-1, keepdims=True) * x


@pytest.mark.parametrize("normalised", [True, False], ids=["SA", "USA"])
@pytest.mark.parametrize("beta", [0.1, 4.0, 200.0])
def test_the_energy_increases_along_attention(normalised, beta):
    x = unit((40, 12, 3))
    growth = energy_growth(Interaction(beta), x, velocity(x, beta, normalised))
    assert growth.increases
    assert growth.smallest[1] > 0
    assert not energy_growth(Interaction(beta), x, -velocity(x, beta, normalised)).increases
    assert energy_growth(Dissipation(beta), x, velocity(x, beta, normalised)).decreases


def test_the_rate_is_the_derivative():
    x, beta, h = unit((6, 3)), 2.0, 1e-5
    v = velocity(x, beta, True)
    energy = Interaction(beta)
    slope = (energy.value(x + h * v) - energy.value(x - h * v)) / (2 * h)
    assert energy_growth(energy, x, v).per_time[0] == pytest.approx(slope, rel=1e-8)


def test_at_a_cluster_the_margin_covers_rounding():
    x = np.tile(unit((1, 3)), (3, 8, 1))
    assert energy_growth(Interaction(5.0), x, velocity(x, 5.0, True)).increases


def test_beyond_doubles_the_sign_is_still_known():
    x = unit((5, 6, 3))
    growth = energy_growth(Interaction(1e3), x, velocity(x, 1.0, True))
    assert np.isfinite(growth.rate).all()
    assert (growth.log_scale > 900).all()
    with pytest.raises(InputError, match="exceeds the range"):
        _ = energy_growth(
            Interaction(1e3), np.tile(x[:1], (1, 1, 1)) * 1.0, x[:1] * 1.0, "euclidean"
        ).per_time


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: energy_growth(2.0, [[1.0]], [[1.0]]), "got float"),
        (lambda: energy_growth(Interaction(1), [[1.0]], [[1.0, 2.0]]), "give \\(T, n, d\\) both"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
