"""Entropic cost of transporting the law of tokens to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symflow.checking import Array, positive_number, real_array
from symflow.codegen.arrays import listed
from symflow.energies.energy import Energy
from symflow.energies.scaling import Scaling
from symflow.energies.sums import largest_square
from symflow.energies.symbolic import law_weights, points_and_atoms
from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.models.energies.model import EnergyModel


class SelfTransport(Energy):
    r"""Entropic cost of transporting a law to itself, the energy of Sinkhorn attention.

    .. math:: F(\mu) = \frac{1}{2\varepsilon}\min_\pi\int c\,d\pi
              + \varepsilon\,\mathrm{KL}(\pi\,|\,\mu\otimes\mu), \qquad c(x, y) = -x^\top Ay

    The two scalings of the kernel are computed in turn, in logarithms, until no sum of a row
    is further from 1 than 10⁻¹³ and the rounding of exponents.

    Parameters
    ----------
    A : array_like, (d, d)
        The cost is −xᵀAy.
    epsilon : float
        Temperature ε > 0.

    Raises
    ------
    InputError
        If A is not square or ε not positive.
    NotConverged
        Of values and gradients, where the scaling does not meet its stopping rule.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> SelfTransport([[2.0]], 1.0).value([[1.0], [1.0]])
    -1.0
    """

    name = "self-transport"
    describe = "half the entropic cost of transporting the law to itself, over the temperature"

    def __init__(self, A: Any, epsilon: float) -> None:
        self._given = {"A": listed(A, "A"), "epsilon": epsilon}
        self.A, self.epsilon = real_array(self._given["A"], "A"), positive_number(epsilon, "epsilon")
        if self.A.ndim != 2 or self.A.shape[0] != self.A.shape[1]:
            raise InputError(f"A has shape {self.A.shape}; give a square matrix")

    @property
    def model(self) -> EnergyModel:
        """The definition, of :mod:`symflow.models.energies`."""
        from symflow.models.energies.self_transport import SelfTransport

        return SelfTransport()

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return (
            r"F(\mu) = \frac{1}{2\varepsilon}\min_\pi\int -x^\top Ay\,d\pi(x,y)"
            r" + \varepsilon\,\mathrm{KL}(\pi\,|\,\mu\otimes\mu)"
        )

    def first_variation(self, x: Any, at: Any, weights: Any = None) -> tuple[Array, Array]:
        """Return δF/δμ = (a + b)/2 in the potentials a and b, and its gradient, at points.

        Parameters and errors are those of the base class; an iteration that has not met its stopping rule is
        refused as well.
        """
        atoms, points = points_and_atoms(x, at)
        scaling = self._scaling(atoms, law_weights(weights, len(atoms)))
        potentials, images = scaling.at(points)
        return 0.5 * (potentials[0] + potentials[1]), -0.5 * (
            images[0] @ self._score.T + images[1] @ self._score
        )

    @property
    def _score(self) -> Array:
        return np.asarray(self.A / self.epsilon)

    def _scaling(self, atoms: Array, weights: Array) -> Scaling:
        if atoms.shape[1] != len(self.A):
            raise InputError(f"A has {len(self.A)} columns, the tokens have {atoms.shape[1]} coordinates")
        return Scaling.of(self._score, atoms, weights)

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        equal = np.full(x.shape[1], 1.0 / x.shape[1])
        values = np.array([self._scaling(cloud, equal).cost / 2 for cloud in x])
        with np.errstate(divide="ignore"):
            return np.sign(values), np.log(np.abs(values))

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        gradients = [self.first_variation(cloud, cloud)[1] / len(cloud) for cloud in x]
        return np.zeros(len(x)), np.stack(gradients)

    def score_bound(self, x: Array) -> float:
        """Return the norm of A/ε times the largest squared length of a token."""
        return float(np.linalg.norm(self._score, 2)) * largest_square(x)

    def __repr__(self) -> str:
        return f"SelfTransport(A={self.A.tolist()}, epsilon={self.epsilon!r})"
