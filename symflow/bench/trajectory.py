"""T2: a run of 64 tokens on S², β = 9, T = 15, rtol = atol = 1e-8."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from symflow.bench.contest import OWN, Contest, Run, installed
from symflow.bench.velocity import BETA, operations, sphere
from symflow.integrate.solve import solve
from symflow.models.attention.softmax import Softmax

Array = NDArray[np.float64]

SIZES = {"small": (8, 3, 2.0), "full": (64, 3, 15.0)}
TOLERANCE = 1e-8
_EXACT = 1e-13


def contests(size: str, peers: bool) -> Iterator[Contest]:
    """Return the one contest."""
    n, d, end = SIZES[size]
    x = sphere(n, d, seed=3)
    model, tolerance = Softmax(space="sphere", beta=BETA), {"rtol": TOLERANCE, "atol": TOLERANCE}

    def own() -> Run:
        return lambda: solve(model, x, {}, (0.0, end), t_eval=[end], **tolerance).x[-1]  # type: ignore[arg-type]

    entries: dict[str, Callable[[], Run]] = {OWN: own, "SciPy": lambda: _with_scipy(x, end, TOLERANCE)}
    if peers:
        packages = {"numbalsoda": _with_numbalsoda, "diffrax": _with_diffrax}
        for name in installed(packages):
            entries[name] = lambda make=packages[name]: make(x, end)  # type: ignore[misc]
    evaluations = solve(model, x, {}, (0.0, end), t_eval=[end], **tolerance).nfev  # type: ignore[arg-type]
    yield Contest(
        task="T2",
        case=f"n = {n}, d = {d}, T = {end:g}",
        entries=entries,
        exact=_with_scipy(x, end, _EXACT)(),
        unit="ms",
        scale=1e3,
        operations=evaluations * operations(n, d),
        bytes=evaluations * 16.0 * n * d,
    )


def _with_scipy(x: Array, end: float, tolerance: float) -> Callable[[], Array]:
    """Return DOP853 with the velocity in NumPy."""

    def drift(t: float, y: Any) -> Any:
        tokens = y.reshape(x.shape)
        weight = np.exp(BETA * (tokens @ tokens.T))
        mean = weight @ tokens / weight.sum(axis=1)[:, None]
        return (mean - np.einsum("ij,ij->i", mean, tokens)[:, None] * tokens).ravel()

    def run() -> Array:
        found = solve_ivp(drift, (0.0, end), x.ravel(), method="DOP853", rtol=tolerance, atol=tolerance)
        return np.asarray(found.y[:, -1].reshape(x.shape))

    return run


def _with_numbalsoda(x: Array, end: float) -> Run:
    """Return DOP853 in Fortran, the velocity as loops in Numba."""
    numba, solver = importlib.import_module("numba"), importlib.import_module("numbalsoda")
    (n, d), beta = x.shape, BETA

    def drift(t: Any, y: Any, dy: Any, p: Any) -> None:
        tokens, out = numba.carray(y, (n, d)), numba.carray(dy, (n, d))
        mean = np.zeros(d)
        for i in range(n):
            total = 0.0
            mean[:] = 0.0
            for j in range(n):
                score = 0.0
                for k in range(d):
                    score += tokens[i, k] * tokens[j, k]
                weight = np.exp(beta * score)
                total += weight
                for k in range(d):
                    mean[k] += weight * tokens[j, k]
            along = 0.0
            for k in range(d):
                mean[k] /= total
                along += mean[k] * tokens[i, k]
            for k in range(d):
                out[i, k] = mean[k] - along * tokens[i, k]

    equations, times = numba.cfunc(solver.lsoda_sig)(drift), np.array([0.0, end])

    def run() -> Array:
        found, _ = solver.dop853(equations.address, x.ravel(), times, rtol=TOLERANCE, atol=TOLERANCE)
        return np.asarray(found[-1].reshape(x.shape))

    return run


def _with_diffrax(x: Array, end: float) -> Run:
    """Return Dopri8 with the velocity in XLA."""
    jax, dfx = importlib.import_module("jax"), importlib.import_module("diffrax")
    jax.config.update("jax_enable_x64", True)
    control = dfx.PIDController(rtol=TOLERANCE, atol=TOLERANCE)

    def drift(t: Any, tokens: Any, args: Any) -> Any:
        weight = jax.numpy.exp(BETA * (tokens @ tokens.T))
        mean = (weight @ tokens) / weight.sum(axis=1, keepdims=True)
        return mean - (mean * tokens).sum(axis=1, keepdims=True) * tokens

    def integrate(start: Any) -> Any:
        term, method = dfx.ODETerm(drift), dfx.Dopri8()
        return dfx.diffeqsolve(term, method, 0.0, end, None, start, stepsize_controller=control).ys[-1]

    compiled, start = jax.jit(integrate), jax.numpy.asarray(x)
    return lambda: compiled(start).block_until_ready()
