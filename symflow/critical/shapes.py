"""What configurations of tokens are the same, how they are composed, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symflow.checking import Array

#: Cosines closer than this count as equal; a critical point is found to about 1e-11.
SAME = 1e-6
#: Tokens closer than this form one cluster.
_TOGETHER = 1e-5

#: What positions can form.
FIGURES = POINT, PAIR, POLYGON, SIMPLEX, CROSS = ("point", "pair", "polygon", "simplex", "cross-polytope")


def invariants(x: Array, rotations: bool) -> Array:
    """Return numbers that permutations do not change, nor rotations where these are symmetries.

    Sorted rows of sorted cosines and the spectrum of the Gram matrix; without rotations the tokens in the
    order of their first coordinate that differs.
    """
    if not rotations:
        rounded = np.round(x, 5) + 0.0
        return np.asarray(x[np.lexsort(rounded.T[::-1])].ravel())
    gram = x @ x.T
    rows = np.sort(gram, axis=1)
    rows = rows[np.lexsort(np.round(rows, 5).T[::-1])]
    return np.concatenate([np.linalg.eigvalsh(gram), rows.ravel()])


@dataclass(frozen=True)
class Shape:
    """How a configuration is composed.

    Attributes
    ----------
    clusters : tuple of int
        How many tokens share each position, the largest number first.
    positions : ndarray, (k, d)
        One per cluster.
    rank : int
        Dimension of the span of the tokens.
    figure : str
        What the positions form: one of :data:`FIGURES`, or empty.
    labels : tuple of int
        The position of every token.
    """

    clusters: tuple[int, ...]
    positions: Array
    rank: int
    figure: str
    labels: tuple[int, ...]

    @property
    def name(self) -> str:
        """``"consensus"``, ``"3 + 1 antipodal"``, ``"2 + 1 + 1 on a regular 3-gon"``, …"""
        numbers, k = " + ".join(map(str, self.clusters)), len(self.clusters)
        if self.figure == POINT:
            return "consensus"
        if self.figure == PAIR:
            return "antipodal pair" if self.clusters[0] == 1 else f"{numbers} antipodal"
        if not self.figure:
            return f"{numbers} in rank {self.rank}"
        figure = f"regular {k}-gon" if self.figure == POLYGON else self.figure
        return figure if self.clusters[0] == 1 else f"{numbers} on a {figure}"


def shape_of(x: Array) -> Shape:
    """Return how tokens are composed, and what their positions form."""
    labels = np.full(len(x), -1)
    for i in range(len(x)):
        if labels[i] < 0:
            labels[(np.linalg.norm(x - x[i], axis=1) < _TOGETHER) & (labels < 0)] = i
    found = sorted(set(labels.tolist()), key=lambda i: (-int((labels == i).sum()), i))
    clusters = tuple(int((labels == i).sum()) for i in found)
    positions = np.array([x[labels == i].mean(axis=0) for i in found])
    rank = int(np.linalg.matrix_rank(positions, tol=1e-5))
    places = tuple(found.index(label) for label in labels.tolist())
    return Shape(clusters, positions, rank, _figure(positions, rank), places)


def _figure(positions: Array, rank: int) -> str:
    k = len(positions)
    if k == 1:
        return POINT
    gram = positions @ positions.T
    cosines = gram[np.triu_indices(k, 1)]
    if k == 2 and abs(cosines[0] + 1.0) < SAME:
        return PAIR
    if rank == 2 and _is_polygon(gram):
        return POLYGON
    if rank == k - 1 and np.allclose(cosines, -1.0 / (k - 1), rtol=0.0, atol=SAME):
        return SIMPLEX
    return CROSS if k == 2 * rank and _is_cross(cosines) else ""


def _is_polygon(gram: Array) -> bool:
    k = len(gram)
    wanted = np.sort(np.cos(2.0 * np.pi * np.arange(k) / k))
    return bool(np.allclose(np.sort(gram, axis=1), wanted, rtol=0.0, atol=SAME))


def _is_cross(cosines: Array) -> bool:
    return bool((np.minimum(np.abs(cosines), np.abs(cosines + 1.0)) < SAME).all())
