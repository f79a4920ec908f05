"""Second derivatives along geodesics from their definitions, by series in two first-order parameters."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import flint
import mpmath
import numpy as np
import pytest
from sympy import N

from symflow.algebra.text.syntax import read
from symflow.certify.propositions.convexity import CONVEXITY, NON_CONVEXITY, read_energy
from symflow.certify.search.curvature import CloudEnergy
from symflow.certify.taylor.gaussian import GaussianEnergy, MovingGaussian
from symflow.certify.taylor.geodesics import AtomicEnergy, Atoms
from symflow.certify.taylor.hyperdual import Hyperduals
from symflow.certify.taylor.matrices import Evaluation
from symflow.certify.taylor.rings import BallRing, ExactRing
from symflow.certify.terms import Rejected
from symflow.curvature.form import to_sympy
from symflow.curvature.second_variation import second_variation
from symflow.energies import Exponential, Pairwise

F = Fraction
TWISTED = NON_CONVEXITY.text
PLAIN = {**TWISTED, "parameters": {}, "metric": {"name": "wasserstein"}}
A, V = [["-1", "1/2"], ["1/2", "-2"]], [["2", "0"], ["0", "2"]]
GENERAL = {**TWISTED, "dimension": "2", "parameters": {"A": A}, "metric": {"name": "twisted", "V": V, "A": A}}


def atoms(points, velocities, weights=None):
    shares = weights or [F(1, len(points))] * len(points)
    return Atoms(tuple(shares), tuple(map(tuple, points)), tuple(map(tuple, velocities)))


FUNCTIONS = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "sigmoid": lambda u: 1 / (1 + mpmath.exp(-u)),
    "inverse": lambda u: 1 / u,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_their_derivatives(name):
    with flint.ctx.workprec(200):
        found = BallRing().jet(name, flint.arb("0.7"))
    with mpmath.workdps(40):
        for order, ball in enumerate(found):
            wanted = mpmath.diff(FUNCTIONS[name], mpmath.mpf("0.7"), order)
            assert abs(mpmath.mpf(ball.mid().str(30, radius=False)) - wanted) < 1e-12


@pytest.mark.parametrize("name", ["exp", "sqrt", "log", "sin", "cos", "tanh", "sigmoid", "inverse"])
def test_exact_values_lie_in_the_balls(name):
    at = F(1) if name in ("sqrt", "log", "inverse") else F(0)
    exact, balls = ExactRing().jet(name, at), BallRing().jet(name, BallRing().number(at))
    for one, ball in zip(exact, balls, strict=True):
        assert ball.contains(flint.arb(flint.fmpq(one.numerator, one.denominator)))


def test_a_mixed_derivative_of_a_matrix_expression():
    """The mixed derivative of ⟨x, (I + x xᵀ)⁻¹ A x⟩ against a difference quotient with 60 digits."""
    series, tree = Hyperduals(BallRing()), read("dot(x, inv(eye(d) + x*x.T)*A*x)")
    number = BallRing().number
    matrix = tuple(tuple(series.number(F(entry)) for entry in row) for row in ((1, 2), (3, -1)))

    def value(s, t):
        x = (F(1, 3) + s, F(-2, 5) + t)
        column = tuple((series.constant(number(c)),) for c in x)
        return Evaluation(series, {"x": column, "A": matrix}, {"d": 2}).number(tree).value

    with flint.ctx.workprec(256):
        start = (number(F(1, 3)), number(F(-2, 5)))
        moved = tuple((series.varied(c, number(F(k == 0)), number(F(k == 1))),) for k, c in enumerate(start))
        found = Evaluation(series, {"x": moved, "A": matrix}, {"d": 2}).number(tree).mixed
        h = F(1, 2**40)
        quotient = (value(h, h) - value(h, -h) - value(-h, h) + value(-h, -h)) / number(4 * h * h)
        assert abs(float(found - quotient)) < 1e-20  # h² times a fourth derivative


@pytest.mark.parametrize("text", ["Max(x, x)", "log(x - x)", "sqrt(-x)", "1/(x - 1/2)", "Heaviside(x)", "z"])
def test_what_has_no_second_derivative_is_refused(text):
    series = Hyperduals(ExactRing())
    values = {"x": ((series.curve(F(1, 2), F(1)),),)}
    with pytest.raises(Rejected):
        Evaluation(series, values, {"d": 1}).number(read(text))


# ---- geodesics


@pytest.mark.parametrize("d", [1, 2, 3])
def test_diracs_bend_by_the_square_of_their_distance_minus_one(d):
    energy = AtomicEnergy(read_energy(TWISTED), ExactRing(), d)
    for x in product((F(0), F(1, 2), F(-7, 5)), repeat=d):
        v = [F(2), F(-1, 3), F(1)][:d]
        second, square = energy.second_derivative(atoms([x], [v]))
        assert second == (sum(c * c for c in x) - 1) * square


def test_twisted_geodesics_agree_with_the_riemannian_hessian_exactly():
    points = [[F(1, 2), F(1)], [F(-1, 2), F(0)], [F(1), F(1, 2)]]
    velocities = [[F(1), F(2)], [F(-1), F(1, 2)], [F(0), F(3)]]
    weights = [F(1, 2), F(1, 3), F(1, 6)]
    found = AtomicEnergy(read_energy(GENERAL), ExactRing(), 2).second_derivative(
        atoms(points, velocities, weights)
    )
    matrix = [[F(entry) for entry in row] for row in A]
    known = second_variation(
        Exponential(matrix, [[1, 0], [0, 1]]), "twisted", points, weights, V=[[2, 0], [0, 2]]
    )
    for one, other in zip(found, (known.form(velocities), known.metric(velocities)), strict=True):
        assert abs(N(to_sympy(one) - other, 40)) < 1e-30


def test_great_circles_agree_with_the_known_hessian_on_the_sphere():
    """Hess E(ξ, ξ) of ½n⁻² Σ e^{βc} as GLPR23 writes it."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    xi = rng.normal(size=(3, 3))
    xi -= np.einsum("id,id->i", xi, x)[:, None] * x
    sphere = {"parameters": {"beta": "3/2"}, "space": "sphere", "dimension": "3"}
    stated = read_energy({**PLAIN, "pair": "exp(beta*dot(x, y))", **sphere})
    exact = atoms([[F(c) for c in row] for row in x], [[F(c) for c in row] for row in xi])
    found, _ = AtomicEnergy(stated, BallRing(), 3).second_derivative(exact)
    c, beta = x @ x.T, 1.5
    cross = xi @ x.T
    square = (xi**2).sum(axis=1)
    bracket = beta * (cross + cross.T) ** 2 + 2 * xi @ xi.T - (square[:, None] + square[None]) * c
    assert float(found) == pytest.approx((beta * np.exp(beta * c) * bracket).sum() / 18, rel=1e-12)


