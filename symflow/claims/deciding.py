"""From a certificate to a verdict: a proof counts once it replays."""

from __future__ import annotations

from symflow.certify.certificate import Certificate
from symflow.certify.recheck import replay
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Deadline


def replayed(certificate: Certificate, deadline: Deadline) -> Verdict:
    """Return what the certificate states if it replays; a proof that does not counts for nothing."""
    deadline.check()
    outcome = replay(certificate)
    if not outcome.accepted:
        why = f"the proof that was found does not replay: {outcome.reason}"
        return undecided(certificate.claim, why, certificate.kind)
    return Verdict.from_certificate(certificate, outcome.witness)


def undecided(claim: str, reason: str, method: str) -> Verdict:
    """Return that nothing was decided, and why."""
    return Verdict(claim, "undecided", method=method, reason=reason)
