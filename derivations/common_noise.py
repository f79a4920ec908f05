r"""
Two tokens in common noise
==========================

Random layers that all tokens share become one Gaussian field in the limit of many layers. The cosine u of two
tokens is then a diffusion on [−1, 1]; near u = 1 its generator says whether tokens synchronise, and how fast
moments of their distance grow.

``python derivations/common_noise.py OUT`` writes derivation and verdicts as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

from sympy import Rational, exp, lambdify

import symflow
from symflow.certify import replay
from symflow.derive.noise import pair_generator
from symflow.derive.noise.symbols import BETA, COSINE, SIZE

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The generator, and its limits where tokens meet
# -----------------------------------------------
# Itô's formula with traces of projectors at symbolic size. The correction of Itô's equation is what layer
# normalisation leaves of the second derivative of :math:`v/|v|`.

found = pair_generator()
for step, seen in found.checked():
    print(f"{'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")
for name in ("correction", "drift", "diffusion", "lyapunov", "dissipation", "moments"):
    print(f"{name} = {getattr(found, name)}")

# %%
# The proofs
# ----------

names = ("field-covariance", "pair-generator", "lyapunov-formula", "relu-exponents")
verdicts = {name: symflow.check(f"ABGSR26/{name}") for name in names}
for verdict in verdicts.values():
    print(f"{verdict.claim}: {verdict.status}, {'replayed' if replay(verdict.certificate) else 'refused'}")

# %%
# A square root of the covariance is no field
# -------------------------------------------
# Solvers of Stratonovich equations need the field itself. With the Cholesky factor of its covariance at both
# tokens the drift of u is another one, whatever the step: here for κ(u) = exp(u/3), d = 3.

covariance = exp(COSINE / 3)
at_one = covariance.subs(COSINE, 1)
drift = found.insert(found.drift, covariance, at_one, at_one / 3).subs(SIZE, 3)
surplus = found.insert(found.square_root, covariance, at_one, at_one / 3)
for u in (Rational(-1, 2), Rational(1, 2)):
    right, wrong = (float(part.subs(COSINE, u)) for part in (drift, drift + surplus))
    print(f"u = {u}: drift {right:.6f}, with the Cholesky factor {wrong:.6f}")

# %%
# Close tokens
# ------------
# −Lf/f of f = e^β − e^{βu} tends to −λ̄ for u → 1, here with β = 2.

rate = found.insert(found.energy, covariance, at_one, at_one / 3)
value = lambdify(COSINE, rate.subs({SIZE: 3, BETA: 2}))
limit = float(found.insert(found.dissipation, covariance, at_one, at_one / 3).subs(SIZE, 3))
print(f"close to one: {value(1 - 1e-6):.4f} and {-limit:.4f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "common_noise.tex").write_text(found.to_latex(), encoding="utf-8")
    for name, verdict in verdicts.items():
        (OUT / f"ABGSR26-{name}.tex").write_text(verdict.to_latex(), encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
