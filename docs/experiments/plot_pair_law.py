r"""
Two tokens in common noise
==========================

Without attention the cosine u of two tokens is a diffusion on [−1, 1] with the derived generator
:math:`Lf = G_0f' + G_1f''`. Its law is computed twice: by moving tokens, and by the Fokker–Planck equation.
Where the field is odd (tanh without bias) two tokens end as x and x, or as x and −x; a bias leaves only the
former.

``python docs/experiments/plot_pair_law.py --size paper`` has more paths.
"""

import numpy as np
from measure import keep, read_options

import symflow
from symflow.noise.fokker_planck import pair_law
from symflow.noise.pair import pair_paths
from symflow.plot import Law, Points, fits, laws

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
PATHS = 100_000 if PAPER else 2000
STEP = 0.01 if PAPER else 0.05
SIZE, START = 3, -0.3

# %%
# The law over time
# -----------------
# The logit :math:`s = \log\frac{1+u}{1-u}` shows both ends: tokens that meet go to the right with the speed
# :math:`-2\lambda_1`.

fields = {
    "ReLU": symflow.CommonNoise("relu", dim=SIZE),
    "tanh": symflow.CommonNoise("tanh", dim=SIZE),
    r"tanh, $\sigma = 0.1$": symflow.CommonNoise("tanh", 0.1, 0.1, dim=SIZE),
}
times = np.array([2.0, 8.0, 20.0])
shown: dict[str, dict[str, Law]] = {}
gaps: dict[str, float] = {}
for name, field in fields.items():
    paths = pair_paths(field, START, times, dt=STEP, paths=PATHS, rng=1)
    law = pair_law(field, START, times)
    s = np.log((1 + law.centres[1:-1]) / (1 - law.centres[1:-1]))
    width = np.diff(np.log1p(law.edges[1:-1]) - np.log1p(-law.edges[1:-1]))
    logits = -2 * np.log(np.tan(paths.angle / 2))
    shown[name] = {
        f"$t = {t:g}$": Law(logits[:, k], s, law.mass[k, 1:-1] / width) for k, t in enumerate(times)
    }
    levels = np.linspace(-0.95, 0.95, 39)
    share = (paths.u[:, :, None] <= levels).mean(axis=0)
    gaps[name] = float(np.abs(share - law.cdf(levels)).max())
    error = paths.u.std(axis=0) / np.sqrt(PATHS)
    for k, t in enumerate(times):
        print(
            f"{name}, t = {t:g}: mean cosine {paths.u[:, k].mean():.4f} ± {error[k]:.4f} by paths, "
            f"{law.mean()[k]:.4f} by the equation"
        )
law_figure = laws(shown, r"$s = \log\frac{1+u}{1-u}$", span=(-12.0, 12.0))
keep(law_figure, OPTIONS, "pair_law")

# %%
# Who meets whom
# --------------
# For an odd field with a negative Lyapunov exponent the probability that two tokens meet, rather than become
# opposite, is a quotient of integrals of the scale function of u; for linear layers in the plane it is
# :math:`1 - \theta_0/\pi`.

starts = np.linspace(-0.9, 0.9, 7)
groups: dict[str, Points] = {}
for name, field in {
    "tanh, d = 3": fields["tanh"],
    "linear, d = 2": symflow.CommonNoise("linear", dim=2),
}.items():
    found = [
        pair_paths(field, u, [60.0], dt=STEP * 2, paths=PATHS // 2, rng=seed).u[:, -1]
        for seed, u in enumerate(starts.tolist())
    ]
    share = np.array([(u > 0).mean() for u in found])
    error = np.sqrt(share * (1 - share) / (PATHS // 2))
    grid = np.linspace(-0.99, 0.99, 81 if PAPER else 15)
    exact = np.array([float(field.sync_probability(u)) for u in grid.tolist()])
    groups[name] = Points(starts, share, share - error, share + error, (grid, exact))
    worst = np.abs(share - [float(field.sync_probability(u)) for u in starts.tolist()]) / error
    print(f"{name}: largest difference {worst.max():.1f} standard errors")
sync_figure = fits({"": groups}, "$u_0$", "probability of meeting", scales=("linear", "linear"))
keep(sync_figure, OPTIONS, "synchronisation")
