"""Facts about geodesics of finitely many atoms."""

from __future__ import annotations

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected

COINCIDENT_ATOMS = "coincident-atoms"


def _elsewhere(_line: Inference) -> None:
    """The kind ``second-variation`` checks the hypotheses itself."""
    raise Rejected("this lemma belongs to second variations, not to identity chains")


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
)
