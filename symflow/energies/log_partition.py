"""Mean logarithm of the normaliser of softmax attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symflow.energies.scored import ScoredEnergy
from symflow.energies.symbolic import SymbolicEnergy

if TYPE_CHECKING:
    from symflow.models.energies.model import EnergyModel


class LogPartition(ScoredEnergy, SymbolicEnergy):
    r"""Mean logarithm of the normaliser of softmax attention.

    .. math:: F(\mu) = \int\log\int e^{\langle Qx, Ky\rangle}\,d\mu(y)\,d\mu(x)

    Parameters
    ----------
    Q, K : array_like, (k, d)
        Query and key matrices.

    Raises
    ------
    InputError
        If they are no matrices of one shape.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> round(LogPartition([[1.0]], [[1.0]]).value([[30.0], [30.0]]), 9)  # the normaliser overflows
    900.0
    """

    name = "log-partition"

    describe = "the mean of log ∫ exp(⟨Qx, Ky⟩) dμ(y)"

    @property
    def model(self) -> EnergyModel:
        """The definition, of :mod:`symflow.models.energies`."""
        from symflow.models.energies.log_partition import LogPartition

        return LogPartition()

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"F(\mu) = \int\log\int e^{\langle Qx, Ky\rangle}\,d\mu(y)\,d\mu(x)"
