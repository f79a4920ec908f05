"""CACP25: the rank of the covariance in finite time."""

from __future__ import annotations

from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.gaussian import decide_parts
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax


def _rank_invariance(*, deadline: Deadline) -> Verdict:
    models = {"softmax": Softmax().with_symbolic_scale(), "l2": L2().with_symbolic_scale()}
    return decide_parts("CACP25/rank-invariance", models, ("Q", "K", "V"), deadline)


CLAIMS = (
    Claim(
        id="CACP25/rank-invariance",
        title="Rank invariance",
        quoted=r"The rank of the covariance is preserved along the flow.",
        holds=r"For softmax and L2 attention without noise, $\Sigma(t) = \Phi(t)\Sigma_0\Phi(t)^\top$ with "
        r"$\Phi(t)$ invertible on the interval of existence, so $\operatorname{rank}\Sigma(t)$ is constant "
        r"there. The rank of a limit as $t \to \infty$ may be lower.",
        hypotheses=r"Any $\beta \ge 0$, temperature $> 0$, $Q$, $K$, $V$, $\Sigma_0 \succeq 0$.",
        method="cases",
        documented="proved",
        reference="CACP25",
        decide=_rank_invariance,
    ),
)
