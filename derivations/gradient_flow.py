r"""
Attention as a gradient flow
============================

When is the velocity of attention the gradient of an energy, and for which metric? The equations between
parameters that this needs are found and proved; where they fail, a law of a few atoms excludes every metric.

``python derivations/gradient_flow.py OUT`` writes each derivation as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import numpy as np

import symflow
from symflow import energies
from symflow.certify import replay
from symflow.derive.gradient_flow import gradient_flow
from symflow.energies.rates import dissipation_along
from symflow.models.energies.exponential import Exponential
from symflow.models.energies.interaction import Interaction
from symflow.models.energies.self_transport import SelfTransport

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The structures
# --------------
# On the sphere with Q = K = V = I the metric is that of Wasserstein without normaliser, and weighted by the
# normaliser with it. Softmax on ℝᵈ needs a symmetric A and a symmetric definite AV⁻¹; Sinkhorn attention
# descends the entropic cost of transport.

sphere = {"space": "sphere"}
structures = {
    "unnormalised_sphere": gradient_flow(symflow.Unnormalised(**sphere), Interaction(), ()),
    "softmax_sphere": gradient_flow(symflow.Softmax(**sphere), Interaction(), ()),
    "softmax": gradient_flow(symflow.Softmax(), Exponential()),
    "sinkhorn": gradient_flow(symflow.Sinkhorn(), SelfTransport()),
}
for name, found in structures.items():
    print(found)
    for step, seen in found.checked():
        print(f"{name}: {'passed' if seen.passed else 'FAILED'}: {step.title} ({seen.method})")

# %%
# Where they fail
# ---------------
# V = I. The first A is indefinite, the second is not symmetric: its Diracs determine what the metric has to
# be, and a law of two atoms contradicts it.

for A in ([[2, 1], [1, -1]], [[1, 1], [0, 1]]):
    refuted = gradient_flow(symflow.Softmax(), Exponential(), params={"A": A, "V": [[1, 0], [0, 1]]})
    print(f"A = {A}: {refuted.witness}")
    structures[f"refuted_{len(structures) - 3}"] = refuted

# %%
# The proofs
# ----------

names = ("CACP25/twisted-gradient-flow", "GLPR23/usa-gradient-flow", "GLPR23/sa-gradient-flow")
for claim in (*names, "GLPR23/energy-dissipation"):
    verdict = symflow.check(claim)
    print(f"{verdict.claim}: {verdict.status}, {replay(verdict.certificate)}")

# %%
# A run
# -----
# dE/dt by the dissipation identity, which needs no differences, against the difference of the energy between
# the ends: the integral of the first by Gauss's rule.

nodes, weights = np.polynomial.legendre.leggauss(12)
times = np.concatenate([[0.0], (nodes + 1) / 2, [1.0]])
x = np.random.default_rng(0).normal(size=(16, 3))
x /= np.linalg.norm(x, axis=1, keepdims=True)
run = symflow.solve(symflow.Softmax(**sphere), x, {}, (0, 1), t_eval=times, rtol=1e-12, atol=1e-14)
rates = dissipation_along(structures["softmax_sphere"], run.x[1:-1]).rate
growth = np.diff(energies.Interaction(1.0).value(run.x[[0, -1]]))[0]
print(f"growth of the energy: {weights @ rates / 2:.12f} and {growth:.12f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, found in structures.items():
        (OUT / f"gradient_flow_{name}.tex").write_text(found.to_latex(), encoding="utf-8")
