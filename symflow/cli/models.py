"""Commands about models: ``list``, ``derive``, ``cite``."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._output import console, json_option, print_json, progress, table
from symflow.cli._plain import plain

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
    from symflow.integrate.options import ADAPTIVE, FIXED
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
    methods = [{"name": name, "step": "adaptive"} for name in ADAPTIVE]
    methods += [{"name": name, "step": "fixed, give dt"} for name in FIXED]
    if as_json:
        print_json({"models": models, "energies": [], "integrators": methods})
        return
    out = console()
    rows = table("model", "score s(x, y)", "value v(y)", "reference")
    for name, model in attention_models().items():
        rows.add_row(name, model.score, model.value, model.reference)
    out.print(rows)
    rows = table("integrator", "step")
    for method in methods:
        rows.add_row(method["name"], method["step"])
    out.print(rows)


@click.command()
@click.argument("model")
@click.option(
    "--format", "form", type=click.Choice(list(_SUFFIX)), help="A document instead of the overview."
)
@click.option("--fragment", is_flag=True, help="Only the part to paste into a paper (latex).")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write into this folder.")
@json_option
def derive(model: str, form: str | None, fragment: bool, out: Path | None, as_json: bool) -> None:
    """Derive the mean-field equations and check every step."""
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
        f'"""Mean and covariance under {derivation.statement.name}: their drift in alpha and Sigma."""',
        "from sympy import *",
        "from sympy.core.symbol import Str",
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
        "score": derivation.model.score,
        "scale": str(derivation.model.scale),
        "value": derivation.model.value,
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

    model = derivation.model
    product = "A = KᵀQ" if "Q" in model.parameters else "A"
    given = ", ".join(product if s.name == "A" else s.name for s in derivation.statement.parameters)
    source = f"  ({model.reference})" if model.reference else ""
    out.print(f"[bold]{escape(model.title)}[/] given {given}{source}")
    score = model.score if model.scale == 1 else f"{model.scale} · ({model.score})"
    out.print(escape(f"  s(x, y) = {score}"))
    out.print(escape(f"  v(y)    = {model.value}"))
    out.print()
    out.print("[bold]Mean and covariance of a Gaussian law[/]")
    out.print(escape(f"  alpha' = {derivation.mean_rhs}"))
    out.print(escape(f"  Sigma' = {derivation.cov_rhs}"))
    rows = table("step", "rule", "checked by")
    for step, seen in checked:
        rows.add_row(escape(plain(step.title)), escape(plain(step.rule)), escape(f"✓ {seen.method}"))
    out.print(rows)


@click.command()
@click.argument("what", nargs=-1)
@click.option(
    "--format", "form", type=click.Choice(["bibtex", "text", "latex"]), default="bibtex", show_default=True
)
@json_option
def cite(what: tuple[str, ...], form: str, as_json: bool) -> None:
    """Print the references: all, by key, or those of a model.

    WHAT is a citation key such as CACP25, the name of a model, or a spec file.
    """
    from symflow.references import bibliography
    from symflow.references import cite as formatted

    known = bibliography()
    keys = list(dict.fromkeys(key for item in what for key in _citation_keys(item, known))) or list(known)
    text = formatted(*keys, format=form)
    if as_json:
        print_json({"references": {key: known[key] for key in keys}, "format": form, "text": text})
    else:
        click.echo(text)


def _citation_keys(item: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the key itself, or the keys that a model and the steps of its derivation refer to."""
    if item in known:
        return (item,)
    from symflow.cli._target import resolve
    from symflow.derive.closure import gaussian_closure
    from symflow.references import keys_in

    target = resolve(item)
    derivation = gaussian_closure(target.model, target.given)
    return keys_in("; ".join([target.model.reference, *(step.reference for step in derivation.steps)]))
