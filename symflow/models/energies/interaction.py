"""Interaction energy of tokens on the sphere."""

from __future__ import annotations

from symflow.models.energies.model import EnergyModel


class Interaction(EnergyModel):
    r"""Interaction energy that attention with Q = K = V = I on the sphere increases.

    .. math:: E_\beta(\mu) = \frac{1}{2\beta}\iint e^{\beta\langle x, y\rangle}\,d\mu(x)\,d\mu(y)

    References
    ----------
    GLPR23.
    """

    name = "interaction"
    title = "Interaction energy"
    pair = "exp(beta*dot(x, y))/beta"
    space = "sphere"
    reference = "GLPR23"
