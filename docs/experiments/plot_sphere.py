r"""
Tokens on the sphere of space
=============================

A hundred and twenty-eight uniform tokens on :math:`S^2` at some times, and as a film.

``python docs/experiments/plot_sphere.py --size paper --out figures`` writes a longer film.
"""

import numpy as np
from measure import example, keep, read_options

import symflow
from symflow.plot import polyhedra, sphere_movie

OPTIONS = read_options()
PICTURES = 160 if OPTIONS.size == "paper" else 20
spec = example("sphere-clusters")
moments = np.array([0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0])
UNJOINED = 2.0  # a cosine that no two tokens have: no lines between them

# %%
# The run
# -------
# Every token keeps its length to rounding, and the energy increases.

film = np.linspace(*spec.t_span, PICTURES)
times = np.union1d(film, moments)
run = symflow.solve(spec.model, spec.initial, spec.parameters, spec.t_span, t_eval=times, **spec.solver)
drift = np.abs(np.linalg.norm(run.x, axis=-1) - 1).max()
energy = run.energy(float(spec.model.beta))
seen = run.clusters()
print(f"{run}; | |x| - 1 | ≤ {drift:.1e}; smallest growth of the energy {np.diff(energy).min():.1e}")

# %%
# Pictures
# --------

place = np.searchsorted(run.t, moments)
titles = [f"$t = {t:g}$, {k} clusters" for t, k in zip(moments, seen.count[place], strict=True)]
frames_figure = polyhedra({title: (run.x[i], UNJOINED) for title, i in zip(titles, place, strict=True)})
keep(frames_figure, OPTIONS, "sphere_frames")

# %%
# The film
# --------
# The eye travels around the sphere meanwhile.

if OPTIONS.out is not None:
    shown = np.searchsorted(run.t, film)
    print(sphere_movie(OPTIONS.out / "sphere.gif", run.t[shown], run.x[shown]).stat().st_size, "bytes")
