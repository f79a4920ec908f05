"""The sections on a spec file with tokens: the derived system, the bounds, and the run beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.clustering import hemisphere
from symflow.derive.particles import token_flow
from symflow.derive.stability import Stability
from symflow.energies import Interaction
from symflow.errors import InputError
from symflow.integrate.solve import solve
from symflow.integrate.tokens.trajectory import TokenTrajectory
from symflow.plot import CirclePath, curves, polyhedra, save, staircases
from symflow.report.blocks import BAD, GOOD, PLAIN, Badge, Grid, Outcome, Paragraph, Picture, Section, state
from symflow.report.comparison import (
    Comparison,
    agreement_badge,
    at_most,
    comparison,
    comparison_grid,
    in_tex,
)
from symflow.report.tokens.clustering import UNJOINED
from symflow.report.tokens.derived import cited_by, stability_blocks, system_blocks
from symflow.spec import Spec

Array = NDArray[np.float64]

#: Numbers of frames of a sphere, and of tokens whose every path is drawn.
_FRAMES, _FEW = 5, 64


def token_spec_sections(spec: Spec, out: Path) -> list[Outcome]:
    """Return the sections on a spec's system of tokens and on its run; figures are written below ``out``.

    Raises
    ------
    InputError
        If the spec lacks a section, or its model has no system of tokens.
    """
    derived, bounds = _derived(spec)
    return [derived, _run_outcome(spec, _run(spec), bounds, out)]


def _derived(spec: Spec) -> tuple[Outcome, Stability | None]:
    given = frozenset(spec.parameters)
    found = token_flow(spec.model, given)
    blocks, (good, total) = system_blocks(found)
    separating, (more, all_more), known = stability_blocks(spec.model, given)
    passed = good + more == total + all_more
    badge = Badge("tokens", f"{good + more} of {total + all_more} steps checked", state(passed))
    anchor = re.sub(r"[^A-Za-z0-9]+", "-", spec.name).strip("-") or "model"
    section = Section("Model", anchor, (*blocks, *separating), (badge,))
    summary = {"tokens": {"steps": total + all_more, "checked": good + more}}
    return Outcome(section, summary, passed, cited_by((found, *known))), known[0] if known else None


def _run(spec: Spec) -> TokenTrajectory:
    run = solve(spec.model, spec.initial, spec.parameters, spec.t_span, t_eval=spec.t_eval, **spec.solver)
    assert isinstance(run, TokenTrajectory)
    return run


def _run_outcome(spec: Spec, run: TokenTrajectory, bounds: Stability | None, out: Path) -> Outcome:
    rows = [*_on_sphere(run), *_within_bounds(spec, run, bounds)]
    agrees = all(row["agrees"] for row in rows)
    blocks: list[Any] = [Paragraph(_ending(run)), _table_of_ends(run)]
    if rows:
        blocks.append(comparison_grid(rows))
    blocks += _pictures(run, out)
    ended = BAD if run.status in ("step-too-small", "non-finite") else GOOD if run.success else PLAIN
    badges = (Badge("run", run.status, ended), *((agreement_badge("bounds", rows),) if rows else ()))
    section = Section("Integration", "integration", tuple(blocks), badges)
    summary = {
        "status": run.status,
        "message": run.message,
        "t_star": run.t_star,
        "t_end": float(run.t[-1]),
        "nfev": run.nfev,
        "summation": run.summation,
        "clusters": run.clusters().count[[0, -1]].tolist(),
    }
    return Outcome(section, {"run": summary, "comparisons": rows}, ended != BAD and agrees)


def _ending(run: TokenTrajectory) -> str:
    how = "over all pairs" if run.summation == "direct" else f"by {run.summation}"
    return (
        f"{run.count} tokens in dimension {run.dim}; method {run.method}, velocities summed {how}. "
        f"The run ends "
        f"with the status “{run.status}” at t = {run.t[-1]:.6g} after {run.nfev} evaluations: "
        f"{run.message.rstrip('.')}."
    )


def _table_of_ends(run: TokenTrajectory) -> Grid:
    found = run.clusters()
    rows = []
    for name, index in (("start", 0), ("end", -1)):
        x = run.x[index]
        length = np.linalg.norm(x, axis=1)
        spread = float(np.sqrt(np.square(x - x.mean(axis=0)).sum(axis=1).mean()))
        numbers = (run.t[index], length.min(), length.max(), spread)
        cells = tuple(f"{number:.6g}" for number in numbers)
        rows.append((name, *cells, str(int(found.count[index])), "yes" if hemisphere(x) else "no"))
    head = ("", "$t$", r"$\min|x_i|$", r"$\max|x_i|$", "spread", "clusters", "in a hemisphere")
    link = "cosine at least" if run.space == "sphere" else "distance at most"
    caption = (
        r"Spread: root mean square distance from the mean. Clusters: components of tokens with "
        f"{link} {found.threshold:.3g}. The hemisphere is decided in exact arithmetic."
    )
    return Grid(head, tuple(rows), caption, align="lrrrrrl")


def _on_sphere(run: TokenTrajectory) -> list[Comparison]:
    if run.space != "sphere":
        return []
    gap = float(np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max())
    return [comparison(r"$\max||x_i| - 1|$", "0", f"{gap:.1e}", gap, 1e-12, "absolute")]


def _within_bounds(spec: Spec, run: TokenTrajectory, bounds: Stability | None) -> list[Comparison]:
    """Compare how far tokens get with the radius that the derived bound of their speed allows."""
    if bounds is None or run.space == "sphere" or run.t[-1] < run.t[0] or not _is_constant(spec):
        return []
    start = float(np.linalg.norm(run.x[0], axis=1).max())
    try:
        radius = bounds.radius(dict(spec.parameters), start, float(run.t[-1] - run.t[0]))
    except InputError:  # the bound of the support ends before the run does
        return []
    if not np.isfinite(radius):
        return []
    reached = float(np.linalg.norm(run.x, axis=-1).max())
    return [at_most(rf"$\max_{{i,t}}|x_i(t)|$, $R({run.t[-1]:g})$", reached, radius)]


def _is_constant(spec: Spec) -> bool:
    return all(isinstance(value, np.ndarray) for value in spec.parameters.values())


def _pictures(run: TokenTrajectory, out: Path) -> list[Picture]:
    folder = out / "figures"
    found = run.clusters()
    pictures = []
    later = run.t > 0
    if run.space == "sphere" and run.dim == 2 and later.sum() > 1:
        energy = run.energy(Interaction(1.0))
        path = CirclePath(run.t[later], run.x[later], energy[later], found.count[later])
        save(staircases({"": path}), folder / "angles")
        said = "Angles of the tokens, the energy $E_1$, and the number of clusters."
        pictures.append(Picture("angles", said, "narrow"))
    if run.space == "sphere" and run.dim == 3:
        chosen = np.unique(np.linspace(0, len(run.t) - 1, _FRAMES).round().astype(int))
        frames = {f"$t = {in_tex(float(run.t[k]), 3)}$": (run.x[k], UNJOINED) for k in chosen}
        save(polyhedra(frames, columns=len(frames)), folder / "sphere")
        pictures.append(Picture("sphere", "Tokens on the sphere; those on the far side are pale."))
    if len(run.t) > 1:
        save(curves(_measures(run, found.count), "", scale="linear", shared=False), folder / "measures")
        pictures.append(Picture("measures", "What tokens have in common, over time."))
    return pictures


def _measures(run: TokenTrajectory, count: NDArray[np.intp]) -> dict[str, dict[str, tuple[Array, Array]]]:
    """Return curves: coordinates of the mean and the spread, cosines on the sphere, clusters."""
    centred = run.x - run.x.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.square(centred).sum(axis=-1).mean(axis=1))
    length = np.linalg.norm(run.x.mean(axis=1), axis=1)
    panels = {"clusters": {"number": (run.t, count.astype(float))}}
    panels["mean and spread"] = {"length of the mean": (run.t, length), "spread": (run.t, spread)}
    if run.space == "sphere":
        energy = np.log(run.energy(Interaction(1.0)))
        panels["energy"] = {r"$\log E_1$": (run.t, energy)}
    return panels
