"""CACP25: well-posedness of attention without normalisation."""

from __future__ import annotations

from symflow.certify.search.escape import write_escape
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.models.attention.linear import Linear
from symflow.models.attention.unnormalised import Unnormalised


def _local_only(*, deadline: Deadline) -> Verdict:
    models = {"linear": Linear(), "unnormalised": Unnormalised()}
    statements = {
        name: model.with_symbolic_scale().statement(("Q", "K", "V")) for name, model in models.items()
    }
    deadline.check()
    return replayed(write_escape("CACP25/linear-local-only", statements), deadline)


CLAIMS = (
    Claim(
        id="CACP25/linear-local-only",
        title="Linear and unnormalised attention: local in time only",
        quoted=r"From compactly supported data the equation has a unique global solution.",
        holds=r"Without normalisation it does not on $\mathbb{R}^d$: for $d = 1$ and all parameters one, a "
        r"Dirac moves by $x' = x^3$ under linear attention, which ends at $1/(2x_0^2)$, and by $x' = "
        r"x e^{x^2} \ge x^3$ under the unnormalised exponential, which ends no later. Bounds that grow with "
        "the time hold up to blow-up only.",
        hypotheses=r"One choice of parameters, every $x_0 > 0$.",
        method="escape",
        documented="proved",
        reference="CACP25",
        decide=_local_only,
    ),
)
