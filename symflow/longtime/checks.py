"""Independent checks of long-time statements: the derived equations at exact points, no theorem used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from symflow.algebra.exact.rational import RationalMatrix, is_zero, zeros
from symflow.derive.steps import Checked
from symflow.longtime.curve import Clock, RationalCurve, sample_points
from symflow.longtime.reading import ExactProblem


@dataclass(frozen=True, eq=False)
class SolvesClosedEquations:
    """A curve solves Σ' = derived right-hand side: equal at more points than the degree of both sides."""

    exact: ExactProblem
    curve: RationalCurve
    clock: Clock

    def run(self) -> Checked:
        """Compare velocity and drift at rational values of the clock, and the start."""
        degree = (self._drift_degree() + len(self.clock.rate)) * (self.curve.degree + 1)
        passed = self.curve.at(0) == self.exact.sigma
        mean = zeros(self.exact.dim, 1)
        points = [s for s in sample_points(degree + 1 + self.curve.degree) if not self.curve.has_pole(s)]
        for s in points:
            velocity = self.curve.velocity(s) * self.clock.speed(s)
            passed = passed and velocity == self.exact.drift(mean, self.curve.at(s))[1]
        return Checked(
            bool(passed),
            "the derived equation at more rational points than its degree",
            f"velocity and right-hand side agree exactly at {len(points)} points (degree at most {degree})",
        )

    def _drift_degree(self) -> int:
        """Return a bound for the degree of the right-hand side as a rational function of Σ."""
        tilted = any(not is_zero(head.C) for head in self.exact.heads)
        return 2 + self.exact.dim * len(self.exact.heads) if tilted else 2


@dataclass(frozen=True, eq=False)
class Holds:
    """A finite exact computation that must be true, given with its evidence."""

    test: Callable[[], bool]
    method: str
    evidence: str

    def run(self) -> Checked:
        """Execute the computation."""
        return Checked(bool(self.test()), self.method, self.evidence)


@dataclass(frozen=True, eq=False)
class InitialVelocity:
    """The derived right-hand side at the start is the stated matrix."""

    exact: ExactProblem
    expected: RationalMatrix

    def run(self) -> Checked:
        """Evaluate the derived formula exactly."""
        found = self.exact.drift(zeros(self.exact.dim, 1), self.exact.sigma)[1]
        return Checked(
            bool(found == self.expected), "the derived equation in rational arithmetic", "equal at Σ₀"
        )
