"""Tokens on the circle by the gaps between neighbours, and boxes in which a critical point is alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symflow.checking import Array
from symflow.codegen.hessians import HessianKernel

_GRID = 4096
#: Half widths of boxes that are tried, in turns.
_REACHES = np.geomspace(0.12, 1e-3, 60)
#: Gaps this close to simple fractions of a turn are these, in a configuration of such gaps alone.
_CLOSE = 1e-7
_SIMPLE = 24


def gaps_of(x: Array) -> Array:
    """Return the gaps (n,) between neighbours in turns, the largest last, the sequence the largest such.

    Examples
    --------
    >>> gaps_of(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])).tolist()
    [0.0, 0.25, 0.75]
    """
    turns = np.sort(np.arctan2(x[:, 1], x[:, 0]) / (2.0 * np.pi) % 1.0)
    gaps = np.diff(np.append(turns, turns[0] + 1.0))
    gaps = _symmetric(gaps / gaps.sum())
    images = [np.roll(row, shift) for row in (gaps, gaps[::-1]) for shift in range(len(gaps))]
    return max(images, key=lambda row: np.round(row[::-1], 7).tolist())


def _symmetric(gaps: Array) -> Array:
    """Return gaps without the rounding that a soft direction amplifies: zeros, and simple fractions."""
    gaps = np.where(gaps < _CLOSE, 0.0, gaps)
    simple = [Fraction(gap).limit_denominator(_SIMPLE) for gap in gaps.tolist()]
    rounded = np.array([float(gap) for gap in simple])
    return rounded if sum(simple) == 1 and np.abs(rounded - gaps).max() < _CLOSE else gaps


def stiffness(kernel: HessianKernel) -> Array:
    """Return h' on a grid of one turn, h the torque that two tokens feel, read off their energy."""
    angles = 2.0 * np.pi * np.arange(_GRID) / _GRID
    pairs = np.zeros((_GRID, 2, 2))
    pairs[:, 0, 0] = 1.0
    pairs[:, 1, 0], pairs[:, 1, 1] = np.cos(angles), np.sin(angles)
    torque = 4.0 * kernel.gradient(pairs)[:, 0, 1]
    waves = np.fft.rfftfreq(_GRID, 1.0 / _GRID)
    return np.asarray(np.fft.irfft(1j * waves * np.fft.rfft(torque), _GRID))


def reach(gaps: Array, slopes: Array) -> float:
    """Return about the largest half width of a box of gaps on which the gradient is one-to-one, in turns.

    There |J| exceeds the sum of spread × bbᵀ over pairs, J a Jacobian in the middle of all that occur, b the
    difference of the two unit vectors, and so every mean of Jacobians is invertible.
    """
    n = len(gaps)
    sums = np.concatenate([[0.0], gaps.cumsum()])
    centre = np.rint((sums[None, :n] - sums[:n, None]) * _GRID).astype(int)
    for half in _REACHES:
        middle, spread = np.zeros((n, n)), np.zeros((n, n))
        for i, j in zip(*np.triu_indices(n, 1), strict=True):
            width = int(np.ceil((j - i) * half * _GRID)) + 1
            near = slopes.take(np.arange(centre[i, j] - width, centre[i, j] + width + 1), mode="wrap")
            middle[i, j] = middle[j, i] = 0.5 * (near.max() + near.min())
            spread[i, j] = spread[j, i] = 0.5 * (near.max() - near.min())
        values, vectors = np.linalg.eigh(_jacobian(middle))
        absolute, sign = ((vectors * part(values)) @ vectors.T for part in (np.abs, np.sign))
        wide = -_jacobian(spread)
        if np.linalg.eigvalsh(2.0 * absolute - wide - sign @ wide @ sign)[0] > 0.0:
            return float(half)
    return 0.0


def _jacobian(slopes: Array) -> Array:
    """Return the derivative of the torques on all tokens but the first."""
    rows = slopes.copy()
    np.fill_diagonal(rows, 0.0)
    np.fill_diagonal(rows, -rows.sum(axis=1))
    return np.asarray(rows[1:, 1:])
