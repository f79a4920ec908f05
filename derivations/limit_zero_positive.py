r"""
Covariances that vanish
=======================

If V ≻ 0 and A + Aᵀ ⪯ −aI, a > 0, the covariance of softmax attention tends to zero at least like
1/t.

``python derivations/limit_zero_positive.py OUT`` writes the verdicts as LaTeX to the folder ``OUT``.
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
# f = tr(V⁻¹Σ) obeys τf' + af² ≤ 0 with τ = tr(V⁻²), by Cauchy and Schwarz; the rest is a comparison.

verdicts = [symflow.check(name) for name in ("CACP25/limit-zero-positive",)]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}")
    print(replay(verdict.certificate))

# %%
# A run beside it
# ---------------


V, A = np.diag([1.0, 2.0]), np.array([[-1.0, 2.0], [-1.5, -0.8]])
inverse, cov = np.linalg.inv(V), np.array([[1.0, 0.3], [0.3, 2.0]])
rate = -np.linalg.eigvalsh(A + A.T)[-1] / np.trace(inverse @ inverse)
first = np.trace(inverse @ cov)
times = np.array([0.0, 1.0, 10.0, 100.0])
start = symflow.Gaussian(np.zeros(2), cov)
run = symflow.solve(symflow.Softmax(), start, {"A": A, "V": V}, (0, 100), t_eval=times)
for t, sigma in zip(times, run.cov, strict=True):
    print(f"t = {t:5g}: {np.trace(inverse @ sigma):.6f} ≤ {first / (1 + rate * first * t):.6f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for verdict in verdicts:
        path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
        path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
