"""T3: a run of a Gaussian law under softmax attention, V = I, A = −I + perturbation, T = 10, rtol = 1e-9."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from symflow.bench.contest import OWN, Contest, Entry, Run
from symflow.bench.gaussian_peers import LARGEST, PEERS
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.models.attention.softmax import Softmax

Array = NDArray[np.float64]

END, RTOL, ATOL = 10.0, 1e-9, 1e-12
SIZES = {"small": (2,), "full": (2, 3, 8, 32, 128)}


def contests(size: str) -> Iterator[Contest]:
    """Return one contest per dimension."""
    for d in SIZES[size]:
        law, params = example(d)
        a = params["A"]
        yield Contest(
            task="T3",
            case=f"d = {d}",
            entries=_entries(law, params),
            exact=lambda law=law, a=a: np.linalg.inv(np.linalg.inv(law.cov) - END * (a + a.T)),  # type: ignore[misc]
            unit="ms",
            scale=1e3,
        )


def _entries(law: Gaussian, params: dict[str, Any]) -> dict[str, Entry]:
    a = params["A"]
    entries = {
        OWN: Entry((OWN,), lambda: _own(law, params)),
        "SciPy": Entry(("numpy", "scipy"), lambda: with_scipy(law, a)),
    }
    builds_on = {"heyoka": (), "numbalsoda": ("numba",), "diffrax": ("jax",)}
    for name, others in builds_on.items():
        if law.dim <= LARGEST[name]:
            entries[name] = Entry((*others, name), lambda name=name: _with_peer(name, law, a))  # type: ignore[misc]
    return entries


def example(d: int) -> tuple[Gaussian, dict[str, Any]]:
    """Return a law and parameters of size d."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(d, d)) / np.sqrt(d)
    cov = root @ root.T + 0.1 * np.eye(d)
    a = -np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    return Gaussian(rng.normal(size=d), 0.5 * (cov + cov.T)), {"A": a, "V": np.eye(d)}


def _own(law: Gaussian, params: dict[str, Any]) -> Run:
    model = Softmax()
    return lambda: solve(model, law, params, (0.0, END), t_eval=[END], rtol=RTOL, atol=ATOL).cov[-1]


def with_scipy(law: Gaussian, a: Array, end: float = END) -> Run:
    """Return the run that a user would write with SciPy and NumPy."""
    d = law.dim

    def drift(t: float, y: Any) -> Any:
        mean, cov = y[:d], y[d:].reshape(d, d)
        product = cov @ a
        half = product @ cov
        return np.concatenate([mean + product @ mean, (half + half.T).ravel()])

    start = np.concatenate([law.mean, law.cov.ravel()])

    def run() -> Array:
        found = solve_ivp(drift, (0.0, end), start, method="DOP853", rtol=RTOL, atol=ATOL)
        return np.asarray(found.y[d:, -1].reshape(d, d))

    return run


def _with_peer(name: str, law: Gaussian, a: Array) -> Run:
    start = np.concatenate([law.mean, law.cov.ravel()])
    run = PEERS[name]({"rtol": RTOL, "atol": ATOL}, a, start)
    return lambda: run(END)
