"""Gateaux derivatives and gradients, against exact difference quotients and the known right answers."""

from fractions import Fraction

import pytest
from sympy import (
    Abs,
    Derivative,
    Determinant,
    Function,
    Heaviside,
    Identity,
    Inverse,
    MatPow,
    Max,
    Subs,
    Symbol,
    Trace,
    conjugate,
    erf,
    exp,
    im,
    log,
    re,
    sqrt,
)

from symflow.algebra.sampling import agree_at_rational_points, draw, evaluate
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import LogDet, gateaux, gradient
from symflow.algebra.words import identical
from symflow.errors import InputError

d, k = dimension("d"), dimension("k")
A, B, H, Sigma = (matrix(n, d, d) for n in ("A", "B", "H", "Sigma"))
K = matrix("K", k, d)
x, y, h = (vector(n, d) for n in "xyh")
c, beta = Symbol("c"), Symbol("beta", positive=True)
eye = Identity(d)

RATIONAL = [
    Sigma * A * Sigma,
    Sigma.T * A + A * Sigma.T,
    Inverse(Sigma),
    Inverse(eye + A * Sigma) * B,
    MatPow(Sigma, 3),
    MatPow(Sigma, -2),
    Trace(Sigma) * Sigma,
    Trace(Sigma * A) * Trace(Sigma.T * Sigma) + Trace(A) * c,
    Trace(Sigma * A) ** 3 / Trace(Sigma * B),
    Determinant(Sigma),
    Trace(K * Sigma * K.T) * K.T,
    beta * Sigma + Trace(A) * A,
]


@pytest.mark.parametrize("expr", RATIONAL, ids=str)
def test_gateaux_is_the_derivative_of_the_exact_values(expr):
    """Central differences of a rational function at step 10⁻⁶, in exact arithmetic.

    The error is h²/6 times a third derivative; entries are at most 9 and inverses are rational numbers of
    moderate size, so that 10⁻³ relative to the size of the derivative leaves six digits for them.
    """
    dims = {"d": 2, "k": 3}
    values = draw([Sigma, A, B, H, K, c, beta], dims, seed=3)
    step = Fraction(1, 10**6)

    def at(t):
        moved = [
            [s + t * v for s, v in zip(row, way, strict=True)]
            for row, way in zip(values["Sigma"], values["H"], strict=True)
        ]
        return _flat(evaluate(expr, {**values, "Sigma": moved}, dims))

    slopes = [(p - m) / (2 * step) for p, m in zip(at(step), at(-step), strict=True)]
    derived = _flat(evaluate(gateaux(expr, {Sigma: H}), values, dims))
    size = max(abs(v) for v in derived)
    assert size > 0
    assert max(abs(s - v) for s, v in zip(slopes, derived, strict=True)) < Fraction(1, 1000) * size


def _flat(value):
    return [v for row in value for v in row] if isinstance(value, list) else [value]


def test_gateaux_in_several_directions_adds_up():
    both = gateaux(Sigma * A * x, {Sigma: H, x: h})
    assert identical(both, H * A * x + Sigma * A * h)
    assert gateaux(A * x, {Sigma: H}).is_ZeroMatrix
    assert gateaux(Trace(A), {Sigma: H}) == 0
    assert identical(gateaux(c**2 * A, {c: beta}), 2 * c * beta * A)


GRADIENTS = [
    # S001
    (Trace(Sigma) + Trace(Sigma**2), Sigma, eye + 2 * Sigma.T, ()),
    (Trace(Sigma) + Trace(Sigma**2), Sigma, eye + 2 * Sigma, (Sigma,)),
    # S003
    (Trace(x.T * A * x) + c, x, (A + A.T) * x, ()),
    # S004 (a)
    (Trace(Sigma**2 * B), Sigma, (Sigma * B + B * Sigma).T, ()),
    # log det
    (LogDet(Sigma), Sigma, Inverse(Sigma.T), ()),
    (LogDet(eye - Sigma * A), Sigma, -Inverse(eye - A.T * Sigma.T) * A.T, ()),
    (LogDet(Sigma), Sigma, Inverse(Sigma), (Sigma,)),
    # rotation of the direction through a trace, both ways round
    (Trace(A * Sigma * B), Sigma, A.T * B.T, ()),
    (Trace(A * Sigma.T * B), Sigma, B * A, ()),
    (Trace(x.T * A * Sigma * B * y), Sigma, A.T * x * y.T * B.T, ()),
    (Trace(A * Sigma), Sigma, (A + A.T) / 2, (Sigma,)),
    (Trace(K * Sigma * K.T) ** 2, Sigma, 2 * Trace(K * Sigma * K.T) * K.T * K, ()),
    (Trace(K * A * K.T), K, K * A + K * A.T, ()),
    # functions
    (exp(Trace(x.T * A * y)), x, exp(Trace(x.T * A * y)) * A * y, ()),
    (log(Trace(x.T * x)), x, 2 / Trace(x.T * x) * x, ()),
    (sqrt(Trace(x.T * x)), x, 1 / sqrt(Trace(x.T * x)) * x, ()),
    (Max(0, Trace(x.T * y)), x, Heaviside(Trace(x.T * y)) * y, ()),
    (Trace(x.T * x) ** c, x, 2 * c * Trace(x.T * x) ** (c - 1) * x, ()),
    (Trace(A), x, 0 * x, ()),
    (x.T * A * y, x, A * y, ()),
]


