r"""Independent checks where the energy is a cost of transport: differences of the cost, many digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import Rational

from symflow.algebra.assembly import total
from symflow.algebra.functionals.average import average
from symflow.derive.checks import Together
from symflow.derive.components import ROOT_DIGITS, in_digits
from symflow.derive.energies.checks import Mixtures, SpatialDifferences
from symflow.derive.energies.finite import FiniteLaw
from symflow.derive.gradient_flow.checks import Sample, samples
from symflow.derive.gradient_flow.matching import Averages, Joined
from symflow.derive.particles.cloud import defined_velocities
from symflow.derive.steps import Checked
from symflow.models.statement import Statement

#: Dimensions and numbers of tokens; the step of central differences, whose error is its square.
_SIZES, _STEP, _TOLERANCE = ((1, 2), (2, 3)), Rational(1, 10**18), mpmath.mpf(10) ** -28


@dataclass(frozen=True)
class CouplingVariation:
    """The first variation along mixtures of laws, and its gradient at points beside them."""

    found: Averages

    def run(self) -> Checked:
        """Take differences of the cost, and of the potentials."""
        found = self.found
        gradient = _averaged(found)
        routes = (
            Mixtures(found.functional, found.variation, found.x),
            SpatialDifferences(found.variation, gradient, found.x),
        )
        return Together(routes).run()


def _averaged(found: Averages) -> Any:
    """Return the average of the integrand over the law."""
    terms = found.slope.args if found.slope.is_MatAdd else (found.slope,)
    return total(*(average(term, found.y) for term in terms))


@dataclass(frozen=True)
class CoupledFlow:
    """Velocities of the definition against differences of the cost.

    ``what`` is ``"gradient"`` for Mx' = n∇F at each token, or ``"rate"`` for dF/dt along all velocities.
    """

    statement: Statement
    found: Averages
    joined: Joined
    what: str

    def run(self) -> Checked:
        """Move each token in each direction, or all with their velocities."""
        method = f"differences of the scaled cost at rational tokens, {ROOT_DIGITS} digits"
        worst = mpmath.mpf(0)
        for sample in samples(self.statement, self.found, 47, self.joined, _SIZES):
            with mpmath.workdps(ROOT_DIGITS):
                gaps = self._rate(sample) if self.what == "rate" else self._gradients(sample)
                worst = max(worst, *gaps)
        return Checked(bool(worst < _TOLERANCE), method, f"largest difference {mpmath.nstr(worst, 2)}")

    def _read(self, sample: Sample) -> tuple[Any, list[Any], list[Any]]:
        """Return M, tokens and velocities in digits."""
        velocities = defined_velocities(self.statement, sample.cloud)
        metric = in_digits(sample.of(self.joined.metric))
        return metric, *([in_digits(v) for v in part] for part in (sample.cloud.tokens, velocities))

    def _gradients(self, sample: Sample) -> list[Any]:
        metric, tokens, velocities = self._read(sample)
        gaps = []
        for i, (token, velocity) in enumerate(zip(tokens, velocities, strict=True)):
            units = mpmath.eye(len(token))
            slopes = mpmath.matrix([self._slope(sample, tokens, {i: units[:, k]}) for k in range(len(token))])
            if self.found.space == "sphere":
                slopes -= (token.T * slopes)[0] * token
            gaps += [abs(e) for e in len(tokens) * slopes - metric * velocity]
        return gaps

    def _rate(self, sample: Sample) -> list[Any]:
        metric, tokens, velocities = self._read(sample)
        expected = mpmath.fsum((v.T * (metric * v))[0] for v in velocities) / len(tokens)
        return [abs(self._slope(sample, tokens, dict(enumerate(velocities))) - expected), mpmath.mpf(0)]

    def _slope(self, sample: Sample, tokens: list[Any], motion: dict[int, Any]) -> Any:
        """Return the derivative of F as some tokens move."""
        h = mpmath.mpf(_STEP.p) / _STEP.q
        ends = []
        for side in (1, -1):
            moved = [x + side * h * motion[i] if i in motion else x for i, x in enumerate(tokens)]
            points = tuple(tuple(x) for x in moved)
            masses = tuple(mpmath.mpf(p.p) / p.q for p in sample.cloud.law)
            law = FiniteLaw(points, masses, sample.values, sample.cloud.sizes)
            ends.append(law.number(self.found.functional))
        return (ends[0] - ends[1]) / (2 * h)
