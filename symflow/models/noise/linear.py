"""Identity."""

from __future__ import annotations

from symflow.models.noise.activation import Activation


class Linear(Activation):
    r"""Identity.

    .. math:: \phi(z) = z

    References
    ----------
    ABGSR26.
    """

    name = "linear"
    title = "Identity"
    phi = "z"
    reference = "ABGSR26"
