"""Escape: a single token in dimension one that a cubic drives to infinity in finite time.

The proof object is ``{part: {"parameters": {name: p/q}, "cubic": c}, ...}``: at these parameters, every size
one, the velocity of a Dirac at x > 0 is at least cx³, shown term by term in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.lemmas.velocity import COMPARISON
from symflow.certify.propositions import stated_proposition
from symflow.certify.propositions.velocity import Escape, StatedVelocity
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.taylor.exact import Coefficient
from symflow.certify.taylor.reading import fraction, parameters
from symflow.certify.taylor.velocity import velocity_of_a_token
from symflow.certify.terms import Rejected
from symflow.errors import InputError

_KEYS = frozenset(("parameters", "cubic"))


class TokenEscape(ProofKind):
    """Blow-up of Diracs, for every part of the claim."""

    name = "escape"

    def replay(self, certificate: Certificate) -> Replay:
        """Compute the velocity of a token for each part and bound it below by a cubic."""
        lines: list[ReplayedLine] = []
        witness: dict[str, str] = {}
        try:
            claim = stated_proposition(certificate)
            if not isinstance(claim, Escape):
                return Replay(False, reason=f"an escape says nothing about {certificate.claim}")
            stated = claim.read(certificate.statement)
            if set(certificate.proof) != set(stated):
                raise Rejected(f"the proof must have the parts {', '.join(stated)}")
            for name, velocity in stated.items():
                found = _shown(velocity, certificate.proof[name])
                lines.append(ReplayedLine(name, found.statement, "exact bound term by term", True))
                witness[name] = found.statement
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        return Replay(True, tuple(lines), assumes=(COMPARISON,), witness=witness)


@dataclass(frozen=True)
class _Shown:
    """A cubic that bounds the velocity of a token from below; equal to it where ``sharp``."""

    parameters: Mapping[str, Fraction]
    cubic: Fraction
    sharp: bool

    @property
    def statement(self) -> str:
        """The bound and the time, in words."""
        at = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        sign, end = ("=", "ends at") if self.sharp else (">=", "ends no later than at")
        cubic = "x**3" if self.cubic == 1 else f"{self.cubic}*x**3"
        return f"{at}: x' {sign} {cubic} for x > 0, which {end} t = 1/({2 * self.cubic}*x(0)**2)"


def _shown(stated: StatedVelocity, proof: Any) -> _Shown:
    if not isinstance(proof, Mapping) or set(proof) != _KEYS:
        raise Rejected(f"a part of an escape has the keys {', '.join(sorted(_KEYS))}")
    values, cubic = parameters(proof["parameters"], stated), fraction(proof["cubic"])
    found = velocity_of_a_token(stated, values)
    available = _cubic_part(found)
    if not 0 < cubic <= available:
        raise Rejected(f"the velocity of a token is not shown to be at least {cubic}*x**3 for x > 0")
    powers = {(n, *inner) for _, n, *inner in found}
    return _Shown(values, cubic, powers == {(3, 0, 0, 0)} and cubic == available)


def _cubic_part(found: Coefficient) -> Fraction:
    """Return c with f(x) ≥ cx³ for x > 0, from exp(ax² + bx + c) ≥ 1 + ax² for a, b, c ≥ 0."""
    total = Fraction(0)
    for (_, n, a, b, c), value in found.items():  # √q ≥ 1
        if value < 0 or min(a, b, c) < 0:
            raise Rejected("the velocity of a token has a term that is not shown to be positive")
        total += value if n == 3 else value * a if n == 1 else 0
    return total
