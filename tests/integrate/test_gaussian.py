"""Initial laws: what is accepted, what is refused and how it is named, and their factors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sympy

from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian, pivoted_cholesky


@pytest.mark.parametrize(
    ("mean", "cov", "message"),
    [
        ([0, 0], [[1, float("nan")], [0, 1]], r"cov\[0, 1\] is nan"),
        ([0, 0], [[1, 0], [0, float("inf")]], r"cov\[1, 1\] is inf"),
        ([0, float("nan")], np.eye(2), r"mean\[1\] is nan"),
        ([0, 0], [[1, 0], [1, 1]], r"not symmetric: cov\[0, 1\] = 0 but cov\[1, 0\] = 1"),
        ([0, 0], np.diag([1, -0.1]), r"not PSD .*-0\.1"),
        ([0, 0, 0], np.eye(2), r"cov must have shape \(3, 3\)"),
        ([[0, 0], [0, 0]], np.eye(2), r"mean must be a vector"),
        ([], np.zeros((0, 0)), r"mean must be a vector of length d ≥ 1"),
        ([0, 0], [[1, 2], [3]], r"cov is ragged"),
        ([0, 0], [[1, 1j], [-1j, 1]], r"complex"),
        (["a", "b"], np.eye(2), r"mean holds items"),
        ([None, 0], np.eye(2), r"mean"),
        ([10**400, 0], np.eye(2), r"mean holds items .*too large"),
        (lambda t: t, np.eye(2), r"mean is a function"),
    ],
)
def test_bad_laws_are_refused_by_name(mean: Any, cov: Any, message: str) -> None:
    """N063, N077."""
    with pytest.raises(InputError, match=message):
        Gaussian(mean, cov)


@pytest.mark.parametrize("cov", [[[1, 1e-15], [0, 1]], np.diag([1, -1e-17]), np.zeros((2, 2))])
def test_rounding_is_accepted(cov: Any) -> None:
    """N077."""
    law = Gaussian([0, 0], cov)
    assert np.array_equal(law.cov, law.cov.T)
    assert np.allclose(law.factor() @ law.factor().T, cov, atol=1e-15)


@pytest.mark.parametrize(
    ("mean", "cov"),
    [
        (np.array([1, 2], np.float32), np.eye(2, dtype=int) * 3),
        ([1, 2], [[3, 0], [0, 3]]),
        (sympy.Matrix([1, 2]), 3 * sympy.eye(2)),
        (sympy.ImmutableMatrix([[1, 2]]), sympy.SparseMatrix(2, 2, {(0, 0): 3, (1, 1): 3})),
        (np.array([[1.0, 9.0], [2.0, 9.0]])[:, 0], np.asfortranarray(3 * np.eye(2))),
    ],
)
def test_any_real_input_is_read_in_double_precision(mean: Any, cov: Any) -> None:
    law = Gaussian(mean, cov)
    assert law.mean.dtype == law.cov.dtype == np.float64
    assert law.mean.tolist() == [1.0, 2.0]
    assert law.cov.tolist() == [[3.0, 0.0], [0.0, 3.0]]


def test_a_law_does_not_follow_its_input() -> None:
    cov = np.eye(2)
    law = Gaussian([0, 0], cov)
    cov[0, 0] = 100.0
    assert law.cov[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        law.cov[0, 0] = 2.0
    with pytest.raises(AttributeError, match="immutable"):
        law.cov = np.eye(2)


def test_numbers_stand_for_one_dimension() -> None:
    law = Gaussian(0.5, 2)
    assert (law.dim, law.rank, law.cov.tolist()) == (1, 1, [[2.0]])


@pytest.mark.parametrize("rank", [0, 1, 3, 7])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_factor_has_the_numerical_rank(rank: int, scale: float) -> None:
    root = np.random.default_rng(3).normal(size=(7, rank))
    cov = scale * root @ root.T
    cov = 0.5 * (cov + cov.T)
    law = Gaussian(np.zeros(7), cov)
    assert law.factor().shape == (7, rank)
    assert np.abs(law.factor() @ law.factor().T - cov).max() <= 20 * np.finfo(float).eps * np.abs(cov).max(
        initial=0
    )


def test_a_factor_with_a_prescribed_rank() -> None:
    root = np.random.default_rng(3).normal(size=(4, 2))
    noisy = root @ root.T + 1e-10 * np.eye(4)
    assert pivoted_cholesky(noisy, 2).shape == (4, 2)
    assert pivoted_cholesky(np.zeros((4, 4)), 2).tolist() == np.zeros((4, 2)).tolist()


def test_laws_pickle_and_show_themselves() -> None:
    law = pickle.loads(pickle.dumps(Gaussian([1, 2], [[2, 1], [1, 2]])))
    assert law.cov.tolist() == [[2.0, 1.0], [1.0, 2.0]]
    assert repr(law) == "Gaussian(d=2, rank=2)"


def test_numbers_come_in_any_iterable_with_an_order() -> None:
    """U117."""
    law = Gaussian((v for v in (1, 2)), {"a": [3, 0], "b": [0, 3]}.values())
    assert law.mean.tolist() == [1.0, 2.0]
    assert law.cov.tolist() == [[3.0, 0.0], [0.0, 3.0]]
    for value, word in (({1, 2}, "set"), ({0: 1}, "dict"), (np.ma.array([1, 2], mask=[0, 1]), "masked")):
        with pytest.raises(InputError, match=f"mean .*{word}"):
            Gaussian(value, np.eye(2))


@pytest.mark.filterwarnings("error")
def test_a_covariance_near_the_largest_float_keeps_its_rank() -> None:
    law = Gaussian([0, 0], np.diag([1.5e308, 1e308]))
    assert law.rank == 2
    assert np.allclose(law.factor() @ law.factor().T / 1e308, np.diag([1.5, 1.0]))
