"""Finds proofs of signs of exponents of common noise: an enclosure, a covering, or a cosine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.numbers import Ball
from symflow.certify.certificate import Certificate, software
from symflow.certify.kinds.field_signs import field_of, profile_of, value_of
from symflow.certify.lemmas.common_noise import GAUSS_LEGENDRE, MEHLER
from symflow.certify.propositions import proposition
from symflow.certify.propositions.common_noise import FieldSigns, Instance, NoiseTheorem
from symflow.errors import Undecided

_MOST = 10_000
_DIGITS = 12


def decide_signs(claim: str, instances: tuple[Instance, ...], check: Callable[[], None]) -> Certificate:
    """Return a certificate that every sign is as stated, or that the only one is not.

    Raises
    ------
    Undecided
        If a quantity cannot be told from zero, or time is up.
    """
    found = [_decide(item, check) for item in instances]
    holds = all(agrees for agrees, _ in found)
    if not holds and len(instances) > 1:
        wrong = next(item for item, (agrees, _) in zip(instances, found, strict=True) if not agrees)
        raise Undecided(f"one of several signs is not as stated: {wrong}")
    statement = {"instances": [item.record() for item in instances]}
    meaning = proposition(claim)
    assert isinstance(meaning, FieldSigns)
    proof = {"instances": [proof for _, proof in found]}
    status = "proved" if holds else "refuted"
    scope, lemmas = meaning.scope(statement), (GAUSS_LEGENDRE, MEHLER)
    return Certificate(claim, status, "field-signs", statement, scope, lemmas, proof, software())


def prove_theorem(claim: str, proof: Mapping[str, Any]) -> Certificate:
    """Return the certificate of a theorem about all fields; the proof object names sums of signs."""
    from symflow.certify.kinds.noise_theorem import lemmas_of

    meaning = proposition(claim)
    assert isinstance(meaning, NoiseTheorem)
    statement = meaning.record()
    lemmas = lemmas_of(meaning.theorem)
    return Certificate(
        claim, "proved", "noise-theorem", statement, meaning.scope(statement), lemmas, proof, software()
    )


def _decide(item: Instance, check: Callable[[], None]) -> tuple[bool, Mapping[str, Any]]:
    """Return whether the sign is as stated, and the proof of that."""
    noise = field_of(item)
    if item.quantity in ("rate", "fractional"):
        sign, proof = _extremum(item, noise, check)
    else:
        sign, proof = _exponent(item, noise)
    return sign == item.sign, proof


def _exponent(item: Instance, noise: Any) -> tuple[str, Mapping[str, Any]]:
    found = value_of(item, noise)
    if found.lower <= 0 <= found.upper:
        raise Undecided(f"the quantity lies in {found}, which holds zero")
    unit = Fraction(1, 10**_DIGITS) * abs(found.midpoint)
    ends = {"low": str(_rounded(found.lower, unit, -1)), "high": str(_rounded(found.upper, unit, 1))}
    return ("negative" if found.upper < 0 else "positive"), {"method": "value", **ends}


def _rounded(value: Fraction, unit: Fraction, direction: int) -> Fraction:
    """Return a short fraction on one side of a number, at most about ``unit`` away."""
    scale = Fraction(10) ** 0
    while 1 / scale > unit:
        scale *= 10
    scaled = value * scale
    floor = scaled.numerator // scaled.denominator
    return Fraction(floor + (direction > 0), 1) / scale


def _extremum(item: Instance, noise: Any, check: Callable[[], None]) -> tuple[str, Mapping[str, Any]]:
    from flint import ctx

    if noise.is_odd:
        return "not negative", {"method": "odd"}
    profile = profile_of(item, noise)
    pending, leaves = [(Fraction(-1), Fraction(0)), (Fraction(0), Fraction(1))], []
    with ctx.workprec(noise.precision):
        ends = {u: Ball.of(profile((u, u))) for u in (Fraction(-1), Fraction(1))}
        for u, value in ends.items():
            if value.upper < 0:
                return "positive", {"method": "point", "at": str(u)}
        while pending:
            check()
            interval = pending.pop()
            if profile(interval) > 0:
                leaves.append(interval)
                continue
            middle = (interval[0] + interval[1]) / 2
            if profile((middle, middle)) < 0:
                return "positive", {"method": "point", "at": str(middle)}
            pending += [(interval[0], middle), (middle, interval[1])]
            if len(leaves) + len(pending) > _MOST:
                raise Undecided(f"the sign is open after {_MOST} intervals, near u = {float(middle):.6g}")
    cuts = sorted({end for leaf in leaves for end in leaf})
    return "negative", {"method": "cover", "cuts": [str(cut) for cut in cuts]}
