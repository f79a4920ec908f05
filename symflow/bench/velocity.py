"""T1: the velocity of n tokens on the sphere under softmax attention, Q = K = V = I."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.bench.contest import OWN, Contest, Entry, Needs, Run
from symflow.codegen.kernel import compile as compile_kernel
from symflow.integrate.problem import read_problem
from symflow.integrate.scheduled import bound_call
from symflow.integrate.tokens.run import token_dims
from symflow.integrate.tokens.state import read_tokens
from symflow.models.attention.softmax import Softmax

Array = NDArray[np.float64]

BETA = 9.0
SIZES = {
    "small": ((64, 3), (256, 3)),
    "full": ((16, 3), (64, 3), (256, 3), (1024, 3), (1024, 16), (4096, 3), (4096, 64), (16384, 3)),
}
_BLOCK = 256  # rows of weights that a peer holds at a time
_LARGEST = 4096  # tokens whose weights fit into memory all at once
_ROWS = 64  # of the velocity that are compared with the definition


def contests(size: str) -> Iterator[Contest]:
    """Return one contest per number of tokens and dimension."""
    for n, d in SIZES[size]:
        x, rows = sphere(n, d), np.arange(0, n, max(1, n // _ROWS))
        yield Contest(
            task="T1",
            case=f"n = {n}, d = {d}",
            entries=_entries(x),
            exact=lambda x=x, rows=rows: definition(x, BETA, rows),  # type: ignore[misc]
            unit="ns per pair",
            scale=1e9 / n**2,
            rows=rows,
            needs=lambda n=n, d=d: needs(n, d),  # type: ignore[misc]
            threaded=True,
        )


def sphere(n: int, d: int, seed: int = 1) -> Array:
    """Return random tokens on the unit sphere."""
    x = np.random.default_rng(seed).normal(size=(n, d))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def needs(n: int, d: int) -> Needs:
    """Return what the sum over pairs needs: per unordered pair a product of d and an exponential, per ordered
    pair d sums of products; tokens are read and velocities written once. Sums of weights are additions, for
    which some machines have other units."""
    return Needs(multiply_adds=n**2 * 1.5 * d, exponentials=0.5 * n**2, bytes=16.0 * n * d)


def definition(x: Array, beta: float, rows: NDArray[np.intp]) -> Array:
    """Return the velocity of some tokens as it is defined."""
    score = beta * (x[rows] @ x.T)
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    mean = weight @ x / weight.sum(axis=1, keepdims=True)
    return np.asarray(mean - (mean * x[rows]).sum(axis=1, keepdims=True) * x[rows])


def _entries(x: Array) -> dict[str, Entry]:
    entries = {
        OWN: Entry((OWN,), lambda: own(x)),
        "NumPy": Entry(("numpy",), lambda: with_numpy(x)),
        "Numba": Entry(("numba",), lambda: _with_numba(x)),
        "PyTorch": Entry(("torch",), lambda: _with_torch(x)),
        "JAX, blocks": Entry(("jax",), lambda: _with_jax(x, _in_blocks)),
        "KeOps": Entry(("pykeops",), lambda: _with_pykeops(x)),
    }
    if len(x) <= _LARGEST:
        entries["JAX, softmax"] = Entry(("jax",), lambda: _with_jax(x, _with_softmax))
        entries["JAX, exponentials"] = Entry(("jax",), lambda: _with_jax(x, _at_once))
    return entries


def own(x: Array) -> Run:
    """Return the compiled velocity, bound to sizes and parameters."""
    call = bind_pairs(x, BETA)
    y, dy = x.ravel().copy(), np.empty(x.size)

    def run() -> Array:
        call(0.0, y, dy)
        return dy.reshape(x.shape)

    return run


def bind_pairs(x: Array, beta: float) -> Any:
    """Return the compiled sum over pairs of tokens, bound to their number and dimension."""
    model = Softmax(space="sphere", beta=beta)
    tokens = read_tokens(model, x)
    problem = read_problem(model, tokens, {})
    kernel = compile_kernel(model, "auto", problem.parametrisation)
    return bound_call(kernel, problem, "tokens", token_dims(problem, tokens))


def with_numpy(x: Array, beta: float = BETA) -> Run:
    """Return blocks of rows, everything in place; the sum of weights is a column more of the tokens."""
    n, d = x.shape
    weights = np.empty((min(_BLOCK, n), n))
    extended, sums = np.ones((n, d + 1)), np.empty((n, d + 1))
    extended[:, :d] = x

    def run() -> Array:
        keys = np.ascontiguousarray((beta * x).T)
        for first in range(0, n, _BLOCK):
            block = weights[: min(_BLOCK, n - first)]
            np.matmul(x[first : first + _BLOCK], keys, out=block)
            np.exp(block, out=block)
            np.matmul(block, extended, out=sums[first : first + _BLOCK])
        mean = sums[:, :d] / sums[:, d:]
        return np.asarray(mean - np.einsum("ij,ij->i", mean, x)[:, None] * x)

    return run


def _with_numba(x: Array) -> Run:
    compiled, columns, out = _rows_in_numba(), np.ascontiguousarray(x.T), np.empty_like(x)

    def run() -> Array:
        compiled(x, columns, out, BETA, min(2 * _BLOCK, len(x)))
        return out

    return run


@lru_cache(maxsize=1)
def _rows_in_numba() -> Any:
    """Return a compiled loop over rows, each with a buffer of scores that the inner loops run along."""
    numba = importlib.import_module("numba")

    def velocity(x: Any, columns: Any, out: Any, beta: float, size: int) -> None:
        n, d = x.shape
        for i in numba.prange(n):
            score, mean, total, along = np.empty(size), np.zeros(d), 0.0, 0.0
            for first in range(0, n, size):
                count = min(size, n - first)
                for j in range(count):
                    score[j] = 0.0
                for k in range(d):
                    factor = beta * x[i, k]
                    for j in range(count):
                        score[j] += factor * columns[k, first + j]
                for j in range(count):
                    score[j] = np.exp(score[j])
                for j in range(count):
                    total += score[j]
                for k in range(d):
                    part = 0.0
                    for j in range(count):
                        part += score[j] * columns[k, first + j]
                    mean[k] += part
            for k in range(d):
                mean[k] /= total
                along += mean[k] * x[i, k]
            for k in range(d):
                out[i, k] = mean[k] - along * x[i, k]

    return numba.njit(velocity, parallel=True, fastmath=True)


def _with_jax(x: Array, mean: Callable[[Any, Any], Any]) -> Run:
    jax = importlib.import_module("jax")

    def velocity(tokens: Any) -> Any:
        means = mean(jax, tokens)
        return means - (means * tokens).sum(axis=1, keepdims=True) * tokens

    compiled, tokens = jax.jit(velocity), jax.numpy.asarray(x)
    return lambda: compiled(tokens).block_until_ready()


def _with_softmax(jax: Any, tokens: Any) -> Any:
    return jax.nn.softmax(BETA * (tokens @ tokens.T), axis=1) @ tokens


def _at_once(jax: Any, tokens: Any) -> Any:
    weight = jax.numpy.exp(BETA * (tokens @ tokens.T))
    return (weight @ tokens) / weight.sum(axis=1, keepdims=True)


def _in_blocks(jax: Any, tokens: Any) -> Any:
    n, d = tokens.shape
    rows = _BLOCK if n % _BLOCK == 0 else n

    def of_block(block: Any) -> Any:
        weight = jax.numpy.exp(BETA * (block @ tokens.T))
        return (weight @ tokens) / weight.sum(axis=1, keepdims=True)

    return jax.lax.map(of_block, tokens.reshape(-1, rows, d)).reshape(n, d)


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
