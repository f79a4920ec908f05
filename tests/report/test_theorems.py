"""Predictions of the long-time theorems, and which theorem speaks about given matrices."""

import numpy as np
import pytest

from symflow.derive.outcome import closure_status
from symflow.models.registry import attention_models
from symflow.report.regimes import Prediction, commuting_prediction, compare, regimes
from symflow.report.subjects import subjects
from symflow.report.theorems import theorems

COV = np.array([[2.0, 0.5], [0.5, 1.0]])
IDENTITY = np.eye(2)


def test_blow_up_time_of_the_closed_form():
    A = np.array([[0.3, 0.7], [-0.2, -0.5]])
    prediction = commuting_prediction(A + A.T, COV, 1.0)
    assert prediction.t_star == pytest.approx(0.61772, abs=5e-6)
    assert prediction.limit is None


def test_limit_of_the_closed_form_is_the_one_by_the_kernel():
    S = np.array([[-1.0, 1.0], [1.0, -1.0]])
    n = np.array([[1.0], [1.0]])
    wanted = n @ n.T / (n.T @ np.linalg.inv(COV) @ n)
    np.testing.assert_allclose(commuting_prediction(S, COV, 1.0).limit, wanted, rtol=1e-12)


def test_closed_form_solves_the_equation():
    S = np.array([[-1.0, 0.6], [0.6, -2.0]])
    before, at, after = (commuting_prediction(S, COV, t).at_end for t in (0.999, 1.0, 1.001))
    np.testing.assert_allclose(
        (after - before) / 0.002, at @ S @ at, rtol=1e-5
    )  # central difference, error 1e-6


def test_singular_start_keeps_its_kernel():
    u = np.array([[1.0], [2.0]])
    prediction = commuting_prediction(-IDENTITY, u @ u.T, 1.0)
    np.testing.assert_allclose(prediction.at_end, u @ u.T / 6, rtol=1e-12)  # s' = −5s², s(0) = 1 along u


def test_the_report_has_a_section_for_every_variant_and_composition():
    found = subjects()
    assert {*attention_models(), "multihead-softmax", "masked-linear", "masked-softmax"} <= {
        subject.anchor for subject in found
    }
    assert found[0].anchor == "softmax"
    closed = [closure_status(subject.model) == "closed" for subject in found]
    assert closed == sorted(closed, reverse=True)
    for subject, is_closed in zip(found, closed, strict=True):
        assert bool(regimes(subject.anchor)) == is_closed


@pytest.mark.parametrize(
    "name", ["linear", "sinkhorn", "multihead-softmax", "masked-linear", "softmax-layer", "softmax-noise"]
)
def test_every_start_has_a_prediction(name):
    for regime in regimes(name):
        for start in regime.starts:
            prediction = regime.predict(regime.params, start, regime.horizon)
            assert any(part is not None for part in (prediction.limit, prediction.at_end, prediction.t_star))


def test_a_run_that_ends_early_contradicts_existence():
    t, cov = np.array([0.0, 1.0]), np.stack([COV, COV])
    assert compare(Prediction(), t, cov, "finished", None)["agrees"]
    assert not compare(Prediction(), t, cov, "blow-up", 1.0)["agrees"]


@pytest.mark.parametrize("name", ["softmax", "l2"])
def test_every_regime_is_there_with_its_kind_of_prediction(name):
    found = {regime.key: regime for regime in regimes(name)}
    assert list(found) == ["zero", "line", "two-lines", "blow-up"]
    for regime in found.values():
        for start in regime.starts:
            assert np.linalg.eigvalsh(start)[0] > 0
            prediction = regime.predict(regime.params, start, regime.horizon)
            assert (prediction.t_star is not None) == (regime.key == "blow-up")
            if regime.key in ("zero", "line"):
                rank = np.linalg.matrix_rank(prediction.limit, tol=1e-9)
                assert rank == (regime.key == "line")


def test_no_regimes_without_a_theorem():
    assert regimes("attention") == ()


def test_both_lines_attract():
    for name in ("softmax", "l2"):
        (regime,) = (r for r in regimes(name) if r.key == "two-lines")
        signs = {np.sign(start[0, 0] - start[1, 1]) for start in regime.starts}
        assert signs == {-1.0, 1.0}


def test_a_wrong_run_disagrees():
    (regime,) = (r for r in regimes("softmax") if r.key == "zero")
    start, t = regime.starts[0], np.array([0.0, regime.horizon])
    prediction = regime.predict(regime.params, start, regime.horizon)
    right = np.stack([start, prediction.at_end])
    assert compare(prediction, t, right, "finished", None)["agrees"]
    assert not compare(prediction, t, right * (1 + 1e-6), "finished", None)["agrees"]
    assert not compare(prediction, t, right, "blow-up", 3.0)["agrees"]
    (blow_up,) = (r for r in regimes("softmax") if r.key == "blow-up")
    prediction = blow_up.predict(blow_up.params, start, blow_up.horizon)
    assert compare(prediction, t, right, "blow-up", prediction.t_star * (1 + 1e-8))["agrees"]
    assert not compare(prediction, t, right, "blow-up", prediction.t_star * (1 + 1e-5))["agrees"]
    assert not compare(prediction, t, right, "finished", None)["agrees"]


