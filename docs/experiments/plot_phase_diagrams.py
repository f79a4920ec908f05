r"""
Phase diagrams of clustering
============================

The share of pairs of 32 uniform tokens whose cosine exceeds 0.999, over time and :math:`\beta`, on the sphere
in several dimensions. In high dimension random tokens are nearly orthonormal, so that all cosines follow one
scalar equation: the line shows when it reaches 0.999. On the circle clusters that do not merge keep the share
down for large :math:`\beta`.

``python docs/experiments/plot_phase_diagrams.py --size paper --out figures`` makes 2048 runs for each of 90
values of :math:`\beta` in three dimensions, as ``symflow sweep examples/sweeps/phase-diagrams.toml`` does:
minutes on two cores.
"""

import numpy as np
from measure import example, keep, read_options, swept
from sympy import Symbol

import symflow
from symflow.clustering import equiangular_flow, fraction_above
from symflow.plot import phase_diagram

OPTIONS = read_options()
LEVEL, FEW = 0.999, 8
SMALL = {"sweep": {"model.beta": {"linspace": [0.1, 9, 7]}, "initial.seed": {"range": 8}}}
spec = example("sweeps/phase-diagrams")

# %%
# The runs
# --------
# One store of shares, dimension × β × seed × time; tokens are drawn from the seed.

found = swept("phase-diagrams", OPTIONS, SMALL)
share = found[f"cosine_fraction({LEVEL})"]
mean = share.mean("seed")
error = share.std("seed", ddof=1) / np.sqrt(share.sizes["seed"])
times, betas, dimensions = found.time.values, found.beta.values, found.d.values
print(f"{found.status.size} runs: {dict(zip(*np.unique(found.status, return_counts=True), strict=True))}")
print(f"largest standard error of a mean share: {float(error.max()):.4f}")

# %%
# What the tolerance changes
# --------------------------
# The first starts once more, with a tolerance ten thousand times finer.

again: dict[int, float] = {}
for d in dimensions.tolist():
    law = symflow.spec.parse_spec({**spec.data, "initial": {**spec.data["initial"], "d": d}}).tokens
    starts = np.array([law.draw(seed) for seed in found.seed.values[:FEW].tolist()])
    middle = float(betas[len(betas) // 2])
    fine = symflow.ensemble(
        symflow.Softmax(space="sphere", beta=middle),
        starts,
        {},
        spec.t_span,
        t_eval=times,
        rtol=1e-9,
        atol=1e-12,
    )
    exact = fraction_above(fine.x, LEVEL, distinct=True)
    coarse = share.sel(d=d, beta=middle).isel(seed=slice(FEW)).transpose("seed", "time").values
    again[d] = float(np.abs(exact.mean(axis=0) - coarse.mean(axis=0)).max())
    print(f"d = {d}, β = {middle:.2f}: the mean of {FEW} shares moves by {again[d]:.1e} at most")

# %%
# The curve of orthonormal tokens
# -------------------------------
# Derived from the flow of tokens, and reached by a quadrature with thirty digits.

equation = equiangular_flow(symflow.Softmax(space="sphere", beta=Symbol("beta", positive=True)))
print(equation.to_latex())
line = np.linspace(betas[0], betas[-1], 90 if OPTIONS.size == "paper" else 19)
reached = np.array([equation.hitting_time(LEVEL, spec.tokens.count, beta=beta) for beta in line.tolist()])

# %%
# The diagrams
# ------------

diagrams = {f"$d = {d}$": mean.sel(d=d).transpose("beta", "time").values for d in dimensions.tolist()}
phase_figure = phase_diagram(diagrams, betas, times, (line, reached))
keep(phase_figure, OPTIONS, "phase_diagrams")
