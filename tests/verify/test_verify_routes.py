"""The independent routes of verification agree with closed forms that share no code with them."""

import numpy as np
import pytest
from scipy.linalg import expm, sqrtm

from symflow.derive.closure import gaussian_closure
from symflow.errors import InputError, SymflowError
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.verify.components import closure_by_components
from symflow.verify.definition import drift_from, mixed_part, on_grid, on_lattice, velocity_at_fifty_digits
from symflow.verify.evaluate import context
from symflow.verify.measures import MARGINALS, gauss_hermite, scaling, score
from symflow.verify.places import Law, Place, integrals, places
from symflow.verify.points import POSITIONS, Point, random_points
from symflow.verify.subject import Scale
from symflow.verify.tokens import (
    _less_biased,
    bound,
    drift_of_tokens,
    moments_of_particles,
    standard_errors,
    with_useful_variance,
)

A, V = np.array([[0.3, 0.7], [-0.2, -0.5]]), np.array([[1.0, 0.5], [0.0, 2.0]])
MEAN, COV = np.array([0.1, -0.4]), np.array([[1.0, 0.25], [0.25, 0.5]])
HERE = Place((Law(1.0, MEAN, COV),))
SIZES = {"d": 2}
ROUNDING = 1e-12


def against(statement, params, place, mean, half, sizes=SIZES, noise=0.0):
    """Compare components and the integral of the definition with α' and LΣ."""
    cov = half + half.T + 2 * noise * np.eye(len(mean))
    found = closure_by_components(statement, params, sizes, place)
    np.testing.assert_allclose(np.array(found[0], float).ravel(), mean, rtol=ROUNDING)
    np.testing.assert_allclose(np.array(found[1], float), cov, rtol=ROUNDING, atol=1e-14)
    scaled = statement.heads[0].normalise == "sinkhorn"
    field = (on_grid if scaled else on_lattice)(statement, params, sizes, place)
    alpha, sigma, residual = drift_from(place, field, noise)
    np.testing.assert_allclose(alpha, mean, rtol=1e-11)
    np.testing.assert_allclose(sigma, cov, rtol=1e-11, atol=1e-13)
    assert residual <= MARGINALS


def test_softmax():
    statement = Softmax().statement({"A", "V"})
    against(statement, {"A": A, "V": V}, HERE, V @ (MEAN + COV @ A @ MEAN), V @ COV @ A @ COV)


def test_linear_with_a_layer_and_noise():
    statement = Linear(feed_forward=True, diffusion=0.25).statement({"A", "V", "W", "c"})
    W, c = np.array([[0.5, -1.0], [0.0, 0.25]]), np.array([1.0, -2.0])
    second = COV + np.outer(MEAN, MEAN)
    mean = V @ second @ A @ MEAN + W @ MEAN + c
    against(statement, {"A": A, "V": V, "W": W, "c": c}, HERE, mean, (V @ second @ A + W) @ COV, noise=0.25)


def test_a_kernel_of_degree_two_is_averaged_by_steins_identity():
    statement = Attention("dot(x, A*x)*0 + dot(c, y)*dot(c, y) + dot(c, x)", normalise="none").statement()
    c = np.array([0.5, -1.5])
    s, m = COV @ c, MEAN @ c
    mean = V @ (2 * m * s + MEAN * (c @ s + m * m) + MEAN * m)
    against(statement, {"A": A, "V": V, "c": c}, HERE, mean, np.outer(V @ MEAN, c) @ COV)


@pytest.mark.parametrize("bilinear", [A, np.array([[0.5, 1.0], [0.25, 0.5]]), np.zeros((2, 2))])
def test_sinkhorn_with_non_symmetric_and_singular_matrices(bilinear):
    """CACP25: L = (2/ε)VΣĀ(I + (I + 4ΣĀᵀΣĀ)^{1/2})⁻¹ with Ā = A/ε."""
    epsilon = 0.75
    statement = Sinkhorn(temperature="3/4").statement({"A", "V"})
    scaled = bilinear / epsilon
    root = sqrtm(np.eye(2) + 4 * COV @ scaled.T @ COV @ scaled)
    half = (2 / epsilon) * V @ COV @ scaled @ np.linalg.inv(np.eye(2) + root) @ COV
    against(statement, {"A": bilinear, "V": V}, HERE, V @ MEAN / epsilon, half)