@pytest.mark.parametrize(
    ("statement", "n", "d"),
    [(GENERAL, 3, 2), ({**PLAIN, "pair": "exp(-norm2(x - y)) + tanh(dot(x, y))",
                        "potential": "sqrt(1 + norm2(x))"}, 2, 2)],
)  # fmt: skip
def test_the_energy_along_a_curve_departs_by_its_third_order(statement, n, d):
    """The rest after the second order along x + tv + ½t²a falls by 8 when t halves."""
    stated = read_energy(statement)
    rng = np.random.default_rng(5)
    points, velocities = (
        [[F(int(c), 16) for c in row] for row in rng.integers(-16, 16, (n, d))] for _ in "ab"
    )
    with flint.ctx.workprec(200):
        ring = BallRing()
        energy = AtomicEnergy(stated, ring, d)
        weights = [ring.number(F(1, n))] * n
        x, v = (energy._numbers(part) for part in (points, velocities))
        a, _ = energy._geodesic(weights, x, v)

        def series(t):
            moved = [
                [p + t * q + t * t / 2 * r for p, q, r in zip(*parts, strict=True)]
                for parts in zip(x, v, a, strict=True)
            ]
            curves = [
                tuple((energy._series.curve(p, q, r),) for p, q, r in zip(*parts, strict=True))
                for parts in zip(moved, v, a, strict=True)
            ]
            return energy._energy(weights, curves)

        start = series(ring.number(F(0)))
        rests = []
        for k in range(8, 12):
            t = ring.number(F(1, 2**k))
            rest = series(t).value - start.value - t * start.first - t * t / 2 * start.mixed
            rests.append(abs(float(rest)))
    slopes = np.diff(np.log2(rests)) * -1
    assert np.all(np.abs(slopes - 3) < 0.1)