def _by_title(name, params, scale=1.0, cov=COV):
    return {theorem.title: theorem for theorem in theorems(name, params, scale, cov)}


def test_the_identity_gives_the_closed_form_and_its_time():
    A = np.array([[0.3, 0.7], [-0.2, -0.5]])
    theorem = _by_title("softmax", {"V": IDENTITY, "A": A})["closed form for commuting V"]
    assert theorem.applies
    assert theorem.t_star == pytest.approx(0.61772, abs=5e-6)
    scaled = _by_title("softmax", {"V": IDENTITY, "A": A}, scale=0.5)["closed form for commuting V"]
    assert scaled.t_star == pytest.approx(2 * theorem.t_star, rel=1e-12)


def test_commuting_matrices_give_it_too():
    V = np.diag([2.0, 3.0])
    theorem = _by_title("softmax", {"V": V, "A": -IDENTITY}, cov=np.diag([1.0, 2.0]))[
        "closed form for commuting V"
    ]
    assert theorem.applies
    assert theorem.t_star is None
    assert "rank 0" in theorem.conclusion


def test_another_value_matrix_gets_no_blow_up_time():
    V, A = np.diag([1.0, 4.0]), np.array([[-1.0, -3.0], [0.0, -1.0]])  # blows up although S ≺ 0
    found = _by_title("softmax", {"V": V, "A": A}, cov=IDENTITY)
    assert not any(theorem.applies for theorem in found.values())
    assert all(theorem.t_star is None and not theorem.conclusion for theorem in found.values())


@pytest.mark.parametrize("t", [0.0, 0.2, 0.45])
def test_a_negative_sign_does_not_exclude_a_blow_up(t):
    V, A = np.diag([1.0, 2.0]), np.array([[-1.0, -4.0], [1.0, -1.0]])
    start = np.array([[1.0, -1.0], [-1.0, 2.0]])
    assert np.linalg.eigvalsh(V @ A + (V @ A).T)[-1] < 0
    cov, rate = start / (1 - 2 * t), 2 * start / (1 - 2 * t) ** 2  # the solution that the report states
    half = V @ cov @ A @ cov
    np.testing.assert_allclose(half + half.T, rate, rtol=1e-12)


@pytest.mark.parametrize("t", [0.0, 1.0, 10.0])
def test_a_positive_sign_does_not_force_a_blow_up(t):
    V, A = np.diag([2.0, 1.0]), np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert np.linalg.eigvalsh(V @ A + (V @ A).T)[-1] == 1
    u = np.tanh(t)
    cov, rate = np.array([[1, u], [u, 1]]), (1 - u**2) * np.array([[0, 1], [1, 0]])
    half = V @ cov @ A @ cov
    np.testing.assert_allclose(half + half.T, rate, atol=1e-15)


@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_the_limit_by_distance_knows_the_scale(factor):
    row = {"Q": np.array([[0.7, -0.7]]), "K": np.array([[-0.7, 0.7]]), "V": IDENTITY}
    assert "rank 1" in _by_title("l2", row, scale=factor)["the limit of softmax"].conclusion
    assert "rank 2" in _by_title("l2", row, scale=0.0)["the limit of softmax"].conclusion  # nothing moves


def test_positive_value_and_negative_form_are_bounded():
    V = np.array([[2.0, 0.5], [0.5, 1.0]])
    skew = np.array([[-1.0, 3.0], [-3.0, 0.0]])
    bounded = "bounded covariance for positive V"
    assert _by_title("softmax", {"V": V, "A": skew})[bounded].applies
    assert not _by_title("softmax", {"V": V, "A": -skew})[bounded].applies
    assert not _by_title("softmax", {"V": -V, "A": skew})[bounded].applies
    assert not _by_title("softmax", {"V": V + np.triu(V, 1) * 1e-6, "A": skew})[bounded].applies


def test_injectivity_decides_for_the_distance():
    wide = {"Q": np.array([[0.0, 1.0]]), "K": np.array([[1.0, 0.0]]), "V": np.diag([0.0, 1.0])}
    assert not any(theorem.applies for theorem in theorems("l2", wide, 1.0, COV))
    square = {"Q": IDENTITY, "K": -IDENTITY, "V": IDENTITY}
    assert all(theorem.applies for theorem in theorems("l2", square, 1.0, COV))


def test_an_own_mechanism_has_no_theorem():
    assert theorems("attention", {"V": IDENTITY}, 1.0, COV) == ()
