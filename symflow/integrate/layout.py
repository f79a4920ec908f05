"""How mean and covariance, or tokens, lie in the flat state of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from symflow.checking import Array
from symflow.integrate.backends import covariances, runtime
from symflow.integrate.gaussian import Gaussian, pivoted_cholesky


class Layout(Protocol):
    """A flat state of ``size`` numbers that stands for what a user sees."""

    @property
    def size(self) -> int:
        """Length of the state."""
        ...

    def seen(self, states: Array) -> tuple[Array, ...]:
        """Return what events and callbacks see of states (T, size), the time first in each array."""
        ...

    def tolerances(self, atol: Array) -> Array:
        """Return the absolute tolerance of each component from one per coordinate."""
        ...


class GaussianLayout(ABC):
    """A flat state that stands for mean and covariance."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Length of the state."""

    @abstractmethod
    def pack(self, initial: Gaussian) -> Array:
        """Return the state of a Gaussian."""

    @abstractmethod
    def factors(self, states: Array) -> tuple[Array, Array]:
        """Return means (T, d) and factors (T, d, r) of states (T, size)."""

    @abstractmethod
    def tolerances(self, atol: Array) -> Array:
        """Return the absolute tolerance of each component from one per coordinate."""

    def seen(self, states: Array) -> tuple[Array, Array]:
        """Return means (T, d) and covariances (T, d, d) of states (T, size); positions after the time."""
        means, factors = self.factors(states)
        return means, covariances(factors)


@dataclass(frozen=True)
class FactorLayout(GaussianLayout):
    """State (α, F) with ``Σ = FFᵀ``, F of ``d × r``; lower triangular where ``turned``."""

    d: int
    r: int
    turned: bool = False

    @property
    def size(self) -> int:
        """Length of the state."""
        return self.d * (1 + self.r)

    def pack(self, initial: Gaussian) -> Array:
        """Return the state of a Gaussian."""
        factor = np.zeros((self.d, self.r))
        factor[:, : initial.rank] = initial.factor()
        if self.turned:
            runtime().turn(factor)
        return np.concatenate([initial.mean, factor.reshape(-1)])

    def factors(self, states: Array) -> tuple[Array, Array]:
        """Return means (T, d) and factors (T, d, r) of states (T, size)."""
        means, rest = states[:, : self.d], states[:, self.d :]
        return means.copy(), np.ascontiguousarray(rest).reshape(-1, self.d, self.r)

    def tolerances(self, atol: Array) -> Array:
        """Return the tolerance of each component: a row of F has that of its coordinate."""
        return np.concatenate([atol, np.repeat(atol, self.r)])


@dataclass(frozen=True)
class MomentLayout(GaussianLayout):
    """State (α, Σ), for implicit methods, which want the Jacobian, and for noise.

    r columns hold a factor of Σ: without noise its initial rank, with noise d.
    """

    d: int
    r: int

    @property
    def size(self) -> int:
        """Length of the state."""
        return self.d * (1 + self.d)

    def pack(self, initial: Gaussian) -> Array:
        """Return the state of a Gaussian."""
        return np.concatenate([initial.mean, initial.cov.reshape(-1)])

    def factors(self, states: Array) -> tuple[Array, Array]:
        """Return means (T, d) and factors (T, d, r)."""
        sigma = states[:, self.d :].reshape(-1, self.d, self.d)
        factors = [pivoted_cholesky(0.5 * s + 0.5 * s.T, self.r) for s in sigma]
        return states[:, : self.d].copy(), np.array(factors).reshape(-1, self.d, self.r)

    def tolerances(self, atol: Array) -> Array:
        """Return the tolerance of each component."""
        return np.concatenate([atol, np.repeat(atol, self.d)])


@dataclass(frozen=True)
class ChainLayout(GaussianLayout):
    """State (α, F) along n positions: all means (n, d), then all factors (n, d, r)."""

    n: int
    d: int
    r: int

    @property
    def size(self) -> int:
        """Length of the state."""
        return self.n * self.d * (1 + self.r)

    def pack(self, initial: Gaussian) -> Array:
        """Return the state of a Gaussian with positions."""
        factor = np.zeros((self.n, self.d, self.r))
        factor[:, :, : initial.rank] = initial.factor()
        return np.concatenate([initial.mean.reshape(-1), factor.reshape(-1)])

    def factors(self, states: Array) -> tuple[Array, Array]:
        """Return means (T, n, d) and factors (T, n, d, r) of states (T, size)."""
        split = self.n * self.d
        means, rest = states[:, :split], states[:, split:]
        shape = (-1, self.n, self.d)
        return means.reshape(shape).copy(), np.ascontiguousarray(rest).reshape(*shape, self.r)

    def tolerances(self, atol: Array) -> Array:
        """Return the tolerance of each component: a row of F has that of its coordinate."""
        return np.concatenate([np.tile(atol, self.n), np.tile(np.repeat(atol, self.r), self.n)])
