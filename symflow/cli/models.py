"""Commands about models: ``list``, ``derive``, ``cite``."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._codes import BAD_INPUT
from symflow.cli._output import console, json_option, print_json, progress, table
from symflow.cli._plain import plain

if TYPE_CHECKING:
    from rich.console import Console

    from symflow.cli._target import Target
    from symflow.derive.derivation import Derivation
    from symflow.derive.nonclosure import Refutation
    from symflow.derive.steps import Checked, Step
    from symflow.models.statement import Statement

_SUFFIX = {"latex": "tex", "html": "html", "sympy": "py", "json": "json"}


@click.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List models, what keeps Gaussians Gaussian, and integrators."""
    from symflow.derive.outcome import closure_status
    from symflow.integrate.options import ADAPTIVE, FIXED
    from symflow.models.registry import COMBINATORS, attention_models, compositions

    with progress("deriving"):
        status = {name: closure_status(model()) for name, model in attention_models().items()}
        status |= {name: closure_status(model) for name, model in compositions().items()}
    models: list[dict[str, Any]] = [
        {
            "name": name,
            "title": model.title,
            "score": model.score,
            "kernel": model.kernel,
            "value": model.value,
            "normalise": model.normalise,
            "parameters": sorted(sorted(names) for names in model().parametrisations()),
            "gaussians": status[name],
            "composed": {word: status[f"{word}-{name}"] for word in COMBINATORS},
            "reference": model.reference,
        }
        for name, model in attention_models().items()
    ]
    methods = [{"name": name, "step": "adaptive"} for name in ADAPTIVE]
    methods += [{"name": name, "step": "fixed, give dt"} for name in FIXED]
    if as_json:
        print_json(
            {"models": models, "combinators": list(COMBINATORS), "energies": [], "integrators": methods}
        )
        return
    out = console()
    words = tuple(f"{word}-…" for word in COMBINATORS)
    rows = table("model", "score s(x, y)", "value v(y)", "weights", "Gaussians", *words)
    for row in models:
        weights = "k" if row["normalise"] == "none" else row["normalise"]
        kernel = f"k = {row['kernel']}, {weights}" if weights != "k" else f"k = {row['kernel']}"
        rows.add_row(
            row["name"], row["score"], row["value"], kernel, row["gaussians"], *row["composed"].values()
        )
    out.print(rows)
    out.print(
        "  closed: equations of mean and covariance; not closed: proved that Gaussians are not preserved",
        style="dim",
    )
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
def derive(model: str, form: str | None, fragment: bool, out: Path | None, as_json: bool) -> int:
    """Derive the mean-field equations and check every step.

    Where Gaussians are not preserved there are none: the document then is the proof, and the exit code 2.
    """
    from symflow.cli._documents import write_document
    from symflow.cli._target import resolve
    from symflow.derive.outcome import derive_or_refute
    from symflow.errors import CheckFailed

    if fragment and form not in (None, "latex"):
        raise click.UsageError("--fragment belongs to --format latex.")
    form = form or ("latex" if fragment or out else None)
    target = resolve(model)
    with progress(f"deriving {target.name}"):
        found = derive_or_refute(target.model, target.given)
        checked = found.checked()
    failed = next(((step, seen) for step, seen in checked if not seen.passed), None)
    if failed:
        step, seen = failed
        raise CheckFailed(f"{target.name}: step {step.title!r}: {seen.method}: {seen.evidence}", step, seen)
    summary = _summary(target, found, checked)
    text = _document(found, summary, form, fragment) if form else None
    path = (
        write_document(out, f"{target.name}.{_SUFFIX[form]}", text)
        if out and form and text is not None
        else None
    )
    if as_json:
        print_json(summary | {"format": form, "path": path and str(path), "document": None if path else text})
    elif form is None:
        _print_overview(console(), target, found, checked)
    elif text is not None and not path:
        click.echo(text)
    if path:
        click.echo(f"wrote {path}", err=True)
    return 0 if summary["closed"] else _refused(summary)


def _refused(summary: dict[str, Any]) -> int:
    click.echo(f"symflow: error: {summary['message']}", err=True)
    return BAD_INPUT


def _document(
    found: Derivation | Refutation, summary: dict[str, Any], form: str, fragment: bool
) -> str | None:
    if form == "latex":
        return found.to_latex(fragment=fragment)
    if form == "html":
        return found.to_html()
    if form == "sympy":
        return _as_sympy(found) if summary["closed"] else None
    import json

    return json.dumps(summary, indent=2, ensure_ascii=False)


