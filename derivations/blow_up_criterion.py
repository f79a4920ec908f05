r"""
What decides blow-up
====================

λ_max(VA + AᵀVᵀ) > 0 does not make the covariance of softmax attention blow up. If V ≻ 0 and A + Aᵀ
≻ 0, it does, and no later than a time that a comparison gives.

``python derivations/blow_up_criterion.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
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
# Counterexample and theorem
# --------------------------
# The search tries parameters for which the equation keeps the line Σ₀ + uD: then u obeys a scalar
# equation, whose first zero stops it. The theorem is a comparison for tr(V⁻¹Σ).

verdicts = [
    symflow.check(name)
    for name in (
        "CACP25/blow-up-criterion",
        "CACP25/blow-up-positive",
    )
]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}")
    print(replay(verdict.certificate))

# %%
# The witness
# -----------


for name, value in verdicts[0].witness.items():
    print(f"{name:>14} {value}")

# %%
# Runs beside them
# ----------------
# The counterexample is bounded for all times; the bound on the blow-up time is above the time of a
# run.

V, A = np.diag([1.0, 2.0]), np.array([[0.0, -1.0], [1.0, 0.0]])
start = symflow.Gaussian(np.zeros(2), np.eye(2))
run = symflow.solve(symflow.Softmax(), start, {"A": A, "V": V}, (0, 20))
print(run.status, "correlation", run.cov[-1][0, 1], "tanh", np.tanh(20))
A = np.array([[1.0, -0.5], [0.5, 0.8]])
strength = np.linalg.eigvalsh(A + A.T)[0]
inverse = np.linalg.inv(V)
bound = np.trace(inverse @ inverse) / (strength * np.trace(inverse))
run = symflow.solve(symflow.Softmax(), start, {"A": A, "V": V}, (0, 2))
print(f"{run.status} at {run.t_star:.6f}, bound {bound:.6f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
