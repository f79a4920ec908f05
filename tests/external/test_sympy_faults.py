"""What SymPy answers wrongly or not at all, and our answer beside it.

When one of the first assertions of a test fails, SymPy has been corrected: the workaround named in the
message can be reconsidered and the test goes.
"""

import pytest
from sympy import (
    Abs,
    Add,
    Derivative,
    Determinant,
    Identity,
    Inverse,
    MatrixSymbol,
    Rational,
    Symbol,
    Trace,
    ZeroMatrix,
    erf,
    erfc,
    exp,
    im,
    integrate,
    log,
    oo,
    pi,
    re,
    simplify,
    sqrt,
)
from sympy.stats import E, Normal

from symflow.algebra.gaussian import gaussian_integral, log_normaliser
from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.sampling import evaluate
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import LogDet, gradient
from symflow.algebra.words import identical, normal_form
from symflow.errors import InputError

d, k = dimension("d"), dimension("k")
A, B, Sigma = (matrix(n, d, d) for n in ("A", "B", "Sigma"))
K = matrix("K", k, d)
x, y = vector("x", d), vector("y", d)
c = Symbol("c")
eye = Identity(d)


def _still(faulty, workaround):
    """Assert that SymPy still errs, else say which workaround can go."""
    assert faulty, f"SymPy now answers correctly: {workaround} can go, and this test with it"


LOST = [
    (Trace(Sigma) + Trace(Sigma**2), Sigma, eye + 2 * Sigma.T),
    (Trace(x.T * A * x) + c, x, (A + A.T) * x),
    (log(Determinant(Sigma)), Sigma, Inverse(Sigma).T),
    (exp(Trace(x.T * y)), x, exp(Trace(x.T * y)) * y),
]


@pytest.mark.parametrize(("scalar", "variable", "right"), LOST, ids=[str(case[0]) for case in LOST])
def test_derivatives_by_a_matrix_that_come_back_as_zero(scalar, variable, right):
    """S001, S003: scalars that SymPy does not convert to arrays are taken for constants."""
    _still(scalar.diff(variable).is_ZeroMatrix, "symflow.algebra.variation for this kind of scalar")
    ours = LogDet(Sigma) if scalar.has(Determinant) else scalar
    assert identical(gradient(ours, variable), right)


def test_derivative_of_an_entry_of_a_product_comes_back_as_zero():
    square = x.T * x
    _still(square[0, 0].diff(x).is_ZeroMatrix, "the trace form of scalar products")
    assert identical(gradient(square, x), 2 * x)


def test_derivative_of_a_norm_is_not_computed():
    norm = sqrt(Trace(x.T * x))
    with pytest.raises(TypeError):
        norm.diff(x)
    assert identical(gradient(norm, x), Trace(x.T * x) ** Rational(-1, 2) * x)


def test_derivative_of_a_determinant_stays_unevaluated():
    _still(Determinant(Sigma).diff(Sigma).has(Derivative), "the rule for Determinant in gateaux")
    assert identical(gradient(Determinant(Sigma), Sigma), Determinant(Sigma) * Inverse(Sigma).T)


def test_simplify_leaves_a_difference_that_is_zero():
    """S005: matrix products are not expanded by simplify."""
    residual = A * (x + y) - A * x - A * y
    _still(not simplify(residual).is_ZeroMatrix, "expansion in symflow.algebra.words")
    assert normal_form(residual).is_zero


def test_traces_are_not_compared_under_rotation_and_transposition():
    difference = Add(Trace(A * B * Sigma), -Trace(Sigma.T * B.T * A.T))
    _still(simplify(difference) != 0, "canonical traces in symflow.algebra.words.traces")
    assert normal_form(difference).is_zero


def test_a_scalar_product_is_not_equal_to_its_transpose():
    difference = x.T * A * y - y.T * A.T * x
    _still(not simplify(difference).is_ZeroMatrix, "canonical scalar words in symflow.algebra.words.normal")
    assert normal_form(difference).is_zero


def test_push_through_is_not_known():
    difference = Sigma * Inverse(eye + A * Sigma) - Inverse(eye + Sigma * A) * Sigma
    _still(not simplify(difference).is_ZeroMatrix, "the push-through rule in symflow.algebra.words.rules")
    assert normal_form(difference).is_zero


def test_sums_of_identities_of_different_size_are_accepted():
    wrong = eye + Identity(k)
    _still(wrong.shape in {(d, d), (k, k)}, "the check of shapes in NormalForm.__add__")
    with pytest.raises(InputError, match="shapes"):
        normal_form(wrong)


def test_complex_parts_leak_into_derivatives_of_real_entries():
    """S007: assumptions do not reach the entries of a matrix symbol."""
    entry = MatrixSymbol("q", 3, 1)[0, 0]
    _still(Abs(entry).diff(entry).has(re, im), "real slots in symflow.algebra.variation")
    assert not gradient(Abs(Trace(x.T * y)), x).has(re, im, Abs)


def test_substitution_by_name_does_nothing():
    """S010: symbols of one name with other assumptions are other symbols."""
    beta = Symbol("beta", positive=True)
    _still((2 * beta).subs(Symbol("beta"), 2) == 2 * beta, "values by name in symflow.algebra.sampling")
    assert evaluate(2 * beta, {Symbol("beta"): 2}) == 4


def test_gaussian_integral_with_a_negative_coefficient_is_wrong():
    """S012: the closed form has a wrong branch."""
    a, t = Symbol("a", negative=True), Symbol("t", real=True)
    theirs = integrate(exp(a * (t**2 + 2 * t)), (t, -oo, oo))
    right = sqrt(pi / -a) * exp(-a)
    wrong = abs(complex(theirs.subs(a, -1).evalf()) - float(right.subs(a, -1))) > 0.1
    _still(theirs.has(erfc) and wrong, "gaussian_integral by completing the square")
    assert simplify(gaussian_integral(-2 * a * Identity(1), 2 * a * Identity(1)) - right) == 0


def test_exponential_moment_comes_as_a_tangle_of_error_functions():
    """S013: the moment generating function of a normal variable."""
    s, m = Symbol("s", real=True), Symbol("m", real=True)
    theirs = E(exp(s * Normal("Y", m, Symbol("sigma", positive=True))))
    _still(theirs.has(erf), "log_normaliser for moments")
    one = MatrixSymbol("y", 1, 1)
    form = quadratic_form(s * Trace(one), MatrixSymbol("x", 1, 1), one)
    ours = log_normaliser(form, m * Identity(1), MatrixSymbol("v", 1, 1), ZeroMatrix(1, 1))
    assert identical(ours, s * m + s**2 * Trace(MatrixSymbol("v", 1, 1)) / 2)
