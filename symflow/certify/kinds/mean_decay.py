r"""Decay in mean: an energy of pairs, and the generator of the cosine of two tokens in common noise.

The proof object is ``{"drift": G0, "diffusion": G1}``, the coefficients of :math:`Lf = G_0f' + G_1f''` for
u = ⟨x, y⟩ as texts in ``u``, ``k`` = κ(u), ``k1`` = κ(1) and ``d``. The replay computes both from traces of
projectors: by Itô's formula the drift of ⟨x, y⟩ is

.. math:: -(d-1)\kappa(1)u + \kappa(u)\operatorname{tr}P_xP_y

and its noise ⟨P_xy, dW(x)⟩ + ⟨P_yx, dW(y)⟩. Then −Lf = Ff is an identity, and f(1) = 0 < f elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Identity, Rational, Trace, diff, expand, fraction, together

from symflow.algebra.words import normal_form
from symflow.certify.certificate import Certificate
from symflow.certify.lemmas.noise import MEAN_GROWTH
from symflow.certify.propositions import stated_proposition
from symflow.certify.propositions.noise_energy import AT_ONE, COSINE, HERE, SIZE, MeanDecay
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected, Terms
from symflow.errors import InputError

_KEYS = frozenset(("drift", "diffusion"))


class DecayInMean(ProofKind):
    """The generator of the cosine from projectors, and what it does to the profile of an energy."""

    name = "mean-decay"

    def replay(self, certificate: Certificate) -> Replay:
        """Compute both coefficients, then the rate."""
        lines: list[ReplayedLine] = []
        try:
            claim = stated_proposition(certificate)
            if not isinstance(claim, MeanDecay):
                return Replay(False, reason=f"a decay in mean says nothing about {certificate.claim}")
            if set(certificate.proof) != _KEYS:
                raise Rejected(f"a decay in mean has the keys {', '.join(sorted(_KEYS))}")
            terms = claim.terms()
            drift, diffusion = _generator(terms, certificate.proof, lines)
            _profile(terms, claim, drift, diffusion, lines)
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        said = "LE ≤ (ε + r)E where F ≥ −r, so that E[E(t)] ≤ exp((ε + r)t) E[E(0)]"
        lines.append(ReplayedLine("claim", said, MEAN_GROWTH, True))
        return Replay(True, tuple(lines), assumes=(MEAN_GROWTH,))


def _generator(terms: Terms, proof: Mapping[str, Any], lines: list[ReplayedLine]) -> tuple[Any, Any]:
    """Check the stated coefficients against the covariation of the moves of both tokens."""
    x, y = terms.symbols["x"], terms.symbols["y"]
    u, here, one, d = (terms.symbols[name] for name in (COSINE, HERE, AT_ONE, SIZE))
    px, py = Identity(d) - x * x.T, Identity(d) - y * y.T
    overlap = _on_the_sphere(terms, Trace(px * py))
    own, other = (_on_the_sphere(terms, Trace(v.T * p * v)) for v, p in ((y, px), (x, py)))
    cross = _on_the_sphere(terms, Trace(y.T * px * py * x))
    found = {
        "drift": here * overlap - one * (d - 1) * u,
        "diffusion": Rational(1, 2) * (one * (own + other) + 2 * here * cross),
    }
    for name, value in found.items():
        text = proof[name]
        if not isinstance(text, str):
            raise Rejected(f"the {name} must be text")
        if expand(terms.read(text) - value) != 0:
            raise Rejected(f"the {name} of the cosine is {value}, not {text}")
        lines.append(ReplayedLine(name, f"{name} of u: {text}", "Itô's formula, traces of projectors", True))
    return found["drift"], found["diffusion"]


def _on_the_sphere(terms: Terms, expr: Any) -> Any:
    """Return a scalar of x and y at |x| = |y| = 1, ⟨x, y⟩ = u."""
    x, y, u = terms.symbols["x"], terms.symbols["y"], terms.symbols[COSINE]
    values = {Trace(x.T * x): 1, Trace(y.T * y): 1, Trace(x.T * y): u, Trace(y.T * x): u}
    found = expand(normal_form(expr).to_sympy().xreplace(values))
    if found.has(x) or found.has(y):
        raise Rejected(f"{expr} is no function of the cosine")
    return found


def _profile(terms: Terms, claim: MeanDecay, drift: Any, diffusion: Any, lines: list[ReplayedLine]) -> None:
    """Check −Lf = Ff, and the sign of f."""
    u = terms.symbols[COSINE]
    profile, ratio = terms.read(claim.profile), terms.read(claim.ratio)
    change = drift * diff(profile, u) + diffusion * diff(profile, u, 2)
    numerator, _ = fraction(together(change + ratio * profile))
    if expand(numerator) != 0:
        raise Rejected(f"F is not −Lf/f for f = {claim.profile}")
    slope = diff(profile, u)
    if profile.subs(u, 1) != 0 or not slope.is_negative:
        raise Rejected("f does not decrease to 0 at u = 1")
    lines.append(ReplayedLine("rate", f"−Lf = Ff with F = {claim.ratio}", "differentiation", True))
    lines.append(ReplayedLine("sign", "f(1) = 0 and f' < 0, so that f > 0 on [−1, 1)", "signs", True))
