r"""Tokens: the definition for empirical laws, averaged over clouds, with a standard error from replicates.

An estimate from n tokens has a bias of order 1/n, because its weights are normalised, or scaled, with the
same tokens. Each cloud is also cut into halves; twice the estimate of the cloud less the mean of its halves'
has a bias of order 1/n².
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from symflow.models.statement import Statement
from symflow.verify.definition import Velocity, drift_from, mixed_part, slope_and_tilt, square_root
from symflow.verify.evaluate import Batched
from symflow.verify.measures import cloud, together, velocity
from symflow.verify.places import Place, Term, gathered, integrals, places
from symflow.verify.points import Point

Array = NDArray[np.float64]

#: Probability that a correct kernel fails one comparison, were the seed drawn afresh.
FAILURE_PROBABILITY = 1e-6
REPLICATES = 24
#: Tokens per cloud and position: a scaling looks at all pairs, a plain or normalised sum at each token.
TOKENS, SCALED_TOKENS = 2000, 256
#: Particles that move, Euler–Maruyama steps of the coarse run, and the tokens that the noise is tested with.
PARTICLES, STEPS = 256, 2


def drift_of_tokens(statement: Statement, point: Point, rng: Any) -> list[Array]:
    """Return α' and Σ' of every replicate, one array (replicates, …) per state."""
    terms = integrals(statement, point.params, point.sizes)
    at = places(statement, point)
    count = SCALED_TOKENS if any(t.head.normalise == "sinkhorn" for t in terms) else TOKENS
    noise = _noise(statement, point)

    def estimate(clouds: Array) -> list[Array]:
        found = []
        for s, place in enumerate(at):
            field = _field(statement, terms, point, place, clouds[: s + 1])
            found.append(drift_from(place, field, noise)[:2])
        return [gathered(statement, [pair[k] for pair in found]) for k in (0, 1)]

    return _replicated(lambda: _less_biased(estimate, _draw(at, count, rng)))


def moments_of_particles(statement: Statement, point: Point, end: float, rng: Any) -> list[Array]:
    r"""Return mean and covariance at time ``end`` of every replicate of an interacting system with noise.

    .. math:: X_{m+1} = X_m + h\,\Gamma_{\hat\mu_m}(X_m) + \sqrt{2\varepsilon h}\,\xi_m

    Euler–Maruyama, extrapolated from steps h and h/2 with the same increments.
    """
    terms = integrals(statement, point.params, point.sizes)
    at = places(statement, point)
    scale = np.sqrt(2 * _noise(statement, point) * end / (2 * STEPS))

    def moments(start: Array, increments: Array) -> list[Array]:
        clouds, step = start, end / len(increments)
        for added in increments:
            fields = [_field(statement, terms, point, p, clouds[: s + 1]) for s, p in enumerate(at)]
            clouds = clouds + step * np.stack([f(c)[0] for f, c in zip(fields, clouds, strict=True)]) + added
        covariances = [np.atleast_2d(np.cov(c.T)) for c in clouds]
        return [gathered(statement, list(part)) for part in (clouds.mean(axis=1), covariances)]

    def extrapolated(start: Array, fine: Array) -> list[Array]:
        runs = moments(start, fine), moments(start, fine[::2] + fine[1::2])
        return [2 * finer - coarser for finer, coarser in zip(*runs, strict=True)]

    def replicate() -> list[Array]:
        start = _draw(at, PARTICLES, rng)
        return _less_biased(extrapolated, start, scale * rng.normal(size=(2 * STEPS, *start.shape)))

    return _replicated(replicate)


def _less_biased(estimate: Callable[..., list[Array]], *arrays: Array) -> list[Array]:
    """Return twice an estimate less the mean of those of both halves of the tokens, the last axis but one."""
    parts = [estimate(*(a[..., part, :] for a in arrays)) for part in (np.s_[::2], np.s_[1::2])]
    return [2 * whole - (a + b) / 2 for whole, a, b in zip(estimate(*arrays), *parts, strict=True)]


def _replicated(replicate: Callable[[], list[Array]]) -> list[Array]:
    return [np.stack(state) for state in zip(*(replicate() for _ in range(REPLICATES)), strict=True)]


def standard_errors(estimates: list[Array], expected: tuple[Array, ...], floor: float) -> tuple[float, int]:
    """Return the largest distance from the mean of the replicates in standard errors, and how many numbers.

    ``floor`` is what rounding leaves of the error of a number that does not depend on the tokens.
    """
    worst, count = 0.0, sum(np.size(value) for value in expected)
    for replicates, value in zip(estimates, expected, strict=True):
        error = np.maximum(replicates.std(axis=0, ddof=1) / np.sqrt(len(replicates)), floor)
        gap = np.abs(replicates.mean(axis=0) - value)
        off = gap != 0.0  # also where it is not a number
        if not np.isfinite(gap).all() or not error[off].all():
            return float("inf"), count
        worst = max(worst, float(np.max(gap[off] / error[off], initial=0.0)))
    return worst, count


def bound(numbers: int) -> float:
    """Return how many standard errors one of ``numbers`` exceeds with :data:`FAILURE_PROBABILITY`."""
    return float(student.isf(FAILURE_PROBABILITY / (2 * numbers), REPLICATES - 1))


def with_useful_variance(statement: Statement, point: Point, count: int = TOKENS) -> Point:
    r"""Shrink mean and covariance until estimates from ``count`` tokens have a useful variance.

    Where weights are normalised, to :math:`e^{|\Sigma^{1/2}\nabla_ys(\alpha,\alpha)|^2} \le` count/100 and
    to :math:`\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1/4`, so that the weights have a fourth moment;
    where they are doubly stochastic, to :math:`\|\Sigma^{1/2}B\Sigma^{1/2}\| \le 1`, so that the scaling
    converges in some dozens of iterations.
    """
    terms = integrals(statement, point.params, point.sizes)
    while not all(_useful(statement, t, point, p, count) for t in terms for p in places(statement, point)):
        mean, cov = point.state
        point = Point(point.name, point.sizes, (mean / 2, cov / 2), point.params)
    return point


def _useful(statement: Statement, term: Term, point: Point, place: Place, count: int) -> bool:
    if term.head.normalise == "softmax":
        slope, tilt = slope_and_tilt(statement, term, point.sizes, place.own)
        return bool(slope <= np.log(count / 100) and tilt < 0.25)
    if term.head.normalise == "sinkhorn":
        root = square_root(place.own.cov)
        mixed = mixed_part(statement, term, point.sizes, len(root))
        return bool(np.linalg.norm(root.T @ mixed @ root, 2) <= 1.0)
    return True


def _field(
    statement: Statement, terms: tuple[Term, ...], point: Point, place: Place, clouds: Array
) -> Velocity:
    law = together([cloud(c) for c in clouds], [law.weight for law in place.laws])
    return lambda x: velocity(statement, terms, point.params, point.sizes, law, x)


def _draw(at: tuple[Place, ...], count: int, rng: Any) -> Array:
    """Return ``count`` tokens at every place, (places, count, d)."""
    d = len(at[0].own.mean)
    normal = rng.normal(size=(len(at), count, d))
    return np.stack([p.own.mean + z @ square_root(p.own.cov).T for p, z in zip(at, normal, strict=True)])


def _noise(statement: Statement, point: Point) -> float:
    return float(Batched(point.params, point.sizes)(statement.diffusion))
