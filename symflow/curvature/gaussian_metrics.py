r"""Which velocity a Gaussian tangent has in each metric, and the second variation along it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.rational import fractions, rational_matrix
from symflow.curvature.cloud import Rows
from symflow.curvature.gaussians import (
    Evaluator,
    GaussianLaw,
    GaussianVariation,
    Tangent,
    linear_part,
    upper_entries,
)
from symflow.curvature.twist import Twist
from symflow.derive.second_variation.gaussian import (
    ALPHA,
    SIGMA,
    bent_part,
    energy_part,
    metric_part,
    straight_part,
)
from symflow.derive.second_variation.twisted import twisted_metric
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement

__all__ = ["bures_variation", "twisted_variation"]


def bures_variation(
    statement: EnergyStatement, values: Mapping[Any, Any], law: GaussianLaw
) -> GaussianVariation:
    """Return the second variation along geodesics Σ(t) = (I + tS)Σ(I + tS), α(t) = α + ta."""
    evaluator = _evaluator(statement, values, law)
    straight = straight_part(statement)
    evaluator.refuse_outside(straight)

    def metric(tangent: Tangent) -> Any:
        drift, S = (rational_matrix(part) for part in tangent)
        spread = S * rational_matrix(law.cov) * S
        trace = sum((spread[i, i] for i in range(law.size)), (drift.transpose() * drift)[0, 0])
        return Fraction(int(trace.p), int(trace.q))

    return GaussianVariation(
        law,
        lambda tangent: evaluator.average(straight, *tangent),
        metric,
        lambda slope, change: ([[entry] for entry in slope], linear_part(law.cov, change)),
        _energy(statement, evaluator, law.size),
    )


def twisted_variation(
    statement: EnergyStatement, values: Mapping[Any, Any], law: GaussianLaw, twist: Twist
) -> GaussianVariation:
    r"""Return the second variation along geodesics of the twisted metric whose velocity is affine at the law.

    For d = 1 every Gaussian tangent has such a velocity. For d ≥ 2, Σ ≻ 0, those that are optimal are the
    multiples of :math:`|M|^{-1}\nabla\log G_\mu`, because :math:`G_\mu|M|v` has to be a gradient.
    """
    metric = twisted_metric()
    evaluator = _evaluator(statement, {**values, metric.parameters[0]: twist.A, metric.size: twist.size}, law)
    length, straight, bent = metric_part(metric), straight_part(statement), bent_part(statement, metric)
    for parts in (length, straight, bent):
        evaluator.refuse_outside(parts)

    def form(tangent: Tangent) -> Any:
        return evaluator.average(straight, *tangent) + evaluator.average(bent, *tangent)

    basis, velocity = _tangents(law, twist)
    energy = _energy(statement, evaluator, law.size)
    return GaussianVariation(
        law, form, lambda tangent: evaluator.average(length, *tangent), velocity, energy, basis
    )


def _tangents(law: GaussianLaw, twist: Twist) -> tuple[Any, Any]:
    """Return the coordinates that span the tangents with affine optimal velocity, and that velocity."""
    if law.size == 1:
        spread = 2 * law.cov[0][0]
        return None, lambda slope, change: ([[slope[0]]], [[change[0][0] / spread]])
    A, P, cov, mean = (rational_matrix(m) for m in (twist.A, twist.inverse, law.cov, law.mean))
    linear, drift = P * A * cov * A, P * A * (mean + cov * A * mean)
    change = fractions(linear * cov + cov * linear.transpose())
    direction = [*(row[0] for row in fractions(drift)), *upper_entries(change)]

    def velocity(slope: list[Fraction], change: Rows) -> Tangent:
        factor = _multiple([*slope, *upper_entries(change)], direction)
        return _scaled(factor, drift), _scaled(factor, linear)

    return [direction], velocity


#: Relative to the largest coordinate: how far floats may be from the one direction.
_ROUNDING = Fraction(1, 10**9)


def _multiple(given: list[Fraction], direction: list[Fraction]) -> Fraction:
    """Return c with given = c · direction."""
    square = sum((e * e for e in direction), Fraction(0))
    factor = sum((g * e for g, e in zip(given, direction, strict=True)), Fraction(0)) / square
    allowed = _ROUNDING * max(abs(entry) for entry in given)
    if any(abs(g - factor * e) > allowed for g, e in zip(given, direction, strict=True)):
        raise InputError(
            "v is no multiple of the one direction in .frame, |M|⁻¹∇log G: in d ≥ 2 the optimal velocity of "
            "every other Gaussian tangent is not affine, and no closed form is known for it"
        )
    return factor


def _scaled(factor: Fraction, matrix: Any) -> Rows:
    return [[factor * entry for entry in row] for row in fractions(matrix)]


def _energy(statement: EnergyStatement, evaluator: Evaluator, size: int) -> Callable[[Rows, Rows], Any]:
    """Return F as a function of mean and covariance."""
    parts = energy_part(statement)
    still = [[Fraction(0)]] * size, [[Fraction(0)] * size] * size

    def value(mean: Rows, cov: Rows) -> Any:
        there = Evaluator({**evaluator.values, ALPHA: mean, SIGMA: cov}, evaluator.sizes)
        there.refuse_outside(parts)
        return there.average(parts, *still)

    return value


def _evaluator(statement: EnergyStatement, values: Mapping[Any, Any], law: GaussianLaw) -> Evaluator:
    sizes = {statement.dimensions[0]: law.size}
    return Evaluator({**values, ALPHA: law.mean, SIGMA: law.cov}, sizes)
