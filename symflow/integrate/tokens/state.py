"""Initial tokens, and how they lie in the flat state of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.errors import InputError
from symflow.models.attention.model import AttentionModel

#: How far from 1 the norm of a token on the sphere may be; what is closer is rounding of the caller's.
SPHERE_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class Tokens:
    """n tokens at the first time.

    Attributes
    ----------
    x : ndarray, (n, d)
    on_sphere : bool
        Whether they live on the unit sphere; their norms are then 1 to rounding.
    """

    x: Array
    on_sphere: bool

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.x.shape[0])

    @property
    def dim(self) -> int:
        """Dimension d of the space around them."""
        return int(self.x.shape[1])


def read_tokens(model: Any, initial: Any, name: str = "initial") -> Tokens:
    """Check initial tokens of a model.

    Parameters
    ----------
    model : AttentionModel
    initial : array_like, (n, d)
    name : str
        How messages call them.

    Raises
    ------
    InputError
        If it is no matrix of finite numbers, or a token is not on the sphere where the model lives there.
    """
    if not isinstance(model, AttentionModel):
        raise InputError(f"model must be an attention model such as Softmax(), got {type(model).__name__}")
    listed = hasattr(initial, "__iter__") or hasattr(initial, "__array__")
    if isinstance(initial, (str, bytes)) or not listed:
        raise InputError(
            f"{name} must be a Gaussian(mean, cov) or tokens (n, d), got {type(initial).__name__}"
        )
    x = real_array(initial, name)
    if x.ndim != 2 or x.size == 0:
        raise InputError(f"{name} must be tokens (n, d) with n, d ≥ 1, or a Gaussian; got shape {x.shape}")
    on_sphere = model.space == "sphere"
    return Tokens(retracted(_near_sphere(x, name)) if on_sphere else x, on_sphere)


def _near_sphere(x: Array, name: str) -> Array:
    norms = np.hypot.reduce(x, axis=-1, initial=0.0)  # neither overflows nor underflows
    far = np.flatnonzero(~(np.abs(norms - 1.0) <= SPHERE_SLACK))
    if far.size:
        i = int(far[0])
        where = "is zero and has no direction" if norms[i] == 0.0 else f"has norm {norms[i]:.6g}"
        raise InputError(
            f"{name}[{i}] {where}, but the model lives on the unit sphere; give x / |x|, nonzero tokens only"
        )
    return x


def retracted(x: Array) -> Array:
    """Return x/|x| along the last axis."""
    return np.asarray(x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True)))


@dataclass(frozen=True)
class TokenLayout:
    """State X (n, d), row by row; shown on the sphere where the tokens live there."""

    n: int
    d: int
    on_sphere: bool

    @property
    def size(self) -> int:
        """Length of the state."""
        return self.n * self.d

    def seen(self, states: Array) -> tuple[Array]:
        """Return tokens (T, n, d) of states (T, size)."""
        x = np.ascontiguousarray(states).reshape(-1, self.n, self.d)
        return (retracted(x) if self.on_sphere else x,)

    def tolerances(self, atol: Array) -> Array:
        """Return the tolerance of each component from one per coordinate."""
        return np.tile(atol, self.n)
