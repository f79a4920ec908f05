"""Kernel: any reasonable input, errors by name, SciPy, pickling."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.integrate import solve_ivp

from symflow import L2, Attention, Kernel, Softmax, compile, gaussian_closure, source
from symflow.errors import InputError, NormaliserDiverges

D = 3
RNG = np.random.default_rng(0)
A, V = RNG.normal(size=(D, D)), RNG.normal(size=(D, D))
Q, K = RNG.normal(size=(2, D)), RNG.normal(size=(2, D))
ROOT = RNG.normal(size=(D, D))
MEAN, COV = RNG.normal(size=D), ROOT @ ROOT.T


def expected(a: Any = A, v: Any = V, scale: float = 1.0) -> tuple[Any, Any]:
    half = scale * v @ COV @ a @ COV
    return v @ (MEAN + scale * COV @ a @ MEAN), half + half.T


@pytest.fixture(scope="module", params=["compiled", "numpy"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return compile(Softmax(), backend=request.param)


def require(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == np.float64
        assert a.shape == b.shape
        assert_allclose(a, b, rtol=0, atol=1e-13 * np.abs(b).max())


def test_value(kernel: Kernel) -> None:
    require(kernel(0.0, MEAN, COV, A=A, V=V), expected())
    require(kernel(0.0, MEAN, COV, A=A, V=V, beta=2.0, temperature=4.0), expected(scale=0.5))


def test_scale_defaults_to_the_models(kernel: Kernel) -> None:
    other = compile(Softmax(beta=3, temperature=0.5), backend=kernel.backend)
    require(other(0.0, MEAN, COV, A=A, V=V), expected(scale=6.0))
    assert other.source == kernel.source


def test_parametrisations_are_chosen_by_name(kernel: Kernel) -> None:
    require(kernel(0.0, MEAN, COV, Q=Q, K=K, V=V), expected(K.T @ Q))
    biases = {"bq": np.zeros(2), "bo": np.ones(D)}
    mean, cov = expected(K.T @ Q)
    require(kernel(0.0, MEAN, COV, Q=Q, K=K, V=V, **biases), (mean + 1.0, cov))
    require(kernel(0.0, MEAN, COV, A=A, V=V, bv=np.zeros(D)), expected())


@pytest.mark.parametrize(
    "convert",
    [
        sympy.Matrix,
        sympy.ImmutableMatrix,
        sympy.SparseMatrix,
        np.ndarray.tolist,
        np.asfortranarray,
        lambda m: np.repeat(m, 2, axis=1)[:, ::2],
        lambda m: np.ascontiguousarray(m.T).T,
        lambda m: m.astype(object),
    ],
)
def test_any_matrix_gives_the_same_numbers(kernel: Kernel, convert: Callable[[Any], Any]) -> None:
    """C038, C043."""
    keep = V.copy()
    found = kernel(0.0, MEAN, convert(COV), A=convert(A), V=convert(V))
    for a, b in zip(found, kernel(0.0, MEAN, COV, A=A, V=V), strict=True):
        assert (a == b).all()
    assert (keep == V).all()


def test_integers_and_single_precision_become_double(kernel: Kernel) -> None:
    """C034, C044: nothing is truncated."""
    mean, cov = kernel(
        0.0, np.float32([0.5, 0]), np.eye(2, dtype=int), A=[[1, 0], [0, 3]], V=np.eye(2, dtype=np.int8) * 1
    )
    assert_allclose(mean, [1.0, 0.0])
    assert_allclose(cov, [[2.0, 0.0], [0.0, 6.0]])
    third, _ = kernel(
        0.0, [1, 2], np.eye(2, dtype=int), A=[[0, 0], [0, 0]], V=[[1, 0], [0, 1]], temperature=3
    )
    assert_allclose(third, [1.0, 2.0])


def test_zero_value_matrix_gives_zeros(kernel: Kernel) -> None:
    """C036."""
    mean, cov = kernel(0.0, MEAN, COV, A=A, V=np.zeros((D, D)))
    assert mean.shape == (D,)
    assert cov.shape == (D, D)
    assert not mean.any()
    assert not cov.any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"V": None}, ["'V'", "missing"]),
        ({"W": A}, ["'W'", "unknown"]),
        ({"V": np.ones((2, 2))}, ["'V'", "(2, 2)", "d = 3"]),
        ({"V": np.ones(D)}, ["'V'", "(3,)"]),
        ({"V": 1j * V}, ["'V'", "complex"]),
        ({"V": "text"}, ["'V'"]),
        ({"A": [[1.0, 0, 0], [0, np.nan, 0], [0, 0, 1.0]]}, ["'A'", "nan", "(1, 1)"]),
        ({"beta": [1.0, 2.0]}, ["'beta'"]),
    ],
)
def test_bad_parameters_are_refused_by_name(kernel: Kernel, change: dict[str, Any], words: list[str]) -> None:
    params = {name: value for name, value in {"A": A, "V": V, **change}.items() if value is not None}
    with pytest.raises(InputError) as caught:
        kernel(0.0, MEAN, COV, **params)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("state", [(MEAN,), (MEAN, COV, COV), (MEAN[:2], COV), (MEAN, COV[:2]), (COV, COV)])
def test_bad_states_are_refused(kernel: Kernel, state: Any) -> None:
    with pytest.raises(InputError, match="state"):
        kernel(0.0, *state, A=A, V=V)


def test_a_is_refused_where_it_is_not_enough() -> None:
    with pytest.raises(InputError, match="'A'"):
        compile(L2(), backend="numpy")(0.0, MEAN, COV, A=A, V=V)


def test_unknown_backend_and_target_are_refused() -> None:
    with pytest.raises(InputError, match="backend"):
        compile(Softmax(), backend="fortran")
    with pytest.raises(InputError, match="target"):
        source(Softmax(), target="fortran")
    with pytest.raises(InputError, match="neither a model nor a derivation"):
        compile("softmax")
    with pytest.raises(InputError, match="neither a model nor a derivation"):
        source(Softmax)  # the class in place of a model


def test_an_unknown_function_is_refused_by_name(kernel: Kernel) -> None:
    for make in (kernel.rhs, lambda params, entry: kernel.bind(entry, None, params)):
        with pytest.raises(InputError, match=r"'moment' is unknown.*moments, factor, tangent"):
            make({"A": A, "V": V}, entry="moment")


def test_solve_ivp_with_strided_states_and_jacobian(kernel: Kernel) -> None:
    """C043: Radau passes views; its Newton iteration uses our Jacobian."""
    params = {"A": -0.2 * np.eye(D), "V": 0.3 * V}
    y0 = np.concatenate([MEAN, COV.ravel()])
    stiff = solve_ivp(
        kernel.rhs(params), (0, 1), y0, method="Radau", jac=kernel.jacobian(params), rtol=1e-9, atol=1e-11
    )
    explicit = solve_ivp(kernel.rhs(params), (0, 1), y0, method="DOP853", rtol=1e-11, atol=1e-13)
    assert stiff.success
    assert_allclose(stiff.y[:, -1], explicit.y[:, -1], rtol=1e-6)


def test_rhs_of_any_stride_is_the_same_to_the_bit(kernel: Kernel) -> None:
    f = kernel.rhs({"A": A, "V": V})
    y = np.concatenate([MEAN, COV.ravel()])
    wide = np.repeat(y, 3)
    assert (f(0.0, wide[::3]) == f(0.0, y)).all()
    assert (f(0.0, y.astype(np.longdouble)) == f(0.0, y)).all()
    with pytest.raises(InputError, match="13"):
        f(0.0, np.ones(13))


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_sizes_and_roots_in_the_score(backend: str) -> None:
    """The usual scale 1/√d; a quotient of sizes would be an integer division in C."""
    found = compile(Attention("dot(Q*x, K*y)/sqrt(d)"), backend=backend)(0.0, MEAN, COV, Q=Q, K=K, V=V)
    require(found, expected(K.T @ Q, scale=1 / np.sqrt(D)))
    found = compile(Attention("s/(d + d*d)*dot(x, A*y)*d"), backend=backend)(
        0.0, MEAN, COV, A=A.T, V=V, s=1.5
    )
    require(found, expected(scale=1.5 / (1 + D)))


def test_factor_entry_infers_the_rank(kernel: Kernel) -> None:
    f = kernel.rhs({"A": A, "V": V}, entry="factor")
    for rank in (1, 2, 3):
        root = ROOT[:, :rank]
        flat = f(0.0, np.concatenate([MEAN, root.ravel()]))
        moved = flat[D:].reshape(D, rank)
        _, cov = kernel(0.0, MEAN, root @ root.T, A=A, V=V)
        assert_allclose(moved @ root.T + root @ moved.T, cov, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", [Softmax(), L2(beta=0.5)])
def test_jacobian_is_the_derivative(model: Any) -> None:
    """Complex steps are not available; central differences lose half the digits."""
    built = compile(model)
    params = {"Q": Q, "K": K, "V": V}
    f, jacobian = built.rhs(params), built.jacobian(params)
    y, h = np.concatenate([MEAN, COV.ravel()]), 1e-5
    difference = np.stack([(f(0, y + h * e) - f(0, y - h * e)) / (2 * h) for e in np.eye(y.size)], axis=1)
    assert_allclose(jacobian(0, y), difference, rtol=0, atol=1e-7 * np.abs(difference).max())


def test_bind_serves_the_integrator(kernel: Kernel) -> None:
    params = {"Q": Q, "K": K, "V": V}
    calls = [kernel.bind("factor", dims, params) for dims in ({"r": 2}, {"d": D, "k": 2, "r": 2}, (D, 2, 2))]
    y = np.concatenate([MEAN, ROOT[:, :2].ravel()])
    values = []
    for call in calls:
        dy = np.zeros(call.size)
        assert call(0.0, y, dy) == 0
        values.append(dy)
    assert (values[0] == values[1]).all()
    assert (values[0] == values[2]).all()
    for dims, word in (({"d": 4, "r": 1}, "d = 3"), ({"q": 1}, "'q'"), ((3, 2), "3"), (None, "'r'")):
        with pytest.raises(InputError, match=word):
            kernel.bind("factor", dims, params)


def test_diverging_normaliser_is_named() -> None:
    kernel = compile(Attention("dot(x, A*y) + dot(y, C*y)/2"), backend="numpy")
    with pytest.raises(NormaliserDiverges, match="normaliser diverges"):
        kernel(0.0, MEAN, np.eye(D), A=A, V=V, C=np.eye(D))


def test_derivation_and_model_give_the_same_kernel() -> None:
    derivation = gaussian_closure(Softmax(), {"Q", "K", "V"})
    assert source(derivation) != source(Softmax())
    fixed = compile(derivation)
    require(fixed(0.0, MEAN, COV, Q=Q, K=K, V=V), expected(K.T @ Q))
    with pytest.raises(InputError, match="'A'"):
        fixed(0.0, MEAN, COV, A=A, V=V)


def test_repr_is_one_line(kernel: Kernel) -> None:
    assert repr(kernel) == f"Kernel(softmax-A; A, V, beta, temperature; backend={kernel.backend!r})"


def _evaluate(job: tuple[Kernel, float]) -> Any:
    kernel, beta = job
    return kernel(0.0, MEAN, COV, A=A, V=V, beta=beta)[1]


def test_pickles(kernel: Kernel) -> None:
    """B060, within a process: kernel, right-hand side, Jacobian."""
    again = pickle.loads(pickle.dumps(kernel))
    assert again.backend == kernel.backend
    y = np.concatenate([MEAN, COV.ravel()])
    for function in (kernel.rhs({"A": A, "V": V}), kernel.jacobian({"A": A, "V": V})):
        assert (pickle.loads(pickle.dumps(function))(0.0, y) == function(0.0, y)).all()
    assert (_evaluate((again, 2.0)) == _evaluate((kernel, 2.0))).all()


def test_pool_of_processes() -> None:
    """B060, across processes."""
    kernel = compile(Softmax())
    jobs = [(kernel, beta) for beta in (0.5, 1.0)]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for a, b in zip(pool.map(_evaluate, jobs), map(_evaluate, jobs), strict=True):
            assert (a == b).all()


def test_threads_share_a_right_hand_side() -> None:
    f = compile(Softmax()).rhs({"A": A, "V": V})
    states = RNG.normal(size=(200, D + D * D))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda y: f(0.0, y), states))
    assert all((a == f(0.0, y)).all() for a, y in zip(found, states, strict=True))


@pytest.mark.parametrize("name", ["self", "t", "state", "params", "np", "i", "x0"])
def test_a_parameter_may_have_any_name(name: str) -> None:
    """C027: also that of an argument of the call."""
    kernel = compile(Attention(f"{name}*dot(x, A*y)"), backend="numpy")
    require(
        kernel(0.0, [1.0], [[1.0]], A=[[1.0]], V=[[1.0]], **{name: 3.0}), (np.array([4.0]), np.array([[6.0]]))
    )


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_scalars_called_like_temporaries(backend: str) -> None:
    """C027: c·x0² + c·(x0⁴ − x0²) = 16 at c = 1, x0 = 2; a clash of names gave 256."""
    kernel = compile(Attention("(c*x0**2 + c*(x0**4 - x0**2))*dot(x, A*y)"), backend=backend)
    mean, cov = kernel(0.0, [1.0], [[1.0]], A=[[1.0]], V=[[1.0]], c=1.0, x0=2.0)
    assert mean.tolist() == [1.0 + 16.0]
    assert cov.tolist() == [[2.0 * 16.0]]


@pytest.mark.parametrize(
    "coefficient",
    [
        sympy.Piecewise((1, sympy.Eq(sympy.Symbol("s"), 0)), (sympy.sin(sympy.Symbol("s")), True)),
        sympy.Max(sympy.Symbol("s"), 0),
        sympy.Heaviside(sympy.Symbol("s")),
    ],
)
def test_a_coefficient_with_branches_is_refused_by_name(coefficient: Any) -> None:
    """C031, C033: not available in kernels of this version; never one branch taken for the whole."""
    x, y = (sympy.MatrixSymbol(n, sympy.Symbol("d"), 1) for n in "xy")
    with pytest.raises(InputError, match=type(coefficient).__name__):
        compile(Attention(coefficient * sympy.Trace(x.T * y)), backend="numpy")


def test_values_come_in_any_iterable(kernel: Kernel) -> None:
    """U117, C038: generators, views of a mapping, sparse arrays."""
    wanted = kernel(0.0, MEAN, COV, A=A, V=V)
    rows = {0: V[0], 1: V[1], 2: V[2]}
    found = kernel(0.0, (v for v in MEAN), sparse.csr_array(COV), A=map(list, A), V=rows.values())
    for a, b in zip(found, wanted, strict=True):
        assert (a == b).all()


@pytest.mark.parametrize(
    ("value", "word"), [({1.0, 2.0}, "set"), ({"a": 1}, "dict"), (np.ma.array(A, mask=A > 0), "masked")]
)
def test_what_does_not_order_its_numbers_is_refused(kernel: Kernel, value: Any, word: str) -> None:
    with pytest.raises(InputError, match=f"'A'.*{word}"):
        kernel(0.0, MEAN, COV, A=value, V=V)


def test_a_complex_state_is_refused_not_cut(kernel: Kernel) -> None:
    """C044: the imaginary part is not dropped."""
    y = 1j * np.concatenate([MEAN, COV.ravel()])
    for function in (kernel.rhs({"A": A, "V": V}), kernel.jacobian({"A": A, "V": V})):
        with pytest.raises(InputError, match="complex"):
            function(0.0, y)


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_names_of_constants_and_keywords(backend: str) -> None:
    """C029: E, I, S, N, Q, beta-like and reserved words are parameters like any other."""
    model = Attention("lambda*dot(x, S*y) + gamma*E*dot(Q*x, Q*y) + N*dot(I, y)")
    values = {"lambda": 2.0, "gamma": 3.0, "E": 0.5, "N": 4.0}
    arrays = {"S": A, "Q": Q, "I": MEAN, "V": V}
    kernel = compile(model, backend=backend)
    mean, cov = expected(2.0 * A.T + 1.5 * Q.T @ Q)
    shift = 4.0 * V @ COV @ MEAN
    require(kernel(0.0, MEAN, COV, **values, **arrays), (mean + shift, cov))


def test_a_zero_score_leaves_a_covariance_of_zeros(kernel: Kernel) -> None:
    """C036: the shape of Σ' is kept where its drift vanishes."""
    mean, cov = kernel(0.0, MEAN, COV, A=np.zeros((D, D)), V=V)
    assert_allclose(mean, V @ MEAN, rtol=1e-14)
    assert cov.shape == (D, D)
    assert cov.dtype == np.float64
    assert not cov.any()


def test_one_kernel_serves_every_size(kernel: Kernel) -> None:
    """C039: loops, not unrolled terms; the size is chosen at call time and the text knows nothing of it."""
    text = kernel.source
    for d in (1, 2, 150):
        a, v, root = np.random.default_rng(d).normal(size=(3, d, d)) / np.sqrt(d)
        cov, mean = root @ root.T, np.ones(d)
        half = v @ cov @ a @ cov
        require(kernel(0.0, mean, cov, A=a, V=v), (v @ (mean + cov @ a @ mean), half + half.T))
    assert kernel.source == text
    assert len(source(Attention("dot(y, A*x)"))) < 30_000  # shipped ones add a few fixed sizes
