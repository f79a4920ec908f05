"""Facts about covariances of random layers, their quadrature, and one-dimensional diffusions."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected

MEHLER, GAUSS_LEGENDRE, FELLER = "mehler-expansion", "gauss-legendre-error", "feller-exit"


def _elsewhere(_line: Inference) -> None:
    """The kinds about common noise check the hypotheses themselves."""
    raise Rejected("this lemma belongs to proofs about common noise, not to identity chains")


FACTS = (
    lemma(
        MEHLER,
        "Covariances of functions of correlated normal numbers",
        r"For standard normal $X, Y$ of correlation $r$ and $\phi$ with $E\phi(\sqrt qX)^2 < \infty$, "
        r"$E\phi(\sqrt qX)\phi(\sqrt qY) = \sum_k a_k^2r^k$, $a_k$ the coefficients of "
        r"$\phi(\sqrt q\,\cdot)$ in orthonormal Hermite polynomials, $\sum_k a_k^2 = "
        r"E\phi(\sqrt qX)^2$ and $\sum_k ka_k^2 = qE\phi'(\sqrt qX)^2$ where this "
        r"is finite. With $r = (u/d + \sigma_U^2)/q$, $\kappa(u) = \sum_k c_ku^k$ on "
        r"$[-1, 1]$ with all $c_k \ge 0$.",
        ("φ is locally absolutely continuous with E φ² and E φ'² finite",),
        "Janson, Gaussian Hilbert Spaces (1997), Theorem 4.12 and Example 4.18",
        _elsewhere,
    ),
    lemma(
        GAUSS_LEGENDRE,
        "Error of Gauss-Legendre quadrature of holomorphic functions",
        r"The rule with $n$ points on $[-1, 1]$ errs by at most $\frac{64}{15}M\varrho^{-2(n-1)}/(1 - "
        r"\varrho^{-2})$ for a function that is holomorphic and at most $M$ in the ellipse with foci $\pm1$ "
        r"whose half-axes add up to $\varrho$.",
        ("the function is holomorphic and at most M in the ellipse",),
        "Trefethen, Approximation Theory and Approximation Practice (2013), Theorem 19.3",
        _elsewhere,
    ),
    lemma(
        FELLER,
        "Where a regular diffusion on an interval ends",
        r"Let $du = G_0dt + \sqrt{2G_1}\,dB$ on $(-1, 1)$ with continuous coefficients, $G_1 > 0$, and "
        r"$s' = \exp(-\int G_0/G_1)$. If $s(\pm1)$ are finite then $u_t$ converges almost surely to one of "
        r"the ends, to $1$ with probability $(s(u_0) - s(-1))/(s(1) - s(-1))$.",
        ("G₁ > 0 inside", "the scale function is finite at both ends"),
        "Karatzas and Shreve, Brownian Motion and Stochastic Calculus (1991), Proposition 5.5.22(d)",
        _elsewhere,
    ),
)
