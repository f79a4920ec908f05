"""Independent checks of derivation steps.

None of them uses the normal form, the Gateaux derivative or the tilting lemma that produced the
steps: they put explicit matrices into the formulas and compute in rationals, or by quadrature.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import Expr, Matrix, Poly, S, Symbol, diff, hessian, lambdify, symbols

from symflow.algebra.sampling import agree_at_rational_points
from symflow.derive.components import Draw, explicit, is_nonzero, spelled_out
from symflow.derive.steps import Check, Checked
from symflow.errors import InputError

#: Decimal digits to which the lattice sums are carried out, by dimension.
QUADRATURE_DIGITS = {1: 50, 2: 20}


@dataclass(frozen=True)
class Together:
    """Several checks of one statement, each of another part of it."""

    parts: tuple[Check, ...]

    def run(self) -> Checked:
        """Run every part; all must pass."""
        seen = [part.run() for part in self.parts]
        methods = dict.fromkeys(one.method for one in seen)
        evidence = "; ".join(one.evidence for one in seen)
        return Checked(all(one.passed for one in seen), "; ".join(methods), evidence)


@dataclass(frozen=True)
class RationalPoints:
    """``lhs = rhs`` at random rational matrices of several sizes, in exact arithmetic."""

    lhs: Any
    rhs: Any
    symmetric: tuple[Any, ...] = ()
    psd: tuple[Any, ...] = ()

    def run(self) -> Checked:
        """Evaluate both sides exactly."""
        seen = agree_at_rational_points(self.lhs, self.rhs, symmetric=self.symmetric, psd=self.psd)
        return Checked(seen.agrees, seen.method, seen.evidence)


@dataclass(frozen=True)
class QuadraticInComponents:
    """The score, written out in the components of y, is a polynomial of degree at most two."""

    score: Expr
    y: Any

    def run(self) -> Checked:
        """Expand at d = 1, 2 and read off the degree."""
        degrees = []
        for size in (1, 2):
            draw = Draw(size, seed=size)
            entries = symbols(f"y0:{size}", real=True)
            values = {**draw.values(self.score, skip=(self.y,)), self.y: Matrix(entries)}
            degrees.append(Poly(explicit(self.score, values, draw.sizes), *entries).total_degree())
        return Checked(max(degrees) <= 2, "components at d = 1, 2", f"degree in y: {degrees}")


@dataclass(frozen=True)
class AffineInQuery:
    """The kernel, written out in components, is a polynomial in y and x, of degree at most one in x."""

    kernel: Expr
    x: Any
    y: Any

    def run(self) -> Checked:
        """Expand at d = 1, 2 and read off the degrees."""
        degrees = []
        for size in (1, 2):
            draw = Draw(size, seed=3 * size)
            queries, keys = (symbols(f"{name}0:{size}", real=True) for name in ("x", "y"))
            values = draw.values(self.kernel, skip=(self.x, self.y))
            filled = {**values, self.x: Matrix(queries), self.y: Matrix(keys)}
            polynomial = Poly(explicit(self.kernel, filled, draw.sizes), *queries, *keys)
            degrees.append(max(sum(powers[:size]) for powers in polynomial.monoms()))
        return Checked(max(degrees) <= 1, "components at d = 1, 2", f"degree in x: {degrees}")


def by_quadrature(error: Callable[[int, int], Any], method: str = "lattice quadrature") -> Checked:
    """Return whether an error, for a size and so many digits, is at d = 1, 2 that of their rounding."""
    errors, passed = [], True
    for size, digits in QUADRATURE_DIGITS.items():
        with mpmath.workdps(digits + 10):
            found = error(size, digits)
            passed = passed and found < mpmath.mpf(10) ** (5 - digits)
            errors.append(f"d = {size}: {mpmath.nstr(found, 2)}")
    return Checked(bool(passed), f"{method}, 50 digits at d = 1, 20 at d = 2", "; ".join(errors))


@dataclass(frozen=True)
class LatticeQuadrature:
    r"""``formula`` equals :math:`\int v(y)e^{s(x,y)}d\mu / \int e^{s(x,y)}d\mu`, μ = N(α, Σ).

    The trapezoidal rule on a lattice converges faster than any power for Gaussian integrands, so the
    score itself, not its decomposition, is summed to fifty digits in d = 1 and twenty in d = 2.
    """

    score: Expr
    value: Any
    formula: Any
    y: Any
    mean: Any
    covariance: Any
    symmetric: tuple[Any, ...] = ()

    def run(self) -> Checked:
        """Compare the formula with the lattice sums at d = 1, 2."""
        return by_quadrature(self._error)

    def _error(self, size: int, digits: int) -> Any:
        draw = Draw(size, seed=7 * size)
        fixed = draw.values([self.score, self.value, self.formula], skip=(self.y, self.mean, self.covariance))
        fixed |= {s: (fixed[s] + fixed[s].T) / 2 for s in self.symmetric}
        centre, factor = draw.matrix(size, 1), draw.lower_triangular(size) / 2
        coordinates = symbols(f"z0:{size}", real=True)
        # y = centre + factor z with z standard Gaussian.
        filled = {**fixed, self.y: centre + factor * Matrix(coordinates)}
        exponent = explicit(self.score, filled, draw.sizes) - sum(z**2 for z in coordinates) / 2
        value = explicit(self.value, filled, draw.sizes)
        moments = lattice_mean(exponent.expand(), list(value), coordinates, digits)
        law = {self.mean: centre, self.covariance: factor * factor.T}
        expected = explicit(self.formula, {**fixed, **law}, draw.sizes)
        return max(
            abs(mpmath.mpmathify(e.evalf(digits + 10)) - m) for e, m in zip(expected, moments, strict=True)
        )


@dataclass(frozen=True)
class AffineField:
    """The field equals ``constant + linear·(x − mean)`` at rational points, by differences."""

    field: Any
    constant: Any
    linear: Any
    x: Any
    mean: Any
    covariance: Any = None

    def run(self) -> Checked:
        """Compare the value at the mean and exact differences of the field at d = 1, 2, 3."""
        parts = [spelled_out(e) for e in (self.field, self.constant, self.linear)]
        for size in (1, 2, 3):
            draw = Draw(size, seed=11 * size)
            values = draw.values(parts, skip=(self.x, self.covariance))
            if self.covariance is not None:
                factor = draw.lower_triangular(size)
                values[self.covariance] = factor * factor.T
            constant, linear = (explicit(e, values, draw.sizes) for e in parts[1:])
            centre = values[self.mean] if self.mean in values else draw.matrix(size, 1)
            offset = draw.matrix(size, 1)
            at_mean, away = (
                explicit(parts[0], {**values, self.x: p}, draw.sizes) for p in (centre, centre + offset)
            )
            residual = (at_mean - constant).row_join(away - at_mean - linear * offset)
            if any(is_nonzero(entry) for entry in residual):
                return Checked(False, "exact differences", f"d = {size}: residual {list(residual)}")
        return Checked(True, "exact differences at d = 1, 2, 3", "residual 0")


@dataclass(frozen=True)
class ContinuityEquation:
    r"""The Gaussian density with the stated derivatives solves the transport equation at rational points.

    Divided by the density, :math:`\partial_t\mu + \mathrm{div}(\mu\Gamma) = \varepsilon\Delta\mu` reads
    :math:`\partial_t \log p + \Gamma\cdot\nabla\log p + \mathrm{div}\,\Gamma
    = \varepsilon(|\nabla\log p|^2 + \Delta\log p)`.
    """

    field: Any
    mean_rhs: Any
    cov_rhs: Any
    x: Any
    mean: Any
    covariance: Any
    diffusion: Any = S.Zero

    def run(self) -> Checked:
        """Evaluate the residual exactly at d = 1, 2, 3."""
        for size in (1, 2, 3):
            residuals = self._residuals(size)
            if any(is_nonzero(residual) for residual in residuals):
                return Checked(False, "continuity equation", f"d = {size}: residuals {residuals}")
        return Checked(True, "continuity equation at rational points, d = 1, 2, 3", "residual 0")

    def _residuals(self, size: int) -> list[Any]:
        """Return the residual of the equation and the antisymmetric part of Σ', which it does not see."""
        draw = Draw(size, seed=13 * size)
        parts = [spelled_out(e) for e in (self.field, self.mean_rhs, self.cov_rhs)]
        values = draw.values([*parts, self.diffusion], skip=(self.x, self.covariance, self.mean))
        factor = draw.lower_triangular(size)
        values |= {self.mean: draw.matrix(size, 1), self.covariance: factor * factor.T}
        entries = symbols(f"x0:{size}", real=True)
        velocity = explicit(parts[0], {**values, self.x: Matrix(entries)}, draw.sizes)
        divergence = sum(diff(velocity[i], entry) for i, entry in enumerate(entries))
        point = draw.matrix(size, 1)
        at = dict(zip(entries, point, strict=True))
        speed, rate = (explicit(e, values, draw.sizes) for e in parts[1:])
        precision = values[self.covariance].inv()
        slope = precision * (point - values[self.mean])
        log_density_rate = (
            (slope.T * speed)[0] + (slope.T * rate * slope)[0] / 2 - (precision * rate).trace() / 2
        )
        spread = self.diffusion.subs(values) * ((slope.T * slope)[0] - precision.trace())
        residual = log_density_rate - (slope.T * velocity.subs(at))[0] + divergence.subs(at) - spread
        return [residual, *(rate - rate.T)]


