r"""The cosine of two tokens in common noise, without attention: a diffusion on [−1, 1].

:math:`u = \langle X, Y\rangle` has the generator :math:`Lf = G_0f' + G_1f''`. Both coefficients are read off
the derivation (:func:`symflow.derive.noise.pair_generator`), nothing is typed in twice. The end u = 1, where
tokens meet, is not reached in finite time; the natural coordinate there is

.. math:: s = \log\frac{1+u}{1-u},

whose drift and noise stay bounded: :math:`-s` is the logarithm of a quarter of the squared distance in the
limit, whose mean slope there is twice the Lyapunov exponent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from symflow.checking import Array, real_array, real_number
from symflow.errors import InputError


class Field(Protocol):
    """An isotropic Gaussian field on the sphere, white in time, such as `symflow.CommonNoise`."""

    @property
    def dim(self) -> int:
        """The size d of tokens."""
        ...

    def kappa(self, u: Any) -> Any:
        """Return the covariance of one coordinate at two points with the cosine ``u``."""
        ...


@dataclass(frozen=True)
class PairCoefficients:
    """Coefficients of the cosine of two tokens, as numbers.

    Attributes
    ----------
    noise : Field
        κ and the dimension.
    """

    noise: Field

    def drift(self, u: Any) -> Array:
        """Return G₀ at cosines in [−1, 1]."""
        return self._values(u)[0]

    def diffusion(self, u: Any) -> Array:
        """Return G₁ at cosines in [−1, 1]."""
        return self._values(u)[1]

    def logit(self, s: Any) -> tuple[Array, Array]:
        """Return drift a and half the squared noise b of s = log((1 + u)/(1 − u)), at values of s."""
        u = np.tanh(0.5 * np.asarray(s, dtype=float))
        return self._values(u, logit=True)

    def _values(self, u: Any, *, logit: bool = False) -> tuple[Array, Array]:
        points = np.asarray(u, dtype=float)
        size, at_one = int(self.noise.dim), float(self.noise.kappa(1.0))
        function = _functions()[1 if logit else 0]
        first, second = function(points, np.asarray(self.noise.kappa(points)), at_one, size)
        return np.broadcast_to(first, points.shape) + 0.0, np.broadcast_to(second, points.shape) + 0.0


@functools.cache
def _functions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return (G₀, G₁), and the coefficients of s, as functions of u, κ(u), κ(1), d."""
    from sympy import Symbol, diff, factor, lambdify, log

    from symflow.derive.noise.limits import generator
    from symflow.derive.noise.pair import pair_generator
    from symflow.derive.noise.symbols import COSINE, SIZE, kappa

    found = pair_generator()
    coordinate = log(1 + COSINE) - log(1 - COSINE)
    slope = factor(diff(coordinate, COSINE))
    moved = factor(generator(coordinate, found.drift, found.diffusion)), factor(found.diffusion * slope**2)
    names = (COSINE, Symbol("_here"), Symbol("_one"), SIZE)
    given = {kappa(COSINE): names[1], kappa(1): names[2]}
    pairs = ((found.drift, found.diffusion), moved)
    first, second = (lambdify(names, [part.subs(given) for part in pair], modules="numpy") for pair in pairs)
    return first, second


@dataclass(frozen=True, eq=False)
class PairPaths:
    r"""Paths of the angle of two tokens.

    Attributes
    ----------
    t : ndarray, (T,)
    angle : ndarray, (paths, T)
        θ = arccos u, in [0, π], relatively accurate where tokens have almost met.
    """

    t: Array
    angle: Array

    @property
    def u(self) -> Array:
        """Cosines, (paths, T)."""
        return np.asarray(np.cos(self.angle))

    @property
    def log_distance(self) -> Array:
        """½ log(1 − u), (paths, T)."""
        return np.asarray(np.log(np.sin(0.5 * self.angle)) + 0.5 * np.log(2.0))


