"""Independent checks of the doubly stochastic scaling of a kernel between two copies of a Gaussian law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import BlockMatrix, Expr, Matrix, log, pi, symbols

from symflow.derive.checks import by_quadrature, lattice_integral, lattice_mean
from symflow.derive.components import ROOT_DIGITS, Draw, explicit, in_digits, is_nonzero
from symflow.derive.steps import Checked

#: An eigenvalue above this is not negative; roots are taken to :data:`ROOT_DIGITS` digits.
_NEGATIVE = -(mpmath.mpf(10) ** -40)


@dataclass(frozen=True)
class MixedDifferences:
    """The mixed difference of the score in x and y is that of ``yᵀBx``, at rational points."""

    score: Expr
    bilinear: Any
    x: Any
    y: Any

    def run(self) -> Checked:
        """Compare exactly at d = 1, 2, 3."""
        for size in (1, 2, 3):
            draw = Draw(size, seed=17 * size)
            values = draw.values([self.score, self.bilinear], skip=(self.x, self.y))
            points = [draw.matrix(size, 1) for _ in range(4)]
            mixed = mixed_difference(self._score(values, draw), points)
            bilinear = explicit(self.bilinear, values, draw.sizes)
            stated = ((points[2] - points[3]).T * bilinear * (points[0] - points[1]))[0]
            if is_nonzero(mixed - stated):
                return Checked(False, "mixed differences", f"d = {size}: {mixed} against {stated}")
        return Checked(True, "mixed differences at rational points, d = 1, 2, 3", "residual 0")

    def _score(self, values: Any, draw: Draw) -> Any:
        return lambda x, y: explicit(self.score, {**values, self.x: x, self.y: y}, draw.sizes)


@dataclass(frozen=True)
class BlockPrecision:
    """The precision of (x, y) with y given x from N(Hx, S) has the off-diagonal block −S⁻¹H."""

    def run(self) -> Checked:
        """Invert the joint covariance exactly at d = 1, 2, 3."""
        for size in (1, 2, 3):
            draw = Draw(size, seed=19 * size)
            factor, gain = draw.lower_triangular(size), draw.matrix(size, size)
            sigma = factor * factor.T
            spread = sigma - gain * sigma * gain.T
            joint = Matrix(BlockMatrix([[sigma, sigma * gain.T], [gain * sigma, sigma]]))
            residual = joint.inv()[size:, :size] + spread.inv() * gain
            if any(residual):
                return Checked(False, "exact block inverse", f"d = {size}: residual {list(residual)}")
        return Checked(True, "exact block inverse at d = 1, 2, 3", "residual 0")


@dataclass(frozen=True)
class SelfCoupling:
    """H solves ``H = SB`` with ``S = Σ − HΣHᵀ ⪰ 0``, for regular and singular Σ and B."""

    gain: Any
    spread: Any
    bilinear: Any
    covariance: Any

    def run(self) -> Checked:
        """Evaluate at random non-symmetric B with d = 1 to 4, to many digits."""
        for size in (1, 2, 3, 4):
            for rank in dict.fromkeys((size, max(1, size - 1))):
                found = self._residual(size, rank)
                if found:
                    return Checked(False, "equation of the coupling", f"d = {size}, rank {rank}: {found}")
        evidence = "d = 1, 2, 3, 4, Σ and B of rank d and d − 1"
        return Checked(True, f"equation of the coupling to {ROOT_DIGITS - 20} digits", evidence)

    def _residual(self, size: int, rank: int) -> str:
        draw = Draw(size, seed=23 * size + rank)
        draw.values(self.gain, skip=())  # fixes the sizes
        factor = draw.lower_triangular(size)[:, :rank]
        sigma, bilinear = factor * factor.T, 4 * draw.matrix(size, rank) * draw.matrix(rank, size)
        values = {self.covariance: sigma, self.bilinear: bilinear}
        gain, stated = (explicit(e, values, draw.sizes) for e in (self.gain, self.spread))
        spread = sigma - gain * sigma * gain.T
        residual = (gain - spread * bilinear).row_join(spread - stated)
        if any(is_nonzero(entry) for entry in residual):
            return f"residual {list(residual)}"
        with mpmath.workdps(ROOT_DIGITS):
            least = min(mpmath.eigsy(in_digits((spread + spread.T) / 2), eigvals_only=True))
        return "" if least > _NEGATIVE else f"Σ − HΣHᵀ has the eigenvalue {mpmath.nstr(least, 5)}"


@dataclass(frozen=True)
class DoublyStochastic:
    r"""The weights are the doubly stochastic scaling of e^{score}; their average of the value is the field.

    The log-density of N(α + H(x − α), Σ − HΣHᵀ) with respect to N(α, Σ) differs from the score by a function
    of x plus one of y, and its integrals over x and over y are one: only the doubly stochastic scaling is so.
    """

    score: Expr
    value: Any
    field: Any
    gain: Any
    x: Any
    y: Any
    mean: Any
    covariance: Any

    def run(self) -> Checked:
        """Sum over lattices at d = 1, 2."""
        return by_quadrature(
            lambda size, digits: max(self._errors(size, digits)),
            "both marginals and the average by lattice quadrature",
        )

    def _errors(self, size: int, digits: int) -> list[Any]:
        case = _Case(self, size)
        x, y = case.draw.matrix(size, 1), case.draw.matrix(size, 1)
        points = [case.draw.matrix(size, 1) for _ in range(4)]
        mixed = mixed_difference(case.log_density, points) - mixed_difference(case.score, points)
        coordinates = symbols(f"z0:{size}", real=True)
        moving = case.centre + case.factor * Matrix(coordinates)
        gauss = -sum(z**2 for z in coordinates) / 2 - log(2 * pi) * size / 2
        row = (case.log_density(x, moving) + gauss).evalf(digits + 10).expand()
        column = (case.log_density(moving, y) + gauss).evalf(digits + 10).expand()
        marginals = [lattice_integral(w, coordinates, digits) - 1 for w in (row, column)]
        averages = lattice_mean(row, list(case.value(x, moving)), coordinates, digits)
        field = [mpmath.mpmathify(e.evalf(digits + 10)) for e in case.field(x)]
        differences = [a - b for a, b in zip(field, averages, strict=True)]
        return [abs(e) for e in (mpmath.mpmathify(mixed.evalf(digits + 10)), *marginals, *differences)]


class _Case:
    """The functions of a check with explicit random parameters."""

    def __init__(self, check: DoublyStochastic, size: int) -> None:
        self.check, self.draw = check, Draw(size, seed=29 * size)
        skip = (check.x, check.y, check.mean, check.covariance)
        fixed = self.draw.values([check.score, check.value, check.field, check.gain], skip=skip)
        self.centre, self.factor = self.draw.matrix(size, 1), self.draw.lower_triangular(size)
        sigma = self.factor * self.factor.T
        self._values = {**fixed, check.mean: self.centre, check.covariance: sigma}
        self._gain = self._explicit(check.gain)
        spread = sigma - self._gain * sigma * self._gain.T
        self._precisions = spread.inv(), sigma.inv()
        self._volume = log(sigma.det() / spread.det()) / 2

    def _explicit(self, expression: Any, **vectors: Any) -> Any:
        named = {getattr(self.check, name): vector for name, vector in vectors.items()}
        return explicit(expression, {**self._values, **named}, self.draw.sizes)

    def score(self, x: Any, y: Any) -> Any:
        return self._explicit(self.check.score, x=x, y=y)

    def value(self, x: Any, y: Any) -> Any:
        return self._explicit(self.check.value, x=x, y=y)

    def field(self, x: Any) -> Any:
        return self._explicit(self.check.field, x=x)

    def log_density(self, x: Any, y: Any) -> Any:
        """Return the logarithm of the density of the law of y given x with respect to μ."""
        inner, outer = self._precisions
        away, centred = y - self.centre - self._gain * (x - self.centre), y - self.centre
        return self._volume + (-(away.T * inner * away)[0] + (centred.T * outer * centred)[0]) / 2


def mixed_difference(function: Any, points: list[Any]) -> Any:
    """Return f(x, y) − f(x', y) − f(x, y') + f(x', y') for ``points`` = [x, x', y, y']."""
    first, second, third, fourth = points
    here, there = (function(first, y) - function(second, y) for y in (third, fourth))
    return here - there
