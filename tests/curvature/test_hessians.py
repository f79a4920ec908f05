"""Hessians at points of spheres: exact and in floats, against definitions, closed forms and slopes."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from sympy import E, Float, Integer, Matrix, Rational, Symbol, cos, exp, pi, simplify, sin, sqrt

import symflow
from symflow.codegen.hessians import compile_hessian
from symflow.curvature.configurations import (
    antipodal,
    consensus,
    cross_polytope,
    icosahedron,
    ngon,
    octahedron,
    simplex,
)
from symflow.curvature.form import SecondOrder, Signature
from symflow.curvature.hessian import hessian
from symflow.derive.components import explicit
from symflow.derive.critical.spectra import (
    cluster_spectrum,
    consensus_spectrum,
    polygon_spectrum,
    simplex_spectrum,
    zonal,
)
from symflow.energies import Dissipation, Exponential, Interaction, LogPartition, Pairwise
from symflow.errors import InputError
from symflow.models.energies.exponential import Exponential as ExponentialModel
from symflow.models.energies.interaction import Interaction as InteractionModel


def cloud(n, d, seed):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def tangents(x, seed):
    v = np.random.default_rng(seed).normal(size=x.shape)
    return v - np.einsum("id,id->i", v, x)[:, None] * x


def floats(rows):
    return np.array([[float(entry) for entry in row] for row in rows])


# ---- S021: the curvature of the sphere counts ------------------------------------------------------------


def test_the_hessian_at_consensus():
    # S021
    beta, n, d = Fraction(3, 2), 4, 3
    found = hessian(Interaction(beta), consensus(n, d))
    assert found.eigenvalues() == [-exp(Rational(3, 2)) / n] * ((n - 1) * (d - 1)) + [0] * (d - 1)
    assert found.signature() == (6, 2, 0)  # semidefinite, not definite
    rng = np.random.default_rng(1)
    for _ in range(5):
        v = [[0, *map(int, rng.integers(-5, 6, d - 1))] for _ in range(n)]
        squares = sum(c * c for row in v for c in row)
        together = sum(sum(row[k] for row in v) ** 2 for k in range(d))
        value = -exp(Rational(3, 2)) * (n * squares - together) / Integer(n) ** 2
        assert simplify(found.form(v) - value) == 0
        assert found.metric(v) == squares
    assert found.form([[0, 1, 2]] * n) == 0


def test_large_beta_does_not_hide_a_sign():
    # the pair of a token with itself is e^50, three hundred million times the eigenvalues of the pentagon
    found = hessian(Interaction(50), floats(ngon(5)))
    exact = hessian(Interaction(50), ngon(5))
    assert found.signature() == exact.signature() == (0, 1, 4)
    np.testing.assert_allclose(found.eigenvalues()[1:], np.array(exact.eigenvalues()[1:], float), rtol=1e-12)
    assert hessian(Interaction(50), floats(consensus(5, 3))).signature() == (8, 2, 0)


# ---- slopes ----------------------------------------------------------------------------------------------

ENERGIES = {
    "interaction": (Interaction(1.5), "sphere"),
    "dissipation": (Dissipation(-2.0), "sphere"),
    "exponential": (Exponential([[1.0, 0.5, 0.0]], [[0.5, -1.0, 1.0]]), "sphere"),
    "exponential in space": (Exponential([[1.0, 0.5, 0.0]], [[0.5, -1.0, 1.0]]), "euclidean"),
    "distance and potential": (
        Pairwise("1/(2 + norm2(x - A*y))", "dot(b, x)**3", A=[[1, 2, 0], [0, 1, 0], [0, 0, 3]], b=[1, 0, 2]),
        "sphere",
    ),
}


def value_in_digits(energy, x):
    """Return F by its definition with 40 digits, at rows of mpmath numbers."""
    s, values, n = energy.statement(), energy.exact(), len(x)
    sizes = dict.fromkeys(s.dimensions, 1) | {s.dimensions[0]: len(x[0])}
    known = {p: values[p.name] for p in s.parameters}
    known = {p: Matrix(v) if isinstance(v, list) else Rational(v) for p, v in known.items()}

    def number(expression, rows):
        tokens = {token: Matrix([Float(c, 40) for c in row]) for token, row in rows.items()}
        return mpmath.mpf(str(Float(explicit(expression, {**known, **tokens}, sizes).evalf(40), 40)))

    pairs = sum(number(s.pair, {s.x: a, s.y: b}) for a in x for b in x)
    return pairs / (2 * n * n) + sum(number(s.potential, {s.x: a}) for a in x) / n


@pytest.mark.parametrize("name", ENERGIES)
def test_the_remainder_along_geodesics_is_of_third_order(name):
    energy, space = ENERGIES[name]
    x = cloud(2, 3, 3) if space == "sphere" else np.random.default_rng(3).normal(size=(2, 3)) / 2
    v = tangents(x, 4) if space == "sphere" else np.random.default_rng(4).normal(size=x.shape)
    second = hessian(energy, x, space=space).form(v)
    slope = float((compile_hessian(energy, space, backend="numpy").gradient(x) * v).sum())
    with mpmath.workdps(40):
        digits = np.vectorize(mpmath.mpf, otypes=[object])
        x, v = digits(x), digits(v)

        def place(t):
            if space == "euclidean":
                return x + t * v
            speeds = [mpmath.sqrt(w @ w) for w in v]
            circles = zip(x, v, speeds, strict=True)
            return [mpmath.cos(s * t) * a + mpmath.sin(s * t) / s * w for a, w, s in circles]

        start = value_in_digits(energy, place(mpmath.mpf(0)))
        rests = []
        for h in (mpmath.mpf(2) ** -k for k in (9, 10, 11)):
            rests.append(value_in_digits(energy, place(h)) - start - h * slope - h * h / 2 * second)
        slopes = [float(mpmath.log(a / b, 2)) for a, b in itertools.pairwise(rests)]
    assert slopes == pytest.approx([3.0, 3.0], abs=0.1)


# ---- exact against floats, closed forms against exact ------------------------------------------------------


@pytest.mark.parametrize("energy", [Interaction(Fraction(3, 2)), Dissipation(2)], ids=["E", "dissipation"])
@pytest.mark.parametrize(
    ("spectrum", "at"),
    [
        (lambda e: consensus_spectrum(e, 4, 3), consensus(4, 3)),
        (lambda e: cluster_spectrum(e, 3, 2, 3), antipodal(3, 2, 3)),
        (lambda e: polygon_spectrum(e, 5), ngon(5)),
        (lambda e: polygon_spectrum(e, 4, 3), ngon(4, 3)),
        (lambda e: simplex_spectrum(e, 3, 3), simplex(3, 3)),
        (lambda e: simplex_spectrum(e, 4), simplex(4)),
    ],
    ids=["consensus", "3 + 2", "5-gon", "4-gon in space", "triangle in space", "simplex"],
)
def test_closed_forms_are_the_exact_spectra(energy, spectrum, at):
    found = hessian(energy, at)
    closed = [e for e in spectrum(energy) for _ in range(int(e.multiplicity))]
    values = sorted((value.value for value in closed), key=float)
    assert len(values) == len(at) * (len(at[0]) - 1) == len(found.eigenvalues())
    for one, other in zip(found.eigenvalues(), values, strict=True):
        assert abs((one - other).evalf(40)) < 1e-35
    signs = np.sign([round(float(value.evalf(30)), 12) for value in values])
    assert found.signature() == Signature(*(int((signs == s).sum()) for s in (-1, 0, 1)))


def test_polygons_have_the_eigenvalues_of_the_circle():
    beta, n = 1.0, 6
    found = hessian(Interaction(beta), floats(ngon(n))).eigenvalues()
    k = np.arange(1, n)
    c, s = np.cos(2 * np.pi * k / n), np.sin(2 * np.pi * k / n)
    weights = (beta * s**2 - c) * np.exp(beta * c) / n**2
    wanted = [(weights * (1 - np.cos(2 * np.pi * k * m / n))).sum() for m in range(n)]
    np.testing.assert_allclose(found, np.sort(wanted), atol=1e-15)
    assert found[-1] > 0  # a strict saddle of the ascent


def test_symbols_stay_in_closed_forms():
    n, d, beta = Symbol("n"), Symbol("d"), InteractionModel().statement().parameters[0]
    assert consensus_spectrum(InteractionModel(), n, d)[0].value == -exp(beta) / n
    triangle = simplex_spectrum(InteractionModel(), 3)[2].value
    assert simplify(triangle - (3 * beta + 2) * exp(-beta / 2) / 12) == 0
    assert cluster_spectrum(InteractionModel(), 1, 1, 2)[2].value == exp(-beta) / 2
    with pytest.raises(InputError, match="no function of the cosines"):
        zonal(ExponentialModel())


@pytest.mark.parametrize(
    ("at", "signature"), [(octahedron(), (0, 3, 9)), (simplex(4), (0, 3, 5)), (antipodal(2, 1, 3), (2, 2, 2))]
)
def test_exact_signatures(at, signature):
    assert hessian(Interaction(1), at).signature() == signature


@pytest.mark.parametrize("at", [icosahedron(), cross_polytope(4), simplex(5), ngon(7)])
def test_configurations_lie_on_the_sphere_and_are_balanced(at):
    x = floats(at)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(x.sum(axis=0), 0.0, atol=1e-14)
    gram = np.round(x @ x.T, 12)
    assert (np.sort(gram, axis=1) == np.sort(gram[0])).all()


def test_exact_and_float_agree_off_critical_points():
    at = [[Fraction(3, 5), Fraction(4, 5), 0], [0, 1, 0], [Fraction(2, 3), Fraction(-1, 3), Fraction(2, 3)]]
    energy = Exponential([[1, 2, 0]], [[Fraction(1, 2), 1, -1]])
    exact, found = hessian(energy, at), hessian(energy, floats(at))
    np.testing.assert_allclose(found.matrix, np.array(exact.matrix.tolist(), float), atol=1e-13)
    np.testing.assert_allclose(found.eigenvalues(), [float(v) for v in exact.eigenvalues()], rtol=1e-12)
    assert exact.signature() == found.signature()
    straight = hessian(energy, at, space="euclidean")
    assert len(straight.eigenvalues()) == 9
    np.testing.assert_allclose(
        np.array(straight.matrix.tolist(), float), hessian(energy, floats(at), "euclidean").matrix, atol=1e-13
    )


def test_velocities_may_have_other_roots_than_the_points():
    found = hessian(Interaction(1), ngon(5))
    turn = [[-sqrt(3) * sin(2 * pi * k / 5), sqrt(3) * cos(2 * pi * k / 5)] for k in range(5)]
    assert found.form(turn) == 0
    single = [row if k == 0 else [0, 0] for k, row in enumerate(turn)]
    diagonal = hessian(Interaction(1), floats(ngon(5))).form(floats(single))
    assert float(found.form(single)) == pytest.approx(diagonal, rel=1e-12)


# ---- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ([[1, 0], [1, 1]], r"at\[1\] has squared length 2"),
        ([[1.0, 0.0], [1.0, 0.1]], r"at\[1\] has length 1.00"),
        ([1, 0], "shape"),
        ([[1, 0], [1]], "ragged"),
        ([[1.0, float("nan")]], r"at\[0, 1\] is nan"),
    ],
)
def test_points_off_the_sphere_are_refused_by_index(at, message):
    with pytest.raises(InputError, match=message):
        hessian(Interaction(1), at)


def test_vectors_that_are_not_tangent_are_refused_by_index():
    exact = hessian(Interaction(1), [[1, 0], [0, 1]])
    with pytest.raises(InputError, match=r"v\[1\] is not tangent"):
        exact.form([[0, 1], [0, 1]])
    with pytest.raises(InputError, match="shape"):
        exact.form([[0, 1]])
    found = hessian(Interaction(1), [[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InputError, match=r"v\[0\] is not tangent"):
        found.form([[1e-3, 1.0], [0.0, 0.0]])
    leaning = found.form([[1e-12, 1.0], [0.0, 0.0]])
    assert leaning == pytest.approx(found.form([[0.0, 1.0], [0.0, 0.0]]), rel=1e-11)
    with pytest.raises(InputError, match="space"):
        hessian(Interaction(1), [[1, 0]], space="torus")
    with pytest.raises(InputError, match="tolerance"):
        exact.signature(tolerance=1e-3)


def test_numbers_beyond_doubles_are_refused_in_floats_and_fine_exactly():
    with pytest.raises(InputError, match="range of doubles"):
        hessian(Interaction(1000.0), [[0.6, 0.8], [0.6, 0.8]])
    assert hessian(Interaction(1000), [[1, 0], [1, 0]]).eigenvalues() == [-exp(1000) / 2, 0]


def test_eigenvalues_relative_to_a_metric_are_exact():
    found = SecondOrder(((2, 1), (1, 2)), (2, 1), gram=((2, 0), (0, 1)))
    wanted = [Rational(3, 2) - sqrt(3) / 2, Rational(3, 2) + sqrt(3) / 2]
    assert [simplify(a - b) for a, b in zip(found.eigenvalues(), wanted, strict=True)] == [0, 0]
    scaled = SecondOrder(((2, 1), (1, 2)), (2, 1), gram=((4, 0), (0, 4)))
    assert scaled.eigenvalues() == [Rational(1, 4), Rational(3, 4)]
    floating = SecondOrder(np.array([[2.0, 1.0], [1.0, 2.0]]), (2, 1), gram=np.diag([2.0, 1.0]))
    np.testing.assert_allclose(floating.eigenvalues(), [float(v) for v in wanted], rtol=1e-14)


@pytest.mark.parametrize("at", [[[1, 0], [0, 1]], [[1.0, 0.0], [0.0, 1.0]]], ids=["exact", "floats"])
def test_energies_that_are_no_sums_over_pairs_are_refused(at):
    with pytest.raises(InputError, match="no sum over pairs"):
        hessian(LogPartition([[1, 0], [0, 1]], [[1, 0], [0, 1]]), at)


def test_it_is_at_the_root():
    assert symflow.hessian is hessian
    assert hessian(Interaction(1), consensus(3, 2)).eigenvalues() == [-E / 3, -E / 3, 0]
