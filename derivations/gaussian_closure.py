r"""
Gaussians stay Gaussian
=======================

Under softmax and ℓ2 attention a Gaussian law stays Gaussian, and its mean and covariance solve a closed
system of ordinary differential equations. Nothing below states these equations: they follow from the scores.

Run it as ``python derivations/gaussian_closure.py OUT`` to write the documents to the folder ``OUT``.
"""

import sys
from pathlib import Path

import symflow
from symflow.algebra.latex import latex

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The models
# ----------
# A model states its score and its value, nothing else. Softmax attention knows queries and keys through
# :math:`A = K^\top Q` only, so :math:`A` is enough; ℓ2 attention needs both.

models = {"softmax": symflow.Softmax(), "l2": symflow.L2()}
for name, model in models.items():
    print(f"{name}: score {model.score}, value {model.value}")

# %%
# The equations
# -------------
# The score is decomposed as a quadratic form in the key, the Gaussian tilting lemma gives the velocity field,
# and an affine field moves a Gaussian to a Gaussian.

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
