r"""
The field of a random layer
===========================

A layer of independent Gaussian weights is a field whose covariance is κ(⟨x, y⟩) I at every width. Where the
activation is made of powers, kinks at zero and error functions, κ has a closed form: Price's theorem takes
the average down to one that is known, and antiderivatives lead back.

``python derivations/random_layers.py OUT`` writes the derivations as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import symflow
from symflow.derive.noise import field_covariance, noise_derivation

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# Closed forms
# ------------
# In the variance q and the covariance c of the arguments of the activation. The last one is a user's own.

layers = {name: field_covariance(name) for name in ("relu", "leaky_relu", "erf", "linear", "tanh")}
layers["smooth"] = field_covariance("z*(1 + erf(z))/2")
for name, layer in layers.items():
    print(f"{name}: {layer.average if layer.average is not None else layer.no_closed_form}")

# %%
# From the definition to the exponents
# ------------------------------------
# For rectified linear units λ₁ is negative in every dimension; λ̄ is negative with biases and d > 3 alone.

relu = noise_derivation("relu")
for step, seen in relu.checked():
    print(f"{'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")
print(f"lyapunov = {relu.lyapunov}")
print(f"dissipation = {relu.dissipation}")

# %%
# Symbols beside numbers
# ----------------------
# The same exponents as enclosures, from the definition of the activation alone.

for name in ("relu", "erf"):
    for d, sigma in ((5, 0), (64, "1/10")):
        noise = symflow.CommonNoise(name, sigma, sigma, dim=d)
        derived = noise_derivation(noise)
        for part in ("lyapunov", "dissipation"):
            symbolic, number = float(getattr(derived, part)), float(getattr(noise, part))
            print(f"{name}, d = {d}, {part}: {symbolic:.12f} and {number:.12f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    documents = {"relu": relu, "erf": layers["erf"], "tanh": layers["tanh"]}
    for name, document in documents.items():
        (OUT / f"random_layers_{name}.tex").write_text(document.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
