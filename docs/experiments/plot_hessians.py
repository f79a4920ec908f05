r"""
Spectra of Hessians over β
==========================

At symmetric configurations of tokens on the sphere the Hessian of the interaction energy
:math:`E_\beta = \frac{1}{2\beta n^2}\sum_{i,j}e^{\beta\langle x_i,x_j\rangle}` has its eigenvalues in closed
form, for every number of tokens and every dimension. A positive one is a direction in which attention leaves
the configuration. For large β all of these are exponentially small beside :math:`e^\beta`: that is why
clusters last.

``python docs/experiments/plot_hessians.py --size paper`` takes more tokens.
"""

import numpy as np
from measure import keep, read_options
from sympy import Expr, Symbol, lambdify

import symflow
from symflow.curvature import configurations
from symflow.derive.critical.spectra import (
    cluster_spectrum,
    consensus_spectrum,
    polygon_spectrum,
    simplex_spectrum,
)
from symflow.energies import Interaction
from symflow.models.energies.registry import energy_model
from symflow.plot import Branch, hessian_spectra

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
N, D = (9, 4) if PAPER else (5, 3)
BETA = np.linspace(0.05, 6, 600)

# %%
# What is derived
# ---------------
# β is a symbol; n and d may be symbols, too, except for polygons.

model = energy_model("interaction")
n, d = Symbol("n", positive=True, integer=True), Symbol("d", positive=True, integer=True)
for value, multiplicity in consensus_spectrum(model, n, d):
    print(f"consensus of n tokens: {value}, {multiplicity} times")

half = N // 2
spectra = {
    f"consensus, $n = {N}$": consensus_spectrum(model, N, D),
    f"{N - 1} + 1 antipodal": cluster_spectrum(model, N - 1, 1, D),
    f"{N - half} + {half} antipodal": cluster_spectrum(model, N - half, half, D),
    "antipodal pair": cluster_spectrum(model, 1, 1, D),
    f"regular {N}-gon": polygon_spectrum(model, N, D),
    f"regular simplex, $n = {D + 1}$": simplex_spectrum(model, D + 1, D),
}
tokens = {
    f"consensus, $n = {N}$": configurations.consensus(N, D),
    f"{N - 1} + 1 antipodal": configurations.antipodal(N - 1, 1, D),
    f"{N - half} + {half} antipodal": configurations.antipodal(N - half, half, D),
    "antipodal pair": configurations.antipodal(1, 1, D),
    f"regular {N}-gon": configurations.ngon(N, D),
    f"regular simplex, $n = {D + 1}$": configurations.simplex(D + 1, D),
}

# %%
# Beside matrices
# ---------------
# The same eigenvalues from the Hessian of all tokens, at three β.

beta = Symbol("beta", positive=True)


def branch(value: Expr, multiplicity: int) -> Branch:
    """Return an eigenvalue over β, in units of e^β."""
    (symbol,) = value.free_symbols or {beta}
    values = np.broadcast_to(lambdify(symbol, value, "numpy")(BETA), BETA.shape)
    return Branch(np.exp(-BETA) * values, int(multiplicity))


panels = {name: [branch(*one) for one in found] for name, found in spectra.items()}
deviations = {}
for name, rows in tokens.items():
    x = np.array(rows, dtype=float)
    off = []
    for k in (0, len(BETA) // 2, len(BETA) - 1):
        measured = np.exp(-BETA[k]) * np.array(symflow.hessian(Interaction(BETA[k]), x).eigenvalues())
        exact = sorted(b.values[k] for b in panels[name] for _ in range(b.multiplicity))
        off.append(np.abs(measured - exact).max())
    deviations[name] = float(max(off))
    print(f"{name}: off by at most {deviations[name]:.1e}")

spectra_figure = hessian_spectra(panels, BETA, r"$e^{-\beta}\lambda$", threshold=1e-3)
keep(spectra_figure, OPTIONS, "hessian_spectra")
