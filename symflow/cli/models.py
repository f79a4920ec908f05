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

    from symflow.cli._energies import EnergyTarget
    from symflow.cli._noise import NoiseTarget
    from symflow.cli._target import Target
    from symflow.derive.derivation import Argument
    from symflow.derive.steps import Checked, Step
    from symflow.models.statement import Statement

_NOISE, _VARIATION = "-common", "-variation"  #: kinds of arguments beside those about models
_SUFFIX = {"latex": "tex", "html": "html", "sympy": "py", "json": "json"}


@click.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List models, what keeps Gaussians Gaussian, spaces and kernels of tokens, energies, integrators."""
    from symflow.cli._findings import energies, token_kernels
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
            "tokens": token_kernels(model),
            "reference": model.reference,
        }
        for name, model in attention_models().items()
    ]
    methods = [{"name": name, "step": "adaptive"} for name in ADAPTIVE]
    methods += [{"name": name, "step": "fixed, give dt"} for name in FIXED]
    if as_json:
        print_json(
            {
                "models": models,
                "combinators": list(COMBINATORS),
                "energies": energies(),
                "integrators": methods,
            }
        )
        return
    _print_models(console(), models, methods, tuple(f"{word}-…" for word in COMBINATORS))


def _print_models(
    out: Console, models: list[dict[str, Any]], methods: list[dict[str, str]], words: tuple[str, ...]
) -> None:
    from symflow.cli._findings import energies

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
    rows = table("model", "tokens on ℝᵈ", "tokens on the sphere")
    for row in models:
        rows.add_row(row["name"], row["tokens"]["euclidean"], row["tokens"]["sphere"])
    out.print(rows)
    rows = table("energy", "what it is")
    for energy in energies():
        rows.add_row(energy["name"], energy["describe"])
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
@click.option("--tokens", is_flag=True, help="The system of n tokens instead of mean and covariance.")
@click.option("--stability", is_flag=True, help="How far two solutions can separate: constants on a ball.")
@click.option("--fragment", is_flag=True, help="Only the part to paste into a paper (latex).")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write into this folder.")
@json_option
def derive(
    model: str,
    form: str | None,
    tokens: bool,
    stability: bool,
    fragment: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    """Derive the mean-field equations and check every step.

    Where Gaussians are not preserved there are none: the document then is the proof, and the exit code 2. On
    the sphere, and for a spec file with tokens, it is the system of n tokens that is derived; of an energy,
    or of a spec file that states one and no model, the first variation. "noise" stands for two tokens in
    common noise, "noise:relu" (an activation, or an expression in z) for one random layer.
    """
    from symflow.cli._documents import write_document
    from symflow.cli._findings import GAUSSIAN
    from symflow.errors import CheckFailed

    if fragment and form not in (None, "latex"):
        raise click.UsageError("--fragment belongs to --format latex.")
    form = form or ("latex" if fragment or out else None)
    target, kind = _subject(model, tokens, stability)
    if form == "sympy" and kind != GAUSSIAN:
        raise click.UsageError("--format sympy belongs to the equations of mean and covariance.")
    with progress(f"deriving {target.name}"):
        found = _argument(target, kind)
        checked = found.checked()
    failed = next(((step, seen) for step, seen in checked if not seen.passed), None)
    if failed:
        step, seen = failed
        raise CheckFailed(f"{target.name}: step {step.title!r}: {seen.method}: {seen.evidence}", step, seen)
    summary = _summary(target, found, checked)
    text = _document(found, summary, form, fragment) if form else None
    path = (
        write_document(out, f"{target.name}{kind}.{_SUFFIX[form]}", text)
        if out and form and text is not None
        else None
    )
    if as_json:
        print_json(summary | {"format": form, "path": path and str(path), "document": None if path else text})
    elif form is None:
        _print_overview(console(), found, checked)
    elif text is not None and not path:
        click.echo(text)
    if path:
        click.echo(f"wrote {path}", err=True)
    return 0 if summary.get("closed", True) else _refused(summary)


def _subject(model: str, tokens: bool, stability: bool) -> tuple[Target | EnergyTarget | NoiseTarget, str]:
    """Return what MODEL stands for, and the kind of argument about it: the end of the name of its file."""
    from symflow.cli._energies import energy_target
    from symflow.cli._findings import kind_of
    from symflow.cli._noise import noise_target
    from symflow.cli._target import resolve

    noise = noise_target(model)
    found = noise or energy_target(model)
    if found is not None:
        if tokens or stability:
            raise click.UsageError("--tokens and --stability belong to models of attention.")
        return found, _NOISE if noise else _VARIATION
    target = resolve(model)
    return target, kind_of(target, tokens, stability)


def _argument(target: Any, kind: str) -> Any:
    """Derive what is asked of a target."""
    from symflow.cli._findings import argument_of
    from symflow.derive.energies import first_variation

    if kind == _NOISE:
        return target.derive()
    return first_variation(target.model) if kind == _VARIATION else argument_of(target, kind)


def _refused(summary: dict[str, Any]) -> int:
    click.echo(f"symflow: error: {summary['message']}", err=True)
    return BAD_INPUT


def _document(found: Argument, summary: dict[str, Any], form: str, fragment: bool) -> str | None:
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
    target: Target | EnergyTarget | NoiseTarget, found: Any, checked: list[tuple[Step, Checked]]
) -> dict[str, Any]:
    statement = found.statement
    return {
        "model": target.name,
        "statement": statement.name,
        **_about(found),
        "space": statement.space,
        "parameters": {symbol.name: _shape(symbol, statement) for symbol in statement.parameters},
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


def _about(found: Any) -> dict[str, Any]:
    """Return what is said of a model, of an energy or of noise, and what was found."""
    from symflow.cli._energies import energy_finding
    from symflow.cli._findings import finding
    from symflow.cli._noise import noise_finding

    if hasattr(found, "functional"):
        return energy_finding(found)
    if hasattr(found, "lyapunov"):
        return noise_finding(found)
    statement = found.statement
    return {
        "score": found.model.score,
        "kernel": found.model.kernel,
        "scale": str(found.model.scale),
        "value": found.model.value,
        "normalise": found.model.normalise,
        "diffusion": str(statement.diffusion),
        **finding(found),
    }


def _shape(symbol: Any, statement: Statement) -> list[str]:
    heads = [statement.stacked[symbol.name]] if symbol.name in statement.stacked else []
    return [str(size) for size in (*heads, *getattr(symbol, "shape", ()))]


def _print_overview(out: Console, found: Any, checked: list[tuple[Step, Checked]]) -> None:
    from rich.markup import escape

    from symflow.cli._energies import print_energy
    from symflow.cli._noise import print_noise

    if hasattr(found, "functional"):
        print_energy(out, found)
    elif hasattr(found, "lyapunov"):
        print_noise(out, found)
    else:
        _print_model(out, found)
    rows = table("step", "rule", "checked by")
    for step, seen in checked:
        rows.add_row(escape(plain(step.title)), escape(plain(step.rule)), escape(f"✓ {seen.method}"))
    out.print(rows)


def _print_model(out: Console, found: Argument) -> None:
    from rich.markup import escape

    from symflow.cli._findings import print_finding

    model = found.model
    product = "A = KᵀQ" if "Q" in model.parameters else "A"
    given = ", ".join(product if s.name == "A" else s.name for s in found.statement.parameters)
    source = f"  ({model.reference})" if model.reference else ""
    out.print(f"[bold]{escape(model.title)}[/]{f' given {given}' if given else ''}{source}")
    score = model.score if model.scale == 1 else f"{model.scale} · ({model.score})"
    out.print(escape(f"  s(x, y) = {score}"))
    out.print(escape(f"  v(y)    = {model.value}"))
    out.print(escape(f"  weights   k = {model.kernel}" + _normalised(model.normalise)))
    out.print()
    print_finding(out, found)


def _normalised(how: str) -> str:
    return {"softmax": ", divided by its integral", "sinkhorn": ", made doubly stochastic"}.get(how, "")


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
    from symflow.cli._findings import argument_of, kind_of
    from symflow.cli._target import resolve
    from symflow.references import keys_in

    target = resolve(item)
    found = argument_of(target, kind_of(target, False, False))
    return keys_in("; ".join([target.model.reference, *(step.reference for step in found.steps)]))
