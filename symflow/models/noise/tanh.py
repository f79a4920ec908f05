"""Hyperbolic tangent."""

from __future__ import annotations

from symflow.models.noise.activation import Activation


class Tanh(Activation):
    r"""Hyperbolic tangent.

    .. math:: \phi(z) = \tanh z

    References
    ----------
    ABGSR26.
    """

    name = "tanh"
    title = "Hyperbolic tangent"
    phi = "tanh(z)"
    reference = "ABGSR26"
