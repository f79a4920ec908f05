r"""
ℓ2 attention and blow-up
========================

With injective K the covariance of ℓ2 attention grows at most exponentially; with a K that has a
kernel it may blow up in finite time.

``python derivations/l2_no_blow_up.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
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
# It follows from the score.

derivation = symflow.gaussian_closure(symflow.L2())
print("α' =", derivation.mean_rhs)
print("Σ' =", derivation.cov_rhs)

# %%
# Theorem and counterexample
# --------------------------
# ‖2ΣKᵀ(I + 2KΣKᵀ)⁻¹‖ ≤ ‖P‖ for every left inverse P of K, so that the velocity gradient is bounded.
# For K with a kernel the search finds a curve with one pole from the derivatives at the start.

verdicts = [
    symflow.check(name)
    for name in (
        "CACP25/l2-no-blow-up",
        "CACP25/l2-no-blow-up-any-k",
    )
]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}")
    print(replay(verdict.certificate))

# %%
# The witness
# -----------


for name, value in verdicts[1].witness.items():
    print(f"{name:>14} {value}")

# %%
# A run beside it
# ---------------


params = {"K": np.array([[1.0, 0.0]]), "Q": np.array([[0.0, 1.0]]), "V": np.diag([0.0, 1.0])}
start = symflow.Gaussian(np.zeros(2), np.array([[1.0, 0.5], [0.5, 1.0]]))
run = symflow.solve(symflow.L2(), start, params, (0, 5))
print(f"{run.status} at {run.t_star:.9f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
