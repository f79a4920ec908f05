r"""
Velocities of tokens without a sum over pairs
=============================================

On the circle and on S² an exponential weight is a series of harmonics with positive coefficients. One
expansion of the mass gives the mean as well, and what is cut off is bounded before anything is summed.
Weights that are affine in both tokens need two moments of the law.

``python derivations/fast_sums.py OUT`` writes the derivations as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import numpy as np

import symflow
from symflow.codegen.expansions import fast_sum
from symflow.derive.expansions.harmonics import harmonic_sum
from symflow.derive.expansions.moments import moment_sum

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The derivations
# ---------------

on_sphere = symflow.token_flow(symflow.Softmax(space="sphere"), ())
derivations = {
    "circle": harmonic_sum(on_sphere, 2),
    "sphere": harmonic_sum(on_sphere, 3),
    "moments": moment_sum(symflow.token_flow(symflow.Linear())),
}
for name, derivation in derivations.items():
    for step, seen in derivation.checked():
        print(f"{name}: {'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")

# %%
# The bound beside the error
# --------------------------
# For each tolerance the number of modes is chosen from the proved bound; the velocity is compared with the
# sum over all pairs.

rng = np.random.default_rng(5)
tokens = rng.normal(size=(1000, 2))
tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
model = symflow.Softmax(space="sphere", beta=9)
pairs = symflow.compile(model)(0.0, tokens)
for tolerance in (1e-2, 1e-4, 1e-6):
    fast = fast_sum(model, (2, len(tokens)), {}, tolerance, "fast")
    velocity = np.empty(tokens.size)
    fast.call(0.0, tokens.ravel(), velocity)
    error = np.linalg.norm(velocity.reshape(tokens.shape) - pairs, axis=1).max()
    print(f"degree {fast.modes}: error {error:.1e} ≤ {fast.error:.1e}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, derivation in derivations.items():
        (OUT / f"fast_sums_{name}.tex").write_text(derivation.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