def test_heads_are_added_with_their_own_matrices():
    statement = MultiHead(Softmax()).statement({"A", "V", "W"})
    rng = np.random.default_rng(2)
    heads = {"A": rng.normal(size=(2, 2, 2)) / 2, "V": rng.normal(size=(2, 1, 2))}
    heads["W"] = rng.normal(size=(2, 2, 1))
    each = [(w @ v, a) for w, v, a in zip(heads["W"], heads["V"], heads["A"], strict=True)]
    mean = sum(v @ (MEAN + COV @ a @ MEAN) for v, a in each)
    half = sum(v @ COV @ a @ COV for v, a in each)
    against(statement, heads, HERE, mean, half, {"d": 2, "m": 1, "H": 2})


def test_positions_see_those_before_them():
    model = Masked(Linear())
    statement, flow = (
        model.statement({"A", "V"}),
        gaussian_closure(model.with_symbolic_scale(), {"A", "V"}).flow,
    )
    (point,) = random_points(flow, 2, 1, 0)
    params = {name: point.params[name] for name in ("A", "V", "theta")}
    at = places(statement, point)
    assert [len(place.laws) for place in at] == list(range(1, POSITIONS + 1))
    scale = point.params["beta"] / point.params["temperature"]
    exact = Scale.at(flow, point).exact[0]
    second = np.zeros((2, 2))
    for s, place in enumerate(at):
        law = place.own
        second += law.weight * (law.cov + np.outer(law.mean, law.mean))
        gradient = params["V"] @ second @ params["A"]
        against(statement, params, place, gradient @ law.mean, gradient @ law.cov, point.sizes)
        derived = [float(exact[2 * s + i, 0]) for i in range(2)]
        np.testing.assert_allclose(derived, scale * gradient @ law.mean, rtol=1e-13)


def test_quadrature_on_the_line_reaches_fifty_digits():
    statement = L2().statement({"Q", "K", "V"})
    params = {"Q": np.array([[0.5]]), "K": np.array([[0.75]]), "V": np.array([[2.0]])}
    ctx = context()
    place = Place((Law(1.0, np.array([0.25]), np.array([[1.5]])),))
    found = velocity_at_fifty_digits(statement, params, {"d": 1, "k": 1}, place, ctx.mpf(-0.5), ctx)
    m, s, q, k, x = (ctx.mpf(v) for v in (0.25, 1.5, 0.5, 0.75, -0.5))
    wanted = 2 * (m + 2 * s * k * q * x) / (1 + 2 * s * k**2)
    assert abs(found - wanted) < ctx.mpf(10) ** -45


def test_moments_on_the_line_reach_fifty_digits():
    statement = Linear().statement({"A", "V"})
    params = {"A": np.array([[0.5]]), "V": np.array([[2.0]])}
    ctx = context()
    place = Place((Law(1.0, np.array([0.25]), np.array([[1.5]])),))
    found = velocity_at_fifty_digits(statement, params, {"d": 1}, place, ctx.mpf(-0.5), ctx)
    assert abs(found + (ctx.mpf(1.5) + ctx.mpf(0.0625)) / 2) < ctx.mpf(10) ** -45


def test_components_refuse_a_diverging_normaliser():
    statement = Attention("dot(y, x) + dot(y, C*y)/2").statement()
    params = {"C": np.array([[3.0]]), "V": np.array([[1.0]])}
    place = Place((Law(1.0, np.array([0.0]), np.array([[1.0]])),))
    with pytest.raises(InputError, match="diverges"):
        closure_by_components(statement, params, {"d": 1}, place)


