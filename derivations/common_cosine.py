r"""
Tokens with one common cosine
=============================

Tokens that start orthonormal, or with any other cosine in common, keep one cosine γ(t) for all pairs. It
solves a scalar equation, which is derived from the flow of tokens and proved; it is a witness for runs in
which no token moves.

``python derivations/common_cosine.py OUT`` writes equation and verdict as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import numpy as np
from sympy import Symbol

import symflow
from symflow.certify import replay
from symflow.clustering import equiangular_flow

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The equation
# ------------
# In d⟨xᵢ, xⱼ⟩/dt the token i itself, the token j, and the n − 2 others add three kinds of terms.

beta = Symbol("beta")
kinds = {"softmax": symflow.Softmax, "unnormalised": symflow.Unnormalised, "linear": symflow.Linear}
flows = {
    name: equiangular_flow(kind(space="sphere") if name == "linear" else kind(space="sphere", beta=beta))
    for name, kind in kinds.items()
}
for name, flow in flows.items():
    print(f"{name}: {flow.to_latex()}")

# %%
# The proof
# ---------

verdict = symflow.check("GLPR23/orthogonal-start")
print(f"{verdict.claim}: {verdict.status}")
print(replay(verdict.certificate))

# %%
# Runs beside it
# --------------
# Thirty-two orthonormal tokens under softmax attention with β = 1: when the cosine reaches a level, by a
# quadrature with thirty digits, and as an event of the run.

model = symflow.Softmax(space="sphere", beta=1)
levels = (0.5, 0.9, 0.999)
events = [lambda _t, x, level=level: float(x[0] @ x[1]) - level for level in levels]
run = symflow.solve(model, np.eye(32), {}, (0, 6), events=events, rtol=1e-10)
for level, found in zip(levels, run.t_events, strict=True):
    print(f"{level}: {equiangular_flow(model).hitting_time(level, 32):.9f} and {found[0]:.9f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, flow in flows.items():
        (OUT / f"common_cosine_{name}.tex").write_text(f"\\[{flow.to_latex()}\\]\n", encoding="utf-8")
    path = OUT / f"{verdict.claim.replace('/', '-')}.tex"
    path.write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
