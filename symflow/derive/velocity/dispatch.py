"""Which route derives the velocity of a head: decided by its normalisation and by what its kernel is."""

from __future__ import annotations

from sympy import ZeroMatrix, exp

from symflow.derive.velocity import coupling, polynomial, tilting
from symflow.derive.velocity.record import AffineVelocity, Setting, undecided
from symflow.errors import NotAffine, NotPolynomial, NotQuadratic


def affine_velocity(setting: Setting) -> AffineVelocity:
    """Return the affine velocity of a head with the steps that lead to it.

    Raises
    ------
    ClosureUndecided
        If no route shows that the velocity is affine; that proves nothing about Gaussians.
    """
    head = setting.head
    if head.prefactor.is_zero:
        rows, cols = setting.sigma.shape
        return setting.velocity(ZeroMatrix(rows, 1), ZeroMatrix(rows, 1), ZeroMatrix(rows, cols))
    try:
        if head.normalise == "none":
            return polynomial.velocity(setting)
        if head.kernel != exp(head.score):
            raise undecided(setting, f"the kernel {head.kernel} is not the exponential of the score")
        if setting.statement.positions is not None:
            raise undecided(setting, "under a mask its weights average over a mixture of Gaussians")
        route = coupling.velocity if head.normalise == "sinkhorn" else tilting.velocity
        return route(setting)
    except (NotQuadratic, NotAffine, NotPolynomial) as error:
        raise undecided(setting, str(error)) from error
