"""CACP25: sigmoid attention does not keep Gaussians."""

from __future__ import annotations

from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.nonclosure import METHOD, decide_nonpreservation
from symflow.models.attention.sigmoid import Sigmoid


def _sigmoid(*, deadline: Deadline) -> Verdict:
    model = Sigmoid().with_symbolic_scale()
    return decide_nonpreservation("CACP25/gaussian-sigmoid", model, ("Q", "K", "V"), deadline)


CLAIMS = (
    Claim(
        id="CACP25/gaussian-sigmoid",
        title="Sigmoid attention does not keep Gaussians",
        quoted=r"Sigmoid attention does not map Gaussians to Gaussians.",
        holds=r"Already for $d = 1$ the velocity of a Gaussian is not affine: its third derivative at $0$ is "
        r"$V A^3\,\mathbb{E}[Y^4]\,\sigma'''(0) \neq 0$ for a centred law, $\sigma'''(0) = -\tfrac18$. So no "
        "curve of Gaussians solves the equation from there.",
        hypotheses=r"One choice of parameters and one law with positive variance; the certificate has both. "
        r"$V = 0$ or $A = 0$, for instance, does keep Gaussians.",
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_sigmoid,
    ),
)
