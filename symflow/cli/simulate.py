"""The command ``simulate``: a spec file in; a run of a Gaussian law or of tokens, or many paths, out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symflow.cli._codes import FAILED, INTERRUPTED, SUCCESS
from symflow.cli._output import console, json_option, print_json, progress, remaining, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from symflow.integrate.ensemble.result import Ensemble
    from symflow.integrate.trajectory import Trajectory
    from symflow.spec import Spec

#: A run that ended here is an answer; the others are a failure of the run.
_ANSWERS = ("finished", "event", "blow-up", "stopped")


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save t, mean and cov (or t and x; of paths, path first) as .npz.",
)
@json_option
def simulate(spec: Path, out: Path | None, as_json: bool) -> int:
    """Integrate the run that a spec file states, or send its tokens through its network."""
    from symflow.errors import InputError
    from symflow.spec import load_spec

    if out is not None and out.suffix != ".npz":
        raise InputError(f"--out {out}: the trajectory is saved as .npz; give a name that ends in .npz")
    if out is not None and not out.parent.is_dir():
        raise InputError(f"--out {out}: the folder {out.parent} does not exist; make it first")
    run = load_spec(spec)
    run.require("parameters", "initial")
    if run.network is None:
        run.require("time")
    found = _followed(run)
    if out is not None:
        found.save(out)
    if _has_paths(found):
        return _tell_paths(run, found, out, as_json)
    if as_json:
        print_json(_summary(run, found, out))
    else:
        _print_summary(console(), run, found, out)
    return SUCCESS if found.status in _ANSWERS else FAILED


def _followed(run: Spec) -> Any:
    """Return the trajectory, or the ensemble of paths, that a spec asks for."""
    from symflow.integrate.ensemble.run import ensemble
    from symflow.integrate.solve import solve

    if run.network is not None:
        return _through_network(run)
    asked = {"t_eval": run.t_eval, **run.solver}
    if run.noise is not None:
        step = {} if run.noise.dt is None else {"dt": run.noise.dt}
        asked |= {"noise": run.common_noise(), "rng": run.noise.seed, **step, **run.noise.drawing}
        if run.noise.paths > 1:
            with remaining(f"following paths of {run.name}") as show:
                return ensemble(
                    run.model, run.initial, run.parameters, run.t_span, paths=run.noise.paths,
                    threads=_threads(), progress=show, **asked,
                )  # fmt: skip
    with progress(f"integrating {run.name}"):
        return solve(run.model, run.initial, run.parameters, run.t_span, **asked)


def _through_network(run: Spec) -> Any:
    network, noise = run.deep_transformer(), run.noise
    assert noise is not None  # the spec refuses a network without it
    with remaining(f"passing layers of {run.name}") as show:
        return network.run(
            run.initial, noise.seed, paths=noise.paths, t_eval=run.t_eval, threads=_threads(), progress=show
        )


def _threads() -> int:
    """One thread per core that this process may use."""
    return len(os.sched_getaffinity(0))


def _has_paths(found: Any) -> bool:
    from symflow.integrate.ensemble.result import Ensemble

    return isinstance(found, Ensemble)


def _tell_paths(run: Spec, found: Ensemble, out: Path | None, as_json: bool) -> int:
    """Print how paths ended, and return the exit code."""
    if as_json:
        print_json(_summary_of_paths(run, found, out))
    else:
        _print_paths(console(), run, found, out)
    if not found.completed.all():
        return INTERRUPTED
    return SUCCESS if found.success.all() else FAILED


def _summary_of_paths(run: Spec, found: Ensemble, out: Path | None) -> dict[str, Any]:
    import numpy as np

    names, counts = np.unique(found.status, return_counts=True)
    return {
        "name": run.name,
        "model": run.model.name,
        "space": run.model.space,
        **_of_noise(run),
        "paths": len(found),
        "n": int(found.x.shape[2]),
        "d": int(found.x.shape[3]),
        "status": str(names[0]) if names.size == 1 else "mixed",
        "statuses": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "success": bool(found.success.all()),
        "message": found.message,
        "t_last": float(found.t[-1]),
        "points": int(found.t.size),
        "spread_first": _mean_spread(found, 0),
        "spread_last": _mean_spread(found, -1),
        "path": out and str(out),
    }


def _of_noise(run: Spec) -> dict[str, Any]:
    """Return what a spec says about noise, for the JSON."""
    noise, network = run.noise, run.network
    if noise is None:
        return {}
    told: dict[str, Any] = {"activation": noise.activation and noise.activation.name, "seed": noise.seed}
    return told | ({"layers": network.layers, "width": network.width} if network else {"dt": noise.dt})


def _mean_spread(found: Ensemble, index: int) -> float:
    """Return the spread of the tokens of a path, averaged over the paths that came so far."""
    import numpy as np

    x = found.x[found.success, index]
    return float(np.mean([_spread(cloud) for cloud in x])) if len(x) else float("nan")


def _print_paths(screen: Console, run: Spec, found: Ensemble, out: Path | None) -> None:
    screen.print(f"[bold]{run.name}[/]  {run.model.title}")
    screen.print(found.message)
    rows = table("t", "root mean square distance from the mean token, averaged over paths")
    for index in _few(found.t.size):
        rows.add_row(f"{found.t[index]:.6g}", f"{_mean_spread(found, index):.4g}")
    screen.print(rows)
    if out is not None:
        click.echo(f"wrote {out}", err=True)


def _summary(run: Spec, trajectory: Trajectory, out: Path | None) -> dict[str, Any]:
    return {
        "name": run.name,
        "model": run.model.name,
        "space": run.model.space,
        "origin": run.origin or None,
        **_of_noise(run),
        **(_of_law(trajectory) if _is_gaussian(run) else _of_tokens(trajectory)),
        "status": trajectory.status,
        "success": trajectory.success,
        "message": trajectory.message,
        "t_star": trajectory.t_star,
        "t_span": list(run.t_span or (float(trajectory.t[0]), float(trajectory.t[-1]))),
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
