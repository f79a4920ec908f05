"""T4: 100 paths of 32 tokens in dimension 8 with common noise of ReLU layers, β = 4, 1000 steps of 0.01.

Every contestant draws the noise by a Cholesky factor of the covariance and retracts. Paths differ, so that
what is compared is the mean cosine of two tokens at t = 1, whose standard error is about 0.02.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.bench.contest import OWN, Contest, Entry, Needs, Run
from symflow.bench.velocity import sphere
from symflow.integrate.ensemble.run import ensemble
from symflow.models.attention.softmax import Softmax
from symflow.noise.common import CommonNoise

Array = NDArray[np.float64]

BETA, DT = 4.0, 0.01
_JITTER = 1e-10  # what peers add to the diagonal, so that the covariance of tokens that merge has a factor
_MANY = 2000  # paths of what the others are compared with
#: Of a normal number by Box and Muller, of a covariance with its arc cosine: each as an exponential.
_EACH = 1.0


@dataclass(frozen=True)
class Case:
    """Tokens, paths, steps, and the step at which the cosines are taken."""

    n: int
    d: int
    paths: int
    steps: int
    at: int

    @property
    def start(self) -> Array:
        """The tokens of all paths at the first time."""
        return sphere(self.n, self.d, seed=5)

    def mean(self, x: Any) -> Array:
        """Return the mean cosine of two different tokens of paths (…, n, d)."""
        tokens = np.asarray(x, dtype=np.float64).reshape(-1, self.n, self.d)
        total = np.square(tokens.sum(axis=1)).sum(axis=1) - self.n
        return np.array([total.mean() / (self.n * (self.n - 1))])

    def needs(self) -> Needs:
        """Return what all steps need at least."""
        pairs = 0.5 * self.n * (self.n + 1)
        products = 2.0 * pairs * self.d + self.n**2 * self.d + self.n**3 / 6.0
        functions = pairs * (1.0 + _EACH) + self.n * self.d * _EACH
        return Needs(products, functions, 16.0 * self.n * self.d) * (self.paths * self.steps)


SIZES = {"small": (Case(8, 3, 16, 50, 50),), "full": (Case(32, 8, 100, 1000, 100),)}


def contests(size: str) -> Iterator[Contest]:
    """Return one contest per case."""
    for case in SIZES[size]:
        yield Contest(
            task="T4",
            case=f"n = {case.n}, d = {case.d}, {case.paths} paths, {case.steps} steps",
            entries=_entries(case),
            exact=lambda case=case: _paths(case, case.at, _MANY, seed=1),  # type: ignore[misc]
            unit="ms",
            scale=1e3,
            needs=case.needs,
            threaded=True,
        )


def _entries(case: Case) -> dict[str, Entry]:
    return {
        OWN: Entry((OWN,), lambda: lambda: _paths(case, case.steps, case.paths)),
        "NumPy": Entry(("numpy",), lambda: lambda: _with_numpy(case)),
        "Numba": Entry(("numba",), lambda: _with_numba(case)),
        "PyTorch": Entry(("torch",), lambda: _with_torch(case)),
        "JAX": Entry(("jax",), lambda: _with_jax(case)),
    }


def _paths(case: Case, steps: int, paths: int, seed: int = 0) -> Array:
    """Return the mean cosine of so many paths, with all that a call does."""
    from symflow_ext.runtime import threads

    model, noise = Softmax(space="sphere", beta=BETA), CommonNoise("relu", dim=case.d)
    found = ensemble(
        model, case.start, {}, (0.0, steps * DT), noise=noise, dt=DT, rng=seed, paths=paths,
        t_eval=[case.at * DT], threads=threads(),
    )  # fmt: skip
    return case.mean(found.x)


def _with_numpy(case: Case) -> Array:
    """Run all paths at once, step by step."""
    rng, mean = np.random.default_rng(0), np.empty(1)
    x = np.broadcast_to(case.start, (case.paths, case.n, case.d)).copy()
    for step in range(case.steps):
        cosine = x @ x.swapaxes(1, 2)
        weight = np.exp(BETA * cosine)
        drift = (weight @ x) / weight.sum(axis=-1, keepdims=True)
        r = np.clip(cosine, -1.0, 1.0)
        covariance = (np.sqrt(1.0 - r * r) + r * (np.pi - np.arccos(r))) / (2.0 * np.pi * case.d)
        factor = np.linalg.cholesky(covariance + _JITTER * np.eye(case.n))
        x += _tangent(x, DT * drift + np.sqrt(DT) * (factor @ rng.standard_normal(x.shape)))
        x /= np.sqrt((x * x).sum(axis=-1, keepdims=True))
        if step + 1 == case.at:
            mean = case.mean(x)
    return mean


def _tangent(x: Any, move: Any) -> Any:
    return move - (move * x).sum(axis=-1, keepdims=True) * x


def _with_numba(case: Case) -> Run:
    compiled, start = _loops_in_numba(case.n, case.d), case.start
    return lambda: case.mean(compiled(start, case.paths, case.steps, case.at))


def _factorisation(n: int, d: int) -> Callable[[Any, Any], None]:
    """Return loops that factorise the covariance at the tokens into a lower triangle."""

    def factorise(x: Any, low: Any) -> None:
        for i in range(n):
            for j in range(i + 1):
                r = 0.0
                for k in range(d):
                    r += x[i, k] * x[j, k]
                r = min(1.0, max(-1.0, r))
                low[i, j] = (np.sqrt(1.0 - r * r) + r * (np.pi - np.arccos(r))) / (2.0 * np.pi * d)
            low[i, i] += _JITTER
        for j in range(n):
            for k in range(j):
                low[j, j] -= low[j, k] * low[j, k]
            low[j, j] = np.sqrt(low[j, j])
            for i in range(j + 1, n):
                for k in range(j):
                    low[i, j] -= low[i, k] * low[j, k]
                low[i, j] /= low[j, j]

    return factorise


def _movement(n: int, d: int) -> Callable[[Any, Any, Any], None]:
    """Return loops that move the tokens by attention and noise, and retract them."""

    def move(x: Any, field: Any, out: Any) -> None:
        mean = np.empty(d)
        for i in range(n):
            total = 0.0
            mean[:] = 0.0
            for j in range(n):
                r = 0.0
                for k in range(d):
                    r += x[i, k] * x[j, k]
                weight = np.exp(BETA * r)
                total += weight
                for k in range(d):
                    mean[k] += weight * x[j, k]
            along, square = 0.0, 0.0
            for k in range(d):
                mean[k] = DT * mean[k] / total + np.sqrt(DT) * field[i, k]
                along += mean[k] * x[i, k]
            for k in range(d):
                out[i, k] = x[i, k] + mean[k] - along * x[i, k]
                square += out[i, k] * out[i, k]
            for k in range(d):
                out[i, k] /= np.sqrt(square)

    return move


def _loops_in_numba(n: int, d: int) -> Callable[[Array, int, int, int], Array]:
    """Return compiled loops, one path after the other, threads over paths."""
    numba = importlib.import_module("numba")
    factor, moved = (numba.njit(part, fastmath=True) for part in (_factorisation(n, d), _movement(n, d)))

    def paths(start: Any, count: int, steps: int, at: int) -> Any:
        kept = np.empty((count, n, d))
        for path in numba.prange(count):
            x, out, field, low, z = start.copy(), start.copy(), start.copy(), np.zeros((n, n)), start.copy()
            for step in range(steps):
                factor(x, low)
                for i in range(n):
                    for k in range(d):
                        z[i, k] = np.random.normal()  # noqa: NPY002, what numba has
                for i in range(n):
                    for k in range(d):
                        field[i, k] = 0.0
                    for j in range(i + 1):
                        for k in range(d):
                            field[i, k] += low[i, j] * z[j, k]
                moved(x, field, out)
                x[:] = out
                if step + 1 == at:
                    kept[path] = x
        return kept

    made: Callable[[Array, int, int, int], Array] = numba.njit(paths, parallel=True, fastmath=True)
    return made


def _with_torch(case: Case) -> Run:
    torch = importlib.import_module("torch")
    start, jitter = torch.from_numpy(case.start), _JITTER * torch.eye(case.n, dtype=torch.float64)

    def step(x: Any) -> Any:
        cosine = x @ x.mT
        weight = torch.exp(BETA * cosine)
        drift = (weight @ x) / weight.sum(-1, keepdim=True)
        r = cosine.clamp(-1.0, 1.0)
        covariance = (torch.sqrt(1.0 - r * r) + r * (np.pi - torch.arccos(r))) / (2.0 * np.pi * case.d)
        noise = torch.linalg.cholesky(covariance + jitter) @ torch.randn_like(x)
        move = DT * drift + DT**0.5 * noise
        x = x + move - (move * x).sum(-1, keepdim=True) * x
        return x / x.norm(dim=-1, keepdim=True)

    def run() -> Array:
        x, mean = start.expand(case.paths, case.n, case.d), np.empty(1)
        with torch.no_grad():
            for k in range(case.steps):
                x = step(x)
                if k + 1 == case.at:
                    mean = case.mean(x.numpy())
        return mean

    return run


def _with_jax(case: Case) -> Run:
    """Return a scan over steps of a map over paths, compiled."""
    jax = importlib.import_module("jax")
    jnp = jax.numpy

    def step(x: Any, key: Any) -> tuple[Any, None]:
        cosine = x @ x.T
        weight = jnp.exp(BETA * cosine)
        drift = (weight @ x) / weight.sum(axis=-1, keepdims=True)
        r = jnp.clip(cosine, -1.0, 1.0)
        covariance = (jnp.sqrt(1.0 - r * r) + r * (jnp.pi - jnp.arccos(r))) / (2.0 * jnp.pi * case.d)
        factor = jnp.linalg.cholesky(covariance + _JITTER * jnp.eye(case.n))
        move = DT * drift + DT**0.5 * (factor @ jax.random.normal(key, x.shape, dtype=x.dtype))
        x = x + move - (move * x).sum(axis=-1, keepdims=True) * x
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True), None

    def path(key: Any) -> Any:
        keys = jax.random.split(key, case.steps)
        middle, _ = jax.lax.scan(step, jnp.asarray(case.start), keys[: case.at])
        end, _ = jax.lax.scan(step, middle, keys[case.at :])
        return middle, end

    compiled = jax.jit(jax.vmap(path))
    keys = jax.random.split(jax.random.PRNGKey(0), case.paths)
    return lambda: case.mean(jax.block_until_ready(compiled(keys))[0])
