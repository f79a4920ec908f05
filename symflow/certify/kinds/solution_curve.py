"""Solution curve: the covariance of one law in closed form, and how it ends.

The proof object is ``{"closure": identity chain, "clock": {...}, "solution": rows}``: the closed system of
the model, and the solution from the stated law as a rational curve with a clock
(:mod:`symflow.certify.curves`).
"""

from __future__ import annotations

from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.curves import Curve, curve_witness, read_curve
from symflow.certify.fate import BLOW_UP, GLOBAL, check_rest, closed_law, mean_at_rest
from symflow.certify.propositions.law import Law
from symflow.certify.rational import rank_of, value_at
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import InputError

_KEYS = frozenset(("closure", "clock", "solution"))


class SolutionCurve(ProofKind):
    """Blow-up, existence and limit of a covariance that is known."""

    name = "solution-curve"

    def replay(self, certificate: Certificate) -> Replay:
        """Check closure, start and equation, then compare how the curve ends with what is claimed."""
        lines: list[ReplayedLine] = []
        try:
            proof = certificate.proof
            if set(proof) != _KEYS:
                raise Rejected(f"a solution curve has the keys {', '.join(sorted(_KEYS))}")
            closed = closed_law(certificate, proof["closure"])
            lines += closed.lines
            curve = read_curve(proof["clock"], proof["solution"], closed.law.sizes["d"])
            _check_curve(closed.law, curve)
            lines.append(ReplayedLine("curve", "the curve solves the covariance equation", _EXACT, True))
            said, status = _conclusion(closed.law, curve)
            lines.append(ReplayedLine("end", said, "exact roots and limits", True))
            if certificate.status != status:
                raise Rejected(f"{said}: the claim is {status}")
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        assumes = tuple(sorted(closed.assumes | set(curve.lemmas)))
        shown = curve_witness(closed.law.state, curve, proof["clock"], proof["solution"]) | {"end": said}
        return Replay(True, tuple(lines), assumes=assumes, witness=shown)


_EXACT = "an identity of rational functions without poles before the end of the clock"


def _check_curve(law: Law, curve: Curve) -> None:
    curve.check_clock()
    if value_at(curve.solution, curve.start) != law.covariance:
        raise Rejected("the curve does not start at the stated covariance")
    rest = mean_at_rest(law)
    curve.check_equation(law.cov_rhs, {**law.values, **rest}, law.sizes, law.state)
    if rest:
        check_rest(law, curve.solution)


def _conclusion(law: Law, curve: Curve) -> tuple[str, str]:
    """Return what happens, in words, and what that makes of the claim."""
    fate = BLOW_UP if curve.ends else GLOBAL
    if curve.ends and not curve.escapes():
        raise Rejected("the clock ends in finite time where the curve stays bounded: it shows nothing beyond")
    if law.rank is None:
        words = "becomes unbounded at a finite time" if curve.ends else "exists for all t ≥ 0"
        return f"the covariance {words}", "proved" if fate == BLOW_UP else "refuted"
    if curve.ends or curve.escapes():
        return "the covariance has no limit for t → ∞", "refuted"
    rank = rank_of(_limit(curve))
    return f"the covariance tends to a matrix of rank {rank}", "proved" if rank == law.rank else "refuted"


def _limit(curve: Curve) -> Any:
    if curve.end is not None and not curve.end.is_rational:
        raise Rejected("a limit at an irrational end of the clock has entries that are not rational")
    return curve.limit()
