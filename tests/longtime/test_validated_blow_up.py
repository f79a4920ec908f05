"""Blow-up times in balls by validated integration, and planar flows on a line."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from flint import arb, arb_mat, ctx

from symflow import Gaussian, Softmax, long_time, solve
from symflow.algebra.exact.balls import is_positive_definite, largest_eigenvalue_bound, norm
from symflow.algebra.exact.numbers import Ball
from symflow.algebra.exact.rational import rational_matrix
from symflow.longtime.projective import PRECISION, Field, advance, start
from symflow.longtime.quadratic import QuadraticFlow

I2 = np.eye(2)
J = [[0, 1], [-1, 0]]
#: S is negative definite, yet the flow blows up.
SURPRISE = {"V": np.diag([1.0, 4.0]), "A": [[-1, -3], [0, -1]]}


def test_general_value_with_negative_S_blows_up_in_a_ball() -> None:
    result = long_time(Softmax(), Gaussian([0, 0], I2), SURPRISE)
    assert isinstance(result.blow_up_time, Ball)
    assert float(result.blow_up_time) == pytest.approx(1.385, abs=5e-4)
    assert float(result.blow_up_time.radius) < 1e-12
    run = solve(Softmax(), Gaussian([0, 0], I2), SURPRISE, (0, 2), rtol=1e-12, atol=1e-14)
    assert run.t_star == pytest.approx(float(result.blow_up_time), rel=1e-7)
    assert result.criterion.name == "validated-integration"
    assert result.check()
    assert r"\pm" in result.to_latex()


@pytest.mark.parametrize("seed", [1, 2])
def test_random_flows_blow_up_inside_their_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    params = {"V": rng.integers(-4, 5, (2, 2)) / 4, "A": rng.integers(-4, 5, (2, 2)) / 4}
    initial = Gaussian([0, 0], I2 + 0.25)
    result = long_time(Softmax(), initial, params)
    run = solve(Softmax(), initial, params, (0, 50), rtol=1e-12, atol=1e-14)
    if result.blow_up_time is not None:
        assert run.t_star == pytest.approx(float(result.blow_up_time), rel=1e-6)
    if result.global_in_time:
        assert run.status == "finished"
    assert result.blow_up_time is not None or result.reason


def test_a_step_encloses_a_solution_known_exactly() -> None:
    """For V = 1 the direction is (I − tΣ₀S)⁻¹Σ₀ over its trace, at the time the ball of t encloses."""
    A, sigma = rational_matrix([[1, 2], [0, -1]]), rational_matrix([[2, 1], [1, 3]])
    flow = QuadraticFlow(((rational_matrix([[1, 0], [0, 1]]), A),), 2)
    with ctx.workprec(PRECISION):
        field, state = Field(flow), start(flow, sigma)
        for _ in range(5):
            state = advance(field, state)
        X = arb_mat(sigma * flow.S)
        one = arb_mat(rational_matrix([[1, 0], [0, 1]]))
        exact = (one - X * state.t).solve(arb_mat(sigma))
        size = exact[0, 0] + exact[1, 1]
        assert (1 / size).overlaps(state.u)
        away = norm((exact * (1 / size) - state.theta).entries())
        assert float(away) < 1e-50
        assert away < state.error + arb("1e-50")


def test_bounds_of_balls_are_bounds() -> None:
    rng = np.random.default_rng(3)
    M = rng.standard_normal((4, 4))
    M = M + M.T
    top = float(np.linalg.eigvalsh(M)[-1])
    wide = arb_mat([[arb(x, 0.01) for x in row] for row in M.tolist()])
    bound = float(largest_eigenvalue_bound(wide, top))
    assert top < bound < top + 0.05
    assert is_positive_definite([[arb(2), arb(1)], [arb(1), arb(2)]])
    assert not is_positive_definite([[arb(1), arb(2)], [arb(2), arb(1)]])
    assert not is_positive_definite([[arb(0, 1)]])


def test_tanh_solution_and_its_limit() -> None:
    params = {"V": np.diag([2.0, 1.0]), "A": J}
    result = long_time(Softmax(), Gaussian([0, 0], I2), params)
    assert result.blow_up_time is None
    assert result.limit_rank == 1
    np.testing.assert_array_equal(np.array(result.limit, float), np.ones((2, 2)))
    assert str(result.closed_form.Sigma()) == "Matrix([[1, tanh(t)], [tanh(t), 1]])"
    np.testing.assert_allclose(result.closed_form(1.5)[1][0, 1], np.tanh(1.5), rtol=1e-15)
    assert result.check()


@pytest.mark.parametrize(
    "V", [[[1, 2], [0.5, -1.25]], [[1, 0.5], [-4, 2]], [[1, -0.5], [0, 1]], [[-1, -4], [4, 2]]]
)
def test_skew_planes_agree_with_the_compiled_flow(V: list[list[float]]) -> None:
    params, initial = {"V": V, "A": J}, Gaussian([0, 0], [[2, 0.5], [0.5, 1]])
    result = long_time(Softmax(), initial, params)
    assert result.criterion.name == "skew-plane"
    end = 2.0 if result.blow_up_time is None else 0.9 * float(result.blow_up_time)
    run = solve(Softmax(), initial, params, (0, end), t_eval=[end], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(result.closed_form(end)[1], run.cov[-1], rtol=1e-9)
    assert result.check()


def test_definite_skew_plane_blows_up_when_the_integral_of_one_over_the_determinant_ends() -> None:
    V = [[0.5, -2], [1, -0.25]]
    result = long_time(Softmax(), Gaussian([0, 0], [[2, 0.5], [0.5, 1]]), {"V": V, "A": J})
    S = np.array(V) @ np.array(J)
    S = S + S.T
    assert np.linalg.eigvalsh(S).min() > 0
    det = lambda s: mpmath.det(mpmath.matrix([[2, 0.5], [0.5, 1]]) + s * mpmath.matrix(S.tolist()))  # noqa: E731
    wanted = mpmath.quad(lambda s: 1 / det(s), [0, 1, 10, mpmath.inf])
    assert float(result.blow_up_time) == pytest.approx(float(wanted), rel=1e-10)
    assert result.limit_rank == 2


def test_flows_too_large_for_balls_say_so() -> None:
    rng = np.random.default_rng(0)
    params = {"V": rng.standard_normal((6, 6)), "A": rng.standard_normal((6, 6))}
    result = long_time(Softmax(), Gaussian(np.zeros(6), np.eye(6)), params)
    assert result.blow_up_time is None
    assert "d = 6" in result.reason
