"""Independent checks of derivation steps.

None of them uses the normal form, the Gateaux derivative or the tilting lemma that produced the
steps: they put explicit matrices into the formulas and compute in rationals, or by quadrature.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import (
    Expr,
    Identity,
    Integer,
    Inverse,
    Matrix,
    Poly,
    Rational,
    Symbol,
    Trace,
    ZeroMatrix,
    diag,
    diff,
    eye,
    hessian,
    lambdify,
    symbols,
)

from symflow.algebra.sampling import agree_at_rational_points
from symflow.derive.steps import Check, Checked
from symflow.errors import InputError

Values = Mapping[Any, Any]
Integrand = Callable[..., Any]

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
            draw = _Draw(size, seed=size)
            entries = symbols(f"y0:{size}", real=True)
            values = {**draw.values(self.score, skip=(self.y,)), self.y: Matrix(entries)}
            degrees.append(Poly(explicit(self.score, values, draw.sizes), *entries).total_degree())
        return Checked(max(degrees) <= 2, "components at d = 1, 2", f"degree in y: {degrees}")


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
        errors, passed = [], True
        for size, digits in QUADRATURE_DIGITS.items():
            with mpmath.workdps(digits + 10):
                error = self._error(size, digits)
                passed = passed and error < mpmath.mpf(10) ** (5 - digits)
                errors.append(f"d = {size}: {mpmath.nstr(error, 2)}")
        return Checked(bool(passed), "lattice quadrature, 50 digits at d = 1, 20 at d = 2", "; ".join(errors))

    def _error(self, size: int, digits: int) -> Any:
        draw = _Draw(size, seed=7 * size)
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

    def run(self) -> Checked:
        """Compare the value at the mean and exact differences of the field at d = 1, 2, 3."""
        for size in (1, 2, 3):
            draw = _Draw(size, seed=11 * size)
            values = draw.values([self.field, self.constant, self.linear], skip=(self.x,))
            constant, linear = (explicit(e, values, draw.sizes) for e in (self.constant, self.linear))
            centre = values[self.mean] if self.mean in values else draw.matrix(size, 1)
            offset = draw.matrix(size, 1)
            at_mean, away = (
                explicit(self.field, {**values, self.x: p}, draw.sizes) for p in (centre, centre + offset)
            )
            residual = (at_mean - constant).row_join(away - at_mean - linear * offset)
            if any(_is_nonzero(entry) for entry in residual):
                return Checked(False, "exact differences", f"d = {size}: residual {list(residual)}")
        return Checked(True, "exact differences at d = 1, 2, 3", "residual 0")


@dataclass(frozen=True)
class ContinuityEquation:
    r"""The Gaussian density with the stated derivatives solves the continuity equation at rational points.

    Divided by the density, :math:`\partial_t\mu + \mathrm{div}(\mu\Gamma) = 0` reads
    :math:`\partial_t \log p + \Gamma\cdot\nabla\log p + \mathrm{div}\,\Gamma = 0`.
    """

    field: Any
    mean_rhs: Any
    cov_rhs: Any
    x: Any
    mean: Any
    covariance: Any

    def run(self) -> Checked:
        """Evaluate the residual exactly at d = 1, 2, 3."""
        for size in (1, 2, 3):
            residuals = self._residuals(size)
            if any(_is_nonzero(residual) for residual in residuals):
                return Checked(False, "continuity equation", f"d = {size}: residuals {residuals}")
        return Checked(True, "continuity equation at rational points, d = 1, 2, 3", "residual 0")

    def _residuals(self, size: int) -> list[Any]:
        """Return the residual of the equation and the antisymmetric part of Σ', which it does not see."""
        draw = _Draw(size, seed=13 * size)
        values = draw.values(
            [self.field, self.mean_rhs, self.cov_rhs], skip=(self.x, self.covariance, self.mean)
        )
        factor = draw.lower_triangular(size)
        values |= {self.mean: draw.matrix(size, 1), self.covariance: factor * factor.T}
        entries = symbols(f"x0:{size}", real=True)
        velocity = explicit(self.field, {**values, self.x: Matrix(entries)}, draw.sizes)
        divergence = sum(diff(velocity[i], entry) for i, entry in enumerate(entries))
        point = draw.matrix(size, 1)
        at = dict(zip(entries, point, strict=True))
        speed, rate = (explicit(e, values, draw.sizes) for e in (self.mean_rhs, self.cov_rhs))
        precision = values[self.covariance].inv()
        slope = precision * (point - values[self.mean])
        log_density_rate = (
            (slope.T * speed)[0] + (slope.T * rate * slope)[0] / 2 - (precision * rate).trace() / 2
        )
        residual = log_density_rate - (slope.T * velocity.subs(at))[0] + divergence.subs(at)
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
    return _lattice_ratios(weight, integrands, centre, spacing, count)


