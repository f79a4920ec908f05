r"""
Closed form and blow-up time
============================

Where V commutes with the start and with S = VA + AᵀVᵀ, for example V = I, softmax attention has the
covariance R(I − tRᵀSR)⁻¹Rᵀ from RRᵀ. It ends at 1/λ_max(RᵀSR) if that is positive.

``python derivations/blow_up_time.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
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
# The proof
# ---------
# The curve is differentiated in time, V is shown to commute with it, and the equation at the curve is
# its derivative. The spectral theorem says where the resolvent ends.

verdicts = [symflow.check(name) for name in ("CACP25/blow-up-time",)]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}")
    print(replay(verdict.certificate))

# %%
# A run beside it
# ---------------
# The integrator finds the same time.

V, A = np.eye(2), np.array([[0.3, 0.7], [-0.2, -0.5]])
cov = np.array([[2.0, 0.5], [0.5, 1.0]])
root = np.linalg.cholesky(cov)
exact = 1 / np.linalg.eigvalsh(root.T @ (A + A.T) @ root)[-1]
start = symflow.Gaussian(np.zeros(2), cov)
run = symflow.solve(symflow.Softmax(), start, {"A": A, "V": V}, (0, 1))
print(f"theorem {exact:.9f}, run {run.status} at {run.t_star:.9f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
