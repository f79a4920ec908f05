"""Gaussian preservation and rank invariance of a given model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.gaussian import METHOD, decide_preservation


def _preservation(model: Any, given: Iterable[str] | None = None, *, deadline: Deadline) -> Verdict:
    return decide_preservation("gaussian-preservation", model, given, deadline)


def _rank(model: Any, given: Iterable[str] | None = None, *, deadline: Deadline) -> Verdict:
    return decide_preservation("rank-invariance", model, given, deadline, rank=True)


_HYPOTHESES = (
    "Every value is affine in the key. A kernel that is normalised by rows, or scaled to a doubly stochastic "
    "one, is the exponential of a score that is quadratic in the key; one that is not normalised is affine "
    "in the key, and so it is under a causal mask. With $C$ the second derivative of a score in the key: "
    r"where $C \preceq 0$ is not shown for weights normalised by rows, the verdict states the domain "
    r"$\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1$."
)

CLAIMS = (
    Claim(
        id="gaussian-preservation",
        title="Gaussian preservation",
        quoted=r"Gaussian initial data stay Gaussian.",
        holds="Where a closed system is derived (elsewhere the verdict is refuted with a counterexample, or "
        r"undecided): from every $\mathcal{N}(\alpha_0, \Sigma_0)$, singular $\Sigma_0$ included, the "
        "equation "
        r"has the solution $\mathcal{N}(\alpha(t), \Sigma(t))$, where $(\alpha, \Sigma)$ solves the derived "
        "system, on its maximal interval of existence or up to the first exit from the stated domain.",
        hypotheses=_HYPOTHESES,
        method=METHOD,
        documented="proved",
        reference="",
        decide=_preservation,
        arguments=("model", "given?"),
    ),
    Claim(
        id="rank-invariance",
        title="Rank invariance",
        quoted=r"The rank of the covariance is constant in finite time.",
        holds=r"Along the Gaussian solution $\Sigma(t) = \Phi(t)\Sigma_0\Phi(t)^\top$ with $\Phi(t)$ "
        r"invertible, so $\operatorname{rank}\Sigma(t) = \operatorname{rank}\Sigma_0$ on the interval of "
        r"existence. A limit $t \to \infty$, or a blow-up time, may lower or end it.",
        hypotheses="There is no noise. " + _HYPOTHESES,
        method=METHOD,
        documented="proved",
        reference="",
        decide=_rank,
        arguments=("model", "given?"),
    ),
)
