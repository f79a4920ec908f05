"""Verdicts as LaTeX fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symflow.certify.lemmas import LEMMAS
from symflow.derive.tex import tex_escape

if TYPE_CHECKING:
    from symflow.certify.verdict import Verdict


def verdict_latex(verdict: Verdict) -> str:
    """Return the verdict, its scope and the lemmas that it assumes as a LaTeX fragment."""
    lines = [rf"\paragraph{{{tex_escape(verdict.claim)}: {verdict.status}.}}"]
    if verdict.scope:
        lines.append(rf"Scope: {tex_escape(verdict.scope)}.")
    if verdict.reason:
        lines.append(rf"Reason: {tex_escape(verdict.reason)}.")
    if verdict.witness is not None:
        lines.append(rf"Witness: {tex_escape(str(verdict.witness))}.")
    if verdict.method:
        lines.append(rf"Method: {tex_escape(verdict.method)}.")
    if verdict.assumes:
        lines += ["It rests on", r"\begin{description}"]
        lines += [_item(name) for name in verdict.assumes]
        lines.append(r"\end{description}")
    return "\n".join(lines) + "\n"


def _item(name: str) -> str:
    if name not in LEMMAS:  # of a verdict that was read and not replayed
        return rf"\item[{tex_escape(name)}] A lemma that is not known; the verdict does not replay."
    lemma = LEMMAS[name]
    return rf"\item[{lemma.title}] {lemma.statement} [{tex_escape(lemma.citation)}]"
