"""GLPR23: tokens that are proved to end in one cluster."""

from __future__ import annotations

from typing import Any

from sympy import Identity, Trace, exp

from symflow.algebra.words import identical
from symflow.certify.certificate import Certificate
from symflow.certify.search.closure import join_parts
from symflow.certify.search.tokens import prove_common_cosine, prove_cone_collapse, prove_independent
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.derive.particles import token_flow
from symflow.errors import Undecided
from symflow.flow import SCORE
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised

_HEMISPHERE, _ORTHOGONAL = "GLPR23/hemisphere-rate", "GLPR23/orthogonal-start"


def _models() -> dict[str, Any]:
    models = {"softmax": Softmax(space="sphere"), "unnormalised": Unnormalised(space="sphere")}
    return {name: model.with_symbolic_scale() for name, model in models.items()}


def _require_derived(model: Any, given: frozenset[str], normalise: str) -> None:
    """Compare the velocity of the theorem, mean of e^s P_x y with s = (β/τ)⟨Qx, Ky⟩, with the derived one.

    Raises
    ------
    Undecided
        If the derivation says something else.
    """
    flow = token_flow(model, given).flow
    (term,) = flow.terms
    values = {pairing.symbol: Trace(pairing.left.T * pairing.right) for pairing in term.pairings}
    named = {parameter.name: parameter for parameter in flow.parameters}
    images = [named[name] * v if name in given else v for name, v in (("Q", flow.x), ("K", flow.y))]
    score = named["beta"] / named["temperature"] * Trace(images[0].T * images[1])
    agrees = (
        (flow.space, term.normalise, term.prefactor, term.feature) == ("sphere", normalise, 1, flow.y)
        and term.weight == exp(SCORE)
        and isinstance(term.matrix, Identity)
        and term.offset.is_ZeroMatrix
        and flow.background.is_ZeroMatrix
        and identical(term.score.subs(values), score)
    )
    if not agrees:
        raise Undecided(f"{flow.name} was derived with another velocity than that of the theorem")


def _hemisphere(*, deadline: Deadline) -> Verdict:
    parts: dict[str, Certificate] = {}
    for part, model in _models().items():
        normalised = part == "softmax"
        _require_derived(model, frozenset(("Q", "K")), "softmax" if normalised else "none")
        deadline.check()
        parts[part] = prove_cone_collapse(_HEMISPHERE, part, normalised=normalised)
    parts["independent"] = prove_independent(_HEMISPHERE, "independent")
    return replayed(join_parts(_HEMISPHERE, parts), deadline)


def _orthogonal(*, deadline: Deadline) -> Verdict:
    parts: dict[str, Certificate] = {}
    for part, model in _models().items():
        normalised = part == "softmax"
        _require_derived(model, frozenset(), "softmax" if normalised else "none")
        deadline.check()
        parts[part] = prove_common_cosine(_ORTHOGONAL, part, normalised=normalised)
    return replayed(join_parts(_ORTHOGONAL, parts), deadline)


CLAIMS = (
    Claim(
        id=_HEMISPHERE,
        title="Exponential collapse inside a hemisphere",
        quoted=r"If $d \ge n$, or if all tokens start in one open hemisphere, they converge exponentially "
        "fast to one point.",
        holds=r"If $|w| \le 1$ and $\langle w, x_i(0)\rangle \ge m > 0$ for all $i$, then $|x_i(t) - x^*| "
        r"\le \frac2m e^{-\lambda t}$ with $\lambda = me^{-2a}$ for softmax attention and $\lambda = "
        r"me^{-a}$ without normaliser, $a \ge |A|$: the points $x_i/\langle w, x_i\rangle$ move towards each "
        r"other. Linearly independent tokens, so almost all starts with $d \ge n$, lie in such a hemisphere, "
        r"with $w \propto X^\top(XX^\top)^{-1}\mathbf 1$. The rate is a lower bound.",
        hypotheses=r"$V = I$, any $Q$, $K$ with $A = (\beta/\tau)K^\top Q$; for $Q = K = I$, $a = "
        r"|\beta|/\tau$. Any $n \ge 1$ and $d \ge 1$.",
        method="cases",
        documented="proved",
        reference="GLPR23",
        decide=_hemisphere,
    ),
    Claim(
        id=_ORTHOGONAL,
        title="Tokens that start orthogonal have one common cosine",
        quoted=r"From an orthonormal start all cosines are equal at all times, to a function $\gamma(t)$ "
        r"that increases to one and solves a scalar equation.",
        holds=r"$\dot\gamma = 2e^{\beta\gamma}(1 - \gamma)((n - 1)\gamma + 1)/(e^\beta + "
        r"(n - 1)e^{\beta\gamma})$ for softmax attention, $\dot\gamma = \frac2n e^{\beta\gamma}(1 - \gamma)"
        r"((n - 1)\gamma + 1)$ without normaliser; $\dot\gamma > 0$ and $\gamma(t) \to 1$. The same from "
        r"every start whose cosines are all equal to one $\gamma(0) \in [0, 1)$.",
        hypotheses=r"$Q = K = V = I$, any real $\beta$ (over the temperature), $n \ge 2$.",
        method="cases",
        documented="proved",
        reference="GLPR23",
        decide=_orthogonal,
    ),
)
