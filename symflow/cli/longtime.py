"""The command ``long-time``: what is proved about the run of a spec file as t → ∞."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._codes import FAILED, SUCCESS
from symflow.cli._output import console, indented, json_option, print_json, progress, table
from symflow.cli._plain import plain

if TYPE_CHECKING:
    from rich.console import Console

    from symflow.spec import Spec

_SUFFIX = {"latex": "tex", "html": "html"}


@click.command("long-time")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(list(_SUFFIX)), help="The derivation instead of the overview."
)
@click.option("--fragment", is_flag=True, help="Only the part to paste into a paper (latex).")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write into this folder.")
@json_option
def long_time(spec: Path, form: str | None, fragment: bool, out: Path | None, as_json: bool) -> int:
    """Decide limit, rank and blow-up time of the run that a spec file states.

    Every number is exact or enclosed; the exit code is 1 where nothing is decided.
    """
    from symflow.cli._documents import write_document
    from symflow.longtime.entry import long_time as decide
    from symflow.longtime.record import to_record
    from symflow.spec import load_spec

    if fragment and form not in (None, "latex"):
        raise click.UsageError("--fragment belongs to --format latex.")
    form = form or ("latex" if fragment or out else None)
    run = load_spec(spec)
    run.require("parameters")
    with progress(f"long time of {run.name}"):
        result = decide(run.model, run.gaussian(), run.parameters)
        result.check()
    text = None if form is None else result.to_latex(fragment) if form == "latex" else result.to_html()
    path = (
        write_document(out, f"{run.name}-long-time.{_SUFFIX[form]}", text) if out and form and text else None
    )
    record = {"name": run.name, "model": run.model.name, "checked": True} | to_record(result)
    if as_json:
        print_json(record | {"format": form, "path": path and str(path), "document": None if path else text})
    elif text is not None and not path:
        click.echo(text)
    elif not path:
        _print_overview(console(), run, record)
    if path:
        click.echo(f"wrote {path}", err=True)
    return FAILED if result.criterion is None else SUCCESS


def _print_overview(out: Console, run: Spec, record: dict[str, Any]) -> None:
    from rich.markup import escape

    criterion = record["criterion"]
    out.print(f"[bold]{escape(run.name)}[/]  {escape(run.model.title)}")
    rows = table("what", "is")
    rows.show_header = False
    for label, value in _known(record):
        rows.add_row(label, escape(value))
    out.print(rows)
    if criterion is not None:
        source = f" ({criterion['reference']})" if criterion["reference"] else ""
        out.print(f"by the criterion [bold]{criterion['name']}[/]{escape(source)}")
        out.print(indented("says", plain(criterion["statement"])))
        for hypothesis in criterion["hypotheses"]:
            out.print(indented("here", plain(f"{hypothesis['statement']}: {hypothesis['decided']}")))
    if record["reason"]:
        out.print(indented("note", plain(record["reason"])))


def _known(record: dict[str, Any]) -> list[tuple[str, str]]:
    known = []
    if record["global_in_time"] is not None:
        known.append(("for all times", "yes" if record["global_in_time"] else "no"))
    if (time := record["blow_up_time"]) is not None:
        exact = time["exact"] or f"{time['value']:.15g} ± {time['radius']:.2g}"
        known.append(("blow-up at t =", exact))
    for key, label in (("limit", "limit"), ("direction", "direction"), ("steady_state", "steady state")):
        if record[key] is not None:
            known.append((label, _rows(record[key])))
    if record["limit_rank"] is not None:
        known.append(("rank", str(record["limit_rank"])))
    known += [("closed form", "yes; see --format latex")] if record["closed_form"] else []
    known += [("bound", plain(f"${bound['formula']}$") + _constants(bound)) for bound in record["bounds"]]
    return known or [("known", "nothing")]


def _rows(matrix: dict[str, Any]) -> str:
    entries = matrix["value"]
    if len(entries) > 6:
        return f"{len(entries)} × {len(entries)}; see --json"
    return "; ".join(" ".join(f"{entry:.6g}" for entry in row) for row in entries)


def _constants(bound: dict[str, Any]) -> str:
    parts = [f"{name} = {value['value']:.6g}" for name, value in bound["constants"].items()]
    return f", {', '.join(parts)}" if parts else ""
