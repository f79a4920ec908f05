r"""The law of one token in common noise, without attention: Brownian motion on the sphere.

Its generator is :math:`\tfrac12\kappa(1)\Delta`. Spherical harmonics of degree k are eigenfunctions of Δ with
the eigenvalue −k(k + d − 2), so that the mean of a Gegenbauer polynomial, normalised to 1 at 1, of the cosine
with the start is

.. math:: E\,P_k(\langle x(0), x(t)\rangle) = e^{-\kappa(1)k(k+d-2)t/2}, \qquad
          E\,x(t) = e^{-\kappa(1)(d-1)t/2}\,x(0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from symflow.checking import Array
from symflow.errors import InputError
from symflow.noise.pair import Field

_TERMS = 2000
_TINY = 1e-17


@dataclass(frozen=True)
class OnePointLaw:
    """The law of a token that starts at a point, as that of its cosine c with the start.

    Attributes
    ----------
    noise : Field
        κ and the dimension d ≥ 2.

    Examples
    --------
    >>> class White:
    ...     dim = 3
    ...     def kappa(self, u): return 1.0 + 0.0 * u
    >>> round(float(OnePointLaw(White()).mean(1.0)), 6)
    0.367879
    """

    noise: Field

    @property
    def rate(self) -> float:
        """κ(1), the speed of the Brownian motion."""
        return float(self.noise.kappa(1.0))

    def harmonic(self, degree: int, t: Any) -> Array:
        """Return the mean of the normalised Gegenbauer polynomial of this degree of c at times t."""
        if isinstance(degree, bool) or not isinstance(degree, int) or degree < 0:
            raise InputError(f"degree = {degree!r}; give an integer ≥ 0")
        exponent = degree * (degree + int(self.noise.dim) - 2)
        return np.exp(-0.5 * self.rate * exponent * np.asarray(t, dtype=float))

    def mean(self, t: Any) -> Array:
        """Return E c at times t: the mean of the token is this multiple of its start."""
        return self.harmonic(1, t)

    def second_moment(self, t: Any) -> Array:
        """Return E c², from P₂(c) = (dc² − 1)/(d − 1)."""
        d = int(self.noise.dim)
        return (1.0 + (d - 1) * self.harmonic(2, t)) / d

    def density(self, c: Any, t: float) -> Array:
        """Return the density of c at a time t > 0, by its series in Gegenbauer polynomials.

        Raises
        ------
        InputError
            If t is not positive, or so small that the series is not summed to rounding.
        """
        d, points = int(self.noise.dim), np.asarray(c, dtype=float)
        time = 0.5 * self.rate * float(t)
        if not time * _TERMS**2 > -np.log(_TINY):
            raise InputError(f"t = {t}: the series needs a time above {80.0 / (self.rate * _TERMS**2):.1e}")
        total, before, here = np.ones_like(points), np.ones_like(points), points
        for k in range(1, _TERMS):
            if (weight := _multiplicity(k, d) * np.exp(-k * (k + d - 2) * time)) < _TINY and k > d:
                break
            total = total + weight * here
            before, here = here, ((2 * k + d - 2) * points * here - k * before) / (k + d - 2)
        return np.asarray(total * _uniform_density(points, d))


def _multiplicity(k: int, d: int) -> float:
    """Return the dimension of the harmonics of degree k."""
    if d == 2:
        return 2.0
    return float((2 * k + d - 2) / (d - 2) * np.exp(gammaln(k + d - 2) - gammaln(d - 2) - gammaln(k + 1)))


def _uniform_density(c: Array, d: int) -> Array:
    """Return the density of the cosine of a uniform token with a fixed one."""
    constant = np.exp(gammaln(0.5 * d) - gammaln(0.5 * (d - 1))) / np.sqrt(np.pi)
    with np.errstate(divide="ignore"):
        return np.asarray(constant * (1.0 - c**2) ** (0.5 * (d - 3)))
