"""The same sums as ``symflow_hessian.h`` with arrays: without a compiler, and a witness for kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.codegen.hessians.coefficients import Coefficients
from symflow.derive.critical.structure import EnergyStructure

Array = NDArray[np.float64]
Jets = Callable[[Any, Any], tuple[list[Any], list[Any], list[Any]]]


def frames_of(x: Array) -> Array:
    """Return orthonormal bases of the tangent spaces, (..., n, d, d − 1).

    They are the columns 2 to d of the reflection that takes x to a multiple of the first basis vector.
    """
    sign = np.where(x[..., :1] >= 0.0, 1.0, -1.0)
    u = x.copy()
    u[..., :1] += sign
    scale = 1.0 / (1.0 + sign * x[..., :1])
    full = np.eye(x.shape[-1])[:, 1:] - scale[..., None] * u[..., :, None] * x[..., None, 1:]
    return np.asarray(full)


class Assembly:
    """Sums over all pairs of a batch of clouds (B, n, d) at once."""

    def __init__(
        self, energy: EnergyStructure, numbers: Coefficients, pair_jet: Jets, token_jet: Jets, x: Array
    ) -> None:
        self.energy, self.numbers, self.x = energy, numbers, x
        self._pair_jet, self._token_jet = pair_jet, token_jet
        self.batch, self.n, self.d = x.shape
        self._tokens()
        self._features()
        self._pairs()

    # ---- what a kernel returns ---------------------------------------------------------------------

    def value(self) -> Array:
        """Return F, (B,)."""
        n, k = self.n, len(self.token_values) - 2
        singles = self.token_values[k] / (2 * n * n) + self.token_values[k + 1] / n
        return np.asarray(self.pair_value.sum(axis=(1, 2)) / (2 * n * n) + singles.sum(axis=1))

    def euclidean_gradient(self) -> Array:
        """Return the gradient in space, (B, n, d)."""
        n = self.n
        found = np.zeros_like(self.x)
        for m, slope in enumerate(self.pair_first):
            if self.by_x[m] is not None:
                found += (slope[..., None] * self.by_x[m]).sum(axis=2) / (2 * n * n)
            if self.by_y[m] is not None:
                found += (slope[..., None] * self.by_y[m]).sum(axis=1) / (2 * n * n)
        return np.asarray(found + self.token_slopes[-2] / (2 * n * n) + self.token_slopes[-1] / n)

    def euclidean_blocks(self) -> Array:
        """Return the second derivative in space, (B, n, n, d, d)."""
        n = self.n
        mixed = np.zeros((self.batch, n, n, self.d, self.d))
        own = np.zeros((self.batch, n, self.d, self.d))
        for a in range(len(self.pair_first)):
            self._add_products(a, own, mixed)
        self._add_curvatures(own, mixed)
        blocks = (mixed + mixed.transpose(0, 2, 1, 4, 3)) / (2 * n * n)
        own = own / (2 * n * n) + self.token_bends[-2] / (2 * n * n) + self.token_bends[-1] / n
        blocks[:, np.arange(n), np.arange(n)] += own
        return np.asarray(blocks)

    # ---- numbers of tokens -------------------------------------------------------------------------

    def _tokens(self) -> None:
        d = self.d
        table = self.numbers.atoms.reshape(-1, d * d + d + 1)
        matrices = [row[: d * d].reshape(d, d) for row in table]
        tangents = [self.x @ S.T + row[d * d : -1] for S, row in zip(matrices, table, strict=True)]
        atoms = [
            0.5 * np.einsum("bid,bid->bi", self.x, t + row[d * d : -1]) + row[-1]
            for t, row in zip(tangents, table, strict=True)
        ]
        values, firsts, seconds = self._token_jet(self.numbers.scalars, atoms)
        shape, count = self.x.shape[:2], len(atoms)
        packed = count * (count + 1) // 2
        self.token_values = [np.broadcast_to(value, shape) for value in values]
        self.token_slopes, self.token_bends = [], []
        for m in range(len(values)):
            first = [np.broadcast_to(g, shape) for g in firsts[m * count : (m + 1) * count]]
            second = [np.broadcast_to(h, shape) for h in seconds[m * packed : (m + 1) * packed]]
            slope, bend = np.zeros_like(self.x), np.zeros((*self.x.shape, d))
            for a, g in enumerate(first):
                slope += g[..., None] * tangents[a]
                bend += g[..., None, None] * matrices[a]
            for a, b in _lower(count):
                h = second[a * (a + 1) // 2 + b][..., None, None]
                outer = h * tangents[a][..., :, None] * tangents[b][..., None, :]
                bend += outer if a == b else outer + outer.swapaxes(-1, -2)
            self.token_slopes.append(slope)
            self.token_bends.append(bend)

    # ---- features of pairs -------------------------------------------------------------------------

    def _features(self) -> None:
        energy, x, d = self.energy, self.x, self.d
        self.features: list[Any] = []
        self.by_x: list[Any] = []
        self.by_y: list[Any] = []
        for row in self.numbers.products.reshape(-1, d * d + 2 * d + 1):
            B, p, q = row[: d * d].reshape(d, d), row[d * d : -d - 1], row[-d - 1 : -1]
            to_x, to_y = x @ B.T + p, x @ B + q
            alone = x @ q + row[-1]
            self._add(np.einsum("bid,bjd->bij", x, to_x) + alone[:, None, :], to_x[:, None], to_y[:, :, None])
        for L, shift_l, R, shift_r, *_ in self._distances():
            gap = (x @ L.T + shift_l)[:, :, None] - (x @ R.T + shift_r)[:, None]
            self._add(np.einsum("bijk,bijk->bij", gap, gap), 2.0 * gap @ L, -2.0 * gap @ R)
        for k in range(len(energy.rows)):
            self._add(self.token_values[k][:, :, None], self.token_slopes[k][:, :, None], None)
        for k in range(len(energy.rows), len(energy.rows) + len(energy.columns)):
            self._add(self.token_values[k][:, None, :], None, self.token_slopes[k][:, None])

    def _add(self, feature: Array, by_x: Any, by_y: Any) -> None:
        self.features.append(feature)
        self.by_x.append(by_x)
        self.by_y.append(by_y)

    def _distances(self) -> list[list[Array]]:
        found: list[list[Array]] = []
        at, d = 0, self.d
        for width in map(int, self.numbers.widths):
            shapes = ((width, d), (width,), (width, d), (width,), (d, d), (d, d), (d, d))
            parts: list[Array] = []
            for shape in shapes:
                size = int(np.prod(shape))
                parts.append(np.reshape(self.numbers.distances[at : at + size], shape))
                at += size
            found.append(parts)
        return found

    def _pairs(self) -> None:
        shape = (self.batch, self.n, self.n)
        apart = ~np.eye(self.n, dtype=bool)  # the pair of a token with itself is a number of that token
        found = self._pair_jet(self.numbers.scalars, self.features)
        values, self.pair_first, self.pair_second = (
            [np.where(apart, np.broadcast_to(entry, shape), 0.0) for entry in entries] for entries in found
        )
        self.pair_value = values[0]

    # ---- second derivatives ------------------------------------------------------------------------

    def _add_products(self, a: int, own: Array, mixed: Array) -> None:
        """Add the products of the gradient of feature a with all others."""
        for b in range(len(self.pair_first)):
            h = self.pair_second[max(a, b) * (max(a, b) + 1) // 2 + min(a, b)][..., None, None]
            if self.by_x[a] is not None and self.by_x[b] is not None:
                own += (h * self.by_x[a][..., :, None] * self.by_x[b][..., None, :]).sum(axis=2)
            if self.by_y[a] is not None and self.by_y[b] is not None:
                own += (h * self.by_y[a][..., :, None] * self.by_y[b][..., None, :]).sum(axis=1)
            if self.by_x[a] is not None and self.by_y[b] is not None:
                mixed += h * self.by_x[a][..., :, None] * self.by_y[b][..., None, :]

    def _add_curvatures(self, own: Array, mixed: Array) -> None:
        """Add the second derivatives of the features themselves."""
        energy, d = self.energy, self.d
        first = iter(slope[..., None, None] for slope in self.pair_first)
        for row in self.numbers.products.reshape(-1, d * d + 2 * d + 1):
            mixed += next(first) * row[: d * d].reshape(d, d)
        for *_, LL, LR, RR in self._distances():
            g = 2.0 * next(first)
            own += g.sum(axis=2) * LL + g.sum(axis=1) * RR
            mixed -= g * LR
        for k in range(len(energy.rows)):
            own += next(first).sum(axis=2) * self.token_bends[k]
        for k in range(len(energy.rows), len(energy.rows) + len(energy.columns)):
            own += next(first).sum(axis=1) * self.token_bends[k]


def _lower(count: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(count) for b in range(a + 1)]
