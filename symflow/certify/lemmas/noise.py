"""Facts about stochastic differential equations."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected

MEAN_GROWTH = "ito-gronwall"


def _elsewhere(_line: Inference) -> None:
    """The kind ``mean-decay`` checks the hypotheses itself."""
    raise Rejected("this lemma belongs to the decay of means, not to identity chains")


FACTS = (
    lemma(
        MEAN_GROWTH,
        "Itô's formula and Grönwall's inequality in mean",
        r"Let $X$ solve an It\^o equation with bounded coefficients on a compact manifold, $E \ge 0$ be "
        r"twice continuously differentiable there, and $LE \le cE$ for its generator $L$. Then "
        r"$e^{-ct}E(X_t)$ is a supermartingale, so that $E[E(X_t)] \le e^{ct}\,E[E(X_0)]$. The generator is "
        r"linear in the drift: it is the derivative of $E$ along the drift that is added, plus the generator "
        r"without it. For $E = \frac1{2n^2}\sum_{ij}f(\langle X^i, X^j\rangle)$ the latter is "
        r"$\frac1{2n^2}\sum_{ij}(Lf)(\langle X^i, X^j\rangle)$, where the terms $i = j$ vanish since "
        r"$\langle X^i, X^i\rangle = 1$ does not move. Bounds that do not depend on $n$ pass to the limit $n "
        r"\to \infty$ of empirical laws that converge in mean, as $f$ is bounded and continuous.",
        ("LE ≤ cE at every state",),
        "Karatzas and Shreve, Brownian Motion and Stochastic Calculus (1991), Theorem 3.3.6 and Section 5.2",
        _elsewhere,
    ),
)
