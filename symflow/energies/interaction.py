"""Interaction energy of tokens on the sphere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symflow.checking import Array, real_number
from symflow.energies.energy import Energy
from symflow.energies.sums import largest_square, log_mean, scaled_sums
from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.models.energies.model import EnergyModel


class Interaction(Energy):
    r"""Interaction energy of tokens on the sphere, which attention with Q = K = V = I increases.

    .. math:: E_\beta(x_1,\dots,x_n) = \frac{1}{2\beta n^2}\sum_{i,j} e^{\beta\langle x_i, x_j\rangle}

    Parameters
    ----------
    beta : float
        β ≠ 0.

    Raises
    ------
    InputError
        If β is zero or no finite number.

    References
    ----------
    GLPR23.

    Examples
    --------
    >>> round(Interaction(1000.0).log_value([[1.0, 0.0], [0.0, 1.0]]), 5)  # its exponential overflows
    991.70595
    """

    name = "interaction"

    def __init__(self, beta: float) -> None:
        self._given, self.beta = {"beta": beta}, real_number(beta, "beta")
        if self.beta == 0.0:
            raise InputError("beta = 0: the energy divides by beta; use Dissipation for small beta")
        self.describe = f"mean of exp(β⟨x, y⟩)/(2β) over ordered pairs of tokens, β = {self.beta:g}"

    @property
    def model(self) -> EnergyModel:
        """The definition, of :mod:`symflow.models.energies`."""
        from symflow.models.energies.interaction import Interaction

        return Interaction()

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"E_\beta = \frac{1}{2\beta n^2}\sum_{i,j=1}^n e^{\beta\langle x_i, x_j\rangle}"

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        log = log_mean(self.beta * x, x) - math.log(2.0 * abs(self.beta))
        return np.full(len(x), math.copysign(1.0, self.beta)), log

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        return scaled_sums(self.beta * x, x, x)

    def score_bound(self, x: Array) -> float:
        """Return the modulus of β times the largest squared length of a token."""
        return abs(self.beta) * largest_square(x)

    def __repr__(self) -> str:
        return f"Interaction(beta={self.beta!r})"