def _as_sympy(derivation: Any) -> str:
    """Return Python source that rebuilds both right-hand sides, symbols with their assumptions included."""
    from sympy import srepr

    lines = [
        f'"""Mean and covariance under {derivation.statement.name}: their drift in alpha and Sigma."""',
        "from sympy import *",
        "from sympy.core.symbol import Str",
    ]
    if derivation.flow.stacked:
        lines.append("from symflow.algebra.families import FamilySum")
    parts = {"mean_rhs": derivation.mean_rhs, "cov_rhs": derivation.cov_rhs}
    chain = derivation.flow.chain
    parts |= {} if chain is None else {f"summand_of_{sum_.name}": part for sum_, part in chain.running}
    for name, expression in parts.items():
        lines += ["", f"# {expression}", f"{name} = {srepr(expression)}"]
    return "\n".join(lines)


def _summary(
    target: Target, found: Derivation | Refutation, checked: list[tuple[Step, Checked]]
) -> dict[str, Any]:
    statement = found.statement
    return {
        "model": target.name,
        "statement": statement.name,
        "score": found.model.score,
        "kernel": found.model.kernel,
        "scale": str(found.model.scale),
        "value": found.model.value,
        "normalise": found.model.normalise,
        "diffusion": str(statement.diffusion),
        "parameters": {symbol.name: _shape(symbol, statement) for symbol in statement.parameters},
        **_finding(found),
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


def _finding(found: Any) -> dict[str, Any]:
    """Return the equations, with the running sums of a mask, or the witness that there are none."""
    from symflow.algebra.latex import latex

    flow = getattr(found, "flow", None)
    if flow is None:
        message = f"{found.statement.name} does not keep Gaussians Gaussian: {found.witness}"
        witness = {"text": str(found.witness), "latex": found.witness.to_latex(), **found.witness.to_record()}
        return {"closed": False, "error": "NotGaussianPreserving", "message": message, "witness": witness}
    running = () if flow.chain is None else flow.chain.running
    return {
        "closed": True,
        "mean_rhs": str(found.mean_rhs),
        "cov_rhs": str(found.cov_rhs),
        "mean_rhs_latex": latex(found.mean_rhs),
        "cov_rhs_latex": latex(found.cov_rhs),
        "running_sums": {symbol.name: str(part) for symbol, part in running},
    }


def _shape(symbol: Any, statement: Statement) -> list[str]:
    heads = [statement.stacked[symbol.name]] if symbol.name in statement.stacked else []
    return [str(size) for size in (*heads, *getattr(symbol, "shape", ()))]


def _print_overview(
    out: Console, target: Target, found: Derivation | Refutation, checked: list[tuple[Step, Checked]]
) -> None:
    from rich.markup import escape

    model = found.model
    product = "A = KᵀQ" if "Q" in model.parameters else "A"
    given = ", ".join(product if s.name == "A" else s.name for s in found.statement.parameters)
    source = f"  ({model.reference})" if model.reference else ""
    out.print(f"[bold]{escape(model.title)}[/] given {given}{source}")
    score = model.score if model.scale == 1 else f"{model.scale} · ({model.score})"
    out.print(escape(f"  s(x, y) = {score}"))
    out.print(escape(f"  v(y)    = {model.value}"))
    out.print(escape(f"  weights   k = {model.kernel}" + _normalised(model.normalise)))
    out.print()
    _print_finding(out, found)
    rows = table("step", "rule", "checked by")
    for step, seen in checked:
        rows.add_row(escape(plain(step.title)), escape(plain(step.rule)), escape(f"✓ {seen.method}"))
    out.print(rows)


def _normalised(how: str) -> str:
    return {"softmax": ", divided by its integral", "sinkhorn": ", made doubly stochastic"}.get(how, "")


def _print_finding(out: Console, found: Any) -> None:
    from rich.markup import escape

    flow = getattr(found, "flow", None)
    if flow is None:
        out.print("[bold]Gaussians are not preserved[/]")
        out.print(escape(f"  {found.witness}"))
        return
    out.print(
        "[bold]Mean and covariance of a Gaussian law[/]" + (" at every position s" if flow.chain else "")
    )
    out.print(escape(f"  alpha' = {found.mean_rhs}"))
    out.print(escape(f"  Sigma' = {found.cov_rhs}"))
    for symbol, part in () if flow.chain is None else flow.chain.running:
        out.print(escape(f"  {symbol.name} = sum over the positions up to s of {part}"))


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
    from symflow.derive.outcome import derive_or_refute
    from symflow.references import keys_in

    target = resolve(item)
    found = derive_or_refute(target.model, target.given)
    return keys_in("; ".join([target.model.reference, *(step.reference for step in found.steps)]))
