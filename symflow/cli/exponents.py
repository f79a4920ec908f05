"""The command ``exponents``: Lyapunov exponent and rates of common noise, with certified digits."""

from __future__ import annotations

import click

from symflow.cli._codes import SUCCESS
from symflow.cli._output import console, json_option, print_json, progress, table


@click.command("exponents")
@click.option("--activation", "activations", multiple=True, help="Name, or expression in z; repeatable.")
@click.option("--dim", "dims", type=click.IntRange(min=2), multiple=True, help="Size of tokens; repeatable.")
@click.option("--sigma", "sigmas", multiple=True, help="Standard deviation of both biases; repeatable.")
@click.option("--beta", default="1", show_default=True, help="Of the dissipation energy.")
@click.option("--digits", type=click.IntRange(1, 30), default=8, show_default=True, help="Digits at most.")
@click.option("--latex", is_flag=True, help="A LaTeX table on standard output.")
@json_option
def exponents(
    activations: tuple[str, ...],
    dims: tuple[int, ...],
    sigmas: tuple[str, ...],
    beta: str,
    digits: int,
    latex: bool,
    as_json: bool,
) -> int:
    """Print κ(1), κ'(1), λ₁, λ̄ and λ̄'(β) for activations, sizes and biases; every digit is certified."""
    from symflow.noise.table import ACTIVATIONS, BIASES, DIMENSIONS, exponent_table, to_latex

    if latex and as_json:
        raise click.UsageError("--latex and --json exclude each other.")
    with progress("exponents"):
        rows = exponent_table(activations or ACTIVATIONS, dims or DIMENSIONS, sigmas or BIASES, beta)
    if as_json:
        records = [
            {"activation": row.activation, "dim": row.dim, "sigma": row.sigma, "odd": row.is_odd}
            | row.texts(digits)
            for row in rows
        ]
        print_json({"beta": beta, "digits": digits, "rows": records})
    elif latex:
        click.echo(to_latex(rows, digits))
    else:
        shown = table(
            "activation", "d", "sigma", "kappa(1)", "kappa'(1)", "lambda_1", "lambda_bar", "lambda_bar'"
        )
        for row in rows:
            shown.add_row(row.activation, str(row.dim), row.sigma, *row.texts(digits).values())
        console().print(shown)
    return SUCCESS
