"""The long time of a masked model: one Gaussian law per position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.integrate.trajectory import Trajectory
from symflow.models.attention.model import AttentionModel
from symflow.plot import CovariancePath, cone, eigenvalues, save
from symflow.report.blocks import Badge, Grid, Outcome, Paragraph, Picture, Section, mark, state
from symflow.report.regimes import Regime, compare, regimes
from symflow.report.subjects import Subject


def positions_section(subject: Subject, out: Path) -> Outcome:
    """Return runs of all positions, the first one beside its closed form; figures go below ``out``."""
    blocks: list[Any] = []
    results: list[dict[str, Any]] = []
    for regime in regimes(subject.anchor):
        run = _run(subject.model, regime)
        start = regime.starts[0]
        predicted = regime.predict(regime.params, start, float(run.t[-1]))
        found = compare(predicted, run.t, run.cov[:, 0], run.status, run.t_star)
        results.append({"regime": regime.key, "status": run.status, "cov": start.tolist()} | found)
        title = regime.title.capitalize()
        blocks.append(Paragraph(rf"\textbf{{{title}.}} {regime.theorem} Source: {regime.reference}."))
        blocks += [
            _at_first(found),
            positions_table(run),
            *position_pictures(f"{subject.anchor}-{regime.key}", run, out),
        ]
    good = sum(row["agrees"] for row in results)
    badge = Badge("long time", f"{good} of {len(results)} runs agree", state(good == len(results)))
    section = Section("Long time", f"{subject.anchor}-regimes", tuple(blocks), (badge,))
    return Outcome(section, {"regimes": results}, good == len(results))


def _run(model: AttentionModel, regime: Regime) -> Trajectory:
    """Integrate all positions from mean zero."""
    start = regime.starts[0]
    law = Gaussian(np.zeros(start.shape[:-1]), start)
    return solve(model, law, dict(regime.params), (0.0, regime.horizon), rtol=1e-11, atol=1e-14)


def _at_first(row: dict[str, Any]) -> Grid:
    head = ("first position", "theorem", "measured", "difference", "agrees")
    cells = (
        row["quantity"],
        row["theorem"],
        row["measured"],
        f"{row['difference']:.1e}",
        mark(row["agrees"]),
    )
    return Grid(head, (cells,), f"Difference: {row['unit']}.", judged=True, align="lrrrl")


def positions_table(run: Trajectory) -> Grid:
    """Return traces and largest eigenvalues at every position, at the end of a run."""
    rows = []
    for index in range(run.cov.shape[1]):
        values = np.linalg.eigvalsh(run.cov[-1, index])[::-1]
        cells = (
            f"{np.trace(run.cov[0, index]):.6g}",
            f"{values.sum():.6g}",
            *(f"{v:.6g}" for v in values[:2]),
        )
        rows.append((str(index + 1), *cells))
    end = f"{run.t[-1]:g}"
    head = (
        "position",
        r"$\operatorname{tr}\Sigma(0)$",
        rf"$\operatorname{{tr}}\Sigma({end})$",
        rf"$\lambda_1(\Sigma({end}))$",
        rf"$\lambda_2(\Sigma({end}))$",
    )
    return Grid(head, tuple(rows), align="lrrrr")


def position_pictures(stem: str, run: Trajectory, out: Path) -> list[Picture]:
    """Draw every position of a run; the cone only in the plane."""
    paths = [
        CovariancePath(f"position {index + 1}", run.t, run.cov[:, index]) for index in range(run.cov.shape[1])
    ]
    folder = out / "figures"
    save(eigenvalues(paths), folder / f"{stem}-eigenvalues")
    spectra = Picture(f"{stem}-eigenvalues", "Eigenvalues of the covariance at every position.")
    if run.cov.shape[-1] != 2:
        return [spectra]
    save(cone({"all positions": paths}), folder / f"{stem}-cone")
    return [
        Picture(
            f"{stem}-cone",
            "The covariance at every position in the cone.",
            "narrow",
        ),
        spectra,
    ]