@pytest.mark.parametrize(
    ("scalar", "variable", "right", "symmetric"), GRADIENTS, ids=[str(g[0]) for g in GRADIENTS]
)
def test_gradient_is_the_known_one(scalar, variable, right, symmetric):
    found = gradient(scalar, variable, symmetric)
    assert found.shape == variable.shape
    assert identical(found, right, symmetric)


def test_gradient_agrees_with_exact_sampling_of_its_definition():
    scalar = Trace(Inverse(eye + Sigma * A) * Sigma * B) * Trace(Sigma.T * A)
    slope = gateaux(scalar, {Sigma: H})
    pairing = Trace(gradient(scalar, Sigma).T * H)
    assert agree_at_rational_points(slope, pairing, sizes=(1, 2, 3)).agrees


@pytest.mark.parametrize("matrix_valued", [Trace(Sigma) * Sigma, Sigma, Sigma * x])
def test_gradient_of_a_matrix_is_refused(matrix_valued):
    # S004 (b)
    with pytest.raises(InputError, match="four indices"):
        gradient(matrix_valued, Sigma)


@pytest.mark.parametrize(
    "scalar",
    [
        Trace(x.T * A * y),
        sqrt(Trace(x.T * x)),
        Abs(Trace(x.T * y)),
        erf(Trace(x.T * y)) * exp(Trace(x.T * x)),
    ],
    ids=str,
)
def test_gradients_are_real_and_closed(scalar):
    # S007: nothing of a complex derivative leaks; the derivative of |u| is sign(u)
    found = gradient(scalar, x)
    assert not found.has(Abs, re, im, conjugate, Subs, Derivative)
    # the component tangent to the sphere, P_x g = g − ⟨x, g⟩x, stays so
    tangent = found - Trace(x.T * found) * x
    assert not tangent.has(Abs, re, im, conjugate, Subs, Derivative)


def test_tangent_gradient_of_a_bilinear_form_is_the_projected_vector():
    found = gradient(Trace(x.T * A * y), x)
    assert identical(found - Trace(x.T * found) * x, A * y - Trace(x.T * A * y) * x)


def test_a_name_of_the_user_is_no_direction():
    assert identical(gradient(Trace(H * A) + Trace(matrix("H'", d, d) * H), H), A.T + matrix("H'", d, d).T)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gateaux(Sigma, {Sigma: x}),
        lambda: gateaux(Sigma, {A * B: H}),
        lambda: gateaux(Function("f")(Trace(Sigma)), {Sigma: H}),
        lambda: gateaux(MatPow(Sigma, c), {Sigma: H}),
        lambda: gradient(Trace(Sigma), A * B),
        lambda: LogDet(K),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize("kink", [Max(0, Trace(x.T * y)), Abs(Trace(x.T * y))], ids=str)
def test_the_derivative_of_a_jump_is_refused(kink):
    """C031: the second derivative of a kink is a distribution, not a function; at 0 the slope of Max is ½."""
    slope = gradient(kink, x)
    with pytest.raises(InputError, match="distribution"):
        gateaux(slope, {x: h})


def test_the_slope_of_max_at_zero_is_a_half():
    """C031: the documented convention, that of Heaviside."""
    found = gradient(Max(0, Trace(x.T * y)), x)
    at = {Trace(x.T * y): 0}
    assert found.subs(at).doit() == y / 2
