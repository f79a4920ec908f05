"""Symmetric elimination in balls (``flint.arb``): pivots of one or two rows that are proved to be regular."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.numbers import Ball

#: A diagonal entry is a pivot unless an entry beside the diagonal exceeds it by this factor (Bunch–Parlett).
_DIAGONAL = 0.64
#: Where an interval of bisection is cut: elsewhere too, where the middle is an eigenvalue.
_SHARES = (Fraction(1, 2), Fraction(5, 11))


@dataclass(frozen=True)
class Pivot:
    """A block of the elimination: its rows, and how many of its eigenvalues are positive."""

    rows: tuple[int, ...]
    positive: int

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)


def eliminate(rows: Sequence[Sequence[Any]], bits: int = 128) -> list[Pivot]:
    """Return pivots of a symmetric matrix of balls, until no entry of what is left is told from zero.

    The number of positive, and of negative, eigenvalues of every symmetric matrix in the balls is at least
    that of the pivots.

    Examples
    --------
    >>> from flint import arb
    >>> eliminate([[arb(0), arb(1)], [arb(1), arb(0)]])
    [Pivot(rows=(0, 1), positive=1)]
    """
    from flint import ctx

    rest, left = [list(row) for row in rows], list(range(len(rows)))
    pivots: list[Pivot] = []
    with ctx.workprec(bits):
        while (chosen := _choose(rest, left)) is not None:
            positive = _positive(rest, chosen)
            if positive is None:
                break
            left = [i for i in left if i not in chosen]
            _reduce(rest, chosen, left)
            pivots.append(Pivot(chosen, positive))
    return pivots


def follow(
    rows: Sequence[Sequence[Any]], order: Sequence[Sequence[int]], bits: int = 128
) -> list[Pivot] | None:
    """Return the pivots in a given order of different rows, None where one may be singular."""
    from flint import ctx

    rest, left = [list(row) for row in rows], list(range(len(rows)))
    pivots: list[Pivot] = []
    with ctx.workprec(bits):
        for block in order:
            chosen = tuple(block)
            positive = _positive(rest, chosen)
            if positive is None:
                return None
            left = [i for i in left if i not in chosen]
            _reduce(rest, chosen, left)
            pivots.append(Pivot(chosen, positive))
    return pivots


def bound_smallest(rows: Sequence[Sequence[Any]], bits: int, cuts: int) -> tuple[Fraction, Fraction]:
    """Return bounds of the smallest eigenvalue of every symmetric matrix in the balls, by bisection.

    The bounds start from the discs of Gershgorin and from the smallest diagonal entry; a bisection ends early
    where a shifted matrix is not told from a singular one.
    """
    from flint import arb, ctx

    with ctx.workprec(bits):
        discs = [
            row[i] - sum((abs(c) for j, c in enumerate(row) if j != i), arb(0)) for i, row in enumerate(rows)
        ]
        low = min(Ball.of(disc).lower for disc in discs)
        high = min(Ball.of(row[i]).upper for i, row in enumerate(rows))
        for _ in range(cuts):
            for share in _SHARES:
                middle = low + (high - low) * share
                sided = _side(rows, middle, bits)
                if sided:
                    break
            else:
                break
            low, high = (middle, high) if sided > 0 else (low, middle)
        return low, high


def _side(rows: Sequence[Sequence[Any]], number: Fraction, bits: int) -> int:
    """Return 1 where the smallest eigenvalue is above a number, −1 where it is below, 0 where it is open."""
    from flint import arb, fmpq

    shift = arb(fmpq(number.numerator, number.denominator))
    pivots = eliminate(
        [[c - shift if i == j else c for j, c in enumerate(row)] for i, row in enumerate(rows)], bits
    )
    if any(pivot.positive < pivot.size for pivot in pivots):
        return -1
    return int(sum(pivot.size for pivot in pivots) == len(rows))


def direction(
    rows: Sequence[Sequence[Any]], pivots: Sequence[Pivot], wanted: int, bits: int
) -> list[Fraction]:
    """Return the midpoint of a direction in which the quadratic form has the sign ``wanted``.

    With the pivots before block P solved for, the form of (x, v_P, 0) is that of the Schur complement.
    """
    from flint import arb, arb_mat, ctx

    with ctx.workprec(bits):
        rest, left = [list(row) for row in rows], list(range(len(rows)))
        before: list[int] = []
        for pivot in pivots:
            small = _signed_vector(rest, pivot, wanted)
            if small is not None:
                break
            left = [i for i in left if i not in pivot.rows]
            _reduce(rest, pivot.rows, left)
            before += pivot.rows
        vector = {i: arb(0) for i in range(len(rows))} | dict(zip(pivot.rows, small or [], strict=False))
        if before:
            block = arb_mat([[rows[i][j] for j in before] for i in before])
            right = [[-sum((rows[i][j] * vector[j] for j in pivot.rows), arb(0))] for i in before]
            solved = block.solve(arb_mat(right), algorithm="approx").entries()
            vector |= dict(zip(before, solved, strict=True))
        return [Ball.of(vector[i]).midpoint for i in range(len(rows))]


def _choose(rest: list[list[Any]], left: Sequence[int]) -> tuple[int, ...] | None:
    """Return the rows of the next pivot, None where no entry is told from zero."""
    best: tuple[Any, tuple[int, ...]] = (0, ())
    corner: tuple[Any, tuple[int, ...]] = (0, ())
    for position, i in enumerate(left):
        size = rest[i][i].abs_lower()
        if size > best[0]:
            best = (size, (i,))
        for j in left[:position]:
            size = rest[i][j].abs_lower()
            if size > corner[0]:
                corner = (size, (j, i))
    chosen = best[1] if best[0] >= _DIAGONAL * corner[0] else corner[1]
    return chosen or None


def _positive(rest: list[list[Any]], chosen: tuple[int, ...]) -> int | None:
    """Return how many eigenvalues of a block are positive; None where that, or its rank, is open."""
    if len(chosen) == 1:
        entry = rest[chosen[0]][chosen[0]]
        return 1 if entry > 0 else 0 if entry < 0 else None
    i, j = chosen
    determinant = rest[i][i] * rest[j][j] - rest[i][j] * rest[i][j]
    if determinant < 0:
        return 1
    if determinant > 0:
        return 2 if rest[i][i] > 0 else 0 if rest[i][i] < 0 else None
    return None


def _reduce(rest: list[list[Any]], chosen: tuple[int, ...], left: Sequence[int]) -> None:
    """Replace the rows that are left by their Schur complement."""
    if len(chosen) == 1:
        (k,) = chosen
        factors = {i: [rest[i][k] / rest[k][k]] for i in left}
    else:
        p, q = chosen
        a, b, c = rest[p][p], rest[p][q], rest[q][q]
        determinant = a * c - b * b
        factors = {
            i: [
                (c * rest[i][p] - b * rest[i][q]) / determinant,
                (a * rest[i][q] - b * rest[i][p]) / determinant,
            ]
            for i in left
        }
    for position, i in enumerate(left):
        for j in left[: position + 1]:
            entry = rest[i][j]
            for factor, k in zip(factors[i], chosen, strict=True):
                entry = entry - factor * rest[j][k]
            rest[i][j] = rest[j][i] = entry


def _signed_vector(rest: list[list[Any]], pivot: Pivot, wanted: int) -> list[Any] | None:
    """Return a vector of a block in which its form has the sign ``wanted``, None where it has none."""
    from flint import arb

    if not (pivot.positive if wanted > 0 else pivot.size - pivot.positive):
        return None
    if pivot.size == 1:
        return [arb(1)]
    i, j = pivot.rows
    a, b, c = (wanted * entry.mid() for entry in (rest[i][i], rest[i][j], rest[j][j]))
    # The eigenvector of the larger eigenvalue λ of [[a, b], [b, c]]: (b, λ − a), or (λ − c, b).
    largest = (a + c) / 2 + (((a - c) / 2) ** 2 + b * b).sqrt()
    return [b, largest - a] if a < c else [largest - c, b]
