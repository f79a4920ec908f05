"""Symmetric configurations of tokens on the sphere, with exact coordinates as rows."""

from __future__ import annotations

from typing import Any

from symflow.errors import InputError

__all__ = ["antipodal", "consensus", "cross_polytope", "icosahedron", "ngon", "octahedron", "simplex"]

Rows = list[list[Any]]  #: integers and exact SymPy numbers, one row per token


def _count(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} = {value!r} must be an integer of at least {least}")
    return value


def _padded(rows: Rows, d: int | None) -> Rows:
    """Return the rows with zeros behind them up to d coordinates."""
    if d is None:
        return rows
    missing = _count(d, "d", len(rows[0])) - len(rows[0])
    return [[*row, *[0] * missing] for row in rows]


def consensus(n: int, d: int) -> Rows:
    """Return n tokens at the first basis vector."""
    return antipodal(n, 0, d)


def antipodal(k: int, m: int, d: int) -> Rows:
    """Return k tokens at the first basis vector and m at its antipode.

    Examples
    --------
    >>> antipodal(2, 1, 2)
    [[1, 0], [1, 0], [-1, 0]]
    """
    counts = (_count(k, "k", 1), _count(m, "m", 0))
    rest = [0] * (_count(d, "d", 1) - 1)
    return [[sign, *rest] for sign, count in zip((1, -1), counts, strict=True) for _ in range(count)]


def ngon(n: int, d: int | None = None) -> Rows:
    """Return the regular n-gon on the circle, in the plane of the first two of d coordinates.

    Examples
    --------
    >>> ngon(3)[1]
    [-1/2, sqrt(3)/2]
    """
    from sympy import cos, pi, sin

    angles = [2 * pi * k / _count(n, "n", 1) for k in range(n)]
    return _padded([[cos(a), sin(a)] for a in angles], d)


def simplex(n: int, d: int | None = None) -> Rows:
    """Return n tokens with the cosine −1/(n − 1) between any two, in the first n − 1 of d coordinates.

    Examples
    --------
    >>> simplex(3)[2]
    [sqrt(2)/2, sqrt(2)/2]
    """
    from sympy import Integer, sqrt

    m = Integer(_count(n, "n", 2) - 1)
    shift = (sqrt(m + 1) + 1) / (m * sqrt(m))
    edge = sqrt(m + 1) / sqrt(m)
    rows: Rows = [[edge * int(i == j) - shift for j in range(m)] for i in range(m)]
    return _padded([*rows, [1 / sqrt(m)] * int(m)], d)


def cross_polytope(d: int) -> Rows:
    """Return the 2d tokens at the basis vectors and their antipodes."""
    return [[sign * int(i == j) for j in range(_count(d, "d", 1))] for i in range(d) for sign in (1, -1)]


def octahedron() -> Rows:
    """Return the six vertices of the octahedron."""
    return cross_polytope(3)


def icosahedron() -> Rows:
    """Return the vertices of the icosahedron: (0, ±a, ±b), b/a the golden ratio, and cyclic permutations."""
    from sympy import Rational, sqrt

    a = sqrt(Rational(1, 2) - sqrt(5) / 10)
    b = a * (1 + sqrt(5)) / 2
    corners = [(0, s * a, t * b) for s in (1, -1) for t in (1, -1)]
    return [list(corner[k:] + corner[:k]) for k in range(3) for corner in corners]
