"""Gaussian laws along whose geodesics an energy bends less than is claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from symflow.certify.propositions.convexity import StatedEnergy
from symflow.certify.search.bending import ball_record
from symflow.certify.taylor.gaussian import GaussianEnergy, MovingGaussian
from symflow.certify.taylor.rings import BallRing, ExactRing
from symflow.certify.terms import Rejected

_VARIANCES = tuple(Fraction(4) ** k for k in (0, -1, -2, 1, -4, 3))
_MEANS = (Fraction(0), Fraction(1))
_ROUNDINGS = (1, 4, 64, 4096)
_PRECISION = 320  #: bits
_MARGIN = 1e-9


def gaussian_witness(
    stated: StatedEnergy, dimension: int, check: Callable[[], None]
) -> dict[str, Any] | None:
    """Return the proof object of a Gaussian law and a velocity, or None where none is found.

    Parameters
    ----------
    stated : StatedEnergy
        With the Wasserstein or the Bures metric on ℝᵈ.
    dimension : int
    check : callable
        Raises when time is over.
    """
    energy = GaussianEnergy(stated, BallRing(), dimension)
    for mean, variance in product(_MEANS, _VARIANCES):
        check()
        law = _Law(energy, mean, variance, dimension)
        for moving in law.least(float(stated.modulus)):
            confirmed = _confirmed(stated, moving)
            if confirmed is not None:
                return confirmed
    return None


@dataclass(frozen=True)
class _Law:
    """N(m, sI), m with equal entries; the quadratic form of its velocities by polarisation, in floats."""

    energy: GaussianEnergy
    mean: Fraction
    variance: Fraction
    dimension: int

    def least(self, bound: float) -> Iterator[MovingGaussian]:
        """Yield rational velocities near the one that bends least, if that is below a bound."""
        lengths = [float(self._along(unit).square) for unit in np.eye(self._size)]
        try:
            form = self._form() / np.sqrt(np.outer(lengths, lengths))
        except Rejected:  # infinite there, or of another form
            return
        values, vectors = np.linalg.eigh(form)
        if not values[0] < bound - _MARGIN:
            return
        velocity = vectors[:, 0] / np.sqrt(lengths)
        velocity = velocity / velocity[np.argmax(np.abs(velocity))]
        for scale in _ROUNDINGS:
            yield self._along([Fraction(round(float(c) * scale), scale) for c in velocity])

    @property
    def _size(self) -> int:
        return self.dimension * (self.dimension + 3) // 2

    def _form(self) -> Any:
        units = np.eye(self._size)
        own = [self._second(unit) for unit in units]
        form = np.diag(own)
        for i in range(self._size):
            for j in range(i):
                both = self._second(units[i] + units[j])
                form[i, j] = form[j, i] = (both - own[i] - own[j]) / 2
        return form

    def _second(self, velocity: Any) -> float:
        return float(self.energy.second_derivative(self._along(velocity)))

    def _along(self, velocity: Any) -> MovingGaussian:
        """Return the law with a velocity given by b and the upper triangle of S."""
        d, entries = self.dimension, [Fraction(c) for c in velocity]
        slope = [[Fraction(0)] * d for _ in range(d)]
        for (i, j), entry in zip(combinations_with_replacement(range(d), 2), entries[d:], strict=True):
            slope[i][j] = slope[j][i] = entry
        return MovingGaussian(
            mean=(self.mean,) * d,
            covariance=tuple(tuple(self.variance * (i == j) for j in range(d)) for i in range(d)),
            shift=tuple(entries[:d]),
            slope=tuple(map(tuple, slope)),
        )


def _confirmed(stated: StatedEnergy, law: MovingGaussian) -> dict[str, Any] | None:
    try:
        ring = ExactRing()
        value = GaussianEnergy(stated, ring, law.dimension).second_derivative(law)
    except Rejected:  # a root that is not rational, for instance
        return _confirmed_in_balls(stated, law)
    if ring.sign(value - stated.modulus * law.square) >= 0:
        return None
    return _record(law, str(value), str(law.square))


def _confirmed_in_balls(stated: StatedEnergy, law: MovingGaussian) -> dict[str, Any] | None:
    import flint

    with flint.ctx.workprec(_PRECISION):
        ring = BallRing()
        try:
            value = GaussianEnergy(stated, ring, law.dimension).second_derivative(law)
        except Rejected:
            return None
        length = ring.number(law.square)
        if not value < ring.number(stated.modulus) * length:
            return None
        return _record(law, ball_record(value), ball_record(length))


def _record(law: MovingGaussian, value: Any, length: Any) -> dict[str, Any]:
    return {
        "type": "gaussian",
        "mean": [str(c) for c in law.mean],
        "covariance": [[str(c) for c in row] for row in law.covariance],
        "shift": [str(c) for c in law.shift],
        "slope": [[str(c) for c in row] for row in law.slope],
        "value": value,
        "length": length,
    }
