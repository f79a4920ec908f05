"""Commands of the whole chain: ``verify`` and ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from symflow.cli._output import console, json_option, print_json, progress, table

if TYPE_CHECKING:
    from symflow.verify.table import Table


@click.command()
@click.argument("model", required=False)
@json_option
def verify(model: str | None, as_json: bool) -> int:
    """Compare compiled kernels with the symbols they came from.

    Without MODEL, every shipped model in every parametrisation, and one each of heads, masks, and layers with
    noise. Of a model that does not keep Gaussians, the counterexample is checked.
    """
    from symflow.cli._target import resolve
    from symflow.verify import verify as run

    target = resolve(model) if model else None
    with progress("verifying") as say:
        result = run(target.model, target.given, progress=say) if target else run(progress=say)
    if as_json:
        print_json(result.to_json())
    else:
        _print_table(result)
    return 0 if result.passed else 1


def _print_table(result: Table) -> None:
    out = console()
    rows = table("", "model", "given", "quantity", "witness", "points", "error", "bound")
    for row in result:
        mark = "✓" if row.passed else "[bold red]✗[/]"
        cells = (row.model, row.parametrisation, row.quantity, row.witness, str(row.points))
        rows.add_row(mark, *cells, f"{row.error:.2g}", f"{row.tolerance:.2g}")
    out.print(rows)
    notes = dict.fromkeys(f"{row.witness}: {row.note}" for row in result if row.note)
    for note in notes:
        out.print(f"  {note}", style="dim")
    for row in result:
        if not row.passed:
            out.print(
                f"failed: {row.model} ({row.parametrisation}), {row.quantity}, at {row.worst}", style="red"
            )


@click.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--spec", type=click.Path(path_type=Path), help="Report on this spec file's run.")
@json_option
def report(out: Path, spec: Path | None, as_json: bool) -> int:
    """Write derivations, verdicts, simulations and figures.

    Into the folder OUT: index.html opens offline; report.tex becomes report.pdf where pdflatex is installed.
    """
    from symflow.report import write_report
    from symflow.spec import load_spec

    run = load_spec(spec) if spec else None
    with progress("writing the report") as say:
        result = write_report(out, spec=run, progress=say)
    if as_json:
        print_json(result.to_json())
    else:
        click.echo(f"{out / 'index.html'}")
    return 0 if result.passed else 1
