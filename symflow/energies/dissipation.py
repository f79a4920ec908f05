"""Distance of the interaction energy from that of a single cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from symflow.checking import Array, real_number
from symflow.clustering.pairs import blocks
from symflow.energies.energy import Energy
from symflow.energies.sums import largest_square, scaled_sums

if TYPE_CHECKING:
    from symflow.models.energies.model import EnergyModel

#: Exponents up to here are safe to sum.
_SAFE = 600.0


class Dissipation(Energy):
    r"""Distance of the interaction energy from that of a single cluster; zero exactly there, for β > 0.

    .. math:: E(\mu) = \tfrac12\iint\bigl(e^\beta - e^{\beta\langle x, y\rangle}\bigr)\,d\mu(x)\,d\mu(y)

    Differences of tokens are summed, not differences of exponentials, so that the value keeps its digits
    while the tokens merge.

    Parameters
    ----------
    beta : float
        β.

    Raises
    ------
    InputError
        If β is no finite number.

    References
    ----------
    ABGSR26.

    Examples
    --------
    >>> Dissipation(1.0).value([[1.0, 0.0], [1.0, 0.0]])
    0.0
    """

    name = "dissipation"

    def __init__(self, beta: float) -> None:
        self._given, self.beta = {"beta": beta}, real_number(beta, "beta")
        self.describe = f"half the mean of exp(β) − exp(β⟨x, y⟩) over ordered pairs, β = {self.beta:g}"

    @property
    def model(self) -> EnergyModel:
        """The definition, of :mod:`symflow.models.energies`."""
        from symflow.models.energies.dissipation import Dissipation

        return Dissipation()

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"E(\mu) = \tfrac12\iint(e^\beta - e^{\beta\langle x, y\rangle})\,d\mu(x)\,d\mu(y)"

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        largest = max(float(scores.max()) for _, scores in self._scores(x))
        shift = largest if largest > _SAFE else 0.0
        total = np.zeros(len(x))
        for frames, scores in self._scores(x):
            part = math.exp(-shift) - np.exp(scores - shift) if shift else -np.expm1(scores)
            total[frames] += part.sum(axis=(1, 2))
        mean = 0.5 * total / x.shape[1] ** 2
        with np.errstate(divide="ignore"):
            return np.sign(mean), np.log(np.abs(mean)) + self.beta + shift

    def _scores(self, x: Array) -> Iterator[tuple[slice, Array]]:
        """Yield β(⟨x, y⟩ − 1) for blocks of pairs, from ⟨x, y⟩ = ½|x|² + ½|y|² − ½|x − y|²."""
        excess = 0.5 * (np.einsum("bid,bid->bi", x, x) - 1.0)
        # a token on the sphere has length one, whatever its last digit says
        excess[np.abs(excess) <= 4.0 * x.shape[2] * np.finfo(float).eps] = 0.0
        for frames, rows in blocks(len(x), x.shape[1], x.shape[2]):
            gap = x[frames, rows, None, :] - x[frames, None, :, :]
            squares = np.einsum("bijd,bijd->bij", gap, gap)
            yield (
                frames,
                self.beta * (excess[frames, rows, None] + excess[frames, None, :] - 0.5 * squares),
            )

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        log, sums = scaled_sums(self.beta * x, x, x)
        return log, -self.beta * sums

    def score_bound(self, x: Array) -> float:
        """Return the modulus of β times the largest squared length of a token."""
        return abs(self.beta) * largest_square(x)

    def __repr__(self) -> str:
        return f"Dissipation(beta={self.beta!r})"
