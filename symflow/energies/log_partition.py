"""Mean logarithm of the normaliser of softmax attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symflow.checking import Array
from symflow.codegen.arrays import listed
from symflow.energies.exponential import score_matrices
from symflow.energies.sums import largest_square
from symflow.energies.symbolic import SymbolicEnergy

if TYPE_CHECKING:
    from symflow.models.energies.model import EnergyModel


class LogPartition(SymbolicEnergy):
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

    def __init__(self, Q: Any, K: Any) -> None:
        self._given = {"Q": listed(Q, "Q"), "K": listed(K, "K")}
        self.Q, self.K = score_matrices(self._given)

    @property
    def model(self) -> EnergyModel:
        """The definition, of :mod:`symflow.models.energies`."""
        from symflow.models.energies.log_partition import LogPartition

        return LogPartition()

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"F(\mu) = \int\log\int e^{\langle Qx, Ky\rangle}\,d\mu(y)\,d\mu(x)"

    def score_bound(self, x: Array) -> float:
        """Return the norm of KᵀQ times the largest squared length of a token."""
        return float(np.linalg.norm(self.K.T @ self.Q, 2)) * largest_square(x)

    def __repr__(self) -> str:
        return f"LogPartition(Q={self.Q.tolist()}, K={self.K.tolist()})"
