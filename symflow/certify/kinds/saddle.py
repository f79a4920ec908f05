r"""Strict saddles on products of spheres: a critical point, and a direction of second order.

The proof object is ``{"direction": rows or null}``. With exact tokens the derivatives along all tangent
vectors are computed by series along great circles and must vanish exactly; then ``direction``, one tangent
vector per token, has a second derivative of the wanted sign. For *refuted* there is none: a derivative does
not vanish, or the second derivatives along all pairs of tangent vectors form a matrix whose exact inertia
shows no such direction. With tokens known up to a radius everything is done in balls: Krawczyk's operator
modulo rotations and Gershgorin's discs, without a direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symflow.algebra.exact.inertia import inertia
from symflow.algebra.exact.real import sign
from symflow.certify.certificate import Certificate
from symflow.certify.propositions import propositions, require_scope
from symflow.certify.propositions.saddle import StatedTokens, StrictSaddle, coordinate
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.sphere.enclosed import Neighbourhood
from symflow.certify.sphere.exact import ExactPoint
from symflow.certify.terms import Rejected
from symflow.errors import InputError, Undecided

PRECISION = 160  # bits
_CRITICAL = "every derivative along a tangent vector is zero"


class Saddle(ProofKind):
    """Tokens that are a strict saddle, or are none."""

    name = "saddle"

    def replay(self, certificate: Certificate) -> Replay:
        """Compute all derivatives from the definition of the energy."""
        import flint

        lines: list[ReplayedLine] = []
        try:
            stated = _stated(certificate)
            refuted = certificate.status == "refuted"
            direction = _direction(certificate.proof, stated, needed=not refuted)
            with flint.ctx.workprec(PRECISION):
                if stated.radius is not None:
                    witness = _ball(stated, refuted, lines)
                elif direction is None:
                    witness = _no_saddle(stated, lines)
                else:
                    witness = None
                    _saddle(stated, direction, lines)
        except (InputError, Rejected, Undecided) as error:
            return Replay(False, tuple(lines), str(error))
        return Replay(True, tuple(lines), witness=witness)


def _stated(certificate: Certificate) -> StatedTokens:
    claim = propositions().get(certificate.claim)
    if not isinstance(claim, StrictSaddle):
        raise Rejected(f"a saddle says nothing about {certificate.claim}")
    require_scope(certificate, claim.scope(certificate.statement))
    return claim.read(certificate.statement)


def _direction(proof: Mapping[str, Any], stated: StatedTokens, needed: bool) -> list[list[Any]] | None:
    if set(proof) != {"direction"}:
        raise Rejected("the proof has the key direction")
    rows = proof["direction"]
    if not needed or stated.radius is not None:
        if rows is not None:
            raise Rejected("a direction belongs to a proof about exact tokens")
        return None
    if not isinstance(rows, (list, tuple)) or len(rows) != len(stated.points):
        raise Rejected("the direction has one row for every token")
    if not all(isinstance(row, (list, tuple)) and len(row) == len(stated.points[0]) for row in rows):
        raise Rejected("a row of the direction has as many entries as a token")
    return [[coordinate(text, stated.field) for text in row] for row in rows]


def _saddle(stated: StatedTokens, direction: Sequence[Sequence[Any]], lines: list[ReplayedLine]) -> None:
    point = ExactPoint(stated.energy, stated.points)
    if (steep := _steep(point)) is not None:
        raise Rejected(f"the tokens are not critical: {steep}")
    lines.append(ReplayedLine("critical", _CRITICAL, "series along great circles, exact", True))
    value = point.second(direction)
    if sign(value) != stated.sign:
        raise Rejected(f"the second derivative along the direction is {value}")
    shown = "; ".join("(" + ", ".join(map(str, vector)) + ")" for vector in direction)
    said = f"the second derivative along {shown} is {value}"
    lines.append(ReplayedLine("direction", said, f"exact, about {float(value):.6g}", True))


def _no_saddle(stated: StatedTokens, lines: list[ReplayedLine]) -> dict[str, str]:
    point = ExactPoint(stated.energy, stated.points)
    if (steep := _steep(point)) is not None:
        lines.append(ReplayedLine("slope", steep, "series along great circles, exact", True))
        return {"not critical": steep}
    lines.append(ReplayedLine("critical", _CRITICAL, "series along great circles, exact", True))
    found = inertia(point.hessian())
    if (found.positive if stated.sign > 0 else found.negative) > 0:
        raise Rejected("there is a direction of the wanted sign")
    counts = f"{found.positive} are positive, {found.negative} negative, {found.zero} zero"
    said = f"of the eigenvalues of the Hessian {counts}"
    lines.append(ReplayedLine("inertia", said, "exact", True))
    return {"critical, without the direction": said}


def _steep(point: ExactPoint) -> str | None:
    """Return a derivative that does not vanish, in words; None at a critical point."""
    for index, (values, vectors) in enumerate(zip(point.gradient(), point.frame, strict=True)):
        for value, vector in zip(values, vectors, strict=True):
            if sign(value):
                shown = ", ".join(map(str, vector))
                return f"moving token {index} along ({shown}) changes the energy at the rate {value}"
    return None


def _ball(stated: StatedTokens, refuted: bool, lines: list[ReplayedLine]) -> dict[str, str] | None:
    assert stated.radius is not None  # the caller asks
    near = Neighbourhood(stated.energy, stated.points, stated.radius)
    if refuted:
        return _ball_without(near, stated, lines)
    kind = near.critical_point()
    counts = f"the energy increases in {kind.increasing} and decreases in {kind.decreasing} directions"
    if (kind.increasing if stated.sign > 0 else kind.decreasing) == 0:
        raise Rejected(f"{counts}: no strict saddle")
    lines.append(ReplayedLine("critical", "within the radius, isolated modulo rotations", "Krawczyk", True))
    lines.append(ReplayedLine("inertia", counts, "Gershgorin discs in balls", True))
    return None


def _ball_without(near: Neighbourhood, stated: StatedTokens, lines: list[ReplayedLine]) -> dict[str, str]:
    if near.has_no_critical_point():
        said = "a component of the gradient does not vanish within the radius"
    elif near.has_no_direction(stated.sign):
        sense = "no direction of second-order " + ("ascent" if stated.sign > 0 else "descent")
        said = f"critical points within the radius have {sense}"
    else:
        raise Rejected("neither is the gradient shown not to vanish, nor the Hessian to be of one sign")
    lines.append(ReplayedLine("neighbourhood", said, "balls", True))
    return {"within the radius": said}
