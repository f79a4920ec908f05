r"""
How fast two laws can separate
==============================

On a ball the velocity of every variant is bounded and Lipschitz in the token and in the law. The constants
follow from the score and the value by rules for norms; with them two solutions separate at most
exponentially in every Wasserstein distance, so that the transport equation is the limit of many tokens.

``python derivations/stability.py OUT`` writes the derivations as LaTeX to the folder ``OUT``.
"""

import math
import sys
from pathlib import Path

import numpy as np

import symflow
from symflow.derive.stability import stability

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The constants
# -------------

models = {
    "softmax": symflow.Softmax(),
    "softmax_sphere": symflow.Softmax(space="sphere"),
    "l2": symflow.L2(),
    "sinkhorn": symflow.Sinkhorn(),
    "sigmoid": symflow.Sigmoid(),
    "linear": symflow.Linear(),
    "unnormalised": symflow.Unnormalised(),
    "multihead": symflow.MultiHead(symflow.Softmax()),
    "masked": symflow.Masked(symflow.Softmax(), sink=0.25),
}
derivations = {name: stability(model) for name, model in models.items()}
for name, found in derivations.items():
    print(f"{name}: B = {found.speed}, Λx = {found.query}, Λμ = {found.law}")

# %%
# Every bound is checked
# ----------------------

for name, found in derivations.items():
    for step, seen in found.checked():
        print(f"{name}: {'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")

# %%
# The estimate beside two clouds
# ------------------------------
# Constants are rounded upwards in ball arithmetic; on the line distances are exact.

rng = np.random.default_rng(3)
clouds = rng.uniform(-0.5, 0.5, size=(2, 50, 1))
for name in ("softmax", "l2", "sigmoid"):
    names = [p.name for p in derivations[name].statement.parameters]
    params = {key: [[0.5]] if key == "V" else [[1.0]] for key in names}
    ends = [symflow.solve(models[name], x, params, (0, 0.5), t_eval=[0.5]).x[-1] for x in clouds]
    first, last = (symflow.distances.wasserstein(*pair, order=1) for pair in (clouds, ends))
    bound = math.exp(derivations[name].exponent(params, 0.5, 0.5))
    print(f"{name}: {last / first:.4f} ≤ {bound:.4f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, derivation in derivations.items():
        (OUT / f"stability_{name}.tex").write_text(derivation.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
