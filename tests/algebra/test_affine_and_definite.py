"""Affine parts, signs that hold at every size, and transposition that keeps the shape."""

import pytest
from sympy import Identity, Inverse, Symbol, Transpose, ZeroMatrix

from symflow.algebra.affine import affine_parts
from symflow.algebra.definite import is_negative_semidefinite
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.transposition import transposed
from symflow.algebra.words import identical
from symflow.errors import NotAffine

d, k = dimension("d"), dimension("k")
A, V, Sigma = (matrix(name, d, d) for name in ("A", "V", "Sigma"))
K = matrix("K", k, d)
x, y, b = (vector(name, d) for name in ("x", "y", "b"))
beta = Symbol("beta", nonnegative=True)
gamma = Symbol("gamma", real=True)


def test_affine_parts_of_a_sum():
    linear, constant = affine_parts(V * A * y + 2 * y - b + A * b, y)
    assert identical(linear, V * A + 2 * Identity(d))
    assert identical(constant, A * b - b)


def test_a_constant_is_affine():
    linear, constant = affine_parts(b, y)
    assert linear == ZeroMatrix(d, d) and constant == b


@pytest.mark.parametrize("expression", [y * y.T * y, y * (b.T * y), A * y * (y.T * b)])
def test_a_term_of_higher_degree_is_left_over(expression):
    with pytest.raises(NotAffine, match="is left over") as caught:
        affine_parts(V * y + expression, y)
    assert y in caught.value.term.free_symbols


@pytest.mark.parametrize(
    "expression", [-K.T * K, -2 * beta * A.T * A, -Identity(d), ZeroMatrix(d, d), -K.T * K - Sigma * Sigma]
)
def test_minus_a_square_is_negative_semidefinite(expression):
    assert is_negative_semidefinite(expression, (Sigma,))


@pytest.mark.parametrize("expression", [K.T * K, A + A.T, -A, -Sigma, -gamma * A.T * A, Identity(d), -A * A])
def test_what_the_rule_does_not_prove_is_not_claimed(expression):
    assert not is_negative_semidefinite(expression, (Sigma,))


def test_a_matrix_of_one_entry_is_decided_without_error():
    one = matrix("v", 1, 1)
    assert is_negative_semidefinite(-2 * Identity(1))
    assert is_negative_semidefinite(one - one)
    assert not is_negative_semidefinite(one)
    assert not is_negative_semidefinite(Identity(1))


def test_a_symmetric_power_is_its_own_transpose():
    assert transposed(Sigma**2 * V, (Sigma,)) == V.T * Sigma**2


@pytest.mark.parametrize(
    "expression",
    [V * Inverse(Identity(d) + 2 * Sigma * K.T * K) * Sigma * A, A + 3 * V.T * A, Inverse(A) * V],
)
def test_transposition_agrees_with_the_normal_form(expression):
    assert identical(transposed(expression, (Sigma,)), Transpose(expression), (Sigma,))
