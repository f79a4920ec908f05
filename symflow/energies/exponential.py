"""Exponential of the attention score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symflow.checking import Array
from symflow.energies.scored import ScoredEnergy
from symflow.energies.sums import log_mean, scaled_sums
from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.models.energies.model import EnergyModel


class Exponential(ScoredEnergy):
    r"""Exponential of the attention score.

    .. math:: F(\mu) = \tfrac12\iint e^{\langle Qx, Ky\rangle}\,d\mu(x)\,d\mu(y)

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
    >>> Exponential([[1.0]], [[2.0]]).value([[0.0], [0.0]])
    0.5
    """

    name = "exponential"

    describe = "half the mean of exp(⟨Qx, Ky⟩) over ordered pairs of tokens"

    @property
    def model(self) -> EnergyModel:
        """The definition, of :mod:`symflow.models.energies`."""
        from symflow.models.energies.exponential import Exponential

        return Exponential()

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"F(\mu) = \tfrac12\iint e^{\langle Qx, Ky\rangle}\,d\mu(x)\,d\mu(y)"

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        log = log_mean(self._times(x, self.Q, "Q"), self._times(x, self.K, "K"))
        return np.ones(len(x)), log - math.log(2.0)

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        queries, keys = self._times(x, self.Q, "Q"), self._times(x, self.K, "K")
        sums = [
            scaled_sums(queries, keys, keys @ self.Q),  # Σ_j e^{s_ij} QᵀK x_j
            scaled_sums(keys, queries, queries @ self.K),  # Σ_j e^{s_ji} KᵀQ x_j
        ]
        log = np.maximum(sums[0][0], sums[1][0])
        total = sum(np.exp(one - log)[:, None, None] * part for one, part in sums)
        return log - math.log(2.0), np.asarray(total)

    def _times(self, x: Array, matrix: Array, name: str) -> Array:
        if matrix.shape[1] != x.shape[2]:
            raise InputError(
                f"{name} has {matrix.shape[1]} columns, the tokens have {x.shape[2]} coordinates"
            )
        return np.asarray(x @ matrix.T)