def lattice_mean(
    exponent: Expr, values: list[Expr], coordinates: tuple[Symbol, ...], digits: int
) -> list[Any]:
    r"""Return :math:`\int v e^{w}dz / \int e^{w}dz` componentwise by the trapezoidal rule.

    ``w`` must be concave and close to quadratic; its second derivatives at the origin set the lattice.

    Parameters
    ----------
    exponent, values : Expr
        w and the components of v in ``coordinates``.
    coordinates : tuple of Symbol
        Integration variables.
    digits : int
        Wanted decimal digits.

    Raises
    ------
    InputError
        If ``w`` is not concave at the origin.
    """
    total, sums = _lattice_sums(exponent, values, coordinates, digits)[1:]
    return [s / total for s in sums]


def lattice_integral(exponent: Expr, coordinates: tuple[Symbol, ...], digits: int) -> Any:
    r"""Return :math:`\int e^{w}dz` by the trapezoidal rule; parameters as for :func:`lattice_mean`."""
    scale, total, _ = _lattice_sums(exponent, [], coordinates, digits)
    return scale * total


def _lattice_sums(
    exponent: Expr, values: list[Expr], coordinates: tuple[Symbol, ...], digits: int
) -> tuple[Any, Any, list[Any]]:
    """Return (volume of a cell times the peak, sum of e^w, sums of v·e^w), both sums relative to the peak."""
    origin = dict.fromkeys(coordinates, 0)
    curvature = -hessian(exponent, coordinates).subs(origin)
    slope = Matrix([diff(exponent, z) for z in coordinates]).subs(origin)
    centre = [mpmath.mpmathify(c.evalf(digits + 10)) for c in curvature.inv() * slope]
    stiffness = list(mpmath.eigsy(mpmath.matrix(curvature.evalf().tolist()), eigvals_only=True))
    if min(stiffness) <= 0:
        raise InputError(
            "exponent is not concave at the origin: the integral diverges; choose a smaller covariance"
        )
    # A standard Gaussian has lattice error exp(−2π²/h²) and tail exp(−R²/2).
    decay = mpmath.log(10) * (digits + 2)
    spacing = mpmath.pi * mpmath.sqrt(2 / decay) / mpmath.sqrt(max(stiffness))
    count = int(mpmath.ceil(mpmath.sqrt(2 * decay / min(stiffness)) / spacing)) + 1
    weight = lambdify(coordinates, exponent.evalf(digits + 10), "mpmath")
    integrands = [lambdify(coordinates, v.evalf(digits + 10), "mpmath") for v in values]
    axes = [[c + spacing * i for i in range(-count, count + 1)] for c in centre]
    peak = weight(*centre)
    total, sums = mpmath.mpf(0), [mpmath.mpf(0)] * len(integrands)
    for point in itertools.product(*axes):
        mass = mpmath.exp(weight(*point) - peak)
        total += mass
        sums = [s + mass * f(*point) for s, f in zip(sums, integrands, strict=True)]
    return spacing ** len(centre) * mpmath.exp(peak), total, sums
