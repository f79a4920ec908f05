"""Parameters by name: shapes, sizes, and refusals that say which and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from symflow import L2, Attention, Gaussian, Softmax, solve
from symflow.errors import InputError, NormaliserDiverges
from symflow.integrate.problem import read_problem

LAW = Gaussian([1.0, 0.5], [[2.0, 0.5], [0.5, 1.0]])
A, V = np.array([[-1.0, 0.2], [0.1, -0.5]]), np.array([[1.0, 0.3], [0.0, 1.0]])


def _with(array: np.ndarray[Any, Any], index: tuple[int, ...], value: float) -> np.ndarray[Any, Any]:
    changed = array.copy()
    changed[index] = value
    return changed


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"A": A}, "'V'.*missing"),
        ({"V": V, "Q": V}, "'K'.*missing"),
        ({"A": A, "V": V, "W": V}, "'W' is unknown"),
        ({"A": A, "Q": V, "K": V, "V": V}, "not both"),
        ({"A": A, "V": np.eye(3)}, "V must have shape d x d: d = 2 from the initial law, but V has 3"),
        ({"A": A, "V": np.ones(2)}, r"V must have shape d x d, got \(2,\)"),
        ({"Q": np.ones((3, 2)), "K": np.ones((4, 2)), "V": V}, "k = 3 from Q, but K has 4"),
        ({"A": A, "V": _with(V, (1, 0), np.nan)}, r"V\[1, 0\] is nan"),
        ({"A": _with(A, (0, 1), np.inf), "V": V}, r"A\[0, 1\] is inf"),
        ({"A": A, "V": V * 1j}, "V holds items of type complex"),
        ({"A": A, "V": sympy.MatrixSymbol("V", 2, 2)}, "V is the symbol"),
        ({"A": A, "V": V, "bo": [1.0]}, "bo must have shape d"),
        ([A, V], "params must be a mapping"),
    ],
)
def test_bad_parameters_are_refused_before_any_work(params: Any, message: str) -> None:
    """N063."""
    with pytest.raises(InputError, match=message):
        solve(Softmax(), LAW, params, (0, 1))


def test_a_wrong_model_or_law_is_refused() -> None:
    with pytest.raises(InputError, match="model must be an attention model"):
        solve("softmax", LAW, {"A": A, "V": V}, (0, 1))
    with pytest.raises(InputError, match="initial must be a Gaussian"):
        solve(Softmax(), "N(0, 1)", {"A": A, "V": V}, (0, 1))


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        lambda v: v.tolist(),
        sympy.Matrix,
        sympy.ImmutableMatrix,
        sympy.SparseMatrix,
        np.asfortranarray,
        lambda v: np.stack([v, v], axis=-1)[..., 0],
    ],
)
def test_the_same_numbers_for_every_form_of_a_matrix(form: Any) -> None:
    """C038."""
    expected = solve(Softmax(), LAW, {"A": A, "V": V}, (0, 1))
    found = solve(Softmax(), LAW, {"A": form(A), "V": form(V)}, (0, 1))
    assert np.array_equal(found.mean, expected.mean)
    assert np.array_equal(found.cov, expected.cov)


def test_integers_are_not_truncated() -> None:
    """C044."""
    law = Gaussian(np.array([1, 2], np.float32), np.eye(2, dtype=int))
    whole = solve(Softmax(), law, {"A": -np.eye(2, dtype=int), "V": np.eye(2, dtype=np.int8)}, (0, 1))
    assert np.allclose(whole.cov[-1], np.eye(2) / 3.0, rtol=1e-8)  # Σ = (1 + 2t)^-1


def test_values_come_in_call_order_with_the_scale_of_the_model() -> None:
    problem = read_problem(L2(beta=0.5), LAW, {"V": V, "K": np.ones((3, 2)), "Q": np.ones((3, 2))})
    assert list(problem.values) == [s.name for s in problem.statement.parameters]
    assert problem.values["beta"].tolist() == [0.5]
    assert problem.dims == (2, 3)


def test_biases_that_are_not_given_are_zero() -> None:
    params = {"Q": np.eye(2), "K": A, "V": V}
    some = solve(Softmax(), LAW, {**params, "bo": [1.0, 2.0]}, (0, 0.3))
    every = solve(
        Softmax(),
        LAW,
        {**params, "bo": [1.0, 2.0], "bq": [0, 0], "bk": [[0], [0]], "bv": np.zeros(2)},
        (0, 0.3),
    )
    assert np.array_equal(some.mean, every.mean)


# ------------------------------------------------------------------------------------------ the normaliser

TILTED = Attention("dot(y, A*x) + dot(y, C*y)/2", name="tilted")


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_divergent_normaliser_is_refused_with_its_eigenvalue(method: str) -> None:
    law = Gaussian([0, 0], np.diag([3.0, 1.0]))
    params = {"A": np.eye(2), "C": np.diag([0.5, 0.1]), "V": np.eye(2)}
    with pytest.raises(
        NormaliserDiverges, match=r"tilted diverges at the initial law.* is 1\.5.*reduce"
    ) as caught:
        solve(TILTED, law, params, (0, 1), method=method)
    assert abs((caught.value.value or 0.0) - 1.5) < 1e-12


def test_the_temperature_enters_the_domain() -> None:
    law = Gaussian([0.0], [[3.0]])
    params = {"A": [[-1.0]], "C": [[0.5]], "V": [[1.0]]}
    hot = Attention("dot(y, A*x) + dot(y, C*y)/2", temperature=2)
    assert solve(hot, law, params, (0, 1)).status == "finished"


@pytest.mark.parametrize("method", ["dop853", "dp5", "radau"])
def test_a_run_that_comes_to_the_edge_of_the_domain(method: str) -> None:
    """d = 1: Σ' = 2vaΣ²/(1 − cΣ) reaches 1/c at t = (1/Σ₀ − c + c log(cΣ₀))/(2va)."""
    v = a = c = s = 0.5
    edge = (1 / s - c + c * np.log(c * s)) / (2 * v * a)
    run = solve(TILTED, Gaussian([0.0], [[s]]), {"A": [[a]], "C": [[c]], "V": [[v]]}, (0, 10), method=method)
    assert run.status == "step-too-small"
    assert "normaliser" in run.message
    assert abs(run.t[-1] - edge) < 1e-6
    assert run.cov[-1, 0, 0] < 1 / c
