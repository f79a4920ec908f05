"""CACP25: causal masks and Gaussians."""

from __future__ import annotations

from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.nonclosure import METHOD, decide_nonpreservation
from symflow.models.attention.softmax import Softmax
from symflow.models.combinators.masked import Masked


def _masked_softmax(*, deadline: Deadline) -> Verdict:
    model = Masked(Softmax()).with_symbolic_scale()
    return decide_nonpreservation("CACP25/gaussian-masked", model, ("Q", "K", "V"), deadline)


CLAIMS = (
    Claim(
        id="CACP25/gaussian-masked",
        title="Masked softmax attention does not keep Gaussians",
        quoted=r"With a causal mask softmax attention does not map Gaussians to Gaussians.",
        holds=r"Already for two positions and $d = 1$ the velocity at the second one is not affine: it is an "
        r"average of two Gaussians with weights that depend on $x$. With the laws $\mathcal{N}(0,1)$, "
        r"$\mathcal{N}(1,1)$ of weight $\tfrac12$ each and $A = V = 1$ it is $x + \sigma(x)$, $\sigma$ the "
        "logistic function.",
        hypotheses=r"One choice of parameters and of one law with positive variance at each position; the "
        "certificate has them. The first position sees itself only and does keep Gaussians.",
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_masked_softmax,
    ),
)
