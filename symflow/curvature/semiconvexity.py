r"""Geodesic semi-convexity on a family of laws: the largest λ with Hess F ≥ λ g, found and bounded.

The second derivative per unit speed of a family with few parameters is one expression R in them. Its infimum
is searched in floats; a value of R at a rational point near by is a proved upper bound, and branch and bound
in ball arithmetic proves a lower one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sympy import Expr, Matrix, Symbol, expand, lambdify, powsimp, simplify, symbols, together

from symflow.algebra.exact.boxes import Box, as_box, balls_of, prove_positive
from symflow.algebra.exact.numbers import Ball
from symflow.checking import Array
from symflow.curvature.along import SecondVariation, float_tokens
from symflow.curvature.cloud import Cloud
from symflow.curvature.second_variation import gaussian_at, read_energy, tokens_at
from symflow.curvature.tokens import TokenEnergy, TwistedTokens
from symflow.curvature.twist import read_twist
from symflow.derive.components import explicit
from symflow.derive.second_variation.argument import OnDirac, on_dirac, straight_on_dirac
from symflow.derive.second_variation.gaussian import (
    ALPHA,
    DRIFT,
    LINEAR,
    SIGMA,
    bent_part,
    metric_part,
    straight_part,
)
from symflow.derive.second_variation.gaussian_checks import summed
from symflow.derive.second_variation.twisted import twisted_metric
from symflow.derive.stability.numbers import ball_of
from symflow.errors import InputError

__all__ = ["Atoms", "Diracs", "Gaussians", "SemiConvexity", "semiconvexity"]

_STARTS, _FEW_STARTS = 24, 6
#: Denominator of the rational point at which an upper bound is proved.
_DENOMINATOR = 2**20
_BITS = 128


@dataclass(frozen=True)
class Diracs:
    """Laws of one token in a box, in every direction.

    Attributes
    ----------
    box : sequence of (low, high)
        An interval for every coordinate.
    """

    box: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Gaussians:
    """Laws N(0, s) on the line, with the variance s in an interval, in the direction of s.

    Attributes
    ----------
    low, high : number
        0 < low < high.
    """

    low: Any
    high: Any


@dataclass(frozen=True)
class Atoms:
    """Laws of n tokens with equal weights in a box, in every direction; searched, not proved.

    Attributes
    ----------
    count : int
        n.
    box : sequence of (low, high)
        An interval for every coordinate of a token.
    """

    count: int
    box: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class SemiConvexity:
    """What is known about the largest λ for which F is λ-convex along geodesics through a family of laws.

    Attributes
    ----------
    best : float
        The smallest second derivative per unit speed that was found.
    point, direction : ndarray
        Where, (n, d) both; variance and its derivative for Gaussian laws.
    lower, upper : Fraction or None
        Proved bounds of the largest λ; None where none was proved.
    reason : str
        Why no sharper lower bound was proved; empty where it is as sharp as was asked for.
    """

    best: float
    point: Array
    direction: Array
    lower: Fraction | None
    upper: Fraction | None
    reason: str = ""


def semiconvexity(
    energy: Any,
    metric: str,
    family: Diracs | Gaussians | Atoms,
    *,
    V: Any = None,
    A: Any = None,
    tolerance: float = 1e-2,
    seconds: float = 10.0,
    seed: int = 0,
) -> SemiConvexity:
    """Return the largest λ with Hess F ≥ λ g on a family of laws: a value found, and proved bounds.

    Parameters
    ----------
    energy, metric, V, A
        As for :func:`~symflow.curvature.second_variation.second_variation`.
    family : Diracs, Gaussians or Atoms
    tolerance : float
        How far below the value found a lower bound is to be proved.
    seconds : float
        Time for branch and bound; the bound proved by then is returned.
    seed : int
        Of the starts of the search.

    Raises
    ------
    InputError
        If an argument is not usable.

    Examples
    --------
    >>> from symflow.energies import Exponential
    >>> found = semiconvexity(Exponential([[-1]], [[1]]), "twisted", Diracs([(-2, 2)]), V=[[1]])
    >>> round(found.best, 6), found.upper < 0, float(found.lower) > -1.03
    (-1.0, True, True)
    """
    rng = np.random.default_rng(seed)
    if isinstance(family, Gaussians):
        ends = as_box([(family.low, family.high)])
        return _of_expressions([_variance(energy, metric, ends, (V, A))], ends, tolerance, seconds, rng)
    box = as_box(family.box)
    if isinstance(family, Atoms):
        return _of_atoms(energy, metric, family, box, (V, A), rng)
    charts = _charts(energy, metric, len(box), (V, A))
    return _of_expressions(charts, box, tolerance, seconds, rng)


@dataclass(frozen=True)
class _Chart:
    """R in coordinates of the point and of the direction, whose largest coordinate is one."""

    quotient: Expr
    variables: tuple[Symbol, ...]
    leading: int

    def shown(self, place: list[float]) -> tuple[Array, Array]:
        """Return point and direction, (1, d) both, of a place in the chart."""
        d = (len(place) + 1) // 2
        direction = [*place[d : d + self.leading], 1.0, *place[d + self.leading :]]
        return np.array([place[:d]], dtype=np.float64), np.array([direction], dtype=np.float64)


def _charts(energy: Any, metric: str, d: int, matrices: Any) -> list[_Chart]:
    statement, exact = read_energy(energy, metric)
    sizes = {statement.dimensions[0]: d}
    values = {symbol: _explicit(exact[symbol.name]) for symbol in statement.parameters}
    for symbol, value in values.items():
        sizes |= dict(zip(getattr(symbol, "shape", ()), getattr(value, "shape", ()), strict=False))
    found = straight_on_dirac(statement)
    density: Any = 1
    if metric == "twisted":
        twisted = twisted_metric()
        V, A = matrices
        twist = read_twist(statement, exact, V, A, d)
        values |= {twisted.parameters[0]: Matrix(twist.A), twisted.size: Matrix(twist.size)}
        found = on_dirac(statement, twisted)
        density = twisted.kernel.xreplace({twisted.y: twisted.x})
    return [_chart(found, density, statement.x, values, sizes, k) for k in range(d)]


def _chart(found: OnDirac, density: Any, x: Any, values: Any, sizes: Any, leading: int) -> _Chart:
    d = int(sizes[x.shape[0]])
    places = symbols(f"x0:{d}", real=True)
    slopes = [*symbols(f"u0:{d}", real=True)]
    slopes[leading] = 1
    table = {**values, x: Matrix(places), found.velocity: Matrix(slopes)}
    unit = explicit(density, table, sizes) if density != 1 else density
    parts = [powsimp(expand(explicit(e, table, sizes) / unit)) for e in (found.second, found.square)]
    free = tuple(u for u in slopes if u != 1)
    return _Chart(together(parts[0]) / parts[1], (*places, *free), leading)


def _variance(energy: Any, metric: str, ends: Box, matrices: Any) -> _Chart:
    """Return R in the variance s, for the velocity Lx with 2Ls = 1."""
    if not ends[0][0] > 0:
        raise InputError(f"low = {ends[0][0]} must be positive: a Gaussian family of Diracs has no direction")
    for end in ends[0]:  # refused where energy or metric is infinite, which is monotone in s
        gaussian_at(energy, metric, _Law(end), None, *matrices)
    statement, exact = read_energy(energy, metric)
    s = Symbol("s", positive=True)
    sizes = dict.fromkeys(statement.dimensions, 1)
    values = {symbol: _explicit(exact[symbol.name]) for symbol in statement.parameters}
    for symbol, value in values.items():
        sizes |= dict(zip(getattr(symbol, "shape", ()), getattr(value, "shape", ()), strict=False))
    parts, square = straight_part(statement), 1 / (4 * s)
    if metric == "twisted":
        twisted = twisted_metric()
        V, A = matrices
        twist = read_twist(statement, exact, V, A, 1)
        values |= {twisted.parameters[0]: Matrix(twist.A), twisted.size: Matrix(twist.size)}
        parts += bent_part(statement, twisted)
    values |= {ALPHA: Matrix([0]), SIGMA: Matrix([[s]]), DRIFT: Matrix([0]), LINEAR: Matrix([[1 / (2 * s)]])}
    if metric == "twisted":
        square = summed(metric_part(twisted), values, sizes)
    return _Chart(simplify(summed(parts, values, sizes) / square), (s,), 0)


@dataclass(frozen=True)
class _Law:
    """N(0, s)."""

    variance: Fraction

    @property
    def mean(self) -> list[Fraction]:
        return [Fraction(0)]

    @property
    def cov(self) -> list[list[Fraction]]:
        return [[self.variance]]


def _explicit(value: Any) -> Any:
    from sympy import Rational

    if isinstance(value, list):
        return Matrix([[Rational(e.numerator, e.denominator) for e in row] for row in value])
    return Rational(value.numerator, value.denominator)


def _of_expressions(
    charts: list[_Chart], box: Box, tolerance: float, seconds: float, rng: Any
) -> SemiConvexity:
    whole = (*box, *[(Fraction(-1), Fraction(1))] * (len(charts[0].variables) - len(box)))
    searched = [(_minimum(_numeric(chart), whole, rng), chart) for chart in charts]
    (best, place), chart = min(searched, key=lambda item: item[0][0])
    rational = [_inside(value, side) for value, side in zip(place, whole, strict=True)]
    upper = _upper(chart, rational)
    level = Fraction(best) - Fraction(tolerance) * (1 + abs(Fraction(best)))
    lower, reason = None, ""
    for one in charts:
        bound, why = _lower(one, whole, level, seconds / len(charts))
        lower = bound if lower is None or bound is None else min(lower, bound)
        reason = reason or why
        if bound is None:
            lower = None
            break
    return SemiConvexity(best, *chart.shown(place.tolist()), lower, upper, reason)


def _numeric(chart: _Chart) -> Callable[[Array], float]:
    function = lambdify([chart.variables], chart.quotient, modules=["scipy", "numpy"], cse=True)
    return lambda place: float(function(place))


def _minimum(
    function: Callable[[Array], float], box: Box, rng: Any, starts: int = _STARTS
) -> tuple[float, Array]:
    """Return the smallest value that descents from random places of the box find, and where."""
    from scipy.optimize import minimize

    bounds = [(float(low), float(high)) for low, high in box]
    lows, highs = (np.array(side) for side in zip(*bounds, strict=True))
    best: tuple[float, Array] | None = None
    for _ in range(starts):
        run = minimize(function, rng.uniform(lows, highs), method="L-BFGS-B", bounds=bounds)
        if np.isfinite(run.fun) and (best is None or run.fun < best[0]):
            best = float(run.fun), np.asarray(run.x)
    if best is None:
        raise InputError("the second derivative per unit speed is finite at no start; take a smaller box")
    return best


def _inside(value: float, side: tuple[Fraction, Fraction]) -> Fraction:
    near = Fraction(round(value * _DENOMINATOR), _DENOMINATOR)
    return min(max(near, side[0]), side[1])


def _ball(chart: _Chart, balls: Sequence[Any]) -> Any:
    names = {symbol.name: ball for symbol, ball in zip(chart.variables, balls, strict=True)}
    return ball_of(chart.quotient, names)


def _upper(chart: _Chart, place: Sequence[Fraction]) -> Fraction | None:
    from flint import ctx

    with ctx.workprec(_BITS):
        value = _ball(chart, balls_of(tuple((entry, entry) for entry in place), _BITS))
        return Ball.of(value).upper if value.is_finite() else None


def _lower(chart: _Chart, box: Box, level: Fraction, seconds: float) -> tuple[Fraction | None, str]:
    """Return a proved lower bound of R, the level if branch and bound reaches it."""
    from flint import arb, fmpq

    floor = arb(fmpq(level.numerator, level.denominator))
    found = prove_positive(lambda balls: _ball(chart, balls) - floor, box, seconds=seconds, bits=_BITS)
    if found.proved:
        return level, ""
    return (None if found.lower is None else level + found.lower), found.reason or "a smaller value exists"


def _of_atoms(energy: Any, metric: str, family: Atoms, box: Box, matrices: Any, rng: Any) -> SemiConvexity:
    n, d = int(family.count), len(box)
    if n < 1:
        raise InputError(f"count = {family.count!r} must be at least 1")
    centre = [[float(low + high) / 2 for low, high in box]] * n
    V, A = matrices
    tokens, twisted = tokens_at(energy, metric, centre, None, V, A)

    def spectrum(place: Array) -> SecondVariation:
        cloud = Cloud(place.reshape(n, d), tokens.cloud.weights)
        there = TokenEnergy(tokens.statement, tokens.parameters, cloud)
        return float_tokens(there, None if twisted is None else TwistedTokens(twisted.twist, cloud))

    best, place = _minimum(lambda x: spectrum(x).eigenvalues("metric")[0], box * n, rng, _FEW_STARTS)
    from scipy.linalg import eigh

    found = spectrum(place)
    direction = eigh(found.entries, found.gram)[1][:, 0].reshape(n, d)
    return SemiConvexity(best, place.reshape(n, d), direction, None, None, "n atoms are searched, not proved")
