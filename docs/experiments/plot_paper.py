r"""
The published figures, at the published scale and at the definition's
=====================================================================

CACP25 shows what becomes of Gaussian laws in sixteen figures. ``examples/paper/`` has one spec file for
each, with the matrices that were drawn and the scale that was used, and ``examples/paper/definition/``
the same with the scores of the definition where they differ. In short:

* Softmax attention was run with :math:`A = K^\top Q/\sqrt{d}`. The drift is linear in A, so that this
  is a change of clock, :math:`t \mapsto \sqrt{d}\,t`: limits and regions are the same, blow-up comes
  :math:`\sqrt{2}` times later.
* ℓ2 attention was run with :math:`A/\sqrt{d}` and :math:`K^\top K` without a scale. No temperature of
  :math:`-|Qx - Ky|^2` does that; it is the score :math:`2\langle Qx, Ky\rangle/\sqrt{d} - |Ky|^2`. For
  V = I and K invertible, large covariances grow like :math:`e^{2\lambda t}`, λ the largest real part of
  the eigenvalues of :math:`K^{-1}Q`, and the authors' scale divides this rate by :math:`\sqrt{d}`,
  which a temperature would leave as it is.
* Two heads in the plane have k = 1 and Sinkhorn attention was run with ε = 1: there the two agree.

``python docs/experiments/plot_paper.py --size paper`` uses finer grids.
"""

from collections import Counter

import numpy as np
from measure import EXAMPLES, example, fates, keep, laws_of_unit_trace, read_options, spectrum

import symflow
from symflow.plot import Portrait, curves, phase_portrait

OPTIONS = read_options()
SIDE = 20 if OPTIONS.size == "paper" else 7

# %%
# Both versions of every figure
# -----------------------------
# The law of each spec file, until its last time: how the run ends, and the eigenvalues of Σ there.

names = sorted(path.stem for path in (EXAMPLES / "paper").glob("*.toml"))
pairs = {
    name: (
        example(f"paper/{name}"),
        example(f"paper/definition/{name}")
        if (EXAMPLES / "paper/definition" / f"{name}.toml").exists()
        else None,
    )
    for name in names
}


def run(spec) -> symflow.Trajectory:
    """Integrate a spec."""
    return symflow.solve(
        spec.model, spec.initial, spec.parameters, spec.t_span, t_eval=spec.t_eval, **spec.solver
    )


def ending(trajectory: symflow.Trajectory) -> str:
    """Say in a few words how a run ended."""
    if trajectory.t_star is not None:
        return f"blow-up at {trajectory.t_star:.6f}"
    values = " ".join(f"{value:.2e}" for value in spectrum(trajectory.factor[-1]))
    return f"t = {trajectory.t[-1]:g}: {values}"


runs = {name: tuple(spec and run(spec) for spec in pair) for name, pair in pairs.items()}
print(f"{'figure':<20} {'the authors':<32} the definition")
for name, (authors, definition) in runs.items():
    print(f"{name:<20} {ending(authors):<32} {ending(definition) if definition else 'the same equation'}")

# %%
# The clock of softmax attention
# ------------------------------

ratio = runs["blow-up-softmax"][0].t_star / runs["blow-up-softmax"][1].t_star
print(f"blow-up times, the authors' over the definition's: {ratio:.9f}, √2 = {np.sqrt(2):.9f}")

# %%
# The rate of ℓ2 attention
# ------------------------
# Measured over the last tenth of a longer run, and by the eigenvalues of :math:`K^{-1}Q`.

rates = {}
for name, spec in zip(("the authors", "the definition"), pairs["divergence-l2"], strict=True):
    end = 60.0
    long_run = symflow.solve(spec.model, spec.initial, spec.parameters, (0, end), t_eval=[0.9 * end, end])
    first, last = np.trace(long_run.cov, axis1=1, axis2=2)
    rates[name] = np.log(last / first) / (0.1 * end)
Q, K = (pairs["divergence-l2"][1].parameters[key] for key in "QK")
growth = 2 * np.linalg.eigvals(np.linalg.solve(K, Q)).real.max()
print(f"measured {rates}; 2λ(K⁻¹Q) = {growth:.6f}, divided by √2: {growth / np.sqrt(2):.6f}")
tempered = symflow.solve(
    symflow.L2(temperature=np.sqrt(2)),
    pairs["divergence-l2"][1].initial,
    {"Q": Q, "K": K, "V": np.eye(2)},
    (0, end),
    t_eval=[0.9 * end, end],
)
first, last = np.trace(tempered.cov, axis1=1, axis2=2)
rates["temperature √2"] = np.log(last / first) / (0.1 * end)
print(f"with a temperature √2 of the whole score: {rates['temperature √2']:.6f}")

traces = {
    figure: {
        label: (r.t, np.trace(r.cov, axis1=1, axis2=2))
        for label, r in zip(("the authors", "the definition"), runs[figure], strict=True)
        if r is not None
    }
    for figure in ("zero-softmax", "zero-l2", "blow-up-softmax", "divergence-l2")
}
scale_figure = curves(traces, r"$\mathrm{tr}\,\Sigma$", shared=False)
scale_figure.axes[2].set_ylim(0.5, 1e3)
keep(scale_figure, OPTIONS, "paper_scales")

# %%
# Regions
# -------
# Convergence to two lines, and convergence or blow-up, on a grid of laws of trace one. For softmax
# attention the regions are the same at both scales. For ℓ2 attention nothing blows up, since K is
# invertible (``CACP25/l2-no-blow-up``): what grows tends to a limit.

grid = laws_of_unit_trace(SIDE)
portraits = {}
for name in ("two-lines-softmax", "two-lines-l2", "both-softmax", "both-l2"):
    for label, spec in zip(("the authors", "the definition"), pairs[name], strict=True):
        region = fates(spec.model, spec.parameters, grid)
        portraits[f"{name}, {label}"] = Portrait(grid, region)
        print(f"{name}, {label}: {dict(Counter(region))}")
regions_figure = phase_portrait(portraits, columns=4)
keep(regions_figure, OPTIONS, "paper_regions")
