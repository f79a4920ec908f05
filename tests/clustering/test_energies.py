"""Energies against their definitions, their gradients against differences, and where doubles overflow."""

import math

import mpmath
import numpy as np
import pytest

from symflow.energies import Dissipation, Exponential, Interaction, energy_along
from symflow.errors import InputError

RNG = np.random.default_rng(20)
EPS = np.finfo(float).eps


def unit(shape, rng=None):
    x = (rng or np.random.default_rng(3)).normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def defined(energy, x):
    """Sum over pairs in forty digits."""
    with mpmath.workdps(40):
        rows = [[mpmath.mpf(v) for v in row] for row in x.tolist()]

        def dot(a, b):
            return sum((p * q for p, q in zip(a, b, strict=True)), mpmath.mpf(0))

        if isinstance(energy, Exponential):
            Q, K = energy.Q.tolist(), energy.K.tolist()
            pairs = [[dot([dot(q, a) for q in Q], [dot(k, b) for k in K]) for b in rows] for a in rows]
            return sum(mpmath.exp(s) for row in pairs for s in row) / 2 / len(rows) ** 2
        beta = mpmath.mpf(energy.beta)
        terms = [mpmath.exp(beta * dot(a, b)) for a in rows for b in rows]
        if isinstance(energy, Interaction):
            return sum(terms) / (2 * beta * len(rows) ** 2)
        return sum(mpmath.exp(beta) - term for term in terms) / 2 / len(rows) ** 2


ENERGIES = [
    Interaction(2.0),
    Interaction(-1.3),
    Dissipation(3.0),
    Dissipation(-2.0),
    Exponential(RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3))),
]


@pytest.mark.parametrize("energy", ENERGIES, ids=repr)
def test_values_are_those_of_the_definition(energy):
    x = unit((4, 6, 3))
    expected = [float(defined(energy, cloud)) for cloud in x]
    np.testing.assert_allclose(energy.value(x), expected, rtol=50 * EPS)
    np.testing.assert_allclose(energy_along(energy, x), expected, rtol=50 * EPS)
    assert energy.value(x[0]) == pytest.approx(expected[0], rel=50 * EPS)
    assert isinstance(energy.value(x[0]), float)


@pytest.mark.parametrize("energy", ENERGIES, ids=repr)
@pytest.mark.parametrize("space", ["sphere", "euclidean"])
def test_gradients_are_derivatives(energy, space):
    x, step = unit((6, 3)), 1e-5
    v = np.random.default_rng(5).normal(size=x.shape)
    if space == "sphere":
        v -= np.einsum("id,id->i", v, x)[:, None] * x

    def along(h):
        moved = x + h * v
        if space == "sphere":
            moved = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return energy.value(moved)

    slope = (8 * (along(step) - along(-step)) - along(2 * step) + along(-2 * step)) / (12 * step)
    assert (energy.gradient(x, space) * v).sum() == pytest.approx(slope, abs=1e-9 * (1 + abs(slope)))


def test_the_interaction_energy_in_logarithms_at_beta_1000():
    """log E = logsumexp(β⟨x, y⟩) − log(2βn²): a thousand, and log 5 pairs of a token with itself."""
    x, energy = unit((5, 3)), Interaction(1e3)
    expected = 1000 + math.log(5) - math.log(2 * 1e3 * 25)
    assert energy.log_value(x) == pytest.approx(expected, abs=1e-9)
    assert round(energy.log_value(x), 4) == 990.7897
    with pytest.raises(InputError, match=r"exp\(990.79\), beyond the range of doubles; use log_value"):
        energy.value(x)
    with pytest.raises(InputError, match="use log_gradient"):
        energy.gradient(x, "euclidean")
    log, gradient = energy.log_gradient(x)
    assert np.isfinite(gradient).all()
    assert log == pytest.approx(1000 - 2 * math.log(5))


def test_a_gradient_on_the_sphere_that_doubles_hold_is_returned_although_its_scale_overflows():
    x, energy = unit((5, 3)), Interaction(800.0)
    log, gradient = energy.log_gradient(x)
    assert log > 700
    if np.abs(gradient).max() > 0 and log + np.log(np.abs(gradient).max()) < 700:
        assert np.isfinite(energy.gradient(x)).all()
    else:
        with pytest.raises(InputError, match="beyond doubles"):
            energy.gradient(x)


def test_dissipation_keeps_its_digits_while_tokens_merge():
    rng = np.random.default_rng(1)
    x = np.tile(unit((1, 3)), (5, 1)) + 1e-9 * rng.normal(size=(5, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gap = x[:, None] - x[None]
    expected = 0.5 * math.exp(3) * 3 * 0.5 * np.einsum("ijd,ijd->ij", gap, gap).mean()
    assert Dissipation(3.0).value(x) == pytest.approx(expected, rel=1e-8)
    assert Dissipation(1e3).log_value(unit((5, 3))) == pytest.approx(1000 + math.log(0.5 * 0.8), abs=1e-9)
    assert Dissipation(3.0).log_value(np.tile(x[:1], (4, 1))) == -math.inf


def test_dissipation_is_the_distance_of_the_interaction_energy_from_its_maximum():
    x = unit((7, 4))
    gap = math.exp(2.5) / 2 - 2.5 * Interaction(2.5).value(x)
    assert Dissipation(2.5).value(x) == pytest.approx(gap, rel=1e-13)


def test_blocks_do_not_change_the_result(monkeypatch):
    import symflow.clustering.pairs as pairs

    x = unit((3, 40, 3))
    whole = [(energy.value(x), energy.gradient(x)) for energy in ENERGIES]
    monkeypatch.setattr(pairs, "_BLOCK", 100)
    for energy, (value, gradient) in zip(ENERGIES, whole, strict=True):
        np.testing.assert_allclose(energy.value(x), value, rtol=100 * EPS)
        np.testing.assert_allclose(energy.gradient(x), gradient, atol=100 * EPS * np.abs(gradient).max())


def test_a_number_stands_for_the_interaction_energy():
    x = unit((2, 5, 3))
    np.testing.assert_array_equal(energy_along(2, x), Interaction(2.0).value(x))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Interaction(0), "beta = 0"),
        (lambda: Interaction(float("nan")), "beta is nan"),
        (lambda: Interaction(1.0).value([1.0, 2.0]), r"shape \(2,\)"),
        (lambda: Interaction(1.0).value(np.empty((0, 2))), r"shape \(0, 2\)"),
        (lambda: Interaction(-1.0).log_value([[1.0]]), "negative"),
        (lambda: Interaction(1.0).gradient([[1.0]], "torus"), "space = 'torus'"),
        (lambda: Exponential([[1.0]], [[1.0, 2.0]]), "matrices of one shape"),
        (lambda: Exponential([[1.0]], [[1.0]]).value([[1.0, 2.0]]), "Q has 1 columns"),
        (lambda: energy_along("dissipation", [[[1.0]]]), "got str"),
    ],
)
def test_refusals_name_what_is_wrong(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("energy", ENERGIES, ids=repr)
def test_energies_describe_themselves(energy):
    assert energy.describe
    assert energy.to_latex().count("{") == energy.to_latex().count("}")
    assert energy._repr_latex_() == f"${energy.to_latex()}$"
