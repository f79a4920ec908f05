"""Tokens that cluster: the equation of the common cosine, runs on the circle and on S², hemispheres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from symflow.clustering import (
    EnergyGrowth,
    Hemisphere,
    energy_growth,
    equiangular_flow,
    hemisphere,
    wendel_probability,
)
from symflow.codegen.kernel import compile
from symflow.derive.particles import token_flow
from symflow.energies import Interaction
from symflow.integrate.solve import solve
from symflow.integrate.tokens.trajectory import TokenTrajectory
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.plot import CirclePath, Predicted, beside_prediction, polyhedra, save, staircases
from symflow.report.blocks import Display, Grid, Outcome, Paragraph, Picture, Section
from symflow.report.comparison import (
    Comparison,
    agreement_badge,
    at_most,
    comparison,
    comparison_grid,
    in_tex,
)
from symflow.report.formulas import displayed
from symflow.report.tokens.derived import system_step
from symflow.report.tokens.instability import instability_part
from symflow.report.tokens.phases import phase_part

Array = NDArray[np.float64]
Part = tuple[Section, list[Comparison]]

#: Softmax attention (SA) and its relative without normaliser (USA), with Q = K = V = I.
VARIANTS: dict[str, type[AttentionModel]] = {"SA": Softmax, "USA": Unnormalised}
_SEED = 20231215
_LEVELS = (0.5, 0.9, 0.999)
_COUNT = 32
#: A cosine that no two tokens have: no line joins them in a figure.
UNJOINED = 2.0


def clustering_outcome(out: Path, say: Callable[[str], None]) -> Outcome:
    """Return the section on tokens that cluster; figures are written below ``out``."""
    makers = (_cosine_part, _runs_part, _hemisphere_part, instability_part, phase_part)
    parts = []
    for make in makers:
        say(f"clustering: {make.__name__.strip('_').removesuffix('_part')}")
        parts.append(make(out))
    rows = [row for _, found in parts for row in found]
    passed = all(row["agrees"] for row in rows)
    section = Section(
        "Clustering on the sphere",
        "clustering",
        tuple(_opening()),
        (agreement_badge("predictions", rows),),
        tuple(section for section, _ in parts),
    )
    return Outcome(section, {"comparisons": rows}, passed, ("GLPR23",))


def _opening() -> list[Any]:
    blocks: list[Any] = [
        Paragraph(
            r"Tokens on the unit sphere with $Q = K = V = I$, under softmax attention (SA) and without its "
            r"normaliser (USA); $P_x = I - xx^{\top}$. Both systems are derived from the scores, as "
            r"above, with "
            r"the parameters left out and $s_{ij} = \beta\langle x_i,x_j\rangle$:"
        )
    ]
    for kind in VARIANTS.values():
        result = system_step(token_flow(kind(space="sphere"), ()))
        blocks.append(Display(displayed(result.formulas)))
    blocks.append(
        Paragraph(
            r"The energy $E_\beta = \frac{1}{2\beta n^2}\sum_{i,j}e^{\beta\langle x_i,x_j\rangle}$ never "
            r"decreases along either of them (GLPR23)."
        )
    )
    return blocks


# ------------------------------------------------------------------------------------- the common cosine


def _cosine_part(out: Path) -> Part:
    """Orthonormal tokens: the scalar equation, solved without an integrator of tokens, beside the runs."""
    rows: list[Comparison] = []
    panels = {}
    for name, kind in VARIANTS.items():
        rows += _hitting_times(name, kind)
        panels[name] = _cosine_curves(kind)
    rows += _single_values()
    save(beside_prediction(panels, r"$t/t_{0.99}$", r"$\gamma(t)$"), out / "figures" / "cosine")
    equations = [
        equiangular_flow(kind(space="sphere", beta=Symbol("beta"))).to_latex() for kind in VARIANTS.values()
    ]
    said = (
        r"Tokens whose cosines are all equal keep them equal, $\langle x_i,x_j\rangle = \gamma(t)$: a scalar "
        r"equation, derived from the flow of tokens by counting what the tokens $i$, $j$ and the "
        r"$n-2$ others "
        r"contribute. For SA and for USA:"
    )
    how = (
        r"The column “theorem” is a quadrature of this equation with thirty digits; no token moves in "
        r"it. The "
        rf"column “measured” is the run of all tokens: the time at which the event "
        rf"$\langle x_1,x_2\rangle = \gamma$ is found, for $n = d = {_COUNT}$ orthonormal tokens."
    )
    picture = Picture(
        "cosine",
        rf"The common cosine of $n = {_COUNT}$ orthonormal tokens: curves solve the scalar equation, points "
        r"are cosines of tokens. Time is measured by that at which $\gamma = 0.99$.",
    )
    blocks = (
        Paragraph(said),
        *(Display(text) for text in equations),
        Paragraph(how),
        comparison_grid(rows),
        picture,
    )
    return Section("One common cosine", "clustering-cosine", blocks), rows


def _hitting_times(name: str, kind: type[AttentionModel]) -> list[Comparison]:
    model = kind(space="sphere", beta=1)
    predicted = [equiangular_flow(model).hitting_time(level, _COUNT) for level in _LEVELS]
    events = [_reaches(level) for level in _LEVELS]
    run = solve(model, np.eye(_COUNT), {}, (0.0, 1.1 * predicted[-1]), events=events, rtol=1e-11, atol=1e-13)
    rows = []
    for level, time, found in zip(_LEVELS, predicted, run.t_events, strict=True):
        hit = float(found[0]) if len(found) else np.inf
        quantity = rf"{name}, $\beta = 1$: $\gamma = {level:g}$ at"
        rows.append(comparison(quantity, f"{time:.9g}", f"{hit:.9g}", abs(hit / time - 1), 1e-8, "relative"))
    cosines = _off_diagonal(_tokens(run).cosines())
    spread = float((cosines.max(axis=1) - cosines.min(axis=1)).max())
    rows.append(comparison(f"{name}: spread of the cosines", "0", f"{spread:.1e}", spread, 1e-9, "absolute"))
    return rows


def _reaches(level: float) -> Callable[[float, Array], float]:
    def event(_t: float, x: Array) -> float:
        return float(x[0] @ x[1]) - level

    return event


def _cosine_curves(kind: type[AttentionModel]) -> list[Predicted]:
    found = []
    for beta in (1, 2, 4):
        model = kind(space="sphere", beta=beta)
        flow = equiangular_flow(model)
        end = flow.hitting_time(0.99, _COUNT)
        grid, few = np.linspace(0.0, end, 121), np.linspace(0.0, end, 16)
        run = _tokens(solve(model, np.eye(_COUNT), {}, (0.0, end), t_eval=few))
        points = (few / end, _off_diagonal(run.cosines()).mean(axis=1))
        found.append(
            Predicted(rf"$\beta = {beta}$", (grid / end, np.asarray(flow.curve(grid, _COUNT))), points)
        )
    return found


def _single_values() -> list[Comparison]:
    """Two tokens, and four orthonormal ones."""
    two = np.array([[1.0, 0.0], [np.cos(0.8), np.sin(0.8)]])
    cases = (
        ("four orthonormal tokens", 2, 1.5, np.eye(4, 5), 0.0),
        ("two tokens", 1.3, 1.0, two, float(np.cos(0.8))),
    )
    rows = []
    for name, beta, end, start, first in cases:
        model = Softmax(space="sphere", beta=beta)
        expected = equiangular_flow(model).cosine_at(end, len(start), first)
        run = _tokens(solve(model, start, {}, (0.0, end), t_eval=[end], rtol=1e-11, atol=1e-13))
        found = float(run.x[-1, 0] @ run.x[-1, 1])
        quantity = rf"SA, {name}, $\beta = {beta}$: $\gamma({end:g})$"
        rows.append(
            comparison(quantity, f"{expected:.10g}", f"{found:.10g}", abs(found - expected), 1e-9, "absolute")
        )
    return rows


def _off_diagonal(cosines: Array) -> Array:
    """Return the cosines of different tokens, (T, n(n − 1)/2)."""
    i, j = np.triu_indices(cosines.shape[-1], 1)
    return np.asarray(cosines[:, i, j])


def _tokens(run: Any) -> TokenTrajectory:
    assert isinstance(run, TokenTrajectory)
    return run


# ------------------------------------------------------------------------------------- runs


@dataclass(frozen=True, eq=False)
class _Run:
    """A run with what is read off it."""

    name: str
    beta: float
    track: TokenTrajectory
    count: NDArray[np.intp]
    merges: Array
    growth: EnergyGrowth

    @property
    def path(self) -> CirclePath:
        """The run on the circle after its start, for a figure."""
        track = self.track
        return CirclePath(track.t[1:], track.x[1:], track.energy(self.beta)[1:], self.count[1:])


def _runs_part(out: Path) -> Part:
    """Uniform starts: clusters over time, and the growth of the energy."""
    runs = [
        _followed("SA", 2, 32, 4.0, 3e4),
        _followed("SA", 2, 32, 9.0, 1e3),
        _followed("SA", 3, 64, 9.0, 1e4),
        _followed("USA", 2, 32, 4.0, 1e3),
        _followed("USA", 3, 64, 4.0, 1e3),
    ]
    rows = [row for run in runs for row in _invariants(run)]
    pictures = _run_pictures(runs, out)
    said = (
        r"Tokens that start from the uniform law form clusters fast, and these merge after times that grow "
        r"like $e^{c\beta}$: nearly all of a run is spent on the steps of a staircase. Clusters are "
        r"connected "
        r"components of tokens whose cosine is at least 0.999. How many there are, and for how long, is "
        r"measured; what is predicted is below it: $dE_\beta/dt \ge 0$ at every output, computed from tokens "
        r"and compiled velocities in units of $\sum_i|\nabla_iE||v_i|$ with its rounding margin, and "
        r"$|x_i| = 1$ to $10^{-12}$."
    )
    blocks = (Paragraph(said), *pictures[:2], _staircases(runs), comparison_grid(rows), *pictures[2:])
    return Section("Runs from the uniform law", "clustering-runs", blocks), rows


def _followed(name: str, d: int, n: int, beta: float, end: float) -> _Run:
    model = VARIANTS[name](space="sphere", beta=beta)
    times = np.concatenate([[0.0], np.geomspace(0.02, end, 240)])
    start = uniform_tokens(n, d, _SEED)
    run = _tokens(solve(model, start, {}, (0.0, end), t_eval=times, rtol=1e-8, atol=1e-10))
    found = run.clusters()
    return _Run(
        rf"{name}, $d = {d}$, $\beta = {beta:g}$",
        beta,
        run,
        found.count,
        found.merge_times,
        growth_along(model, run, beta),
    )


def uniform_tokens(n: int, d: int, *seed: int) -> Array:
    """Return independent uniform tokens of the sphere, (n, d)."""
    x = np.random.default_rng([*seed, n, d]).normal(size=(n, d))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def growth_along(model: AttentionModel, run: TokenTrajectory, beta: float) -> EnergyGrowth:
    """Return the growth of the interaction energy along a run, from compiled velocities."""
    kernel = compile(model, given=(), entry="tokens")
    velocity = np.array([kernel(t, x) for t, x in zip(run.t, run.x, strict=True)])
    return energy_growth(Interaction(beta), run.x, velocity)


def _invariants(run: _Run) -> list[Comparison]:
    index, least = run.growth.smallest
    margin = float(run.growth.margin[index])
    radius = float(np.abs(np.linalg.norm(run.track.x, axis=-1) - 1.0).max())
    return [
        comparison(
            rf"{run.name}: least $dE_\beta/dt$", r"$\ge 0$", f"{least:.1e}", max(0.0, -least), margin,
            "below zero, in the units stated",
        ),
        comparison(
            rf"{run.name}: $\max||x_i|-1|$", "0", f"{radius:.1e}", radius, 1e-12, "absolute"
        ),
    ]  # fmt: skip


def _staircases(runs: Sequence[_Run]) -> Grid:
    rows = []
    for run in runs:
        found = run.track.clusters().plateaus(0.0)
        # the longest steps in logarithmic time are those that the eye sees
        steps = sorted((p for p in found if p.start > 0 and p.level < 9), key=lambda p: p.start)
        shown = ", ".join(
            rf"{int(p.level)} ($t = {in_tex(p.start, 3)}$ to ${in_tex(p.end, 3)}$)"
            for p in steps if p.end > 1.8 * p.start
        )  # fmt: skip
        last = f"{run.merges[-1]:.4g}" if len(run.merges) else "–"
        rows.append((run.name, str(run.track.count), shown or "–", last, str(int(run.count[-1]))))
    head = ("run", "$n$", "long steps: clusters", "last merge at", "at the end")
    caption = "Measured. A long step lasts until at least 1.8 times the time at which it begins."
    tex = r"p{0.2\textwidth}rp{0.42\textwidth}rr"
    return Grid(head, tuple(rows), caption, align="lrlrr", tex=tex)


def _run_pictures(runs: Sequence[_Run], out: Path) -> list[Picture]:
    folder = out / "figures"
    save(staircases({run.name: run.path for run in runs[:2]}), folder / "circle")
    space = runs[2].track
    chosen = [int(np.searchsorted(space.t, time)) for time in (0.0, 2.0, 5.0, 50.0)] + [len(space.t) - 1]
    frames = {f"$t = {in_tex(float(space.t[k]), 3)}$": (space.x[k], UNJOINED) for k in chosen}
    save(polyhedra(frames, columns=len(frames)), folder / "sphere")
    save(_energy_figure(runs), folder / "energy")
    return [
        Picture(
            "circle",
            r"Angles of 32 tokens on the circle, the energy $E_\beta$, and the number of clusters, over "
            r"logarithmic time.",
        ),
        Picture("sphere", r"64 tokens on $S^2$ under SA with $\beta = 9$; tokens on the far side are pale."),
        Picture(
            "energy",
            r"The energy $E_\beta$ from its value at the start, 0, to that of one cluster, 1: it climbs in "
            r"steps, one for each merge.",
        ),
    ]


def _energy_figure(runs: Sequence[_Run]) -> Any:
    panels: dict[str, list[Predicted]] = {"SA": [], "USA": []}
    nothing = (np.array([]), np.array([]))
    for run in runs:
        energy = run.track.energy(run.beta)
        top = np.exp(run.beta) / (2.0 * run.beta)
        variant, _, rest = run.name.partition(", ")
        curve = (run.track.t[1:], (energy[1:] - energy[0]) / (top - energy[0]))
        panels[variant].append(Predicted(rest, curve if len(curve[0]) else nothing))
    return beside_prediction(panels, "$t$", "share of the way up", scales=("log", "linear"))


# ------------------------------------------------------------------------------------- hemispheres


def _hemisphere_part(_out: Path) -> Part:
    """Starts in one open hemisphere: the proved rate beside the runs."""
    rows = []
    for name, kind in VARIANTS.items():
        for n, d, beta in ((16, 16, 1.0), (32, 3, 0.5)):
            start = uniform_tokens(n, d, _SEED, 1)
            if d < n:
                start = _into_hemisphere(start)
            found = hemisphere(start)
            rows.append(_collapse(name, kind, start, beta, found))
    probability = wendel_probability(_COUNT, 20)
    said = (
        r"If $\langle w, x_i(0)\rangle \ge m > 0$ for a unit vector $w$ and all $i$, then the tokens "
        r"converge to one point $x^*$ with $|x_i(t) - x^*| \le \frac2me^{-\lambda t}$, where "
        r"$\lambda = me^{-2\beta}$ for SA and $me^{-\beta}$ for USA; this is the claim "
        r"GLPR23/hemisphere-rate, "
        r"proved below. The vector $w$ with the largest $m$ is found, and verified in exact arithmetic, for "
        r"every start. By Wendel's theorem uniform tokens lie in an open hemisphere surely where $d \ge n$, "
        rf"and for $n = {_COUNT}$, $d = 20$ with probability {float(probability):.4f}."
    )
    note = (
        r"Measured: the largest $|x_i(t)-x^*|\,\tfrac m2e^{\lambda t}$ along the run, $x^*$ the "
        r"mean direction at its end."
    )
    blocks = (Paragraph(said), comparison_grid(rows, note))
    return Section("One hemisphere", "clustering-hemisphere", blocks), rows


def _into_hemisphere(x: Array) -> Array:
    """Reflect tokens so that the last coordinate is at least a fifth of what it could be."""
    moved = x.copy()
    moved[:, -1] = np.abs(moved[:, -1]) + 0.2
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))


def _collapse(
    name: str, kind: type[AttentionModel], start: Array, beta: float, found: Hemisphere
) -> Comparison:
    n, d = start.shape
    m = found.margin
    rate = m * np.exp(-(2 if name == "SA" else 1) * beta)
    end = min(12.0 / rate, 60.0)
    run = _tokens(
        solve(kind(space="sphere", beta=beta), start, {}, (0.0, end), t_eval=np.linspace(0, end, 61))
    )
    limit = run.x[-1].mean(axis=0)
    limit /= np.linalg.norm(limit)
    gap = np.linalg.norm(run.x - limit, axis=-1).max(axis=1)
    share = float((gap * 0.5 * m * np.exp(rate * run.t)).max())
    return at_most(rf"{name}, $n = {n}$, $d = {d}$, $\beta = {beta:g}$: $m = {m:.3f}$", share, 1.0)
