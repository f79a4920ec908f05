r"""
Low-rank limits
===============

VA + AᵀVᵀ ⪯ 0 does not make the covariance of softmax attention converge; where V commutes with the
start and with VA + AᵀVᵀ it does, to a limit of low rank.

``python derivations/low_rank_limit.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
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
# A counterexample
# ----------------
# A solution stays on a ray where the right-hand side at Σ₀ is a multiple of Σ₀. For given V and Σ₀
# that is linear in A; the search solves for A and keeps the first with VA + AᵀVᵀ ⪯ 0. The replay
# checks the curve in rational arithmetic.

verdicts = [
    symflow.check(name)
    for name in (
        "CACP25/low-rank-limit",
        "CACP25/low-rank-limit-commuting",
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
# A run beside it
# ---------------
# The rank at every finite time is that of the start; the limit is RΠRᵀ with the projector on
# ker(RᵀSR).

Q = np.array([[0.7, -0.7]])
A, V = -Q.T @ Q, np.eye(2)
cov = np.array([[2.0, 0.5], [0.5, 1.0]])
root = np.linalg.cholesky(cov)
weights, axes = np.linalg.eigh(root.T @ (A + A.T) @ root)
kernel = axes[:, np.isclose(weights, 0)]
limit = root @ kernel @ kernel.T @ root.T
start = symflow.Gaussian(np.zeros(2), cov)
for end in (1e1, 1e2, 1e3):
    run = symflow.solve(symflow.Softmax(), start, {"A": A, "V": V}, (0, end))
    bound = np.linalg.norm(root, 2) ** 2 / (-weights[0] * end)
    print(f"t = {end:6g}: distance {np.linalg.norm(run.cov[-1] - limit, 2):.2e}, bound {bound:.2e}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
