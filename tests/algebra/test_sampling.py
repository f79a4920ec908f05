"""Exact evaluation at rational points."""

from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import (
    Determinant,
    Identity,
    ImmutableMatrix,
    Inverse,
    MatPow,
    Max,
    Min,
    Rational,
    Symbol,
    Trace,
    ZeroMatrix,
    exp,
    sqrt,
)

from symflow.algebra.sampling import Sampled, agree_at_rational_points, draw, evaluate
from symflow.algebra.sampling.surds import Surd, square_root
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.errors import InputError

d, k = dimension("d"), dimension("k")
A, B, Sigma = (matrix(n, d, d) for n in ("A", "B", "Sigma"))
K = matrix("K", k, d)
x, y = vector("x", d), vector("y", d)
beta = Symbol("beta", positive=True)
POINT = {"A": [[1, 2], [3, 5]], "B": [[0, 1], ["1/2", 1]], "x": [[1], [-1]], "y": [[2], [3]], "beta": F(1, 3)}

VALUES = [
    (A * B, [[F(1), F(3)], [F(5, 2), F(8)]]),
    (A.T - 2 * B, [[F(1), F(1)], [F(1), F(3)]]),
    (Inverse(A), [[F(-5), F(2)], [F(3), F(-1)]]),
    (MatPow(A, -2) * A * A, [[F(1), F(0)], [F(0), F(1)]]),
    (Trace(A), F(6)),
    (Trace(x.T * A * y), F(-13)),
    (x.T * A * y, [[F(-13)]]),
    (Determinant(A), F(-1)),
    (Determinant(A - A), F(0)),
    (beta * Trace(A) + Trace(B) ** -2, F(3)),
    (sqrt(Trace(A) - 2) * x, [[F(2)], [F(-2)]]),
    (Max(Trace(A), 7) - Min(Trace(A), 7), F(1)),
    (d * Identity(d) + ZeroMatrix(d, d), [[F(2), F(0)], [F(0), F(2)]]),
    (0.5 * A, [[F(1, 2), F(1)], [F(3, 2), F(5, 2)]]),
]


@pytest.mark.parametrize(("expr", "right"), VALUES, ids=[str(v[0]) for v in VALUES])
def test_values_are_exact(expr, right):
    assert evaluate(expr, POINT, {d: 2}) == right


@pytest.mark.parametrize("given_name", ["beta", beta, Symbol("beta"), Symbol("beta", real=True)])
def test_symbols_are_found_by_name(given_name):
    # S010: assumptions of the symbol that names the value do not matter
    assert evaluate(beta * Trace(A), {given_name: 2, "A": [[4]]}) == 8


def test_a_matrix_is_found_by_name_too():
    assert evaluate(A, {matrix("A", k, k): [[1]]}) == [[1]]


def test_a_value_under_another_name_is_named():
    with pytest.raises(InputError, match=r"beta.*\['A', 'bta'\]|scalar beta"):
        evaluate(beta * Trace(A), {"bta": 2, "A": [[4]]})


BAD = [
    (A, {}, "A"),
    (A, {"A": [[1, 2], [3]]}, "lengths"),
    (A, {"A": [[1, 2, 3]]}, "shape"),
    (A, {"A": 3}, "list of rows"),
    (A, {"A": [[float("nan")]]}, r"A\[0,0\]"),
    (A, {"A": [["one"]]}, r"A\[0,0\]"),
    (K * A, {"A": [[1]], "K": [[1, 2]]}, "shape"),
    (Inverse(A), {"A": [[0]]}, "singular"),
    (1 / Trace(A), {"A": [[0]]}, "zero"),
    (sqrt(2) * A, {"A": [[1]]}, "irrational"),
    (exp(Trace(A)), {"A": [[1]]}, "no exact"),
    (Trace(A) ** Rational(1, 3), {"A": [[1]]}, "half-integer"),
    (A + Identity(k), {"A": [[1]]}, "size k"),
]


@pytest.mark.parametrize(("expr", "values", "word"), BAD, ids=[str(b[0]) for b in BAD])
def test_bad_input_is_refused_by_name(expr, values, word):
    with pytest.raises(InputError, match=word):
        evaluate(expr, values)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.integers(1, 4), st.integers(0, 10**6))
def test_exact_inverse_against_sympy(size, seed):
    values = draw([A, B], {"d": size}, seed)
    other = ImmutableMatrix(size, size, lambda i, j: Rational(str(values["A"][i][j])))
    if other.det() == 0:
        with pytest.raises(InputError, match="singular"):
            evaluate(Inverse(A), values)
        return
    inverse = ImmutableMatrix(evaluate(Inverse(A), values)).applyfunc(Rational)
    assert inverse == other.inv()
    assert evaluate(Determinant(A), values) == F(str(other.det()))


