"""Attention layers of a real BERT-style transformer, read from a ``.safetensors`` file.

A file enters, frozen arrays in double precision leave: the parameters of the heads of one layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sympy

from symflow.errors import InputError
from symflow.integrate.transformer.tensors import Array, Tensors, config, frozen, locate


@dataclass(frozen=True, eq=False)
class AttentionWeights:
    r"""One attention layer, head by head, with the conventions of the mean-field equations.

    .. math:: s_h(x,y) = \tfrac{1}{\sqrt k}\langle Q_hx+b_{Q,h},\,K_hy+b_{K,h}\rangle, \qquad
              \Gamma(x) = b_O + \sum_h W_h\,\mathbb E_{y\sim s_h}[V_hy+b_{V,h}]

    Attributes
    ----------
    source : str
        Where the numbers came from: file and layer.
    Q, K, V : ndarray, (H, k, d)
        Query, key and value maps; all arrays are float64 and read-only.
    W : ndarray, (H, d, k)
        The blocks of the output projection that act on each head.
    bq, bk, bv : ndarray, (H, k)
        Biases of the three maps.
    bo : ndarray, (d,)
        Bias of the output projection; it belongs to the whole layer.
    temperature : sympy.Expr
        :math:`\sqrt k`, exactly.
    """

    source: str
    Q: Array
    K: Array
    V: Array
    W: Array
    bq: Array
    bk: Array
    bv: Array
    bo: Array
    temperature: sympy.Expr

    @property
    def heads(self) -> int:
        """Number H of heads."""
        return int(self.Q.shape[0])

    @property
    def k(self) -> int:
        """Size of one head."""
        return int(self.Q.shape[1])

    @property
    def d(self) -> int:
        """Size of a token."""
        return int(self.Q.shape[2])

    def head(self, h: int, *, output_bias: bool = False) -> dict[str, Array]:
        r"""Return the parameters of the softmax model for head ``h`` alone.

        .. math:: V = W_hV_h, \qquad b_V = W_hb_{V,h}

        Parameters
        ----------
        h : int
            0 ≤ h < H.
        output_bias : bool
            Also return ``bo``; the layer adds it once, so a single head leaves it out unless asked.

        Returns
        -------
        dict of str to ndarray
            ``Q``, ``K`` (k, d), ``V`` (d, d), ``bq``, ``bk`` (k,), ``bv`` (d,), and ``bo`` (d,) if asked.

        Raises
        ------
        InputError
            If there is no such head.
        """
        self._require_head(h)
        out = {
            "Q": self.Q[h],
            "K": self.K[h],
            "V": self.W[h] @ self.V[h],
            "bq": self.bq[h],
            "bk": self.bk[h],
            "bv": self.W[h] @ self.bv[h],
        }
        return out | {"bo": self.bo} if output_bias else out

    def parameters(self) -> dict[str, Array]:
        """Return the parameters of the whole layer, for ``MultiHead(Softmax(temperature=...))``.

        Returns
        -------
        dict of str to ndarray
            ``Q``, ``K``, ``V`` (H, k, d), ``W`` (H, d, k), ``bq``, ``bk``, ``bv`` (H, k), ``bo`` (d,).
        """
        return {name: getattr(self, name) for name in ("Q", "K", "V", "W", "bq", "bk", "bv", "bo")}

    def matrix(self, h: int) -> Array:
        r"""Return :math:`A_h = K_h^\top Q_h` (d, d), the bilinear form of the score of head ``h``."""
        self._require_head(h)
        return np.asarray(self.K[h].T @ self.Q[h])

    def _require_head(self, h: int) -> None:
        if not 0 <= h < self.heads:
            raise InputError(f"head = {h}: {self.source} has the heads 0 to {self.heads - 1}")


def load_attention(path: str | Path, layer: int, *, heads: int | None = None) -> AttentionWeights:
    r"""Read the attention heads of one layer of a BERT-style transformer.

    Parameters
    ----------
    path : str or Path
        A ``.safetensors`` file; ``"package:NAME/PATH"`` reads a file of an installed distribution.
    layer : int
        Index of the layer, from 0.
    heads : int, optional
        Number H of heads; by default ``num_attention_heads`` of the ``config.json`` beside the file.

    Returns
    -------
    AttentionWeights

    Raises
    ------
    InputError
        Naming the missing file, tensor or layer and what exists instead.

    References
    ----------
    CACP25, section 2 (multi-head attention as a velocity field).
    """
    file = locate(path)
    tensors = Tensors(file)
    prefix = tensors.prefix(layer)
    part = {name: tensors.read(f"{prefix}self.{name}.weight", 2) for name in ("query", "key", "value")}
    bias = {name: tensors.read(f"{prefix}self.{name}.bias", 1) for name in ("query", "key", "value")}
    output = tensors.read(f"{prefix}output.dense.weight", 2)
    count = _head_count(file, heads, rows=part["query"].shape[0])
    size = part["query"].shape[0] // count
    width = part["query"].shape[1]

    def split(matrix: Array) -> Array:
        return frozen(matrix.reshape(count, size, width))

    return AttentionWeights(
        source=f"{file.name}, layer {layer}",
        Q=split(part["query"]),
        K=split(part["key"]),
        V=split(part["value"]),
        W=frozen(output.reshape(width, count, size).transpose(1, 0, 2)),
        bq=frozen(bias["query"].reshape(count, size)),
        bk=frozen(bias["key"].reshape(count, size)),
        bv=frozen(bias["value"].reshape(count, size)),
        bo=frozen(tensors.read(f"{prefix}output.dense.bias", 1)),
        temperature=sympy.sqrt(size),
    )


def _head_count(file: Path, heads: int | None, rows: int) -> int:
    count = heads if heads is not None else config(file).get("num_attention_heads")
    if count is None:
        raise InputError(f"heads: {file.parent} has no config.json with num_attention_heads; pass heads=")
    if not isinstance(count, int) or count < 1 or rows % count:
        raise InputError(f"heads = {count!r}: must be a positive divisor of the {rows} query rows")
    return count
