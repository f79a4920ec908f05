r"""
The landscape of the interaction energy
=======================================

A critical point of :math:`E_\beta` with a Hessian that is not positive anywhere satisfies an inequality for
every block of tokens that is rotated. Hence for small β, and in dimension three or more for every β, every
critical point but consensus is a strict saddle. Dirac masses are the only maximisers, and the uniform law is
the only minimiser.

``python derivations/energy_landscape.py OUT`` writes the derivation and the verdicts as LaTeX to ``OUT``.
"""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

import symflow
from symflow.curvature import configurations
from symflow.derive.landscape import landscape, saddle_eigenvalue, small_beta_bound
from symflow.energies import Interaction

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The derivation
# --------------

argument = landscape()
for step, seen in argument.checked():
    print(f"{'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")
print("g(c) =", argument.excess)

# %%
# The proofs
# ----------

names = ("block-rotation", "small-beta-saddles", "consensus-maximum", "uniform-minimiser")
verdicts = [symflow.check(f"GLPR23/{name}") for name in names]
for verdict in verdicts:
    print(f"{verdict.claim}: {verdict.status}, replayed: {verdict.replay()}")

# %%
# How small β has to be
# ---------------------
# On the circle, a rational number up to which the inequality of the proof holds for n tokens, and the
# eigenvalue that it promises half way, beside the largest one of the regular polygon.

for n in (3, 5, 8):
    bound = small_beta_bound(n, 2)
    beta = Fraction(1) if bound is None else bound / 2
    promised = float(saddle_eigenvalue(n, 2, beta))
    polygon = symflow.hessian(Interaction(float(beta)), np.array(configurations.ngon(n), float))
    said = "every β" if bound is None else f"β ≤ {float(bound):.4f}"
    print(
        f"n = {n}: {said}; eigenvalue at least {promised:.6f}, at the polygon {polygon.eigenvalues()[-1]:.6f}"
    )

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "landscape.tex").write_text(argument.to_latex(), encoding="utf-8")
    for verdict in verdicts:
        (OUT / f"{verdict.claim.replace('/', '-')}.tex").write_text(verdict.to_latex(), encoding="utf-8")
