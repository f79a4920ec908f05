"""The table of claims, as rows, HTML and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from symflow.certify.latex import plain_to_latex
from symflow.claims.claim import Claim
from symflow.derive.markup import math_to_html
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
    environment = _environment(form)
    return str(environment.get_template(f"claims.{form}.jinja").render(rows=list(table)))


def _environment(form: str) -> Environment:
    loader = PackageLoader("symflow.claims", "templates")
    if form == "html":
        environment = Environment(loader=loader, undefined=StrictUndefined, autoescape=True, trim_blocks=True)
        environment.filters["prose"] = math_to_html
        return environment
    environment = Environment(
        loader=loader,
        undefined=StrictUndefined,
        autoescape=False,  # LaTeX text is written by the claims themselves; names go through the filter below
        trim_blocks=True,
        lstrip_blocks=True,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
    )
    environment.filters["plain"] = plain_to_latex
    return environment
