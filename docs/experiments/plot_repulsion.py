r"""
Repelling tokens find optimal configurations
============================================

For :math:`V = -I` the energy decreases, and tokens spread. With 2, 4, 6 and 12 of them in space they end as
an antipodal pair, a regular simplex, an octahedron and an icosahedron, which are optimal for every
:math:`\beta` (Cohn and Kumar 2007). The cosines of all pairs are compared with the exact ones.

``python docs/experiments/plot_repulsion.py --size paper`` starts more runs.
"""

import numpy as np
from measure import example, keep, read_options

import symflow
from symflow.claims.glpr23.repulsion import configurations
from symflow.clustering import cosines
from symflow.energies import Interaction
from symflow.plot import cosine_spectra, polyhedra

OPTIONS = read_options()
STARTS = 128 if OPTIONS.size == "paper" else 8
spec = example("repulsion")
energy = Interaction(float(spec.model.beta))

# %%
# From many starts
# ----------------
# A run has arrived where its energy is that of the configuration to nine digits; the cosines are those of the
# run with the lowest energy.


def spectrum(x: np.ndarray) -> np.ndarray:
    """Return the cosines of all pairs of different tokens in increasing order."""
    return np.sort(cosines(x)[np.triu_indices(len(x), 1)])


ends: dict[str, np.ndarray] = {}
spectra: dict[str, tuple[np.ndarray, np.ndarray]] = {}
arrived: dict[str, float] = {}
for name, corners in configurations().items():
    law = symflow.spec.parse_spec(
        {**spec.data, "initial": {**spec.data["initial"], "n": len(corners)}}
    ).tokens
    starts = np.array([law.draw(seed) for seed in range(STARTS)])
    runs = symflow.ensemble(spec.model, starts, {}, spec.t_span, **spec.solver)
    excess = np.array([energy.value(x) for x in runs.x[:, -1]]) / energy.value(corners) - 1
    arrived[name] = float((np.abs(excess) < 1e-9).mean())
    ends[name] = runs.x[int(np.argmin(excess)), -1]
    spectra[name] = spectrum(ends[name]), spectrum(corners)
    gap = np.abs(spectra[name][0] - spectra[name][1]).max()
    print(
        f"{name}: {arrived[name]:.0%} of {STARTS} runs arrive, energies from {excess.min():+.1e} on; ", end=""
    )
    print(f"cosines {np.unique(spectra[name][1].round(9)).tolist()} to {gap:.1e}")

# %%
# Where they end
# --------------
# Lines join nearest tokens.

nearest = {name: found[-1] - 1e-3 if len(found) > 1 else 1.0 for name, (found, _) in spectra.items()}
minimiser_figure = polyhedra({name: (x, float(nearest[name])) for name, x in ends.items()})
keep(minimiser_figure, OPTIONS, "repulsion")

spectra_figure = cosine_spectra(spectra)
keep(spectra_figure, OPTIONS, "repulsion_cosines")
