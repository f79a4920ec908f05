"""The coefficients of the cosine of two tokens in common noise, for a certificate."""

from __future__ import annotations

from typing import Any

from sympy import Symbol

from symflow.algebra.grammar import to_text
from symflow.certify.certificate import Certificate, software
from symflow.certify.lemmas.noise import MEAN_GROWTH
from symflow.certify.propositions import proposition
from symflow.certify.propositions.noise_energy import AT_ONE, HERE
from symflow.derive.noise.pair import pair_generator
from symflow.derive.noise.symbols import COSINE, kappa


def prove_mean_decay(claim: str) -> Certificate:
    """Write the generator that the derivation has."""
    stated: Any = proposition(claim)
    found = pair_generator()
    names = {kappa(COSINE): Symbol(HERE, real=True), kappa(1): Symbol(AT_ONE, real=True)}
    return Certificate(
        claim=claim,
        status="proved",
        kind="mean-decay",
        statement=stated.record(),
        scope=stated.scope(stated.record()),
        assumes=(MEAN_GROWTH,),
        proof={
            "drift": to_text(found.drift.subs(names)),
            "diffusion": to_text(found.diffusion.subs(names)),
        },
        versions=software(),
    )
