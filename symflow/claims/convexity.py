"""Deciding convexity: prove by rules, search a counterexample, subdivide a bounded domain; then replay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from symflow.certify.certificate import Certificate, software
from symflow.certify.lemmas.curvature import COINCIDENT_ATOMS, DISPLACEMENT
from symflow.certify.propositions.convexity import (
    CONVEXITY,
    NON_CONVEXITY,
    Convexity,
    StatedEnergy,
    read_energy,
)
from symflow.certify.search.bending import find_witness
from symflow.certify.search.convex_terms import convex_terms
from symflow.certify.search.dirac import dirac_witness
from symflow.certify.search.gaussian import gaussian_witness
from symflow.certify.search.hessian_bound import hessian_bound
from symflow.certify.taylor.dirac import dirac_curve, radial_polynomial, read_ratio, value_at_radius
from symflow.certify.terms import Rejected
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Deadline
from symflow.claims.deciding import replayed, undecided
from symflow.errors import InputError

METHOD = "second-variation"
_ATOMS = (1, 2, 3)
_DIMENSIONS = (1, 2, 3)
_GAUSSIAN = (1, 2)  #: dimensions in which Gaussian laws are tried where none is stated
_STEPS = (Fraction(1, 64), Fraction(1, 8), Fraction(1), Fraction(8), Fraction(64))
_FEW_BOXES = 300


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


def decide_convexity(statement: Mapping[str, Any], deadline: Deadline) -> Verdict:
    """Return *proved* or *refuted* with a replayed certificate, or *undecided* with the best bounds known.

    Parameters
    ----------
    statement : dict
        As from :func:`symflow.claims.energies.energy_statement`.
    deadline : Deadline
        Limit on wall time.
    """
    stated = read_energy(statement)
    proof = convex_terms(stated)
    if proof is not None:
        return replayed(_proof(statement, "convex-terms", *proof), deadline)
    witnesses = _families(stated)
    least = math.inf
    sizes = (2, 3) if stated.space == "sphere" else _DIMENSIONS
    for d in sizes if stated.dimension is None else (stated.dimension,):
        atoms = (1,) if stated.metric.name == "bures" else _ATOMS
        found = find_witness(stated, d, atoms, deadline.check)
        least = min(least, found.least)
        witness = found.witness
        if witness is None and stated.metric.name == "bures" and d in (stated.dimension, *_GAUSSIAN):
            witness = gaussian_witness(stated, d, deadline.check)
        if witness is not None:
            witnesses.append(witness)
            break
    if witnesses:
        return replayed(_certificate(CONVEXITY, statement, witnesses), deadline)
    if not stated.domain.is_everything:
        bound = hessian_bound(stated, deadline.check)
        if bound is not None:
            return replayed(_proof(statement, "hessian-bound", bound, (DISPLACEMENT,)), deadline)
    return undecided(CONVEXITY.claim, _best_bounds(statement, least, deadline), METHOD)


def _best_bounds(statement: Mapping[str, Any], least: float, deadline: Deadline) -> str:
    """Return what is known where nothing was decided."""
    asked = Fraction(statement["modulus"])
    said = f"no rule applies, and no atoms were found whose second derivative is below {asked}·|velocity|²"
    if math.isfinite(least):
        said += f" (the least one seen is {least:.6g}·|velocity|²)"
    for step in _STEPS if statement["domain"] else ():
        lower = read_energy({**statement, "modulus": str(asked - step)})
        if hessian_bound(lower, deadline.check, _FEW_BOXES) is not None:
            return f"{said}; a lower bound is {asked - step}·|velocity|²"
    return said


def _families(stated: StatedEnergy) -> list[dict[str, Any]]:
    """Return the family of Diracs in every dimension, if its second derivative is below the modulus at 0."""
    if stated.dimension is not None or stated.metric.name != "twisted":
        return []
    try:
        curve = dirac_curve(stated)
        found = dirac_witness(curve.energy, curve.weight)
        radial = radial_polynomial(read_ratio(found["ratio"]))
    except (Rejected, InputError):  # not radial, or beyond the algebra at symbolic size
        return []
    return [found] if value_at_radius(radial, Fraction(0)) < stated.modulus else []


def _proof(
    statement: Mapping[str, Any], kind: str, proof: Mapping[str, Any], lemmas: tuple[str, ...]
) -> Certificate:
    return Certificate(
        claim=CONVEXITY.claim,
        status="proved",
        kind=kind,
        statement=statement,
        scope=CONVEXITY.scope(statement),
        assumes=lemmas,
        proof=proof,
        versions=software(),
    )


def _certificate(
    claim: Convexity, statement: Mapping[str, Any], witnesses: Sequence[Mapping[str, Any]]
) -> Certificate:
    refutes = claim.claim == CONVEXITY.claim
    lemmas = (COINCIDENT_ATOMS,) if claim is NON_CONVEXITY else ()
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
