"""Gaussian expectations of matrix words against component-level moments and known formulas."""

import itertools
from fractions import Fraction
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Identity, Inverse, Trace, exp

from symflow.algebra.families import FamilySum
from symflow.algebra.moments import expectation
from symflow.algebra.sampling import draw, evaluate
from symflow.algebra.sampling.rational_matrices import add
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.words import identical
from symflow.errors import InputError, NotPolynomial

d, H = dimension("d"), dimension("H")
A, B, S = (matrix(n, d, d) for n in ("A", "B", "Sigma"))
x, y, alpha = (vector(n, d) for n in ("x", "y", "alpha"))
second = S + alpha * alpha.T

KNOWN = [
    (y, alpha),
    (y * y.T, second),
    (A * y * x.T, A * alpha * x.T),
    (x * y.T * A, x * alpha.T * A),
    (y.T * B, alpha.T * B),
    (Trace(y.T * A * y), Trace(A * S) + Trace(alpha.T * A * alpha)),
    (Trace(y.T * A * x), Trace(alpha.T * A * x)),
    (y * y.T * A * y, second * A * alpha + S * A.T * alpha + Trace(A * S) * alpha),
    # the drift of linear attention: ∫ B y ⟨y, A x⟩
    (B * y * Trace(y.T * A * x), B * second * A * x),
    (
        Trace(y.T * A * y) * (Trace(y.T * B * y) - Trace(B * S) - Trace(alpha.T * B * alpha)),
        Trace(A * S * (B + B.T) * S) + Trace(alpha.T * (A + A.T) * S * (B + B.T) * alpha),
    ),
    (FamilySum(A * y * y.T * B, (A, B), H), FamilySum(A * second * B, (A, B), H)),
    (x.T * FamilySum(A * y, (A,), H), x.T * FamilySum(A * alpha, (A,), H)),
    (
        FamilySum(Trace(y.T * A * y) * y, (A,), H),
        FamilySum(Trace(A * S) * alpha + Trace(alpha.T * A * alpha) * alpha + S * (A + A.T) * alpha, (A,), H),
    ),
    (Trace(A) * x, Trace(A) * x),
]


@pytest.mark.parametrize(("expr", "wanted"), KNOWN, ids=[str(i) for i in range(len(KNOWN))])
def test_known_expectations(expr, wanted):
    found = expectation(expr, y, alpha, S)
    assert identical(found, wanted, symmetric=(S,))
    assert not found.has(Inverse)


def test_isserlis_at_degree_six():
    square = Trace(y.T * y)
    found = expectation(square**3, y, 0 * alpha, S)
    wanted = Trace(S) ** 3 + 6 * Trace(S) * Trace(S * S) + 8 * Trace(S * S * S)
    assert identical(found, wanted, symmetric=(S,))


def _moment(powers, mean, cov):
    """Return E[∏ y_i^{p_i}] by Stein's recursion on components."""
    i = next((i for i, p in enumerate(powers) if p), None)
    if i is None:
        return Fraction(1)
    lower = [p - (j == i) for j, p in enumerate(powers)]
    total = mean[i] * _moment(lower, mean, cov)
    for j, p in enumerate(lower):
        if p:
            total += cov[i][j] * p * _moment([q - (k == j) for k, q in enumerate(lower)], mean, cov)
    return total


def _by_components(expr, values, n):
    """Return the expectation from the polynomial in the components, read off by interpolation in y."""
    degree = 6
    nodes = list(itertools.product(range(degree + 1), repeat=n))
    weights = _weights(degree, values, n)
    total = None
    for node in nodes:
        value = evaluate(expr, values | {"y": [[Fraction(v)] for v in node]}, {"d": n})
        value = value if isinstance(value, list) else [[value]]
        scaled = [[weights[node] * e for e in row] for row in value]
        total = scaled if total is None else add(total, scaled)
    return total


def _weights(degree, values, n):
    """Return the exact cubature on the grid {0, …, degree}ⁿ for the Gaussian law."""
    mean, cov = [row[0] for row in values["alpha"]], values["Sigma"]
    basis = [_lagrange(node, degree) for node in range(degree + 1)]
    moments = {p: _moment(list(p), mean, cov) for p in itertools.product(range(degree + 1), repeat=n)}
    return {
        node: sum(prod(basis[v][q] for v, q in zip(node, p, strict=True)) * m for p, m in moments.items())
        for node in itertools.product(range(degree + 1), repeat=n)
    }


def _lagrange(node, degree):
    """Return the coefficients of the polynomial that is 1 at ``node`` and 0 at the other integers."""
    coefficients = [Fraction(1)]
    for other in range(degree + 1):
        if other != node:
            shifted = [Fraction(0), *coefficients]
            lowered = [*(-other * c for c in coefficients), Fraction(0)]
            coefficients = [(a + b) / (node - other) for a, b in zip(shifted, lowered, strict=True)]
    return coefficients


EXPRESSIONS = [
    A * y * y.T * B * y * y.T,
    y * Trace(y.T * A * y) * Trace(y.T * B * x),
    y * y.T * Trace(y.T * A * y) ** 2,
    x * y.T * A * Trace(x.T * y) ** 3,
    Trace(y.T * A * B * y) ** 3,
    (A * y + x) * (y.T * B + x.T) * Trace(y.T * y),
    A * y * x.T * Trace(y.T * B * y),
]


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("index", range(len(EXPRESSIONS)))
def test_expectations_agree_with_moments_of_components(index, n):
    expr = EXPRESSIONS[index]
    values = draw([A, B, S, x, alpha], {"d": n}, seed=index, psd=(S,))
    found = evaluate(expectation(expr, y, alpha, S), values, {"d": n})
    assert (found if isinstance(found, list) else [[found]]) == _by_components(expr, values, n)


@pytest.mark.parametrize(
    "expr",
    [
        exp(Trace(x.T * y)),
        1 / Trace(y.T * y),
        Inverse(Identity(d) + y * y.T) * x,
        Trace(y.T * y) ** 0.5 * x,
        FamilySum(A * y * y.T * B, (A, B), H) * y,
    ],
)
def test_what_is_no_polynomial_is_refused_with_its_term(expr):
    with pytest.raises(NotPolynomial) as caught:
        expectation(expr, y, alpha, S)
    assert caught.value.term.has(y)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="y must be"):
        expectation(A, A, alpha, S)
    with pytest.raises(InputError, match="alpha"):
        expectation(y, y, A, S)
    with pytest.raises(InputError, match="not known to be symmetric"):
        expectation(y, y, alpha, A * B)
    with pytest.raises(InputError, match="degree 10"):
        expectation(Trace(y.T * y) ** 5, y, alpha, S)


_SCALARS = st.sampled_from([Trace(y.T * A * y), Trace(x.T * y), Trace(y.T * B * x)])


@settings(max_examples=15, deadline=None)
@given(factors=st.lists(_SCALARS, max_size=2), seed=st.integers(0, 50))
def test_steins_identity(factors, seed):
    # E[(y − α) f] = Σ E[∇f]; the gradient is taken by hand, factor by factor
    gradients = {Trace(y.T * A * y): (A + A.T) * y, Trace(x.T * y): x, Trace(y.T * B * x): B * x}
    f = prod(factors)
    slope = 0 * y
    for i, factor in enumerate(factors):
        slope = slope + prod(factors[:i] + factors[i + 1 :]) * gradients[factor]
    left = expectation(f * y - f * alpha, y, alpha, S)
    assert identical(left, S * expectation(slope, y, alpha, S), symmetric=(S,))
