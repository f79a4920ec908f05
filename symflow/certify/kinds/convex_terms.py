r"""Convex terms: convexity for all laws from two semidefinite matrices and terms that are convex.

The proof object is

    {"fluctuation": {"matrix": rows, "L": rows, "D": [...]}, "mean": {...}, "terms": [reason, ...]}

with rational numbers: the matrices P − λI and P + S − λI of the quadratic part
(:mod:`symflow.certify.taylor.decomposition`), each with a factorisation L diag(D) Lᵀ, D ≥ 0, and how every
other term of W, jointly in both tokens, and of U is convex. The replay reads matrices and terms off the
statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.convexity_latex import factor_latex, statement_latex
from symflow.certify.lemmas.curvature import DISPLACEMENT, SCHUR_PRODUCT
from symflow.certify.propositions import stated_proposition
from symflow.certify.propositions.convexity import CONVEXITY, StatedEnergy, read_energy, rows
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.taylor.decomposition import Decomposition, decompose
from symflow.certify.terms import Rejected
from symflow.derive.tex import tex_escape
from symflow.errors import InputError

_KEYS = frozenset(("fluctuation", "mean", "terms"))
_PARTS = {
    "fluctuation": "E⟨ξ − Eξ, P(ξ − Eξ)⟩: P − λI",
    "mean": "⟨Eξ, (P + S)Eξ⟩: P + S − λI",
}
_TITLES = {"fluctuation": r"P - \lambda I", "mean": r"P + S - \lambda I"}


class ConvexTerms(ProofKind):
    """Semidefinite matrices and disciplined rules."""

    name = "convex-terms"

    def replay(self, certificate: Certificate) -> Replay:
        """Decompose the stated energy and check the factorisations."""
        lines: list[ReplayedLine] = []
        try:
            claim = stated_proposition(certificate)
            if claim is not CONVEXITY:
                raise Rejected(f"convex terms say nothing about {certificate.claim}")
            stated = CONVEXITY.read(certificate.statement)
            _require_straight_lines(stated)
            found = decompose(stated)
            proof = certificate.proof
            if set(proof) != _KEYS:
                raise Rejected(f"convex terms have the keys {', '.join(sorted(_KEYS))}")
            for name in _PARTS:
                lines.append(_check_factor(name, proof[name], found, stated.dimension is None))
            lines += _check_terms(proof["terms"], found)
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        return Replay(True, tuple(lines), assumes=lemmas_of(found))

    def to_latex(self, certificate: Certificate, outcome: Replay) -> list[str]:
        """Return the energy, both matrices with their factors, and the rule for every other term."""
        stated = read_energy(certificate.statement)
        proof = certificate.proof
        lines = [
            *statement_latex(stated),
            r"For random vectors $X + t\xi$, $\bar\xi = \mathbb{E}\xi$, the second derivative of the part of",
            r"degree two is $\mathbb{E}\langle\xi - \bar\xi, P(\xi - \bar\xi)\rangle +",
            r"\langle\bar\xi, (P + S)\bar\xi\rangle$ with",
        ]
        for name, title in _TITLES.items():
            lines += factor_latex(title, proof[name], stated.dimension is None)
        if proof["terms"]:
            items = [rf"\item {tex_escape(reason)}" for reason in proof["terms"]]
            lines += ["The other terms are convex:", r"\begin{itemize}", *items, r"\end{itemize}"]
        return lines


def lemmas_of(found: Decomposition) -> tuple[str, ...]:
    """Return the lemmas that a decomposition takes."""
    return (DISPLACEMENT, SCHUR_PRODUCT) if found.uses_kernels else (DISPLACEMENT,)


def _require_straight_lines(stated: StatedEnergy) -> None:
    if stated.space != "euclidean" or stated.metric.name == "twisted":
        raise Rejected("straight lines of random vectors are geodesics of the Wasserstein metric on ℝᵈ only")


def _check_factor(name: str, given: Any, found: Decomposition, everywhere: bool) -> ReplayedLine:
    """Check that a stored matrix is the one of the energy and equals L diag(D) Lᵀ with D ≥ 0."""
    if not isinstance(given, Mapping) or set(given) != {"matrix", "L", "D"}:
        raise Rejected(f"{name!r} has the keys matrix, L, D")
    matrix = rows(given["matrix"], f"{name}: matrix")
    if matrix != getattr(found, name):
        raise Rejected(f"{name}: the matrix of the energy is another one")
    if not isinstance(given["D"], (list, tuple)):
        raise Rejected(f"{name}: D must be a list")
    D = tuple(entry for (entry,) in rows([[d] for d in given["D"]], "D")) if given["D"] else ()
    L = rows(given["L"], f"{name}: L") if D else tuple(() for _ in matrix)
    if any(entry < 0 for entry in D):
        raise Rejected(f"{name}: an entry of D is negative")
    if len(L) != len(matrix) or any(len(row) != len(D) for row in L):
        raise Rejected(f"{name}: L and D do not fit the matrix")
    for i, row in enumerate(matrix):
        for j, entry in enumerate(row):
            if sum((L[i][k] * D[k] * L[j][k] for k in range(len(D))), Fraction(0)) != entry:
                raise Rejected(f"{name}: the matrix is not L diag(D) Lᵀ")
    shown = "[" + "; ".join(" ".join(map(str, row)) for row in matrix) + "]"
    said = f"{_PARTS[name]} = {shown}{' times I' if everywhere else ''} ⪰ 0"
    return ReplayedLine(name, said, f"L diag(D) Lᵀ with D = ({', '.join(map(str, D))})", True)


def _check_terms(given: Any, found: Decomposition) -> list[ReplayedLine]:
    if not isinstance(given, (list, tuple)) or tuple(given) != found.reasons:
        raise Rejected(f"the other terms are convex by: {'; '.join(found.reasons) or 'there are none'}")
    return [
        ReplayedLine(f"term {index + 1}", "convex jointly in its tokens", reason, True)
        for index, reason in enumerate(found.reasons)
    ]
