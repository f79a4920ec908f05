"""Energies made from their symbols: tokens against differences and other routes, Gaussian laws, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sympy import MatrixSymbol, Rational, Trace, exp, sqrt

import symflow
import symflow.clustering.pairs as pairs
from symflow.energies import (
    Dissipation,
    Entropy,
    Exponential,
    Interaction,
    LogPartition,
    Pairwise,
    SelfTransport,
    energy_along,
)
from symflow.energies.registry import shipped_energies, shipped_energy
from symflow.errors import GrammarError, InputError
from symflow.models.energies.registry import energy_models

RNG = np.random.default_rng(11)
Q, K = RNG.normal(size=(2, 2, 3)) / 2
A = RNG.normal(size=(3, 3)) / 2
C = RNG.normal(size=3)
X = RNG.normal(size=(6, 3)) / 2
FACTOR = RNG.normal(size=(3, 3)) / 3
MEAN, COV = RNG.normal(size=3) / 3, FACTOR @ FACTOR.T + 0.05 * np.eye(3)

ROUGH = Pairwise(
    "norm2(x - y)**2/4 - dot(x, A*y)*tanh(dot(c, x)) + Max(dot(x, y), 0)", "cos(dot(c, x))", A=A, c=C
)
COUPLED = Pairwise("tr(inv(eye(d) + x*y.T*y*x.T))")  # no function of inner products: every pair by itself
TOKENS = [LogPartition(Q, K), SelfTransport(A, 0.7), ROUGH, COUPLED]
LAWS = [
    Exponential(Q, K),
    Interaction(1.0),
    Dissipation(0.5),
    LogPartition(Q, K),
    SelfTransport(A, 0.7),
    Entropy(),
    Pairwise("dot(x, A*y)**2 + dot(c, x)", "norm2(x)**2", A=A, c=C),
]


def slope(function: Any, step: float) -> float:
    """Difference quotient of order four."""
    values = [function(k * step) for k in (-2, -1, 1, 2)]
    return float((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step))


@pytest.mark.parametrize("energy", TOKENS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("space", ["euclidean", "sphere"])
def test_gradients_are_derivatives(energy: Any, space: str) -> None:
    x, v = X.copy(), np.random.default_rng(2).normal(size=X.shape)
    if space == "sphere":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        v -= np.einsum("id,id->i", v, x)[:, None] * x

    def along(h: float) -> float:
        moved = x + h * v
        if space == "sphere":
            moved = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return float(energy.value(moved))

    expected = slope(along, 1e-3)
    assert (energy.gradient(x, space) * v).sum() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "energy", [*TOKENS, Exponential(Q, K), Interaction(2.0)], ids=lambda e: type(e).__name__
)
def test_variation_is_the_derivative_in_the_weights_and_in_the_tokens(energy: Any) -> None:
    values, gradient = energy.first_variation(X, X)
    np.testing.assert_allclose(gradient / len(X), energy.gradient(X, "euclidean"), atol=1e-12)
    # a token that is there k times has k times its weight
    heavy = [np.repeat(X, [40 + k, 40, 40, 40, 40, 40], axis=0) for k in (1, -1)]
    ends, shares = [energy.value(x) for x in heavy], (1 / 241, -1 / 239)
    slope_in_weight = (ends[0] - ends[1]) / (shares[0] - shares[1])
    # the difference quotient has an error of h² = 2·10⁻⁵ times a third derivative
    assert values[0] - values.mean() == pytest.approx(slope_in_weight, abs=1e-4)
    at = X[:2] + 0.1
    weights = np.arange(1, 7) / 21
    doubled = np.repeat(X, np.arange(1, 7), axis=0)
    for one, other in zip(
        energy.first_variation(X, at, weights), energy.first_variation(doubled, at), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-11)


def test_one_definition_gives_the_same_numbers_by_two_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    own, known = Pairwise("exp(dot(Q*x, K*y))", Q=Q, K=K), Exponential(Q, K)
    clouds = np.stack([X, 2 * X])
    np.testing.assert_allclose(own.value(clouds), known.value(clouds), rtol=1e-14)
    np.testing.assert_allclose(own.gradient(clouds), known.gradient(clouds), atol=1e-15)
    np.testing.assert_allclose(energy_along(own, clouds), known.value(clouds), rtol=1e-14)
    assert own.score_bound(clouds) >= np.abs(np.einsum("ki,bni->bnk", Q, clouds)).max() ** 2 / 10
    whole = [(e.value(X), e.gradient(X, "euclidean"), e.first_variation(X, X)[0]) for e in TOKENS]
    monkeypatch.setattr(pairs, "_BLOCK", 20)
    for energy, expected in zip(TOKENS, whole, strict=True):
        found = energy.value(X), energy.gradient(X, "euclidean"), energy.first_variation(X, X)[0]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-13)


def test_symbols_and_text_state_the_same_energy() -> None:
    d = symflow.Softmax().statement().dimensions[0]
    x, y, matrix = MatrixSymbol("x", d, 1), MatrixSymbol("y", d, 1), MatrixSymbol("A", d, d)
    stated = Pairwise(exp(Trace(x.T * matrix * y)), A=A)
    assert stated.value(X) == pytest.approx(Pairwise("exp(dot(x, A*y))", A=A).value(X), rel=1e-15)


def test_log_partition_does_not_overflow() -> None:
    energy = LogPartition(Q, K)
    huge = 1e3 * X
    scores = huge @ Q.T @ (huge @ K.T).T
    assert np.abs(scores).max() > 1e5
    expected = (scores.max(axis=1) - np.log(6)).mean()  # the largest score of a row wins
    assert energy.value(huge) == pytest.approx(expected, rel=1e-12)
    assert np.isfinite(energy.gradient(huge, "euclidean")).all()


def test_self_transport_is_the_cost_of_its_coupling() -> None:
    """½[−∫s dπ + KL(π|μ⊗μ)] for the coupling of a plain scaling."""
    scores = X @ A @ X.T / 0.7
    kernel, b = np.exp(scores), np.ones(6)
    for _ in range(500):
        a = 6 / (kernel @ b)
        b = 6 / (kernel.T @ a)
    density = a[:, None] * kernel * b
    cost = (density * (np.log(density) - scores)).sum() / 36
    assert SelfTransport(A, 0.7).value(X) == pytest.approx(cost / 2, abs=1e-13)


@pytest.mark.parametrize("energy", LAWS, ids=lambda e: type(e).__name__)
def test_gaussian_gradients_are_derivatives(energy: Any) -> None:
    found = energy.on_gaussian(MEAN, COV)
    rng = np.random.default_rng(4)
    for _ in range(3):
        v, bend = rng.normal(size=3), rng.normal(size=(3, 3)) / 10
        bend += bend.T
        by_mean = slope(lambda h, v=v: energy.on_gaussian(MEAN + h * v, COV).value, 1e-3)
        by_cov = slope(lambda h, b=bend: energy.on_gaussian(MEAN, COV + h * b).value, 1e-3)
        assert found.mean_gradient @ v == pytest.approx(by_mean, abs=1e-8)
        assert np.trace(found.cov_gradient @ bend) == pytest.approx(by_cov, abs=1e-7)
    np.testing.assert_array_equal(found.cov_gradient, found.cov_gradient.T)
    assert energy.value(symflow.Gaussian(MEAN, COV)) == found.value


def test_gaussian_values_are_the_known_ones() -> None:
    zero, eye = np.zeros(2), np.eye(2)
    cov = np.array([[0.5, 0.2], [0.2, 0.4]])
    for sign in (1, -1):
        found = Exponential(sign * eye, eye).on_gaussian(zero, cov).value
        assert found == pytest.approx(0.5 * np.linalg.det(eye - cov @ cov) ** -0.5, rel=1e-14)
    assert Entropy().on_gaussian(zero, cov).value == pytest.approx(
        -0.5 * np.log(np.linalg.det(2 * np.pi * np.e * cov)), rel=1e-14
    )
    score = np.array([[0.6, 0.2], [0.2, -0.5]])
    weights, axes = np.linalg.eigh(cov)
    root = axes * np.sqrt(weights) @ axes.T
    r = np.sqrt(1 + 4 * np.linalg.eigvalsh(root @ score @ root) ** 2 / 0.3**2)
    mean = np.array([0.3, -1.0])
    expected = -0.25 * (r - 1 - np.log((1 + r) / 2)).sum() - mean @ score @ mean / 0.6
    assert SelfTransport(score, 0.3).on_gaussian(mean, cov).value == pytest.approx(expected, rel=1e-13)


def test_singular_covariances_are_laws_too() -> None:
    u = np.array([0.3, -0.4, 0.2])
    for energy in (Exponential(Q, K), LogPartition(Q, K), SelfTransport(A, 0.7)):
        found = energy.on_gaussian(MEAN, np.outer(u, u))
        near = energy.on_gaussian(MEAN, np.outer(u, u) + 1e-9 * np.eye(3))
        assert found.value == pytest.approx(near.value, abs=1e-7)


def test_mean_of_many_tokens_approaches_the_gaussian_value() -> None:
    """An average of n independent tokens has the standard error n^{-1/2}; six of them are allowed."""
    x = MEAN + np.random.default_rng(0).normal(size=(800, 3)) @ np.linalg.cholesky(COV).T
    for energy in (LogPartition(Q, K), Exponential(Q, K)):
        spread = energy.first_variation(x, x)[0].std() / np.sqrt(len(x))
        assert abs(energy.value(x) - energy.on_gaussian(MEAN, COV).value) < 6 * spread


def test_energies_along_runs() -> None:
    """Sinkhorn attention with V = A = Aᵀ descends its cost: dF/dt = −4 tr(GΣG) − |∂F/∂α|², G = ∂F/∂Σ."""
    score, start = np.array([[0.6, 0.2], [0.2, -0.5]]), symflow.Gaussian([0.3, 0.0], [[1.0, 0.3], [0.3, 0.6]])
    run = symflow.solve(
        symflow.Sinkhorn(),
        start,
        {"A": score, "V": score},
        (0, 0.4),
        t_eval=np.linspace(0, 0.4, 5),
        backend="numpy",
        rtol=1e-12,
    )
    energy = SelfTransport(score, 1.0)
    along = run.energy(energy)
    assert (np.diff(along) < 0).all()
    found = energy.on_gaussian(run.mean[2], run.cov[2])
    rate = (
        -4 * np.trace(found.cov_gradient @ run.cov[2] @ found.cov_gradient)
        - found.mean_gradient @ found.mean_gradient
    )
    quotient = (along[0] - 8 * along[1] + 8 * along[3] - along[4]) / 1.2
    assert quotient == pytest.approx(rate, abs=2e-4)
    tokens = symflow.solve(
        symflow.Softmax(), X[:, :2], {"A": score, "V": np.eye(2)}, (0, 0.1), backend="numpy", t_eval=[0, 0.1]
    )
    own = Pairwise("exp(dot(x, A*y))", A=score)
    np.testing.assert_allclose(tokens.energy(own), Exponential(score, np.eye(2)).value(tokens.x), rtol=1e-13)
    with pytest.raises(InputError, match=r"at t\[0\]: exponential is infinite"):
        run.energy(Exponential(2 * np.eye(2), np.eye(2)))


def test_parameters_are_exact_as_they_were_given() -> None:
    assert Interaction(0.1).exact() == {"beta": Fraction(0.1)}
    assert Interaction(Rational(1, 3)).exact() == {"beta": Fraction(1, 3)}
    energy = Pairwise("dot(c, A*y)*k", c=[1, 0.5], A=[[Fraction(1, 3), 0], [2, Rational(2, 7)]], k=3)
    assert energy.exact() == {
        "c": [[1], [Fraction(1, 2)]],
        "A": [[Fraction(1, 3), 0], [2, Fraction(2, 7)]],
        "k": 3,
    }
    with pytest.raises(InputError, match=r"beta = sqrt\(2\) is irrational"):
        Interaction(sqrt(2)).exact()
    assert [s.name for s in energy.statement().parameters] == ["c", "A", "k"]


def test_every_shipped_definition_has_numbers() -> None:
    assert set(shipped_energies()) == set(energy_models())
    made = shipped_energy("exponential", {"A": [[2.0, 1.0], [0.0, 1.0]]})  # A alone: Q = A, K = I
    assert isinstance(made, Exponential)
    np.testing.assert_array_equal(made.K, np.eye(2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Pairwise("dot(x, B*y)"), InputError, "'B' is missing"),
        (lambda: Pairwise("dot(x, y)", B=1), InputError, "'B' is unknown"),
        (
            lambda: Pairwise(
                "dot(x, y",
            ),
            GrammarError,
            "density: expected",
        ),
        (lambda: Pairwise("", "dot(x, y)"), InputError, "contains y"),
        (lambda: Pairwise(""), InputError, "both empty"),
        (lambda: Pairwise("dot(x, y)", space="torus"), InputError, "space = 'torus'"),
        (lambda: Pairwise("dot(x, B*y)", B=[1.0]), InputError, r"B has shape \(1,\)"),
        (lambda: Pairwise("dot(x, B*y)", B=np.eye(2)).value(X), InputError, "B has 2 rows, but there are 3"),
        (lambda: Pairwise("exp(norm2(x))").value(1e3 * X), InputError, "exceeds the range of doubles"),
        (lambda: LogPartition(Q, K[:1]), InputError, "matrices of one shape"),
        (lambda: Entropy().value(X), InputError, "no density"),
        (lambda: Entropy().gradient(X), InputError, "no density"),
        (lambda: Entropy().first_variation(X, X), InputError, "finitely many tokens"),
        (lambda: Entropy().on_gaussian([0, 0], [[1, 0], [0, 0]]), InputError, "cov is singular"),
        (lambda: SelfTransport(A, 0), InputError, "epsilon = 0.0 must be positive"),
        (lambda: SelfTransport(Q, 1), InputError, "square"),
        (lambda: SelfTransport(A, 1).value(X[:, :2]), InputError, "A has 3 columns"),
        (lambda: Exponential([[1]], [[1]]).on_gaussian([0], [[1]]), InputError, "λ_max.* = 1 is not below 1"),
        (lambda: Interaction(1).on_gaussian([0], [[-1]]), InputError, "eigenvalue -1"),
        (lambda: Interaction(1).on_gaussian([0, 0], [[1, 2], [0, 1]]), InputError, "not symmetric"),
        (lambda: Interaction(1).first_variation(X, X[:, :2]), InputError, r"\(n, d\) and \(m, d\)"),
        (lambda: Interaction(1).first_variation(X, X, [1, 0, 0, 0, 0, 0]), InputError, "6 positive numbers"),
        (lambda: shipped_energy("interaktion", {}), InputError, "Did you mean 'interaction'"),
    ],
)
def test_refusals_name_what_is_wrong(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