def test_a_scaled_kernel_has_both_marginals():
    statement = Sinkhorn().statement({"A", "V"})
    (term,) = integrals(statement, {"A": A, "V": V}, SIZES)
    np.testing.assert_allclose(mixed_part(statement, term, SIZES, 2), A, rtol=1e-15)
    grid = gauss_hermite(HERE.own, 20)
    assert len(grid.nodes) <= 3000
    exponent = score(statement, term, SIZES, grid.nodes, grid.nodes)
    log_b, residual = scaling(exponent, grid.logs)
    assert residual <= MARGINALS
    kernel, mass = np.exp(exponent + log_b), np.exp(grid.logs)
    kernel /= (kernel @ mass)[:, None]
    np.testing.assert_allclose(mass @ np.abs(mass @ kernel - 1.0), 0.0, atol=1e-12)
    np.testing.assert_allclose(mass @ grid.nodes, MEAN, atol=1e-13)


def test_a_kernel_without_a_scaling_is_refused():
    """[[1, 1], [1, 0]] has no doubly stochastic scaling: the iteration crawls for ever."""
    with pytest.raises(SymflowError, match="doubly stochastic"):
        scaling(np.array([[0.0, 0.0], [0.0, -700.0]]), np.log([0.5, 0.5]))


def test_halves_take_the_first_order_of_the_bias_away():
    tokens = np.random.default_rng(0).normal(size=(1, 64, 2))
    (found,) = _less_biased(lambda cloud: [cloud.mean(axis=(0, 1)) + 3.0 / cloud.shape[1]], tokens)
    np.testing.assert_allclose(found, tokens.mean(axis=(0, 1)), atol=1e-14)


@pytest.mark.parametrize("model", [Softmax(), Sinkhorn(), Linear()])
def test_tokens_agree_within_a_small_standard_error(model):
    statement = model.statement({"A", "V"})
    point = Point("", SIZES, (MEAN, COV), {"A": A, "V": V})
    assert with_useful_variance(statement, point) is point
    exact = [np.array(m, float) for m in closure_by_components(statement, point.params, SIZES, HERE)]
    expected = (exact[0].ravel(), exact[1])
    estimates = drift_of_tokens(statement, point, np.random.default_rng(3))
    error, numbers = standard_errors(estimates, expected, 1e-13)
    assert numbers == 6
    assert error < bound(numbers)  # p ≤ 1e-6 for a correct estimator, and the seed is fixed
    wrong, _ = standard_errors(estimates, (1.1 * expected[0], 1.3 * expected[1]), 1e-13)
    assert wrong > bound(numbers)


def test_standard_errors_of_what_does_not_depend_on_tokens():
    constant = [np.ones((24, 2))]
    assert standard_errors(constant, (np.ones(2),), 0.0) == (0.0, 2)
    assert standard_errors(constant, (np.array([1.0, 1.5]),), 0.0) == (np.inf, 2)
    assert standard_errors(constant, (np.array([1.0, np.nan]),), 1.0) == (np.inf, 2)
    assert standard_errors(constant, (np.array([1.0, 1.5]),), 0.25) == (2.0, 2)


def test_particles_without_attention_are_an_ornstein_uhlenbeck_process():
    statement = Softmax(sign=0, feed_forward=True, diffusion=0.5).statement({"A", "V", "W", "c"})
    W, c, end = np.array([[-1.0, 0.5], [0.0, -0.5]]), np.array([0.5, 1.0]), 0.5
    point = Point("", SIZES, (MEAN, COV), {"A": A, "V": V, "W": W, "c": c})
    estimates = moments_of_particles(statement, point, end, np.random.default_rng(4))
    flow = expm(W * end)
    mean = flow @ MEAN + np.linalg.solve(W, (flow - np.eye(2)) @ c)
    # Σ_t = e^{tW}(Σ − Σ*)e^{tWᵀ} + Σ*, WΣ* + Σ*Wᵀ = −2εI
    unit = np.eye(2)
    stationary = np.linalg.solve(np.kron(W, unit) + np.kron(unit, W), -np.eye(2).ravel()).reshape(2, 2)
    cov = flow @ (COV - stationary) @ flow.T + stationary
    error, numbers = standard_errors(estimates, (mean, cov), 1e-13)
    assert error < bound(numbers)
    assert standard_errors(estimates, (mean, cov + 0.2 * unit), 1e-13)[0] > bound(numbers)
