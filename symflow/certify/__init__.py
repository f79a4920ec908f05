"""Deciding claims: verdicts, certificates, and their independent re-check.

=====================  ============================================================================
`verdict`              :class:`Verdict`: proved, refuted, undecided or supported
`measurement`          :class:`Measurement`: estimates with standard errors, from a seed
`certificate`          the schema, reading and writing
`recheck`              the independent re-check
`propositions/`        what a claim id says, computed from the statement that a certificate stores
`kinds/`               one module per kind of proof object, each with its own replay
`rules/`, `lemmas/`    exact rules of inference; the closed list of cited facts
`search/`              finds proofs; shares no code with the replay
=====================  ============================================================================
"""

from symflow.certify.certificate import Certificate
from symflow.certify.lemmas import LEMMAS, Lemma
from symflow.certify.measurement import Criterion, Estimate, Measurement
from symflow.certify.recheck import Replay, proof_kinds, replay
from symflow.certify.verdict import Verdict

__all__ = [
    "LEMMAS",
    "Certificate",
    "Criterion",
    "Estimate",
    "Lemma",
    "Measurement",
    "Replay",
    "Verdict",
    "proof_kinds",
    "replay",
]
