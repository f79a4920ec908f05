"""Second variations as numbers: known values, exactness, geodesics, limits, refusals."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from sympy import E, Rational, exp, sqrt

import symflow
from symflow import second_variation
from symflow.curvature.geodesics import geodesic
from symflow.curvature.second_variation import tokens_at
from symflow.energies import Entropy, Exponential, Interaction, Pairwise
from symflow.errors import InputError


def repulsion(d: int) -> Exponential:
    """Return the energy of V = I, A = −I."""
    return Exponential((-np.eye(d, dtype=int)).tolist(), np.eye(d, dtype=int).tolist())


def identity(d: int) -> list[list[int]]:
    return np.eye(d, dtype=int).tolist()


class Law:
    """A Gaussian law with exact numbers."""

    def __init__(self, mean: Any, cov: Any) -> None:
        self.mean, self.cov = mean, cov


def cloud(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.5, n)
    return 0.6 * rng.normal(size=(n, d)), rng.normal(size=(n, d)), weights / weights.sum()


# ------------------------------------------------------------------------------------- known values


@pytest.mark.parametrize(("x", "v"), [([2], [3]), ([F(1, 2), 1], [1, -2]), ([1, 0, F(1, 3)], [2, 5, -1])])
def test_diracs_have_the_value_of_the_paper_in_every_direction(x: Any, v: Any) -> None:
    found = second_variation(repulsion(len(x)), "twisted", [x], V=identity(len(x)))
    square = sum(F(c) * F(c) for c in x)
    assert found.form([v]) == Rational(square - 1) * found.metric([v])
    assert found.metric([v]) == sum(c * c for c in v) * exp(-Rational(square))


def test_centred_gaussians_on_the_line_have_the_value_of_the_paper() -> None:
    for s in (F(1, 3), F(9, 10)):
        found = second_variation(repulsion(1), "twisted", Law([0], [[s]]), V=[[1]])
        assert found.form(1) / found.metric(1) == Rational(3 * s / (1 - s * s))
        assert found.metric(1) ** 2 == Rational((1 / (4 * s)) ** 2 / (1 - s * s) ** 3)
    assert (
        second_variation(repulsion(1), "twisted", Law([0], [[F(1, 2)]]), V=[[1]]).form(1) == 8 * sqrt(3) / 9
    )


@pytest.mark.parametrize("d", [1, 2, 3])
def test_two_tokens_show_that_repulsion_is_not_convex(d: int) -> None:
    x = [[F(i + j, 7) for j in range(d)] for i in range(2)]
    found = second_variation(repulsion(d), "twisted", x, V=identity(d))
    assert found.signature().negative > 0
    assert found.exact


def test_negative_attraction_in_w2_is_the_hessian_of_the_pair() -> None:
    found = second_variation(Exponential([[1]], [[1]]), "wasserstein", [[1], [-1]])
    # F = (e^{x²} + e^{y²} + 2e^{xy})/8: ∂²F/∂x² = (6e + 2e⁻¹)/8 at (1, −1), ∂²F/∂x∂y = 2(e⁻¹ − e⁻¹)/8
    assert found.matrix[0, 0] == 3 * E / 4 + exp(-1) / 4
    assert found.matrix[0, 1] == 0
    assert found.metric([[1], [1]]) == 1
    assert found.eigenvalues("metric") == [2 * value for value in found.eigenvalues()]


# -------------------------------------------------------------------------------- exact against floats


@pytest.mark.parametrize("metric", ["wasserstein", "twisted"])
def test_floats_agree_with_exact_numbers(metric: str) -> None:
    x = [[F(1, 2), 0], [F(1, 3), F(1, 5)], [-1, F(1, 4)]]
    weights, v = [F(1, 6), F(1, 3), F(1, 2)], [[1, 2], [0, 1], [F(1, 2), 1]]
    extra: dict[str, Any] = {"V": [[2, 0], [0, 1]]} if metric == "twisted" else {}
    exact = second_variation(repulsion(2), metric, x, weights, **extra)
    floats = second_variation(repulsion(2), metric, np.array(x, float), weights, **extra)
    numbers = np.array(v, float)
    assert floats.form(numbers) == pytest.approx(float(exact.form(v)), rel=1e-12)
    assert floats.metric(numbers) == pytest.approx(float(exact.metric(v)), rel=1e-12)
    np.testing.assert_allclose(floats.matrix, np.array(exact.matrix, float), rtol=1e-11, atol=1e-13)
    flat = numbers.ravel()
    assert flat @ floats.matrix @ flat == pytest.approx(floats.form(numbers), rel=1e-12)
    assert tuple(exact.signature()) == tuple(floats.signature())
    assert len(floats.eigenvalues("metric")) == 6


def test_blocks_of_pairs_give_the_sum_over_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    x, v, weights = cloud(7, 2)
    whole = second_variation(repulsion(2), "twisted", x, weights, V=identity(2)).form(v)
    monkeypatch.setattr("symflow.curvature.pairs._BLOCK", 20)
    parts = second_variation(repulsion(2), "twisted", x, weights, V=identity(2)).form(v)
    assert parts == pytest.approx(whole, rel=1e-13)


def test_a_thousand_tokens_need_no_matrix() -> None:
    x, v, weights = cloud(1000, 3)
    found = second_variation(repulsion(3), "twisted", x, weights, V=identity(3))
    assert np.isfinite(found.form(v))
    assert "entries" not in vars(found)


# --------------------------------------------------------------------------------------- Taylor slopes


def _remainder_order(energy: Any, metric: str, at: Any, v: Any, weights: Any = None, **extra: Any) -> float:
    """Return the order of F(t) − F(0) − tF' − ½t²F'' in t; F' is an extrapolated difference."""
    second = second_variation(energy, metric, at, weights, **extra).form(v)
    times = np.geomspace(2e-3, 1.6e-2, 4)
    steps = np.array([1e-3, 2e-3])
    curve = geodesic(energy, metric, at, v, [0, *times, *steps, *-steps], weights, **extra).energy
    start, moved, ahead, behind = curve[0], curve[1:5], curve[5:7], curve[7:]
    slopes = (ahead - behind) / (2 * steps)
    slope = (4 * slopes[0] - slopes[1]) / 3
    remainder = np.abs(moved - start - times * slope - times**2 / 2 * second)
    return float(np.polyfit(np.log(times), np.log(remainder), 1)[0])


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("metric", ["wasserstein", "twisted"])
@pytest.mark.parametrize("kind", ["exponential", "interaction"])
def test_remainders_on_tokens_are_cubic(d: int, metric: str, kind: str) -> None:
    x, v, weights = cloud(4, d, seed=9)  # third derivatives along these are not small
    energy = repulsion(d) if kind == "exponential" else Interaction(2.0)
    extra = {"V": identity(d), "A": (-np.eye(d)).tolist()} if metric == "twisted" else {}
    assert _remainder_order(energy, metric, x, v, weights, **extra) == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_remainders_on_bures_geodesics_are_cubic(d: int) -> None:
    rng = np.random.default_rng(d + 40)
    factor, change = rng.normal(size=(d, d)) / 6, rng.normal(size=(d, d)) / 2
    law = symflow.Gaussian(rng.normal(size=d) / 2, factor @ factor.T + 0.1 * np.eye(d))
    v = (rng.normal(size=d), change + change.T)
    assert _remainder_order(repulsion(d), "bures", law, v) == pytest.approx(3.0, abs=0.1)


# ------------------------------------------------------------------------------ runs and mean-field limits


@pytest.mark.parametrize("sign", [-1, 1])
def test_along_compiled_gradient_flows_the_energy_curves_by_twice_the_hessian(sign: int) -> None:
    """d²F/dt² = 2 Hess F(Γ, Γ) where Γ = ± grad F, A = ±[[1, .2], [.2, .5]], V = diag(1, 1)."""
    matrix = sign * np.array([[1.0, 0.2], [0.2, 0.5]])
    x, _, _ = cloud(5, 2, seed=7)
    params = {"A": matrix, "V": np.eye(2)}
    step, times = 1e-2, 1e-2 * np.arange(5)
    run = symflow.solve(symflow.Softmax(), x, params, (0.0, times[-1]), t_eval=times, rtol=1e-12, atol=1e-13)
    energy = Exponential(matrix, np.eye(2))
    values = energy.value(run.x)
    seen = np.array([-1, 16, -30, 16, -1]) @ values / (12 * step**2)
    scores = np.exp(run.x[2] @ matrix @ run.x[2].T)
    velocity = scores @ run.x[2] / scores.sum(axis=1, keepdims=True)
    found = second_variation(energy, "twisted", run.x[2], V=np.eye(2))
    assert seen == pytest.approx(2 * found.form(velocity), rel=1e-6)
    slope = np.array([1, -8, 0, 8, -1]) @ values / (12 * step)
    assert slope == pytest.approx(sign * found.metric(velocity), rel=1e-6)


@pytest.mark.parametrize(("mean", "change"), [(0.0, (0.0, 1.0)), (0.4, (0.7, -0.5)), (0.4, (1.0, 0.0))])
def test_gaussian_values_on_the_line_are_limits_of_tokens(mean: float, change: tuple[float, float]) -> None:
    """Gauss–Hermite nodes as weighted tokens: sums over pairs converge to the averages."""
    s = 0.3
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    x, weights = mean + np.sqrt(s) * nodes, weights / weights.sum()
    keep = weights > 1e-40
    x, weights = x[keep], weights[keep] / weights[keep].sum()
    velocity = change[0] + change[1] / (2 * s) * (x - mean)
    tokens = second_variation(repulsion(1), "twisted", x[:, None], weights, V=[[1]])
    law = second_variation(repulsion(1), "twisted", symflow.Gaussian([mean], [[s]]), V=[[1]])
    assert law.form(change) == pytest.approx(tokens.form(velocity[:, None]), rel=1e-8)
    assert law.metric(change) == pytest.approx(tokens.metric(velocity[:, None]), rel=1e-8)


def test_gaussian_values_in_the_plane_are_limits_of_tokens() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    product = np.outer(weights, weights).ravel()
    product /= product.sum()
    factor, mean = np.array([[0.5, 0.0], [0.2, 0.4]]), np.array([0.2, -0.1])
    x = mean + grid @ factor.T
    law = symflow.Gaussian(mean, factor @ factor.T)
    found = second_variation(repulsion(2), "twisted", law, V=[[2, 0], [0, 1]])
    tangent = [column for (column,) in found.frame]
    drift, linear = found.tangent(tangent)
    velocity = np.array(drift, float)[:, 0] + (x - mean) @ np.array(linear, float).T
    tokens = second_variation(repulsion(2), "twisted", x, product, V=[[2, 0], [0, 1]])
    assert found.form(tangent) == pytest.approx(tokens.form(velocity), rel=1e-6)
    assert found.metric(tangent) == pytest.approx(tokens.metric(velocity), rel=1e-6)
    assert found.matrix @ tangent @ tangent == pytest.approx(found.form(tangent), rel=1e-12)


def test_isotropic_scaling_is_the_gradient_direction() -> None:
    found = second_variation(
        repulsion(2), "twisted", Law([0, 0], [[F(1, 2), 0], [0, F(1, 2)]]), V=identity(2)
    )
    assert found.form(identity(2)) == Rational(13, 6) * found.metric(identity(2))
    assert found.signature() == (0, 0, 1)
    assert found.eigenvalues("metric") == [Rational(13, 6)]
    assert found.eigenvalues() == [found.form(identity(2)) / 2]  # two coordinates are one
    with pytest.raises(InputError, match="no multiple of the one direction"):
        found.form([[1, 0], [0, 2]])


def test_coordinates_of_bures_tangents() -> None:
    found = second_variation(
        repulsion(2), "bures", Law([0, F(1, 3)], [[F(1, 2), F(1, 8)], [F(1, 8), F(1, 4)]])
    )
    pair, row = ([1, 2], [[3, 4], [4, 5]]), [1, 2, 3, 4, 5]
    assert found.form(pair) == found.form(row)
    flat = np.array(row)
    matrix = np.array(found.matrix, float)
    assert flat @ matrix @ flat == pytest.approx(float(found.form(pair)), rel=1e-12)
    assert found.signature().negative + found.signature().positive == 5


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "extra", "message"),
    [
        (("fisher", [[1]]), {}, "metric = 'fisher' is unknown"),
        (("twisted", [[1]]), {}, "needs V"),
        (("twisted", [[1]]), {"V": [[0]]}, "V is singular"),
        (("twisted", [[1]]), {"V": [[1]], "A": [[1, 0]]}, "A must be a matrix"),
        (("wasserstein", [[1], [2]], [1, 0]), {}, r"weights\[1\] = 0 is not positive"),
        (("wasserstein", [[1], [2]], [1, 1]), {}, "weights add up to 2"),
        (("wasserstein", [1, 2]), {}, "give tokens of shape"),
        (("wasserstein", [[1, 2]]), {}, "the law lives in 2 dimensions"),
        (("bures", [[1]]), {}, "give a Gaussian"),
        (("twisted", Law([0], [[1]])), {"V": [[1]]}, "outside the domain"),
        (("bures", Law([0], [[2]])), {}, "outside the domain"),
        (("bures", Law([0], [[0]])), {}, "not positive definite"),
    ],
)
def test_refusals_name_argument_and_remedy(arguments: Any, extra: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        second_variation(repulsion(1), *arguments, **extra)


def test_conditions_of_the_twisted_metric_are_checked() -> None:
    for V, A, message in [
        ([[1, 0], [0, -1]], None, "indefinite"),
        ([[1, 1], [0, 1]], None, "A V⁻¹ is not symmetric"),
        (identity(2), [[1, 2], [0, 1]], "A is not symmetric"),
        (identity(2), [[1, 1], [1, 1]], "A is singular"),
    ]:
        with pytest.raises(InputError, match=message):
            second_variation(repulsion(2), "twisted", [[1, 0]], V=V, A=A)
    with pytest.raises(InputError, match="give A="):
        second_variation(Interaction(1.0), "twisted", [[1, 0]], V=identity(2))


def test_numbers_beyond_doubles_are_refused_and_exact_ones_are_not() -> None:
    attraction = Exponential([[1]], [[1]])
    for metric, extra in (("wasserstein", {}), ("twisted", {"V": [[1]]})):
        found = second_variation(attraction, metric, [[30.0], [20.0]], **extra)
        with pytest.raises(InputError, match="exceeds the range of doubles"):
            found.form([[1.0], [1.0]])
        with pytest.raises(InputError, match="exceeds the range of doubles"):
            found.matrix  # noqa: B018
        assert second_variation(attraction, metric, [[30], [20]], **extra).signature() == (0, 0, 2)


def test_a_users_energy_on_tokens_and_gaussians() -> None:
    own = Pairwise("exp(-norm2(x - y))", "dot(x, c)", c=[1, 2])
    tokens = second_variation(own, "wasserstein", [[1, 0], [0, 1]])
    # F'' = ¼(4⟨r, q⟩² − 2|q|²)e^{−|r|²}, r = x₁ − x₂, q = v₁ − v₂, from the two pairs of different tokens
    assert tokens.form([[1, 1], [1, 2]]) == Rational(1, 4) * (4 * 1 - 2) * exp(-2)
    law = second_variation(own, "bures", symflow.Gaussian([0, 0], np.eye(2)))
    assert law.form(([1.0, 0.0], np.zeros((2, 2)))) == pytest.approx(0.0, abs=1e-15)  # translations
    squashed = Pairwise("tanh(dot(x, y))")
    assert np.isfinite(second_variation(squashed, "wasserstein", np.eye(2)).form(np.ones((2, 2))))
    with pytest.raises(InputError, match="give the tokens as floats"):
        second_variation(squashed, "wasserstein", [[1, 0], [0, 1]])


def test_energies_of_another_form_are_refused() -> None:
    with pytest.raises(InputError, match="is more than ½∬W"):
        second_variation(Entropy(), "wasserstein", [[1]])


def test_tokens_may_be_algebraic_numbers() -> None:
    found = second_variation(repulsion(2), "twisted", [[sqrt(2) / 2, sqrt(2) / 2]], V=identity(2))
    assert found.form([[1, 0]]) == 0  # |x| = 1
    assert found.signature() == (0, 2, 0)
    rational = second_variation(repulsion(2), "twisted", [[1, 0], [0, 2]], V=identity(2))
    one = float(rational.form([[1, 0], [0, 0]]))
    assert float(rational.form([[sqrt(3), 0], [0, 0]])) == pytest.approx(3 * one)
    assert rational.form([[0.5, 0], [0, 0]]) == pytest.approx(one / 4)


def test_geodesics_of_tokens_keep_their_speed() -> None:
    x, v, weights = cloud(3, 2, seed=5)
    _, twisted = tokens_at(repulsion(2), "twisted", x, weights, identity(2), None)
    assert twisted is not None
    run = geodesic(repulsion(2), "twisted", x, v, [0.0, 0.5, 0.5 + 1e-5, 0.5 - 1e-5], weights, V=identity(2))
    assert run.x is not None
    later = second_variation(repulsion(2), "twisted", run.x[1], weights, V=identity(2))
    speed = later.metric((run.x[2] - run.x[3]) / 2e-5)
    assert speed == pytest.approx(twisted.square(v), rel=1e-8)
