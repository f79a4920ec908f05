"""The independent checks can tell right from wrong, and the lattice sum reaches its digits."""

import mpmath
import pytest
from sympy import Identity, Inverse, MatPow, Matrix, Rational, Symbol, Trace, symbols

from symflow.algebra.families import FamilySum
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.derive.checks import (
    AffineField,
    AffineInQuery,
    ContinuityEquation,
    LatticeQuadrature,
    QuadraticInComponents,
    RationalPoints,
    Together,
    lattice_integral,
    lattice_mean,
)
from symflow.derive.components import explicit, spelled_out
from symflow.errors import InputError

d = dimension("d")
A, V, Sigma, L = (matrix(name, d, d) for name in ("A", "V", "Sigma", "L"))
x, y, alpha, b = (vector(name, d) for name in ("x", "y", "alpha", "b"))


def test_lattice_mean_has_fifty_digits():
    z = Symbol("z", real=True)
    with mpmath.workdps(60):
        mean, second = lattice_mean(-(z**2) + z / 3, [z, z**2], (z,), 50)
        assert abs(mean - mpmath.mpf(1) / 6) < mpmath.mpf(10) ** -49
        assert abs(second - (mpmath.mpf(1) / 36 + mpmath.mpf(1) / 2)) < mpmath.mpf(10) ** -49


def test_lattice_mean_of_a_correlated_pair():
    u, v = symbols("u v", real=True)
    with mpmath.workdps(40):
        mean = lattice_mean(-(u**2) - v**2 + u * v / 2 + u, [u, v], (u, v), 20)
        expected = Matrix([[2, -0.5], [-0.5, 2]]).inv() * Matrix([1, 0])
        assert all(abs(m - e) < 1e-15 for m, e in zip(mean, expected, strict=True))


def test_a_diverging_integral_is_refused():
    z = Symbol("z", real=True)
    with pytest.raises(InputError, match="not concave"):
        lattice_mean(z**2, [z], (z,), 20)


def test_quadrature_rejects_a_wrong_mean():
    right = LatticeQuadrature(Trace(y.T * A * x), V * y, V * (alpha + Sigma * A * x), y, alpha, Sigma)
    wrong = LatticeQuadrature(Trace(y.T * A * x), V * y, V * (alpha + Sigma * A.T * x), y, alpha, Sigma)
    assert right.run().passed
    assert not wrong.run().passed


def test_quadrature_sees_a_quadratic_tilt():
    score = Trace(y.T * A * x) - Trace(y.T * y)
    gain = Inverse(Identity(d) + 2 * Sigma)
    assert LatticeQuadrature(score, y, gain * (alpha + Sigma * A * x), y, alpha, Sigma).run().passed
    assert not LatticeQuadrature(score, y, alpha + Sigma * A * x, y, alpha, Sigma).run().passed


def test_rational_points_tell_equal_from_unequal():
    assert RationalPoints(Trace(A * V), Trace(V * A)).run().passed
    assert not RationalPoints(A * V, V * A).run().passed


def test_together_fails_with_any_part():
    right = RationalPoints(Trace(A * V), Trace(V * A))
    wrong = RationalPoints(A * V, V * A)
    assert Together((right, right)).run().passed
    assert not Together((right, wrong)).run().passed
    assert "against" in Together((right, wrong)).run().evidence


def test_the_degree_in_components():
    assert QuadraticInComponents(Trace(y.T * A * y) + Trace(b.T * y), y).run().passed
    assert not QuadraticInComponents(Trace(y.T * y) * Trace(b.T * y), y).run().passed


def test_the_degree_in_the_query():
    assert AffineInQuery(Trace(y.T * A * x) * Trace(y.T * y) ** 2 + Trace(b.T * x), x, y).run().passed
    assert not AffineInQuery(Trace(y.T * A * x) * Trace(b.T * x), x, y).run().passed


def test_a_lattice_integral_is_absolute():
    z = Symbol("z", real=True)
    with mpmath.workdps(60):
        found = lattice_integral(-(z**2) / 2 + z, (z,), 50)
        assert abs(found - mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(mpmath.mpf(1) / 2)) < mpmath.mpf(10) ** -48


def test_noise_belongs_to_the_continuity_equation():
    epsilon = Symbol("epsilon", positive=True)
    field, spread = b + L * (x - alpha), L * Sigma + Sigma * L.T
    noisy = spread + 2 * epsilon * Identity(d)
    assert ContinuityEquation(field, b, noisy, x, alpha, Sigma, epsilon).run().passed
    assert not ContinuityEquation(field, b, spread, x, alpha, Sigma, epsilon).run().passed
    assert not ContinuityEquation(field, b, noisy, x, alpha, Sigma).run().passed


def test_roots_of_explicit_matrices_are_principal():
    found = explicit(MatPow(A, Rational(1, 2)), {A: Matrix([[4, 1], [0, 9]])}, {d: 2})
    assert max(abs(e) for e in found * found - Matrix([[4, 1], [0, 9]])) < Rational(1, 10**50)
    assert found[0, 0] > 0 and found[1, 1] > 0


def test_sums_over_a_family_are_written_out():
    field, single = FamilySum(L * (x - alpha), (L,), dimension("H")), L * (x - alpha)
    total = FamilySum(L, (L,), dimension("H"))
    assert AffineField(field, 0 * b, total, x, alpha).run().passed
    assert not AffineField(field, 0 * b, L, x, alpha).run().passed
    assert spelled_out(field, 1).doit() == single.xreplace({L: matrix("L_1", d, d)}).doit()


def test_an_affine_field_is_recognised_by_differences():
    field = b + L * (x - alpha)
    assert AffineField(field, b, L, x, alpha).run().passed
    assert not AffineField(field, b, L.T, x, alpha).run().passed
    assert not AffineField(field, b + alpha, L, x, alpha).run().passed


def test_the_continuity_equation_rejects_a_wrong_covariance():
    field = b + L * (x - alpha)
    assert ContinuityEquation(field, b, L * Sigma + Sigma * L.T, x, alpha, Sigma).run().passed
    assert not ContinuityEquation(field, b, 2 * L * Sigma, x, alpha, Sigma).run().passed
    assert not ContinuityEquation(field, 2 * b, L * Sigma + Sigma * L.T, x, alpha, Sigma).run().passed


def test_explicit_matrices():
    sizes = {d: 2}
    values = {A: Matrix([[1, 2], [3, 4]]), y: Matrix([1, 1])}
    assert explicit(Identity(d) * A * y, values, sizes) == Matrix([3, 7])
    assert explicit(Trace(y.T * A * y) + 1, values, sizes) == 11
