"""Sigmoid linear unit."""

from __future__ import annotations

from symflow.models.noise.activation import Activation


class SiLU(Activation):
    r"""Sigmoid linear unit.

    .. math:: \phi(z) = \frac{z}{1 + e^{-z}}

    References
    ----------
    ABGSR26.
    """

    name = "silu"
    title = "Sigmoid linear unit"
    phi = "z*sigmoid(z)"
    reference = "ABGSR26"
