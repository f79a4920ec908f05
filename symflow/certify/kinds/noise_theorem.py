r"""Theorems about common noise for all fields of a class, from the derived generator of the cosine.

The covariance is κ = Σ c_k uᵏ with c_k ≥ 0 (lemma ``mehler-expansion``), so that with s_k = Σ_{j<k} uʲ

.. math:: \kappa(1) = \sum c_k,\quad \kappa'(1) = \sum k c_k,\quad
          D(u) = \frac{\kappa(1) - \kappa(u)}{1 - u} = \sum c_k s_k,\quad 0 \le s_k \le k.

What is linear in κ is shown term by term. The proof object has, for each line that needs one, a list of texts
in ``u``, ``k``, ``s`` and ``d``: products of numbers known not to be negative. The replay compares their sum
with what it derives, and checks every factor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sympy import Add, Mul, Rational, Symbol, cancel, exp, expand, simplify

from symflow.algebra.grammar import parse
from symflow.certify.certificate import Certificate
from symflow.certify.lemmas.common_noise import FELLER, MEHLER
from symflow.certify.propositions import stated_proposition
from symflow.certify.propositions.common_noise import NoiseTheorem
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import InputError

_U, _K, _S, _D = Symbol("u", real=True), Symbol("k"), Symbol("s"), Symbol("d")
_CHORD, _END, _SLOPE = Symbol("D"), Symbol("kappa_1"), Symbol("kappa_slope_1")
_NAMES = {"u": _U, "k": _K, "s": _S, "d": _D}
#: Not negative for −1 ≤ u ≤ 1, d ≥ 2, k a whole number ≥ 0; 1 + us_k = s_{k+1}.
_NOT_NEGATIVE = (_S, _K - _S, 1 - _U, 1 + _U, 1 - _U**2, _D - 1, _D - 2, 1 + _U * _S)
_Lines = list[ReplayedLine]
_Proof = Mapping[str, tuple[str, ...]]


class TheoremOnNoise(ProofKind):
    """Identities of the generator, and signs term by term."""

    name = "noise-theorem"

    def replay(self, certificate: Certificate) -> Replay:
        """Derive every identity and check every sign."""
        lines: _Lines = []
        try:
            claim = stated_proposition(certificate)
            if not isinstance(claim, NoiseTheorem):
                return Replay(
                    False, reason=f"a theorem on common noise says nothing about {certificate.claim}"
                )
            show, keys, lemmas = _THEOREMS[claim.theorem]
            if set(certificate.proof) != set(keys):
                raise Rejected(f"the proof has the keys {', '.join(keys) or 'none'}")
            show({name: _texts(value) for name, value in certificate.proof.items()}, lines)
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        return Replay(True, tuple(lines), assumes=lemmas)


def lemmas_of(theorem: str) -> tuple[str, ...]:
    """Return the lemmas that the proof of a theorem uses."""
    return _THEOREMS[theorem][2]


def _generator() -> tuple[Any, Any, Any]:
    """Return H₀ = G₀/(1 − u) and H₁ = G₁/(1 − u)² in u, D and κ(1), and −λ̄ in κ(1) and κ'(1)."""
    from symflow.derive.noise import pair_generator
    from symflow.derive.noise.symbols import COSINE, SIZE, kappa, kappa_slope

    found = pair_generator()
    own = {kappa(COSINE): _END - (1 - _U) * _CHORD, kappa(1): _END, kappa_slope(1): _SLOPE}
    drift, diffusion, rate = (
        part.subs(own).subs({SIZE: _D, COSINE: _U})
        for part in (found.drift, found.diffusion, found.dissipation)
    )
    return cancel(drift / (1 - _U)), cancel(diffusion / (1 - _U) ** 2), expand(-rate)


def _term(expression: Any) -> Any:
    """Return what c_k is multiplied by in an expression that is linear in κ(1), κ'(1) and D."""
    scale = Symbol("t")
    kinds = {_END: scale * _END, _SLOPE: scale * _SLOPE, _CHORD: scale * _CHORD}
    if expand(expression.subs(kinds, simultaneous=True) - scale * expression) != 0:
        raise Rejected(f"{expression} is not linear in the covariance")
    return expand(expression.subs({_END: 1, _SLOPE: _K, _CHORD: _S}))


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(text, str) for text in value):
        raise Rejected("the proof holds lists of texts")
    return tuple(value)


def _shown(name: str, wanted: Any, texts: tuple[str, ...], more: tuple[Any, ...], lines: _Lines) -> None:
    """Check that an expression is a sum of products that are not negative."""
    products = [parse(text, _NAMES) for text in texts]
    if expand(Add(*products) - wanted) != 0:
        raise Rejected(f"{name}: {wanted} is not the sum of {', '.join(texts)}")
    allowed = (*_NOT_NEGATIVE, *more)
    for product in products:
        for factor in Mul.make_args(product):
            known = factor.is_nonnegative or any(expand(factor - other) == 0 for other in allowed)
            if not known:
                raise Rejected(f"{name}: the sign of {factor} is not known")
    said = f"{name}: {' + '.join(f'[{text}]' for text in texts)} ≥ 0 in every term k"
    lines.append(ReplayedLine(name, said, "products of numbers ≥ 0", True))


def _equal(name: str, difference: Any, said: str, lines: _Lines) -> None:
    if simplify(difference) != 0:
        raise Rejected(f"{name} is no identity: {difference}")
    lines.append(ReplayedLine(name, said, "algebra", True))


