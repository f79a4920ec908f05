r"""
To zero, to a line, to a plane, two lines, blow-up, both
========================================================

What becomes of a Gaussian law under softmax attention, from the spec files of ``examples/``: as
trajectories in the cone of positive semidefinite matrices, as ellipses at one standard deviation, and as
eigenvalues over time.

``python docs/experiments/plot_regimes.py --size paper`` starts from more laws.
"""

from dataclasses import replace

import numpy as np
from measure import example, keep, laws_of_unit_trace, read_options

import symflow
from symflow.plot import CovariancePath, cone, eigenvalues, ellipses

OPTIONS = read_options()
SIDE = 11 if OPTIONS.size == "paper" else 5
TITLES = {
    "softmax-zero": "to zero",
    "softmax-line": "to a line",
    "softmax-plane": "to a plane",
    "softmax-two-lines": "two lines",
    "softmax-blow-up": "blow-up",
    "softmax-both": "both",
}
specs = {title: example(name) for name, title in TITLES.items()}

# %%
# What is proved
# --------------
# ``long_time`` decides in exact or ball arithmetic what it can, and says what it cannot.

known = {t: symflow.long_time(s.model, s.initial, s.parameters) for t, s in specs.items()}
for title, found in known.items():
    print(f"{title:>9}: {found}")

# %%
# The runs
# --------


def path(title: str) -> CovariancePath:
    """Integrate a spec and return the run with what is proved about it."""
    spec, found = specs[title], known[title]
    trajectory = symflow.solve(
        spec.model, spec.initial, spec.parameters, spec.t_span, t_eval=spec.t_eval, **spec.solver
    )
    limit = None if found.limit is None else np.array(found.limit, float)
    star = None if found.blow_up_time is None else float(found.blow_up_time)
    return CovariancePath(title, trajectory.t, trajectory.cov, trajectory.mean, limit, star)


paths = {title: path(title) for title in specs}
plane = [title for title, spec in specs.items() if spec.initial.dim == 2]

# %%
# In the cone
# -----------
# Laws of trace one in the plane. The axis of the cone is a multiple of the identity, its boundary is rank
# one. Colours only tell the starts apart.


def every_step(spec, cov: np.ndarray) -> CovariancePath:
    """Integrate a spec from another law, until t = 20 or the blow-up."""
    trajectory = symflow.solve(spec.model, symflow.Gaussian([0, 0], cov), spec.parameters, (0, 20))
    return CovariancePath("", trajectory.t, trajectory.cov)


laws = laws_of_unit_trace(SIDE)
correlated = laws[abs(laws[:, 0, 1]) > 0.2]  # others reach an attracting line far above the picture
flock = {
    title: [every_step(specs[title], cov) for cov in (correlated if title in ("two lines", "both") else laws)]
    for title in plane
}
cone_figure = cone(flock, columns=3)
keep(cone_figure, OPTIONS, "cone")

# %%
# As ellipses
# -----------
# Until the law has all but arrived: an attracting line is reached long before the end of the run.


def until_it_rests(path: CovariancePath) -> CovariancePath:
    """Cut a path where one per cent of its way is left."""
    left = np.linalg.norm(path.cov - path.cov[-1], axis=(1, 2))
    count = int(np.argmax(left <= 0.01 * left[0])) + 1
    return replace(path, t=path.t[:count], cov=path.cov[:count], mean=path.mean[:count])


ellipse_figure = ellipses([until_it_rests(paths[title]) for title in plane])
keep(ellipse_figure, OPTIONS, "ellipses")

# %%
# As eigenvalues
# --------------
# An eigenvalue that is off the limit decays like 1/t where V = I, and exponentially where a line
# attracts. At every finite time the rank is that of the start.

spectra_figure = eigenvalues(list(paths.values()))
keep(spectra_figure, OPTIONS, "eigenvalues")
