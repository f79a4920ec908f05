"""The input of the first layer of a BERT-style transformer: embedded tokens, their mean and covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.integrate.transformer.tensors import Array, Tensors, config, frozen, locate


@dataclass(frozen=True, eq=False)
class LayerNorm:
    r"""Every token centred, divided by its standard deviation, and scaled by coordinate.

    .. math:: \operatorname{LN}(x) = \gamma\odot\frac{Px}{\sqrt{|Px|^2/d+\varepsilon}}+\beta, \qquad
              P = I-\tfrac1d\mathbf 1\mathbf 1^\top

    Attributes
    ----------
    gain, shift : ndarray, (d,)
        γ and β.
    epsilon : float
    """

    gain: Array
    shift: Array
    epsilon: float

    @classmethod
    def read(cls, tensors: Tensors, name: str, epsilon: float) -> LayerNorm:
        """Read ``name.weight`` and ``name.bias``."""
        gain, shift = (frozen(tensors.read(f"{name}.{part}", 1)) for part in ("weight", "bias"))
        return cls(gain, shift, epsilon)

    def __call__(self, tokens: Array) -> Array:
        """Normalise each row of (n, d)."""
        out = tokens - tokens.mean(axis=1, keepdims=True)
        out /= np.sqrt(np.einsum("nd,nd->n", out, out) / out.shape[1] + self.epsilon)[:, None]
        out *= self.gain
        out += self.shift
        return np.asarray(out)

    def affine(self, mean: Array, cov: Array) -> tuple[Array, Array]:
        r"""Return (M, m) of the affine map that divides every token by the same standard deviation.

        .. math:: x \mapsto \gamma\odot\frac{Px}{\sigma}+\beta, \qquad
                  \sigma^2 = \tfrac1d\bigl(\operatorname{tr}P\Sigma+|P\alpha|^2\bigr)+\varepsilon
                  = \mathbb E\,\tfrac1d|Px|^2+\varepsilon

        It depends on the law through mean and covariance only, and keeps the mean square
        :math:`\mathbb E|\gamma^{-1}\odot(\operatorname{LN}(x)-\beta)|^2` of the layer norm for every law.
        """
        d = len(mean)
        centred = mean - mean.mean()
        spread = float(np.trace(cov) - cov.sum() / d + centred @ centred) / d + self.epsilon
        matrix = (self.gain / np.sqrt(spread))[:, None] * (np.eye(d) - 1.0 / d)
        return matrix, self.shift


def embed(
    path: str | Path, ids: Sequence[int] | NDArray[np.int64], positions: Sequence[int] | int | None = None
) -> Array:
    r"""Return the input of the first layer for given tokens.

    .. math:: x_i = \operatorname{LN}\bigl(\text{word}_{w_i} + \text{position}_{p_i} + \text{type}_0\bigr)

    Parameters
    ----------
    path : str or Path
        As for :func:`symflow.load_attention`.
    ids : sequence of int, (n,)
        Rows :math:`w_i` of the table of words.
    positions : int or sequence of int, optional
        Rows :math:`p_i` of the table of positions; one number stands for all. By default 0, 1, 2, ….

    Returns
    -------
    ndarray, (n, d)

    Raises
    ------
    InputError
        Naming the missing tensor, or the index that is out of range.
    """
    table = _Table.read(path)
    rows = _rows("ids", ids, len(table.words))
    wanted = _rows("positions", np.arange(len(rows)) if positions is None else positions, len(table.places))
    if wanted.size not in (1, rows.size):
        raise InputError(f"positions has {wanted.size} entries for {rows.size} ids; give one for each")
    return table.norm(table.words[rows] + (table.places[wanted] + table.kind))


def embedding_moments(
    path: str | Path, position: int = 1, *, epsilon: float | None = None
) -> tuple[Array, Array]:
    r"""Return mean and covariance of the first layer's input, uniform over the vocabulary.

    .. math:: x_w = \gamma\odot\frac{e_w-\bar e_w}{\sqrt{\operatorname{var}e_w+\varepsilon}}+\beta, \qquad
              e_w = \text{word}_w + \text{position} + \text{type}_0

    The normalised vector sums to zero, hence every :math:`x_w` lies in one hyperplane with normal
    :math:`1/\gamma` and the covariance has rank at most d − 1.

    Parameters
    ----------
    path : str or Path
        As for :func:`load_attention`.
    position : int
        Row of the position table, from 0.
    epsilon : float, optional
        ε of the layer norm; by default ``layer_norm_eps`` of the ``config.json`` beside the file, else 1e-12.

    Returns
    -------
    mean : ndarray, (d,)
    cov : ndarray, (d, d)
        Exactly symmetric; semidefinite and of rank d − 1 up to rounding of float64.

    Raises
    ------
    InputError
        Naming the missing tensor or row and what exists.
    """
    table = _Table.read(path, epsilon)
    if not 0 <= position < len(table.places):
        raise InputError(f"position = {position}: the table has the rows 0 to {len(table.places) - 1}")
    return token_moments(table.norm(table.words + (table.places[position] + table.kind)))


def token_moments(tokens: Array) -> tuple[Array, Array]:
    """Return mean and covariance of the rows of (n, d), with weight 1/n; the covariance exactly symmetric."""
    mean = tokens.mean(axis=0)
    centred = tokens - mean
    cov = centred.T @ centred / len(tokens)
    return frozen(mean), frozen((cov + cov.T) / 2)


@dataclass(frozen=True, eq=False)
class _Table:
    """What a token is embedded by: rows for words and positions, the first token type, the layer norm."""

    words: Array
    places: Array
    kind: Array
    norm: LayerNorm

    @classmethod
    def read(cls, path: str | Path, epsilon: float | None = None) -> _Table:
        file = locate(path)
        tensors = Tensors(file)
        root = tensors.root("embeddings.word_embeddings.weight") + "embeddings."
        words, places, kinds = (
            tensors.read(f"{root}{name}_embeddings.weight", 2) for name in ("word", "position", "token_type")
        )
        norm = LayerNorm.read(tensors, f"{root}LayerNorm", norm_epsilon(file) if epsilon is None else epsilon)
        return cls(words, places, kinds[0], norm)


def norm_epsilon(file: Path) -> float:
    """Return ε of the layer norms from the configuration beside a model file, else 1e-12."""
    return float(config(file).get("layer_norm_eps", 1e-12))


def _rows(name: str, given: Sequence[int] | NDArray[np.int64] | int, count: int) -> NDArray[np.int64]:
    """Return indices into a table of ``count`` rows."""
    rows = np.atleast_1d(np.asarray(given))
    if rows.ndim != 1 or rows.size == 0 or not np.issubdtype(rows.dtype, np.integer):
        raise InputError(f"{name} must be integers, at least one; got {rows.dtype} of shape {rows.shape}")
    outside = np.flatnonzero((rows < 0) | (rows >= count))
    if outside.size:
        i = int(outside[0])
        raise InputError(f"{name}[{i}] = {rows[i]}: the table has the rows 0 to {count - 1}")
    return rows.astype(np.int64)
