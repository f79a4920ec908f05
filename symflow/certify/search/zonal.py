"""The expansion of an energy of cosines, for a certificate."""

from __future__ import annotations

from typing import Any

from sympy import Add, exp

from symflow.algebra.grammar import to_text
from symflow.certify.certificate import Certificate, software
from symflow.certify.lemmas.zonal import ADDITION
from symflow.certify.propositions import proposition
from symflow.certify.propositions.zonal import COSINE
from symflow.derive.landscape.moments import moment_ratios
from symflow.errors import Undecided


def prove_uniform_minimum(claim: str) -> Certificate:
    """Write the exponentials of the profile and the ratios of the moments of powers.

    Raises
    ------
    Undecided
        If the profile is not a sum of exponentials of the cosine.
    """
    stated: Any = proposition(claim)
    terms = stated.terms()
    in_power, in_degree = moment_ratios()
    return Certificate(
        claim=claim,
        status="proved",
        kind="zonal-expansion",
        statement=stated.record(),
        scope=stated.scope(stated.record()),
        assumes=(ADDITION,),
        proof={
            "terms": _exponentials(terms.read(stated.profile), terms.symbols[COSINE]),
            "power": to_text(in_power),
            "degree": to_text(in_degree),
        },
        versions=software(),
    )


def _exponentials(profile: Any, cosine: Any) -> list[dict[str, str]]:
    found = []
    for part in Add.make_args(profile.expand()):
        rate = (part.diff(cosine) / part).simplify()
        weight = (part / exp(rate * cosine)).simplify()
        if rate.has(cosine) or weight.has(cosine):
            raise Undecided(f"{part} is no exponential of the cosine")
        found.append({"weight": to_text(weight), "rate": to_text(rate)})
    return found
