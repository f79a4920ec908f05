r"""
Metastable clusters on the circle
=================================

Tokens on the circle form a few clusters in a time of order one; these last for times that grow exponentially
with :math:`\beta` before two of them merge. Energy and number of clusters are staircases: typically with two
long-lived clusters for :math:`\beta = 4`, and three for :math:`\beta = 9`.

``python docs/experiments/plot_metastability.py --size paper`` counts clusters in more runs.
"""

import numpy as np
from measure import example, keep, read_options

import symflow
from symflow.clustering import clusters
from symflow.plot import CirclePath, curves, staircases

OPTIONS = read_options()
RUNS = 512 if OPTIONS.size == "paper" else 24
specs = [example("circle-two-clusters"), example("circle-three-clusters")]
early, late = 0.05, specs[0].t_span[1]
times = np.concatenate([[0.0], np.geomspace(early, late, 400)])

# %%
# Two runs
# --------
# The energy :math:`E_\beta` increases along the flow, in steps: a plateau is a metastable state.

paths: dict[str, CirclePath] = {}
plateaus: dict[float, list[tuple[float, float, float]]] = {}
for spec in specs:
    beta = float(spec.model.beta)
    run = symflow.solve(spec.model, spec.initial, spec.parameters, spec.t_span, t_eval=times, **spec.solver)
    seen, energy = run.clusters(), run.energy(beta)
    paths[rf"$\beta = {beta:g}$"] = CirclePath(run.t[1:], run.x[1:], energy[1:], seen.count[1:])
    plateaus[beta] = [
        (p.start, p.end, p.level) for p in seen.plateaus() if p.start > 2 and p.end > 2 * p.start
    ]
    drop = max(0.0, -float(np.diff(energy).min()))
    print(f"β = {beta:g}: energy from {energy[0]:.3f} to {energy[-1]:.3f}, largest fall {drop:.1e}")
    for start, end, level in plateaus[beta]:
        print(f"    {level:.0f} clusters from t = {start:.1f} to {end:.1f}")
    print("    merges of the last clusters at t =", ", ".join(f"{t:.1f}" for t in seen.merge_times[-3:]))

staircase_figure = staircases(paths)
keep(staircase_figure, OPTIONS, "metastability")

# %%
# How typical they are
# --------------------
# Numbers of clusters in runs from other uniform starts, over time.

counts: dict[float, np.ndarray] = {}
shares: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
output = np.concatenate([[0.0], np.geomspace(1.0, late, 81)])
for spec in specs:
    beta = float(spec.model.beta)
    starts = np.array([spec.tokens.draw(seed) for seed in range(RUNS)])
    runs = symflow.ensemble(spec.model, starts, {}, spec.t_span, t_eval=output, **spec.solver)
    counts[beta] = np.array([clusters(output, x).count for x in runs.x])[:, 1:]
    names = {1: "1 cluster", 2: "2 clusters", 3: "3 clusters", 4: "4 clusters", 5: "more"}
    shares[rf"$\beta = {beta:g}$"] = {
        name: (output[1:], ((counts[beta] == k) if k < 5 else counts[beta] >= k).mean(axis=0))
        for k, name in names.items()
    }
    at = int(np.searchsorted(output[1:], 30.0))
    print(
        f"β = {beta:g}, t = {output[1:][at]:.1f}:", dict(enumerate(np.bincount(counts[beta][:, at]).tolist()))
    )

share_figure = curves(shares, "share of runs", scale="linear")
for axes in share_figure.axes:
    axes.set_xscale("log")
    axes.set_xlim(1, late)
keep(share_figure, OPTIONS, "metastability_counts")
