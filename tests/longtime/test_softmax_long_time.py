"""Softmax at long times: closed forms, limits, ranks and blow-up times against the compiled flow."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sympy import Rational

import symflow
from symflow import Gaussian, Softmax, long_time, solve

I2 = np.eye(2)
TIGHT = {"rtol": 1e-12, "atol": 1e-14}
#: What an integration at these tolerances may differ by, relative, over a few units of time.
AGREES = 1e-9


def _end(params: Any, cov: Any, mean: Any, t: float) -> tuple[Any, Any]:
    run = solve(Softmax(), Gaussian(mean, cov), params, (0, t), t_eval=[t], **TIGHT)
    return run.mean[-1], run.cov[-1]


@pytest.mark.parametrize("mean", [[0.0, 0.0, 0.0], [1.0, -2.0, 0.5]])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_closed_form_for_the_identity_agrees_with_the_compiled_flow(rank: int, mean: list[float]) -> None:
    rng = np.random.default_rng(rank)
    F = rng.integers(-3, 4, (3, rank)) / 2
    A = rng.integers(-3, 4, (3, 3)) / 8
    A = A + A.T
    params, cov = {"V": np.eye(3), "A": A}, F @ F.T
    result = long_time(Softmax(), Gaussian(mean, cov), params)
    t = 0.8 * float(result.blow_up_time) if result.blow_up_time is not None else 2.0
    wanted_mean, wanted = _end(params, cov, mean, t)
    got_mean, got = result.closed_form(t)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=AGREES * np.abs(wanted).max())
    np.testing.assert_allclose(got_mean, wanted_mean, rtol=0, atol=AGREES * np.abs(wanted_mean).max())
    assert result.check()


def test_symbolic_closed_form_starts_at_the_law_and_equals_the_numbers() -> None:
    params = {"V": I2, "A": [[-1, 1], [1, -1]]}
    closed = long_time(Softmax(), Gaussian([1, 2], [[2, 0.5], [0.5, 1]]), params).closed_form
    assert closed.Sigma(0).tolist() == [[2, Rational(1, 2)], [Rational(1, 2), 1]]
    mean, cov = closed(1.5)
    np.testing.assert_allclose(np.array(closed.Sigma(Rational(3, 2)), float), cov, rtol=1e-14)
    np.testing.assert_allclose(
        np.array(closed.alpha(1).doit().as_explicit().evalf(), float)[:, 0], closed(1.0)[0], rtol=1e-12
    )
    assert mean.shape == (2,)


def test_blow_up_time_of_the_reference_case_is_algebraic() -> None:
    params = {"V": I2, "A": [[0.3, 0.7], [-0.2, -0.5]]}
    initial = Gaussian([0, 0], [[2, 0.5], [0.5, 1]])
    result = long_time(Softmax(), initial, params)
    assert not isinstance(result.blow_up_time, float)
    assert result.blow_up_time.degree == 2
    assert float(result.blow_up_time) == pytest.approx(0.61772, abs=5e-6)
    run = solve(Softmax(), initial, params, (0, 2), **TIGHT)
    assert run.status == "blow-up"
    assert float(result.blow_up_time) == pytest.approx(run.t_star, rel=1e-7)
    direction = run.cov[-1] / np.trace(run.cov[-1])
    np.testing.assert_allclose(np.array(result.direction, float), direction, atol=1e-6)
    assert (result.limit, result.limit_rank) == (None, 1)
    assert result.check()


def test_limit_and_rank_for_singular_data() -> None:
    params = {"V": np.eye(3), "A": -np.diag([1.0, 0.0, 0.0])}
    cov = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    result = long_time(Softmax(), Gaussian(np.zeros(3), cov), params)
    N = np.eye(3)[:, 1:]
    theory = N @ np.linalg.inv(N.T @ np.linalg.inv(cov) @ N) @ N.T
    np.testing.assert_allclose(np.array(result.limit, float), theory, atol=1e-14)
    assert result.limit_rank == 2
    late = solve(Softmax(), Gaussian(np.zeros(3), cov), params, (0, 1e6), method="bdf", t_eval=[1e6])
    np.testing.assert_allclose(late.cov[-1], np.array(result.limit, float), atol=1e-5)


def test_multiplicity_of_the_top_eigenvalue_is_the_rank_of_the_direction() -> None:
    params = {"V": np.eye(3), "A": np.diag([1.0, 1.0, -1.0]) / 2}
    result = long_time(Softmax(), Gaussian(np.zeros(3), np.eye(3)), params)
    assert result.blow_up_time == 1
    assert result.limit_rank == 2
    np.testing.assert_array_equal(np.array(result.direction, float), np.diag([0.5, 0.5, 0.0]))


def test_floats_are_read_exactly_so_a_rank_is_exact() -> None:
    q = np.array([[0.1, 0.2, 0.7]])
    result = long_time(Softmax(), Gaussian(np.zeros(3), np.eye(3)), {"Q": q, "K": -q, "V": np.eye(3)})
    assert result.limit_rank == 2  # A is formed from Q and K exactly, of rank one
    A = np.diag([-1.0, -1e-300, 0.0])
    assert long_time(Softmax(), Gaussian(np.zeros(3), np.eye(3)), {"A": A, "V": np.eye(3)}).limit_rank == 1


def test_covariances_that_rounding_made_indefinite_are_read_by_their_factor() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        u = rng.standard_normal(3)
        initial = Gaussian(np.zeros(3), np.outer(u, u))
        result = long_time(Softmax(), initial, {"V": np.eye(3), "A": -np.eye(3)})
        assert result.limit_rank == 0
        assert result.check()


def test_general_value_that_commutes() -> None:
    V, A = np.diag([1.0, 3.0]), np.diag([-1.0, 0.25])
    params, cov, mean = {"V": V, "A": A}, np.diag([2.0, 1.0]), [1.0, 1.0]
    result = long_time(Softmax(), Gaussian(mean, cov), params)
    assert result.blow_up_time == Fraction(2, 3)
    wanted_mean, wanted = _end(params, cov, mean, 0.5)
    got_mean, got = result.closed_form(0.5)
    np.testing.assert_allclose(got, wanted, rtol=AGREES, atol=1e-12)
    np.testing.assert_allclose(got_mean, wanted_mean, rtol=AGREES)


def test_negative_definite_S_does_not_prevent_blow_up() -> None:
    params = {"V": np.diag([1.0, 2.0]), "A": [[-1, -4], [1, -1]]}
    result = long_time(Softmax(), Gaussian([0, 0], [[1, -1], [-1, 2]]), params)
    S = np.diag([1.0, 2.0]) @ np.array(params["A"])
    assert np.linalg.eigvalsh(S + S.T).max() < 0
    assert (result.criterion.name, result.blow_up_time) == ("radial", Rational(1, 2))
    run = solve(Softmax(), Gaussian([0, 0], [[1, -1], [-1, 2]]), params, (0, 2), **TIGHT)
    assert run.t_star == pytest.approx(0.5, rel=1e-7)
    assert result.check()


def test_weighted_trace_bounds_the_compiled_flow() -> None:
    V, A = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[-1.0, 2.0], [-1.0, -1.0]])
    initial = Gaussian([0, 0], [[1, 0.5], [0.5, 2]])
    result = long_time(Softmax(), initial, {"V": V, "A": A})
    assert result.criterion.name == "weighted-trace"
    assert result.blow_up_time is None
    assert result.limit_rank == 0
    phi0, kappa = (float(result.bounds[1].constants[name]) for name in ("phi0", "kappa"))
    run = solve(Softmax(), initial, {"V": V, "A": A}, (0, 20), t_eval=np.linspace(0, 20, 9), **TIGHT)
    phi = np.trace(np.linalg.inv(V) @ run.cov, axis1=1, axis2=2)
    assert (phi <= phi0 / (1 + kappa * phi0 * run.t) * (1 + 1e-9)).all()
    assert result.check()


def test_times_beyond_the_blow_up_are_refused() -> None:
    closed = long_time(Softmax(), Gaussian([0], [[1]]), {"V": [[1]], "A": [[1]]}).closed_form
    with pytest.raises(ValueError, match=r"blow-up time 0\.5"):
        closed(0.5)
    with pytest.raises(ValueError, match="at least 0"):
        closed(-1.0)


def test_bad_input_is_refused_as_by_solve() -> None:
    with pytest.raises(ValueError, match="V must have shape"):
        long_time(Softmax(), Gaussian([0, 0], I2), {"V": np.eye(3), "A": I2})
    with pytest.raises(ValueError, match=r"A\[0, 1\] is nan"):
        long_time(Softmax(), Gaussian([0, 0], I2), {"V": I2, "A": [[0, np.nan], [0, 0]]})
    with pytest.raises(ValueError, match="must be a Gaussian"):
        long_time(Softmax(), I2, {"V": I2, "A": I2})


def test_dirac_laws_stay() -> None:
    result = long_time(Softmax(), Gaussian([1, 2], np.zeros((2, 2))), {"V": I2, "A": [[0, 1], [1, 0]]})
    assert result.limit_rank == 0
    np.testing.assert_allclose(result.closed_form(1.0)[0], np.exp(1.0) * np.array([1, 2]), rtol=1e-14)


def test_latex_states_criterion_and_data() -> None:
    text = symflow.long_time(Softmax(), Gaussian([0], [[1]]), {"V": [[1]], "A": [[1]]}).to_latex()
    assert r"\frac{1}{2}" in text
    assert "Descartes" not in text
    assert r"\begin{document}" in text


@pytest.mark.parametrize("A", [[[0, -1], [-1, 0]], [[0.5, 1], [1, 0.5]], [[-0.5, -1], [-1, -0.5]]])
def test_reflections_split_into_two_riccati_equations(A: Any) -> None:
    params, initial = {"V": [[0, 1], [1, 0]], "A": A}, Gaussian([0, 0], [[2, 0.5], [0.5, 1]])
    result = long_time(Softmax(), initial, params)
    assert result.criterion.name == "reflection"
    t = 1.0 if result.blow_up_time is None else 0.8 * float(result.blow_up_time)
    _, wanted = _end(params, initial.cov, [0, 0], t)
    np.testing.assert_allclose(result.closed_form(t)[1], wanted, rtol=0, atol=AGREES * np.abs(wanted).max())
    np.testing.assert_allclose(np.array(result.closed_form.Sigma(t), float), wanted, rtol=1e-8, atol=1e-9)
    assert result.check()
    if result.blow_up_time is not None:
        run = solve(Softmax(), initial, params, (0, 10), **TIGHT)
        assert run.t_star == pytest.approx(float(result.blow_up_time), rel=1e-6)


def test_exchange_keeps_the_difference_of_the_variances() -> None:
    params = {"V": [[0, 1], [1, 0]], "A": [[0, -1], [-1, 0]]}
    result = long_time(Softmax(), Gaussian([0, 0], [[2, 0.5], [0.5, 0.75]]), params)
    np.testing.assert_array_equal(np.array(result.limit, float), [[1.25, 0], [0, 0]])
    assert result.limit_rank == 1


def test_mean_of_a_constant_covariance() -> None:
    params, cov, mean = {"V": I2, "A": [[0, 1], [-1, 0]]}, [[2, 0.5], [0.5, 1]], [1.0, 2.0]
    result = long_time(Softmax(), Gaussian(mean, cov), params)
    wanted_mean, wanted = _end(params, cov, mean, 1.0)
    np.testing.assert_allclose(result.closed_form(1.0)[0], wanted_mean, rtol=AGREES)
    np.testing.assert_allclose(wanted, cov, atol=1e-12)
    assert r"e^{t\sum_hV_h(I+\Sigma_0A_h)}" in result.closed_form.to_latex()