def _lattice_ratios(
    weight: Integrand, integrands: list[Integrand], centre: list[Any], spacing: Any, count: int
) -> list[Any]:
    axes = [[c + spacing * i for i in range(-count, count + 1)] for c in centre]
    peak = weight(*centre)
    total, sums = mpmath.mpf(0), [mpmath.mpf(0)] * len(integrands)
    for point in itertools.product(*axes):
        mass = mpmath.exp(weight(*point) - peak)
        total += mass
        sums = [s + mass * f(*point) for s, f in zip(sums, integrands, strict=True)]
    return [s / total for s in sums]


def explicit(expression: Any, values: Values, sizes: Values) -> Any:
    """Return the expression with explicit matrices in place of symbols, multiplied out by SymPy.

    Parameters
    ----------
    expression : Expr or MatrixExpr
        An expression of symbolic size.
    values : mapping
        Matrix symbol or scalar symbol to its value.
    sizes : mapping
        Dimension symbol to integer.
    """
    table: dict[Any, Any] = {e: eye(_size(e.shape[0], sizes)) for e in expression.atoms(Identity)}
    table |= {e: Matrix.zeros(*(_size(s, sizes) for s in e.shape)) for e in expression.atoms(ZeroMatrix)}
    table |= {**{size: Integer(n) for size, n in sizes.items()}, **values}  # a score may be divided by √d
    frozen = {key: v.as_immutable() if hasattr(v, "as_immutable") else v for key, v in table.items()}
    filled = expression.xreplace(frozen).replace(lambda e: isinstance(e, Inverse), _inverse)
    if isinstance(filled, Expr):
        filled = filled.replace(lambda e: isinstance(e, Trace), lambda e: e.arg.doit().trace())
        return filled.doit()
    return Matrix(filled.doit())


def _inverse(inverse: Any) -> Any:
    """Invert an explicit matrix over its number field: entries stay a + b√2, elimination would nest them."""
    matrix = Matrix(inverse.arg.doit())
    return matrix.to_DM(extension=True).to_field().inv().to_Matrix().as_immutable()


class _Draw:
    """Small random rationals for the symbols of an expression, at one explicit size."""

    def __init__(self, size: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._size = size
        self.sizes: dict[Any, int] = {}

    def values(self, expressions: Any, skip: tuple[Any, ...]) -> dict[Any, Any]:
        """Draw every free symbol except ``skip``; inner sizes differ from d where d > 1."""
        parts = expressions if isinstance(expressions, list) else [expressions]
        free = {s for e in parts for s in e.free_symbols if s not in skip}
        dims = {s for e in parts for m in e.free_symbols for s in _size_symbols(m)}
        inner = max(1, self._size - 1)
        self.sizes = {s: self._size if s.name == "d" else inner for s in dims}
        named = sorted(free - dims, key=lambda s: s.name)
        return {s: self._value(s) for s in named}

    def matrix(self, rows: int, cols: int) -> Any:
        """Draw a rational matrix with entries in [−1/2, 1/2]."""
        return Matrix(rows, cols, lambda i, j: Rational(self._random.randint(-4, 4), 8))

    def lower_triangular(self, size: int) -> Any:
        """Draw a nonsingular lower triangular factor."""
        drawn = self.matrix(size, size)
        return drawn.lower_triangular(-1) + diag(*(Rational(3 + i, 5) for i in range(size)))

    def _value(self, symbol: Any) -> Any:
        if hasattr(symbol, "shape"):
            return self.matrix(*(_size(s, self.sizes) for s in symbol.shape))
        # Positive, so that it lies in the domain of every scalar parameter.
        return Rational(self._random.randint(1, 8), 8)


def _size(size: Any, sizes: Values) -> int:
    return int(size.subs(sizes)) if isinstance(size, Expr) else int(size)


def _size_symbols(symbol: Any) -> set[Any]:
    return {s for size in getattr(symbol, "shape", ()) for s in getattr(size, "free_symbols", ())}


def _is_nonzero(entry: Any) -> bool:
    return not (entry.expand().is_zero or entry.equals(0))
