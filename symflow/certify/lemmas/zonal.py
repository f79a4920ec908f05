"""Facts about functions of the cosine on the sphere."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected

ADDITION = "addition-theorem"


def _elsewhere(_line: Inference) -> None:
    """The kind ``zonal-expansion`` checks the hypotheses itself."""
    raise Rejected("this lemma belongs to zonal expansions, not to identity chains")


FACTS = (
    lemma(
        ADDITION,
        "Addition theorem, and energies that are sums of squares",
        r"Let $\nu$ be the law of a coordinate under the uniform law $\sigma$ on the sphere of $\mathbb "
        r"R^d$, $d \ge 2$, with density proportional to $(1 - t^2)^{(d-3)/2}$, and $P_0 = 1$, $P_1 = t$, "
        r"$(k + d - 2)P_{k+1} = (2k + d - 2)\,t\,P_k - k\,P_{k-1}$. The polynomials $P_k$ are orthogonal "
        r"under $\nu$, and $\sum_mY_{km}(x)Y_{km}(y) = D_kP_k(\langle x, y\rangle)$ for an orthonormal "
        r"basis of the harmonics of degree $k$, $D_k > 0$ in number; so $|P_k| \le P_k(1) = 1$. If all "
        r"$\int t^jP_k\,d\nu \ge 0$, then $t^j = \sum_kD_k\,(\int s^jP_k\,d\nu)\,P_k$ has coefficients that "
        r"are not negative, with the sum one, and $f = \sum_jw_jt^j$, $w_j \ge 0$, has the absolutely "
        r"convergent expansion $\sum_kD_ka_kP_k$, $a_k = \sum_jw_j\int t^jP_k\,d\nu$. Thus $\iint f(\langle "
        r"x, y\rangle)\,d\mu\,d\mu = \sum_ka_k\sum_m(\int Y_{km}d\mu)^2$. If $a_k > 0$ for all $k \ge 1$, "
        r"this is at least $a_0$, with equality only where $\int Y\,d\mu = 0$ for all harmonics of degree "
        r"$k \ge 1$. Harmonics are dense in the continuous functions, so that $\mu = \sigma$.",
        ("all ∫tʲP_k dν ≥ 0", "all a_k > 0"),
        "Müller, Analysis of Spherical Harmonics in Euclidean Spaces (1998), Chapter 1; Schoenberg, Duke "
        "Math. J. 9 (1942), 96–108",
        _elsewhere,
    ),
)
