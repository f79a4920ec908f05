"""Facts about scalar differential equations."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected


def _elsewhere(_line: Inference) -> None:
    """The kind ``exact-solution`` checks the hypotheses itself."""
    raise Rejected("this lemma belongs to exact solutions, not to identity chains")


FACTS = (
    lemma(
        "autonomous-scalar",
        "Autonomous scalar equations",
        r"Let $p$ be a polynomial, positive on $[a, b)$ with $b \le \infty$. The solution of $u' = p(u)$, "
        r"$u(0) = a$, increases to $b$, which it reaches after the time $\int_a^b du/p(u)$: never if "
        r"$p(b) = 0$, or if $b = \infty$ and $\deg p \le 1$, and in finite time otherwise.",
        ("p is a polynomial", "p > 0 on [a, b)"),
        "Teschl, Ordinary Differential Equations and Dynamical Systems (2012), Section 1.3",
        _elsewhere,
    ),
)
