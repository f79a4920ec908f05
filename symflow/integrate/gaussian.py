"""Gaussian initial laws and their factors."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.errors import InputError

#: What rounding may leave of an asymmetry or a negative eigenvalue, relative to the largest.
ROUNDING = 1e-12


class Gaussian:
    r"""A Gaussian law on ℝᵈ; its covariance may be singular.

    .. math:: \mu = \mathcal N(\alpha, \Sigma), \qquad \Sigma = \Sigma^\top \succeq 0

    Parameters
    ----------
    mean : array_like, (d,)
        α; a number stands for d = 1.
    cov : array_like, (d, d)
        Σ. Asymmetry and negative eigenvalues up to 1e-12 of the largest count as rounding.
        For causal attention mean (n, d) and cov (n, d, d): one law per position.

    Attributes
    ----------
    mean : ndarray, (d,) or (n, d)
    cov : ndarray, (d, d) or (n, d, d)
        Read-only, float64, exactly symmetric.

    Raises
    ------
    InputError
        If an entry is not finite, the shapes do not fit, or the covariance is not symmetric or not positive
        semidefinite; the message names the entry or the eigenvalue.

    Examples
    --------
    >>> Gaussian([0, 1], [[2, 0], [0, 0]]).rank
    1
    """

    mean: Array
    cov: Array

    def __init__(self, mean: Any, cov: Any) -> None:
        alpha = np.atleast_1d(real_array(mean, "mean"))
        sigma = np.atleast_2d(real_array(cov, "cov"))
        along = sigma.ndim == 3  # one law per position
        if alpha.ndim == 2 and 1 in alpha.shape and not along:
            alpha = alpha.reshape(-1)
        if alpha.ndim != 1 + along or alpha.size == 0:
            wanted = "one vector per position, (n, d)," if along else "a vector of length d ≥ 1,"
            raise InputError(f"mean must be {wanted} got shape {alpha.shape}")
        if sigma.shape != (*alpha.shape, alpha.shape[-1]):
            raise InputError(
                f"cov must have shape {(*alpha.shape, alpha.shape[-1])} to match the mean, got {sigma.shape}"
            )
        if along:
            sigma = np.array([_checked(one, f"cov[{i}]") for i, one in enumerate(sigma)])
        else:
            sigma = _checked(sigma, "cov")
        alpha.setflags(write=False)
        sigma.setflags(write=False)
        object.__setattr__(self, "mean", alpha)
        object.__setattr__(self, "cov", sigma)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Gaussian is immutable: cannot set {name!r}")

    def __reduce__(self) -> tuple[type[Gaussian], tuple[Array, Array]]:
        return Gaussian, (self.mean, self.cov)

    def __repr__(self) -> str:
        along = "" if self.positions is None else f"positions={self.positions}, "
        return f"Gaussian({along}d={self.dim}, rank={self.rank})"

    @property
    def positions(self) -> int | None:
        """Number of positions n, None for a law without positions."""
        return None if self.mean.ndim == 1 else int(self.mean.shape[0])

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.mean.shape[-1])

    @property
    def rank(self) -> int:
        """Numerical rank of the covariance, the largest along the positions."""
        return int(self._factor.shape[-1])

    @cached_property
    def _factor(self) -> Array:
        if self.positions is None:
            factor = pivoted_cholesky(self.cov)
        else:
            parts = [pivoted_cholesky(sigma) for sigma in self.cov]
            factor = np.zeros((*self.mean.shape, max(part.shape[1] for part in parts)))
            for filled, part in zip(factor, parts, strict=True):
                filled[:, : part.shape[1]] = part
        factor.setflags(write=False)
        return factor

    def factor(self) -> Array:
        """Return F (d × rank) with ``Σ = FFᵀ``, or (n, d, rank) along positions.

        Examples
        --------
        >>> Gaussian([0, 0], [[4, 2], [2, 1]]).factor()
        array([[2.],
               [1.]])
        """
        return self._factor


def _checked(sigma: Array, name: str) -> Array:
    """Return the covariance exactly symmetric, refused where it is no covariance."""
    sigma = _symmetric(sigma, name)
    _refuse_indefinite(sigma, name)
    return sigma


def _symmetric(sigma: Array, name: str) -> Array:
    gap = np.abs(sigma - sigma.T)
    if gap.max() > ROUNDING * np.abs(sigma).max():
        i, j = (int(n) for n in sorted(np.unravel_index(int(gap.argmax()), gap.shape)))
        raise InputError(
            f"{name} is not symmetric: {name}[{i}, {j}] = {sigma[i, j]:.17g} "
            f"but {name}[{j}, {i}] = {sigma[j, i]:.17g}"
        )
    return 0.5 * sigma + 0.5 * sigma.T  # halved first: the sum may overflow


def _refuse_indefinite(sigma: Array, name: str) -> None:
    eigenvalues = np.linalg.eigvalsh(sigma)
    if eigenvalues[0] < -ROUNDING * max(abs(eigenvalues[-1]), abs(eigenvalues[0])):
        raise InputError(
            f"{name} is not PSD (positive semidefinite): its smallest eigenvalue is {eigenvalues[0]:.6g}, "
            "which is more than rounding; give a covariance matrix"
        )


def pivoted_cholesky(sigma: Array, rank: int | None = None) -> Array:
    r"""Return F with ``Σ = FFᵀ``, as many columns as the numerical rank.

    .. math:: \Sigma \leftarrow \Sigma - f f^\top, \qquad f = \Sigma_{\cdot p}/\sqrt{\Sigma_{pp}},
              \quad p = \arg\max_i \Sigma_{ii}

    Only sums of entries in a fixed order, so that the result has the same bits for any number of threads.

    Parameters
    ----------
    sigma : ndarray, (d, d)
        Symmetric, positive semidefinite up to rounding.
    rank : int, optional
        Number of columns; by default elimination stops where the remainder is rounding.

    Returns
    -------
    ndarray, (d, rank)
    """
    d = sigma.shape[0]
    rest = sigma.copy()
    floor = d * np.finfo(np.float64).eps * float(np.max(np.diagonal(rest), initial=0.0))
    columns: list[Array] = []
    for _ in range(d if rank is None else rank):
        pivot = int(np.argmax(np.diagonal(rest)))
        if not rest[pivot, pivot] > (floor if rank is None else 0.0):
            break
        column = rest[:, pivot] / np.sqrt(rest[pivot, pivot])
        columns.append(column)
        rest -= np.multiply.outer(column, column)
        rest[pivot, :] = rest[:, pivot] = 0.0
    factor = np.zeros((d, len(columns) if rank is None else rank))
    for index, column in enumerate(columns):
        factor[:, index] = column
    return factor
