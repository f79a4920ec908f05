"""Parameters that depend on time: expressions in t, functions, samples."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from symflow import L2, Gaussian, Masked, MultiHead, Softmax, solve
from symflow.errors import InputError

T = sp.Symbol("t")
LAW = Gaussian([0.5, 0.0], [[1.0, 0.2], [0.2, 0.5]])
A = np.array([[-0.5, 0.1], [0.0, -0.3]])
ENTRIES = [[sp.cos(T), 0], [sp.Rational(1, 2), 1 + sp.exp(-T)]]


def value(t):
    return np.array([[np.cos(t), 0.0], [0.5, 1.0 + np.exp(-t)]])


TIMES = np.linspace(0.0, 2.0, 401)
FORMS = {
    "matrix": sp.Matrix(ENTRIES),
    "nested": ENTRIES,
    "assumptions": sp.Matrix(ENTRIES).subs(T, sp.Symbol("t", positive=True)),
    "function": value,
    "samples": (TIMES, [value(t) for t in TIMES]),
}


def reference(t1):
    """SciPy on the equations written out by hand."""

    def rhs(t, y):
        mean, cov = y[:2], y[2:].reshape(2, 2)
        half = value(t) @ cov @ A @ cov
        return np.concatenate([value(t) @ (mean + cov @ A @ mean), (half + half.T).ravel()])

    start = np.concatenate([LAW.mean, LAW.cov.ravel()])
    return solve_ivp(rhs, (0.0, t1), start, rtol=1e-11, atol=1e-13, method="DOP853").y[:, -1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"method": "radau"}, {"backend": "numpy"}], ids=str)
def test_every_form_gives_the_solution_of_the_equations(form, options):
    run = solve(Softmax(), LAW, {"A": A, "V": FORMS[form]}, (0, 2), t_eval=[2.0], **options)
    found = np.concatenate([run.mean[-1], run.cov[-1].ravel()])
    assert run.success
    # the spline of 401 samples is exact to about 1e-10, the others to the tolerance of the run
    np.testing.assert_allclose(found, reference(2.0), rtol=2e-8)


def test_every_function_of_a_tape_is_evaluated_like_sympy():
    functions = [sp.exp, sp.log, sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh, sp.erf, sp.sqrt, sp.Abs]
    total = sum(f(T + sp.Rational(1, 3)) for f in functions) + sp.Max(T, sp.Rational(1, 2)) + sp.Min(T, 2)
    total += (T + 2) ** (T / 2) + 1 / (1 + T**2) + sp.Heaviside(T - 1) + sp.pi * T
    run = solve(
        Softmax(), Gaussian([1], [[0]]), {"A": [[0]], "V": sp.Matrix([[total]])}, (0, 1), max_step=0.01
    )
    slopes = np.gradient(np.log(run.mean[:, 0]), run.t, edge_order=2)  # mean' = V mean
    middle = run.t.size // 2
    assert slopes[middle] == pytest.approx(float(total.subs(T, float(run.t[middle]))), rel=1e-3)


def test_a_parameter_is_never_evaluated_outside_of_the_run():
    """N068."""

    def inside(t):
        if not 0.0 <= t <= 1e-4:
            raise AssertionError(f"evaluated at t = {t}")
        return [[1.0]]

    for method in ("dop853", "dp5", "radau", "bdf"):
        run = solve(Softmax(), Gaussian([1], [[1]]), {"A": [[-1]], "V": inside}, (0, 1e-4), method=method)
        assert run.status == "finished"


def test_an_error_of_the_callers_function_arrives():
    def broken(t):
        if t > 0.5:
            raise KeyError("beyond")
        return [[1.0]]

    with pytest.raises(KeyError, match="beyond"):
        solve(Softmax(), Gaussian([1], [[1]]), {"A": [[-1]], "V": broken}, (0, 1))


def test_backwards_returns_to_the_start():
    params = {"A": A, "V": FORMS["matrix"]}
    there = solve(Softmax(), LAW, params, (0, 1))
    back = solve(Softmax(), Gaussian(there.mean[-1], there.cov[-1]), params, (1, 0))
    np.testing.assert_allclose(back.cov[-1], LAW.cov, rtol=1e-8)


def test_blow_up_is_found_with_moving_parameters():
    # d = 1: Σ' = 2(1 + t)Σ², so 1/Σ = 1 − 2t − t², zero at √2 − 1
    run = solve(Softmax(), Gaussian([0], [[1]]), {"A": [[1]], "V": [[1 + T]]}, (0, 1))
    assert run.status == "blow-up"
    assert run.t_star == pytest.approx(np.sqrt(2.0) - 1.0, abs=1e-8)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[sp.Symbol("s")]], r"V\[0, 0\] contains 's'"),
        ([[sp.Symbol("t") * sp.Symbol("w")]], "contains 'w'"),
        (([0.0, 0.5], [[[1.0]], [[2.0]]]), "samples on"),
        (([0.0, 0.0, 1.0], [[[1.0]]] * 3), "strictly increasing"),
        (([0.0], [[[1.0]]]), "two at least"),
        (lambda t: [[np.nan]], r"V\(t = 0\)\[0, 0\] is nan"),
        (lambda t: [[1.0, 2.0]], "V must have shape"),
        ([[sp.gamma(T + 1)]], "is not available in a parameter"),
    ],
)
def test_unusable_functions_of_time_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        solve(Softmax(), Gaussian([1], [[1]]), {"A": [[-1]], "V": given}, (0, 1))


def test_a_shape_that_changes_is_refused():
    def growing(t):
        return [[1.0]] if t < 0.5 else [[1.0, 2.0]]

    with pytest.raises(InputError, match="but \\(1, 1\\) at the first time"):
        solve(Softmax(), Gaussian([1], [[1]]), {"A": [[-1]], "V": growing}, (0, 1))


def test_one_law_per_position_or_none():
    along = Gaussian(np.zeros((3, 2)), np.array([np.eye(2)] * 3))
    assert along.positions == 3 and along.rank == 2 and along.factor().shape == (3, 2, 2)
    with pytest.raises(InputError, match="has none"):
        solve(L2(), along, {"Q": np.eye(2), "K": np.eye(2), "V": np.eye(2)}, (0, 1))
    with pytest.raises(InputError, match="one law per position"):
        solve(Masked(Softmax()), LAW, {"A": A, "V": A}, (0, 1))
    with pytest.raises(InputError, match=r"cov\[1\] is not symmetric"):
        Gaussian(np.zeros((2, 2)), [np.eye(2), [[1, 0], [1, 1]]])


def test_the_number_of_heads_is_that_of_the_list():
    with pytest.raises(InputError, match="H = 2 from the list of heads"):
        solve(MultiHead([Softmax()] * 2), LAW, {"A": [A] * 3, "V": [A] * 3}, (0, 1))
