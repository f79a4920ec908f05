"""A claim with its verdict and how to re-check it, as a LaTeX fragment."""

from __future__ import annotations

from pathlib import Path

from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim
from symflow.derive.tex import tex_escape, tex_text


def claim_latex(claim: Claim, verdict: Verdict, certificate: Path | None = None) -> str:
    r"""Return what is claimed, the verdict with its proof object, and the command of the replay.

    Parameters
    ----------
    claim : Claim
    verdict : Verdict
        On this claim.
    certificate : Path, optional
        Where the certificate was written; without it the commands that write and replay one are named.

    Examples
    --------
    >>> from symflow.claims import check, claim
    >>> text = claim_latex(claim("CACP25/no-upper-bound"), check("CACP25/no-upper-bound"))
    >>> r"\Bigl(|x|^{2} - 1\Bigr)" in text, r"\texttt{symflow check CACP25/no-upper-bound" in text
    (True, True)
    """
    stated = (("As quoted", claim.quoted), ("What holds", claim.holds), ("Given", claim.hypotheses))
    lines = [
        rf"\subsection*{{{tex_text(claim.title)}}}",
        *(rf"\paragraph{{{label}.}} {tex_text(text)}" for label, text in stated if text),
        verdict.to_latex().rstrip("\n"),
    ]
    if verdict.certificate is not None or verdict.measurement is not None:
        command = claim.replay_command if certificate is None else f"symflow replay {certificate}"
        lines.append(rf"\paragraph{{Replay.}} \texttt{{{tex_escape(command)}}}")
    return "\n".join(lines) + "\n"