def test_draws_have_the_declared_structure_and_repeat():
    symbols = [A, Sigma, K, beta, Symbol("n", negative=True), Symbol("r")]
    values = draw(symbols, {d: 3, "k": 2}, seed=4, symmetric=(A,), psd=(Sigma,))
    assert values == draw(reversed(symbols), {"d": 3, k: 2}, seed=4, symmetric=(A,), psd=(Sigma,))
    assert values != draw(symbols, {d: 3, "k": 2}, seed=5, symmetric=(A,), psd=(Sigma,))
    assert (len(values["K"]), len(values["K"][0])) == (2, 3)
    for name in ("A", "Sigma"):
        assert all(values[name][i][j] == values[name][j][i] for i in range(3) for j in range(3))
    minors = [evaluate(Determinant(A), {"A": [r[:n] for r in values["Sigma"][:n]]}) for n in (1, 2, 3)]
    assert all(m >= 0 for m in minors)
    assert values["beta"] > 0 > values["n"]
    assert values["r"] != 0


AGREE = [
    (A * (x + y) - A * y, A * x, {}),
    (Inverse(A) * B, Inverse(Inverse(B) * A), {}),
    (Sigma - Sigma.T, ZeroMatrix(d, d), {"symmetric": (Sigma,)}),
    (Sigma - Sigma.T, ZeroMatrix(d, d), {"psd": (Sigma,)}),
    (Trace(K.T * K), Trace(K * K.T), {}),
    (x.T * y, Trace(y.T * x), {}),
    (A / sqrt(32), sqrt(2) * A / 8, {}),
    (sqrt(k) * A * sqrt(k), k * A + 0 * Trace(K * K.T) * A, {}),
    (1 / (1 + sqrt(2) + sqrt(3)) * (1 + sqrt(2) + sqrt(3)) * A, A, {}),
    (x / sqrt(Trace(x.T * x)) * Trace(x.T * x), sqrt(Trace(x.T * x)) * x, {}),
]


@pytest.mark.parametrize(("a", "b", "given_structure"), AGREE, ids=[str(c[0]) for c in AGREE])
def test_equal_expressions_agree(a, b, given_structure):
    found = agree_at_rational_points(a, b, **given_structure)
    assert found.agrees, found.evidence
    assert "rational points" in found.evidence


DIFFER = [
    (A * B, B * A),
    (Sigma, Sigma.T),
    (sqrt(2) * A, A),
    (Trace(A) ** 2, Trace(A * A)),
    (K.T * K, K.T * K + A),
]


@pytest.mark.parametrize(("a", "b"), DIFFER, ids=[str(c[0]) for c in DIFFER])
def test_different_expressions_are_told_apart_with_the_point(a, b):
    found = agree_at_rational_points(a, b)
    assert not found.agrees
    assert "against" in found.evidence
    assert "d = " in found.evidence


def test_sizes_vary_independently():
    """Trace(I_d) = Trace(I_k) holds only where the sizes are equal."""
    assert not agree_at_rational_points(Trace(K * K.T) * d, Trace(K * K.T) * k).agrees


def test_many_sizes_are_still_a_short_run():
    factors = [matrix(f"X{i}", dimension(f"n{i}"), dimension(f"n{i + 1}")) for i in range(6)]
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    assert agree_at_rational_points(product.T.doit(), product.T, points=1).agrees


def test_an_identically_singular_inverse_is_named():
    with pytest.raises(InputError, match="singular"):
        agree_at_rational_points(Inverse(x * x.T + 0 * A), A, sizes=(2,))


def test_functions_are_refused():
    with pytest.raises(InputError, match="derivative"):
        agree_at_rational_points(exp(Trace(A)), Trace(A))


def test_sampled_is_immutable():
    with pytest.raises(AttributeError):
        Sampled(True, "m", "e").agrees = False


@settings(max_examples=80, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.sampled_from([1, 2, 3, 6, 5, 30])), min_size=1, max_size=4))
def test_surds_form_a_field(parts):
    value = sum((q * square_root(F(r)) for q, r in parts), F(0))
    numeric = sum(q * r**0.5 for q, r in parts)
    text = sum(float(q) * r**0.5 for r, q in value.parts.items()) if isinstance(value, Surd) else float(value)
    assert abs(text - numeric) < 1e-12  # four terms below 30 in double precision
    if value != 0:
        assert value * (1 / value) == 1
        assert value / value == 1
    assert value - value == 0
    assert (value + 1) * (value - 1) == value * value - 1


def test_square_roots_of_negative_numbers_are_refused():
    with pytest.raises(InputError, match="not real"):
        square_root(F(-1))