def pair_paths(
    noise: Field, start: float, times: Any, *, dt: float, paths: int, rng: int | np.random.Generator
) -> PairPaths:
    r"""Simulate the cosine of two tokens by moving the tokens themselves along great circles.

    .. math:: X \leftarrow \cos|\xi|\,X + \frac{\sin|\xi|}{|\xi|}\,\xi, \qquad \xi = \sqrt hP_XG(X), \qquad
              \mathrm{Cov}(G(x), G(y)) = \kappa(\langle x, y\rangle)I

    This is Euler's scheme on the sphere, of weak order 1; u stays in [−1, 1] by construction, and an angle of
    zero stays zero. Only the plane of X and Y and the Gram matrix of what leaves it matter, and the latter is
    a Wishart matrix (Bartlett), so that a step costs the same in every dimension. Normalising X + ξ instead,
    as layers do, has the same order with a much larger error.

    Parameters
    ----------
    noise : Field
        κ and the dimension d ≥ 2.
    start : float
        u at t = 0, in [−1, 1].
    times : array_like, (T,)
        Where the paths are kept: increasing, ≥ 0.
    dt : float
        Largest step h; between two times there are equal ones.
    paths : int
        How many.
    rng : int or numpy.random.Generator

    Returns
    -------
    PairPaths

    Raises
    ------
    InputError
        If the start is no cosine, times decrease, or the step or the number of paths is not positive.

    References
    ----------
    ABGSR26; Bartlett, On the theory of statistical regression, 1933.
    """
    grid = output_times(times)
    first, step = cosine(start, "start"), real_number(dt, "dt")
    if step <= 0.0:
        raise InputError(f"dt = {step}; give a positive step")
    if isinstance(paths, bool) or not isinstance(paths, int) or paths < 1:
        raise InputError(f"paths = {paths!r}; give a positive integer")
    generator = np.random.default_rng(rng)
    angle, kept, now = np.full(paths, np.arccos(first)), [], 0.0
    for end in grid:
        count = int(np.ceil((end - now) / step - 1e-9)) if end > now else 0
        for _ in range(count):
            angle = _moved(noise, angle, (end - now) / count, generator)
        kept.append(angle)
        now = float(end)
    return PairPaths(grid, np.stack(kept, axis=1))


def _moved(noise: Field, angle: Array, step: float, rng: np.random.Generator) -> Array:
    """Return the angles after one step of tokens at (1, 0, 0) and (cos θ, sin θ, 0)."""
    u, sine = np.cos(angle), np.sin(angle)
    one = float(noise.kappa(1.0))
    here = np.asarray(noise.kappa(u))
    lost = np.maximum(one - u * here, 0.0) / one  # of the correlation of both moves within the plane
    scale = np.sqrt(step * one)
    normal = rng.standard_normal((3, len(angle)))
    own = scale * normal[0]
    apart = scale * (np.sqrt(lost * np.maximum(2.0 - lost, 0.0)) * normal[1] - lost * normal[0])
    other = own + apart
    gram = _leaving(noise, here / one, step * one, normal[2], rng)
    (stay, go), (stay_y, go_y) = _turn(own**2 + gram[0]), _turn(other**2 + gram[0] + 2.0 * gram[1] + gram[2])
    along, across = stay_y * u - go_y * other * sine, stay_y * sine + go_y * other * u
    difference = (along - stay) ** 2 + (across - go * own) ** 2 + _square(gram, go_y - go, go_y)
    total = (along + stay) ** 2 + (across + go * own) ** 2 + _square(gram, go_y + go, go_y)
    return np.asarray(2.0 * np.arctan2(np.sqrt(difference), np.sqrt(total)))


def _turn(square: Array) -> tuple[Array, Array]:
    """Return cos r and sin r / r, from r²."""
    r = np.sqrt(square)
    return np.cos(r), np.sinc(r / np.pi)


def _square(gram: tuple[Array, Array, Array], own: Array, rest: Array) -> Array:
    """Return the square of own·ξ + rest·(η − ξ)."""
    return np.asarray(np.maximum(own**2 * gram[0] + 2.0 * own * rest * gram[1] + rest**2 * gram[2], 0.0))


def _leaving(
    noise: Field, ratio: Array, variance: float, normal: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return |ξ|², ⟨ξ, η − ξ⟩ and |η − ξ|² of the moves ξ and η of both tokens out of their plane."""
    count, zeros = int(noise.dim) - 2, np.zeros_like(ratio)
    if count == 0:
        return zeros, zeros, zeros
    first = variance * rng.chisquare(count, len(ratio))
    rest = variance * rng.chisquare(count - 1, len(ratio)) if count > 1 else zeros
    lost = 1.0 - ratio
    other = np.sqrt(np.maximum(lost * (1.0 + ratio), 0.0))
    root, cross = np.sqrt(first), np.sqrt(variance) * normal
    difference = -lost * root + other * cross
    return first, root * difference, difference**2 + other**2 * rest


def output_times(times: Any) -> Array:
    """Return increasing times that are not negative."""
    grid = np.atleast_1d(real_array(times, "times"))
    if grid.ndim != 1 or not grid.size:
        raise InputError(f"times has shape {grid.shape}; give (T,), T ≥ 1")
    if grid[0] < 0.0 or (np.diff(grid) <= 0.0).any():
        raise InputError("times must increase and not be negative")
    return grid


def cosine(value: Any, name: str) -> float:
    """Return a cosine as a float."""
    number = real_number(value, name)
    if abs(number) > 1.0:
        raise InputError(f"{name} = {number} is no cosine; give a number in [-1, 1]")
    return number
