"""Facts about averages over laws on a ball, and how bounds of a velocity separate its solutions."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected

WEIGHTED_AVERAGE = "weighted-average"
SCALING = "scaling-contraction"
DOBRUSHIN = "dobrushin"


def _elsewhere(_line: Inference) -> None:
    """The kind ``ball-bounds`` checks the hypotheses itself."""
    raise Rejected("this lemma belongs to bounds on balls, not to identity chains")


FACTS = (
    lemma(
        WEIGHTED_AVERAGE,
        "Averages with exponential weights",
        r"Let $\mu, \nu$ be laws on the ball of radius $R$, $v$ a map with Lipschitz constant $\ell$, $s$ a "
        r"function with $|\nabla_y s| \le L_y$ that oscillates by at most $D$ in $y$, and $\Gamma_\mu(x) = "
        r"\int v\,e^{s(x,\cdot)}d\mu / \int e^{s(x,\cdot)}d\mu$. Then $|\Gamma_\mu| \le \sup|v|$; "
        r"$\nabla_x\Gamma_\mu$ is the covariance of $v$ and $\nabla_x s$ under the weights, at most "
        r"$\ell R G$ where $\nabla_x s$ stays within $G$ of a function of $x$; and $\Gamma_\mu - "
        r"\Gamma_\nu = \int (v - \Gamma_\nu)e^{s}\,d(\mu - \nu)/\int e^s d\mu$ is at most "
        r"$\ell(1 + 2RL_y)e^{D}\,W_1(\mu, \nu)$. If only the laws up to a position count and the first one "
        r"has the mass $m > 0$, the laws up to there are at most $d_1(\mu, \nu)/m$ apart.",
        ("bounds of s and of v on the ball",),
        "Boucheron, Lugosi, Massart, Concentration Inequalities (2013), Section 2 (variances of bounded "
        "variables); Villani, Optimal Transport (2009), Remark 6.5 (Kantorovich duality); the rest as stated",
        _elsewhere,
    ),
    lemma(
        SCALING,
        "Doubly stochastic scaling contracts Hilbert's metric",
        r"Let $\nabla_x s$ and $\nabla_y s$ stay within $G$ of functions of $x$ and of $y$ alone. The maps "
        r"$g \mapsto -\log\int e^{s(x,y) + g(y)}d\mu(y)$ and its mirror image contract the oscillation by "
        r"$\tanh(RG)$ for every law on the ball (Birkhoff), so that the potentials $f, g$ with both "
        r"marginals one exist and are unique up to a constant. $s + g$ has the slope $2G$ in $y$ and "
        r"oscillates by at most $4RG$; exchanging $\mu$ for $\nu$ moves either map by at most "
        r"$4Ge^{4RG}W_1$ in oscillation, "
        r"hence the potentials by at most $2Ge^{4RG}(e^{2RG} + 1)W_1$, and the average of $v$ by "
        r"$\ell R/2$ times that beside what the weights with fixed potentials contribute.",
        ("bounds of both gradients of s on the ball",),
        "Birkhoff, Extensions of Jentzsch's theorem, Trans. AMS 85 (1957), 219–227; Franklin and Lorenz, "
        "Linear Algebra Appl. 114/115 (1989), 717–735; the rest as stated",
        _elsewhere,
    ),
    lemma(
        DOBRUSHIN,
        "Dobrushin's estimate",
        r"Let $|\Gamma_\mu| \le B(R)$, $|\Gamma_\mu(x) - \Gamma_\mu(z)| \le \Lambda_x(R)|x - z|$ and "
        r"$|\Gamma_\mu(x) - \Gamma_\nu(x)| \le \Lambda_\mu(R)W_1(\mu, \nu)$ for all laws on the ball of "
        r"radius $R$, with $B, \Lambda_x, \Lambda_\mu$ continuous and not decreasing. From laws on the ball "
        r"of radius $R_0$ there are unique solutions as long as $\dot R = B(R)$, $R(0) = R_0$, has one, and "
        r"$W_p(\mu(t), \nu(t)) \le \exp(\int_0^t(\Lambda_x + \Lambda_\mu)(R(s))\,ds)\,W_p(\mu_0, \nu_0)$ for "
        r"$p \ge 1$; under a mask with one law of positions the same holds for the conditional distance with "
        r"$p = 1$.",
        ("the three bounds on every ball",),
        "Dobrushin, Vlasov equations, Funct. Anal. Appl. 13 (1979), 115–123; Golse, On the dynamics of large "
        "particle systems in the mean field limit (2016), Section 3",
        _elsewhere,
    ),
)
