r"""Critical points on the circle: a box around each with a unique zero of the gradient, and none elsewhere.

The proof object is ``{"parts": N, "points": [{"gaps": [...], "reach": r}, ...]}``: gaps of each listed
point but consensus in units of 2⁻⁵⁶ turns, and half the width of its box in parts 1/N of a turn. The replay
evaluates the torque on N arcs in balls, shows with Krawczyk's operator that each box has exactly one zero,
finds the inertia of the Hessian there, and then subdivides all configurations until each box lies in one of
these, or some set of tokens feels a torque of one sign from the others. For *refuted* the list may be
incomplete, and one point other than consensus is stable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.circle.cover import cover
from symflow.certify.circle.profile import Profile
from symflow.certify.circle.table import Table
from symflow.certify.circle.uniqueness import UNIT, Critical, certified, shown
from symflow.certify.propositions import propositions, require_scope
from symflow.certify.propositions.circle import CriticalPoints, StatedPoint, StatedPoints
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import InputError

PRECISION = 128  # bits
MAX_PARTS = 1 << 15
_KEYS = frozenset(("parts", "points"))
_POINT = frozenset(("gaps", "reach"))
_APART = UNIT >> 20  # by which gaps of different points must differ, far above the radius of a zero
_ROUNDED = UNIT // 10**5  # how far a stated gap may be from the centre


class ListOfCriticalPoints(ProofKind):
    """All critical points of n tokens on the circle, or a stable one other than consensus."""

    name = "critical-points"

    def replay(self, certificate: Certificate) -> Replay:
        """Certify every point, and that there is no other."""
        import flint

        lines: list[ReplayedLine] = []
        try:
            stated = _stated(certificate)
            with flint.ctx.workprec(PRECISION):
                witness = _Listed(stated, certificate.proof).replay(certificate.status, lines)
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        return Replay(True, tuple(lines), witness=witness)


def _stated(certificate: Certificate) -> StatedPoints:
    claim = propositions().get(certificate.claim)
    if not isinstance(claim, CriticalPoints):
        raise Rejected(f"a list of critical points says nothing about {certificate.claim}")
    require_scope(certificate, claim.scope(certificate.statement))
    stated = claim.read(certificate.statement)
    if stated.complete != (certificate.status == "proved"):
        raise Rejected("a list is complete where the claim is proved, and only there")
    return stated


@dataclass(frozen=True)
class _Placed:
    """A point of the proof object."""

    gaps: tuple[int, ...]
    reach: int


class _Listed:
    """The list while it is replayed."""

    def __init__(self, stated: StatedPoints, proof: Mapping[str, Any]) -> None:
        if set(proof) != _KEYS or not isinstance(proof["points"], (list, tuple)):
            raise Rejected("the proof has the keys parts, points, and points is a list")
        parts = proof["parts"]
        if type(parts) is not int or not 8 <= parts <= MAX_PARTS or parts & (parts - 1):
            raise Rejected(f"'parts' must be a power of two from 8 to {MAX_PARTS}")
        placed = [_read(record, stated.tokens) for record in proof["points"]]
        if len(placed) != len(stated.points) - 1:
            raise Rejected("the proof has one point for every stated one but consensus, which is first")
        self._stated, self._placed = stated, placed
        self._profile = Profile(stated.pair, stated.parameters)
        self._table = Table(self._profile, parts)

    def replay(self, status: str, lines: list[ReplayedLine]) -> dict[str, str] | None:
        """Check all points, add lines, and return the stable point that refutes the claim."""
        consensus = self._consensus()
        lines.append(_line("consensus", self._stated.points[0], "the Hessian is −w'(1)/n² (nI − 11ᵀ)"))
        found = []
        for index, (point, place) in enumerate(zip(self._stated.points[1:], self._placed, strict=True), 1):
            found.append(self._point(point, place))
            lines.append(_line(f"point {index}", point, "Krawczyk's operator in balls; inertia by LDLᵀ"))
        self._distinct(found)
        stable = [point for point in found if _inertia(point) == _inertia(consensus)]
        if status == "refuted":
            if not stable:
                raise Rejected("no point of the list but consensus is stable")
            kind = "maximum" if self._table.increasing else "minimum"
            return {"gaps in turns": shown(stable[0].gaps), "is": f"a strict local {kind} modulo rotation"}
        if stable:
            raise Rejected(f"{shown(stable[0].gaps)} is stable, too")
        boxes = cover(self._stated.tokens, self._table, [point.box for point in found])
        lines.append(ReplayedLine("complete", "there is no other", f"{boxes} boxes in whole numbers", True))
        return None

    def _consensus(self) -> StatedPoint:
        """Return what consensus is: every direction but rotation goes down where w increases."""
        first, others = self._stated.points[0], self._stated.tokens - 1
        up = 0 if self._table.increasing else others
        if first != StatedPoint((0,) * others + (1,), others - up, up):  # type: ignore[arg-type]
            raise Rejected(f"the first point must be consensus, with {up} increasing directions")
        return first

    def _point(self, stated: StatedPoint, place: _Placed) -> Critical:
        found = certified(place.gaps, place.reach, self._profile, self._table)
        if any(abs(gap - UNIT * told) > _ROUNDED for gap, told in zip(place.gaps, stated.gaps, strict=True)):
            raise Rejected(f"{shown(place.gaps)} is not the stated point")
        if _inertia(found) != _inertia(stated):
            raise Rejected(
                f"at {shown(place.gaps)} the energy increases in {found.increasing} directions and decreases "
                f"in {found.decreasing}"
            )
        return found

    def _distinct(self, found: list[Critical]) -> None:
        """Refuse the same point twice, up to shift and reflection, and consensus among the others."""
        for index, point in enumerate(found):
            if max(point.gaps) > UNIT // 2 + _APART:
                raise Rejected(f"{shown(point.gaps)} lies in an open half circle")
            for other in found[:index]:
                if any(_near(point.gaps, image) for image in _images(other.gaps)):
                    raise Rejected(f"{shown(point.gaps)} is listed twice")


def _read(record: Any, tokens: int) -> _Placed:
    if not isinstance(record, Mapping) or set(record) != _POINT:
        raise Rejected("a point of the proof has the keys gaps, reach")
    gaps, reach = record["gaps"], record["reach"]
    if not isinstance(gaps, (list, tuple)) or len(gaps) != tokens:
        raise Rejected(f"a point has {tokens} gaps")
    if not all(type(gap) is int and 0 <= gap <= UNIT for gap in gaps) or sum(gaps) != UNIT:
        raise Rejected("gaps must be whole, not negative, and add up to one turn")
    if type(reach) is not int or not 1 <= reach <= MAX_PARTS:
        raise Rejected("'reach' must be a positive whole number")
    return _Placed(tuple(gaps), reach)


def _inertia(point: Critical | StatedPoint) -> tuple[int, int]:
    return point.increasing, point.decreasing


def _images(gaps: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(*gaps[k:], *gaps[:k])[::way] for k in range(len(gaps)) for way in (1, -1)]


def _near(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    return all(abs(a - b) <= _APART for a, b in zip(left, right, strict=True))


def _line(name: str, point: StatedPoint, reason: str) -> ReplayedLine:
    gaps = ", ".join(f"{float(gap):.5f}" for gap in point.gaps)
    counts = f"increases in {point.increasing}, decreases in {point.decreasing} directions"
    said = f"gaps ({gaps}): the energy {counts}"
    return ReplayedLine(name, said, reason, True)
