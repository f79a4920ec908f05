"""CACP25: Sinkhorn attention."""

from __future__ import annotations

from sympy import Symbol

from symflow.certify.search.long_time import Moments
from symflow.certify.search.sinkhorn import prove_bures_flow, prove_decoupling
from symflow.certify.verdict import Verdict
from symflow.claims.cacp25.long_time import derived_moments
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.models.attention.sinkhorn import Sinkhorn


def _system() -> Moments:
    return derived_moments(Sinkhorn(), ("Q", "K", "V"))[0]


def _decoupling(*, deadline: Deadline) -> Verdict:
    model = Sinkhorn(temperature=Symbol("epsilon", positive=True))
    statement = model.statement(frozenset(("Q", "K", "V")))
    system, _ = derived_moments(model, ("Q", "K", "V"))
    deadline.check()
    (head,) = statement.heads
    value = head.prefactor * head.value
    tokens = (statement.x, statement.y)
    return replayed(
        prove_decoupling("CACP25/sinkhorn-decoupling", system, head.score, value, tokens), deadline
    )


def _bures_flow(*, deadline: Deadline) -> Verdict:
    return replayed(prove_bures_flow("CACP25/sinkhorn-bures-flow", _system()), deadline)


CLAIMS = (
    Claim(
        id="CACP25/sinkhorn-decoupling",
        title="Mean and covariance decouple under Sinkhorn attention",
        quoted=r"Under Sinkhorn attention the mean obeys $\dot\alpha = V\alpha/\varepsilon$ and the "
        "covariance an equation of its own.",
        holds=r"For every law with finite second moments, Gaussian or not: both marginals of the optimal "
        r"self-coupling are the law itself, so that $\dot\alpha = V\alpha/\varepsilon$; and the coupling of "
        r"a translated law is the translated coupling, so that $\dot\Sigma = (VC^\top + "
        r"CV^\top)/\varepsilon$ does not see the mean.",
        hypotheses=r"$\varepsilon > 0$, any $Q$, $K$, $V$.",
        method="identity-chain",
        documented="proved",
        reference="CACP25",
        decide=_decoupling,
    ),
    Claim(
        id="CACP25/sinkhorn-bures-flow",
        title="Sinkhorn attention descends in the Bures–Wasserstein metric",
        quoted=r"For $V = A = A^\top$ Sinkhorn attention on Gaussians is the Bures–Wasserstein gradient flow "
        r"of the entropic self-transport cost.",
        holds=r"$\dot\Sigma = \bar AC + C\bar A = -2(\Sigma G + G\Sigma)$, $\bar A = A/\varepsilon$, with $G "
        r"= \partial F_S/\partial\Sigma = -\frac14(S^{-1} - \Sigma^{-1} + \Sigma^{-1}CS^{-1}C\Sigma^{-1})$, "
        r"$S = \Sigma - C\Sigma^{-1}C$, $F_S = \mathrm{OT}_\varepsilon(\mu, \mu)/(2\varepsilon)$, for every "
        r"$\varepsilon > 0$. That $\dot\Sigma = \bar AC + C\bar A$ is CACP25/sinkhorn-decoupling.",
        hypotheses=r"$V = A = A^\top$, $\Sigma \succ 0$, cost $-x^\top Ay$.",
        method="identity-chain",
        documented="proved",
        reference="CACP25",
        decide=_bures_flow,
    ),
)
