"""Rigorous bounds for matrices of balls (``flint.arb``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

BallRows = Sequence[Sequence[Any]]  #: rows of flint.arb
#: Squarings of a matrix whose norm is bounded, and bits: each squaring doubles the relative errors.
_SQUARINGS, _NORM_BITS = 27, 320


def upper(value: Any) -> Any:
    """Return an exact upper bound of a ball."""
    return value.upper().mid() + value.upper().rad()


def norm(entries: Iterable[Any]) -> Any:
    """Return an exact upper bound of the Euclidean norm of numbers given as balls."""
    from flint import arb

    sizes = (entry.abs_upper() for entry in entries)  # the square of a ball around 0 may be negative
    return upper(sum((size * size for size in sizes), arb(0)).sqrt())


def identity(size: int) -> Any:
    """Return the identity as a ``flint.arb_mat``."""
    from flint import arb_mat

    return arb_mat([[int(i == j) for j in range(size)] for i in range(size)])


def frobenius(matrix: Any) -> Any:
    """Return an exact upper bound of the Frobenius norm of a ``flint.arb_mat``."""
    return norm(matrix.entries())


def spectral_norm(matrix: Any) -> Any:
    """Return an exact upper bound of the spectral norm of a ``flint.arb_mat``, tight to about 1e-8.

    λ_max(G) ≤ tr(Gⁿ)^{1/n} for G = MᵀM, with n = 2ᵏ by repeated squaring of matrices of trace one.

    Examples
    --------
    >>> from flint import arb_mat
    >>> round(float(spectral_norm(arb_mat([[0, 2], [1, 0]]))), 6)
    2.0
    """
    from flint import arb, ctx

    with ctx.workprec(_NORM_BITS):
        tall = matrix if matrix.nrows() >= matrix.ncols() else matrix.transpose()
        power = tall.transpose() * tall
        traces = []
        for _ in range(_SQUARINGS if power.nrows() > 1 else 1):
            trace = upper(sum((power[i, i] for i in range(power.nrows())), arb(0)))
            traces.append(trace)
            if trace == 0:
                return arb(0)
            power = power * (1 / trace)
            power = power * power
        value = arb(1)
        for trace in reversed(traces[1:]):
            value = (trace * value).sqrt()
        return upper((traces[0] * value).sqrt())


def inflate(matrix: Any, radius: Any) -> Any:
    """Return the matrix with every entry widened by ``radius``."""
    from flint import arb, arb_mat

    wide = arb(0, 1) * radius
    return arb_mat([[entry + wide for entry in row] for row in matrix.tolist()])


def midpoints(matrix: Any) -> Any:
    """Return the matrix of exact midpoints."""
    from flint import arb_mat

    return arb_mat([[entry.mid() for entry in row] for row in matrix.tolist()])


def is_positive_definite(rows: BallRows) -> bool:
    """Whether every symmetric matrix in the balls is positive definite, by LDLᵀ; False where that is open."""
    rest = [list(row) for row in rows]
    size = len(rest)
    for k in range(size):
        pivot = rest[k][k]
        if not pivot > 0:
            return False
        for i in range(k + 1, size):
            factor = rest[i][k] / pivot
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - factor * rest[j][k]
                rest[j][i] = rest[i][j]
    return True


def largest_eigenvalue_bound(matrix: Any, guess: float) -> Any:
    """Return a proved upper bound of λ_max of the symmetric part of every matrix in the balls.

    Parameters
    ----------
    matrix : flint.arb_mat
        Square.
    guess : float
        λ_max of the symmetric part of the midpoint, about; it is raised until elimination proves it.
    """
    from flint import arb

    half = arb(1) / 2
    symmetric = (matrix + matrix.transpose()) * half
    rows, size = symmetric.tolist(), symmetric.nrows()
    spread = norm(entry.rad() for row in rows for entry in row)
    slack = 1e-9 * max(abs(guess), 1e-6)
    bound = arb(guess)
    while True:
        bound = bound + slack
        shifted = [[(bound if i == j else 0) - rows[i][j].mid() for j in range(size)] for i in range(size)]
        if is_positive_definite(shifted):
            return upper(bound + spread)
        slack *= 4
