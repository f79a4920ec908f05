r"""Expectations of functions of a standard normal number by quadrature with a proved error.

On an interval of half-width a the Gauss–Legendre rule with n points errs by at most

.. math:: \frac{64}{15}\,\frac{a\,M\,\varrho^{-2(n-1)}}{1 - \varrho^{-2}}

where the integrand is holomorphic and at most M in the ellipse with foci at the ends whose half-axes add up
to aϱ (Trefethen, Approximation Theory and Approximation Practice, Theorem 19.3). Balls show both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, log2, sqrt
from typing import Any

from symflow.errors import Undecided
from symflow.noise.enclosure import Function, Growth, ball

_ELLIPSES = (16.0, 8.0, 5.0, 3.5, 2.5, 1.8, 1.4)
_MOST_POINTS, _LEAST_WIDTH = 96, 2.0**-12
#: What a few thousand operations on positive doubles may lose at most, many times over.
_SLACK = 1 + 1e-9
_SMALLEST, _LARGEST = 1e-290, 1e290


@dataclass(frozen=True)
class GaussianRule:
    """Places and values by which expectations of products with Hermite polynomials are computed.

    Attributes
    ----------
    places, weights : tuple of flint.arb
        x and the weight of x, times the normal density.
    values : tuple of tuple of flint.arb
        Of each function at each place.
    cell_error : flint.arb
        Of the quadrature of f·h_k and of f·g for any two functions and k up to the degree.
    tails : tuple of flint.arb
        Bounds of ∫f²dγ outside the cells.
    """

    places: tuple[Any, ...]
    weights: tuple[Any, ...]
    values: tuple[tuple[Any, ...], ...]
    cell_error: Any
    tails: tuple[Any, ...]

    def square(self, which: int) -> Any:
        """Return E f(X)²."""
        inside = sum(w * v * v for w, v in zip(self.weights, self.values[which], strict=True))
        return inside + _within(self.cell_error) + self.tails[which].union(0)

    def hermite(self, which: int, degree: int) -> list[Any]:
        """Return E f(X)h_k(X) for k = 0, …, degree, h_k the orthonormal Hermite polynomials.

        Outside the cells it is at most the root of ∫f²dγ there (Cauchy–Schwarz).
        """
        from flint import arb

        slack = _within(self.cell_error) + _within(self.tails[which].sqrt())
        found, before, now = [], [arb(0)] * len(self.places), [arb(1)] * len(self.places)
        weighted = [w * v for w, v in zip(self.weights, self.values[which], strict=True)]
        for k in range(degree + 1):
            found.append(sum(w * h for w, h in zip(weighted, now, strict=True)) + slack)
            below, above = arb(k).sqrt(), arb(k + 1).sqrt()
            scaled = zip(self.places, now, before, strict=True)
            before, now = now, [(x * h - below * g) / above for x, h, g in scaled]
        return found


def gaussian_rule(
    functions: Sequence[Function], growths: Sequence[Growth], scale: Any, degree: int, bits: int
) -> GaussianRule:
    """Return a rule for functions f(x) = F(scale·x), with an error below about 2^{−bits}.

    Parameters
    ----------
    functions : sequence of Function
        F, on real and complex balls.
    growths : sequence of Growth
        Bounds of each F on the real line.
    scale : flint.arb
        Standard deviation of the argument of F.
    degree : int
        Highest Hermite polynomial that is integrated.
    bits : int

    Raises
    ------
    Undecided
        If a function has a singularity too near to the real line.
    """
    from flint import arb, ctx

    end = 4
    while not all(_tail(g, scale, end) < arb(2) ** (-2 * bits) for g in growths):
        end += 1
    pending = [(k + 0.5, 0.5) for k in range(-end, end)]
    tolerance = bits + ceil(log2(2 * end)) + 1
    places, weights, error = [], [], arb(0)
    while pending:
        centre, half = pending.pop()
        points, bound = _points(functions, scale, centre, half, degree, tolerance)
        if points:
            error = error + bound
            nodes = [(centre + half * x, half * w) for x, w in _legendre(points, ctx.prec)]
            places += [x for x, _ in nodes]
            weights += [w * (-x * x / 2).exp() / (2 * arb.pi()).sqrt() for x, w in nodes]
        elif half < _LEAST_WIDTH:
            raise Undecided(
                "activation: a singularity is too near to the real line for quadrature with bounds"
            )
        else:
            pending += [(centre - half / 2, half / 2), (centre + half / 2, half / 2)]
    values = tuple(tuple(f(scale * x) for x in places) for f in functions)
    return GaussianRule(
        tuple(places), tuple(weights), values, error, tuple(_tail(g, scale, end) for g in growths)
    )


def _points(
    functions: Sequence[Function], scale: Any, centre: float, half: float, degree: int, tolerance: int
) -> tuple[int, Any]:
    """Return how many points do on a cell, and the error there; 0 where none do."""
    from flint import arb

    best, bound = 0, None
    for rho in _ELLIPSES:
        size = _largest(functions, scale, centre, half, degree, rho)
        if size > _LARGEST:
            continue
        n = max(2, 1 + ceil((log2(size) + tolerance + 3) / (2 * log2(rho))))
        if n <= _MOST_POINTS and (not best or n < best):
            ratio = 1 / arb(rho) ** 2
            best, bound = n, arb(64) / 15 * half * size * ratio ** (n - 1) / (1 - ratio)
    return best, bound


def _largest(
    functions: Sequence[Function], scale: Any, centre: float, half: float, degree: int, rho: float
) -> float:
    """Return a bound of all integrands in an ellipse, infinite where they are not shown to be holomorphic."""
    from flint import acb, arb

    x = arb(centre, half * (rho + 1 / rho) / 2 * _SLACK)
    y = arb(0, half * (rho - 1 / rho) / 2 * _SLACK)
    z = acb(x, y)
    sizes = [f(scale * z).abs_upper() for f in functions]
    if not all(size.is_finite() for size in sizes):
        return inf
    largest = max(float(size) for size in sizes)
    other = max(largest, _hermite_bound(float(z.abs_upper()) * _SLACK, degree))
    return max(largest * other * float((-(z * z) / 2).exp().abs_upper()) * _SLACK, _SMALLEST)


def _hermite_bound(distance: float, degree: int) -> float:
    """Return a bound of |h_k(z)| for |z| up to a distance and k up to a degree, by the recursion."""
    before, now, largest = 0.0, 1.0, 1.0
    for k in range(degree):
        before, now = now, (distance * now + sqrt(k) * before) / sqrt(k + 1)
        largest = max(largest, now)
    return largest * _SLACK


def _tail(growth: Growth, scale: Any, end: int) -> Any:
    """Return a bound of ∫F(scale·x)²dγ over |x| ≥ end.

    (1 + sx)^{2m} ≤ (1 + sR)^{2m} e^{2ms(x − R)/(1 + sR)} for x ≥ R, as its logarithm is concave.
    """
    from flint import arb

    c, m, rate = (ball(value) for value in (growth.scale, growth.power, growth.rate))
    base = 1 + scale * end
    slope = 2 * scale * (rate + m / base)
    factor = c * c * base ** (2 * m) * (slope * slope / 2 - 2 * m * scale * end / base).exp()
    return abs(factor * ((end - slope) / arb(2).sqrt()).erfc()).upper()


@lru_cache(maxsize=64)
def _legendre(points: int, bits: int) -> tuple[tuple[Any, Any], ...]:
    from flint import arb, ctx

    with ctx.workprec(bits):
        return tuple(arb.legendre_p_root(points, k, weight=True) for k in range(points))


def _within(radius: Any) -> Any:
    from flint import arb

    return arb(0, 1) * radius
