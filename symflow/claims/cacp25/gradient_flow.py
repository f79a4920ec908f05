"""CACP25: softmax attention as a flow of the exponential energy for a twisted metric."""

from __future__ import annotations

from dataclasses import replace

from symflow.certify.certificate import Certificate
from symflow.certify.search.closure import join_parts
from symflow.certify.search.gradient_flow import prove_gradient_flow
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.claims.gradient_flow import derived_flow
from symflow.models.attention.softmax import Softmax
from symflow.models.energies.exponential import Exponential

_TWISTED = "CACP25/twisted-gradient-flow"


def _twisted(*, deadline: Deadline) -> Verdict:
    found = derived_flow(Softmax(), Exponential(), normaliser="G")
    deadline.check()
    flows = {"ascent": found, "descent": replace(found, metric=-found.metric, direction=-1)}
    parts: dict[str, Certificate] = {
        part: prove_gradient_flow(_TWISTED, flow, part) for part, flow in flows.items()
    }
    return replayed(join_parts(_TWISTED, parts), deadline)


CLAIMS = (
    Claim(
        id=_TWISTED,
        title="Softmax attention is a gradient flow for a twisted metric",
        quoted=r"Softmax attention is the gradient flow of $F(\mu) = \frac12\iint e^{\langle Qx, Ky\rangle}"
        r"d\mu\,d\mu$ for the twisted Wasserstein metric $d_{A,V}$.",
        holds=r"$\Gamma_\mu = \pm|M|^{-1}G_\mu^{-1}\nabla\frac{\delta F}{\delta\mu}$, $M = AV^{-1}$, "
        r"$G_\mu(x) = \int e^{\langle Qx, Ky\rangle}d\mu(y)$, for every law of compact support: the "
        r"ascent of $F$ where $M \succ 0$, the descent where $M \prec 0$. $A = K^\top Q$ must be "
        r"symmetric and $AV^{-1}$ symmetric definite: for $d \ge 2$ and $V$ invertible, the derivation "
        r"shows that Diracs and laws of two atoms admit no other matrix in place of $M$, up to a "
        r"positive factor, and none at all where one of these fails.",
        hypotheses=r"$V$ invertible, $A = A^\top$, $AV^{-1}$ symmetric definite; formal: an identity of "
        r"vector fields at every law, not the existence of curves or of a distance.",
        method="cases",
        documented="proved",
        reference="CACP25",
        decide=_twisted,
    ),
)
