"""CACP25: the attention sink."""

from __future__ import annotations

from symflow.certify.search.sink import prove_sink
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed


def _masked_sink(*, deadline: Deadline) -> Verdict:
    return replayed(prove_sink("CACP25/masked-sink"), deadline)


CLAIMS = (
    Claim(
        id="CACP25/masked-sink",
        title="A sink makes masked attention stable",
        quoted=r"Masked softmax attention is well-posed if the first position has positive mass.",
        holds=r"With $m = \theta(\{0\}) > 0$ and kernels $\ge c > 0$ on the supports, the normaliser is at "
        r"least $mc$ at every position $s$, and $|\Gamma_\mu(s, x) - \Gamma_\nu(s, x)| \le (|N_\mu - N_\nu| "
        r"+ |\Gamma_\nu|\,|Z_\mu - Z_\nu|)/(mc)$ with $N = \int_{\tau \le s} Vy\,e^{\langle Qx, "
        r"Ky\rangle}d\mu$, $Z = \int_{\tau \le s} e^{\langle Qx, Ky\rangle}d\mu$: the velocity depends "
        r"continuously on the law, uniformly in $s$; on balls the constant is that of softmax attention "
        r"divided by $m$ (CACP25/stability-constants). That is sharp, and without a sink there is none: for "
        r"$A = 0$, $V = 1$ on the line, Diracs at 0 against Diracs at 1 for $\tau \le s$ and at 0 beyond are "
        r"$d_1 = \theta([0, s])$ apart, and the velocities at $s$ differ by one. In the mean over positions "
        r"to a power $p > 1$ Hardy's inequality bounds the change by $p/(p-1)$ instead of $1/m$.",
        hypotheses=r"Two laws with compact support and one law $\theta$ of positions, $\theta(\{0\}) = m > "
        r"0$.",
        method="identity-chain",
        documented="proved",
        reference="CACP25",
        decide=_masked_sink,
    ),
)
