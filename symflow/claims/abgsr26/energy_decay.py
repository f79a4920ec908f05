"""ABGSR26: the dissipation energy decays in mean."""

from __future__ import annotations

from symflow.certify.search.noise_energy import prove_mean_decay
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed

_DECAY = "ABGSR26/energy-decay"


def _decide(*, deadline: Deadline) -> Verdict:
    return replayed(prove_mean_decay(_DECAY), deadline)


CLAIMS = (
    Claim(
        id=_DECAY,
        title="The dissipation energy decays in mean",
        quoted=r"If $\frac{d}{dt}E \le \varepsilon E$ without noise, then $E[E(t)] \le e^{(\varepsilon + "
        r"\bar\lambda')t}\,E[E(0)]$ for $E = \frac12\iint(e^\beta - e^{\beta\langle x,y\rangle})d\mu\,d\mu$.",
        holds=r"So it is, with $\bar\lambda' = -\inf F$ over $[-1, 1)$ and $F = \beta e^{\beta u}(G_0 + "
        r"\beta G_1)/(e^\beta - e^{\beta u})$: the generator of the cosine of two tokens satisfies $Lf = "
        r"-Ff$ for $f = e^\beta - e^{\beta u}$, by traces of projectors at symbolic $d$; Itô's formula and "
        r"Grönwall's inequality do the rest. It is a decay only where $\bar\lambda' < -\varepsilon$, which "
        r"ABGSR26/relu-unbiased-dissipation excludes for ReLU without bias.",
        hypotheses=r"Common noise with a Lipschitz covariance $\kappa$, $d \ge 2$, $\beta > 0$, bounded and "
        r"Lipschitz attention.",
        method="mean-decay",
        documented="proved",
        reference="ABGSR26",
        decide=_decide,
    ),
)
