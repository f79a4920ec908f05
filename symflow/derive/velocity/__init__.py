"""The velocity that one head gives a token when the law of the tokens is Gaussian, where it is affine.

How a head averages decides the route, one module each: :mod:`.tilting` for rows normalised one by one,
:mod:`.coupling` for a doubly stochastic scaling, :mod:`.polynomial` for a kernel that is a polynomial.
"""

from symflow.derive.velocity.dispatch import affine_velocity
from symflow.derive.velocity.record import AffineVelocity, Setting

__all__ = ["AffineVelocity", "Setting", "affine_velocity"]
