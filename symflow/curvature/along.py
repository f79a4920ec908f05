"""Second derivatives along geodesics: how they are held in floats, and exactly over a common denominator."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from symflow.checking import real_array
from symflow.curvature.atoms import Numbers
from symflow.curvature.exact import together
from symflow.curvature.form import SecondOrder, Signature, inner, to_sympy
from symflow.curvature.tokens import TokenEnergy, TwistedTokens
from symflow.errors import InputError

__all__ = ["SecondVariation", "exact_tokens", "float_tokens"]


class SecondVariation(SecondOrder):
    r"""The second derivative of an energy along geodesics, beside the metric.

    .. math:: \text{form}(v) = \frac{d^2}{dt^2}\Big|_{t=0} F(\mu_t),\qquad \text{metric}(v) = g_\mu(v, v)

    ``form(v)/metric(v)`` is the second derivative per unit speed.
    """

    def eigenvalues(self, relative: str = "coordinates") -> list[Any]:
        r"""Return eigenvalues, ascending, with multiplicity.

        Parameters
        ----------
        relative : {"coordinates", "metric"}
            Of :attr:`matrix`, that is with respect to the sum of the squared coordinates; or with respect to
            the metric: the stationary values of ``form(v)/metric(v)``. Their signs are the same.

        Raises
        ------
        InputError
            If ``relative`` is neither.
        """
        if relative == "metric":
            return super().eigenvalues()
        if relative != "coordinates":
            raise InputError(f"relative = {relative!r} is unknown; use 'coordinates' or 'metric'")
        gram = None if self.frame is None else _unit(self.size, self.exact)
        return SecondOrder(self.entries, self.shape, gram=gram, frame=self.frame).eigenvalues()


def _unit(size: int, exact: bool) -> Any:
    return tuple(tuple(int(i == j) for j in range(size)) for i in range(size)) if exact else np.eye(size)


def _finite(value: Any) -> Any:
    """Return floats, or refuse those that exceed the doubles."""
    if not np.isfinite(value).all():
        raise InputError(
            "the second derivative or the metric exceeds the range of doubles at these tokens; give them and "
            "the weights as integers or fractions for an exact result"
        )
    return value


class _MatrixFree(SecondVariation):
    """In floats, with matrices that are put together only if they are asked for."""

    _energy: TokenEnergy
    _twisted: TwistedTokens | None

    def __init__(self, energy: TokenEnergy, twisted: TwistedTokens | None) -> None:
        given = {"shape": energy.cloud.tokens.shape, "frame": None, "points": None}
        for name, value in {**given, "_energy": energy, "_twisted": twisted}.items():
            object.__setattr__(self, name, value)

    @property
    def exact(self) -> bool:
        """Whether the entries are exact: they are not."""
        return False

    @property
    def size(self) -> int:
        """The number of coordinates of a vector."""
        return int(np.prod(self.shape))

    @cached_property
    def entries(self) -> Numbers:
        """The matrix of the form."""
        with np.errstate(over="ignore", invalid="ignore"):
            weights, entries = self._energy.cloud.weights, self._energy.entries()
            if self._twisted is not None:
                share = weights / self._twisted.kernel.density(weights)
                entries = entries + self._twisted.correction(self._energy.slope, share)
        return np.asarray(_finite(_square(entries)))

    @cached_property
    def gram(self) -> Numbers:
        """The matrix of the metric."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(_finite(_square(_gram(self._energy, self._twisted))))

    def form(self, v: Any) -> float:
        """Return the second derivative along the geodesic with velocity v, without the matrix."""
        velocity = self._velocity(v)
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._energy.straight(velocity)
            if self._twisted is not None:
                cloud = self._energy.cloud
                bent = self._twisted.acceleration(cloud.tokens, velocity)
                value += float(cloud.weights @ np.einsum("ia,ia->i", self._energy.slope, bent))
        return float(_finite(value))

    def metric(self, v: Any) -> float:
        """Return the squared length of v, without the matrix."""
        velocity = self._velocity(v)
        if self._twisted is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                return float(_finite(self._twisted.square(velocity)))
        return float(self._energy.cloud.weights @ np.einsum("ia,ia->i", velocity, velocity))

    def _velocity(self, v: Any) -> Numbers:
        array = real_array(v, "v")
        self._refuse_shape(array.shape)
        return array.reshape(self.shape)


