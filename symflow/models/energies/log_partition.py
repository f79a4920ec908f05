"""Mean logarithm of the normaliser of softmax attention."""

from __future__ import annotations

from typing import Any

from sympy import Expr, exp, log

from symflow.algebra.functionals.average import Average
from symflow.models.energies.model import EnergyModel


class LogPartition(EnergyModel):
    r"""Mean logarithm of the normaliser of softmax attention.

    .. math:: F(\mu) = \int\log\int e^{\langle Qx, Ky\rangle}\,d\mu(y)\,d\mu(x)

    References
    ----------
    CACP25.
    """

    name = "log-partition"
    title = "Log-partition energy"
    score = "dot(Q*x, K*y)"
    reference = "CACP25"

    def rest(self, score: Expr, x: Any, y: Any) -> Expr:
        """Return the mean logarithm of the normaliser."""
        return Average(log(Average(exp(score), y)), x)
