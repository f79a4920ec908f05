"""The command ``simulate``: a spec file in, a trajectory of a Gaussian law or of tokens out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._output import console, json_option, print_json, progress, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from symflow.integrate.trajectory import Trajectory
    from symflow.spec import Spec

#: A run that ended here is an answer; the others are a failure of the run.
_ANSWERS = ("finished", "event", "blow-up", "stopped")


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save t, mean and cov (or t and x) as .npz.",
)
@json_option
def simulate(spec: Path, out: Path | None, as_json: bool) -> int:
    """Integrate the run that a spec file states."""
    from symflow.errors import InputError
    from symflow.integrate.solve import solve
    from symflow.spec import load_spec

    if out is not None and out.suffix != ".npz":
        raise InputError(f"--out {out}: the trajectory is saved as .npz; give a name that ends in .npz")
    if out is not None and not out.parent.is_dir():
        raise InputError(f"--out {out}: the folder {out.parent} does not exist; make it first")
    run = load_spec(spec)
    run.require("parameters", "initial", "time")
    with progress(f"integrating {run.name}"):
        trajectory = solve(
            run.model, run.initial, run.parameters, run.t_span, t_eval=run.t_eval, **run.solver
        )
    if out is not None:
        trajectory.save(out)
    if as_json:
        print_json(_summary(run, trajectory, out))
    else:
        _print_summary(console(), run, trajectory, out)
    return 0 if trajectory.status in _ANSWERS else 1


def _summary(run: Spec, trajectory: Trajectory, out: Path | None) -> dict[str, Any]:
    return {
        "name": run.name,
        "model": run.model.name,
        "space": run.model.space,
        "origin": run.origin or None,
        **(_of_law(trajectory) if _is_gaussian(run) else _of_tokens(trajectory)),
        "status": trajectory.status,
        "success": trajectory.success,
        "message": trajectory.message,
        "t_star": trajectory.t_star,
        "t_span": list(run.t_span or ()),
        "t_last": float(trajectory.t[-1]),
        "points": int(trajectory.t.size),
        "nfev": trajectory.nfev,
        "path": out and str(out),
    }


def _is_gaussian(run: Spec) -> bool:
    from symflow.integrate.gaussian import Gaussian

    return isinstance(run.initial, Gaussian)


def _of_law(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "d": int(trajectory.mean.shape[-1]),
        "positions": int(trajectory.mean.shape[1]) if trajectory.mean.ndim == 3 else None,
        "eigenvalues_first": _eigenvalues(trajectory, 0),
        "eigenvalues_last": _eigenvalues(trajectory, -1),
    }


def _of_tokens(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "n": int(trajectory.x.shape[1]),
        "d": int(trajectory.x.shape[2]),
        "spread_first": _spread(trajectory.x[0]),
        "spread_last": _spread(trajectory.x[-1]),
    }


def _spread(x: Any) -> float:
    """Return the root mean square distance of tokens from their mean."""
    import numpy as np

    return float(np.sqrt(np.var(x, axis=0).sum()))


def _eigenvalues(trajectory: Trajectory, index: int) -> list[Any]:
    """Return the eigenvalues in decreasing order; along positions, one list per position."""
    import numpy as np

    values: list[Any] = np.linalg.eigvalsh(trajectory.cov[index])[..., ::-1].tolist()
    return values


def _print_summary(screen: Console, run: Spec, trajectory: Trajectory, out: Path | None) -> None:
    screen.print(f"[bold]{run.name}[/]  {run.model.title}" + (f", {run.origin}" if run.origin else ""))
    star = "" if trajectory.t_star is None else f", t* = {trajectory.t_star:.10g}"
    screen.print(f"{trajectory.status}{star}: {trajectory.message}")
    screen.print(_law_table(trajectory) if _is_gaussian(run) else _token_table(trajectory))
    if out is not None:
        click.echo(f"wrote {out}", err=True)


def _law_table(trajectory: Trajectory) -> Table:
    where = ", at the last position" if trajectory.mean.ndim == 3 else ""
    rows = table("t", f"|mean|{where}", f"eigenvalues of the covariance, largest first{where}")
    for index in _few(trajectory.t.size):
        mean, values = trajectory.mean[index], _eigenvalues(trajectory, index)
        if where:
            mean, values = mean[-1], values[-1]
        size = sum(float(x) ** 2 for x in mean) ** 0.5
        shown = "  ".join(f"{value:.4g}" for value in values[:6]) + (" …" if len(values) > 6 else "")
        rows.add_row(f"{trajectory.t[index]:.6g}", f"{size:.4g}", shown)
    return rows


def _token_table(trajectory: Trajectory) -> Table:
    rows = table("t", "|mean|", "root mean square distance from it")
    for index in _few(trajectory.t.size):
        x = trajectory.x[index]
        length = sum(float(part) ** 2 for part in x.mean(axis=0)) ** 0.5
        rows.add_row(f"{trajectory.t[index]:.6g}", f"{length:.4g}", f"{_spread(x):.4g}")
    return rows


def _few(count: int, rows: int = 8) -> list[int]:
    """Return at most ``rows`` indices, first and last among them."""
    if count <= rows:
        return list(range(count))
    return sorted({round(i * (count - 1) / (rows - 1)) for i in range(rows)})
