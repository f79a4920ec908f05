r"""
How long clusters last
======================

Clusters merge in times that grow like :math:`e^{c\beta}`. For two of them at the angle :math:`\varphi` the
exponent is :math:`c = 1 - \cos\varphi`: the weight of the other cluster is :math:`e^{-\beta(1-\cos\varphi)}`
times the own one. From uniform starts the angles are random, and the median of the time at which all tokens
are one cluster has an exponent in between.

``python docs/experiments/plot_merge_times.py --size paper --out figures`` makes 512 runs for each of nine
values of :math:`\beta`.
"""

import numpy as np
from measure import keep, read_options, slope, swept

import symflow
from symflow.clustering import equiangular_flow
from symflow.plot import Points, fits

OPTIONS = read_options()
LEVEL, FROM = 0.999, 1.5
SMALL = {
    "time": {"t_span": [0, 3000], "t_eval": np.geomspace(1, 3000, 40).tolist()},
    "sweep": {"model.beta": {"linspace": [1, 4, 5]}, "initial.seed": {"range": 12}},
}

# %%
# Uniform starts
# --------------
# Runs that have not merged at the end count as infinite: the median does not notice while they are fewer than
# half. The standard error of the exponent is that of resampled starts. For small β all tokens meet at once.

found = swept("merge-times", OPTIONS, SMALL)
last = found.merge_time.transpose("beta", "seed").values
betas = found.beta.values
median, quartiles = np.median(last, axis=1), np.quantile(last, [0.25, 0.75], axis=1, method="nearest")
fitted = (betas >= FROM) & np.isfinite(median)
exponent, _, intercept = slope(betas[fitted], np.log(median[fitted]))
rng = np.random.default_rng(0)
starts = rng.integers(0, last.shape[1], size=(400, last.shape[1]))
resampled = np.median(last[fitted][:, starts], axis=-1)
resampled = np.log(resampled[:, np.isfinite(resampled).all(axis=0)])
uncertainty = float(np.polyfit(betas[fitted], resampled, 1)[0].std())
print(f"median of the last merge: exponent {exponent:.2f} ± {uncertainty:.2f}")
print(f"not merged at the end: {np.isinf(last).mean(axis=1).round(2).tolist()}")

# %%
# Two clusters at an angle
# ------------------------
# Two tokens stand for two clusters of equal size. The time T of their merging is compared with a quadrature
# of the equation of the cosine. By Laplace's method it grows like
# :math:`e^{(1 - \cos\varphi)\beta}/\beta`: the exponent is that of βT. The runs are long and slow, and
# explicit steps would be short for all that: the method is implicit.


def together(t: float, x: np.ndarray) -> float:
    """Return by how much the cosine of two tokens exceeds the level."""
    return float(x[0] @ x[1]) - LEVEL


together.terminal = True
tight = {"method": "bdf", "rtol": 1e-8, "atol": 1e-10}
scales = np.arange(6.0, 13.0 if OPTIONS.size == "paper" else 10.0)
pairs: dict[str, Points] = {}
exponents: dict[float, float] = {}
deviation = 0.0
for text, angle in ((r"\pi/2", np.pi / 2), (r"2\pi/3", 2 * np.pi / 3), (r"5\pi/6", 5 * np.pi / 6)):
    start = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    exact, measured = np.zeros((2, len(scales)))
    for i, beta in enumerate(scales.tolist()):
        model = symflow.Softmax(space="sphere", beta=beta)
        exact[i] = equiangular_flow(model).hitting_time(LEVEL, 2, start=float(np.cos(angle)))
        run = symflow.solve(model, start, {}, (0, 2 * exact[i]), events=together, **tight)
        measured[i] = run.t_events[0][0]
    deviation = max(deviation, float(np.abs(measured / exact - 1).max()))
    limit = 1 - float(np.cos(angle))
    exponents[limit] = slope(scales, np.log(scales * measured))[0]
    pairs[rf"$\varphi = {text}$: ${exponents[limit]:.2f}$, $1-\cos\varphi = {limit:.2f}$"] = Points(
        scales, measured, line=(scales, exact)
    )
    print(f"φ = {np.degrees(angle):.0f}°: exponent {exponents[limit]:.3f}, 1 - cos φ = {limit:.3f}")
print(f"largest deviation from the quadrature: {deviation:.1e}")

# %%
# On a logarithmic scale
# ----------------------
# Left: medians and quartiles, with the fitted line. Right: two clusters, with the quadrature as lines.

upper = np.where(np.isfinite(quartiles[1]), quartiles[1], median)
shown = np.isfinite(median)
line = betas[fitted], np.exp(intercept + exponent * betas[fitted])
groups = {
    rf"median: exponent ${exponent:.2f} \pm {uncertainty:.2f}$": Points(
        betas[shown], median[shown], quartiles[0][shown], upper[shown], line
    )
}
merge_figure = fits(
    {"32 uniform tokens": groups, "two clusters, exponents of $\\beta T$": pairs},
    r"$\beta$",
    "time of the last merge",
    shared=False,
)
keep(merge_figure, OPTIONS, "merge_times")
