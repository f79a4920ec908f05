"""Distance, linear and Sinkhorn attention, heads, layers, noise: long times against the compiled flow."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sympy import Rational, sqrt

from symflow import (
    L2,
    Attention,
    Gaussian,
    Linear,
    Masked,
    MultiHead,
    Sigmoid,
    Sinkhorn,
    Softmax,
    long_time,
    solve,
)
from symflow.algebra.exact.numbers import Ball, BallMatrix
from symflow.longtime.record import to_record

I2 = np.eye(2)
ZERO = np.zeros((2, 2))
COV = np.array([[1.0, 0.5], [0.5, 1.0]])
CENTRED = Gaussian([0, 0], COV)
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def _agrees(model: Any, initial: Gaussian, params: Any, result: Any, t: float = 1.0) -> None:
    run = solve(model, initial, params, (0, t), t_eval=[t], **TIGHT)
    mean, cov = result.closed_form(t)
    np.testing.assert_allclose(cov, run.cov[-1], rtol=0, atol=1e-10 * np.abs(run.cov[-1]).max())
    if mean is not None:
        np.testing.assert_allclose(mean, run.mean[-1], rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------------------------ distance attention


@pytest.mark.parametrize(("rows", "rank"), [(1, 1), (2, 0)])
def test_distance_has_the_limit_of_softmax(rows: int, rank: int) -> None:
    Q = np.array([[0.75, -0.75], [0.25, 0.5]])[:rows]
    params = {"Q": Q, "K": -Q, "V": I2}
    result = long_time(L2(), CENTRED, params)
    assert result.limit_rank == rank
    assert result.limit == long_time(Softmax(), CENTRED, params).limit
    _agrees(L2(), CENTRED, params, result, 3.0)
    assert result.check()


def test_injective_keys_grow_at_most_exponentially() -> None:
    params = {"Q": [[1.5, 0.5], [0.5, -1.0]], "K": [[1.0, 0.25], [0.0, 0.5]], "V": [[1.0, -2.0], [0.0, 1.0]]}
    result = long_time(L2(), CENTRED, params)
    assert result.criterion.name == "bounded-gradient"
    assert result.global_in_time is True
    rate = float(result.bounds[0].constants["rate"])
    K, Q, V = (np.array(params[name]) for name in "KQV")
    paper = np.linalg.norm(V, 2) * np.linalg.norm(np.linalg.pinv(K), 2) * np.linalg.norm(Q, 2)
    assert rate <= paper * (1 + 1e-12)
    run = solve(L2(), CENTRED, params, (0, 2), t_eval=np.linspace(0, 2, 9), **TIGHT)
    norms = np.linalg.norm(run.cov, 2, axis=(1, 2))
    assert (norms <= np.linalg.norm(COV, 2) * np.exp(2 * rate * run.t) * (1 + 1e-9)).all()
    assert result.check()


@pytest.mark.parametrize("cov", [COV, [[2, 0.25], [0.25, 1]]])
def test_rank_deficient_keys_may_blow_up(cov: Any) -> None:
    params = {"K": [[1, 0]], "Q": [[0, 1]], "V": np.diag([0.0, 1.0])}
    initial = Gaussian([0, 0], cov)
    result = long_time(L2(), initial, params)
    cov = np.array(cov)
    assert result.criterion.name == "linear-fractional"
    assert result.blow_up_time == (1 + 2 * cov[0, 0]) / (2 * cov[0, 1])
    _agrees(L2(), initial, params, result, 2.0)
    assert result.check()


def test_what_is_open_for_rank_deficient_keys_says_so() -> None:
    result = long_time(L2(), CENTRED, {"K": [[1, 0]], "Q": [[0, 1]], "V": np.diag([0.5, 1.0])})
    assert result.blow_up_time is None
    assert result.global_in_time is None
    assert "singular" in result.reason


# -------------------------------------------------------------------------------------- linear attention


def test_linear_attention_on_the_line_and_on_a_dirac() -> None:
    result = long_time(Linear(), Gaussian([1], [[1]]), {"V": [[1]], "A": [[1]]})
    assert result.blow_up_time == Rational(1, 4)
    assert solve(
        Linear(), Gaussian([1], [[1]]), {"V": [[1]], "A": [[1]]}, (0, 1), **TIGHT
    ).t_star == pytest.approx(0.25, rel=1e-7)
    dirac = long_time(Linear(), Gaussian([2], [[0]]), {"V": [[1]], "A": [[1]]})
    assert dirac.blow_up_time == Rational(1, 8)
    assert result.check()
    assert dirac.check()


def test_linear_attention_with_a_mean_in_the_plane() -> None:
    params, initial = {"V": I2, "A": [[0.5, 0.25], [0.0, -1.0]]}, Gaussian([1, -1], COV)
    result = long_time(Linear(), initial, params)
    run = solve(Linear(), initial, params, (0, 5), **TIGHT)
    assert run.t_star == pytest.approx(float(result.blow_up_time), rel=1e-6)
    decaying = long_time(Linear(), initial, {"V": I2, "A": -I2})
    assert decaying.limit_rank == 0
    assert decaying.check()


def test_centred_linear_attention_is_softmax() -> None:
    params = {"V": I2, "A": [[0.5, 0.25], [0.0, -1.0]]}
    assert (
        long_time(Linear(), CENTRED, params).blow_up_time
        == long_time(Softmax(), CENTRED, params).blow_up_time
    )


# ---------------------------------------------------------------------------------------------- Sinkhorn


@pytest.mark.parametrize("A", [[[-1.0, 0.25], [0.25, -0.5]], [[0.5, 0.5], [0.5, 0.5]], [[-1, -1], [-1, -1]]])
def test_symmetric_sinkhorn_splits_into_modes(A: Any) -> None:
    model, initial, params = Sinkhorn(temperature=0.5), Gaussian([1, -1], COV), {"V": 1.5 * I2, "A": A}
    result = long_time(model, initial, params)
    _agrees(model, initial, params, result, 0.5)
    assert result.check()
    assert result.blow_up_time is None
    if np.linalg.eigvalsh(A).max() < 1e-12:
        assert result.limit_rank == 2 - np.linalg.matrix_rank(A)
    else:
        assert result.bounds[0].constants["rate"] == 6


def test_sinkhorn_decays_like_one_over_t_on_the_line() -> None:
    model, V, A, epsilon = Sinkhorn(temperature=0.5), 1.5, -0.75, 0.5
    result = long_time(model, Gaussian([0], [[2]]), {"V": [[V]], "A": [[A]]})
    late = 1e8
    assert result.closed_form(late)[1][0, 0] * late == pytest.approx(epsilon**2 / (2 * abs(V * A)), rel=1e-6)
    growing = long_time(model, Gaussian([0], [[2]]), {"V": [[V]], "A": [[-A]]})
    one, two = (np.log(growing.closed_form(t)[1][0, 0]) for t in (20.0, 21.0))
    assert two - one == pytest.approx(2 * V / epsilon, rel=1e-6)


def test_general_sinkhorn_exists_for_all_times() -> None:
    params = {"V": np.diag([1.0, 4.0]), "A": [[-1, -3], [0, -1]]}
    result = long_time(Sinkhorn(temperature=2), CENTRED, params)
    assert result.global_in_time is True
    assert float(result.bounds[0].constants["rate"]) == pytest.approx(2.0)
    assert result.check()


# ------------------------------------------------------------------------------------------ heads, layers


def test_heads_with_identity_values_reduce_to_one() -> None:
    A = np.array([[[-0.5, 0.25], [0.0, 0.25]], [[0.25, 0.0], [0.5, 0.5]]])
    heads = {"V": np.array([I2, I2]), "A": A}
    result = long_time(MultiHead(Softmax()), CENTRED, heads)
    assert result.blow_up_time == long_time(Softmax(), CENTRED, {"V": I2, "A": A.sum(0)}).blow_up_time
    _agrees(MultiHead(Softmax()), CENTRED, heads, result, 0.5 * float(result.blow_up_time))
    assert result.check()


@pytest.mark.parametrize(
    ("model", "scores", "name"),
    [
        (L2(), {"Q": np.array([[0.75, -0.75]]), "K": np.array([[-0.75, 0.75]])}, "modes-distance"),
        (Sinkhorn(), {"A": -I2}, "modes-transport"),
    ],
)
def test_heads_with_equal_weights_are_one(model: Any, scores: Any, name: str) -> None:
    heads = {key: np.array([value, value]) for key, value in scores.items()} | {"V": np.array([I2, 2 * I2])}
    result = long_time(MultiHead(model), CENTRED, heads)
    assert result.criterion.name == name
    assert result.limit == long_time(model, CENTRED, {**scores, "V": 3 * I2}).limit
    _agrees(MultiHead(model), CENTRED, heads, result)
    assert result.check()


@pytest.mark.parametrize("w", [-2.0, -0.25, 0.25])
@pytest.mark.parametrize("A", [[[0.5, 0.25], [0.0, -1.0]], [[-0.5, 0.25], [0.0, -1.0]]])
def test_scalar_layers_have_closed_forms(w: float, A: Any) -> None:
    model, params = Softmax(feed_forward=True), {"V": I2, "A": A, "W": w * I2, "c": [0, 0]}
    result = long_time(model, CENTRED, params)
    assert result.criterion.name == "scalar-layer"
    end = 1.0 if result.blow_up_time is None else 0.8 * float(result.blow_up_time)
    _agrees(model, CENTRED, params, result, end)
    assert result.check()
    if result.blow_up_time is not None:
        run = solve(model, CENTRED, params, (0, 10), **TIGHT)
        assert run.t_star == pytest.approx(float(result.blow_up_time), rel=1e-6)
        return
    late = solve(model, CENTRED, params, (0, 60), t_eval=[60], method="bdf")
    np.testing.assert_allclose(late.cov[-1], np.array(result.limit, float), atol=1e-4)


# ------------------------------------------------------------------------------------------------- noise


def test_noise_on_the_line_reaches_its_steady_state() -> None:
    model, initial, params = Softmax(diffusion=0.3), Gaussian([0], [[0.2]]), {"V": [[1]], "A": [[-0.5]]}
    result = long_time(model, initial, params)
    assert result.closed_form(1.0)[1][0, 0] == pytest.approx(0.602174245487, abs=1e-12)
    assert result.steady_state[0, 0] == sqrt(Rational(3, 5))
    assert float(result.limit[0, 0]) == pytest.approx(0.774596669, abs=1e-9)
    _agrees(model, initial, params, result)
    assert result.check()


def test_noise_above_every_steady_state_blows_up() -> None:
    model, initial, params = Softmax(diffusion=0.3), Gaussian([0], [[0.2]]), {"V": [[1]], "A": [[0.5]]}
    result = long_time(model, initial, params)
    assert isinstance(result.blow_up_time, Ball)
    assert "no steady state" in result.reason
    run = solve(model, initial, params, (0, 5), **TIGHT)
    assert run.t_star == pytest.approx(float(result.blow_up_time), rel=1e-6)


def test_noise_in_the_plane() -> None:
    A = np.array([[-0.5, 0.25], [0.25, -3.0]])
    model = Softmax(diffusion=0.5)
    result = long_time(model, CENTRED, {"V": I2, "A": A})
    assert isinstance(result.steady_state, BallMatrix)
    steady = np.array(result.steady_state, float)
    np.testing.assert_allclose(steady @ (2 * A) @ steady, -np.eye(2), atol=1e-14)
    late = solve(model, CENTRED, {"V": I2, "A": A}, (0, 60), t_eval=[60], method="bdf")
    np.testing.assert_allclose(late.cov[-1], steady, atol=1e-5)
    none = long_time(model, CENTRED, {"V": I2, "A": -A})
    assert none.steady_state is None
    assert "no steady state exists" in none.reason
    assert result.check()
    assert none.check()


def test_noise_with_a_weighted_trace_stays_bounded() -> None:
    model = Softmax(diffusion=0.5)
    params = {"V": np.diag([1.0, 2.0]), "A": [[-0.5, 1.0], [-0.5, -1.0]]}
    result = long_time(model, CENTRED, params)
    constants = result.bounds[0].constants
    ceiling = max(float(constants["phi0"]), float(constants["square"]) ** 0.5)
    run = solve(model, CENTRED, params, (0, 20), t_eval=np.linspace(0, 20, 9))
    assert (np.trace(np.diag([1.0, 0.5]) @ run.cov, axis1=1, axis2=2) <= ceiling * (1 + 1e-6)).all()
    assert result.check()


TURNED = [[0.75, 0.25], [0.25, 0.75]]  # commutes with COV


@pytest.mark.parametrize(
    ("V", "A", "cov"),
    [
        (I2, np.diag([0.5, -1.0]), np.diag([1.0, 2.0])),
        (np.diag([1.0, 2.0]), np.diag([0.5, -1.0]), np.diag([1.0, 2.0])),
        (I2, [[1, 1], [1, 2]], [[2, 1], [1, 3]]),  # irrational modes
        (I2, [[1, 2], [2, 2]], np.zeros((2, 2))),
        (TURNED, [[0.5, 0.5], [0.5, 0.5]], COV),
    ],
)
def test_noisy_modes_blow_up_when_the_compiled_flow_does(V: Any, A: Any, cov: Any) -> None:
    model, initial, params = Softmax(diffusion=0.5), Gaussian([0, 0], cov), {"V": V, "A": A}
    result = long_time(model, initial, params)
    assert result.criterion.name == "noise-modes"
    assert isinstance(result.blow_up_time, Ball)
    assert float(result.blow_up_time.radius) < 1e-70
    run = solve(model, initial, params, (0, 5), **TIGHT)
    assert run.t_star == pytest.approx(float(result.blow_up_time), rel=1e-9)
    assert (result.limit_rank, result.global_in_time, result.steady_state) == (1, False, None)
    _agrees(model, initial, params, result, 0.8 * float(result.blow_up_time))
    assert result.check()


def test_two_equal_noisy_modes_blow_up_together() -> None:
    cov = np.diag([1.0, 1.0, 0.0])
    params = {"V": np.eye(3), "A": np.diag([1.0, 1.0, -1.0])}
    result = long_time(Softmax(diffusion=0.5), Gaussian([0, 0, 0], cov), params)
    assert result.limit_rank == 2
    assert result.check()


@pytest.mark.parametrize("A", [np.diag([-0.5, 0.0]), ZERO])
def test_a_noisy_mode_without_attention_grows_like_time(A: Any) -> None:
    model, initial = Softmax(diffusion=0.5), Gaussian([0, 0], np.diag([1.0, 2.0]))
    result = long_time(model, initial, {"V": np.diag([1.0, 2.0]), "A": A})
    assert (result.global_in_time, result.limit, result.steady_state) == (True, None, None)
    assert "no steady state exists" in result.reason
    assert result.closed_form(1e4)[1][1, 1] == pytest.approx(2.0 + 1e4)
    _agrees(model, initial, {"V": np.diag([1.0, 2.0]), "A": A}, result)


def test_noisy_modes_settle_where_every_mode_decays() -> None:
    params = {"V": np.diag([1.0, 2.0]), "A": np.diag([-0.5, -1.0])}
    result = long_time(Softmax(diffusion=0.5), Gaussian([0, 0], np.diag([1.0, 2.0])), params)
    assert result.steady_state.tolist() == [[1, 0], [0, Rational(1, 2)]]
    assert result.check()


@pytest.mark.parametrize("A", [[[1, 1], [1, 2]], [[1, 0], [1, -2]]])
def test_noise_and_one_growing_direction_blow_up_before_a_known_time(A: Any) -> None:
    model = Softmax(diffusion=0.5)
    result = long_time(model, CENTRED, {"V": I2, "A": A})
    assert result.global_in_time is False
    growth = np.linalg.eigvalsh(np.array(A) + np.array(A).T)[-1]
    latest = float(result.bounds[0].constants["latest"])
    assert latest == pytest.approx(np.pi / 2 / np.sqrt(growth), rel=1e-14)
    assert solve(model, CENTRED, {"V": I2, "A": A}, (0, 5), **TIGHT).t_star <= latest
    assert result.check()


def test_models_without_closed_equations_are_refused() -> None:
    with pytest.raises(ValueError, match="sigmoid"):
        long_time(Sigmoid(), CENTRED, {"V": I2, "A": I2})


@pytest.mark.parametrize(
    ("B", "C", "V"),
    [
        ([[1, 0], [0, 1]], [[1, 0], [0, 1]], [[1, 0], [0, 1]]),
        ([[1, 0], [0, -1]], [[1, 0], [0, -1]], [[1, 0], [0, 1]]),
        ([[0, 1], [0, 0]], [[1, 0], [0, 0]], [[0, 0], [0, 1]]),
    ],
)
def test_a_score_whose_normaliser_may_diverge_is_not_said_to_live_forever(B: Any, C: Any, V: Any) -> None:
    model = Attention("dot(x, B*y) + dot(y, C*y)/2")
    initial, params = Gaussian([0, 0], [[0.5, 0], [0, 0.5]]), {"B": B, "C": C, "V": V}
    run = solve(model, initial, params, (0, 5))
    assert run.status != "finished"  # it leaves λ_max(Σ^(1/2)CΣ^(1/2)) < 1, or blows up
    result = long_time(model, initial, params)
    assert (result.global_in_time, result.limit, result.closed_form) == (None, None, None)
    assert "normaliser" in result.reason


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (L2(), {"V": [[0]], "Q": [[-2]], "K": [[2]]}),
        (L2(), {"V": [[1]], "Q": [[0]], "K": [[2]]}),
        (Sinkhorn(), {"V": [[0]], "A": [[2]]}),
    ],
)
def test_a_law_that_does_not_move_is_its_own_limit(model: Any, params: Any) -> None:
    result = long_time(model, Gaussian([0], [[2.25]]), params)
    assert result.global_in_time is True
    np.testing.assert_array_equal(np.array(result.limit, float), [[2.25]])
    assert result.check()


def test_a_pole_that_cancels_is_none() -> None:
    params = {"V": [[0]], "Q": [[2]], "K": [[-2]], "W": [[2]], "c": [0]}
    result = long_time(L2(feed_forward=True), Gaussian([0], [[0]]), params)
    assert result.global_in_time is True
    np.testing.assert_array_equal(result.closed_form(0.5)[1], [[0.0]])  # where I − tL₀ is singular


@pytest.mark.parametrize(("scale", "written"), [(1e-300, r"10^{599}"), (1e300, r"10^{-601}")])
def test_a_time_beyond_the_doubles_is_exact_and_prints(scale: float, written: str) -> None:
    result = long_time(Softmax(), CENTRED, {"V": scale * I2, "A": scale * I2})
    assert result.blow_up_time.fraction() * 3 == 1 / Fraction(scale) ** 2
    assert written in result.to_latex()
    assert json.loads(json.dumps(to_record(result), allow_nan=False))["global_in_time"] is False


@pytest.mark.parametrize(
    ("model", "params"),
    [(Sinkhorn(temperature=1e-8), {"V": I2, "A": -I2}), (Softmax(), {"V": 1000 * I2, "A": -I2})],
)
def test_a_mean_beyond_the_doubles_is_refused(model: Any, params: Any) -> None:
    result = long_time(model, Gaussian([1, 0], COV), params)
    assert np.isfinite(result.closed_form(1e-9)[0]).all()
    with pytest.raises(ValueError, match="beyond the largest double"):
        result.closed_form(1.0)


def test_irrational_numbers_are_not_passed_off_as_exact() -> None:
    params = {"V": [[1]], "A": [[1]]}
    result = long_time(Softmax(temperature="sqrt(2)"), Gaussian([0], [[1]]), params)
    assert result.blow_up_time is None
    assert "temperature is irrational" in result.reason
    rounded = long_time(Softmax(temperature=np.sqrt(2.0)), Gaussian([0], [[1]]), params)
    assert float(rounded.blow_up_time) == pytest.approx(np.sqrt(2.0) / 2, rel=1e-15)
    assert long_time(
        Softmax(), Gaussian([0], [[1]]), {"V": [[1]], "A": [[Rational(1, 3)]]}
    ).blow_up_time == Rational(3, 2)


def test_parameters_of_time_and_causal_masks_are_refused() -> None:
    with pytest.raises(ValueError, match="V depends on time"):
        long_time(Softmax(), Gaussian([0], [[1]]), {"V": lambda t: [[1.0]], "A": [[1]]})
    positions = Gaussian(np.zeros((2, 2)), np.array([COV, COV]))
    with pytest.raises(ValueError, match="one law per position"):
        long_time(Masked(Linear()), positions, {"V": I2, "A": I2})