def test_the_float_search_agrees_with_the_series():
    """The search uses Christoffel symbols, the replay the equation of geodesics."""
    rng = np.random.default_rng(1)
    for statement, n, d in ((GENERAL, 3, 2), ({**PLAIN, "pair": "exp(-norm2(x - y))"}, 3, 2)):
        stated = read_energy(statement)
        found = CloudEnergy(stated, d).bending(np.round(16 * rng.normal(size=(2, n, d))) / 16)
        for points, velocities, ratio in zip(found.points, found.velocities, found.ratios, strict=True):
            cloud = atoms(*([[F(c) for c in row] for row in part] for part in (points, velocities)))
            second, square = AtomicEnergy(stated, BallRing(), d).second_derivative(cloud)
            assert float(square) == pytest.approx(1.0)
            assert float(second) == pytest.approx(ratio, rel=1e-9, abs=1e-12)


def test_straight_lines_agree_with_the_second_variation():
    energy = Pairwise("exp(-norm2(x - y))", "norm2(x)**2")
    points, velocities = [[F(1), F(0)], [F(0), F(1, 2)]], [[F(1), F(1)], [F(-1), F(2)]]
    stated = read_energy({**PLAIN, "pair": "exp(-norm2(x - y))", "potential": "norm2(x)**2"})
    found, _ = AtomicEnergy(stated, ExactRing(), 2).second_derivative(atoms(points, velocities))
    known = second_variation(energy, "wasserstein", points).form(velocities)
    assert abs(N(to_sympy(found) - known, 40)) < 1e-30


LAW = MovingGaussian(
    mean=(F(1), F(-1, 2)),
    covariance=((F(1, 2), F(1, 8)), (F(1, 8), F(1, 4))),
    shift=(F(1), F(2)),
    slope=((F(1), F(-1, 2)), (F(-1, 2), F(3))),
)


@pytest.mark.parametrize(
    ("pair", "potential"),
    [
        ("dot(x, y) - norm2(x - y)", "2*norm2(x)"),
        ("exp(-norm2(x - y))", ""),
        ("exp(dot(x, y)/2)", "norm2(x)/2"),
    ],
)
def test_gaussian_laws_agree_with_the_bures_variation(pair, potential):
    stated = read_energy({**PLAIN, "pair": pair, "potential": potential, "metric": {"name": "bures"}})
    with flint.ctx.workprec(128):
        found = float(GaussianEnergy(stated, BallRing(), 2).second_derivative(LAW))
    mean, cov, shift, slope = (np.array(part, dtype=float) for part in vars(LAW).values())
    known = second_variation(Pairwise(pair, potential), "bures", SimpleNamespace(mean=mean, cov=cov))
    moved = slope @ cov + cov @ slope
    velocity = np.concatenate([shift, moved[np.triu_indices(2)]])
    assert found == pytest.approx(velocity @ known.entries @ velocity, rel=1e-10)
    assert float(LAW.square) == pytest.approx(velocity @ known.gram @ velocity, rel=1e-10)


def test_a_gaussian_law_of_infinite_energy_is_refused():
    stated = read_energy({**PLAIN, "pair": "exp(2*dot(x, y))", "metric": {"name": "bures"}})
    with pytest.raises(Rejected, match="infinite"):
        GaussianEnergy(stated, BallRing(), 2).second_derivative(LAW)


@pytest.mark.parametrize(
    ("V", "A", "message"),
    [
        ([["1", "0"], ["0", "1"]], [["0", "1"], ["-1", "0"]], "symmetric A"),
        ([["1", "0"], ["0", "0"]], [["1", "0"], ["0", "1"]], "invertible V"),
        ([["1", "0"], ["0", "-1"]], [["1", "0"], ["0", "1"]], "definite"),
        ([["1", "1"], ["0", "1"]], [["2", "0"], ["0", "1"]], "definite"),
    ],
)
def test_the_twisted_metric_needs_its_conditions(V, A, message):
    stated = read_energy({**GENERAL, "parameters": {"A": A}, "metric": {"name": "twisted", "V": V, "A": A}})
    with pytest.raises(Rejected, match=message):
        AtomicEnergy(stated, ExactRing(), 2)


def test_the_scope_says_what_is_denied():
    assert CONVEXITY.denial(TWISTED).startswith(
        "denied: F = ½∬(exp(dot(x, A*y)))dμdμ, A = −I, V = I is convex"
    )
