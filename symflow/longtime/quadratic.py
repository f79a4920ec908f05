r"""Models whose covariance solves a homogeneous quadratic equation, whatever they are called.

.. math:: \dot\Sigma = F(\Sigma) = \sum_h V_h\Sigma A_h\Sigma + \Sigma A_h^\top\Sigma V_h^\top
"""

from __future__ import annotations

from dataclasses import dataclass

from symflow.algebra.exact.rational import RationalMatrix, identity, is_zero, symmetric_part, zeros
from symflow.longtime.reading import ExactHead, ExactProblem


@dataclass(frozen=True, eq=False)
class QuadraticFlow:
    """The pairs (V_h, A_h) of the equation."""

    pairs: tuple[tuple[RationalMatrix, RationalMatrix], ...]
    dim: int

    def rhs(self, sigma: RationalMatrix) -> RationalMatrix:
        """Return F(Σ)."""
        return symmetric_part(sum((V * sigma * A * sigma for V, A in self.pairs), zeros(self.dim, self.dim)))

    @property
    def S(self) -> RationalMatrix:
        r"""Return :math:`S = \sum_h V_hA_h + A_h^\top V_h^\top`."""
        return symmetric_part(self.half)

    @property
    def half(self) -> RationalMatrix:
        r"""Return :math:`\sum_h V_hA_h`."""
        return sum((V * A for V, A in self.pairs), zeros(self.dim, self.dim))

    @property
    def value(self) -> RationalMatrix:
        r"""Return :math:`\sum_h V_h`."""
        return sum((V for V, _ in self.pairs), zeros(self.dim, self.dim))


def quadratic_flow(exact: ExactProblem) -> QuadraticFlow | None:
    """Return the quadratic equation of the covariance, None where it is another one.

    Normalised exponential kernels without a term in yᵀCy have it for every mean; the kernel that is the score
    itself has it from mean zero, which it keeps.
    """
    if exact.diffusion != 0 or not is_zero(exact.W):
        return None
    return quadratic_heads(exact)


def quadratic_heads(exact: ExactProblem) -> QuadraticFlow | None:
    """Return the quadratic part of the equation beside a layer and noise, None where the heads have none."""
    if not exact.heads or not all(_is_quadratic(head, exact) for head in exact.heads):
        return None
    return QuadraticFlow(tuple((head.M, head.B) for head in exact.heads), exact.dim)


def _is_quadratic(head: ExactHead, exact: ExactProblem) -> bool:
    if not is_zero(head.C):
        return False
    if head.normalise == "softmax":
        return head.kernel == "exp"
    without_mean = is_zero(exact.alpha) and is_zero(head.m) and is_zero(exact.shift)
    bilinear = head.kernel == "score" and is_zero(head.c) and head.rest_is_zero
    return head.normalise == "none" and bilinear and without_mean


def covariance_is_autonomous(exact: ExactProblem) -> bool:
    """Whether the mean does not enter the equation of the covariance, or stays zero."""
    constants = (exact.shift, *(head.c for head in exact.heads), *(head.m for head in exact.heads))
    stays = is_zero(exact.alpha) and all(is_zero(constant) for constant in constants)
    return stays or all(head.normalise != "none" for head in exact.heads)


def scalar_value(flow: QuadraticFlow) -> bool:
    """Whether every V_h is a multiple of the identity."""
    return all(is_zero(V - identity(flow.dim) * V[0, 0]) for V, _ in flow.pairs)


def mean_is_homogeneous(exact: ExactProblem) -> bool:
    r"""Whether :math:`\dot\alpha = \sum_h V_h(I + \Sigma A_h)\alpha`: normalised, and no constant term."""
    constants = (exact.shift, *(head.c for head in exact.heads), *(head.m for head in exact.heads))
    normalised = all(head.normalise == "softmax" for head in exact.heads)
    return normalised and all(is_zero(constant) for constant in constants)
