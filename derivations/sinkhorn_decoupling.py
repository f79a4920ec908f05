r"""
Mean and covariance under Sinkhorn attention
============================================

The mean of any law obeys α' = Vα/ε, and the covariance an equation in which the mean does not
occur.

``python derivations/sinkhorn_decoupling.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
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
# They follow from the score, for Gaussians.

derivation = symflow.gaussian_closure(symflow.Sinkhorn())
print("α' =", derivation.mean_rhs)
print("Σ' =", derivation.cov_rhs)

# %%
# The proof
# ---------
# The optimal coupling has the law itself as both marginals, and the score of translated tokens
# differs by a function of the query and a function of the key.

verdicts = [symflow.check(name) for name in ("CACP25/sinkhorn-decoupling",)]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}")
    print(replay(verdict.certificate))

# %%
# Runs beside it
# --------------
# The covariance is the same whatever the mean.

params = {"A": np.array([[0.5, 0.2], [-0.4, 0.1]]), "V": np.array([[-0.3, 0.1], [0.2, 0.4]])}
cov = np.array([[1.0, 0.3], [0.3, 0.6]])
runs = [
    symflow.solve(symflow.Sinkhorn(), symflow.Gaussian(np.array(mean), cov), params, (0, 1))
    for mean in ([0.0, 0.0], [3.0, -2.0])
]
print("difference of the covariances", np.abs(runs[0].cov[-1] - runs[1].cov[-1]).max())

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
