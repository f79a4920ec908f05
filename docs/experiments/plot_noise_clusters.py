r"""
Clusters made by noise alone
============================

2000 layers without attention, d = 4, T = 20: all tokens are moved by the same random perceptrons. ReLU
brings them together; tanh without biases is odd, so that tokens end at a point or at its antipode, which the
start decides only in probability.

``python docs/experiments/plot_noise_clusters.py --size paper`` has the width 2048 of the reference
experiment.
"""

import numpy as np
from measure import changed, example, keep, read_options

import symflow
from symflow.plot import Band, band_grid, cosine_clusters

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
SMALL: dict[str, dict[str, int]] = {} if PAPER else {"network": {"width": 64}, "initial": {"n": 32}}

# %%
# Two networks
# ------------
# Left: the share of pairs by their cosine, over time. Right: cosines of all pairs, tokens sorted by cluster.

runs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
ends: dict[str, np.ndarray] = {}
for name in ("relu", "tanh"):
    spec = changed(example(f"noise-clusters-{name}"), SMALL)
    network = spec.deep_transformer()
    times = np.linspace(0.0, network.horizon, 101)
    run = network.run(spec.initial, rng=spec.noise.seed, t_eval=times)
    gram = run.x @ np.swapaxes(run.x, -1, -2)
    pairs = gram[:, ~np.eye(gram.shape[-1], dtype=bool)]
    runs[name], ends[name] = (run.t, run.x), pairs[-1]
    print(
        f"{name}: at t = {run.t[-1]:g} the cosines of pairs lie between "
        f"{pairs[-1].min():.3f} and {pairs[-1].max():.3f}, the mean of |cos| is "
        f"{np.abs(pairs[-1]).mean():.4f}"
    )
cluster_figure = cosine_clusters(runs)
keep(cluster_figure, OPTIONS, "noise_clusters")

# %%
# How fast
# --------
# The logarithm of the distance of two tokens that are close falls with the Lyapunov exponent on average:
# means over paths of the equation with common noise, with twice their standard error.

PATHS = 4000 if PAPER else 400
CLOSE = 1e-4
pair = np.array([[1.0, 0.0, 0.0, 0.0], [np.cos(CLOSE), np.sin(CLOSE), 0.0, 0.0]])
panels: dict[str, dict[str, Band]] = {}
measured: dict[str, tuple[float, float, float]] = {}
times = np.linspace(0.0, 4.0, 9)
for name in ("relu", "tanh", "silu", "sigmoid"):
    noise = symflow.CommonNoise(name, dim=4)
    model = symflow.Softmax(space="sphere", sign=0)
    found = symflow.ensemble(
        model, pair, {}, (0.0, times[-1]), t_eval=times, noise=noise, dt=0.02, rng=3, paths=PATHS
    )
    distance = np.log(np.linalg.norm(found.x[:, :, 0] - found.x[:, :, 1], axis=-1) / CLOSE)
    mean, error = distance.mean(axis=0), distance.std(axis=0) / np.sqrt(PATHS)
    exponent = float(noise.lyapunov)
    panels[name] = {
        "measured": Band(times, mean, mean - 2 * error, mean + 2 * error),
        r"$\lambda_1t$": Band(times, exponent * times, colour=1, dash=1),
    }
    measured[name] = mean[-1] / times[-1], error[-1] / times[-1], exponent
    print(f"{name}: slope {measured[name][0]:.4f} ± {measured[name][1]:.4f}, λ₁ = {exponent:.4f}")
speed_figure = band_grid({"": panels}, r"$\log|x_1 - x_2|$")
keep(speed_figure, OPTIONS, "noise_clusters_speed")
