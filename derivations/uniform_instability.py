r"""
How the uniform law falls apart
===============================

The uniform law of the sphere is an equilibrium of attention. A perturbation by spherical harmonics of
degree k grows at a rate that the formula of Funk and Hecke gives: with Bessel functions for exponential
weights, rational for polynomial ones.

``python derivations/uniform_instability.py OUT`` writes the rates as LaTeX to the folder ``OUT``.
"""

import sys
from pathlib import Path

import numpy as np
from sympy import Symbol, latex

import symflow
from symflow.clustering import uniform_instability

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The rates
# ---------

beta = Symbol("beta", positive=True)
spectra = {
    "softmax": uniform_instability(symflow.Softmax(space="sphere", beta=beta)),
    "unnormalised": uniform_instability(symflow.Unnormalised(space="sphere", beta=beta)),
}
for name, spectrum in spectra.items():
    print(f"{name}: {spectrum.to_latex()}")
print("linear, k = 1, d = 3:", uniform_instability(symflow.Linear(space="sphere")).rate(1, 3))

# %%
# Another route
# -------------
# Quadrature of the integral, without Rodrigues' formula and without Bessel functions.

softmax = uniform_instability(symflow.Softmax(space="sphere", beta=4))
for k, d in ((1, 2), (3, 2), (2, 3), (4, 8)):
    exact, found = softmax.rate(k, d).evalf(25), softmax.numerical_rate(k, d, 25)
    print(f"k = {k}, d = {d}: {float(exact):.12f} and {float(found):.12f}")

# %%
# A run beside it
# ---------------
# The corners of a regular polygon, moved by 10⁻⁶ cos kθ: the amplitude grows like e^{λt}.

corners = 2 * np.pi * np.arange(128) / 128
angles = corners + 1e-6 * np.cos(3 * corners)
start = np.stack([np.cos(angles), np.sin(angles)], axis=1)
model = symflow.Softmax(space="sphere", beta=4)
run = symflow.solve(model, start, {}, (0, 0.5), t_eval=[0.5], rtol=1e-12, atol=1e-15)
turned = np.exp(-1j * corners) * (run.x[-1, :, 0] + 1j * run.x[-1, :, 1])
amplitude = 2 * np.angle(turned) @ np.cos(3 * corners) / 128
print(f"theorem {float(softmax.rate(3, 2)):.8f}, run {np.log(amplitude / 1e-6) / 0.5:.8f}")

# %%
# Documents
# ---------

if OUT is not None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, spectrum in spectra.items():
        text = f"\\[\\lambda_k = {latex(spectrum.rate())}\\]\n"
        (OUT / f"uniform_instability_{name}.tex").write_text(text, encoding="utf-8")
    print("wrote", ", ".join(sorted(path.name for path in OUT.iterdir())))
