"""GLPR23: Hessians for different Riemannian metrics."""

from __future__ import annotations

from symflow.certify.search.metrics import prove_metric_independence
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.claims.glpr23.landscape import require_stated

_ID = "GLPR23/hessian-metric-independence"


def _decide(*, deadline: Deadline) -> Verdict:
    require_stated()
    return replayed(prove_metric_independence(_ID), deadline)


CLAIMS = (
    Claim(
        id=_ID,
        title="The Hessian at a critical point does not depend on the metric",
        quoted=r"At a critical point the Hessian of $E_\beta$ does not depend on the Riemannian metric.",
        holds=r"For two Riemannian metrics, second derivatives of $E_\beta$ along geodesics with one "
        r"velocity differ by $dE_\beta(w)$, $w$ the tangent vector by which their accelerations differ; so "
        r"at a critical point the Hessian is that of every metric. For $\frac1{n^2}\sum_iZ_i\langle v_i, "
        r"v_i\rangle$, $Z_i = \sum_je^{\beta\langle x_i,x_j\rangle}$, it exceeds that of $\sum_i|v_i|^2$ by "
        r"$\sum_i\langle\operatorname{grad}_iE_\beta, w_i\rangle$ with $Z_iw_i = \beta P_{x_i}\sum_j"
        r"e^{\beta\langle x_i,x_j\rangle}\bigl(\frac12(|v_i|^2 + |v_j|^2)x_j - (\langle v_i,x_j\rangle + "
        r"\langle x_i,v_j\rangle)v_i\bigr)$.",
        hypotheses=r"$\beta > 0$, every $n$ and $d$.",
        method="identity-chain",
        documented="proved",
        reference="GLPR23",
        decide=_decide,
    ),
)
