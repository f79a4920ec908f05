"""Counterexamples to convexity: searched in floats, confirmed at nearby rational atoms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symflow.certify.propositions.convexity import StatedEnergy
from symflow.certify.search.curvature import Bending, CloudEnergy
from symflow.certify.taylor.geodesics import AtomicEnergy, Atoms
from symflow.certify.taylor.rings import BallRing, ExactRing
from symflow.certify.terms import Rejected

Array = Any  #: ndarray of float64
_PRECISION = 320  #: bits; more than the replay uses, so that its balls are wider only by rounding
_STARTS = 1500  #: clouds that are drawn
_KEPT = 12  #: clouds that are improved
_ROUNDS, _TRIES = 12, 40
_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
_DENOMINATORS = (1, 2, 4, 8, 32, 256, 4096, 2**20)
_MARGIN = 1e-9  #: relative; a second derivative that floats do not tell from the bound is not followed up


@dataclass(frozen=True)
class Outcome:
    """What a search has found.

    Attributes
    ----------
    witness : dict or None
        A proof object of atoms.
    least : float
        The least second derivative per squared length that was seen, up to rounding an upper bound of every
        modulus for which the energy is convex; infinite where there was none.
    """

    witness: dict[str, Any] | None
    least: float


def find_witness(
    stated: StatedEnergy, dimension: int, atoms: Sequence[int], check: Callable[[], None]
) -> Outcome:
    """Look for atoms whose energy bends less than is claimed.

    Parameters
    ----------
    stated : StatedEnergy
    dimension : int
        d.
    atoms : sequence of int
        Numbers of atoms that are tried.
    check : callable
        Raises when time is over; called between stages.
    """
    try:
        return _search(stated, dimension, atoms, check)
    except Rejected:  # a function without second derivatives, or matrices that do not fit
        return Outcome(None, np.inf)


def _search(stated: StatedEnergy, dimension: int, atoms: Sequence[int], check: Callable[[], None]) -> Outcome:
    energy = CloudEnergy(stated, dimension)
    rng = np.random.default_rng(20250130)
    bound, least = float(stated.modulus), np.inf
    for n in atoms:
        check()
        found = energy.bending(_starts(stated, n, dimension, rng))
        best = found.sorted(_KEPT)
        if not _is_below(best, bound):
            best = _improved(energy, best, stated, rng, check)
        least = min(least, float(best.ratios[0]))
        if _is_below(best, bound):
            for witness in _rational(energy, best, bound, stated):
                check()
                confirmed = confirm(stated, witness)
                if confirmed is not None:
                    return Outcome(confirmed, least)
    return Outcome(None, least)


def _is_below(found: Bending, bound: float) -> bool:
    least = float(found.ratios[0])
    return bool(np.isfinite(least) and least < bound - _MARGIN * max(1.0, abs(bound)))


def _starts(stated: StatedEnergy, n: int, d: int, rng: Any) -> Array:
    """Return clouds: of whole and half numbers first, then random ones on several scales."""
    if stated.space == "sphere":
        points = rng.normal(size=(_STARTS, n, d))
        spread = rng.choice((0.1, 0.5, 2.0, 50.0), size=(_STARTS, 1, 1))
        points = points[:, :1] + spread * points  # near consensus, and everywhere
        return points / np.linalg.norm(points, axis=-1, keepdims=True)
    if stated.domain.box is not None:
        box = np.array([[float(end) for end in side] for side in stated.domain.box])
        return box[:, 0] + (box[:, 1] - box[:, 0]) * rng.uniform(0.001, 0.999, size=(_STARTS, n, d))
    if stated.domain.radius is not None:
        points = rng.normal(size=(_STARTS, n, d))
        points /= np.linalg.norm(points, axis=-1, keepdims=True)
        radius = 0.999 * float(stated.domain.radius)
        return points * radius * rng.uniform(size=(_STARTS, n, 1)) ** (1 / d)
    plain = rng.integers(-4, 5, size=(_STARTS // 5, n, d)) / 4
    scales = rng.choice(_SCALES, size=(_STARTS, 1, 1))
    spread = scales * rng.normal(size=(_STARTS, n, d))
    return np.concatenate([np.zeros((1, n, d)), plain, spread])


def _improved(
    energy: CloudEnergy, best: Bending, stated: StatedEnergy, rng: Any, check: Callable[[], None]
) -> Bending:
    """Return better clouds near the given ones, by random steps that get shorter."""
    step = 0.5
    for _ in range(_ROUNDS):
        check()
        noise = rng.normal(size=(len(best.points), _TRIES, *best.points.shape[1:]))
        tried = best.points[:, None] + step * noise
        tried = _inside(stated, tried.reshape(-1, *best.points.shape[1:]))
        found = energy.bending(np.concatenate([best.points, tried])).sorted(len(best.points))
        step *= 0.9 if found.ratios[0] < best.ratios[0] else 0.5
        best = found
    return best


def _inside(stated: StatedEnergy, points: Array) -> Array:
    if stated.space == "sphere":
        return points / np.linalg.norm(points, axis=-1, keepdims=True)
    if stated.domain.box is not None:
        box = np.array([[float(end) for end in side] for side in stated.domain.box])
        margin = 1e-3 * (box[:, 1] - box[:, 0])
        return np.clip(points, box[:, 0] + margin, box[:, 1] - margin)
    if stated.domain.radius is not None:
        length = np.linalg.norm(points, axis=-1, keepdims=True)
        return points * np.minimum(1.0, 0.999 * float(stated.domain.radius) / np.maximum(length, 1e-300))
    return points


# ---- rational atoms


def _rational(energy: CloudEnergy, best: Bending, bound: float, stated: StatedEnergy) -> Iterator[Atoms]:
    """Yield rational atoms near the best clouds, those with small denominators first."""
    for denominator in _DENOMINATORS:
        for points in best.points:
            rounded = [_rounded(x, denominator, stated.space) for x in points]
            if len(set(rounded)) < len(rounded) or not all(stated.domain.has_inside(x) for x in rounded):
                continue
            found = energy.bending(np.array([[[float(c) for c in x] for x in rounded]]))
            if _is_below(found, bound):
                yield from _with_velocities(rounded, found.velocities[0], denominator, stated)


def _rounded(point: Array, denominator: int, space: str) -> tuple[Fraction, ...]:
    if space == "euclidean":
        return tuple(Fraction(round(float(c) * denominator), denominator) for c in point)
    # stereographic projection from the pole that is further away, on the largest coordinate
    pole = int(np.argmax(np.abs(point)))
    side = 1 if point[pole] > 0 else -1
    plane = [
        Fraction(round(float(c / (1 + abs(point[pole]))) * denominator), denominator)
        for k, c in enumerate(point)
        if k != pole
    ]
    square = sum((c * c for c in plane), Fraction(0))
    rest = [2 * c / (1 + square) for c in plane]
    return (*rest[:pole], side * (1 - square) / (1 + square), *rest[pole:])


def _with_velocities(
    points: Sequence[tuple[Fraction, ...]], velocities: Array, denominator: int, stated: StatedEnergy
) -> Iterator[Atoms]:
    weights = (Fraction(1, len(points)),) * len(points)
    largest = velocities.ravel()[np.argmax(np.abs(velocities))]
    for finer in dict.fromkeys((min(denominator, 4), denominator, 2**20)):
        scaled = tuple(
            tuple(Fraction(round(float(c / largest) * finer), finer) for c in v) for v in velocities
        )
        if stated.space == "sphere":
            scaled = tuple(_tangent(x, v) for x, v in zip(points, scaled, strict=True))
        if any(map(any, scaled)):
            yield Atoms(weights, tuple(points), scaled)


def _tangent(x: Sequence[Fraction], v: Sequence[Fraction]) -> tuple[Fraction, ...]:
    along = sum((a * b for a, b in zip(x, v, strict=True)), Fraction(0))
    return tuple(b - along * a for a, b in zip(x, v, strict=True))


def confirm(stated: StatedEnergy, atoms: Atoms) -> dict[str, Any] | None:
    """Return the proof object for atoms whose second derivative is below the bound, else None."""
    if not _is_simple(stated, atoms):
        return _confirm_in_balls(stated, atoms)
    try:
        ring = ExactRing()
        value, length = AtomicEnergy(stated, ring, atoms.dimension).second_derivative(atoms)
        if ring.sign(value - stated.modulus * length) >= 0:
            return None
        if len(str(value)) < 2000:
            return _record(atoms, str(value), str(length))
    except Rejected:  # a function without exact values there, or a number that grows too large
        pass
    return _confirm_in_balls(stated, atoms)


def _is_simple(stated: StatedEnergy, atoms: Atoms) -> bool:
    """Whether exact values stay short: the twisted metric divides by sums of exponentials, atom by atom."""
    common = math.lcm(*(c.denominator for x in atoms.points for c in x))
    return stated.metric.name != "twisted" or common <= (4 if len(atoms.points) > 2 else 64)


def _confirm_in_balls(stated: StatedEnergy, atoms: Atoms) -> dict[str, Any] | None:
    import flint

    with flint.ctx.workprec(_PRECISION):
        ring = BallRing()
        try:
            value, length = AtomicEnergy(stated, ring, atoms.dimension).second_derivative(atoms)
        except Rejected:
            return None
        if not value < ring.number(stated.modulus) * length:
            return None
        return _record(atoms, ball_record(value), ball_record(length))


def ball_record(value: Any) -> dict[str, str]:
    """Return a ball of about twenty digits that contains another, and is wider than its rounding."""
    middle = Fraction(int(value.mid().man_exp()[0])) * Fraction(2) ** int(value.mid().man_exp()[1])
    scale = Fraction(10) ** (20 - max(0, len(str(int(abs(middle))))))
    midpoint = Fraction(round(middle * scale)) / scale
    return {"midpoint": str(midpoint), "radius": str(2 / scale)}


def _record(atoms: Atoms, value: Any, length: Any) -> dict[str, Any]:
    return {
        "type": "atoms",
        "weights": [str(weight) for weight in atoms.weights],
        "points": [[str(c) for c in x] for x in atoms.points],
        "velocities": [[str(c) for c in v] for v in atoms.velocities],
        "value": value,
        "length": length,
    }
