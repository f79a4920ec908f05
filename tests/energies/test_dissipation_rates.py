"""Dissipation identities along compiled runs, against derivatives of the energy at Chebyshev points."""

import numpy as np
import pytest

from symflow import energies
from symflow.derive.gradient_flow import gradient_flow
from symflow.energies.rates import dissipation_along
from symflow.errors import InputError
from symflow.integrate.solve import solve
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.energies.exponential import Exponential
from symflow.models.energies.interaction import Interaction
from symflow.models.energies.self_transport import SelfTransport

#: The run is accurate to 1e-13, and differentiation at 21 points loses three digits. Measured: 5e-11.
TOLERANCE = 1e-9


def chebyshev(count, end):
    """Return points of [0, end] and the matrix of differentiation at them."""
    k = np.arange(count + 1)
    nodes = -np.cos(np.pi * k / count)
    signs = (-1.0) ** k * np.where((k == 0) | (k == count), 2.0, 1.0)
    gaps = nodes[:, None] - nodes + np.eye(count + 1)
    matrix = np.outer(signs, 1 / signs) / gaps
    matrix -= np.diag(matrix.sum(axis=1))
    return end / 2 * (nodes + 1), matrix * 2 / end


def compared(model, definition, given, params, energy, x, end):
    """Return the largest difference of dF/dt, relative to the largest rate, and the rates."""
    times, derivative = chebyshev(20, end)
    run = solve(model, x, params, (0.0, end), t_eval=times, rtol=1e-13, atol=1e-15)
    found = dissipation_along(gradient_flow(model, definition, given), run.x, params)
    values = energy.value(run.x)
    np.testing.assert_allclose(found.energy, values, rtol=1e-13)
    return np.abs(derivative @ values - found.rate).max() / np.abs(found.rate).max(), found.rate


@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("variant", [Softmax, Unnormalised])
def test_attention_on_the_sphere_increases_the_interaction_energy(variant, beta):
    x = np.random.default_rng(1).normal(size=(7, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    end = 0.05 if variant is Unnormalised and beta > 1 else 0.4
    model = variant(space="sphere", beta=beta)
    gap, rates = compared(model, Interaction(), (), {}, energies.Interaction(beta), x, end)
    assert gap < TOLERANCE
    assert (rates > 0).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_symmetric_scores_in_the_plane_and_in_space(sign):
    rng = np.random.default_rng(2)
    for d in (2, 3):
        A, root = rng.normal(size=(d, d)) * 0.3, rng.normal(size=(d, d))
        A = A + A.T  # no sign in general
        params = {"A": A, "V": sign * np.linalg.solve(root @ root.T + np.eye(d), A)}
        energy, x = energies.Exponential(0.5 * A, np.eye(d)), 0.7 * rng.normal(size=(6, d))
        gap, rates = compared(Softmax(beta=0.5), Exponential(), {"A", "V"}, params, energy, x, 0.4)
        assert gap < TOLERANCE
        assert (sign * rates > 0).all()


def test_sinkhorn_decreases_the_cost_of_transport():
    rng = np.random.default_rng(4)
    A, root = rng.normal(size=(2, 2)) * 0.5, rng.normal(size=(2, 2))
    A = A + A.T
    params = {"A": A, "V": np.linalg.solve(root @ root.T + np.eye(2), A)}
    structure = gradient_flow(Sinkhorn(temperature=0.5), SelfTransport())
    energy, x = energies.SelfTransport(A, 0.5), rng.normal(size=(5, 2))
    times, derivative = chebyshev(12, 0.4)
    run = solve(Sinkhorn(temperature=0.5), x, params, (0.0, 0.4), t_eval=times, rtol=1e-12, atol=1e-14)
    found = dissipation_along(structure, run.x, params, energy=energy)
    gap = np.abs(derivative @ found.energy - found.rate).max() / np.abs(found.rate).max()
    assert gap < 1e-7  # scalings stop at 1e-13, and differentiation loses three digits
    assert (found.rate < 0).all()
    with pytest.raises(InputError, match="energy="):
        dissipation_along(structure, run.x, params)


def test_without_the_condition_the_identity_fails():
    """The rate of another metric is not the derivative: A is not symmetric, and SA with the weight one."""
    rng = np.random.default_rng(3)
    x, A = rng.normal(size=(5, 2)), np.array([[0.5, 0.6], [-0.1, 0.4]])
    structure = gradient_flow(Softmax(), Exponential())
    with pytest.raises(InputError, match=r"A = A\.T"):
        dissipation_along(structure, x, {"A": A, "V": np.eye(2)})
    with pytest.raises(InputError, match="'V' is missing"):
        dissipation_along(structure, x, {"A": A})
    sphere = x / np.linalg.norm(x, axis=1, keepdims=True)
    softmax, plain = (gradient_flow(m(space="sphere"), Interaction(), ()) for m in (Softmax, Unnormalised))
    one, other = (dissipation_along(found, sphere, backend="numpy").rate[0] for found in (softmax, plain))
    assert abs(one / other - 1) > 0.01


def test_factors_between_parameters_are_read_off():
    structure = gradient_flow(Softmax(space="sphere"), Exponential(), {"A", "V"})
    A = np.array([[1.0, 0.5], [0.5, -1.0]])
    x = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    up, down = (dissipation_along(structure, x, {"A": A, "V": c * A}, "numpy").rate[0] for c in (2.0, -2.0))
    assert up > 0
    assert down == pytest.approx(-up)
    with pytest.raises(InputError, match="V = c_V"):
        dissipation_along(structure, x, {"A": A, "V": A + np.eye(2)})
