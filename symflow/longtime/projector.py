"""The limit of a covariance whose decaying modes have died out."""

from __future__ import annotations

from symflow.algebra.exact.rational import Factor, RationalMatrix, diagonal, zeros


def limit_on_kernel(factor: Factor, null: RationalMatrix, dim: int) -> RationalMatrix:
    r"""Return :math:`FΠF^\top` in rational arithmetic.

    With Σ₀ = FFᵀ, :math:`F = LD^{1/2}` and the columns of N a basis of the kernel of :math:`L^\top BL`, the
    projector Π on the kernel of :math:`F^\top BF` gives :math:`LN(N^\top D^{-1}N)^{-1}N^\top L^\top`.

    Parameters
    ----------
    factor : Factor
        Of Σ₀.
    null : flint.fmpq_mat
        N.
    dim : int
        d.
    """
    if not null.ncols():
        return zeros(dim, dim)
    weights = diagonal([1 / value for value in factor.D])
    middle = (null.transpose() * weights * null).inv()
    return factor.L * null * middle * null.transpose() * factor.L.transpose()
