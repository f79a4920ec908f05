"""Counterexample: one law and one point at which the velocity of a Gaussian is not affine.

The proof object has the keys of :data:`_KEYS`: values of all parameters, the laws as pairs (mean, variance),
the weights of the positions, the point x₀, the order k of the derivative or the step of a second difference,
the arithmetic, and the value. Numbers are texts p or p/q; every size is one.

With ``"exact"`` the value is a text of rational numbers, square roots and exponentials, with ``"ball"`` an
object with ``midpoint`` and ``radius`` that must contain the enclosure found here and exclude zero. Both are
computed by Taylor arithmetic on the syntax trees of the statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from symflow.certify.certificate import Certificate
from symflow.certify.lemmas.velocity import AFFINE_VELOCITY
from symflow.certify.propositions import propositions, require_scope
from symflow.certify.propositions.velocity import DENIAL, NonPreservation, StatedVelocity
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.taylor.reading import fraction, parameters
from symflow.certify.taylor.velocity import (
    ExactVelocity,
    Setting,
    check_domination,
    enclosed_difference,
    exact_value,
)
from symflow.certify.terms import Rejected
from symflow.errors import InputError

PRECISION = 128  # bits
MAX_ORDER = 8
MAX_LAWS = 4
_DOMINATED = "the integrals and their derivatives are dominated uniformly near the law and the point"
_KEYS = frozenset(("arithmetic", "parameters", "laws", "weights", "point", "order", "step", "value"))


class Counterexample(ProofKind):
    """A derivative or second difference of the velocity that does not vanish."""

    name = "counterexample"

    def replay(self, certificate: Certificate) -> Replay:
        """Compute domination and value from statement and witness, and compare."""
        lines: list[ReplayedLine] = []
        try:
            stated = _proposition(certificate).read(certificate.statement)
            claimed = _read(certificate.proof, stated)
            with flint.ctx.workprec(PRECISION):
                check_domination(claimed.setting, claimed.order, claimed.step)
                lines.append(ReplayedLine("domination", _DOMINATED, "bounds for every real y", True))
                shown = _compare(claimed)
            said = f"{claimed.left} = {shown}, which is not zero"
            lines.append(ReplayedLine("value", said, f"{claimed.arithmetic} arithmetic of series", True))
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        return Replay(True, tuple(lines), assumes=(AFFINE_VELOCITY,), witness=_witness(claimed, shown))


def _proposition(certificate: Certificate) -> NonPreservation:
    claim = propositions().get(certificate.claim)
    if isinstance(claim, NonPreservation):
        wanted, found = "proved", claim
    elif certificate.claim == DENIAL.claim:
        wanted, found = "refuted", DENIAL
    else:
        raise Rejected(f"a counterexample says nothing about {certificate.claim}")
    if certificate.status != wanted:
        raise Rejected(f"a counterexample shows that {certificate.claim} is {wanted}")
    require_scope(certificate, found.scope(certificate.statement))
    return found


@dataclass(frozen=True)
class _Claimed:
    """The proof object, read."""

    setting: Setting
    order: int
    step: Fraction | None
    arithmetic: str
    value: Any

    @property
    def left(self) -> str:
        """The quantity that does not vanish, in words of the field."""
        x, h = self.setting.point, self.step
        if h is None:
            return f"the derivative of order {self.order} of the velocity at {x}"
        return f"velocity({x + h}) - 2 velocity({x}) + velocity({x - h})"


def _read(proof: Mapping[str, Any], stated: StatedVelocity) -> _Claimed:
    if set(proof) != _KEYS:
        raise Rejected(f"a counterexample has the keys {', '.join(sorted(_KEYS))}")
    order = proof["order"]
    if type(order) is not int or not 2 <= order <= MAX_ORDER:
        raise Rejected(f"the order must be a whole number from 2 to {MAX_ORDER}")
    if proof["arithmetic"] not in ("exact", "ball"):
        raise Rejected("'arithmetic' must be 'exact' or 'ball'")
    step = None if proof["step"] is None else fraction(proof["step"])
    if step is not None and (step <= 0 or order != 2 or proof["arithmetic"] != "ball"):
        raise Rejected("a step must be positive; it goes with order 2 and balls")
    laws, weights = _laws(proof["laws"], proof["weights"], stated.masked)
    values = parameters(proof["parameters"], stated)
    setting = Setting(stated, values, laws, weights, fraction(proof["point"]))
    return _Claimed(setting, order, step, proof["arithmetic"], proof["value"])


def _laws(
    laws: Any, weights: Any, masked: bool
) -> tuple[tuple[tuple[Fraction, Fraction], ...], tuple[Fraction, ...]]:
    for name, listed in (("laws", laws), ("weights", weights)):
        if not isinstance(listed, (list, tuple)) or not 0 < len(listed) <= (MAX_LAWS if masked else 1):
            raise Rejected(f"'{name}' must be a list of one entry, or with a mask of at most {MAX_LAWS}")
    if not all(isinstance(law, (list, tuple)) and len(law) == 2 for law in laws):
        raise Rejected("a law is a pair of mean and variance")
    read_laws = tuple((fraction(mean), fraction(variance)) for mean, variance in laws)
    shares = tuple(fraction(weight) for weight in weights)
    if any(variance <= 0 for _, variance in read_laws):
        raise Rejected("a variance must be positive")
    if len(shares) != len(read_laws) or any(share <= 0 for share in shares) or sum(shares) != 1:
        raise Rejected("the weights must be positive, one for each law, and add up to one")
    return read_laws, shares


def _compare(claimed: _Claimed) -> str:
    """Return the value as text if it is the one computed here and differs from zero."""
    if claimed.arithmetic == "ball":
        return _compare_ball(claimed)
    if not isinstance(claimed.value, str):
        raise Rejected("an exact value is text")
    found = ExactVelocity(claimed.setting).derivative(claimed.order)
    if not found:
        raise Rejected(f"{claimed.left} is zero")
    if exact_value(claimed.value) != found:
        raise Rejected(f"{claimed.left} is not {claimed.value}")
    return claimed.value


def _compare_ball(claimed: _Claimed) -> str:
    value = claimed.value
    if not isinstance(value, Mapping) or set(value) != {"midpoint", "radius"}:
        raise Rejected("the value of a ball has the keys midpoint, radius")
    midpoint, radius = (fraction(value[key]) for key in ("midpoint", "radius"))
    if not abs(midpoint) > radius >= 0:
        raise Rejected("the stated ball contains zero")
    found = enclosed_difference(claimed.setting, claimed.order, claimed.step)
    low, high = (
        flint.arb(flint.fmpq(b.numerator, b.denominator)) for b in (midpoint - radius, midpoint + radius)
    )
    if not (found > low and found < high):
        raise Rejected(f"{claimed.left} is not within {radius} of {midpoint}")
    return f"{float(midpoint):.15g} ± {float(radius):.1e}"


def _witness(claimed: _Claimed, shown: str) -> dict[str, str]:
    """Return parameters, laws, point and value as text."""
    setting = claimed.setting
    found = {name: str(value) for name, value in setting.parameters.items()}
    laws = ", ".join(f"N({mean}, {variance})" for mean, variance in setting.laws)
    found["law" if len(setting.laws) == 1 else "laws"] = laws
    if len(setting.weights) > 1:
        found["weights"] = ", ".join(str(weight) for weight in setting.weights)
    return {**found, claimed.left: shown}
