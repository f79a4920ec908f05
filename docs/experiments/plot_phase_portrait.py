r"""
Phase portraits
===============

Every covariance of trace one in the plane is a point of the disc: its centre is a multiple of the
identity, its circle is rank one. Each law of a grid is integrated, all of them at once, and marked by its
fate: zero, a line, the plane, or blow-up. A line rises or falls with the sign of the correlation that is
left. Where an exact criterion decides the fate, it agrees with the run.

``python docs/experiments/plot_phase_portrait.py --size paper`` uses a finer grid.
"""

from collections import Counter

import numpy as np
from measure import example, fates, keep, laws_of_unit_trace, read_options

import symflow
from symflow.plot import Portrait, phase_portrait

OPTIONS = read_options()
SIDE = 40 if OPTIONS.size == "paper" else 13
PROBES = 24 if OPTIONS.size == "paper" else 4

# %%
# The models
# ----------
# One regime per panel. With V = I and A skew nothing moves, every law is a limit: the plane. The last two
# start on the circle, with rank one: a law Σ = uuᵀ grows, decays or rests with the sign of uᵀAu.

eye = np.eye(2)
models = {
    "negative definite: zero": {"V": eye, "A": -eye},
    "semidefinite: a line": {"V": eye, "A": np.array([[-1.0, 1.0], [1.0, -1.0]])},
    "skew: the plane": {"V": eye, "A": np.array([[0.0, 1.0], [-1.0, 0.0]])},
    "two lines": example("softmax-two-lines").parameters,
    "both": example("softmax-both").parameters,
    "positive definite: blow-up": {"V": eye, "A": np.array([[1.0, 0.5], [-0.5, 0.25]])},
}

# %%
# The fates
# ---------
# Decay by 1/t shows as a factor of ten between two times that differ by ten; an attracting line is
# reached exponentially. Laws nearer to rank one than 1 : 39 would need longer runs and are left out.

grid = laws_of_unit_trace(SIDE)
found = {title: fates(symflow.Softmax(), params, grid) for title, params in models.items()}
for title, names in found.items():
    print(f"{title:>27}: {dict(Counter(names))}")

# %%
# Against what is proved
# ----------------------
# A few laws of each panel, drawn at random, are decided by ``long_time`` in exact and ball arithmetic.

rng = np.random.default_rng(0)
agreed, open_cases = 0, 0
for title, params in models.items():
    for index in rng.choice(len(grid), PROBES, replace=False):
        proved = symflow.long_time(symflow.Softmax(), symflow.Gaussian([0, 0], grid[index]), params)
        if proved.blow_up_time is not None:
            fate = "blow-up"
        elif proved.limit_rank is not None:
            fate = ("zero", "line", "plane")[proved.limit_rank]
        else:
            open_cases += 1
            continue
        if not found[title][index].endswith(fate):
            raise SystemExit(f"{title}, law {index}: proved {fate}, run {found[title][index]}")
        agreed += 1
print(f"{agreed} laws agree with what is proved, {open_cases} are open")

# %%
# The picture
# -----------
# Trajectories from one or two columns of the grid are drawn through the disc, divided by their trace.

columns = [i for i, cov in enumerate(grid) if abs(abs(cov[0, 0] - cov[1, 1]) - 0.5) < 1 / SIDE][:: SIDE // 6]


def thread(params: dict[str, np.ndarray], cov: np.ndarray) -> np.ndarray:
    """Return one trajectory, at every step."""
    return symflow.solve(symflow.Softmax(), symflow.Gaussian([0, 0], cov), params, (0, 100)).cov


portraits = {
    title: Portrait(grid, found[title], [thread(params, grid[i]) for i in columns])
    for title, params in models.items()
}
portrait_figure = phase_portrait(portraits)
keep(portrait_figure, OPTIONS, "phase_portrait")
