r"""
An atlas of critical points
===========================

All critical points of the interaction energy of a few tokens on the circle, up to rotations, reflections and
permutations: found by Newton's method from many starts, each proved in ball arithmetic with its numbers of
directions up and down. That there are no others is proved by covering the rest of the torus with boxes.
For β = 1 consensus is the only stable one: attention ascends the energy and leaves every other.

``python docs/experiments/plot_atlas.py --size paper`` goes up to six tokens.
"""

from measure import keep, read_options

import symflow
from symflow.critical import critical_points
from symflow.energies import Interaction
from symflow.plot import atlas

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
STARTS = 2000 if PAPER else 200

# %%
# What is found
# -------------

energy = Interaction(1)
atlases = [critical_points(energy, n, 2, starts=STARTS) for n in range(3, 7 if PAPER else 6)]
for found in atlases:
    print(found)

atlas_figure = atlas(atlases)
keep(atlas_figure, OPTIONS, "atlas")

# %%
# What is proved
# --------------
# The certificate lists the critical points; its replay encloses each and covers the rest by boxes.

verdict = symflow.check("critical-points", energy, 4)
print(verdict.status, verdict.scope, verdict.replay())

# %%
# A larger β
# ----------
# The figures stay. Angles change, and energies move apart.

larger = critical_points(Interaction(6), 5, 2, starts=STARTS)
print(larger)
larger_figure = atlas([larger])
keep(larger_figure, OPTIONS, "atlas_larger")
