"""Exponential of the attention score."""

from __future__ import annotations

from symflow.models.energies.model import EnergyModel


class Exponential(EnergyModel):
    r"""Exponential of the attention score, the energy of softmax attention.

    .. math:: F(\mu) = \tfrac12\iint e^{\langle Qx, Ky\rangle}\,d\mu(x)\,d\mu(y)

    References
    ----------
    CACP25.
    """

    name = "exponential"
    title = "Exponential energy"
    pair = "exp(dot(Q*x, K*y))"
    reference = "CACP25"
