r"""Linear flows decided exactly: stability, Lyapunov's equation, limits.

.. math:: \dot z = Mz, \qquad z(t) \to 0 \text{ or } h(M)z_0/h(0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symflow.algebra.exact.rational import RationalMatrix, fmpq, kernel, rational_matrix


def is_hurwitz(polynomial: Any) -> bool:
    """Whether every root of a rational polynomial has a negative real part, by Routh's array.

    Parameters
    ----------
    polynomial : flint.fmpq_poly
        Not zero; a constant has no roots, and the answer is True.

    Examples
    --------
    >>> from flint import fmpq_poly
    >>> is_hurwitz(fmpq_poly([2, 3, 1])), is_hurwitz(fmpq_poly([1, 0, 1])), is_hurwitz(fmpq_poly([-1, 1]))
    (True, False, False)
    """
    falling = [c / polynomial.leading_coefficient() for c in reversed(polynomial.coeffs())]
    upper, lower = falling[::2], falling[1::2]
    while lower:
        if lower[0] <= 0:
            return False
        padded = [*lower, fmpq(0)]
        ratio = upper[0] / lower[0]
        upper, lower = lower, [upper[k] - ratio * padded[k] for k in range(1, len(upper))]
    return True


def lyapunov_solution(W: RationalMatrix, source: RationalMatrix) -> RationalMatrix | None:
    """Return the X with WX + XWᵀ + source = 0, None where there is not exactly one; source is symmetric."""
    d = W.nrows()
    places = [(i, j) for i in range(d) for j in range(i + 1)]
    index = {place: k for k, place in enumerate(places)} | {(j, i): k for k, (i, j) in enumerate(places)}
    rows = []
    for i, j in places:
        row = [fmpq(0)] * len(places)
        for k in range(d):
            row[index[k, j]] += W[i, k]
            row[index[i, k]] += W[j, k]
        rows.append(row)
    try:
        found = rational_matrix(rows).solve(rational_matrix([[-source[i, j]] for i, j in places]))
    except ZeroDivisionError:
        return None
    return rational_matrix([[found[index[i, j], 0] for j in range(d)] for i in range(d)])


def settled(
    generator: Callable[[RationalMatrix], RationalMatrix], start: RationalMatrix
) -> RationalMatrix | None:
    r"""Return :math:`\lim e^{tM}z_0`, None where it does not exist.

    Parameters
    ----------
    generator : callable
        z ↦ Mz on matrices of one shape.
    start : flint.fmpq_mat
        z₀.

    Examples
    --------
    >>> M = rational_matrix([[-1, 1], [0, 0]])
    >>> settled(M.__mul__, rational_matrix([[5], [2]])).tolist()
    [[2], [2]]
    """
    from flint import fmpq_poly

    powers, relation = _krylov(generator, start)
    minimal = fmpq_poly(relation)
    if minimal.degree() and minimal[0] == 0:
        stable = fmpq_poly(relation[1:])
        if not is_hurwitz(stable) or stable[0] == 0:
            return None
        total = start * fmpq(0)
        for coefficient, power in zip(stable.coeffs(), powers, strict=False):
            total = total + power * coefficient
        return total * (1 / stable[0])
    return start * fmpq(0) if is_hurwitz(minimal) else None


def _krylov(
    generator: Callable[[RationalMatrix], RationalMatrix], start: RationalMatrix
) -> tuple[list[RationalMatrix], list[Any]]:
    """Return z₀, Mz₀, … up to the first dependent one, and the coefficients of the relation."""
    powers = [start]
    while True:
        columns = rational_matrix([power.entries() for power in powers]).transpose()
        null = kernel(columns)
        if null.ncols():
            return powers, [null[k, 0] for k in range(len(powers))]
        powers.append(generator(powers[-1]))
