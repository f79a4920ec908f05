"""CACP25: convexity of the energy of softmax attention along geodesics of the twisted metric."""

from __future__ import annotations

from symflow.certify.propositions.convexity import NO_UPPER_BOUND, NON_CONVEXITY
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.convexity import METHOD, decide_lack_of_convexity


def _non_convexity(*, deadline: Deadline) -> Verdict:
    return decide_lack_of_convexity(NON_CONVEXITY, deadline)


def _no_upper_bound(*, deadline: Deadline) -> Verdict:
    return decide_lack_of_convexity(NO_UPPER_BOUND, deadline)


_HYPOTHESES = (
    r"$V = I$, $A = -I$, $F(\mu) = \tfrac12\iint e^{-\langle x, y\rangle}\,d\mu\,d\mu$, and the metric "
    r"$\int|v|^2G_\mu\,d\mu$ with $G_\mu(x) = \int e^{-\langle x, y\rangle}\,d\mu(y)$. Second derivatives "
    "are formal: along curves of atoms that solve the equation of geodesics."
)

CLAIMS = (
    Claim(
        id="CACP25/non-convexity",
        title="The energy is not geodesically convex",
        quoted=r"$F$ is not geodesically convex for the twisted metric.",
        holds=r"On Diracs $\frac{d^2}{dt^2}F = (|x|^2 - 1)\,|\dot\mu|^2$ in every dimension, negative for "
        r"$|x| < 1$; negative second derivatives are there on $n \ge 2$ distinct atoms too.",
        hypotheses=_HYPOTHESES,
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_non_convexity,
    ),
    Claim(
        id="CACP25/no-upper-bound",
        title="The energy has no upper bound of its second derivative",
        quoted=r"The second derivative of $F$ along geodesics of the twisted metric is not bounded above.",
        holds=r"On Diracs $\frac{d^2}{dt^2}F = (|x|^2 - 1)\,|\dot\mu|^2 \to \infty$ as $|x| \to \infty$, in "
        "every dimension.",
        hypotheses=_HYPOTHESES,
        method=METHOD,
        documented="proved",
        reference="CACP25",
        decide=_no_upper_bound,
    ),
)
