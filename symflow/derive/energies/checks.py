"""Independent checks of the steps of a first variation, by nested sums over points with many digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import Determinant, Expr, Float, Matrix, MatrixSymbol, Rational, log

from symflow.algebra.determinant import LogDet
from symflow.algebra.functionals.atoms import on_atoms
from symflow.algebra.functionals.average import Average
from symflow.algebra.functionals.nodes import TransportCost, law_functions
from symflow.algebra.symbols import vector
from symflow.derive.components import Draw, explicit
from symflow.derive.energies.finite import FiniteLaw
from symflow.derive.energies.gaussian import VALUE, GaussianEnergy
from symflow.derive.steps import Checked

_DIGITS = 60
_STEP = Rational(1, 10**20)  #: of central differences, whose error is its square
_TOLERANCE = mpmath.mpf(10) ** -30
_SIZES = (1, 2)
_POINTS = 3


@dataclass(frozen=True)
class NestedSums:
    """The functional at weighted points, written out as one expression, is what nested sums give."""

    functional: Expr

    def run(self) -> Checked:
        """Compare at d = 1, 2; a cost of transport with the mean of its potentials."""

        def gap(law: FiniteLaw) -> Any:
            return abs(law.number(self.functional) - self._written(law))

        return _compared("sums over weighted points, written out and nested", gap, (self.functional,))

    def _written(self, law: FiniteLaw) -> Any:
        d = next(iter(s for s in law.sizes if s.name == "d"))
        if law_functions(self.functional):
            z = vector("z", d)
            dual = self.functional.replace(
                lambda e: isinstance(e, TransportCost), lambda e: Average(sum(e.potentials(z)), z)
            )
            return law.number(dual)
        points = [MatrixSymbol(f"p_{i}", d, 1) for i in range(len(law.points))]
        values = {p: Matrix(x) for p, x in zip(points, law.points, strict=True)}
        written = on_atoms(self.functional, points, [_exact(w) for w in law.masses])
        return _number(explicit(written, {**law.values, **values}, law.sizes))


@dataclass(frozen=True)
class Mixtures:
    """The derivative of F((1 − h)μ + hν) at h = 0 is the integral of the variation against ν − μ."""

    functional: Expr
    variation: Expr
    x: Any

    def run(self) -> Checked:
        """Compare at d = 1, 2 for laws on the same points."""

        def gap(law: FiniteLaw) -> Any:
            count = len(law.points)
            drift = [mpmath.mpf(2 * (i % 2) - 1) * (1 + i // 2) / 20 for i in range(count)]
            drift[-1] -= mpmath.fsum(drift)
            h = mpmath.mpf(_STEP.p) / _STEP.q
            ends = [
                _moved(law, [w + side * h * e for w, e in zip(law.masses, drift, strict=True)]).number(
                    self.functional
                )
                for side in (1, -1)
            ]
            slope = [law.number(self.variation, {self.x: point}) for point in law.points]
            return abs((ends[0] - ends[1]) / (2 * h) - mpmath.fdot(drift, slope))

        return _compared("differences along mixtures", gap, (self.functional, self.variation))


@dataclass(frozen=True)
class SpatialDifferences:
    """Differences of the variation along each coordinate are the stated gradient."""

    variation: Expr
    gradient: Any
    x: Any

    def run(self) -> Checked:
        """Compare at d = 1, 2 at a point that is none of the law."""

        def gap(law: FiniteLaw) -> Any:
            size = len(law.points[0])
            at = tuple(mpmath.mpf(2 * k + 3) / 11 for k in range(size))
            found = law.vector(self.gradient, {self.x: at})
            differences = _differences(lambda p: law.number(self.variation, {self.x: p}), at)
            return max(abs(a - b) for a, b in zip(found, differences, strict=True))

        return _compared("differences in space", gap, (self.variation, self.gradient))


@dataclass(frozen=True)
class AtomDifferences:
    """Differences of the energy of weighted points in one of them are its weight times the gradient there."""

    functional: Expr
    gradient: Any
    x: Any

    def run(self) -> Checked:
        """Compare at d = 1, 2 for the first point and the last one."""

        def gap(law: FiniteLaw) -> Any:
            gaps = []
            for i in (0, len(law.points) - 1):
                point = law.points[i]

                def energy(moved: Any, i: int = i) -> Any:
                    points = (*law.points[:i], moved, *law.points[i + 1 :])
                    return FiniteLaw(points, law.masses, law.values, law.sizes).number(self.functional)

                found = law.vector(self.gradient, {self.x: point})
                pairs = zip(_differences(energy, point), found, strict=True)
                gaps += [abs(a - law.masses[i] * b) for a, b in pairs]
            return max(gaps)

        return _compared("differences in the points", gap, (self.functional, self.gradient))


@dataclass(frozen=True)
class LatticeLaw:
    """The closed form is what the definition gives for the Gaussian law on a lattice, at d = 1."""

    functional: Expr
    found: GaussianEnergy
    digits: int = 20

    def run(self) -> Checked:
        """Compare to the stated number of digits."""
        with mpmath.workdps(self.digits + 15):
            skip = (self.found.alpha, self.found.sigma)
            draw, values = _drawn(1, 5, [self.functional, self.found.value], skip)
            mean, deviation = Rational(1, 5), Rational(3, 5)
            spacing, count = mpmath.mpf(2) / 5, 45
            offsets = [spacing * k for k in range(-count, count + 1)]
            points = tuple((mpmath.mpf(mean.p) / mean.q + mpmath.mpf(3) / 5 * z,) for z in offsets)
            masses = tuple(spacing * mpmath.npdf(z) for z in offsets)
            law = FiniteLaw(points, masses, values, draw.sizes, volume=spacing * mpmath.mpf(3) / 5)
            moments = {self.found.alpha: Matrix([mean]), self.found.sigma: Matrix([deviation**2])}
            expected = _closed(self.found.value, {**values, **moments}, draw.sizes)
            gap = abs(law.number(self.functional) - expected)
            passed = gap < mpmath.mpf(10) ** -self.digits
            method = f"the definition summed on a lattice, {self.digits} digits at d = 1"
            return Checked(bool(passed), method, f"difference {mpmath.nstr(gap, 2)}")


@dataclass(frozen=True)
class MomentDifferences:
    """Differences of the closed form in mean and covariance are the stated gradients."""

    found: GaussianEnergy

    def run(self) -> Checked:
        """Compare along one direction each at d = 1, 2."""
        gaps = []
        with mpmath.workdps(_DIGITS):
            for size in _SIZES:
                gaps += self._gaps(size)
        passed = max(gaps) < mpmath.mpf(10) ** -20
        evidence = f"largest difference {mpmath.nstr(max(gaps), 2)}"
        return Checked(bool(passed), "differences in mean and covariance, d = 1, 2", evidence)

    def _gaps(self, size: int) -> list[Any]:
        found = self.found
        fields = [found.value, found.mean_gradient, found.cov_gradient]
        draw, values = _drawn(size, 3 + size, fields, (found.alpha, found.sigma, VALUE))
        factor = draw.lower_triangular(size) / 2
        at = {found.alpha: draw.matrix(size, 1), found.sigma: factor * factor.T}
        bend = draw.matrix(size, size)
        step = Rational(1, 10**15)
        gaps = []
        for symbol, gradient, direction in (
            (found.alpha, found.mean_gradient, draw.matrix(size, 1) + Matrix([1] * size)),
            (found.sigma, found.cov_gradient, bend + bend.T),
        ):
            moved = [{**at, symbol: at[symbol] + side * step * direction} for side in (1, -1)]
            ends = [_closed(found.value, {**values, **one}, draw.sizes) for one in moved]
            here = Float(str(_closed(found.value, {**values, **at}, draw.sizes)), _DIGITS)
            slope = explicit(_spelled(gradient), {**values, **at, VALUE: here}, draw.sizes)
            expected = _number((slope.T * direction).trace())
            gaps.append(abs((ends[0] - ends[1]) / (2 * _number(step)) - expected))
        return gaps


def _compared(method: str, gap: Any, expressions: tuple[Any, ...]) -> Checked:
    """Run a comparison at several sizes with many digits."""
    gaps = []
    with mpmath.workdps(_DIGITS):
        for size in _SIZES:
            gaps.append(gap(_law(size, expressions)))
    evidence = f"largest difference {mpmath.nstr(max(gaps), 2)} at d = {', '.join(map(str, _SIZES))}"
    return Checked(bool(max(gaps) < _TOLERANCE), f"{method}, {_DIGITS} digits", evidence)


def _law(size: int, expressions: tuple[Any, ...]) -> FiniteLaw:
    """Return a law on different rational points."""
    free = {s for e in expressions for s in e.free_symbols}
    skip = tuple(s for s in free if isinstance(s, MatrixSymbol) and s.name == "x")
    draw, values = _drawn(size, 17 * size, list(expressions), skip)
    sizes = {**draw.sizes, **{s: size for s in free if s.name == "d"}}
    points = tuple(tuple(_number(c + Rational(i, 7)) for c in draw.matrix(size, 1)) for i in range(_POINTS))
    masses = tuple(mpmath.mpf(i + 1) / 10 for i in range(_POINTS))
    return FiniteLaw(points, masses, values, sizes)


def _drawn(
    size: int, seed: int, expressions: list[Any], skip: tuple[Any, ...]
) -> tuple[Draw, dict[Any, Any]]:
    """Draw parameters of which none is zero, where much would agree by itself."""
    while True:
        draw = Draw(size, seed)
        values = draw.values(expressions, skip=skip)
        if not any(v == 0 or getattr(v, "is_zero_matrix", False) for v in values.values()):
            return draw, values
        seed += 100


def _moved(law: FiniteLaw, masses: list[Any]) -> FiniteLaw:
    return FiniteLaw(law.points, tuple(masses), law.values, law.sizes)


def _differences(function: Any, at: tuple[Any, ...]) -> list[Any]:
    h = mpmath.mpf(_STEP.p) / _STEP.q
    found = []
    for k in range(len(at)):
        ends = [function((*at[:k], at[k] + side * h, *at[k + 1 :])) for side in (1, -1)]
        found.append((ends[0] - ends[1]) / (2 * h))
    return found


def _closed(value: Any, values: dict[Any, Any], sizes: dict[Any, Any]) -> Any:
    return _number(explicit(_spelled(value), values, sizes))


def _spelled(expr: Any) -> Any:
    return expr.replace(lambda e: isinstance(e, LogDet), lambda e: log(Determinant(e.arg)))


def _exact(value: Any) -> Any:
    return Float(str(value), _DIGITS)


def _number(value: Any) -> Any:
    return mpmath.mpmathify(Float(value, _DIGITS) if value.is_Float else value.evalf(_DIGITS))
