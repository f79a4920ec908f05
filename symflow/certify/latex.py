"""Verdicts as LaTeX fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symflow.certify.lemmas import LEMMAS
from symflow.derive.markup import tex_escape

if TYPE_CHECKING:
    from symflow.certify.verdict import Verdict

#: signs of judgements and scopes that the general escape does not know
_SIGNS = {
    "≥": r"\ge",
    "≤": r"\le",
    "⪰": r"\succeq",
    "⪯": r"\preceq",
    "≻": r"\succ",
    "ᵀ": r"^{\top}",
    "½": r"\tfrac12",
}


def plain_to_latex(text: str) -> str:
    """Return plain text for LaTeX: special characters escaped, the signs of the field as mathematics.

    Examples
    --------
    >>> print(plain_to_latex("V_h ⪰ 0"))
    V\\_h \\ensuremath{\\succeq} 0
    """
    return "".join(rf"\ensuremath{{{_SIGNS[c]}}}" if c in _SIGNS else tex_escape(c) for c in text)


def verdict_latex(verdict: Verdict) -> str:
    """Return the verdict, its scope and the lemmas that it assumes as a LaTeX fragment."""
    lines = [rf"\paragraph{{{plain_to_latex(verdict.claim)}: {verdict.status}.}}"]
    if verdict.scope:
        lines.append(rf"Scope: {plain_to_latex(verdict.scope)}.")
    if verdict.reason:
        lines.append(rf"Reason: {plain_to_latex(verdict.reason)}.")
    if verdict.witness is not None:
        lines.append(rf"Witness: {plain_to_latex(str(verdict.witness))}.")
    if verdict.method:
        lines.append(rf"Method: {plain_to_latex(verdict.method)}.")
    if verdict.assumes:
        lines += ["It rests on", r"\begin{description}"]
        lines += [_item(name) for name in verdict.assumes]
        lines.append(r"\end{description}")
    return "\n".join(lines) + "\n"


def _item(name: str) -> str:
    if name not in LEMMAS:  # of a verdict that was read and not replayed
        return rf"\item[{plain_to_latex(name)}] A lemma that is not known; the verdict does not replay."
    lemma = LEMMAS[name]
    return rf"\item[{lemma.title}] {lemma.statement} [{plain_to_latex(lemma.citation)}]"
