"""One path through the layers, step by step in NumPy; ``symflow_ext.network.Pass`` does the same in C."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import Array
from symflow.integrate.deep.layer import RandomLayer, normals
from symflow.integrate.tokens.state import retracted

#: What a layer leaves where tokens are no finite numbers; the compiled pass has the same number.
NON_FINITE = 16


class NumpyPass:
    """One path at a time.

    Parameters
    ----------
    layer : RandomLayer
    layers : int
    horizon : float
    key : (int, int)
    attention : callable or None
        ``attention(t, x, out) -> status``.
    """

    def __init__(
        self, layer: RandomLayer, layers: int, horizon: float, key: tuple[int, int], attention: Any
    ) -> None:
        self._random, self._layers, self._key = layer, layers, key
        self._step = horizon / layers
        self._attention: Callable[[float, Array, Array], int | None] | None = attention

    def start(self, path: int, x0: Array, rows: NDArray[np.int64], out: Array) -> None:
        """Put tokens (n, d) at the first layer; ``out`` gets them after as many layers as ``rows``."""
        self._path, self._x, self._rows, self._out = path, x0.copy(), rows, out
        self.layer, self.reached, self.reason = 0, 0, 0
        self._record()

    def _record(self) -> None:
        while self.reached < self._rows.size and self._rows[self.reached] <= self.layer:
            self._out[self.reached] = self._x
            self.reached += 1

    def tokens(self, out: Array) -> None:
        """Write the present tokens."""
        out[:] = self._x

    def advance(self, seconds: float, until: int = -1) -> bool:
        """Pass layers for about ``seconds``, at most up to layer ``until``; True when the path has ended."""
        deadline = time.perf_counter() + seconds
        last = self._layers if until < 0 else until
        while self.layer < last and not self.reason:
            self._pass()
            if time.perf_counter() > deadline:
                break
        return bool(self.reason) or self.layer >= self._layers

    def _pass(self) -> None:
        y = self._x
        if self._attention is not None:
            velocity = np.empty(y.size)
            self.reason = self._attention(self.layer * self._step, y.reshape(-1), velocity) or 0
            if self.reason:
                return
            y = retracted(y + self._step * velocity.reshape(y.shape))
        weights = self._random.read(normals(self._key, self._path, self.layer, self._random.size))
        with np.errstate(all="ignore"):  # what is not finite ends the path by name
            x = retracted(y + np.sqrt(self._step) * self._random.field(weights, y))
        if not np.isfinite(x).all():
            self.reason = NON_FINITE
            return
        self._x = x
        self.layer += 1
        self._record()
