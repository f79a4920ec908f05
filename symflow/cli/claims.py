"""Commands about claims: ``claims``, ``check``, ``replay``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._output import console, indented, json_option, print_json, progress, table
from symflow.cli._plain import plain

if TYPE_CHECKING:
    from rich.console import Console

    from symflow.certify.certificate import Certificate
    from symflow.certify.recheck import Replay
    from symflow.certify.verdict import Verdict
    from symflow.claims.claim import Claim
    from symflow.claims.table import ClaimRow


@click.command("claims")
@click.option("--format", "form", type=click.Choice(["html", "latex"]), help="A page instead of the table.")
@json_option
def list_claims(form: str | None, as_json: bool) -> None:
    """List the claims: as usually quoted, and what holds."""
    from symflow.claims import claims_table, render_claims

    rows = claims_table()
    if as_json:
        print_json({"claims": [vars(row) for row in rows]})
    elif form:
        click.echo(render_claims(rows, form))
    else:
        _print_claims(console(), rows)


def _print_claims(out: Console, rows: tuple[ClaimRow, ...]) -> None:
    from rich.markup import escape

    for row in rows:
        reference = f"  ({row.reference})" if row.reference else ""
        out.print(f"[bold]{escape(row.id)}[/]  {row.status}{escape(reference)}")
        rest = (("as quoted", row.quoted), ("what holds", row.holds), ("given", row.hypotheses))
        for label, text in (*rest, ("witness", row.witness), ("replay", row.command)):
            out.print(indented(label, plain(text) if label != "replay" else text))
        out.print()


@click.command()
@click.argument("claim")
@click.argument("model", required=False)
@click.option(
    "--certificate", type=click.Path(dir_okay=False, path_type=Path), help="Write the certificate here."
)
@click.option("--latex", is_flag=True, help="Print the verdict as a LaTeX fragment.")
@json_option
def check(claim: str, model: str | None, certificate: Path | None, latex: bool, as_json: bool) -> int:
    """Decide a claim, for MODEL where it is about one."""
    from symflow.claims import check as decide
    from symflow.claims import claim as lookup
    from symflow.claims.page import claim_latex

    entry = lookup(claim)
    documented = entry.documented
    name, arguments = _arguments(entry, model)
    with progress(f"checking {claim}"):
        verdict = decide(claim, *arguments)
    written = certificate if certificate and _save_evidence(verdict, certificate) else None
    if as_json:
        subject = {
            "model": name,
            "documented": documented,
            "path": written and str(written),
        }
        print_json(verdict.to_record() | subject)
    elif latex:
        click.echo(claim_latex(entry, verdict, written))
    else:
        _print_verdict(console(), verdict, name)
    _say_where(certificate, written)
    return 0 if verdict.status in ("proved", "supported") or verdict.status == documented else 1


def _arguments(entry: Claim, text: str | None) -> tuple[str | None, tuple[Any, ...]]:
    """Return what MODEL is called and the arguments that it stands for."""
    from symflow.cli._target import resolve

    if text is None:
        return None, ()
    if entry.from_text is not None:
        return text, entry.from_text(text)
    target = resolve(text)
    return target.name, (target.model,) if target.given is None else (target.model, target.given)


def _save_evidence(verdict: Verdict, path: Path) -> bool:
    """Write the certificate, or a verdict that rests on a measurement, and return whether there was any."""
    if verdict.measurement is not None:
        path.write_text(verdict.to_json() + "\n", encoding="utf-8")
    elif verdict.certificate is not None:
        verdict.certificate.save(path)
    return verdict.measurement is not None or verdict.certificate is not None


def _print_verdict(out: Console, verdict: Verdict, model: str | None) -> None:
    from rich.markup import escape

    about = f" of {model}" if model else ""
    out.print(f"[bold]{escape(verdict.claim)}[/]{escape(about)}: [bold]{verdict.status}[/]")
    for label, text in (("reason", verdict.reason), ("scope", verdict.scope), ("method", verdict.method)):
        if text:
            out.print(indented(label, text))
    if verdict.witness is not None:
        out.print(indented("witness", str(verdict.witness)))
    for estimate in verdict.measurement.estimates if verdict.measurement else ():
        out.print(indented("measured", str(estimate)))
    _print_lemmas(out, verdict.assumes)


def _print_lemmas(out: Console, names: tuple[str, ...]) -> None:
    from symflow.certify import LEMMAS

    for name in names:
        out.print(indented("assumes", f"{LEMMAS[name].title}: {LEMMAS[name].citation}"))


def _say_where(asked: Path | None, written: Path | None) -> None:
    if written:
        click.echo(f"wrote {written}; replay it with: symflow replay {written}", err=True)
    elif asked:
        click.echo("no certificate was written: there is none for this verdict", err=True)


@click.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@json_option
def replay(certificate: Path, as_json: bool) -> int:
    """Derive a certificate again from nothing but itself, or repeat a measurement from its seed."""
    from symflow.certify import Certificate
    from symflow.certify import replay as rederive
    from symflow.certify.certificate import read_file

    record = read_file(certificate)
    stored: Certificate | Verdict
    if isinstance(record, dict) and record.get("measurement"):
        from symflow.claims import read_verdict

        stored = read_verdict(certificate)
        with progress(f"repeating {certificate}"):
            outcome = stored.recheck()
    else:
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
        _print_replay(console(), stored, outcome)
    return 0 if outcome.accepted else 1


def _print_replay(out: Console, stored: Certificate | Verdict, outcome: Replay) -> None:
    """Print every line and, where they show the claim, what is shown, for which sizes, resting on what."""
    rows = table("line", "statement", "follows by")
    for line in outcome.lines:
        rows.add_row(line.id, line.statement, line.reason)
    out.print(rows)
    if not outcome.accepted:
        out.print(f"rejected: {outcome.reason}", markup=False, style="bold red")
        return
    out.print(f"accepted: {stored.claim} is {stored.status}", markup=False, style="bold")
    out.print(indented("scope", stored.scope))
    _print_lemmas(out, outcome.assumes)
