"""Rectified linear unit."""

from __future__ import annotations

from symflow.models.noise.activation import Activation


class ReLU(Activation):
    r"""Rectified linear unit.

    .. math:: \phi(z) = \max(z, 0)

    References
    ----------
    ABGSR26.
    """

    name = "relu"
    title = "Rectified linear unit"
    phi = "Max(z, 0)"
    reference = "ABGSR26"
