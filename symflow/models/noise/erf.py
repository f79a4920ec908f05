"""Error function."""

from __future__ import annotations

from symflow.models.noise.activation import Activation


class Erf(Activation):
    r"""Error function.

    .. math:: \phi(z) = \operatorname{erf} z

    References
    ----------
    ABGSR26.
    """

    name = "erf"
    title = "Error function"
    phi = "erf(z)"
    reference = "ABGSR26"
