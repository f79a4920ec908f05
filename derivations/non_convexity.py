r"""
Where energies are convex, and where not
========================================

The energy of softmax attention with V = I and A = −I is not convex along the geodesics of the twisted metric,
and its second derivative has no upper bound either. For any energy of pairs the package looks for atoms and
velocities that refute convexity, confirms them in exact numbers, and else for a proof term by term.

``python derivations/non_convexity.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import symflow
from symflow import energies

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# Attention
# ---------

verdicts = [symflow.check(f"CACP25/{name}") for name in ("non-convexity", "no-upper-bound")]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}, replayed: {verdict.replay()}")

# %%
# One's own
# ---------

own = {
    "well": energies.Pairwise("norm2(x - y)/3", "norm2(x)**2/4"),
    "score": energies.Pairwise("exp(dot(x, A*y))", A=[[1, 0], [0, -1]]),
}
for name, energy in own.items():
    verdict = symflow.check("convexity", energy, "wasserstein")
    print(f"{name}: {verdict.status} by {verdict.method}, replayed: {verdict.replay()}")
    if verdict.witness is not None:
        print(f"{name}: {verdict.witness}")
    verdicts.append(verdict)

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    stems = ("non_convexity", "no_upper_bound", *own)
    for stem, verdict in zip(stems, verdicts, strict=True):
        (OUT / f"convexity_{stem}.tex").write_text(verdict.to_latex(), encoding="utf-8")
