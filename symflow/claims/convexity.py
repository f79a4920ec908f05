"""Deciding convexity: prove by rules, search a counterexample, subdivide a bounded domain; then replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions.convexity import (
    CONVEXITY,
    NON_CONVEXITY,
    Convexity,
    StatedEnergy,
    read_energy,
)
from symflow.certify.search.bending import find_witness
from symflow.certify.search.dirac import dirac_witness
from symflow.certify.taylor.dirac import dirac_curve
from symflow.certify.terms import Rejected
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Deadline
from symflow.claims.deciding import replayed, undecided

METHOD = "second-variation"
_ATOMS = (1, 2, 3)
_DIMENSIONS = (1, 2, 3)


def decide_lack_of_convexity(claim: Convexity, deadline: Deadline) -> Verdict:
    """Return *proved* for a claim that an energy is not convex, or not bounded above, along geodesics."""
    statement = claim.text or {}
    stated = read_energy(statement)
    witnesses = _families(stated)
    if claim is NON_CONVEXITY:
        for d in _DIMENSIONS:
            found = find_witness(stated, d, (2,), deadline.check)
            if found.witness is None:
                return undecided(claim.claim, f"no pair of atoms was found for d = {d}", METHOD)
            witnesses.append(found.witness)
    return replayed(_certificate(claim, statement, witnesses), deadline)


def _families(stated: StatedEnergy) -> list[dict[str, Any]]:
    """Return the family of Diracs in every dimension, if there is one."""
    try:
        curve = dirac_curve(stated)
    except Rejected:
        return []
    return [dirac_witness(curve.energy, curve.weight)]


def _certificate(
    claim: Convexity, statement: Mapping[str, Any], witnesses: Sequence[Mapping[str, Any]]
) -> Certificate:
    refutes = claim.claim == CONVEXITY.claim
    lemmas = ("coincident-atoms",) if claim is NON_CONVEXITY else ()
    return Certificate(
        claim=claim.claim,
        status="refuted" if refutes else "proved",
        kind=METHOD,
        statement=statement,
        scope=(claim.denial if refutes else claim.scope)(statement),
        assumes=lemmas,
        proof={"witnesses": list(witnesses)},
        versions=software(),
    )
