"""Entropic cost of transporting a law to itself, the energy of Sinkhorn attention."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Rational

from symflow.algebra.functionals.nodes import TransportCost
from symflow.models.energies.model import EnergyModel


class SelfTransport(EnergyModel):
    r"""Entropic cost of transporting a law to itself, the energy of Sinkhorn attention.

    .. math:: F(\mu) = \frac{1}{2\varepsilon}\min_{\pi}\int c\,d\pi
              + \varepsilon\,\mathrm{KL}(\pi\,|\,\mu\otimes\mu), \qquad c(x, y) = -x^\top Ay

    over couplings π of μ with itself.

    References
    ----------
    CACP25.
    """

    name = "self-transport"
    title = "Entropic self-transport energy"
    score = "dot(x, A*y)/epsilon"
    reference = "CACP25"

    def rest(self, score: Expr, x: Any, y: Any) -> Expr:
        """Return half the entropic cost, in units of the temperature."""
        return Rational(1, 2) * TransportCost(score, x, y)
