r"""Signs of exponents of given fields, in ball arithmetic.

The proof object is ``{"instances": [...]}`` with one entry per instance of the statement:

- ``{"method": "value", "low": ..., "high": ...}``: rational ends between which the quantity lies;
- ``{"method": "cover", "cuts": [...]}``: cosines −1 = u₀ < … < uₙ = 1 such that −Lf/f > 0 on every interval
  between neighbours, u = 1 included by its limit;
- ``{"method": "point", "at": ...}``: a cosine at which −Lf/f is negative;
- ``{"method": "odd"}``: the field is odd, so that κ(−1) = −κ(1) and Lf/f = 0 at u = −1.

The replay encloses κ anew, and the forms of the generator are derived anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from symflow.algebra.exact.numbers import Ball
from symflow.certify.certificate import Certificate
from symflow.certify.lemmas.common_noise import GAUSS_LEGENDRE, MEHLER
from symflow.certify.propositions import proposition
from symflow.certify.propositions.common_noise import FieldSigns, Instance
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import InputError, Undecided

MAX_CUTS = 20_000
_METHODS = {
    "value": frozenset(("method", "low", "high")),
    "cover": frozenset(("method", "cuts")),
    "point": frozenset(("method", "at")),
    "odd": frozenset(("method",)),
}


class SignsOfFields(ProofKind):
    """An enclosure, a covering of all cosines, or one cosine."""

    name = "field-signs"

    def replay(self, certificate: Certificate) -> Replay:
        """Enclose every quantity again."""
        lines: list[ReplayedLine] = []
        try:
            claim = proposition(certificate.claim)
            if not isinstance(claim, FieldSigns):
                raise Rejected(f"signs of fields say nothing about {certificate.claim}")
            instances = claim.read(certificate.statement)
            scope = claim.scope(certificate.statement)
            if certificate.scope != scope:
                raise Rejected(f"the scope is '{scope}', but the certificate states '{certificate.scope}'")
            proved = certificate.status == "proved"
            if not proved and len(instances) != 1:
                raise Rejected("a refutation is about one instance")
            witness = [
                _check(f"instance {k}", item, proved, proof, lines)
                for k, (item, proof) in enumerate(_paired(instances, certificate.proof), 1)
            ]
        except (InputError, Undecided, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        found = None if proved else witness[0]
        return Replay(True, tuple(lines), assumes=(GAUSS_LEGENDRE, MEHLER), witness=found)


def _paired(instances: tuple[Instance, ...], proof: Mapping[str, Any]) -> list[tuple[Instance, Any]]:
    if set(proof) != {"instances"} or not isinstance(proof["instances"], (list, tuple)):
        raise Rejected("the proof has the key instances, a list")
    if len(proof["instances"]) != len(instances):
        raise Rejected("the proof must have one entry per instance")
    return list(zip(instances, proof["instances"], strict=True))


def _check(
    where: str, item: Instance, proved: bool, proof: Any, lines: list[ReplayedLine]
) -> Mapping[str, Any]:
    """Check one entry; return what it shows."""
    method = proof.get("method") if isinstance(proof, Mapping) else None
    if method not in _METHODS or set(proof) != _METHODS[method]:
        raise Rejected(f"{where}: the methods are {', '.join(_METHODS)}, each with its keys")
    wanted = item.sign if proved else {"negative": "not negative", "positive": "not positive"}[item.sign]
    noise = field_of(item)
    shown, witness = _CHECKS[method](item, noise, proof)
    if wanted not in shown:
        raise Rejected(f"{where}: {method} shows that the quantity is {shown[0]}, not {wanted}")
    lines.append(ReplayedLine(where, str(item) if proved else f"not so: {item}", method, True))
    return witness


def field_of(item: Instance) -> Any:
    """Return the field of an instance."""
    from symflow.models.noise.activation import UserActivation
    from symflow.noise.common import CommonNoise

    return CommonNoise(UserActivation(item.phi), item.sigma_w, item.sigma_u, item.dim)


def profile_of(item: Instance, noise: Any) -> Any:
    """Return enclosures of −Lf/f on intervals, for a quantity that is an extremum over cosines."""
    from symflow.noise.rates import energy_profile, fractional_profile

    profiles = {"rate": energy_profile, "fractional": fractional_profile}
    if item.quantity not in profiles or item.parameter is None:
        raise Rejected(f"{item.quantity} is no extremum over cosines")
    return profiles[item.quantity](noise, item.parameter)


def value_of(item: Instance, noise: Any) -> Ball:
    """Return an enclosure of an exponent of two tokens that meet."""
    if item.quantity == "moment":
        found: Ball = noise.moment_exponent(item.parameter)
        return found
    if item.quantity not in ("lyapunov", "dissipation"):
        raise Rejected(f"{item.quantity} is no value at u = 1")
    exponent: Ball = getattr(noise, item.quantity)
    return exponent


def _value(item: Instance, noise: Any, proof: Any) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    low, high = _fraction(proof["low"]), _fraction(proof["high"])
    found = value_of(item, noise)
    if not low <= found.lower <= found.upper <= high:
        raise Rejected(f"the quantity lies in {found}, not between {low} and {high}")
    if high < 0:
        return ("negative", "not positive"), {"value": str(found)}
    if low > 0:
        return ("positive", "not negative"), {"value": str(found)}
    raise Rejected(f"the sign is open between {low} and {high}")


def _cover(item: Instance, noise: Any, proof: Any) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    from flint import ctx

    cuts = proof["cuts"]
    if not isinstance(cuts, (list, tuple)) or not 2 <= len(cuts) <= MAX_CUTS:
        raise Rejected(f"cuts must be a list of 2 to {MAX_CUTS} cosines")
    ends = [_fraction(text) for text in cuts]
    if ends[0] != -1 or ends[-1] != 1 or any(a >= b for a, b in pairwise(ends)):
        raise Rejected("cuts must increase from -1 to 1")
    profile = profile_of(item, noise)
    with ctx.workprec(noise.precision):
        for interval in pairwise(ends):
            if not profile(interval) > 0:
                raise Rejected(f"−Lf/f is not shown to be positive between {interval[0]} and {interval[1]}")
    return ("negative", "not positive"), {"intervals": len(ends) - 1}


def _point(item: Instance, noise: Any, proof: Any) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    from flint import ctx

    at = _fraction(proof["at"])
    if not -1 <= at <= 1:
        raise Rejected(f"{at} is no cosine")
    profile = profile_of(item, noise)
    with ctx.workprec(noise.precision):
        value = profile((at, at))
    if not value < 0:
        raise Rejected(f"−Lf/f is not shown to be negative at u = {at}")
    return ("positive", "not negative"), {"u": str(at), "generator": str(Ball.of(-value))}


def _odd(item: Instance, noise: Any, proof: Any) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    from symflow.noise.chords import forms_of_odd_at_minus_one

    if item.quantity not in ("rate", "fractional") or not noise.is_odd:
        raise Rejected("the field is not odd, or the quantity is no supremum over cosines")
    if any(form != 0 for form in forms_of_odd_at_minus_one()):
        raise Rejected("the generator does not vanish at u = −1")
    return ("not negative",), {"u": "-1", "generator": "0"}


_CHECKS = {"value": _value, "cover": _cover, "point": _point, "odd": _odd}


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str) or len(text) > 400:
        raise Rejected("numbers in the proof must be texts of fractions")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise Rejected(f"{text!r} is no fraction") from error
