"""Kernels of tokens: compiled = NumPy = the definition in long arithmetic, for every score and space."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import symflow
from symflow import Attention, Kernel, Masked, MultiHead, Softmax, Unnormalised, compile, source
from symflow.derive.particles import token_flow
from symflow.errors import BuildError, InputError, NotGaussianPreserving
from symflow.models.registry import attention_models

EPS = np.finfo(float).eps
VARIANTS = sorted(attention_models())
BACKENDS = ("compiled", "numpy")

# --- the definition, which shares no code with the package ------------------------------------------


def _vector(matrix: Any, x: Any, bias: Any) -> list[Any]:
    """Return Mx + b, an identity where there is no M."""
    image = list(x) if matrix is None else [mpmath.fdot(row, x) for row in matrix]
    return image if bias is None else [a + b for a, b in zip(image, bias, strict=True)]


def _squared(x: list[Any]) -> Any:
    return mpmath.fdot(x, x)


def _scores(variant: str, tokens: Any, p: Any, scale: Any) -> Any:
    a = p.get("A")
    q, k = (a, None) if a is not None else (p.get("Q"), p.get("K"))
    left = [_vector(q, x, p.get("bq")) for x in tokens]
    right = [_vector(k, y, p.get("bk")) for y in tokens]
    if variant == "l2":
        squares = [
            [mpmath.fsum((a - b) ** 2 for a, b in zip(u, v, strict=True)) for v in right] for u in left
        ]
        return [[-scale * s for s in row] for row in squares]
    return [[scale * mpmath.fdot(u, v) for v in right] for u in left]


def _weights(variant: str, s: Any, theta: Any, causal: bool) -> Any:
    """Return θ_j w_ij/N_i."""
    n = len(s)
    kernel: Callable[[Any], Any] = {
        "linear": lambda z: z,
        "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
    }.get(variant, mpmath.exp)
    shift = [max(row) if variant in ("softmax", "l2") else mpmath.mpf(0) for row in s]
    seen = [[not causal or j <= i for j in range(n)] for i in range(n)]
    w = [[theta[j] * kernel(s[i][j] - shift[i]) * seen[i][j] for j in range(n)] for i in range(n)]
    if variant in ("softmax", "l2"):
        return [[value / mpmath.fsum(row) for value in row] for row in w]
    return _doubly_stochastic(w, theta) if variant == "sinkhorn" else w


def _doubly_stochastic(w: Any, theta: Any) -> Any:
    """Scale rows and columns in turn, in 64 bits of mantissa."""
    kernel = np.array([[np.longdouble(str(value)) for value in row] for row in w])  # θ_j k_ij
    law = np.array([np.longdouble(str(t)) for t in theta])
    b = np.ones(len(law), np.longdouble)
    for _ in range(200_000):
        a = 1 / (kernel @ b)
        columns = (law * a) @ kernel * b / law
        if abs(columns - 1).max() < 1e-17:
            return [[mpmath.mpf(str(value)) for value in row] for row in a[:, None] * kernel * b]
        b /= columns
    raise AssertionError("the scaling of the test has not converged")


def definition(variant: str, space: str, x: Any, p: Any, theta: Any = None, causal: bool = False) -> Any:
    """Return the velocities as float64, and how large what is added up is."""
    with mpmath.workdps(30):
        tokens = [[mpmath.mpf(float(c)) for c in row] for row in x]
        table = {k: np.vectorize(mpmath.mpf, otypes=[object])(np.asarray(v, float)) for k, v in p.items()}
        beta, temperature = (mpmath.mpf(float(p.get(k, 1))) for k in ("beta", "temperature"))
        law = [mpmath.mpf(1) / len(x)] * len(x) if theta is None else [mpmath.mpf(t) for t in theta]
        s = _scores(variant, tokens, table, beta / temperature)
        weights = _weights(variant, s, law, causal)
        if variant == "sinkhorn":
            weights = [[w / temperature for w in row] for row in weights]
        values = [_vector(table.get("V"), y, table.get("bv")) for y in tokens]
        found, size = [], mpmath.mpf(0)
        for token, row in zip(tokens, weights, strict=True):
            columns = list(zip(*values, strict=True))
            v = [mpmath.fdot(row, column) for column in columns]
            size = max(
                size, *(mpmath.fsum(abs(w * c) for w, c in zip(row, col, strict=True)) for col in columns)
            )
            v = v if "bo" not in table else [a + b for a, b in zip(v, table["bo"], strict=True)]
            along = mpmath.fdot(token, v) if space == "sphere" else 0
            found.append([float(a - along * b) for a, b in zip(v, token, strict=True)])
        return np.array(found), float(size) * (1 + float(max(max(map(abs, row)) for row in s)))


def point(
    names: frozenset[str], space: str, n: int, d: int, seed: int = 0, heads: int | None = None
) -> tuple[Any, dict[str, Any]]:
    """Draw tokens and parameters."""
    rng = np.random.default_rng(seed)
    k = 2 if {"Q", "K"} <= names and ("V" in names or space == "euclidean") else d
    shapes = {
        "Q": (k, d),
        "K": (k, d),
        "A": (d, d),
        "V": (d, d),
        "bq": (k,),
        "bk": (k,),
        "bv": (d,),
        "bo": (d,),
    }
    lead = () if heads is None else (heads,)
    values: dict[str, Any] = {
        name: rng.normal(size=(*(lead if name != "bo" else ()), *shapes[name])) / np.sqrt(d)
        for name in sorted(names)
    }
    tokens = rng.normal(size=(n, d))
    if space == "sphere":
        tokens /= np.linalg.norm(tokens, axis=1)[:, None]
    return tokens, {**values, "beta": 1.25, "temperature": 0.75}


def both(model: Any, **options: Any) -> tuple[Kernel, Kernel]:
    return tuple(compile(model, backend, entry="tokens", **options) for backend in BACKENDS)  # type: ignore[return-value]


def require(
    model: Any, x: Any, params: Any, wanted: Any, size: float, backends: tuple[str, ...] = BACKENDS
) -> None:
    # A score of size |s| has a relative error of |s| ε in its exponential; marginals stop at 1e-13, and an
    # iteration with rate ρ stops within 1/(1 - ρ) times that.
    accuracy = 1e-11 if getattr(model, "normalise", "") == "sinkhorn" else 64 * EPS
    for backend in backends:
        kernel = compile(model, backend, entry="tokens")
        found = kernel(0.0, x, **params)
        assert found.shape == x.shape
        assert_allclose(found, wanted, rtol=0, atol=accuracy * size, err_msg=kernel.backend)


@pytest.mark.parametrize("space", ["euclidean", "sphere"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_parametrisation_is_the_definition(variant: str, space: str) -> None:
    model = attention_models()[variant](space=space)
    for seed, names in enumerate(model.parametrisations()):
        x, params = point(names, space, n=5, d=3, seed=seed)
        wanted, size = definition(variant, space, x, params)
        require(model, x, params, wanted, size)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 4), (6, 1), (9, 8), (17, 11)])
@pytest.mark.parametrize("space", ["euclidean", "sphere"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_size_is_the_definition(variant: str, space: str, n: int, d: int) -> None:
    """A086, C039: one kernel for every n and d."""
    names = frozenset({"Q", "K", "V"})
    x, params = point(names, space, n, d, seed=n + d)
    wanted, size = definition(variant, space, x, params)
    require(attention_models()[variant](space=space), x, params, wanted, size)


@pytest.mark.parametrize("sink", [0, 0.25])
@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "sinkhorn"])
def test_causal_masks_are_the_definition(variant: str, sink: float) -> None:
    model = Masked(attention_models()[variant](), sink=sink)
    x, params = point(frozenset({"Q", "K", "V"}), "euclidean", n=11, d=3)
    wanted, size = definition(variant, "euclidean", x, params, model.weights(11), causal=True)
    # The loops are those without a mask; one kernel with and one without a normaliser are built.
    built = variant in ("softmax", "unnormalised")
    require(model, x, params, wanted, size, BACKENDS if built else ("numpy",))


@pytest.mark.parametrize("variant", ["softmax", "l2"])
def test_heads_are_added_up(variant: str) -> None:
    names = frozenset({"Q", "K", "V", "bq", "bk", "bv", "bo"})
    x, params = point(names, "sphere", n=6, d=3, heads=2)
    wanted, size = np.zeros_like(x), 0.0
    for h in range(2):
        one = {k: v[h] if k in names - {"bo"} else v for k, v in params.items()}
        one["bo"] = params["bo"] / 2
        found, part = definition(variant, "sphere", x, one)
        wanted, size = wanted + found, size + part
    model = MultiHead(attention_models()[variant](space="sphere"))
    require(model, x, params, wanted, size, BACKENDS if variant == "l2" else ("numpy",))


def test_unlike_heads_and_a_layer() -> None:
    model = MultiHead([Softmax(), symflow.Sigmoid()], feed_forward=True)
    x, params = point(frozenset({"Q", "K", "V"}), "euclidean", n=6, d=3)
    (first, a), (second, b) = (definition(v, "euclidean", x, params) for v in ("softmax", "sigmoid"))
    layer, shift = np.random.default_rng(1).normal(size=(3, 3)), np.arange(3.0)
    given = {f"{name}_{i}": params[name] for name in "QKV" for i in (1, 2)}
    given |= {"beta": 1.25, "temperature": 0.75, "W": layer, "c": shift}
    require(model, x, given, first + second + x @ layer.T + shift, a + b + 10.0)


KEYS = "dot(c, y) + dot(y, A*y)/7"
#: Scores of a user, and what they are at rows x and y of numbers.
USER = {
    "Max(0, dot(x, A*y)) - norm2(x)/3": lambda x, y, A, c: max(0, x @ A @ y) - x @ x / 3,
    "erf(dot(x, y)) + dot(c, y)*tanh(dot(c, x))": lambda x, y, A, c: (
        float(mpmath.erf(x @ y)) + (c @ y) * np.tanh(c @ x)
    ),
    "Min(dot(x, y), dot(c, y)) + sqrt(1 + norm2(x - y))": lambda x, y, A, c: (
        min(x @ y, c @ y) + np.sqrt(1 + (x - y) @ (x - y))
    ),
    "Abs(dot(x, A*y))*Heaviside(dot(c, y)) - norm2(x - A*y)**2/50": lambda x, y, A, c: (
        abs(x @ A @ y) * (c @ y > 0) - ((x - A @ y) @ (x - A @ y)) ** 2 / 50
    ),
    "log(1 + norm2(x - y))*sin(dot(c, x)) + cos(dot(c, y))/(2 + dot(x, y)**2)": lambda x, y, A, c: (
        np.log(1 + (x - y) @ (x - y)) * np.sin(c @ x) + np.cos(c @ y) / (2 + (x @ y) ** 2)
    ),
    KEYS: lambda x, y, A, c: c @ y + y @ A @ y / 7,
    "sigmoid(dot(x, A*y))*exp(-norm2(y))": lambda x, y, A, c: np.exp(-y @ y) / (1 + np.exp(-x @ A @ y)),
}


#: Those of pairs in threes, one kernel each; one of keys alone; one whose weights are the scores.
GROUPS = [
    *((tuple(sorted(set(USER) - {KEYS})[start : start + 3]), "softmax") for start in (0, 3)),
    ((KEYS,), "softmax"),
    ((min(USER),), "none"),
]


@pytest.mark.parametrize(("scores", "normalise"), GROUPS)
def test_scores_of_users_are_what_they_say(scores: tuple[str, ...], normalise: str) -> None:
    rng = np.random.default_rng(5)
    x, matrix, c, v = (rng.normal(size=shape) for shape in ((7, 3), (3, 3), (3,), (3, 3)))
    s = 1.5 * np.array([[sum(USER[score](a, b, matrix, c) for score in scores) for b in x] for a in x])
    w = np.exp(s) if normalise == "softmax" else s
    w /= w.sum(axis=1, keepdims=True) if normalise == "softmax" else len(x)
    model = Attention(" + ".join(scores), normalise=normalise, beta=1.5)
    given = {"A": matrix, "c": c, "V": v}
    params = {name: given[name] for name in given if name in model.parameters}
    require(model, x, params, w @ x @ v.T, 50.0)


#: Scores that couple no pair of tokens.
ALONE = {
    "dot(c, y)": lambda x, y, c: c @ y,
    "norm2(y)": lambda x, y, c: y @ y,
    "dot(c, x)": lambda x, y, c: c @ x,
    "dot(c, c)": lambda x, y, c: c @ c,
    "3": lambda x, y, c: 3.0,
}


@pytest.mark.parametrize("normalise", ["softmax", "none", "sinkhorn"])
@pytest.mark.parametrize("score", sorted(ALONE))
def test_scores_of_one_token_only(score: str, normalise: str) -> None:
    """Weights of keys alone, and what depends on queries alone, are averages too; masks hide their pairs."""
    rng = np.random.default_rng(6)
    x, c = rng.normal(size=(7, 3)), rng.normal(size=3)
    s = np.array([[ALONE[score](a, b, c) for b in x] for a in x])
    model = Attention(score, "y", normalise=normalise)
    params = {"c": c} if "c" in model.parameters else {}
    seen = {model: np.ones((7, 7))} | ({} if normalise == "sinkhorn" else {Masked(model): np.tri(7)})
    for each, pairs in seen.items():
        w = pairs * (s if normalise == "none" else np.exp(s))
        w /= 7.0 if normalise == "none" else w.sum(axis=1, keepdims=True)
        if normalise == "sinkhorn":
            w = np.full((7, 7), 1 / 7)  # a product of two functions is scaled to one
        found = compile(each, "numpy", entry="tokens")(0.0, x, **params)
        assert_allclose(found, w @ x, rtol=0, atol=1e-12)


def test_cases_of_a_score() -> None:
    """A Piecewise in SymPy becomes a choice, in registers too."""
    d = sympy.Symbol("d", integer=True, positive=True)
    x, y = (sympy.MatrixSymbol(name, d, 1) for name in "xy")
    u = sympy.Trace(x.T * y)
    model = Attention(sympy.Piecewise((u, u < 0), (u**2, u <= 1), (2 * u - 1, True)))
    tokens = np.random.default_rng(2).normal(size=(9, 2))
    s = tokens @ tokens.T
    w = np.exp(np.where(s < 0, s, np.where(s <= 1, s**2, 2 * s - 1)))
    require(model, tokens, {"V": np.eye(2)}, w / w.sum(axis=1)[:, None] @ tokens, 30.0)


# --- extremes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [1e3, 1e5])
def test_large_scales_do_not_overflow(beta: float) -> None:
    """A083: the token itself wins; with Q ≠ K the one with the largest score does."""
    x, params = point(frozenset({"Q", "V"}), "sphere", n=5, d=3, seed=4)
    params |= {"beta": beta, "temperature": 1.0}
    for kernel in both(Softmax(space="sphere")):
        assert np.abs(kernel(0.0, x, beta=beta)).max() < 1e-12
        winner = x[np.argmax(x @ params["Q"].T @ x.T, axis=1)] @ params["V"].T
        wanted = winner - (winner * x).sum(axis=1)[:, None] * x
        assert_allclose(kernel(0.0, x, **params), wanted, rtol=0, atol=1e-12)


def test_one_huge_token_does_not_overflow() -> None:
    """A083, off the sphere."""
    x, params = point(frozenset({"Q", "K", "V"}), "euclidean", n=5, d=3)
    x[2] *= 1e4
    compiled, numpy = (kernel(0.0, x, **params) for kernel in both(Softmax()))
    assert np.isfinite(compiled).all()
    assert_allclose(compiled, numpy, rtol=1e-9, atol=1e-9 * np.abs(numpy).max())


@pytest.mark.parametrize("variant", VARIANTS)
def test_coincident_and_antipodal_tokens(variant: str) -> None:
    """A consensus, and ±x: everything lies on one line, so that nothing is tangent to the sphere."""
    model = attention_models()[variant](space="sphere", beta=2)
    axis = np.array([0.6, 0.0, 0.8])
    for x in (np.tile(axis, (4, 1)), np.outer([1.0, -1.0, 1.0, -1.0], axis)):
        for kernel in both(model):
            assert np.abs(kernel(0.0, x)).max() < 1e-14


def test_zero_value_matrix_gives_zeros() -> None:
    """C036."""
    x, params = point(frozenset({"Q", "K", "V"}), "euclidean", n=5, d=3)
    for kernel in both(Softmax()):
        found = kernel(0.0, x, **{**params, "V": np.zeros((3, 3))})
        assert found.shape == (5, 3)
        assert found.dtype == np.float64
        assert not found.any()


@pytest.mark.parametrize("n", [300, 521])
def test_many_tokens_and_wide_ones(n: int) -> None:
    """C039, C046: blocks, tiles and several registers; compared relative to what is added up."""
    for space, d in itertools.product(("euclidean", "sphere"), (2, 3, 16)):
        x, params = point(frozenset({"Q", "K", "V"}), space, n=n, d=d)
        for model in (Softmax(space=space), Unnormalised(space=space), Masked(Softmax(space=space))):
            compiled, numpy = (kernel(0.0, x, **params) for kernel in both(model))
            size = np.abs(numpy).max() * (1 + np.abs(x @ params["Q"].T @ params["K"] @ x.T).max())
            assert_allclose(compiled, numpy, rtol=0, atol=64 * EPS * size)


# --- as an object -----------------------------------------------------------------------------------


@pytest.fixture(params=["compiled", "numpy"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return compile(Softmax(), request.param, entry="tokens")


X, PARAMS = point(frozenset({"A", "V"}), "euclidean", n=6, d=4)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda m: np.repeat(m, 2, axis=1)[:, ::2],
        lambda m: np.ascontiguousarray(m.T).T,
        lambda m: m[::-1][::-1],
        np.ndarray.tolist,
        lambda m: m.astype(object),
    ],
)
def test_any_array_gives_the_same_numbers(kernel: Kernel, convert: Callable[[Any], Any]) -> None:
    """C038, C043: and what is given stays untouched."""
    keep, given = X.copy(), convert(X)
    assert (kernel(0.0, given, **PARAMS) == kernel(0.0, X, **PARAMS)).all()
    matrices = {name: convert(PARAMS[name]) for name in "AV"}
    assert (kernel(0.0, X, **{**PARAMS, **matrices}) == kernel(0.0, X, **PARAMS)).all()
    assert (keep == X).all()


def test_kinds_of_matrices_and_numbers(kernel: Kernel) -> None:
    """C038, C044: sparse and exact matrices, single precision and integers; nothing is truncated."""
    for kind in (sympy.SparseMatrix, sympy.ImmutableMatrix):
        found = kernel(0.0, X, **{**PARAMS, "V": kind(PARAMS["V"])})
        assert (found == kernel(0.0, X, **PARAMS)).all()
    single = X.astype(np.float32)
    assert (kernel(0.0, single, **PARAMS) == kernel(0.0, single.astype(float), **PARAMS)).all()
    found = kernel(0.0, [[1, 0], [0, 1]], A=[[1, 0], [0, 1]], V=[[1, 0], [0, 1]], temperature=3)
    share = np.exp(1 / 3) / (1 + np.exp(1 / 3))
    assert_allclose(found, [[share, 1 - share], [1 - share, share]], rtol=1e-14)


@pytest.mark.parametrize("method", ["Radau", "DOP853"])
def test_solve_ivp_passes_any_stride(kernel: Kernel, method: str) -> None:
    """C043: with A = 0 all weights are equal, and the mean, which is what moves the tokens, decays."""
    f = kernel.rhs({"A": np.zeros((4, 4)), "V": -np.eye(4)}, entry="tokens")
    run = solve_ivp(f, (0, 0.5), X.ravel(), method, rtol=1e-9, atol=1e-11)
    assert run.success
    wanted = X + (np.exp(-0.5) - 1) * X.mean(axis=0)
    assert_allclose(run.y[:, -1].reshape(X.shape), wanted, rtol=0, atol=1e-7)


def test_bound_calls_and_right_hand_sides_agree(kernel: Kernel) -> None:
    wanted = kernel(0.0, X, **PARAMS)
    for dims in ({"n": 6}, {"d": 4, "n": 6}, (4, 6)):
        dy = np.empty(X.size)
        assert kernel.bind("tokens", dims, PARAMS)(0.0, X.ravel(), dy) == 0
        assert (dy.reshape(X.shape) == wanted).all()
    assert (kernel.rhs(PARAMS, "tokens")(0.0, X.ravel()).reshape(X.shape) == wanted).all()


def test_sizes_that_no_matrix_determines() -> None:
    for kernel in both(Softmax(space="sphere")):
        x, _ = point(frozenset(), "sphere", n=6, d=2)
        found = kernel.rhs({}, "tokens", {"d": 2})(0.0, x.ravel())
        assert (found.reshape(x.shape) == kernel(0.0, x)).all()
        with pytest.raises(InputError, match="dims"):
            kernel.rhs({}, "tokens")(0.0, x.ravel())


def test_kernels_and_right_hand_sides_pickle(kernel: Kernel) -> None:
    again = pickle.loads(pickle.dumps(kernel))
    assert (again(0.0, X, **PARAMS) == kernel(0.0, X, **PARAMS)).all()
    f = pickle.loads(pickle.dumps(kernel.rhs(PARAMS, "tokens")))
    assert (f(0.0, X.ravel()).reshape(X.shape) == kernel(0.0, X, **PARAMS)).all()


def _with(index: tuple[int, int], value: float) -> Any:
    changed = X.copy()
    changed[index] = value
    return changed


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (_with((3, 1), np.nan), ["'X'", "nan", "(3, 1)"]),
        (_with((0, 2), -np.inf), ["'X'", "inf", "(0, 2)"]),
        (X[0], ["'X'", "(4,)", "(n, d)"]),
        (X[:, :3], ["'X'", "(6, 3)", "d = 4"]),
        (X + 0j, ["'X'", "complex"]),
        (X[:0], ["'X'", "at least one"]),
        ("text", ["'X'"]),
    ],
)
def test_bad_tokens_are_refused_by_name(kernel: Kernel, state: Any, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        kernel(0.0, state, **PARAMS)
    for word in words:
        assert word in str(caught.value)


def test_a_zero_token_is_refused_on_the_sphere() -> None:
    x = np.eye(3)
    x[1] = 0.0
    with pytest.raises(InputError, match="token 1 is zero"):
        compile(Softmax(space="sphere"), "numpy")(0.0, x)


def test_a_model_without_closure_has_tokens() -> None:
    kernel = compile(symflow.Sigmoid(), "numpy")
    assert kernel(0.0, X, **PARAMS).shape == X.shape
    with pytest.raises(NotGaussianPreserving):
        kernel(0.0, X[0], np.eye(4), **PARAMS)


def test_one_kernel_has_laws_and_tokens() -> None:
    kernel = compile(Softmax(), "numpy")
    mean, _ = kernel(0.0, np.zeros(4), np.eye(4), **PARAMS)
    assert mean.shape == (4,)
    assert kernel(0.0, X, **PARAMS).shape == X.shape


def test_a_derivation_of_tokens_is_compiled() -> None:
    derivation = token_flow(Softmax(), {"A", "V"})
    assert source(derivation) == source(Softmax(), entry="tokens")
    assert (compile(derivation)(0.0, X, **PARAMS) == compile(Softmax())(0.0, X, **PARAMS)).all()


# --- text -------------------------------------------------------------------------------------------


def test_the_text_shows_laws_and_tokens() -> None:
    for target in ("cython", "numpy"):
        text = source(Softmax(), target)
        assert "moments" in text
        assert "velocity" in text
    text = source(Softmax(space="sphere"), "numpy")
    assert "def moments" not in text
    assert "Q" not in text.split("def tokens")[1]  # identities cost nothing


def test_the_text_depends_on_no_number() -> None:
    """C039: n and d are chosen at call time, so the text cannot depend on them."""
    for target in ("cython", "numpy"):
        assert source(Softmax(beta=9), target, "tokens") == source(Softmax(), target, "tokens")
        assert len(source(MultiHead(Softmax()), target, "tokens")) < 25_000


def test_the_text_is_the_same_in_every_process() -> None:
    """C041."""
    code = (
        "from symflow import L2, Attention, MultiHead, source\n"
        "from symflow.codegen.keys import model_key\n"
        "user = Attention('Max(0, dot(x, A*y)) + dot(c, y)*norm2(Q*x - Q*y) + dot(b, x)')\n"
        "for model in (L2(), MultiHead(L2()), user):\n"
        "    print(model_key(model))\n"
        "    for target in ('cython', 'numpy'):\n"
        "        print(source(model, target, 'tokens'))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "012"
    }
    assert len(found) == 1


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    model = Attention("dot(x, A*y) + 1/77")
    with pytest.raises(BuildError, match="CC"):
        compile(model, "compiled", entry="tokens")
    with pytest.warns(symflow.errors.BackendWarning, match="CC"):
        kernel = compile(model, entry="tokens")
    assert kernel.backend == "numpy"
    assert kernel(0.0, X, **PARAMS).shape == X.shape
