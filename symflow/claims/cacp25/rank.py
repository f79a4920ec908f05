"""CACP25: the rank of the covariance in finite time."""

from __future__ import annotations

from symflow.certify.verdict import Verdict
from symflow.claims.cacp25.gaussian import QKV, closed_models
from symflow.claims.claim import Claim, Deadline
from symflow.claims.gaussian import decide_parts


def _rank_invariance(*, deadline: Deadline) -> Verdict:
    models = {name.removeprefix("gaussian-"): model for name, model in closed_models().items()}
    return decide_parts("CACP25/rank-invariance", models, QKV, deadline)


CLAIMS = (
    Claim(
        id="CACP25/rank-invariance",
        title="Rank invariance",
        quoted=r"The rank of the covariance is preserved along the flow.",
        holds=r"For softmax, L2, linear, Sinkhorn, multi-head softmax and (at every position) masked linear "
        r"attention without noise, $\Sigma(t) = \Phi(t)\Sigma_0\Phi(t)^\top$ with $\Phi(t)$ invertible on "
        r"the interval of existence, so $\operatorname{rank}\Sigma(t)$ is constant there. The rank of a "
        r"limit as $t \to \infty$ may be lower.",
        hypotheses=r"Any $\beta \ge 0$, temperature $> 0$, $Q$, $K$, $V$, $\Sigma_0 \succeq 0$.",
        method="cases",
        documented="proved",
        reference="CACP25",
        decide=_rank_invariance,
    ),
)
