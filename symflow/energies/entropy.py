"""Entropy of a law."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from symflow.checking import Array
from symflow.energies.energy import Energy
from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.models.energies.model import EnergyModel


class Entropy(Energy):
    r"""Negative differential entropy; infinite for tokens, which are therefore refused.

    .. math:: F(\mu) = \int\log\frac{d\mu}{dx}\,d\mu, \qquad
              F(\mathcal N(\alpha, \Sigma)) = -\tfrac12\log\det(2\pi e\Sigma)

    References
    ----------
    CACP25.

    Examples
    --------
    >>> round(Entropy().on_gaussian([0.0], [[1.0]]).value, 6)
    -1.418939
    """

    name = "entropy"
    describe = "the mean of the logarithm of the density, infinite for tokens"

    def __init__(self) -> None:
        self._given = {}

    @property
    def model(self) -> EnergyModel:
        """The definition, of :mod:`symflow.models.energies`."""
        from symflow.models.energies.entropy import Entropy

        return Entropy()

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"F(\mu) = \int\log\frac{d\mu}{dx}\,d\mu"

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        _refuse()

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        _refuse()

    def score_bound(self, x: Array) -> float:
        """Return zero: no exponential is taken."""
        return 0.0

    def __repr__(self) -> str:
        return "Entropy()"


def _refuse() -> NoReturn:
    raise InputError("the entropy of finitely many tokens is +∞: their law has no density; give a Gaussian")
