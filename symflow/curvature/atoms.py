r"""Second derivatives of energies of weighted atoms along geodesics, put together from pairs of atoms.

In an array of pairs with the axes (i, j, …) i numbers the atoms in the place of x, j those of y. The same
sums serve arrays of floats and arrays of exact numbers (of dtype object).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Derivatives",
    "Kernel",
    "Potential",
    "euclidean_entries",
    "gradient",
    "twisted_correction",
    "twisted_gram",
]

Numbers = NDArray[Any]  #: floats, or exact numbers of dtype object


@dataclass(frozen=True)
class Derivatives:
    """Derivatives of a function of two tokens at all pairs: (n, n), (n, n, d) and (n, n, d, d)."""

    value: Numbers
    x_slope: Numbers
    y_slope: Numbers
    xx: Numbers
    xy: Numbers
    yy: Numbers


@dataclass(frozen=True)
class Potential:
    """Derivatives of a function of one token at all atoms: (n, d) and (n, d, d)."""

    slope: Numbers
    curvature: Numbers


@dataclass(frozen=True)
class Kernel:
    """The metric of atoms: K and its slopes at all pairs, the matrix |M| and its inverse."""

    value: Numbers
    x_slope: Numbers
    y_slope: Numbers
    size: Numbers
    inverse: Numbers

    def density(self, weights: Numbers) -> Numbers:
        """Return G_i = Σ_j w_j K(x_i, x_j)."""
        return self.value @ weights


def gradient(pair: Derivatives, potential: Potential, weights: Numbers) -> Numbers:
    r"""Return :math:`\nabla\frac{\delta F}{\delta\mu}(x_i)`, (n, d)."""
    both = pair.x_slope + pair.y_slope.swapaxes(0, 1)
    return np.asarray(np.einsum("j,ijd->id", weights, both) / 2 + potential.slope)


def euclidean_entries(pair: Derivatives, potential: Potential, weights: Numbers) -> Numbers:
    r"""Return the second derivative of F in the positions of the atoms, (n, d, n, d).

    .. math:: \tfrac12\sum_{i,j} w_iw_j\,D^2W(x_i,x_j)[(v_i,v_j)^2]
              + \sum_i w_i\langle v_i, D^2U(x_i)v_i\rangle
    """
    mixed = (pair.xy + pair.xy.transpose(1, 0, 3, 2)) / 2
    entries = np.einsum("i,j,ijab->iajb", weights, weights, mixed)
    own = np.einsum("j,ijab->iab", weights, pair.xx + pair.yy.swapaxes(0, 1)) / 2 + potential.curvature
    for i, weight in enumerate(weights):
        entries[i, :, i, :] = entries[i, :, i, :] + weight * own[i]
    return np.asarray(entries)


def twisted_gram(kernel: Kernel, weights: Numbers) -> Numbers:
    r"""Return the metric :math:`\sum_i w_iG_i\langle v_i, |M|v_i\rangle` as a matrix, (n, d, n, d)."""
    diagonal = weights * kernel.density(weights)
    n, d = len(weights), len(kernel.size)
    entries = np.zeros((n, d, n, d), dtype=kernel.value.dtype)
    for i, factor in enumerate(diagonal):
        entries[i, :, i, :] = factor * kernel.size
    return np.asarray(entries)


def twisted_correction(kernel: Kernel, slope: Numbers, weights: Numbers, share: Numbers) -> Numbers:
    r"""Return what the acceleration of twisted geodesics adds to the second derivative, (n, d, n, d).

    .. math:: \sum_i \sigma_i\bigl\langle f_i,\ \tfrac12|M|^{-1}\sum_j w_j
              (m_i\nabla_1K_{ij} + m_j\nabla_2K_{ji}) - v_i\sum_j w_j\,DK_{ij}[(v_i,v_j)]\bigr\rangle

    with :math:`m_i = \langle v_i,|M|v_i\rangle`.

    Parameters
    ----------
    kernel : Kernel
    slope : ndarray, (n, d)
        f_i, the gradient of the first variation at the atoms.
    weights : ndarray, (n,)
    share : ndarray, (n,)
        σ_i: w_i/G_i, or a common multiple of these, which multiplies the result.
    """
    pulled = np.einsum("ab,ib->ia", kernel.inverse, slope)  # |M|⁻¹f_i
    first = np.einsum("j,ijd->id", weights, kernel.x_slope)
    own = share * np.einsum("id,id->i", first, pulled)  # the token's own square m_i
    others = weights * np.einsum("i,kid,id->k", share, kernel.y_slope, pulled)  # squares m_k in forces on i
    # −(w_i/G_i)⟨f_i, v_i⟩ Σ_j w_j⟨∇₂K_ij, v_j⟩, symmetrised
    moved = -np.einsum("i,ia,j,ijb->iajb", share, slope, weights, kernel.y_slope) / 2
    entries = moved + moved.transpose(2, 3, 0, 1)
    for i in range(len(weights)):
        outer = np.einsum("a,b->ab", slope[i], first[i]) * share[i]
        block = kernel.size * ((own[i] + others[i]) / 2) - (outer + outer.T) / 2
        entries[i, :, i, :] = entries[i, :, i, :] + block
    return np.asarray(entries)
