"""Distances between laws: names, one-dimensional formulas, singular and coinciding covariances."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symflow import Gaussian, Linear, Masked, distances
from symflow.errors import InputError


def test_distance_and_square_in_one_dimension():
    """O094."""
    assert distances.wasserstein(Gaussian([0], [[1]]), Gaussian([10], [[1]])) == 10.0
    assert distances.wasserstein_squared(Gaussian([0], [[1]]), Gaussian([10], [[1]])) == 100.0
    assert distances.bures([[6.25]], [[0.25]]) == pytest.approx(2.0, rel=1e-15)
    assert distances.wasserstein(Gaussian([1], [[4]]), Gaussian([4], [[64]])) == pytest.approx(np.sqrt(45.0))


def test_singular_covariances():
    """O095."""
    u, w = np.array([1.0, -2.0, 0.5]), np.array([0.3, 1.0, 2.0])
    expected = u @ u + w @ w - 2.0 * abs(u @ w)
    assert distances.bures_squared(np.outer(u, u), np.outer(w, w)) == pytest.approx(expected, abs=1e-13)
    full = np.diag([1.0, 2.0, 3.0])
    expected = u @ u + 6.0 - 2.0 * np.sqrt(u @ full @ u)
    assert distances.bures_squared(np.outer(u, u), full) == pytest.approx(expected, abs=1e-13)
    assert distances.bures_squared(full, np.zeros((3, 3))) == pytest.approx(6.0, abs=1e-13)


def test_close_covariances_keep_their_digits():
    a = np.diag([1.0, 4.0])
    assert distances.bures(a, a + np.diag([1e-10, 0.0])) == pytest.approx(0.5e-10, rel=1e-5)
    assert distances.bures(a, a) <= 1e-15


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 5))
def test_agrees_with_the_formula_of_roots(seed, d):
    rng = np.random.default_rng(seed)
    a, b = (x @ x.T for x in rng.normal(size=(2, d, d)))
    root = distances.covariance_root(a)
    inner = distances.covariance_root(root @ b @ root)
    expected = np.trace(a + b) - 2.0 * np.trace(inner)
    assert distances.bures_squared(a, b) == pytest.approx(expected, abs=1e-7 * np.trace(a + b))
    assert distances.bures(a, b) == pytest.approx(distances.bures(b, a), rel=1e-9)


def test_gradient_at_repeated_eigenvalues():
    """O097."""
    eye = np.eye(3)
    np.testing.assert_allclose(distances.bures_gradient(eye, eye), 0.0, atol=1e-15)
    np.testing.assert_allclose(distances.bures_gradient(4.0 * eye, eye), 0.5 * eye, atol=1e-15)


def test_gradient_is_the_derivative():
    rng = np.random.default_rng(1)
    a, b = (x @ x.T + 0.3 * np.eye(3) for x in rng.normal(size=(2, 3, 3)))
    h = rng.normal(size=(3, 3))
    h += h.T
    step = 1e-5
    difference = distances.bures_squared(a + step * h, b) - distances.bures_squared(a - step * h, b)
    assert np.sum(distances.bures_gradient(a, b) * h) == pytest.approx(difference / (2.0 * step), rel=1e-6)


def test_derivative_of_the_root():
    """O097: R δR + δR R = δΣ."""
    rng = np.random.default_rng(2)
    x, h = rng.normal(size=(2, 4, 4))
    cov, moved = x @ x.T + np.eye(4), h + h.T
    root, derivative = distances.covariance_root(cov), distances.covariance_root_derivative(cov, moved)
    np.testing.assert_allclose(root @ derivative + derivative @ root, moved, atol=1e-12)
    repeated = distances.covariance_root_derivative(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(repeated, [[0.0, 0.5], [0.5, 0.0]], atol=1e-15)


def test_root_of_whole_numbers_and_of_what_has_none():
    """O100."""
    cov = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]])
    root = distances.covariance_root(cov)
    assert root[0, 0] == pytest.approx(np.sqrt(0.5)) and root[0, 3] == pytest.approx(np.sqrt(0.5))
    with pytest.raises(InputError, match="cov is not symmetric"):
        distances.covariance_root([[0, 1], [0, 0]])


def test_clouds_of_tokens():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(6, 2))
    assert distances.wasserstein(x, x[::-1]) == 0.0
    assert distances.wasserstein(x, x + [3.0, 4.0]) == pytest.approx(5.0)


def test_along_positions():
    rng = np.random.default_rng(4)
    mean, root = rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2))
    a = Gaussian(mean, root @ np.swapaxes(root, 1, 2))
    b = Gaussian(mean + [0.0, 1.0], root @ np.swapaxes(root, 1, 2))
    assert distances.conditional_wasserstein(a, b) == pytest.approx(1.0)
    theta = Masked(Linear(), 0.5).weights(3)
    moved = mean.copy()
    moved[0, 0] += 2.0
    assert distances.conditional_wasserstein_squared(a, Gaussian(moved, a.cov), theta) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: distances.bures([[1.0]], np.eye(2)), "a has dimension 1, b has 2"),
        (lambda: distances.bures([[-1.0]], [[1.0]]), "a: cov is not PSD"),
        (lambda: distances.bures(np.ones((2, 3)), np.eye(2)), "square"),
        (lambda: distances.bures_gradient(np.diag([1.0, 0.0]), np.eye(2)), "rank 1 < 2"),
        (lambda: distances.covariance_root_derivative(np.diag([1.0, 0.0]), np.eye(2)), "rank 1 < 2"),
        (lambda: distances.wasserstein(Gaussian([0], [[1]]), [[1.0]]), "both be"),
        (lambda: distances.wasserstein(np.zeros((2, 2)), np.zeros((3, 2))), "equally many"),
        (lambda: distances.conditional_wasserstein(Gaussian([0], [[1]]), Gaussian([0], [[1]])), "positions"),
        (lambda: distances.wasserstein([[0.0]], [[1.0]], order=0.5), "order"),
        (lambda: distances.wasserstein(Gaussian([0], [[1]]), Gaussian([0], [[1]]), order=1), "only W_2"),
        (lambda: distances.conditional_wasserstein(np.zeros((2, 1)), np.zeros((3, 1))), "positions"),
    ],
)
def test_what_has_no_distance_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


@pytest.mark.parametrize("order", [1, 1.5, 2, 4])
@pytest.mark.parametrize("d", [1, 3])
def test_clouds_against_optimal_transport_by_another_package(order, d):
    rng = np.random.default_rng(10 * d)
    for n, m in ((7, 7), (40, 40), *([(5, 12), (9, 4)] if d == 1 else [])):
        x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d)) + 1.0
        cost = ot.dist(x, y, metric="euclidean") ** order
        expected = ot.emd2(ot.unif(n), ot.unif(m), cost) ** (1 / order)
        assert distances.wasserstein(x, y, order=order) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_conditional_distance_of_clouds(order):
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(3, 6, 2)), rng.normal(size=(3, 6, 2))
    theta = [0.5, 0.25, 0.25]
    parts = [ot.emd2([], [], ot.dist(x, y, metric="euclidean") ** order) for x, y in zip(a, b, strict=True)]
    expected = float(np.dot(theta, parts)) ** (1 / order)
    assert distances.conditional_wasserstein(a, b, theta, order=order) == pytest.approx(expected, rel=1e-9)
    together = distances.wasserstein(a.reshape(-1, 2), b.reshape(-1, 2), order=order)
    assert together <= distances.conditional_wasserstein(a, b, order=order) + 1e-12


def test_one_token_at_each_position():
    x, y = np.array([[0.0], [5.0]]), np.array([[1.0], [2.0]])
    assert distances.conditional_wasserstein(x, y, order=1) == 2.0
    assert distances.wasserstein(x, y, order=1) == 2.0
    assert distances.conditional_wasserstein(x, y[::-1], order=1) == 3.0
