r"""
Hessians on spheres
===================

The second derivative of an energy of n tokens along great circles, why at a critical point it is the Hessian
for every Riemannian metric, and its eigenvalues at symmetric configurations.

``python derivations/hessian_on_spheres.py OUT`` writes each derivation as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

from sympy import symbols

import symflow
from symflow.curvature import configurations
from symflow.derive.critical import hessian_form, metric_independence
from symflow.derive.critical.spectra import cluster_spectrum, consensus_spectrum, polygon_spectrum
from symflow.energies import Interaction
from symflow.models.energies.registry import energy_model

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The form, and its independence of the metric
# --------------------------------------------

model = energy_model("interaction")
arguments = {"form": hessian_form(model), "metric_independence": metric_independence(model)}
for name, argument in arguments.items():
    for step, seen in argument.checked():
        print(f"{name}: {'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")

verdict = symflow.check("GLPR23/hessian-metric-independence")
print(f"{verdict.claim}: {verdict.status}, replayed: {verdict.replay()}")

# %%
# Spectra in closed form
# ----------------------

n, d, k, m = symbols("n d k m", integer=True, positive=True)
spectra = {
    "consensus": consensus_spectrum(model, n, d),
    "k + m antipodal": cluster_spectrum(model, k, m, d),
    "square": polygon_spectrum(model, 4),
}
for name, spectrum in spectra.items():
    for value, multiplicity in spectrum:
        print(f"{name}: {value.simplify()}, {multiplicity} times")

# %%
# Exact numbers
# -------------
# Points that are exact numbers give exact eigenvalues, and a signature without rounding.

triangle = symflow.hessian(Interaction(1), configurations.ngon(3))
print("triangle:", triangle.eigenvalues(), triangle.signature())
octahedron = symflow.hessian(Interaction(2), configurations.octahedron())
print("octahedron:", octahedron.signature())

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, argument in arguments.items():
        (OUT / f"hessian_{name}.tex").write_text(argument.to_latex(), encoding="utf-8")
