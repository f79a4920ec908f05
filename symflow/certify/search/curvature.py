r"""Where an energy bends least along geodesics of atoms, in floats: many clouds of atoms at once.

The second derivative is assembled from gradients and Hessians of W and U by the formula for a Riemannian
Hessian, which the replay does not use. Nothing here is a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symflow.certify.propositions.convexity import StatedEnergy
from symflow.certify.taylor.geodesics import as_rows, modulus_of, twist_of
from symflow.certify.taylor.hyperdual import Hyperdual, Hyperduals
from symflow.certify.taylor.matrices import Evaluation, Matrix
from symflow.certify.terms import Rejected

Array = Any  #: ndarray of float64
_ROUNDING = 1e-12  #: of the largest eigenvalue: what counts as zero
_APART = 1e-3  #: least distance of atoms in a cloud


class _ArrayRing:
    """Arrays of floats, entry by entry."""

    def number(self, value: Fraction) -> Any:
        return np.float64(value.numerator / value.denominator)

    def sign(self, value: Any) -> int:
        if np.ndim(value):
            raise Rejected("entries of an array differ in sign")
        return int(np.sign(value))

    def admit(self, value: Any) -> None:
        """Admit every array."""

    def jet(self, name: str, value: Any) -> tuple[Any, Any, Any]:
        found: tuple[Any, Any, Any] = _JETS[name](value)
        return found


def _tanh(u: Any) -> tuple[Any, Any, Any]:
    value = np.tanh(u)
    return value, 1 - value**2, -2 * value * (1 - value**2)


def _exp(u: Any) -> tuple[Any, Any, Any]:
    value = np.exp(u)
    return value, value, value


def _sqrt(u: Any) -> tuple[Any, Any, Any]:
    value = np.sqrt(u)
    return value, 0.5 / value, -0.25 / (value * u)


def _sigmoid(u: Any) -> tuple[Any, Any, Any]:
    value, slope, bend = _tanh(0.5 * u)
    return 0.5 + 0.5 * value, 0.25 * slope, 0.125 * bend


def _erf(u: Any) -> tuple[Any, Any, Any]:
    from scipy.special import erf

    slope = 2 / np.sqrt(np.pi) * np.exp(-u * u)
    return erf(u), slope, -2 * u * slope


_JETS: dict[str, Any] = {
    "exp": _exp,
    "inverse": lambda u: (1 / u, -1 / u**2, 2 / u**3),
    "log": lambda u: (np.log(u), 1 / u, -1 / u**2),
    "sqrt": _sqrt,
    "sin": lambda u: (np.sin(u), np.cos(u), -np.sin(u)),
    "cos": lambda u: (np.cos(u), -np.sin(u), -np.cos(u)),
    "tanh": _tanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
}


class _ArraySeries(Hyperduals):
    """Series over arrays, where a maximum is chosen entry by entry."""

    def larger(self, one: Hyperdual, other: Hyperdual) -> Hyperdual:
        first = one.value >= other.value
        return Hyperdual(
            *(
                np.where(first, getattr(one, part), getattr(other, part))
                for part in ("value", "first", "second", "mixed")
            )
        )


@dataclass(frozen=True)
class Bending:
    """Clouds with the least second derivative per squared length, and the velocities that have it.

    Attributes
    ----------
    points : ndarray (B, n, d)
    velocities : ndarray (B, n, d)
    ratios : ndarray (B,)
        Infinite where the energy has no finite second derivative.
    """

    points: Array
    velocities: Array
    ratios: Array

    def sorted(self, count: int) -> Bending:
        """Return the clouds with the smallest ratios."""
        order = np.argsort(self.ratios, kind="stable")[:count]
        return Bending(self.points[order], self.velocities[order], self.ratios[order])


class CloudEnergy:
    """An energy of clouds of n atoms of equal weights, at one dimension."""

    def __init__(self, stated: StatedEnergy, dimension: int) -> None:
        self._stated = stated
        self._dimension = dimension
        self._series = _ArraySeries(_ArrayRing())
        self._parameters = {name: self._matrix(value) for name, value in stated.parameters.items()}
        self._twist = None
        if stated.metric.name == "twisted":
            value, score = twist_of(stated, dimension)
            metric, inverse = modulus_of(value, score)
            self._twist = tuple(np.array(part, dtype=float) for part in (metric, inverse, score))

    def _matrix(self, value: Any) -> Matrix:
        rows = as_rows(value, self._dimension)
        return tuple(tuple(self._series.number(entry) for entry in row) for row in rows)

    def bending(self, points: Array) -> Bending:
        """Return, for each cloud (B, n, d), the least second derivative per squared length."""
        with np.errstate(all="ignore"):
            form, frame = self._form(points)
        usable = np.isfinite(form).all(axis=(1, 2)) & np.isfinite(frame).all(axis=(1, 2)) & _distinct(points)
        ratios = np.full(len(points), np.inf)
        velocities = np.zeros_like(points)
        if usable.any():
            values, vectors = np.linalg.eigh(form[usable])
            rounding = _ROUNDING * np.abs(values[:, [0, -1]]).max(axis=1)
            ratios[usable] = np.where(np.abs(values[:, 0]) < rounding, 0.0, values[:, 0])
            least = np.einsum("bij,bj->bi", frame[usable], vectors[:, :, 0])
            velocities[usable] = least.reshape(-1, *points.shape[1:])
        return Bending(points, velocities, ratios)

    def _form(self, points: Array) -> tuple[Array, Array]:
        """Return the form in an orthonormal frame of the metric, and the frame: columns of length one."""
        clouds, n, d = points.shape
        slope, hessian = self._derivatives(points)
        if self._twist is not None:
            return self._twisted(points, slope, hessian)
        if self._stated.space == "sphere":
            return self._spherical(points, slope, hessian)
        frame = np.broadcast_to(np.sqrt(n) * np.eye(n * d), (clouds, n * d, n * d))
        return n * hessian, frame

    def _derivatives(self, points: Array) -> tuple[Array, Array]:
        """Return gradient (B, n, d) and Hessian (B, nd, nd) of the energy of a cloud."""
        clouds, n, d = points.shape
        slope = np.zeros((clouds, n, d))
        hessian = np.zeros((clouds, n, d, n, d))
        if self._stated.potential is not None:
            g, h = self._jet(points.reshape(-1, d), ("x",), self._stated.potential)
            for i in range(n):
                slope[:, i] += g.reshape(clouds, n, d)[:, i] / n
                hessian[:, i, :, i] += h.reshape(clouds, n, d, d)[:, i] / n
        if self._stated.pair is not None:
            i, j = (index.ravel() for index in np.indices((n, n)))
            pairs = np.concatenate([points[:, i], points[:, j]], axis=2)
            g, h = self._jet(pairs.reshape(-1, 2 * d), ("x", "y"), self._stated.pair)
            g = g.reshape(clouds, n * n, 2, d) / (2 * n * n)
            h = h.reshape(clouds, n * n, 2, d, 2, d) / (2 * n * n)
            for k, ends in enumerate(zip(i, j, strict=True)):
                for a, p in enumerate(ends):
                    slope[:, p] += g[:, k, a]
                    for b, q in enumerate(ends):
                        hessian[:, p, :, q] += h[:, k, a, :, b]
        return slope, hessian.reshape(clouds, n * d, n * d)

    def _jet(self, points: Array, names: tuple[str, ...], node: Any) -> tuple[Array, Array]:
        """Return gradients (P, N) and Hessians (P, N, N) of a function of N coordinates."""
        size = points.shape[1]
        slope, hessian = np.zeros_like(points), np.zeros((len(points), size, size))
        for a in range(size):
            for b in range(a + 1):
                column = [
                    (self._series.varied(points[:, c], np.float64(c == a), np.float64(c == b)),)
                    for c in range(size)
                ]
                d = self._dimension
                tokens = {name: tuple(column[k * d : (k + 1) * d]) for k, name in enumerate(names)}
                evaluation = Evaluation(self._series, {**self._parameters, **tokens}, {"d": d})
                found = evaluation.number(node)
                hessian[:, a, b] = hessian[:, b, a] = found.mixed
            slope[:, a] = found.first
        return slope, hessian

    def _spherical(self, points: Array, slope: Array, hessian: Array) -> tuple[Array, Array]:
        clouds, n, d = points.shape
        normal = np.einsum("bid,bid->bi", slope, points)
        inner = hessian - np.einsum("bk,kl->bkl", np.repeat(normal, d, axis=1), np.eye(n * d))
        frame = np.zeros((clouds, n * d, n * (d - 1)))
        basis = np.linalg.qr(np.concatenate([points[..., None], _axes(points)], axis=3))[0][..., 1:]
        for i in range(n):
            frame[:, i * d : (i + 1) * d, i * (d - 1) : (i + 1) * (d - 1)] = np.sqrt(n) * basis[:, i]
        return frame.swapaxes(1, 2) @ inner @ frame, frame

    def _twisted(self, points: Array, slope: Array, hessian: Array) -> tuple[Array, Array]:
        """Subtract Christoffel's part of the metric n⁻¹ Σ G_i ⟨v_i, M v_i⟩."""
        metric, inverse, score = self._twist or ()
        clouds, n, d = points.shape
        kernel = np.exp(np.einsum("bid,de,bje->bij", points, score, points)) / n
        mass = kernel.sum(axis=2)
        # derivative of G_i in x_k: Σ_j k_ij A x_j δ_ik + k_ik A x_i
        moved = np.einsum("bij,de,bje->bid", kernel, score, points)
        change = np.einsum("bik,de,bie->bikd", kernel, score, points)
        change[:, range(n), range(n)] += moved
        push = np.einsum("de,bie->bid", inverse, slope) * n / mass[..., None]
        own = np.einsum("bkd,bikd->bi", push, change) / (2 * n)
        form = hessian.reshape(clouds, n, d, n, d).copy()
        for i in range(n):
            form[:, i, :, i] += own[:, i, None, None] * metric
            for k in range(n):
                cross = np.einsum("bd,be->bde", push[:, i] @ metric, change[:, i, k]) / n
                form[:, i, :, k] -= 0.5 * cross
                form[:, k, :, i] -= 0.5 * cross.swapaxes(1, 2)
        root = np.linalg.cholesky(inverse)
        frame = np.zeros((clouds, n * d, n * d))
        for i in range(n):
            frame[:, i * d : (i + 1) * d, i * d : (i + 1) * d] = root * np.sqrt(n / mass[:, i])[:, None, None]
        flat = form.reshape(clouds, n * d, n * d)
        return frame.swapaxes(1, 2) @ flat @ frame, frame


def _distinct(points: Array) -> Array:
    """Return which clouds have no two atoms at one place."""
    i, j = np.triu_indices(points.shape[1], 1)
    return (np.abs(points[:, i] - points[:, j]).max(axis=-1) > _APART).all(axis=1)


def _axes(points: Array) -> Array:
    """Return for each point the d − 1 axes that are least along it, as columns."""
    order = np.argsort(np.abs(points), axis=-1)[..., :-1]
    return np.eye(points.shape[-1])[order].swapaxes(-1, -2)
