"""Commands about models: ``list``, ``derive``, ``cite``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._output import console, json_option, print_json, progress, table

if TYPE_CHECKING:
    from rich.console import Console

    from symflow.cli._target import Target
    from symflow.derive.derivation import Derivation
    from symflow.derive.steps import Checked, Step

_SUFFIX = {"latex": "tex", "html": "html", "sympy": "py", "json": "json"}


@click.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List models and integrators."""
    from symflow.integrate.methods import METHODS
    from symflow.models.registry import attention_models

    models = [
        {
            "name": name,
            "title": model.title,
            "score": model.score,
            "value": model.value,
            "parameters": sorted(sorted(names) for names in model().parametrisations()),
            "reference": model.reference,
        }
        for name, model in attention_models().items()
    ]
    methods = [{"name": name, "about": about} for name, about in METHODS.items()]
    if as_json:
        print_json({"models": models, "energies": [], "integrators": methods})
        return
    out = console()
    rows = table("model", "score s(x, y)", "value v(y)", "reference")
    for row in models:
        rows.add_row(row["name"], row["score"], row["value"], row["reference"])
    out.print(rows)
    rows = table("integrator", "")
    for method in methods:
        rows.add_row(method["name"], method["about"])
    out.print(rows)


@click.command()
@click.argument("model")
@click.option("--format", "form", type=click.Choice(sorted(_SUFFIX)), help="A document instead of the overview.")
@click.option("--fragment", is_flag=True, help="Only the part to paste into a paper (latex).")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write into this folder.")
@json_option
def derive(model: str, form: str | None, fragment: bool, out: Path | None, as_json: bool) -> None:
    """Derive the equations of mean and covariance, and check every step."""
    from symflow.cli._target import resolve
    from symflow.derive.closure import gaussian_closure
    from symflow.errors import CheckFailed

    if fragment and form not in (None, "latex"):
        raise click.UsageError("--fragment belongs to --format latex.")
    form = form or ("latex" if fragment or out else None)
    target = resolve(model)
    with progress(f"deriving {target.name}"):
        derivation = gaussian_closure(target.model, target.given)
        checked = derivation.checked()
    failed = next(((step, seen) for step, seen in checked if not seen.passed), None)
    if failed:
        step, seen = failed
        raise CheckFailed(f"{target.name}: step {step.title!r}: {seen.method}: {seen.evidence}", step, seen)
    summary = _summary(target, derivation, checked)
    text = _document(derivation, summary, form, fragment) if form else None
    path = _write(out, f"{target.name}.{_SUFFIX[form]}", text) if out and form and text is not None else None
    if as_json:
        print_json(summary | {"format": form, "path": path and str(path), "document": None if path else text})
    elif path:
        click.echo(f"wrote {path}", err=True)
    elif text is not None:
        click.echo(text)
    else:
        _print_overview(console(), target, derivation, checked)


def _document(derivation: Derivation, summary: dict[str, Any], form: str, fragment: bool) -> str:
    if form == "latex":
        return derivation.to_latex(fragment=fragment)
    if form == "html":
        return derivation.to_html()
    if form == "sympy":
        return _as_sympy(derivation)
    import json

    return json.dumps(summary, indent=2, ensure_ascii=False)


def _write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    return path


def _as_sympy(derivation: Derivation) -> str:
    """Return Python source that rebuilds both right-hand sides, symbols with their assumptions included."""
    from sympy import srepr

    lines = [
        f'"""Mean-field equations of {derivation.statement.name}: mean_rhs and cov_rhs in alpha and Sigma."""',
        "from sympy import *",
        "",
        f"# {derivation.mean_rhs}",
        f"mean_rhs = {srepr(derivation.mean_rhs)}",
        f"# {derivation.cov_rhs}",
        f"cov_rhs = {srepr(derivation.cov_rhs)}",
    ]
    return "\n".join(lines)


def _summary(target: Target, derivation: Derivation, checked: list[tuple[Step, Checked]]) -> dict[str, Any]:
    from symflow.algebra.latex import latex

    statement = derivation.statement
    return {
        "model": target.name,
        "statement": statement.name,
        "score": str(statement.score),
        "value": str(statement.value),
        "normalise": statement.normalise,
        "parameters": {symbol.name: _shape(symbol) for symbol in statement.parameters},
        "mean_rhs": str(derivation.mean_rhs),
        "cov_rhs": str(derivation.cov_rhs),
        "mean_rhs_latex": latex(derivation.mean_rhs),
        "cov_rhs_latex": latex(derivation.cov_rhs),
        "reference": statement.reference,
        "checked": all(seen.passed for _, seen in checked),
        "steps": [
            {
                "kind": step.kind,
                "title": step.title,
                "rule": step.rule,
                "reference": step.reference,
                "check": {"passed": seen.passed, "method": seen.method, "evidence": seen.evidence},
            }
            for step, seen in checked
        ],
    }


def _shape(symbol: Any) -> list[str]:
    return [str(size) for size in getattr(symbol, "shape", ())]


def _print_overview(
    out: Console, target: Target, derivation: Derivation, checked: list[tuple[Step, Checked]]
) -> None:
    from rich.markup import escape

    statement = derivation.statement
    out.print(f"[bold]{escape(derivation.model.title)}[/]  ({statement.reference})")
    out.print(escape(f"  s(x, y) = {statement.score}"))
    out.print(escape(f"  v(y)    = {statement.value}"))
    out.print()
    out.print("[bold]Mean and covariance of a Gaussian law[/]")
    out.print(escape(f"  alpha' = {derivation.mean_rhs}"))
    out.print(escape(f"  Sigma' = {derivation.cov_rhs}"))
    rows = table("step", "rule", "checked by")
    for step, seen in checked:
        rows.add_row(escape(step.title), escape(step.rule), escape(f"✓ {seen.method}"))
    out.print(rows)
    click.echo(f"For a document: symflow derive {target.name} --format latex", err=True)


@click.command()
@json_option
def cite(as_json: bool) -> None:
    """Print the references that the package uses, as BibTeX."""
    from symflow.references import bibliography, cite as bibtex

    if as_json:
        print_json({"references": bibliography(), "bibtex": bibtex()})
    else:
        click.echo(bibtex())
