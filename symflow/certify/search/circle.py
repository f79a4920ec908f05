"""A list of critical points on the circle, as a certificate: boxes around points found in floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions.circle import CRITICAL_POINTS

_UNIT = 1 << 56
#: Share of the widest box for which the gradient looks one-to-one.
_SAFETY = 0.8
_DIGITS = 5


@dataclass(frozen=True)
class FoundPoint:
    """A critical point in floats: gaps in turns, all eigenvalues modulo rotation, the width of its box."""

    gaps: tuple[float, ...]
    eigenvalues: tuple[float, ...]
    reach: float


def list_critical_points(
    pair: str,
    parameters: Mapping[str, Fraction],
    points: Sequence[FoundPoint],
    *,
    complete: bool,
    parts: int = 1 << 11,
) -> Certificate:
    """Return the certificate that ``points`` are critical, and with consensus all that are.

    Parameters
    ----------
    pair : str
        Text of W(x, y).
    parameters : mapping of str to Fraction
    points : sequence of FoundPoint
        Consensus first.
    complete : bool
        Whether to claim that there are no others and that consensus is the only stable point; else that one
        of these is stable, too.
    parts : int
        Into how many arcs a turn is divided, a power of two.
    """
    statement = {
        "pair": pair,
        "parameters": {name: str(value) for name, value in parameters.items()},
        "tokens": len(points[0].gaps),
        "complete": complete,
        "points": [_stated(point) for point in points],
    }
    placed = [
        {"gaps": _whole(point.gaps, _UNIT), "reach": max(1, int(_SAFETY * point.reach * parts))}
        for point in points[1:]
    ]
    return Certificate(
        claim=CRITICAL_POINTS.claim,
        status="proved" if complete else "refuted",
        kind="critical-points",
        statement=statement,
        scope=CRITICAL_POINTS.scope(statement),
        assumes=(),
        proof={"parts": parts, "points": placed},
        versions=software(),
    )


def _stated(point: FoundPoint) -> dict[str, Any]:
    return {
        "gaps": [f"{max(gap, 0.0):.{_DIGITS}f}" for gap in point.gaps],
        "decreasing": sum(bool(value < 0) for value in point.eigenvalues),
        "increasing": sum(bool(value > 0) for value in point.eigenvalues),
    }


def _whole(gaps: Sequence[float], unit: int) -> list[int]:
    """Return gaps in whole units that add up to one turn; rounding is left to the largest."""
    found = [round(Fraction(max(gap, 0.0)) * unit) for gap in gaps]
    found[found.index(max(found))] += unit - sum(found)
    return found
