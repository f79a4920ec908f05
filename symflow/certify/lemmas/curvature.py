"""Facts about geodesics of laws."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected

COINCIDENT_ATOMS = "coincident-atoms"
DISPLACEMENT = "displacement"
SCHUR_PRODUCT = "schur-product"


def _elsewhere(_line: Inference) -> None:
    """The kinds that use these facts check the hypotheses themselves."""
    raise Rejected("this lemma belongs to geodesics, not to identity chains")


FACTS = (
    lemma(
        COINCIDENT_ATOMS,
        "Coincident atoms",
        r"On $(\mathbb{R}^d)^n$ let a Riemannian metric and a function $F$ be smooth and invariant under "
        r"permutations of the $n$ points. Geodesics that start with $n$ equal points and equal velocities "
        r"keep them equal, since fixed points of isometries are totally geodesic, and the second derivative "
        r"of $F$ along geodesics depends continuously on points and velocities. Where it is negative for "
        r"equal points it is negative for $n$ distinct points nearby.",
        ("metric and function are smooth", "both are invariant under permutations"),
        "Kobayashi, Transformation Groups in Differential Geometry (1972), Theorem II.5.1",
        _elsewhere,
    ),
    lemma(
        DISPLACEMENT,
        "Displacement interpolation",
        r"Every geodesic of the Wasserstein metric between laws on $\mathbb{R}^d$ with finite second moments "
        r"is the law of $(1 - t)X + tY$ for a pair $(X, Y)$ with $\mathbb{E}|X - Y|^2$ the squared distance; "
        r"between Gaussian laws it stays Gaussian and is a geodesic of the Bures--Wasserstein metric.",
        ("the space is ℝᵈ",),
        "Ambrosio, Gigli, Savaré, Gradient Flows (2008), Theorem 7.2.2; McCann, Adv. Math. 128 (1997), "
        "Example 1.7",
        _elsewhere,
    ),
    lemma(
        SCHUR_PRODUCT,
        "Exponentials of positive kernels",
        r"Let $B \succeq 0$. The entrywise product of positive semidefinite matrices is positive "
        r"semidefinite, hence so is $(e^{\langle x_i, Bx_j\rangle})_{ij}$, and "
        r"$\sum_{ij}a_ia_je^{\langle x_i, Bx_j\rangle}"
        r"\langle\xi_i, B\xi_j\rangle \ge 0$ for all points $x_i$, vectors $\xi_i$ and numbers $a_i$; the "
        r"same holds for integrals.",
        ("B ⪰ 0",),
        "Horn, Johnson, Matrix Analysis (2013), Theorem 7.5.3",
        _elsewhere,
    ),
)
