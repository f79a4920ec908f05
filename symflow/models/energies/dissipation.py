"""Distance of the interaction energy from that of a single cluster."""

from __future__ import annotations

from symflow.models.energies.model import EnergyModel


class Dissipation(EnergyModel):
    r"""Distance of the interaction energy from that of a single cluster.

    .. math:: E(\mu) = \tfrac12\iint\bigl(e^\beta - e^{\beta\langle x, y\rangle}\bigr)\,d\mu(x)\,d\mu(y)

    References
    ----------
    ABGSR26.
    """

    name = "dissipation"
    title = "Dissipation energy"
    pair = "exp(beta) - exp(beta*dot(x, y))"
    space = "sphere"
    sense = "minimise"
    reference = "ABGSR26"
