"""Verdicts as LaTeX fragments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symflow.certify.lemmas import LEMMAS
from symflow.certify.readable import breakable
from symflow.certify.recheck import proof_kinds, replay
from symflow.derive.tex import tex_escape

if TYPE_CHECKING:
    from symflow.certify.certificate import Certificate
    from symflow.certify.measurement import Estimate, Measurement
    from symflow.certify.verdict import Verdict


def verdict_latex(verdict: Verdict) -> str:
    """Return the verdict, its scope, proof object and lemmas as a LaTeX fragment."""
    lines = [rf"\paragraph{{{tex_escape(verdict.claim)}: {verdict.status}.}}"]
    if verdict.scope:
        lines.append(rf"Scope: {tex_escape(verdict.scope)}.")
    if verdict.reason:
        lines.append(rf"Reason: {tex_escape(verdict.reason)}.")
    if verdict.witness is not None:
        lines += _witness(verdict.witness)
    if verdict.method:
        lines.append(rf"Method: {tex_escape(verdict.method)}.")
    if verdict.certificate is not None:
        lines += _certified(verdict.certificate)
    if verdict.measurement is not None:
        lines += _measured(verdict.measurement)
    if verdict.assumes:
        lines += ["It rests on", r"\begin{description}"]
        lines += [_item(name) for name in verdict.assumes]
        lines.append(r"\end{description}")
    return "\n".join(lines) + "\n"


def _witness(witness: Any) -> list[str]:
    """Return the evidence of a refutation, part by part."""
    if not isinstance(witness, Mapping):
        return [rf"Witness: {tex_escape(str(witness))}."]
    items = (
        rf"\item {tex_escape(str(name))}: {breakable(tex_escape(str(part)))}"
        for name, part in witness.items()
    )
    return ["Witness:", r"\begin{itemize}\raggedright", *items, r"\end{itemize}"]


def _certified(certificate: Certificate) -> list[str]:
    """Return the proof object, replayed, or why it proves nothing."""
    head = rf"Certificate of the kind \texttt{{{tex_escape(certificate.kind)}}}"
    if certificate.kind not in proof_kinds():
        return [rf"{head}, which is not known; the verdict does not replay."]
    outcome = replay(certificate)
    if not outcome.accepted:
        return [rf"{head}; the verdict does not replay: {tex_escape(outcome.reason)}."]
    return [f"{head}, replayed:", *proof_kinds()[certificate.kind].to_latex(certificate, outcome)]


def _measured(measurement: Measurement) -> list[str]:
    """Return what was measured, each estimate with its standard error and what it has to satisfy."""
    listed = measurement.sizes.items()
    sizes = ", ".join(rf"\texttt{{{tex_escape(name)}}} = {size:g}" for name, size in listed)
    head = f"Measured with the seed {measurement.seed}" + (f" and {sizes}:" if sizes else ":")
    items = [r"\item " + _estimate(estimate) for estimate in measurement.estimates]
    return [head, r"\begin{itemize}", *items, r"\end{itemize}"]


def _estimate(estimate: Estimate) -> str:
    value, error = (_number(text) for text in estimate.digits)
    required = f"{estimate.replicates} replicates, required {estimate.criterion}"
    return rf"{tex_escape(estimate.quantity)}: ${value} \pm {error}$ ({tex_escape(required)})."


def _number(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _item(name: str) -> str:
    if name not in LEMMAS:  # of a verdict that was read and not replayed
        return rf"\item[{tex_escape(name)}] A lemma that is not known; the verdict does not replay."
    lemma = LEMMAS[name]
    return rf"\item[{lemma.title}] {lemma.statement} [{tex_escape(lemma.citation)}]"
