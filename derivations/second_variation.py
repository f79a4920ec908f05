r"""
Second variations along geodesics
=================================

The second derivative of :math:`F = \frac12\iint W\,d\mu\,d\mu + \int U\,d\mu` along geodesics of W₂, of its
restriction to Gaussian laws, and of the twisted metric, whose geodesics follow from their Hamiltonian.
Gaussian laws are not totally geodesic for the last: a step says why the restricted Hessian is still the full
one.

``python derivations/second_variation.py OUT`` writes each derivation as LaTeX to the folder ``OUT``.
"""

import sys
from fractions import Fraction
from pathlib import Path

import symflow
from symflow.derive.second_variation.argument import second_variation_argument
from symflow.energies import Exponential
from symflow.models.energies.registry import energy_model

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# Three metrics
# -------------

arguments = {
    "wasserstein": second_variation_argument(energy_model("exponential"), "wasserstein"),
    "bures": second_variation_argument(energy_model("exponential"), "bures"),
    "twisted": second_variation_argument(energy_model("exponential"), "twisted"),
    "sphere": second_variation_argument(energy_model("interaction"), "wasserstein"),
}
for name, argument in arguments.items():
    for step, seen in argument.checked():
        print(f"{name}: {'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")

# %%
# Exact numbers
# -------------
# V = I and A = −I, per unit speed: :math:`|x|^2 - 1` on one token, and :math:`3s/(1-s^2)` on a centred
# Gaussian law.

energy = Exponential([[-1]], [[1]])
for x in (Fraction(1, 2), 2):
    found = symflow.second_variation(energy, "twisted", [[x]], V=[[1]])
    print(f"one token, x = {x}: {found.form([[1]]) / found.metric([[1]])} and {x * x - 1}")
for s in (Fraction(1, 10), Fraction(1, 2)):
    law = symflow.Gaussian([0], [[float(s)]])
    found = symflow.second_variation(energy, "twisted", law, V=[[1]])
    ratio = found.form([[1]]) / found.metric([[1]])
    print(f"Gaussian law, s = {s}: {float(ratio):.12f} and {float(3 * s / (1 - s * s)):.12f}")

# %%
# Two tokens
# ----------
# Entries are sums of exponentials of rational numbers; the signature is decided exactly.

pair = symflow.second_variation(energy, "twisted", [[Fraction(1, 4)], [Fraction(-1, 4)]], V=[[1]])
print(pair.matrix)
print(pair.signature())

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, argument in arguments.items():
        (OUT / f"second_variation_{name}.tex").write_text(argument.to_latex(), encoding="utf-8")
