"""Cases: one identity chain for each part of a claim that says several things.

The proof object is ``{part: identity chain, ...}``, the statement ``{part: statement, ...}``, with the parts
that the claim prescribes.
"""

from __future__ import annotations

from dataclasses import replace

from symflow.certify.certificate import Certificate
from symflow.certify.kinds.identity_chain import run_chain
from symflow.certify.propositions import Conjunction, stated_proposition
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.errors import InputError


class Cases(ProofKind):
    """A conjunction, part by part."""

    name = "cases"

    def replay(self, certificate: Certificate) -> Replay:
        """Replay every part; accept if all are accepted and status and scope agree."""
        try:
            claim = stated_proposition(certificate)
            if not isinstance(claim, Conjunction):
                return Replay(False, reason=f"{certificate.claim} does not consist of parts")
            statements = claim.statements(certificate.statement)
        except InputError as error:
            return Replay(False, reason=str(error))
        if set(certificate.proof) != set(claim.parts):
            return Replay(False, reason=f"the proof must have the parts {', '.join(claim.parts)}")
        lines: list[ReplayedLine] = []
        assumes: set[str] = set()
        for name, theorem in claim.parts.items():
            outcome = run_chain(theorem, statements[name], certificate.proof[name])
            lines += [replace(line, id=f"{name}.{line.id}") for line in outcome.lines]
            if not outcome.accepted:
                return Replay(False, tuple(lines), f"{name}: {outcome.reason}")
            assumes |= set(outcome.assumes)
        return Replay(True, tuple(lines), assumes=tuple(sorted(assumes)))
