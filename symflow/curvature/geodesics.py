"""Geodesics of spaces of laws as curves of numbers, with the energy along them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.curvature.cloud import Cloud
from symflow.curvature.gaussians import GaussianLaw, GaussianVariation
from symflow.curvature.second_variation import gaussian_at, second_variation, tokens_at
from symflow.curvature.tokens import TwistedTokens
from symflow.errors import InputError, IntegrationError

__all__ = ["Geodesic", "geodesic", "second_along"]

#: Relative and absolute errors of a step: fourth differences of energies along a curve need many digits.
_RTOL, _ATOL = 1e-12, 1e-14


@dataclass(frozen=True)
class Geodesic:
    """A geodesic at given times.

    Attributes
    ----------
    t : ndarray, (T,)
    x, v : ndarray, (T, n, d), or None
        Tokens and their velocities.
    mean, cov : ndarray, (T, d) and (T, d, d), or None
        Of Gaussian laws.
    mean_rate, cov_rate : ndarray, (T, d) and (T, d, d), or None
        Their derivatives.
    energy : ndarray, (T,)
        F along it.
    """

    t: Array
    energy: Array
    x: Array | None = None
    v: Array | None = None
    mean: Array | None = None
    cov: Array | None = None
    mean_rate: Array | None = None
    cov_rate: Array | None = None


def geodesic(
    energy: Any,
    metric: str,
    at: Any,
    v: Any,
    times: Any,
    weights: Any = None,
    *,
    V: Any = None,
    A: Any = None,
) -> Geodesic:
    """Return the geodesic through a law with a given velocity, and the energy along it.

    Parameters
    ----------
    energy, metric, at, weights, V, A
        As for :func:`~symflow.curvature.second_variation.second_variation`. A Gaussian law has Bures
        geodesics only: twisted ones leave the Gaussian laws.
    v : array_like, (n, d); or derivatives of mean and covariance
        Velocity at time zero.
    times : array_like, (T,)
        Any order and sign.

    Raises
    ------
    InputError
        As for ``second_variation``, and for twisted geodesics of a Gaussian law.
    IntegrationError
        If a twisted geodesic ends before a time.

    Examples
    --------
    >>> from symflow.energies import Exponential
    >>> geodesic(Exponential([[-1.0]], [[1.0]]), "wasserstein", [[0.0]], [[1.0]], [0.0, 2.0]).x[:, 0, 0]
    array([0., 2.])
    """
    t = real_array(times, "times")
    if t.ndim != 1:
        raise InputError(f"times has shape {t.shape}; give a row of times")
    if hasattr(at, "mean") and hasattr(at, "cov"):
        if metric == "twisted":
            raise InputError("twisted geodesics leave the Gaussian laws; give tokens")
        return _bures(*gaussian_at(energy, metric, at, weights, V, A), v, t)
    tokens, twisted = tokens_at(energy, metric, at, weights, V, A)
    cloud = _floats(tokens.cloud)
    velocity = real_array(v, "v")
    if velocity.shape != cloud.tokens.shape:
        raise InputError(f"v has shape {velocity.shape}; give {cloud.tokens.shape}, as the tokens")
    if twisted is None:
        x, moving = cloud.tokens + t[:, None, None] * velocity, np.tile(velocity, (len(t), 1, 1))
    else:
        x, moving = _twisted(TwistedTokens(twisted.twist, cloud), velocity, t)
    floats = type(tokens)(tokens.statement, tokens.parameters, cloud)
    return Geodesic(t, np.array([floats.value_at(now) for now in x]), x=x, v=moving)


def second_along(
    energy: Any, metric: str, path: Geodesic, weights: Any = None, *, V: Any = None, A: Any = None
) -> Array:
    """Return the second derivative of the energy along a geodesic, at each of its times.

    Parameters
    ----------
    energy, metric, weights, V, A
        Those of the geodesic.
    path : Geodesic

    Returns
    -------
    ndarray, (T,)
        From the second variation at every law; energies along the path are not used.

    Examples
    --------
    >>> from symflow.energies import Pairwise
    >>> bowl = Pairwise("norm2(x - y)")
    >>> path = geodesic(bowl, "wasserstein", [[0.0], [1.0]], [[1.0], [0.0]], [0.0, 0.5])
    >>> second_along(bowl, "wasserstein", path)
    array([0.5, 0.5])
    """
    if path.x is not None and path.v is not None:
        places = zip(path.x, path.v, strict=True)
        values = [second_variation(energy, metric, x, weights, V=V, A=A).form(v) for x, v in places]
    else:
        assert path.mean is not None and path.cov is not None
        assert path.mean_rate is not None and path.cov_rate is not None
        laws = zip(path.mean, path.cov, path.mean_rate, path.cov_rate, strict=True)
        values = [
            second_variation(energy, metric, _Law(mean, cov), V=V, A=A).form((rate, spread))
            for mean, cov, rate, spread in laws
        ]
    return np.array([float(value) for value in values])


@dataclass(frozen=True, eq=False)
class _Law:
    """N(mean, cov)."""

    mean: Array
    cov: Array


def _floats(cloud: Cloud) -> Cloud:
    return Cloud(cloud.tokens.astype(float), cloud.weights.astype(float))


def _twisted(twisted: TwistedTokens, velocity: Array, t: Array) -> tuple[Array, Array]:
    """Return tokens and velocities at the times."""
    from scipy.integrate import solve_ivp

    start, shape = np.stack([twisted.cloud.tokens, velocity]), velocity.shape

    def rhs(_: float, state: Array) -> Array:
        x, v = state.reshape(2, *shape)
        return np.stack([v, twisted.acceleration(x, v)]).reshape(-1)

    found = np.empty((2, len(t), *shape))
    for sign in (-1.0, 1.0):
        side = np.flatnonzero(t < 0 if sign < 0 else t >= 0)
        if not side.size:
            continue
        stops, places = np.unique(np.abs(t[side]), return_inverse=True)
        end = sign * stops[-1]
        if end == 0.0:
            found[:, side] = start[:, None]
            continue
        run = solve_ivp(
            rhs, (0.0, end), start.reshape(-1), "DOP853", t_eval=sign * stops, rtol=_RTOL, atol=_ATOL
        )
        if not run.success:
            raise IntegrationError(f"the geodesic ends before t = {end:g}: {run.message}")
        found[:, side] = run.y.T.reshape(len(stops), 2, *shape)[places].swapaxes(0, 1)
    return found[0], found[1]


def _bures(variation: GaussianVariation, law: GaussianLaw, v: Any, t: Array) -> Geodesic:
    """Return α(t) = α + ta, Σ(t) = (I + tS)Σ(I + tS), exactly before the values are rounded."""
    drift, S = variation.tangent(v)
    mean, cov = (np.array(part, dtype=object) for part in (law.mean, law.cov))
    a, slope = np.array(drift, dtype=object), np.array(S, dtype=object)
    unit = np.array([[Fraction(int(i == j)) for j in range(law.size)] for i in range(law.size)], dtype=object)
    means, covs, rates, values = [], [], [], []
    for now in t:
        time = Fraction(float(now))
        moved = unit + time * slope
        place, spread = mean + time * a, moved @ cov @ moved
        means.append(place[:, 0].astype(float))
        covs.append(spread.astype(float))
        half = slope @ cov @ moved
        rates.append((half + half.T).astype(float))
        values.append(float(variation.energy_at(place.tolist(), spread.tolist())))
    steady = np.tile(a[:, 0].astype(float), (len(t), 1))
    return Geodesic(
        t,
        np.array(values),
        mean=np.array(means),
        cov=np.array(covs),
        mean_rate=steady,
        cov_rate=np.array(rates),
    )
