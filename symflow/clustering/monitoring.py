"""The growth of an energy along a run, computed from tokens and velocities, with its rounding margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.clustering.pairs import tokens
from symflow.energies import Energy
from symflow.errors import InputError

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, repr=False)
class EnergyGrowth:
    r"""The derivative of an energy along the velocity, in units of the largest gradient.

    Attributes
    ----------
    rate : ndarray, (T,)
        :math:`dE/dt = \sum_i\langle\nabla_iE, v_i\rangle`, divided by exp(``log_scale``).
    margin : ndarray, (T,)
        What rounding may have changed in ``rate``.
    log_scale : ndarray, (T,)
        The logarithm of the unit, which may exceed the range of doubles.
    """

    rate: Array
    margin: Array
    log_scale: Array

    @property
    def smallest(self) -> tuple[int, float]:
        """Index and value of the smallest rate over its own gradients and velocities (a cosine, ≥ −1)."""
        index = int(np.argmin(self.rate))
        return index, float(self.rate[index])

    @property
    def increases(self) -> bool:
        """Whether the energy increases at every time, up to rounding."""
        return bool((self.rate >= -self.margin).all())

    @property
    def decreases(self) -> bool:
        """Whether the energy decreases at every time, up to rounding."""
        return bool((self.rate <= self.margin).all())

    @property
    def per_time(self) -> Array:
        """dE/dt in absolute terms.

        Raises
        ------
        InputError
            If it exceeds the range of doubles.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.rate * np.exp(self.log_scale)
        if not np.isfinite(values).all():
            raise InputError("dE/dt exceeds the range of doubles; use rate and log_scale")
        return np.asarray(values)

    def __repr__(self) -> str:
        index, value = self.smallest
        return f"<EnergyGrowth: smallest {value:.3g} ± {self.margin[index]:.1g} at output {index}>"


def energy_growth(energy: Energy, x: Any, velocity: Any, space: str = "sphere") -> EnergyGrowth:
    r"""Return dE/dt along given velocities.

    .. math:: \frac{dE}{dt} = \sum_i\langle\nabla_iE(x), v_i\rangle

    Along SA and USA with Q = K = V = I and β > 0 the interaction energy never decreases.

    Parameters
    ----------
    energy : Energy
        Of :mod:`symflow.energies`.
    x : array_like, (T, n, d) or (n, d)
        Tokens.
    velocity : array_like, of the same shape
        Their velocities, for example from a kernel.
    space : {"sphere", "euclidean"}
        Where the tokens live.

    Raises
    ------
    InputError
        If the shapes do not fit.

    References
    ----------
    GLPR23, Section 3.

    Examples
    --------
    >>> from symflow.energies import Interaction
    >>> growth = energy_growth(Interaction(1.0), [[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.5], [0.5, 0.0]])
    >>> growth.increases, growth.per_time.round(6).tolist()
    (True, [0.25])
    """
    if not isinstance(energy, Energy):
        raise InputError(f"energy must be one of symflow.energies, got {type(energy).__name__}")
    cloud, speed = tokens(x), tokens(velocity, "velocity")
    if cloud.shape != speed.shape or cloud.ndim > 3:
        raise InputError(f"x of shape {cloud.shape} and velocity of shape {speed.shape}: give (T, n, d) both")
    cloud, speed = (array.reshape(-1, *array.shape[-2:]) for array in (cloud, speed))
    log, plain = energy.log_gradient(cloud, "euclidean")
    projected = plain if space == "euclidean" else energy.log_gradient(cloud, space)[1]
    rate = np.einsum("bid,bid->b", projected, speed)
    sizes = np.linalg.norm(plain, axis=-1) * np.linalg.norm(speed, axis=-1)
    return EnergyGrowth(rate, _rounding(energy, cloud) * sizes.sum(axis=1), np.asarray(log))


def _rounding(energy: Energy, cloud: Array) -> float:
    """Return a bound on the relative error of the gradient: scores, their exponentials, sums over tokens."""
    n, d = cloud.shape[-2:]
    return float(_EPS * (energy.score_bound(cloud) * (d + 2.0) + float(n + 4 * d + 8)))
