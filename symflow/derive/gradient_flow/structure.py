r"""Gradient-flow structures: what is found about a model and an energy, as an argument with steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Identity, MatMul

from symflow.derive.derivation import Argument
from symflow.derive.gradient_flow.matching import Averages, Joined
from symflow.derive.gradient_flow.witness import NotGradient
from symflow.models.energies.statement import EnergyStatement


@dataclass(frozen=True)
class GradientFlow(Argument):
    r"""Why a velocity is the gradient of an energy for a weighted metric.

    .. math:: \Gamma_\mu(x) = M^{-1}g_\mu(x)^{-1}\,\nabla\frac{\delta F}{\delta\mu}(x), \qquad
              \langle v, w\rangle_\mu = \int\langle v, |M|w\rangle\,g_\mu\,d\mu

    with both sides projected on the sphere. It is the ascent of F where M is positive definite and the
    descent where M is negative definite.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    energy : EnergyStatement
        F.
    averages : Averages
        Velocity and first variation as averages over the tokens that are seen.
    joined : Joined
        The equations between parameters, and the matrices.
    sign : int
        1 for an ascent, −1 for a descent, 0 where that depends on the parameters.
    parameters : tuple of (str, value)
        Exact values for which the conditions were decided; empty for symbols.
    """

    energy: EnergyStatement
    averages: Averages
    joined: Joined
    sign: int
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def equations(self) -> tuple[tuple[Any, Any], ...]:
        """Equations between parameters under which the structure exists."""
        return self.joined.equations

    @property
    def invertible(self) -> tuple[Any, ...]:
        """Matrices that have to be invertible."""
        return self.joined.invertible

    @property
    def mobility(self) -> Any:
        """The inverse of M."""
        return self.joined.mobility

    @property
    def metric(self) -> Any:
        """M, which has to be symmetric and definite."""
        return self.joined.metric

    @property
    def weight(self) -> Any:
        """The kernel whose average over the tokens is g; None where g is one."""
        return self.averages.weight

    @property
    def is_wasserstein(self) -> bool:
        """Whether the metric is that of Wasserstein, up to a constant: g = 1 and M a multiple of I."""
        return self.weight is None and is_multiple_of_identity(self.metric)

    def __repr__(self) -> str:
        listed = ", ".join(f"{a} = {b}" for a, b in self.equations) or "none"
        return f"GradientFlow({self.statement.name} of {self.energy.name}: M = {self.metric}, needs {listed})"


@dataclass(frozen=True)
class NoGradientFlow(Argument):
    """Why a velocity is the gradient of an energy for no metric of the form of :class:`GradientFlow`.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    energy : EnergyStatement
    witness : NotGradient
        Laws of a few atoms that show it, for exact parameters.
    """

    energy: EnergyStatement
    witness: NotGradient

    def __repr__(self) -> str:
        return f"NoGradientFlow({self.statement.name} of {self.energy.name}: {self.witness})"


def is_multiple_of_identity(matrix: Any) -> bool:
    """Whether a matrix is written as a number times I."""
    if isinstance(matrix, Identity):
        return True
    return isinstance(matrix, MatMul) and isinstance(matrix.as_coeff_matrices()[1][-1], Identity)


def number_of(matrix: Any) -> Any:
    """Return c where the matrix is written as cI."""
    return matrix.as_coeff_matrices()[0] if isinstance(matrix, MatMul) else 1
