"""The table of claims, as rows, HTML and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symflow.claims.claim import Claim
from symflow.derive.markup import math_to_html
from symflow.derive.templating import html_environment, latex_environment
from symflow.derive.tex import tex_escape
from symflow.errors import InputError


@dataclass(frozen=True)
class ClaimRow:
    """One row of the table of claims.

    Attributes
    ----------
    id, title : str
        Of the claim.
    quoted : str
        The statement as usually quoted, LaTeX text.
    holds : str
        What holds, LaTeX text.
    hypotheses : str
        LaTeX text.
    status : str
        Documented verdict.
    witness : str
        What stands behind the verdict.
    reference : str
        Citation key and place.
    command : str
        How to decide the claim and to re-check the certificate.
    """

    id: str
    title: str
    quoted: str
    holds: str
    hypotheses: str
    status: str
    witness: str
    reference: str
    command: str


def rows(claims: Iterable[Claim]) -> tuple[ClaimRow, ...]:
    """Return the rows of the given claims."""
    return tuple(
        ClaimRow(
            id=claim.id,
            title=claim.title,
            quoted=claim.quoted,
            holds=claim.holds,
            hypotheses=claim.hypotheses,
            status=claim.documented,
            witness=claim.witness_note,
            reference=claim.reference,
            command=claim.replay_command,
        )
        for claim in claims
    )


def render_claims(table: Iterable[ClaimRow], form: str) -> str:
    """Return the table of claims as a page.

    Parameters
    ----------
    table : iterable of ClaimRow
        As from :func:`symflow.claims.claims_table`.
    form : {"html", "latex"}
        An HTML page with MathML that opens offline, or a complete LaTeX document.

    Raises
    ------
    InputError
        If the format is unknown.
    """
    if form not in ("html", "latex"):
        raise InputError(f"format {form!r} is unknown; use 'html' or 'latex'")
    if form == "html":
        environment = html_environment("symflow.claims", prose=math_to_html)
    else:
        environment = latex_environment("symflow.claims", plain=tex_escape)
    return environment.get_template(f"claims.{form}.jinja").render(rows=list(table))
