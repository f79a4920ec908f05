"""Doubly stochastic scaling of the exponential of a bilinear score, with its potentials at any point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from symflow.checking import Array
from symflow.clustering.pairs import blocks
from symflow.errors import InputError, NotConverged

#: The stopping rule of the compiled scaling, and as many passes as the NumPy one may take.
TOLERANCE, LIMIT = 1e-13, 100_000


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""Potentials a and b with :math:`\sum_j w_j e^{a_i + s_{ij} + b_j} = 1`, and the same for columns.

    Attributes
    ----------
    score : ndarray, (d, d)
        s(x, y) = xᵀ·score·y.
    atoms, weights : ndarray, (n, d) and (n,)
    a, b : ndarray, (n,)
    """

    score: Array
    atoms: Array
    weights: Array
    a: Array
    b: Array

    @classmethod
    def of(cls, score: Array, atoms: Array, weights: Array) -> Scaling:
        """Return the scaling for weighted tokens.

        Raises
        ------
        InputError
            If scores exceed the range of doubles.
        NotConverged
            If the stopping rule is not met.
        """
        left, right, log_weights = atoms @ score, atoms @ score.T, np.log(weights)
        b = np.zeros(len(atoms))
        for _ in range(LIMIT):
            a = -_log_sums(left, atoms, b + log_weights)
            total = _log_sums(right, atoms, a + log_weights)
            error = np.abs(np.expm1(b + total)).max()
            rounding = 4 * np.finfo(float).eps * (np.abs(a).max() + np.abs(b).max())
            if error <= TOLERANCE + rounding:
                return cls(score, atoms, weights, a, b)
            if not np.isfinite(error):
                raise InputError("the scores exceed the range of doubles; scale tokens or parameters")
            b = -total
        raise NotConverged(f"no scaling to {TOLERANCE} after {LIMIT} passes; raise epsilon")

    @property
    def cost(self) -> float:
        """The entropic cost, the mean of a + b."""
        return float(self.weights @ (self.a + self.b))

    def at(self, points: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        r"""Return a and b at points, and the mean of the atoms coupled with each point, as either end."""
        potentials, means = [], []
        for queries, other in ((points @ self.score, self.b), (points @ self.score.T, self.a)):
            exponents = other + np.log(self.weights)
            potential = -_log_sums(queries, self.atoms, exponents)
            mean = np.empty_like(points)
            for rows, scores in _blocks(queries, self.atoms):
                mean[rows] = np.exp(scores + exponents + potential[rows, None]) @ self.atoms
            potentials.append(potential)
            means.append(mean)
        return (potentials[0], potentials[1]), (means[0], means[1])


def _log_sums(left: Array, right: Array, exponents: Array) -> Array:
    """Return the logarithm of the sum of exp(left_i · right_j + exponents_j) over j."""
    found = np.empty(len(left))
    for rows, scores in _blocks(left, right):
        shifted = scores + exponents
        top = shifted.max(axis=1)
        found[rows] = top + np.log(np.exp(shifted - top[:, None]).sum(axis=1))
    return found


def _blocks(left: Array, right: Array) -> Iterator[tuple[slice, Array]]:
    size = next(blocks(1, len(right)))[1].stop
    for first in range(0, len(left), size):
        rows = slice(first, first + size)
        yield rows, left[rows] @ right.T
