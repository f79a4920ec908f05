r"""
Gaussians stay Gaussian
=======================

Under softmax, ℓ2, linear and Sinkhorn attention a Gaussian law stays Gaussian, also with several heads, a
feed-forward layer and noise; under masked linear attention every position has a Gaussian law of its own. Mean
and covariance solve a closed system of ordinary differential equations. Nothing below states these equations:
they follow from the scores. Other mechanisms do not keep Gaussians Gaussian, and a witness shows it.

Run it as ``python derivations/gaussian_closure.py OUT`` to write the documents to the folder ``OUT``.
"""

import sys
from pathlib import Path

from sympy import Symbol

import symflow
from symflow.algebra.latex import latex

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The models
# ----------
# A model states its score, its value and how its weights are normalised, nothing else. Where the score knows
# queries and keys through :math:`A = K^\top Q` only, :math:`A` is enough.

epsilon = Symbol("epsilon", positive=True)
models = {
    "softmax": symflow.Softmax(),
    "l2": symflow.L2(),
    "linear": symflow.Linear(),
    "sinkhorn": symflow.Sinkhorn(temperature=epsilon),
    "multihead": symflow.MultiHead(symflow.Softmax()),
    "masked_linear": symflow.Masked(symflow.Linear()),
    "layer_and_noise": symflow.Softmax(feed_forward=True, diffusion=epsilon),
}
for name, model in models.items():
    print(f"{name}: score {model.score}, value {model.value}, normalised: {model.normalise}")

# %%
# The equations
# -------------
# A quadratic score tilts the Gaussian law of the key where rows are normalised, and couples it with itself
# where the weights are doubly stochastic; a polynomial kernel needs its moments. Each way the velocity field
# is affine, sums of affine fields are affine, and an affine field moves a Gaussian to a Gaussian.

derivations = {name: symflow.gaussian_closure(model) for name, model in models.items()}
for name, derivation in derivations.items():
    print(name)
    print("   α' =", latex(derivation.mean_rhs))
    print("   Σ' =", latex(derivation.cov_rhs))

# %%
# Every step is checked
# ---------------------
# Each step carries a check that shares no code with it: exact rational points, quadrature to fifty digits,
# the continuity equation itself.

checked = {name: derivation.checked() for name, derivation in derivations.items()}
for name, steps in checked.items():
    for step, seen in steps:
        print(f"{name}: {'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")

# %%
# Where there is no closure
# -------------------------
# In dimension one the velocity of a Gaussian solution is affine. One exact derivative that is not zero shows
# that it is not.

for model in (symflow.Sigmoid(), symflow.Unnormalised(), symflow.Masked(symflow.Softmax())):
    try:
        symflow.gaussian_closure(model)
    except symflow.errors.NotGaussianPreserving as refused:
        print(refused)

# %%
# Documents
# ---------
# The same derivation as an article, as a fragment for a paper, and as a web page that opens offline.

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, derivation in derivations.items():
        (OUT / f"gaussian_closure_{name}.tex").write_text(derivation.to_latex(), encoding="utf-8")
        (OUT / f"gaussian_closure_{name}_fragment.tex").write_text(
            derivation.to_latex(fragment=True), encoding="utf-8"
        )
        (OUT / f"gaussian_closure_{name}.html").write_text(derivation.to_html(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
