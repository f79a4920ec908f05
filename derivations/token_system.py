r"""
The system of n tokens
======================

For an empirical law the transport equation of a model is a system of n interacting tokens, on ℝᵈ or on the
unit sphere. What a pair of tokens costs is decided by the score: how many inner products or squared
distances it is a function of, and whether a pair has one score. On ℝᵈ tokens may be followed in the frame z
= e^{−tV}x.

``python derivations/token_system.py OUT`` writes the derivations as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import symflow

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The models
# ----------
# Every variant, on both spaces; heads and a mask compose with any of them.

models = {
    "softmax": symflow.Softmax(),
    "softmax_sphere": symflow.Softmax(space="sphere"),
    "l2": symflow.L2(),
    "sinkhorn_sphere": symflow.Sinkhorn(space="sphere"),
    "sigmoid": symflow.Sigmoid(),
    "linear": symflow.Linear(),
    "unnormalised_sphere": symflow.Unnormalised(space="sphere"),
    "multihead": symflow.MultiHead(symflow.Softmax()),
    "masked": symflow.Masked(symflow.Softmax(space="sphere"), sink=0.25),
}

# %%
# The derivations
# ---------------
# The score is split into pairings of a vector of the query and one of the key, by the normal form of matrix
# words; symmetry is an equation between parameters, which holds, may hold, or cannot.

derivations = {name: symflow.token_flow(model) for name, model in models.items()}
for name, derivation in derivations.items():
    for term in derivation.flow.terms:
        pairs = ", ".join(f"{p.symbol}: {p.left} with {p.right}" for p in term.pairings)
        print(f"{name}: s = {term.score}, {pairs}; symmetric if {term.symmetric_if}")

# %%
# Every step is checked
# ---------------------
# At a few rational tokens, by explicit matrices and the definition of the model.

for name, derivation in derivations.items():
    for step, seen in derivation.checked():
        print(f"{name}: {'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")

# %%
# Where there is no system
# ------------------------

for model in (symflow.Masked(symflow.Sinkhorn()), symflow.Softmax(diffusion="1/10")):
    try:
        symflow.token_flow(model)
    except symflow.errors.NoTokenFlow as refused:
        print(refused)

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, derivation in derivations.items():
        (OUT / f"token_system_{name}.tex").write_text(derivation.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
