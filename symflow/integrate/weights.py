"""Attention layers and token statistics of a real BERT-style transformer, read from a ``.safetensors`` file.

A file enters, frozen arrays in double precision leave: :func:`load_attention` gives the heads of one layer as
parameters of the softmax model, :func:`embedding_moments` the mean and covariance of the first layer's input.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any, cast

import numpy as np
import sympy
from numpy.typing import NDArray

from symflow.errors import InputError

Array = NDArray[np.float64]

_ATTENTION = "encoder.layer.{layer}.attention."
_READABLE = {"F64", "F32", "F16"}  # what NumPy holds; bfloat16 is not among it


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
    tensors = _Tensors(file)
    prefix = tensors.prefix(layer)
    part = {name: tensors.read(f"{prefix}self.{name}.weight", 2) for name in ("query", "key", "value")}
    bias = {name: tensors.read(f"{prefix}self.{name}.bias", 1) for name in ("query", "key", "value")}
    output = tensors.read(f"{prefix}output.dense.weight", 2)
    count = _head_count(file, heads, rows=part["query"].shape[0])
    size = part["query"].shape[0] // count
    width = part["query"].shape[1]

    def split(matrix: Array) -> Array:
        return _frozen(matrix.reshape(count, size, width))

    return AttentionWeights(
        source=f"{file.name}, layer {layer}",
        Q=split(part["query"]),
        K=split(part["key"]),
        V=split(part["value"]),
        W=_frozen(output.reshape(width, count, size).transpose(1, 0, 2)),
        bq=_frozen(bias["query"].reshape(count, size)),
        bk=_frozen(bias["key"].reshape(count, size)),
        bv=_frozen(bias["value"].reshape(count, size)),
        bo=_frozen(tensors.read(f"{prefix}output.dense.bias", 1)),
        temperature=sympy.sqrt(size),
    )


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
    file = locate(path)
    tensors = _Tensors(file)
    root = tensors.root("embeddings.word_embeddings.weight") + "embeddings."
    positions = tensors.read(f"{root}position_embeddings.weight", 2)
    if not 0 <= position < positions.shape[0]:
        raise InputError(f"position = {position}: the table has the rows 0 to {positions.shape[0] - 1}")
    if epsilon is None:
        epsilon = float(_config(file).get("layer_norm_eps", 1e-12))
    tokens = tensors.read(f"{root}word_embeddings.weight", 2)
    tokens = tokens + (positions[position] + tensors.read(f"{root}token_type_embeddings.weight", 2)[0])
    tokens -= tokens.mean(axis=1, keepdims=True)
    tokens /= np.sqrt(np.einsum("wd,wd->w", tokens, tokens) / tokens.shape[1] + epsilon)[:, None]
    tokens *= tensors.read(f"{root}LayerNorm.weight", 1)
    centre = tokens.mean(axis=0)
    tokens -= centre
    cov = tokens.T @ tokens / tokens.shape[0]
    return _frozen(centre + tensors.read(f"{root}LayerNorm.bias", 1)), _frozen((cov + cov.T) / 2)


def locate(path: str | Path) -> Path:
    """Return the file that ``path`` names; ``"package:NAME/PATH"`` means a file of an installed distribution.

    Parameters
    ----------
    path : str or Path
        A path of the file system, or ``package:`` followed by the name of a distribution (or of an importable
        package) and the path of the file inside it; leading folders of that path may be left out.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If there is no such file; the message says what was looked at and what is there.
    """
    text = str(path)
    if text.startswith("package:"):
        return _packaged(text)
    file = Path(text).expanduser()
    if not file.is_file():
        raise InputError(f"path = {text!r}: no such file; give a .safetensors file or 'package:NAME/PATH'")
    return file


def _packaged(text: str) -> Path:
    name, _, inner = text.removeprefix("package:").partition("/")
    if not name or not inner:
        raise InputError(f"path = {text!r}: write 'package:NAME/PATH', NAME a distribution, PATH its file")
    try:
        listed = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        return _resource(text, name, inner)
    matches = [f for f in listed if f.as_posix() == inner or f.as_posix().endswith("/" + inner)]
    if len(matches) == 1:
        return Path(str(matches[0].locate()))
    known = [f.as_posix() for f in listed if f.suffix == ".safetensors"]
    what = "several files" if matches else "no file"
    raise InputError(f"path = {text!r}: {what} of {name!r} match {inner!r}; its model files are {known}")


def _resource(text: str, name: str, inner: str) -> Path:
    """Resolve a file of an importable package that is not a distribution of that name."""
    try:
        file = Path(str(resources.files(name).joinpath(inner)))
    except ModuleNotFoundError:
        raise InputError(f"path = {text!r}: {name!r} is not installed; run: pip install {name}") from None
    if not file.is_file():
        raise InputError(f"path = {text!r}: the package {name!r} holds no file {inner!r}")
    return file


class _Tensors:
    """The tensors of one file by name, with errors that say what exists."""

    def __init__(self, file: Path) -> None:
        from safetensors import SafetensorError, safe_open

        try:
            self._handle = cast(Any, safe_open(str(file), framework="numpy"))
        except SafetensorError as error:
            raise InputError(f"path = {str(file)!r}: not a readable .safetensors file ({error})") from None
        self._file = file
        self._names: tuple[str, ...] = tuple(self._handle.keys())

    def root(self, ending: str) -> str:
        """Return what stands before ``ending`` in the one tensor name that has it, e.g. ``"bert."``."""
        found = [n for n in self._names if n == ending or n.endswith("." + ending)]
        if len(found) != 1:
            raise InputError(f"{self._file.name}: {len(found)} tensors named …{ending!r}; {self._known()}")
        return found[0].removesuffix(ending)

    def prefix(self, layer: int) -> str:
        """Return the common beginning of the attention tensors of ``layer``."""
        layers = self._layers()
        if layer not in layers:
            there = f"the layers {layers}" if layers else f"no BERT-style layer; {self._known()}"
            raise InputError(f"layer = {layer}: {self._file.name} has {there}")
        attention = _ATTENTION.format(layer=layer)
        return self.root(attention + "self.query.weight") + attention

    def read(self, name: str, ndim: int) -> Array:
        """Return one tensor as float64, of the expected number of axes and finite."""
        if name not in self._names:
            raise InputError(f"{self._file.name}: no tensor {name!r}; {self._known()}")
        kind = self._handle.get_slice(name).get_dtype()
        if kind not in _READABLE:
            raise InputError(f"{self._file.name}: tensor {name!r} has type {kind}; store it as F32 or F64")
        value = np.asarray(self._handle.get_tensor(name), dtype=np.float64)
        if value.ndim != ndim:
            raise InputError(f"{self._file.name}: tensor {name!r} has shape {value.shape}; needs {ndim} axes")
        if not np.isfinite(value).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
            raise InputError(f"{self._file.name}: tensor {name!r} is not finite at index {index}")
        return value

    def _layers(self) -> list[int]:
        head, tail = _ATTENTION.split("{layer}")
        found = {n.split(head)[1].split(".")[0] for n in self._names if head in n and tail in n}
        return sorted(int(text) for text in found if text.isdigit())

    def _known(self) -> str:
        shown = ", ".join(self._names[:5])
        return f"it has {len(self._names)} tensors: {shown}{', …' if len(self._names) > 5 else ''}"


def _head_count(file: Path, heads: int | None, rows: int) -> int:
    count = heads if heads is not None else _config(file).get("num_attention_heads")
    if count is None:
        raise InputError(f"heads: {file.parent} has no config.json with num_attention_heads; pass heads=")
    if not isinstance(count, int) or count < 1 or rows % count:
        raise InputError(f"heads = {count!r}: must be a positive divisor of the {rows} query rows")
    return count


def _config(file: Path) -> dict[str, Any]:
    beside = file.with_name("config.json")
    if not beside.is_file():
        return {}
    try:
        loaded = json.loads(beside.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"{beside}: not valid JSON ({error})") from None
    return loaded if isinstance(loaded, dict) else {}


def _frozen(array: Array) -> Array:
    out = np.ascontiguousarray(array, dtype=np.float64)
    out.setflags(write=False)
    return out