class _OverCommon(SecondVariation):
    """Exact, with one positive denominator of all entries, so that nothing is divided before it has to be."""

    _numerators: Any
    _common: Any

    def __init__(self, numerators: Any, common: Any, shape: tuple[int, ...], gram: Any) -> None:
        given = {"shape": shape, "gram": gram, "frame": None, "points": None}
        for name, value in {**given, "_numerators": numerators, "_common": common}.items():
            object.__setattr__(self, name, value)

    @property
    def exact(self) -> bool:
        """Whether the entries are exact: they are."""
        return True

    @property
    def size(self) -> int:
        """The number of coordinates of a vector."""
        return len(self._numerators)

    @cached_property
    def entries(self) -> Any:
        """The matrix of the form."""
        return tuple(tuple(entry / self._common for entry in row) for row in self._numerators)

    def form(self, v: Any) -> Any:
        """Return the second derivative along the geodesic with velocity v."""
        vector = self._vector(v)
        if isinstance(vector, np.ndarray):
            return float(self._evaluated(self._numerators, v) / float(self._common))
        (*rows, (common,)), vector = together((*self._numerators, (self._common,)), vector)
        return to_sympy(inner(vector, [inner(row, vector) for row in rows]) / common)

    def signature(self, tolerance: float | None = None) -> Signature:
        """Return how many eigenvalues are negative, zero and positive, decided exactly."""
        return SecondOrder(self._numerators, self.shape).signature(tolerance)


def float_tokens(energy: TokenEnergy, twisted: TwistedTokens | None) -> SecondVariation:
    """Return the second variation at tokens in floats."""
    return _MatrixFree(energy, twisted)


def exact_tokens(energy: TokenEnergy, twisted: TwistedTokens | None) -> SecondVariation:
    """Return the second variation at exact tokens."""
    shape, gram = energy.cloud.tokens.shape, _rows(_square(_gram(energy, twisted)))
    if twisted is None:
        return SecondVariation(_rows(_square(energy.entries())), shape, gram=gram)
    share, common = _shares(energy.cloud.weights, twisted.kernel.density(energy.cloud.weights))
    numerators = common * energy.entries() + twisted.correction(energy.slope, share)
    return _OverCommon(_rows(_square(numerators)), common, shape, gram)


def _shares(weights: Numbers, densities: Numbers) -> tuple[Numbers, Any]:
    """Return w_i times the product of the other densities, and the product of those that differ."""
    distinct: list[Any] = []
    for density in densities:
        if density not in distinct:
            distinct.append(density)
    share = np.empty(len(weights), dtype=object)
    for i, (weight, density) in enumerate(zip(weights, densities, strict=True)):
        share[i] = weight
        for other in distinct:
            if other != density:
                share[i] = share[i] * other
    common: Any = distinct[0]
    for other in distinct[1:]:
        common = common * other
    return share, common


def _gram(energy: TokenEnergy, twisted: TwistedTokens | None) -> Numbers:
    if twisted is not None:
        return twisted.gram()
    tokens, weights = energy.cloud.tokens, energy.cloud.weights
    n, d = tokens.shape
    entries = np.zeros((n, d, n, d), dtype=tokens.dtype)
    for i, a in np.ndindex(n, d):
        entries[i, a, i, a] = weights[i]
    return entries


def _square(entries: Numbers) -> Numbers:
    size = entries.shape[0] * entries.shape[1]
    return entries.reshape(size, size)


def _rows(entries: Numbers) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in entries)
