"""CACP25: closed systems for mean and covariance."""

from __future__ import annotations

from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.gaussian import METHOD, decide_preservation
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax

_QKV = ("Q", "K", "V")


def _softmax(*, deadline: Deadline) -> Verdict:
    model = Softmax().with_symbolic_scale()
    return decide_preservation("CACP25/gaussian-softmax", model, _QKV, deadline)


def _l2(*, deadline: Deadline) -> Verdict:
    return decide_preservation("CACP25/gaussian-l2", L2().with_symbolic_scale(), _QKV, deadline)


_HOLDS = (
    r"From every $\mathcal{N}(\alpha_0, \Sigma_0)$, $\Sigma_0 \succeq 0$ singular or not, "
    r"$\mathcal{N}(\alpha, \Sigma)$ solves the equation on the maximal interval of existence of the system; "
    "existence for all times is not claimed. "
)
_SCALE = (
    r"Any $\beta \ge 0$ and temperature $\tau > 0$, $A := (\beta/\tau)K^\top Q$; "
    r"giving $A$ alone means $Q = A$, $K = I$."
)

CLAIMS = (
    Claim(
        id="CACP25/gaussian-softmax",
        title="Softmax attention keeps Gaussians",
        quoted=r"Softmax attention maps Gaussians to Gaussians: $\dot\alpha = V(I + \Sigma A)\alpha$, "
        r"$\dot\Sigma = V\Sigma A\Sigma + \Sigma A^\top\Sigma V^\top$.",
        holds=_HOLDS + r"No sign condition on $V$ or $A$ is needed, because $C = 0$.",
        hypotheses=_SCALE,
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_softmax,
    ),
    Claim(
        id="CACP25/gaussian-l2",
        title="L2 attention keeps Gaussians",
        quoted=r"L2 attention maps Gaussians to Gaussians: with $G = (I + 2\Sigma K^\top K)^{-1}$, "
        r"$\dot\alpha = VG(I + 2\Sigma A)\alpha$, $\dot\Sigma = 2VG\Sigma A\Sigma + 2\Sigma A^\top\Sigma "
        r"G^\top V^\top$.",
        holds=_HOLDS
        + r"$K$ may have any rank: $C = -2K^\top K \preceq 0$, so that $I + 2\Sigma K^\top K$ is invertible.",
        hypotheses=r"Any $\beta \ge 0$ and temperature $\tau > 0$; $Q$ and $K$ stand for "
        r"$\sqrt{\beta/\tau}$ times the matrices of the score, $A := K^\top Q$.",
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_l2,
    ),
)
