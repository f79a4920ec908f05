r"""
Energies along geodesics
========================

The energy :math:`F(\mu) = \frac12\iint e^{\langle Ax,y\rangle}d\mu\,d\mu` of softmax attention is not convex
along geodesics, neither of W₂ nor of the twisted metric, in which attention with V = I and A = −I is its
gradient flow. Along a geodesic of that metric the second derivative per unit speed is :math:`|x|^2 - 1` on
one token and :math:`3s/(1-s^2)` on centred Gaussian laws of variance s.

``python docs/experiments/plot_landscapes.py --size paper`` draws finer curves.
"""

from typing import Any

import numpy as np
from measure import keep, read_options

import symflow
from symflow import Gaussian, second_variation
from symflow.curvature.geodesics import geodesic, second_along
from symflow.energies import Exponential
from symflow.plot import Landscape, Predicted, beside_prediction, landscapes

OPTIONS = read_options()
POINTS = 121 if OPTIONS.size == "paper" else 25

# %%
# The verdicts
# ------------

verdicts = {name: symflow.check(f"CACP25/{name}") for name in ("non-convexity", "no-upper-bound")}
for name, verdict in verdicts.items():
    print(f"{name}: {verdict.status}, {verdict.scope}")

# %%
# Along geodesics
# ---------------
# Tokens move on straight lines, or along geodesics of the twisted metric; a Gaussian law moves in its mean or
# in its variance. A band lies under a curve where the energy is not convex.

energy, V = Exponential([[-1.0]], [[1.0]]), [[1.0]]


def landscape(name: str, metric: str, start: tuple[Any, Any], end: float, matrix: Any = None) -> Landscape:
    """Return the energy along a geodesic for |t| ≤ end, and its second derivative."""
    path = geodesic(energy, metric, *start, np.linspace(-end, end, POINTS), V=matrix)
    return Landscape(name, path.t, path.energy, second_along(energy, metric, path, V=matrix))


clouds = {
    "one token": ([[0.0]], [[1.0]]),
    "two, apart": ([[0.2], [-0.2]], [[1.0], [-1.0]]),
    "two, together": ([[0.4], [-0.4]], [[1.0], [1.0]]),
}
law = Gaussian([0.0], [[0.3]])
laws = {"mean": (law, ([1.0], [[0.0]])), "variance": (law, ([0.0], [[0.3]]))}
panels = {
    "$W_2$, tokens": [landscape(name, "wasserstein", start, 0.9) for name, start in clouds.items()],
    "twisted, tokens": [landscape(name, "twisted", start, 1.0, V) for name, start in clouds.items()],
    "Bures, Gaussian law": [landscape(name, "bures", start, 0.9) for name, start in laws.items()],
}
landscape_figure = landscapes(panels)
keep(landscape_figure, OPTIONS, "landscapes")

# %%
# Differences of the energy
# -------------------------
# The second variation at a law does not know the curve. Second differences of the energy along it are off by
# a twelfth of h²F'''', which is the second difference of the second variation.

shares = {}
for title, lines in panels.items():
    for line in lines:
        step = line.t[1] - line.t[0]
        off = np.abs(np.diff(line.energy, 2) / step**2 - line.second[1:-1]).max()
        share = shares[f"{title}, {line.label}"] = float(off / np.abs(np.diff(line.second, 2)).max())
        print(f"{title}, {line.label}: off by {off:.1e}, 1/{1 / share:.2f} of the second difference")

# %%
# Per unit speed
# --------------
# Tokens in random directions of d-dimensional space, and Gaussian laws on the line.

rng = np.random.default_rng(0)
on_tokens, radii = [], np.linspace(0.0, 2.0, 101)
for d, shift in ((1, 0.0), (2, 0.05), (3, 0.1)):
    score = Exponential(-np.eye(d), np.eye(d))
    places, values = np.arange(0.1, 1.95, 0.15) + shift, []
    for radius in places:
        x, v = rng.normal(size=(2, 1, d))
        form = second_variation(score, "twisted", radius * x / np.linalg.norm(x), V=np.eye(d))
        values.append(form.form(v) / form.metric(v))
    nothing = np.array([])
    curve = (radii, radii**2 - 1) if d == 1 else (nothing, nothing)
    on_tokens.append(Predicted("$|x|^2 - 1$" if d == 1 else f"$d = {d}$", curve, (places, np.array(values))))

variances, dots = np.linspace(0.0, 0.9, 91), np.linspace(0.1, 0.85, 6)
forms = [second_variation(energy, "twisted", Gaussian([0.0], [[s]]), V=V) for s in dots]
values = np.array([form.form([[1.0]]) / form.metric([[1.0]]) for form in forms])
on_laws = [Predicted("$3s/(1-s^2)$", (variances, 3 * variances / (1 - variances**2)), (dots, values))]

speed_figure = beside_prediction(
    {"one token in $d = 1, 2, 3$": on_tokens, "centred Gaussian law": on_laws},
    "",
    "$d^2F/dt^2$ per unit speed",
    shared=False,
    measured="second variation",
)
for axes, name in zip(speed_figure.axes, ("$|x|$", "variance $s$"), strict=True):
    axes.set_xlabel(name)
keep(speed_figure, OPTIONS, "landscapes_speed")
