"""Commands about claims: ``claims``, ``check``, ``replay``."""

from __future__ import annotations

from pathlib import Path

import click

from symflow.cli._output import console, json_option, print_json, progress, table


@click.command("claims")
@click.option("--format", "form", type=click.Choice(["html", "latex"]), help="A page instead of the table.")
@json_option
def list_claims(form: str | None, as_json: bool) -> None:
    """List the claims: as usually quoted, and what holds."""


@click.command()
@click.argument("claim")
@click.argument("model", required=False)
@click.option(
    "--certificate", type=click.Path(dir_okay=False, path_type=Path), help="Write the certificate here."
)
@click.option("--latex", is_flag=True, help="Print the verdict as a LaTeX fragment.")
@json_option
def check(claim: str, model: str | None, certificate: Path | None, latex: bool, as_json: bool) -> int:
    """Decide CLAIM for MODEL."""
    return 0


@click.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@json_option
def replay(certificate: Path, as_json: bool) -> int:
    """Derive a certificate again, from nothing but itself."""
    from symflow.certify import Certificate
    from symflow.certify import replay as rederive

    stored = Certificate.load(certificate)
    with progress(f"replaying {certificate}"):
        outcome = rederive(stored)
    if as_json:
        print_json(
            {
                "accepted": outcome.accepted,
                "claim": stored.claim,
                "status": stored.status,
                "scope": stored.scope,
                "assumes": stored.assumes,
                "reason": outcome.reason or None,
                "lines": [vars(line) for line in outcome.lines],
            }
        )
    else:
        out = console()
        rows = table("line", "statement", "follows by")
        for line in outcome.lines:
            rows.add_row(line.id, line.statement, line.reason)
        out.print(rows)
        verdict = (
            f"accepted: {stored.claim} is {stored.status}"
            if outcome.accepted
            else f"rejected: {outcome.reason}"
        )
        out.print(verdict, markup=False, style="bold" if outcome.accepted else "bold red")
    return 0 if outcome.accepted else 1
