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
        r"continuously on the law, uniformly in $s$. Without a sink nothing bounds $Z$ from below as $s \to "
        r"0$. How well-posedness follows from such a bound is not part of the certificate.",
        hypotheses=r"Two laws with compact support and one law $\theta$ of positions, $\theta(\{0\}) = m > "
        r"0$.",
        method="identity-chain",
        documented="proved",
        reference="CACP25",
        decide=_masked_sink,
    ),
)
