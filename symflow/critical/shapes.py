"""What configurations of tokens are the same, how they are composed, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symflow.checking import Array

#: Cosines closer than this count as equal; a critical point is found to about 1e-11.
SAME = 1e-6
#: Tokens closer than this form one cluster.
_TOGETHER = 1e-5


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
    name : str
        ``"consensus"``, ``"3 + 1 antipodal"``, ``"regular 5-gon"``, …
    """

    clusters: tuple[int, ...]
    positions: Array
    rank: int
    name: str


def shape_of(x: Array) -> Shape:
    """Return how tokens are composed, and the name of it where it has one."""
    labels = np.full(len(x), -1)
    for i in range(len(x)):
        if labels[i] < 0:
            labels[(np.linalg.norm(x - x[i], axis=1) < _TOGETHER) & (labels < 0)] = i
    found = sorted(set(labels.tolist()), key=lambda i: (-int((labels == i).sum()), i))
    clusters = tuple(int((labels == i).sum()) for i in found)
    positions = np.array([x[labels == i].mean(axis=0) for i in found])
    rank = int(np.linalg.matrix_rank(positions, tol=1e-5))
    return Shape(clusters, positions, rank, _name(clusters, positions, rank))


def _name(clusters: tuple[int, ...], positions: Array, rank: int) -> str:
    k = len(clusters)
    numbers = " + ".join(map(str, clusters))
    if k == 1:
        return "consensus"
    gram = positions @ positions.T
    cosines = gram[np.triu_indices(k, 1)]
    weighted = "" if clusters[0] == 1 else f"{numbers} on a "
    if k == 2 and abs(cosines[0] + 1.0) < SAME:
        return "antipodal pair" if clusters[0] == 1 else f"{numbers} antipodal"
    if rank == 2 and _is_polygon(gram):
        return f"{weighted}regular {k}-gon"
    if rank == k - 1 and np.allclose(cosines, -1.0 / (k - 1), rtol=0.0, atol=SAME):
        return f"{weighted}simplex"
    if k == 2 * rank and _is_cross(cosines):
        return f"{weighted}cross-polytope"
    return f"{numbers} in rank {rank}"


def _is_polygon(gram: Array) -> bool:
    k = len(gram)
    wanted = np.sort(np.cos(2.0 * np.pi * np.arange(k) / k))
    return bool(np.allclose(np.sort(gram, axis=1), wanted, rtol=0.0, atol=SAME))


def _is_cross(cosines: Array) -> bool:
    return bool((np.minimum(np.abs(cosines), np.abs(cosines + 1.0)) < SAME).all())
