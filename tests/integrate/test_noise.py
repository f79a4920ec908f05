"""Idiosyncratic noise: closed forms, limits, starts without spread, the edge of the domain."""

import numpy as np
import pytest

from symflow import L2, Attention, Gaussian, Linear, Masked, Softmax, solve
from symflow.errors import InputError, NormaliserDiverges


@pytest.mark.parametrize("options", [{}, {"method": "radau", "rtol": 1e-10}, {"backend": "numpy"}], ids=str)
def test_riccati_equation_in_one_dimension(options):
    """N080: Σ' = 2vaΣ² + 2ε."""
    eps, va, start = 0.3, -0.5, 0.2
    run = solve(
        Softmax(diffusion=eps),
        Gaussian([0], [[start]]),
        {"A": [[1]], "V": [[va]]},
        (0, 40),
        t_eval=[1, 40],
        **options,
    )
    steady = np.sqrt(eps / abs(va))
    exact = steady * np.tanh(2.0 * np.sqrt(eps * abs(va)) + np.arctanh(start / steady))
    assert exact == pytest.approx(0.602174245487, abs=1e-12)
    assert run.cov[0, 0, 0] == pytest.approx(exact, rel=1e-8)
    assert run.cov[1, 0, 0] == pytest.approx(0.774596669, abs=1e-8)


def test_ornstein_uhlenbeck():
    """R106: A = 0, V = −1."""
    eps, start = 0.25, np.array([[2.0, 0.5], [0.5, 1.0]])
    zero, minus = np.zeros((2, 2)), -np.eye(2)
    times = np.linspace(0.0, 3.0, 7)
    layer = {"A": zero, "V": zero, "W": minus, "c": [0.0, 0.0]}
    model = Softmax(diffusion=eps, feed_forward=True)
    run = solve(model, Gaussian([1, 0], start), layer, (0, 3), t_eval=times)
    exact = eps * np.eye(2) + (start - eps * np.eye(2)) * np.exp(-2.0 * times)[:, None, None]
    np.testing.assert_allclose(run.cov, exact, rtol=1e-8, atol=1e-10)


def test_no_noise_is_the_flow_without():
    """R106."""
    params = {"A": -np.eye(2), "V": np.eye(2)}
    law = Gaussian([1, 0], [[2, 0.5], [0.5, 1]])
    without, with_zero = (solve(model, law, params, (0, 2)) for model in (Softmax(), Softmax(diffusion=0)))
    np.testing.assert_array_equal(without.cov, with_zero.cov)
    tiny = solve(Softmax(diffusion=1e-14), law, params, (0, 2), t_eval=[2.0])
    np.testing.assert_allclose(tiny.cov[-1], without.cov[-1], rtol=1e-8)


def test_a_point_spreads_and_stays_semidefinite():
    run = solve(
        L2(diffusion=0.1), Gaussian([1, 1, 1], np.zeros((3, 3))), {n: np.eye(3) for n in "QKV"}, (0, 1)
    )
    smallest = np.linalg.eigvalsh(run.cov)[:, 0]
    assert (smallest >= -1e-15).all() and smallest[-1] > 0.1
    early = run.cov[run.t < 1e-3][-1]
    np.testing.assert_allclose(early, 0.2 * run.t[run.t < 1e-3][-1] * np.eye(3), rtol=5e-3)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_the_edge_of_the_domain_is_seen(method):
    # C = I: the normaliser is finite while Σ < 1, and the noise drives Σ there: Σ' = 2ε with V = 0
    model = Attention("dot(y, C*y)/2", diffusion=0.5)
    params = {"C": [[1.0]], "V": [[0.0]]}
    run = solve(model, Gaussian([0], [[0.5]]), params, (0, 1), method=method, max_step=0.02)
    assert run.status == "step-too-small" and "normaliser" in run.message
    assert run.t[-1] == pytest.approx(0.5, abs=0.021) and run.cov[-1, 0, 0] < 1.0
    with pytest.raises(NormaliserDiverges):
        solve(model, Gaussian([0], [[1.5]]), params, (0, 1), method=method)


def test_noise_along_positions_is_refused():
    law = Gaussian(np.zeros((2, 1)), np.ones((2, 1, 1)))
    with pytest.raises(InputError, match="noise is not available along positions"):
        solve(Masked(Linear(diffusion=1)), law, {"A": [[1]], "V": [[1]]}, (0, 1))
