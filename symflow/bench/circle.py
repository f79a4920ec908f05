"""T7: the velocity of many tokens on the circle and S²: harmonics instead of a sum over pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

from symflow.bench.contest import OWN, Contest, Entry, Run
from symflow.bench.velocity import bind_pairs, definition, sphere, with_numpy
from symflow.codegen.expansions import fast_sum
from symflow.models.attention.softmax import Softmax

Array = NDArray[np.float64]

#: Dimension, β, number of tokens.
SIZES = {
    "small": ((2, 9.0, 1024), (3, 9.0, 1024)),
    "full": (
        *((2, beta, n) for beta in (1.0, 9.0, 81.0) for n in (1024, 4096, 16384)),
        *((3, beta, n) for beta in (1.0, 9.0, 81.0) for n in (4096, 16384)),
        *((d, 9.0, n) for d in (2, 3) for n in (10**5, 10**6)),
    ),
}
_NEGLIGIBLE = 1e-16  # of the first coefficient
_MOST_MODES = 400
_LARGEST = {"NumPy, Fourier": 10**5, "NumPy, pairs": 16384}  # beyond, memory or minutes
_ROWS = 64


def contests(size: str) -> Iterator[Contest]:
    """Return one contest per dimension, β and number of tokens."""
    for d, beta, n in SIZES[size]:
        x, rows = sphere(n, d, seed=n), np.arange(0, n, max(1, n // _ROWS))
        yield Contest(
            task="T7",
            case=f"{'circle' if d == 2 else 'S²'}, β = {beta:g}, n = {n}",
            entries=_entries(x, beta),
            exact=lambda x=x, beta=beta, rows=rows: definition(x, beta, rows),  # type: ignore[misc]
            unit="ns per token",
            scale=1e9 / n,
            rows=rows,
        )


def _entries(x: Array, beta: float) -> dict[str, Entry]:
    entries = {
        OWN: Entry((OWN,), lambda: _own(x, beta)),
        "NumPy, pairs": Entry(("numpy",), lambda: with_numpy(x, beta)),
    }
    if x.shape[1] == 2:
        entries["NumPy, Fourier"] = Entry(("numpy", "scipy"), lambda: _fourier(x, beta))
    return {name: entry for name, entry in entries.items() if len(x) <= _LARGEST.get(name, len(x))}


def _own(x: Array, beta: float) -> Run:
    """Return the velocity as ``solve`` would sum it: by harmonics, or over pairs where that is faster."""
    found = fast_sum(Softmax(space="sphere", beta=beta), x.shape[::-1], {})
    call = bind_pairs(x, beta) if found is None else found.call
    y, dy = x.ravel().copy(), np.empty(x.size)

    def run() -> Array:
        call(0.0, y, dy)
        return dy.reshape(x.shape)

    return run


def _fourier(x: Array, beta: float) -> Run:
    r"""Return the velocity by :math:`e^{\beta\cos u} = I_0 + 2\sum_k I_k\cos ku`, cut where negligible."""
    angles = np.arctan2(x[:, 1], x[:, 0])
    coefficients = ive(np.arange(_MOST_MODES), beta)
    modes = int(np.flatnonzero(coefficients > _NEGLIGIBLE * coefficients[0])[-1]) + 1
    c = coefficients[: modes + 1]
    powers = np.empty((modes + 2, angles.size), dtype=complex)

    def run() -> Array:
        z = np.exp(1j * angles)
        powers[0] = 1.0
        for k in range(1, modes + 2):
            np.multiply(powers[k - 1], z, out=powers[k])
        moments = powers.sum(axis=1).conj()
        doubled = np.concatenate([c[:1], 2.0 * c[1:]]) * moments[: modes + 1]
        total = doubled.real @ powers[: modes + 1].real - doubled.imag @ powers[: modes + 1].imag
        shifted = np.concatenate([moments[1:2].conj(), moments[:modes]])
        mean = (c * shifted) @ powers[: modes + 1]
        mean += (c[1:] * moments[2 : modes + 2].conj()) @ powers[1 : modes + 1].conj()
        speed = (mean * z.conj()).imag / total
        return np.stack([-speed * z.imag, speed * z.real], axis=1)

    return run
