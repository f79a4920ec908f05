"""Whether tokens lie in an open hemisphere, decided with a certificate, and how likely that is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import Array
from symflow.clustering.pairs import directions, tokens
from symflow.errors import InputError, Undecided


@dataclass(frozen=True, eq=False)
class Hemisphere:
    r"""The answer to whether some w has :math:`\langle w, x_i\rangle > 0` for every token.

    Attributes
    ----------
    contained : bool
        Whether there is one.
    direction : ndarray (d,), or None
        The unit vector w with the largest least cosine: the axis of the smallest cone around the tokens.
    margin : float
        That least cosine; zero where there is none.
    support : ndarray of int, or None
        Where there is none: tokens that surround the origin …
    weights : tuple of Fraction, or None
        … and exact positive weights with :math:`\sum_i \lambda_ix_i = 0`.
    """

    contained: bool
    direction: Array | None
    margin: float
    support: NDArray[np.intp] | None = None
    weights: tuple[Fraction, ...] | None = None

    def __bool__(self) -> bool:
        return self.contained


def hemisphere(x: Any) -> Hemisphere:
    r"""Decide whether all tokens lie in one open hemisphere.

    By Gordan's theorem either some w has :math:`\langle w, x_i\rangle > 0` for all i, or some
    :math:`\lambda \ge 0`, not zero, has :math:`\sum_i\lambda_ix_i = 0`. A non-negative least-squares problem
    finds one of the two in floating point; the answer is then verified in exact arithmetic, taking the
    coordinates as the rational numbers that they are.

    Parameters
    ----------
    x : array_like, (n, d)
        Tokens of any length but zero.

    Raises
    ------
    InputError
        If ``x`` is no cloud of tokens or a token is zero.
    Undecided
        If neither certificate holds exactly: the tokens touch a great sphere to rounding.

    References
    ----------
    GLPR23, Lemma 6.4; Lawson and Hanson, Solving Least Squares Problems, Chapter 23.

    Examples
    --------
    >>> hemisphere([[1.0, 0.0], [0.0, 1.0]]).contained
    True
    >>> found = hemisphere([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> found.contained, [str(weight) for weight in found.weights]
    (False, ['1/2', '1/4', '1/4'])
    """
    cloud = tokens(x)
    if cloud.ndim != 2:
        raise InputError(f"x has shape {cloud.shape}; give one cloud of tokens, (n, d)")
    unit = directions(cloud)
    multipliers, residual = _least_distance(unit)
    if residual[-1] < 0.0:
        direction = residual[:-1] / -residual[-1]
        direction = direction / np.linalg.norm(direction)
        if _is_inside(cloud, direction):
            return Hemisphere(True, direction, float((unit @ direction).min()))
    surrounded = _surrounding(cloud, multipliers)
    if surrounded is None:
        raise Undecided(
            "the tokens touch a great sphere to rounding: neither a direction with positive products nor "
            "positive weights that sum to zero were found exactly"
        )
    return Hemisphere(False, None, 0.0, *surrounded)


def wendel_probability(n: int, d: int) -> Fraction:
    r"""Return the probability that n uniform tokens of the sphere lie in an open hemisphere.

    .. math:: P = 2^{-(n-1)}\sum_{k=0}^{d-1}\binom{n-1}{k}

    Parameters
    ----------
    n, d : int
        Number of tokens and dimension of the space around the sphere, at least 1.

    Raises
    ------
    InputError
        If one is no positive integer.

    References
    ----------
    GLPR23; Wendel, Math. Scand. 11 (1962).

    Examples
    --------
    >>> wendel_probability(3, 2)
    Fraction(3, 4)
    >>> wendel_probability(5, 5)
    Fraction(1, 1)
    """
    for name, value in (("n", n), ("d", d)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} = {value!r} must be a positive integer")
    return Fraction(sum(comb(n - 1, k) for k in range(min(n, d))), 2 ** (n - 1))


def _least_distance(unit: Array) -> tuple[Array, Array]:
    """Solve min |(Σλᵢxᵢ, Σλᵢ − 1)| over λ ≥ 0; return λ and the residual.

    The residual r is zero if the origin is a convex combination, and else w = −r₁…r_d/r_{d+1} is the
    shortest vector with ⟨w, xᵢ⟩ ≥ 1.
    """
    from scipy.optimize import nnls

    n, d = unit.shape
    rows = np.vstack([unit.T, np.ones(n)])
    target = np.zeros(d + 1)
    target[-1] = 1.0
    multipliers, _ = nnls(rows, target, maxiter=30 * (n + d))
    return multipliers, rows @ multipliers - target


def _is_inside(cloud: Array, direction: Array) -> bool:
    """Whether every ⟨w, xᵢ⟩ is positive, in exact arithmetic where rounding could matter."""
    products = cloud @ direction
    slack = 4.0 * (cloud.shape[1] + 1) * np.finfo(float).eps * (np.abs(cloud) @ np.abs(direction))
    exact = [Fraction(w) for w in direction.tolist()]
    return all(
        sum((Fraction(a) * w for a, w in zip(cloud[i].tolist(), exact, strict=True)), Fraction(0)) > 0
        for i in np.flatnonzero(products <= slack).tolist()
    )


def _surrounding(cloud: Array, multipliers: Array) -> tuple[NDArray[np.intp], tuple[Fraction, ...]] | None:
    """Return tokens and exact positive weights with Σλᵢxᵢ = 0, among those with positive multipliers."""
    from symflow.algebra.exact.rational import fractions, kernel, rational_matrix

    support = np.flatnonzero(multipliers > 0.0)
    if support.size == 0:
        return None
    basis = fractions(kernel(rational_matrix(cloud[support].T.tolist())))
    columns = list(zip(*basis, strict=True)) if basis and basis[0] else []
    for column in columns if len(columns) == 1 else []:
        sign = 1 if column[0] > 0 else -1
        weights = [sign * entry for entry in column]
        if all(weight > 0 for weight in weights):
            total = sum(weights, Fraction(0))
            return support, tuple(weight / total for weight in weights)
    return None
