r"""
Bounded covariances
===================

Two conditions under which the covariance of softmax attention stays bounded for general V: V ≻ 0
with A + Aᵀ ⪯ 0, and A = −VᵀP with P ≻ 0 for any V at all.

``python derivations/bounded_positive.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
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

derivation = symflow.gaussian_closure(symflow.Softmax())
print("α' =", derivation.mean_rhs)
print("Σ' =", derivation.cov_rhs)

# %%
# The proofs
# ----------
# tr(V⁻¹Σ) and tr(PΣ) never increase; their derivatives are traces of matrices of known sign.

verdicts = [
    symflow.check(name)
    for name in (
        "CACP25/bounded-positive",
        "CACP25/bounded-adjoint",
    )
]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}")
    print(replay(verdict.certificate))

# %%
# A run beside them
# -----------------
# VA + AᵀVᵀ has eigenvalues of both signs here, and the weighted trace decreases.

V, P = np.array([[1.0, 3.0], [0.0, 1.0]]), np.diag([1.0, 9.0])
A = -V.T @ P
print("VA + AᵀVᵀ has the eigenvalues", np.linalg.eigvalsh(V @ A + A.T @ V.T))
start = symflow.Gaussian(np.zeros(2), np.array([[1.0, 0.4], [0.4, 0.5]]))
run = symflow.solve(symflow.Softmax(), start, {"A": A, "V": V}, (0, 2), t_eval=np.linspace(0, 2, 5))
print("tr(PΣ):", [float(np.trace(P @ cov).round(6)) for cov in run.cov])

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
