"""T1: the velocity of n tokens on the sphere under softmax attention, Q = K = V = I."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.bench.contest import OWN, Contest, Run, installed
from symflow.codegen.kernel import compile as compile_kernel
from symflow.integrate.problem import read_problem
from symflow.integrate.scheduled import bound_call
from symflow.integrate.tokens.run import token_dims
from symflow.integrate.tokens.state import read_tokens
from symflow.models.attention.softmax import Softmax

Array = NDArray[np.float64]

BETA = 9.0
SIZES = {
    "small": ((16, 3), (64, 2)),
    "full": ((64, 3), (256, 3), (1024, 3), (1024, 16), (4096, 3), (4096, 64)),
}
_BLOCK = 256  # rows of weights that a peer holds at a time


def contests(size: str, peers: bool) -> Iterator[Contest]:
    """Return one contest per number of tokens and dimension."""
    for n, d in SIZES[size]:
        x = sphere(n, d)
        yield Contest(
            task="T1",
            case=f"n = {n}, d = {d}",
            entries=_entries(x, peers),
            exact=_exact(x),
            unit="ns per pair",
            scale=1e9 / n**2,
            operations=operations(n, d),
            bytes=16.0 * n * d,
        )


def sphere(n: int, d: int, seed: int = 1) -> Array:
    """Return random tokens on the unit sphere."""
    x = np.random.default_rng(seed).normal(size=(n, d))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def operations(n: int, d: int) -> float:
    """Return what the sum over pairs needs: per unordered pair one product of d and one exponential (30: a
    polynomial of degree 11 and the reduction of its argument), per ordered pair d + 1 sums of products."""
    return n**2 * (0.5 * (2 * d + 30) + 2.0 * (d + 1))


def _exact(x: Array) -> Array:
    score = BETA * (x @ x.T)
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    mean = weight @ x / weight.sum(axis=1, keepdims=True)
    return np.asarray(mean - (mean * x).sum(axis=1, keepdims=True) * x)


def _entries(x: Array, peers: bool) -> dict[str, Callable[[], Run]]:
    entries: dict[str, Callable[[], Run]] = {OWN: lambda: own(x), "NumPy": lambda: with_numpy(x)}
    if peers:
        packages = {"numba": _with_numba, "jax": _with_jax, "torch": _with_torch, "pykeops": _with_pykeops}
        for name in installed(packages):
            entries[name] = lambda make=packages[name]: make(x)  # type: ignore[misc]
    return entries


def own(x: Array) -> Run:
    """Return the compiled velocity, bound to sizes and parameters."""
    model = Softmax(space="sphere", beta=BETA)
    tokens = read_tokens(model, x)
    problem = read_problem(model, tokens, {})
    kernel = compile_kernel(model, "auto", problem.parametrisation)
    call = bound_call(kernel, problem, "tokens", token_dims(problem, tokens))
    y, dy = x.ravel().copy(), np.empty(x.size)

    def run() -> Array:
        call(0.0, y, dy)
        return dy.reshape(x.shape)

    return run


def with_numpy(x: Array) -> Run:
    """Return blocks of rows, everything in place; the sum of weights is a column more of the tokens."""
    n, d = x.shape
    weights = np.empty((min(_BLOCK, n), n))
    extended, sums = np.ones((n, d + 1)), np.empty((n, d + 1))
    extended[:, :d] = x

    def run() -> Array:
        keys = np.ascontiguousarray((BETA * x).T)
        for first in range(0, n, _BLOCK):
            block = weights[: min(_BLOCK, n - first)]
            np.matmul(x[first : first + _BLOCK], keys, out=block)
            np.exp(block, out=block)
            np.matmul(block, extended, out=sums[first : first + _BLOCK])
        mean = sums[:, :d] / sums[:, d:]
        return np.asarray(mean - np.einsum("ij,ij->i", mean, x)[:, None] * x)

    return run


def _with_numba(x: Array) -> Run:
    """Return a compiled loop over rows, each with a buffer of scores that the inner loops run along."""
    numba = importlib.import_module("numba")

    def velocity(x: Any, columns: Any, out: Any, beta: float) -> None:
        n, d = x.shape
        for i in numba.prange(n):
            score, mean = np.zeros(n), np.zeros(d)
            for k in range(d):
                factor = beta * x[i, k]
                for j in range(n):
                    score[j] += factor * columns[k, j]
            total = 0.0
            for j in range(n):
                score[j] = np.exp(score[j])
                total += score[j]
            along = 0.0
            for k in range(d):
                part = 0.0
                for j in range(n):
                    part += score[j] * columns[k, j]
                mean[k] = part / total
                along += mean[k] * x[i, k]
            for k in range(d):
                out[i, k] = mean[k] - along * x[i, k]

    compiled = numba.njit(velocity, parallel=True, fastmath=True)
    columns, out = np.ascontiguousarray(x.T), np.empty_like(x)

    def run() -> Array:
        compiled(x, columns, out, BETA)
        return out

    return run


def _with_jax(x: Array) -> Run:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    n, d = x.shape
    rows = _BLOCK if n % _BLOCK == 0 else n

    def mean(block: Any, tokens: Any) -> Any:
        weight = jax.numpy.exp(BETA * (block @ tokens.T))
        return (weight @ tokens) / weight.sum(axis=1, keepdims=True)

    def velocity(tokens: Any) -> Any:
        blocks = tokens.reshape(-1, rows, d)
        means = jax.lax.map(lambda block: mean(block, tokens), blocks).reshape(n, d)
        return means - (means * tokens).sum(axis=1, keepdims=True) * tokens

    compiled, tokens = jax.jit(velocity), jax.numpy.asarray(x)
    return lambda: compiled(tokens).block_until_ready()


def _with_torch(x: Array) -> Run:
    torch = importlib.import_module("torch")
    tokens = torch.from_numpy(x)
    heads, attend = tokens[None, None], torch.nn.functional.scaled_dot_product_attention

    def run() -> Any:
        with torch.no_grad():
            mean = attend(heads, heads, heads, scale=BETA)[0, 0]
            return mean - (mean * tokens).sum(1, keepdim=True) * tokens

    return run


def _with_pykeops(x: Array) -> Run:
    lazy = importlib.import_module("pykeops.numpy").LazyTensor
    extended = np.concatenate([x, np.ones((len(x), 1))], axis=1)

    def run() -> Array:
        rows, columns, values = lazy(x[:, None, :]), lazy(x[None, :, :]), lazy(extended[None, :, :])
        sums = (((rows * columns).sum(-1) * BETA).exp() * values).sum(1)
        mean = sums[:, :-1] / sums[:, -1:]
        return np.asarray(mean - (mean * x).sum(axis=1, keepdims=True) * x)

    return run
