"""What proofs about one Gaussian law have in common: its closed system, and how its mean enters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.kinds.identity_chain import run_chain
from symflow.certify.propositions import propositions, require_scope
from symflow.certify.propositions.equations import affine_in_mean
from symflow.certify.propositions.law import CLOSURE, Law, LawClaim
from symflow.certify.rational import Evaluator, is_matrix
from symflow.certify.recheck import ReplayedLine
from symflow.certify.terms import Rejected

#: how a covariance can end, by what a proof shows
GLOBAL, BLOW_UP = "global", "blow-up"


@dataclass(frozen=True)
class ClosedLaw:
    """A law with a closed system that was proved, the lines of that proof, and its lemmas."""

    law: Law
    lines: tuple[ReplayedLine, ...]
    assumes: frozenset[str]


def closed_law(certificate: Certificate, closure: Any) -> ClosedLaw:
    """Return the law of a certificate after replaying that its system is closed.

    Raises
    ------
    CertificateError
        If the statement is malformed.
    Rejected
        If the claim is another one, the proof of the closure fails, or the law is outside its domain.
    """
    claim = propositions().get(certificate.claim)
    if not isinstance(claim, LawClaim):
        raise Rejected(f"{certificate.claim} is not a statement about one law")
    law = claim.read(certificate.statement)
    require_scope(certificate, claim.scope(certificate.statement))
    lines, assumes = replay_closure(certificate.statement["model"], closure)
    require_unrestricted(law.record, law.values)
    return ClosedLaw(law, lines, assumes)


def replay_closure(model: Any, closure: Any) -> tuple[tuple[ReplayedLine, ...], frozenset[str]]:
    """Return the lines and lemmas of the proof that the system of ``model`` is closed."""
    shown = run_chain(CLOSURE, model, closure)
    if not shown.accepted:
        raise Rejected(f"the system is not shown to be closed: {shown.reason}")
    lines = tuple(replace(line, id=f"closure.{line.id}") for line in shown.lines)
    return lines, frozenset(shown.assumes)


def require_unrestricted(record: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse a system that holds on a domain only, or values without the signs that its proof assumes."""
    if record["domain"] is not None:
        raise Rejected("the system holds on a domain that the covariance may leave")
    for name, sign in record["signs"].items():
        value = values[name].numer.LC if values[name] else 0
        if value < 0 or (sign == "positive" and value == 0):
            raise Rejected(f"{name} must be {sign}")


def mean_at_rest(law: Law) -> Mapping[str, Any]:
    """Return the value of the mean that a text of the covariance equation may use.

    That is nothing where the covariance equation is free of the mean and the mean solves a linear equation,
    which has a solution as long as the covariance has, and zero where the mean is and stays zero.

    Raises
    ------
    Rejected
        If neither is the case.
    """
    if affine_in_mean(law.record):
        return {}
    if not law.mean.is_zero_matrix:
        raise Rejected("mean and covariance are coupled, and the mean is not zero")
    return {str(law.record["mean"]): law.mean}


def check_rest(law: Law, covariance: Any) -> None:
    """Refuse unless the mean, which is zero, stays so along ``covariance``, a curve."""
    known = {**law.values, str(law.record["mean"]): law.mean, law.state: covariance}
    moved = Evaluator(known, law.sizes)(str(law.record["mean_rhs"]))
    if not is_matrix(moved) or not moved.is_zero_matrix:
        raise Rejected("the mean does not stay zero")
