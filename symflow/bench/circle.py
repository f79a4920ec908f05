"""T7: the velocity of many tokens on the circle: harmonics of the kernel instead of a sum over pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

from symflow.bench.contest import OWN, Contest, Run
from symflow.codegen.expansions import fast_sum
from symflow.models.attention.softmax import Softmax

Array = NDArray[np.float64]

SIZES = {"small": ((1.0, 256),), "full": ((1.0, 16384), (9.0, 16384), (81.0, 16384))}
_NEGLIGIBLE = 1e-16  # of the first coefficient
_MOST_MODES = 400
_BLOCK = 256


def contests(size: str, peers: bool) -> Iterator[Contest]:
    """Return one contest per β; NumPy's Fourier series and its sum over pairs are always there."""
    for beta, n in SIZES[size]:
        angles = np.random.default_rng(n).uniform(0.0, 2.0 * np.pi, n)
        entries: dict[str, Callable[[], Run]] = {
            OWN: lambda angles=angles, beta=beta: _own(angles, beta),  # type: ignore[misc]
            "NumPy, Fourier": lambda angles=angles, beta=beta: _fourier(angles, beta),  # type: ignore[misc]
            "NumPy, pairs": lambda angles=angles, beta=beta: _pairs(angles, beta),  # type: ignore[misc]
        }
        yield Contest(
            task="T7",
            case=f"circle, β = {beta:g}, n = {n}",
            entries=entries,
            exact=np.asarray(_pairs(angles, beta)()),
            unit="ms",
            scale=1e3,
        )


def _own(angles: Array, beta: float) -> Run:
    found = fast_sum(Softmax(space="sphere", beta=beta), (2, angles.size), {}, summation="fast")
    assert found is not None  # "fast" refuses where there is none
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    y, dy = x.ravel().copy(), np.empty(x.size)

    def run() -> Array:
        found.call(0.0, y, dy)
        velocity = dy.reshape(x.shape)
        return np.asarray(velocity[:, 1] * x[:, 0] - velocity[:, 0] * x[:, 1])

    return run


def _fourier(angles: Array, beta: float) -> Run:
    r"""Return :math:`e^{\beta\cos u} = I_0 + 2\sum_k I_k\cos ku`, cut where coefficients are negligible."""
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
        return np.asarray((mean * z.conj()).imag / total)

    return run


def _pairs(angles: Array, beta: float) -> Run:
    """Return the sum over pairs, in blocks of rows."""
    n = angles.size
    x = np.stack([np.cos(angles), np.sin(angles), np.ones(n)], axis=1)
    weights, sums = np.empty((min(_BLOCK, n), n)), np.empty((n, 3))

    def run() -> Array:
        keys = np.ascontiguousarray((beta * x[:, :2]).T)
        for first in range(0, n, _BLOCK):
            block = weights[: min(_BLOCK, n - first)]
            np.matmul(x[first : first + _BLOCK, :2], keys, out=block)
            block -= beta
            np.exp(block, out=block)
            np.matmul(block, x, out=sums[first : first + _BLOCK])
        return np.asarray((sums[:, 1] * x[:, 0] - sums[:, 0] * x[:, 1]) / sums[:, 2])

    return run
