r"""
One limit for ℓ2 and softmax attention
======================================

For V = I and Q = −K both covariances decrease to the same limit, the largest X ⪯ Σ₀ with KX = 0.

``python derivations/l2_same_limit.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import numpy as np

import symflow
from symflow.certify import replay

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The equations
# -------------
# They follow from the scores.

for model in (symflow.Softmax(), symflow.L2()):
    print(model.name, "Σ' =", symflow.gaussian_closure(model, {"Q", "K", "V"}).cov_rhs)

# %%
# The proof
# ---------
# Both equations have the form −ΣKᵀW(KΣKᵀ)KΣ with W ≻ 0, which does not change when an X with KX = 0
# is taken off Σ.

verdicts = [symflow.check(name) for name in ("CACP25/l2-same-limit",)]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}")
    print(replay(verdict.certificate))

# %%
# Runs beside it
# --------------


Q = np.array([[0.7, -0.7]])
cov = np.array([[2.0, 0.5], [0.5, 1.0]])
kernel = np.array([[1.0], [1.0]])
limit = kernel @ np.linalg.inv(kernel.T @ np.linalg.inv(cov) @ kernel) @ kernel.T
start = symflow.Gaussian(np.zeros(2), cov)
for model in (symflow.Softmax(), symflow.L2()):
    params = {"Q": Q, "K": -Q, "V": np.eye(2)}
    run = symflow.solve(model, start, params, (0, 1000))
    print(f"{model.name:>8}: distance to the limit {np.linalg.norm(run.cov[-1] - limit, 2):.1e}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
