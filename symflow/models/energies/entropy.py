"""Entropy of a law of tokens."""

from __future__ import annotations

from typing import Any

from sympy import Expr, log

from symflow.algebra.functionals.average import Average
from symflow.algebra.functionals.nodes import Density
from symflow.models.energies.model import EnergyModel


class Entropy(EnergyModel):
    r"""Negative differential entropy, infinite where the law has no density.

    .. math:: F(\mu) = \int\log\frac{d\mu}{dx}\,d\mu

    References
    ----------
    CACP25.
    """

    name = "entropy"
    title = "Entropy"
    reference = "CACP25"

    def rest(self, score: Expr, x: Any, y: Any) -> Expr:
        """Return the mean logarithm of the density."""
        return Average(log(Density(x)), x)
