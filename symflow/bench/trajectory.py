"""T2: a run of 64 tokens on S², β = 9, T = 15, rtol = atol = 1e-8."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from symflow.bench.contest import OWN, Contest, Entry, Run
from symflow.bench.velocity import BETA, needs, sphere
from symflow.integrate.solve import solve
from symflow.integrate.tokens.trajectory import TokenTrajectory
from symflow.models.attention.softmax import Softmax

Array = NDArray[np.float64]

SIZES = {"small": ((16, 3, 3.0),), "full": ((64, 3, 15.0),)}
TOLERANCE = 1e-8
_EXACT = 1e-13


def contests(size: str) -> Iterator[Contest]:
    """Return one contest per number of tokens."""
    for n, d, end in SIZES[size]:
        x = sphere(n, d, seed=3)
        yield Contest(
            task="T2",
            case=f"n = {n}, d = {d}, T = {end:g}",
            entries=_entries(x, end),
            exact=lambda x=x, end=end: _with_scipy(x, end, _EXACT)(),  # type: ignore[misc]
            unit="ms",
            scale=1e3,
            needs=lambda x=x, end=end: needs(*x.shape) * _run(x, end).nfev,  # type: ignore[misc]
        )


def _entries(x: Array, end: float) -> dict[str, Entry]:
    return {
        OWN: Entry((OWN,), lambda: lambda: _run(x, end).x[-1]),
        "SciPy, DOP853": Entry(("numpy", "scipy"), lambda: _with_scipy(x, end, TOLERANCE)),
        "numbalsoda, DOP853": Entry(("numba", "numbalsoda"), lambda: _with_numbalsoda(x, end)),
        "diffrax, Dopri8": Entry(("jax", "diffrax"), lambda: _with_diffrax(x, end, "Dopri8")),
        "diffrax, Tsit5": Entry(("jax", "diffrax"), lambda: _with_diffrax(x, end, "Tsit5")),
    }


def _run(x: Array, end: float) -> TokenTrajectory:
    model = Softmax(space="sphere", beta=BETA)
    found = solve(model, x, {}, (0.0, end), t_eval=[end], rtol=TOLERANCE, atol=TOLERANCE)
    assert isinstance(found, TokenTrajectory)  # tokens were given
    return found


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
    if d != 3:
        raise ValueError(f"d = {d}: the loops are written out for d = 3")

    def drift(t: Any, y: Any, dy: Any, p: Any) -> None:
        tokens, out = numba.carray(y, (n, d)), numba.carray(dy, (n, d))
        for i in range(n):
            a, b, c = tokens[i, 0], tokens[i, 1], tokens[i, 2]
            total, u, v, w = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                weight = np.exp(beta * (a * tokens[j, 0] + b * tokens[j, 1] + c * tokens[j, 2]))
                total += weight
                u += weight * tokens[j, 0]
                v += weight * tokens[j, 1]
                w += weight * tokens[j, 2]
            along = (u * a + v * b + w * c) / total
            out[i, 0] = u / total - along * a
            out[i, 1] = v / total - along * b
            out[i, 2] = w / total - along * c

    equations, times = numba.cfunc(solver.lsoda_sig)(drift), np.array([0.0, end])

    def run() -> Array:
        found, _ = solver.dop853(equations.address, x.ravel(), times, rtol=TOLERANCE, atol=TOLERANCE)
        return np.asarray(found[-1].reshape(x.shape))

    return run


def _with_diffrax(x: Array, end: float, method: str) -> Run:
    """Return a method of Runge and Kutta with the velocity in XLA."""
    jax, dfx = importlib.import_module("jax"), importlib.import_module("diffrax")
    control = dfx.PIDController(rtol=TOLERANCE, atol=TOLERANCE)

    def drift(t: Any, tokens: Any, args: Any) -> Any:
        weight = jax.numpy.exp(BETA * (tokens @ tokens.T))
        mean = (weight @ tokens) / weight.sum(axis=1, keepdims=True)
        return mean - (mean * tokens).sum(axis=1, keepdims=True) * tokens

    def integrate(start: Any) -> Any:
        term, steps = dfx.ODETerm(drift), getattr(dfx, method)()
        return dfx.diffeqsolve(
            term, steps, 0.0, end, None, start, stepsize_controller=control, max_steps=100_000
        ).ys[-1]

    compiled, start = jax.jit(integrate), jax.numpy.asarray(x)
    return lambda: compiled(start).block_until_ready()
