"""Independent checks of long-time statements: the derived equations at exact points, no theorem used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symflow.algebra.exact.rational import RationalMatrix, fmpq, fractions, identity, is_zero, zeros
from symflow.derive.steps import Checked
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.longtime.curve import Array, Clock, RationalCurve, sample_points
from symflow.longtime.quadratic import QuadraticFlow
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Form


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


@dataclass(frozen=True, eq=False)
class MeanSeries:
    r"""The power series of :math:`e^{tV}(I - tX)^{-1/2}\alpha_0` obeys the recurrence of the mean's equation.

    With :math:`\Sigma(t) = \sum_jt^jX^j\Sigma_0` that is
    :math:`(k+1)\alpha_{k+1} = \sum_hV_h(\alpha_k + \sum_{j\le k}X^j\Sigma_0A_h\alpha_{k-j})`.
    """

    exact: ExactProblem
    flow: QuadraticFlow
    order: int = 8

    def run(self) -> Checked:
        """Compare the coefficients in rational arithmetic."""
        X = self.exact.sigma * self.flow.S
        root, growth = [self.exact.alpha], [identity(self.exact.dim)]
        for k in range(1, self.order + 1):
            root.append(X * root[-1] * (fmpq(2 * k - 1) / (2 * k)))
            growth.append(growth[-1] * self.flow.value * (fmpq(1) / k))
        alpha = [
            sum((growth[i] * root[k - i] for i in range(1, k + 1)), growth[0] * root[k])
            for k in range(self.order + 1)
        ]
        passed = all(alpha[k + 1] * (k + 1) == self._slope(alpha, X, k) for k in range(self.order))
        evidence = f"{self.order} coefficients agree exactly"
        return Checked(passed, "power series in rational arithmetic", evidence)

    def _slope(self, alpha: list[RationalMatrix], X: RationalMatrix, k: int) -> RationalMatrix:
        slope = self.flow.value * alpha[k]
        power = self.exact.sigma
        for j in range(k + 1):
            for V, A in self.flow.pairs:
                slope = slope + V * power * A * alpha[k - j]
            power = X * power
        return slope


@dataclass(frozen=True, eq=False)
class FollowsCompiledFlow:
    """A closed form against the compiled flow, which integrates the derived equations."""

    exact: ExactProblem
    form: Form
    ends: float | None = None

    def run(self) -> Checked:
        """Compare the two at one time, at most half of the blow-up time."""
        problem = self.exact.problem
        params = {name: problem.values[name] for name in problem.given}
        end = 1.0 / (1.0 + float(np.abs(problem.initial.cov).max()))
        end = end if self.ends is None else min(end, 0.5 * self.ends)
        run = solve(problem.model, problem.initial, params, (0.0, end), t_eval=[end], rtol=1e-11, atol=1e-13)
        mean, cov = self.form(end)
        error = _relative(run.cov[-1], cov)
        if mean is not None:
            error = max(error, _relative(run.mean[-1], mean))
        return Checked(error < 1e-8, "the compiled flow", f"relative difference {error:.1e} at t = {end:.3g}")


@dataclass(frozen=True, eq=False)
class BlowsUpInCompiledFlow:
    """The compiled flow, which knows no formula for the time, blows up then, or at the latest then."""

    exact: ExactProblem
    time: float
    at_latest: bool = False

    def run(self) -> Checked:
        """Integrate the centred law to twice the time."""
        problem = self.exact.problem
        params = {name: problem.values[name] for name in problem.given}
        initial = Gaussian(np.zeros(self.exact.dim), np.array(fractions(self.exact.sigma), dtype=float))
        end = max(2 * self.time, 1.0)
        run = solve(problem.model, initial, params, (0.0, end), rtol=1e-10, atol=1e-13)
        ratio = np.inf if run.t_star is None else run.t_star / self.time
        passed = ratio < 1 + 1e-6 and (self.at_latest or ratio > 1 - 1e-6)
        return Checked(bool(passed), "the compiled flow", f"it extrapolates a blow-up at {run.t_star}")


def _relative(found: Array, wanted: Array) -> float:
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-300))
