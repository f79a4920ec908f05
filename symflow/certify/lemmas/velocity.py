"""Facts about the velocities of Gaussian solutions on the real line."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected

AFFINE_VELOCITY = "affine-velocity"
COMPARISON = "comparison"


def _elsewhere(_line: Inference) -> None:
    """The kinds that use these lemmas check the hypotheses themselves."""
    raise Rejected("this lemma belongs to counterexamples, not to identity chains")


FACTS = (
    lemma(
        AFFINE_VELOCITY,
        "Gaussian solutions in dimension one have affine velocities",
        r"Let $\mu_t = \mathcal{N}(\alpha(t), \sigma^2(t))$, $\sigma > 0$, solve $\partial_t\mu + "
        r"\partial_x(\mu\,\Gamma_\mu) = \varepsilon\,\partial_x^2\mu$ weakly on $[0, T)$, $T > 0$, with "
        r"$\int_0^T\!\int |\Gamma_{\mu_t}|\,d\mu_t\,dt < \infty$. For almost every $t$ there are $a$, $b$ "
        r"for which the flux $(\Gamma_{\mu_t} - a - bx)\mu_t$ is constant in $x$; being integrable it is "
        r"zero. So $\Gamma_{\mu_t}$ is affine, and where a derivative of order $k \ge 2$ or a second "
        r"difference of $\Gamma_{\mu_t}$ in $x$ is continuous in $\alpha$ and $\sigma$, it vanishes at "
        r"$t = 0$.",
        (
            "the integrals are dominated uniformly near the law and the point",
            "the derivative or difference is not zero",
        ),
        "Ambrosio, Gigli, Savaré, Gradient Flows (2008), Section 8.1 (the equation); the rest as stated",
        _elsewhere,
    ),
    lemma(
        COMPARISON,
        "Comparison with a cubic",
        r"Let $x' = f(x)$ with $f$ locally Lipschitz and $f(x) \ge cx^3$ for all $x > 0$, $c > 0$. The "
        r"solution with $x(0) = x_0 > 0$ satisfies $x(t) \ge x_0(1 - 2cx_0^2t)^{-1/2}$, so that it ends no "
        r"later than $1/(2cx_0^2)$, and exactly then where $f(x) = cx^3$.",
        ("f(x) ≥ c·x³ for x > 0",),
        "Hartman, Ordinary Differential Equations (1964), Theorem III.4.1",
        _elsewhere,
    ),
)
