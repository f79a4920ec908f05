"""Cosines of pairs of tokens, without arrays of n × n numbers unless they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.errors import InputError

_BLOCK = 2**21  #: numbers in one block of pairs


def tokens(x: Any, name: str = "x") -> Array:
    """Return tokens of shape (..., n, d) as float64.

    Raises
    ------
    InputError
        If there are no such axes, or one of them is empty.
    """
    array = real_array(x, name)
    if array.ndim < 2 or 0 in array.shape[-2:]:
        raise InputError(f"{name} has shape {array.shape}; tokens have the shape (n, d), or (T, n, d)")
    return array


def directions(x: Any) -> Array:
    """Return every token divided by its length.

    Raises
    ------
    InputError
        If a token is zero, naming its index.
    """
    array = tokens(x)
    largest = np.abs(array).max(axis=-1, keepdims=True)
    if (largest == 0.0).any():
        index = ", ".join(str(int(i)) for i in np.argwhere(largest[..., 0] == 0.0)[0])
        raise InputError(f"x[{index}] is zero and has no direction; leave it out")
    scaled = array / largest  # squares of very long or short tokens would overflow
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def cosines(x: Any) -> Array:
    r"""Return the cosine of every pair of tokens, :math:`\langle x_i, x_j\rangle/(|x_i||x_j|)`.

    Parameters
    ----------
    x : array_like, (..., n, d)
        Tokens, none of them zero.

    Returns
    -------
    ndarray, (..., n, n)
        Symmetric, in [−1, 1], with ones on the diagonal. For many tokens see :func:`fraction_above`.

    Raises
    ------
    InputError
        If a token is zero.

    Examples
    --------
    >>> cosines([[2.0, 0.0], [0.0, 3.0]])
    array([[1., 0.],
           [0., 1.]])
    """
    unit = directions(x)
    gram = np.clip(unit @ unit.swapaxes(-1, -2), -1.0, 1.0)
    diagonal = np.arange(unit.shape[-2])
    gram[..., diagonal, diagonal] = 1.0
    return np.asarray(gram)


def fraction_above(x: Any, level: float, *, distinct: bool = False) -> Any:
    r"""Return the fraction of pairs whose cosine is at least ``level``.

    .. math:: n^{-2}\,\#\{(i, j) : \langle x_i, x_j\rangle \ge \text{level}\}

    Parameters
    ----------
    x : array_like, (..., n, d)
        Tokens, none of them zero.
    level : float
        Cosine.
    distinct : bool
        Leave the pairs of a token with itself out (one token alone then counts as clustered).

    Returns
    -------
    float, or ndarray of the leading axes

    References
    ----------
    GLPR23, the statistic of the phase diagrams.

    Examples
    --------
    >>> fraction_above([[1.0, 0.0], [0.0, 1.0]], 0.9)
    0.5
    """
    unit = directions(x)
    lead, (n, d) = unit.shape[:-2], unit.shape[-2:]
    flat = unit.reshape(-1, n, d)
    above = np.zeros(len(flat))
    for frames, rows in blocks(len(flat), n):
        above[frames] += (flat[frames, rows] @ flat[frames].swapaxes(1, 2) >= level).sum(axis=(1, 2))
    if distinct:
        own = (np.einsum("bid,bid->bi", flat, flat) >= level).sum(axis=1)
        share = (above - own) / (n * (n - 1)) if n > 1 else np.ones(len(flat))
    else:
        share = above / n**2
    return share.reshape(lead) if lead else float(share[0])


def blocks(frames: int, n: int, width: int = 1) -> Iterator[tuple[slice, slice]]:
    """Yield slices of clouds and of rows whose pairs fit into one block of ``width`` numbers each."""
    together = max(1, _BLOCK // (n * n * width))
    rows = min(n, max(1, _BLOCK // (n * width)))
    for first in range(0, frames, together):
        for row in range(0, n, rows):
            yield slice(first, first + together), slice(row, row + rows)