def _rate_criterion(proof: _Proof, lines: _Lines) -> None:
    """Show λ̄' ≥ λ̄, and λ̄' ≤ 2β/(e^{2β} − 1)·λ̄ where λ̄ < 0."""
    first, second, rate = _generator()
    _profile(first, second, lines)
    at_one = first.subs({_U: 1, _CHORD: _SLOPE})
    _equal("limit", at_one - rate, "F(1⁻) = −λ̄, so that λ̄' ≥ λ̄", lines)
    _shown("drift", _term(first) - _term(rate), proof["drift"], (), lines)
    _shown("diffusion", _term(second), proof["diffusion"], (), lines)
    lines.append(
        ReplayedLine("bound", "F = b(β(1 − u))(H₀ + β(1 − u)H₁) ≥ −λ̄·b(2β) if λ̄ < 0", "b decreases", True)
    )
    # An odd field has c_0 = 0, so that k ≥ 1 in every term.
    _shown("odd", -_term(rate), proof["odd"], (_K - 1,), lines)
    least = -_term(rate).subs(_K, 1)
    if not expand(least).is_positive:
        raise Rejected(f"the term k = 1 of λ̄ is {least}, which is not known to be positive")
    lines.append(ReplayedLine("odd field", "λ̄ ≥ 2κ(1) > 0 for an odd field", "terms k ≥ 1 increase", True))


def _profile(first: Any, second: Any, lines: _Lines) -> None:
    """Check F = b(β(1 − u))·(H₀ + β(1 − u)H₁), b(x) = x/(eˣ − 1)."""
    from symflow.derive.noise import pair_generator
    from symflow.derive.noise.symbols import BETA, COSINE, SIZE, kappa

    own = {kappa(COSINE): _END - (1 - _U) * _CHORD, kappa(1): _END}
    ratio = pair_generator().energy.subs(own).subs({SIZE: _D, COSINE: _U})
    gap = exp(BETA) - exp(BETA * _U)
    stated = BETA * exp(BETA * _U) * (1 - _U) * (first + BETA * (1 - _U) * second)
    said = "F = b(β(1 − u))(H₀ + β(1 − u)H₁), b(x) = x/(eˣ − 1)"
    _equal("profile", cancel(ratio * gap) - stated, said, lines)


def _odd_two_point(proof: _Proof, lines: _Lines) -> None:
    """Show that the scale function is finite at both ends, and where the diffusion ends."""
    from symflow.derive.noise import pair_generator
    from symflow.derive.noise.symbols import COSINE, SIZE, kappa, kappa_slope

    first, second, _ = _generator()
    found, odd = pair_generator(), Symbol("kappa_u")
    names = {kappa(1): _END, SIZE: _D, COSINE: _U}
    drift, diffusion = (
        part.subs({kappa(COSINE): odd}).subs(names) for part in (found.drift, found.diffusion)
    )
    mirrored = {_U: -_U, odd: -odd}
    _equal("mirror", drift.subs(mirrored, simultaneous=True) + drift, "G₀(−u) = −G₀(u) for odd κ", lines)
    _equal("evenness", diffusion.subs(mirrored, simultaneous=True) - diffusion, "G₁(−u) = G₁(u)", lines)
    positive = (1 - _U**2) * (_END - _U * odd)
    said = "G₁ = (1 − u²)(κ(1) − uκ(u)) > 0 inside, as |uκ(u)| < κ(1)"
    _equal("ellipticity", diffusion - positive, said, lines)
    power = (first / second).subs({_U: 1, _CHORD: _SLOPE})
    exponent = found.lyapunov.subs({kappa(1): _END, kappa_slope(1): _SLOPE, SIZE: _D})
    said = "(1 − u)G₀/G₁ → γ at u = 1 with 1 + γ = −λ₁/(κ(1) + κ'(1)), so that s' is integrable if λ₁ < 0"
    _equal("scale", 1 + power + exponent / (_END + _SLOPE), said, lines)
    lines.append(ReplayedLine("ends", "u_t → ±1 with the stated probability", FELLER, True))


def _relu_unbiased(proof: _Proof, lines: _Lines) -> None:
    """Compute κ(1), κ'(1) and λ̄ of max(z, 0) without biases."""
    first, _, minus = _generator()
    # A half of E Z² = q = 1/d, and of E 1, since the density is even.
    at_one, slope_at_one = Rational(1, 2) / _D, Rational(1, 2) / _D
    said = f"κ(1) = E[Z²; Z > 0] = {at_one}, κ'(1) = P(Z > 0)/d = {slope_at_one}"
    lines.append(ReplayedLine("ends", said, "symmetry of the normal law", True))
    rate = -minus.subs({_END: at_one, _SLOPE: slope_at_one})
    stated = Add(*(parse(text, _NAMES) for text in proof["rate"]))
    _equal("rate", stated - rate, f"λ̄ = {' + '.join(proof['rate'])}", lines)
    if not stated.subs(_D, Symbol("d", positive=True)).is_positive:
        raise Rejected(f"the sign of {stated} is not known")
    at_end = first.subs({_U: 1, _CHORD: _SLOPE})
    _equal("limit", at_end - minus, "F(1⁻) = −λ̄, so that λ̄' ≥ λ̄ > 0 for every β", lines)


_Shows = Callable[[_Proof, _Lines], None]
_THEOREMS: dict[str, tuple[_Shows, tuple[str, ...], tuple[str, ...]]] = {
    "rate-criterion": (_rate_criterion, ("diffusion", "drift", "odd"), (MEHLER,)),
    "odd-two-point": (_odd_two_point, (), (FELLER, MEHLER)),
    "relu-unbiased": (_relu_unbiased, ("rate",), ()),
}
