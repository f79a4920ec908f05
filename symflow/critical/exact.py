"""Exact tokens of configurations whose positions form a known figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sympy import Integer, Rational, cos, pi, sin, sqrt

from symflow.checking import Array
from symflow.critical.shapes import CROSS, PAIR, POINT, POLYGON, SAME, SIMPLEX, Shape

Vectors = list[list[Any]]


def exact_tokens(shape: Shape) -> Vectors | None:
    """Return tokens as exact SymPy numbers, up to a rotation; None where the positions form no known figure.

    Examples
    --------
    >>> from symflow.critical.shapes import shape_of
    >>> exact_tokens(shape_of(np.array([[0.6, 0.8], [-0.6, -0.8], [0.6, 0.8]])))
    [[1, 0], [-1, 0], [1, 0]]
    """
    place = _FIGURES.get(shape.figure)
    if place is None:
        return None
    d = shape.positions.shape[1]
    positions = [[*vector, *[Integer(0)] * (d - len(vector))] for vector in place(shape.positions)]
    exact = np.array([[float(entry) for entry in row] for row in positions])
    if np.abs(exact @ exact.T - shape.positions @ shape.positions.T).max() > SAME:
        return None
    return [positions[label] for label in shape.labels]


def _pair(positions: Array) -> Vectors:
    return [[Integer(1 - 2 * index)] for index in range(len(positions))]


def _polygon(positions: Array) -> Vectors:
    """Return the vertices in the order in which the angles of the positions say."""
    k = len(positions)
    first = positions[0]
    other = max((p - (p @ first) * first for p in positions[1:]), key=lambda p: float(p @ p))
    other = other / np.linalg.norm(other)
    steps = [round(float(np.arctan2(p @ other, p @ first)) * k / (2.0 * np.pi)) for p in positions]
    return [[cos(2 * pi * step / k), sin(2 * pi * step / k)] for step in steps]


def _simplex(positions: Array) -> Vectors:
    """Return k vectors of pairwise product −1/(k − 1); the last is minus the sum of the others."""
    rank = len(positions) - 1
    rows: Vectors = []
    for i in range(rank):
        row: list[Any] = []
        for j in range(i):
            known = sum((row[m] * rows[j][m] for m in range(j)), Integer(0))
            row.append((Rational(-1, rank) - known) / rows[j][j])
        row.append(sqrt(1 - sum((entry * entry for entry in row), Integer(0))))
        rows.append([*row, *[Integer(0)] * (rank - i - 1)])
    return [*rows, [-sum((row[c] for row in rows), Integer(0)) for c in range(rank)]]


def _cross(positions: Array) -> Vectors:
    """Return the unit vectors and their opposites, each axis named by the first position on it."""
    axes: list[int] = []
    found = []
    for index, position in enumerate(positions):
        axis = next((a for a in axes if abs(abs(position @ positions[a]) - 1.0) < SAME), index)
        axes += [axis] if axis == index else []
        found.append((axes.index(axis), round(float(position @ positions[axis]))))
    return [[Integer(sign * (axis == c)) for c in range(len(axes))] for axis, sign in found]


_FIGURES: dict[str, Callable[[Array], Vectors]] = {
    POINT: _pair,
    PAIR: _pair,
    POLYGON: _polygon,
    SIMPLEX: _simplex,
    CROSS: _cross,
}
