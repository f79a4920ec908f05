"""Facts about Gaussian fields on the sphere and tokens that move with them."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected

ITO = "ito-isotropic-field"
PRICE = "price"
RAIMOND = "isotropic-flow-exponent"


def _elsewhere(_line: Inference) -> None:
    """The kinds that use these lemmas check the hypotheses themselves."""
    raise Rejected("this lemma belongs to common noise, not to identity chains")


FACTS = (
    lemma(
        ITO,
        "Itô's formula for tokens in one Gaussian field",
        r"Let $W$ be a Gaussian field, white in time, with $d\langle W_a(x), W_b(y)\rangle = \kappa(\langle "
        r"x, y\rangle)\,\delta_{ab}\,dt$, and $dX^i = b_i\,dt + P_i\,dW(X^i)$, $P_x = I - xx^\top$. A twice "
        r"continuously differentiable $f$ has the drift $\sum_i\langle\nabla_if, b_i\rangle + "
        r"\frac12\sum_{ij}\kappa(\langle X^i, X^j\rangle)\operatorname{tr}(P_i\,\nabla_i\nabla_jf\,P_j)$. "
        r"Where $b_i$ and $P_i$ leave $|X^i|^2$ unchanged, tokens stay on the sphere.",
        ("drift and covariation of all tokens",),
        "Kunita, Stochastic Flows and Stochastic Differential Equations (1990), Theorem 3.3.1",
        _elsewhere,
    ),
    lemma(
        PRICE,
        "Price's theorem",
        r"Let $(Z_1, Z_2)$ be centred Gaussian with variances $q > 0$ and covariance $c$, $f$ and $g$ "
        r"locally absolutely continuous with derivatives of polynomial growth. $E[f(Z_1)g(Z_2)]$ is "
        r"continuous on $|c| \le q$, differentiable for $|c| < q$, and its derivative $E[f'(Z_1)g'(Z_2)]$ "
        r"is continuous up to $c = q$, where both variables agree.",
        ("f and g are locally absolutely continuous",),
        "Price, IRE Trans. Inform. Theory 4 (1958), 69–72; Ledoux and Talagrand, Probability in Banach "
        "Spaces (1991), Section 3.3",
        _elsewhere,
    ),
    lemma(
        RAIMOND,
        "The Lyapunov exponent of an isotropic flow",
        r"Where the flow of an isotropic Gaussian field on the sphere is differentiable it has a top "
        r"Lyapunov exponent $\lambda_1$, the same from every point and in every direction. For two tokens "
        r"at the distance $\delta$, $|X - Y|^2 = 2 - 2u$, the drift of $\log|X - Y|$ tends to $\lambda_1$ "
        r"as $\delta \to 0$.",
        ("L½log(1 − u) has a limit at u → 1",),
        "Raimond, Ann. Inst. H. Poincaré Probab. Statist. 35 (1999), 313–354",
        _elsewhere,
    ),
)
