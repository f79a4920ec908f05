"""CACP25: closed systems for mean and covariance."""

from __future__ import annotations

from collections.abc import Callable

from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.gaussian import METHOD, decide_preservation
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead

QKV = ("Q", "K", "V")


def closed_models() -> dict[str, AttentionModel]:
    """Return every closed variant without noise, with symbols for its scalars, by the name of its claim."""
    models = {
        "gaussian-softmax": Softmax(),
        "gaussian-l2": L2(),
        "gaussian-linear": Linear(),
        "gaussian-sinkhorn": Sinkhorn(),
        "gaussian-multihead": MultiHead(Softmax()),
        "masked-linear": Masked(Linear()),
    }
    return {name: model.with_symbolic_scale() for name, model in models.items()}


def _decider(name: str) -> Callable[..., Verdict]:
    def decide(*, deadline: Deadline) -> Verdict:
        return decide_preservation(f"CACP25/{name}", closed_models()[name], QKV, deadline)

    return decide


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
        decide=_decider("gaussian-softmax"),
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
        decide=_decider("gaussian-l2"),
    ),
    Claim(
        id="CACP25/gaussian-linear",
        title="Linear attention keeps Gaussians",
        quoted=r"Linear attention maps Gaussians to Gaussians: with $M = \Sigma + \alpha\alpha^\top$, "
        r"$\dot\alpha = VMA\alpha$, $\dot\Sigma = VMA\Sigma + \Sigma A^\top MV^\top$.",
        holds=_HOLDS + r"A Dirac with $V = A = 1$ already leaves every bounded set in finite time.",
        hypotheses=_SCALE,
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_decider("gaussian-linear"),
    ),
    Claim(
        id="CACP25/gaussian-sinkhorn",
        title="Sinkhorn attention keeps Gaussians",
        quoted=r"Sinkhorn attention maps Gaussians to Gaussians: $\dot\alpha = V\alpha/\varepsilon$, "
        r"$\dot\Sigma = (VC^\top + CV^\top)/\varepsilon$, $C$ the cross-covariance of the optimal coupling.",
        holds=_HOLDS + r"$A$ may be singular and non-symmetric: with $\bar A = A/\varepsilon$, $C^\top = "
        r"2\Sigma\bar A(I + (I + 4\Sigma\bar A^\top\Sigma\bar A)^{1/2})^{-1}\Sigma$, a principal root of a "
        r"matrix whose eigenvalues are at least one.",
        hypotheses=r"Any $\beta \ge 0$ and $\varepsilon > 0$, the temperature; $A := \beta K^\top Q$. The "
        r"velocity is that of $\mu$-almost every $x$, where the scaling is unique.",
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_decider("gaussian-sinkhorn"),
    ),
    Claim(
        id="CACP25/gaussian-multihead",
        title="Several softmax heads keep Gaussians",
        quoted=r"Multi-head softmax attention maps Gaussians to Gaussians: $\dot\alpha = \sum_h V_h(I + "
        r"\Sigma A_h)\alpha$, $\dot\Sigma = \sum_h (V_h\Sigma A_h\Sigma + \Sigma A_h^\top\Sigma V_h^\top)$.",
        holds=_HOLDS + r"For every number $H$ of heads, $V_h$ standing for $W_hV_h$.",
        hypotheses=r"Any $\beta \ge 0$ and temperature $\tau > 0$, $A_h := (\beta/\tau)K_h^\top Q_h$.",
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_decider("gaussian-multihead"),
    ),
    Claim(
        id="CACP25/masked-linear",
        title="Masked linear attention keeps one Gaussian per position",
        quoted=r"With a causal mask linear attention is closed on conditionally Gaussian laws: with $M_s = "
        r"\int_{\tau \le s} (\Sigma_\tau + \alpha_\tau\alpha_\tau^\top)\,d\theta(\tau)$, $\dot\alpha_s = "
        r"VM_sA\alpha_s$, $\dot\Sigma_s = VM_sA\Sigma_s + \Sigma_sA^\top M_sV^\top$.",
        holds=r"At every position $s$, $\mathcal{N}(\alpha_s, \Sigma_s)$ solves the equation of that "
        "position on the maximal interval of existence of the coupled system; every covariance may be "
        "singular.",
        hypotheses=r"Finitely many positions with any weights $\theta \ge 0$. " + _SCALE,
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_decider("masked-linear"),
    ),
)
