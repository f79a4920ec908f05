"""Averages as nodes with a bound vector, their variations, their values at points and Gaussian laws."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from sympy import MatrixSymbol, Rational, Symbol, Trace, exp, log

from symflow.algebra.functionals.atoms import on_atoms
from symflow.algebra.functionals.average import Average, average, averages
from symflow.algebra.functionals.gaussian import on_gaussian
from symflow.algebra.functionals.nodes import Density, Potential, TransportCost
from symflow.algebra.functionals.variation import first_variation, law_derivative, spatial_gradient
from symflow.algebra.latex import latex
from symflow.algebra.sampling import evaluate
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import gradient
from symflow.algebra.words import identical
from symflow.errors import InputError, NotPolynomial

D = dimension("d")
X, Y, Z, ALPHA = (vector(name, D) for name in ("x", "y", "z", "alpha"))
A, SIGMA = matrix("A", D, D), matrix("Sigma", D, D)
SCORE = Trace(X.T * A * Y)
POINTS = [MatrixSymbol(f"p{i}", D, 1) for i in range(3)]
WEIGHTS = [Symbol(f"w{i}", positive=True) for i in range(3)]


def test_the_name_of_the_bound_vector_does_not_matter() -> None:
    assert Average(Trace(X.T * Y), Y) == Average(Trace(X.T * Z), Z)
    assert Average(Trace(X.T * Y), Y) != Average(Trace(X.T * Y), X)
    nested = Average(log(Average(exp(SCORE), Y)), X)
    assert nested == Average(log(Average(exp(Trace(Z.T * A * X)), X)), Z)
    assert nested.free_symbols == {A, D}


def test_substitution_does_not_capture() -> None:
    inner = Average(exp(SCORE), Y)  # a function of x
    renamed = inner.xreplace({X: Y})  # whose new name the bound vector had
    assert renamed == Average(exp(Trace(Y.T * A * Z)), Z)
    outer = Average(inner, X)
    bound = averages(outer)[0].bound
    assert outer.xreplace({bound: Z}) == outer
    assert outer.xreplace({A: A.T}) == Average(Average(exp(Trace(X.T * A.T * Y)), Y), X)


def test_nested_averages_are_printed_with_different_names() -> None:
    inner = Average(exp(Trace(Z.T * A * Y)), Z)  # a function of y alone
    text = latex(Average(exp(SCORE) / inner, Y))  # of x, which the inner average must not take
    assert text.count(r"d\mu(y)") == 1 and text.count(r"d\mu(z)") == 1
    assert str(Average(Average(exp(SCORE), Y), X)) == "Average(Average(exp(Trace(x.T*A*y)), y), x)"


def test_constants_are_their_own_average() -> None:
    assert average(Trace(X.T * X), Y) == Trace(X.T * X)
    assert average(A * Y, Y).shape == (D, 1)


def test_variation_of_nested_averages_against_polynomials_in_the_weights() -> None:
    """(F((1 − h)μ + hδ) − F(μ))/h of a functional that is a polynomial in h, as exact rationals."""
    nested = Average(Average(SCORE**2, Y) * Average(Trace(X.T * Z), Z), X)
    functional = nested + Average(Trace(X.T * X), X) ** 2
    h, values, dims = Symbol("h"), _values(), {"d": 2}
    weights = [Rational(1, 2), Rational(1, 3), Rational(1, 6)]

    def number(expr: Any, **more: Any) -> Fraction:
        return evaluate(expr, {**values, **more}, dims)

    moved = [(1 - h) * w + h * int(i == 2) for i, w in enumerate(weights)]
    polynomial = on_atoms(functional, POINTS, moved)
    steps = [number(polynomial, h=Fraction(k)) for k in range(-3, 4)]
    # the slope at 0 of a polynomial of degree ≤ 6, by its central differences
    slope = (45 * (steps[4] - steps[2]) - 9 * (steps[5] - steps[1]) + (steps[6] - steps[0])) / 60
    variation = on_atoms(first_variation(functional, Z), POINTS, weights)
    at = [number(variation.xreplace({Z: p})) for p in POINTS]
    mean = sum(Fraction(w.p, w.q) * v for w, v in zip(weights, at, strict=True))
    assert slope == at[2] - mean


def test_gradients_at_points_are_those_of_the_functional_of_points() -> None:
    """∂F/∂x_i = w_i ∇δF/δμ(x_i), as an identity between normal forms."""
    functional = Average(Average(exp(SCORE), Y), X) / 2 + Average(Trace(X.T * A * X), X) ** 2
    written = on_atoms(functional, POINTS, WEIGHTS)
    slope = spatial_gradient(first_variation(functional, Z), Z)
    for point, weight in zip(POINTS, WEIGHTS, strict=True):
        expected = on_atoms(slope, POINTS, WEIGHTS).xreplace({Z: point})
        assert identical(gradient(written, point), weight * expected)


def test_second_variation_is_symmetric_and_that_of_a_pair_energy_is_its_density() -> None:
    pair = first_variation(first_variation(Average(Average(exp(SCORE), Y), X) / 2, X), Y)
    assert identical(pair, (exp(SCORE) + exp(Trace(Y.T * A * X))) / 2)
    logarithm = Average(log(Average(exp(SCORE), Y)), X)
    one = first_variation(first_variation(logarithm, X), Y)
    weights = [Rational(1, 3)] * 3
    there, back = (on_atoms(e, POINTS, weights) for e in (one, one.xreplace({X: Y, Y: X})))
    assert identical(there, back)


def test_derivative_in_a_direction_names_the_direction() -> None:
    eta = Symbol("eta")
    found = law_derivative(Average(Trace(X.T * X), X) ** 2, eta, Z)
    assert {node.law for node in averages(found)} == {eta}
    assert Symbol("mu") in {node.law for node in found.body.atoms(Average)}


def test_density_counts_where_it_is_averaged() -> None:
    assert first_variation(Average(log(Density(X)), X), Z) == log(Density(Z)) + 1
    # ∫ρ² dx, whose variation is 2ρ
    assert first_variation(Average(Density(X), X), Z) == 2 * Density(Z)
    with pytest.raises(InputError, match="no density"):
        on_atoms(Average(log(Density(X)), X), POINTS, WEIGHTS)
    with pytest.raises(InputError, match="not known"):
        first_variation(first_variation(Average(log(Density(X)), X), Z), Y)


def test_transport_varies_by_its_potentials() -> None:
    cost = TransportCost(SCORE, X, Y)
    variation = first_variation(cost, Z)
    a, b = cost.potentials(Z)
    assert variation == a + b and isinstance(a, Potential)
    assert TransportCost(Trace(Z.T * A * X), Z, X) == cost
    with pytest.raises(InputError, match="not known"):
        first_variation(variation, X)


@pytest.mark.parametrize(
    ("functional", "expected"),
    [
        (Average(Trace(X.T * A * X), X), Trace(A * SIGMA) + Trace(ALPHA.T * A * ALPHA)),
        (Average(log(Average(exp(SCORE), Y)), X).xreplace({A: A}), None),
    ],
)
def test_gaussian_laws_have_no_inverse_where_moments_suffice(functional: Any, expected: Any) -> None:
    found = on_gaussian(functional, ALPHA, SIGMA)
    assert not found.curvatures and not found.needs_density
    if expected is not None:
        assert identical(found.value, expected, (SIGMA,))
    assert "**(-1)" not in str(found.value)


def test_what_has_no_closed_form_at_gaussian_laws_is_refused() -> None:
    with pytest.raises(NotPolynomial):
        on_gaussian(Average(log(1 + Trace(X.T * X)), X), ALPHA, SIGMA)


def _values() -> dict[str, Any]:
    points = [[[1], [Fraction(1, 2)]], [[-1], [2]], [[Fraction(1, 3)], [-1]]]
    return {"A": [[1, 2], [Fraction(-1, 2), 1]], **{f"p{i}": p for i, p in enumerate(points)}}
