r"""
Sinkhorn attention as a Bures–Wasserstein flow
==============================================

For V = A = Aᵀ the covariance of Sinkhorn attention descends the entropic cost of transport of the
law to itself in the Bures–Wasserstein metric.

``python derivations/sinkhorn_bures_flow.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import numpy as np

import symflow
from symflow.certify import replay

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The equation
# ------------
# It follows from the score; in terms of the optimal cross-covariance C it is ĀC + CĀ with Ā = A/ε.

derivation = symflow.gaussian_closure(symflow.Sinkhorn())
print("α' =", derivation.mean_rhs)
print("Σ' =", derivation.cov_rhs)

# %%
# The proof
# ---------
# The derivative of the cost is taken in every direction, the derivative in C vanishes at the optimal
# coupling, and what is left of the descent is ĀC + CĀ.

verdicts = [symflow.check(name) for name in ("CACP25/sinkhorn-bures-flow",)]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}")
    print(replay(verdict.certificate))

# %%
# A run beside it
# ---------------
# The cost decreases along a run.

A = np.array([[0.6, 0.2], [0.2, -0.5]])


def cost(cov):
    """Return the entropic cost over 2ε of a centred Gaussian, ε = 1."""
    weights, axes = np.linalg.eigh(cov)
    root = axes * np.sqrt(weights) @ axes.T
    squares = 1 + 4 * np.linalg.eigvalsh(root @ A @ root) ** 2
    radii = np.sqrt(squares)
    return -np.sum(radii - 1 - np.log((1 + radii) / 2)) / 4


start = symflow.Gaussian(np.zeros(2), np.array([[1.0, 0.3], [0.3, 0.6]]))
run = symflow.solve(symflow.Sinkhorn(), start, {"A": A, "V": A}, (0, 2), t_eval=np.linspace(0, 2, 5))
print("cost:", [float(np.round(cost(cov), 6)) for cov in run.cov])

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
