r"""
First variations of energies
============================

An energy is a functional of the law of a token. Its first variation follows by the rules of Gateaux: averages
change by their integrand against the direction, functions of averages by the chain rule, costs of transport
by the envelope theorem.

``python derivations/first_variations.py OUT`` writes each derivation as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import numpy as np

from symflow import energies
from symflow.derive.energies import first_variation
from symflow.models.energies.registry import energy_models

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The energies that are shipped
# -----------------------------

found = {name.replace("-", "_"): first_variation(model()) for name, model in energy_models().items()}
for name, variation in found.items():
    print(f"{name}: δF/δμ(x) = {variation.variation}")
    for step, seen in variation.checked():
        print(f"{name}: {'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")

# %%
# One's own
# ---------
# The same from two texts, with numbers for its matrix.

own = energies.Pairwise("exp(dot(x, A*y))", "norm2(x)**2/4", A=[[1, 0], [0, -1]])
found["own"] = first_variation(own)
print(f"own: δF/δμ(x) = {found['own'].variation}")
print("own: checked:", found["own"].check())

# %%
# In numbers
# ----------
# n times the derivative of the energy by a token is the gradient of the first variation there.

x = np.random.default_rng(0).normal(size=(4, 2))
_, gradient = own.first_variation(x, x)
step, direction = 1e-5, np.array([0.6, -0.8])
moved = [x + sign * step * np.outer(np.eye(4)[1], direction) for sign in (1, -1)]
difference = 4 * (own.value(moved[0]) - own.value(moved[1])) / (2 * step)
print(f"along a token: {gradient[1] @ direction:.8f} and {difference:.8f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, variation in found.items():
        (OUT / f"first_variation_{name}.tex").write_text(variation.to_latex(), encoding="utf-8")
