"""Factorisations that show an energy convex for all laws."""

from __future__ import annotations

from typing import Any

from symflow.algebra.exact.rational import fraction, fractions, psd_factor, rational_matrix
from symflow.certify.kinds.convex_terms import lemmas_of
from symflow.certify.propositions.convexity import StatedEnergy
from symflow.certify.taylor.decomposition import decompose
from symflow.certify.terms import Rejected


def convex_terms(stated: StatedEnergy) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    """Return the proof object and the lemmas that it takes, or None.

    There is none where a matrix is not semidefinite or a term is not known to be convex.
    """
    if stated.space != "euclidean" or stated.metric.name == "twisted":
        return None
    try:
        found = decompose(stated)
    except Rejected:  # no rule applies to a term
        return None
    parts = {name: _factored(getattr(found, name)) for name in ("fluctuation", "mean")}
    if None in parts.values():
        return None
    return {**parts, "terms": list(found.reasons)}, lemmas_of(found)


def _factored(matrix: Any) -> dict[str, Any] | None:
    factor = psd_factor(rational_matrix(matrix))
    if factor is None:
        return None
    columns = fractions(factor.L) if factor.D else [[] for _ in matrix]
    return {
        "matrix": [[str(entry) for entry in row] for row in matrix],
        "L": [[str(entry) for entry in row] for row in columns],
        "D": [str(fraction(entry)) for entry in factor.D],
    }
