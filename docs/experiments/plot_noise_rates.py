r"""
Rates of common noise
=====================

What theorems say about tokens in common noise, measured with error bars: how fast clouds of N tokens approach
their random limit, how the mean of the dissipation energy decays below its certified bound, and how fast
networks approach the equation.

``python docs/experiments/plot_noise_rates.py --size paper`` has more tokens and more paths.
"""

import numpy as np
from measure import keep, read_options, slope

import symflow
from symflow.claims.abgsr26.chaos import RATES, cloud_distances
from symflow.claims.abgsr26.network import coupled_errors
from symflow.energies import Dissipation
from symflow.plot import Band, Points, band_grid, fits

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"

# %%
# Conditional propagation of chaos
# --------------------------------
# Two independent clouds of N uniform tokens see one noise. The theorem bounds the mean of the squared
# distance of a cloud to its limit given the noise by :math:`CN^{-1/2}` for d < 4, with a factor log N for
# d = 4, and :math:`CN^{-2/d}` beyond. That of two clouds is at most four times as large. Steeper slopes are
# no contradiction: the sphere has dimension d − 1.

COUNTS = 2 ** np.arange(4, 10 if PAPER else 8)
PATHS = 400 if PAPER else 64
chaos: dict[str, Points] = {}
rates: dict[int, tuple[float, float]] = {}
for d, bound in RATES.items():
    found = cloud_distances(d, COUNTS.tolist(), paths=PATHS, time=1.0, dt=0.1, seed=1)
    mean, error = found.mean(axis=1), found.std(axis=1) / np.sqrt(PATHS)
    rate, uncertainty, intercept = slope(np.log(COUNTS), np.log(mean), error / mean)
    rates[d] = rate, uncertainty
    line = COUNTS.astype(float), np.exp(intercept) * COUNTS.astype(float) ** rate
    text = rf"$d = {d}$: $N^{{{rate:.2f} \pm {uncertainty:.2f}}}$, bound $N^{{{bound:.2f}}}$"
    chaos[text] = Points(COUNTS.astype(float), mean, mean - error, mean + error, line)
    print(f"d = {d}: E W₂² of order N^({rate:.3f} ± {uncertainty:.3f}), the theorem allows {bound:.3f}")
chaos_figure = fits({"": chaos}, "$N$", r"$E\,W_2^2$", scales=("log", "log"))
keep(chaos_figure, OPTIONS, "noise_chaos")

# %%
# The energy decays in mean
# -------------------------
# :math:`E[\mathcal E(t)] \le e^{\bar\lambda't}\mathcal E(0)` without attention, and with attention that
# does not increase the energy by itself. The rate is the midpoint of a ball of radius below 1e-10.

TIMES = np.linspace(0.0, 6.0, 25)
ENERGY = Dissipation(1)
panels: dict[str, dict[str, Band]] = {}
margins: dict[str, float] = {}
for name, size in (("relu", 16), ("tanh", 16), ("sigmoid", 5)):
    noise = symflow.CommonNoise(name, 0.1, 0.1, dim=size)
    start = np.random.default_rng(size).normal(size=(16, size))
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    bound = float(noise.rate(1))
    title = rf"{name}, $d = {size}$: $\bar\lambda' = {bound:.4f}$"
    panels[title] = {
        r"$e^{\bar\lambda't}$": Band(TIMES, np.exp(bound * TIMES), colour=1, dash=1),
    }
    for order, factor in ((0, 0), (2, 1)):
        run = symflow.ensemble(
            symflow.Softmax(space="sphere", sign=factor), start, {}, (0.0, TIMES[-1]), t_eval=TIMES,
            noise=noise, dt=0.05, rng=5, paths=2000 if PAPER else 100,
        )  # fmt: skip
        energy = np.array([ENERGY.value(x) for x in run.x]) / ENERGY.value(start)
        mean, error = energy.mean(axis=0), energy.std(axis=0) / np.sqrt(len(energy))
        panels[title][f"attention with factor {factor}"] = Band(
            TIMES, mean, mean - 2 * error, mean + 2 * error, order, 2 * factor
        )
        margins[f"{name}, factor {factor}"] = float((mean - 3 * error - np.exp(bound * TIMES))[1:].max())
        print(
            f"{name}, d = {size}, factor {factor}: energy at t = {TIMES[-1]:g} {mean[-1]:.4f} ± "
            f"{error[-1]:.4f}, bound {np.exp(bound * TIMES[-1]):.4f}"
        )
decay_figure = band_grid({"": panels}, r"$E[\mathcal{E}(t)]/\mathcal{E}(0)$")
keep(decay_figure, OPTIONS, "noise_decay")

# %%
# Networks and their limit
# ------------------------
# The network and the equation with common noise are coupled layer by layer: both fields at the tokens of the
# network by the optimal map between their covariances, the limit at its own tokens given that. The theorem
# bounds :math:`E\sup|X - \bar X|^2` by a multiple of :math:`\log L/L + 1/m`.

SIZES = {"n": 8, "time": 1.0, "paths": 400 if PAPER else 48}
WIDTHS, DEPTHS = 2 ** np.arange(3, 11 if PAPER else 9, 2), 2 ** np.arange(2, 8 if PAPER else 6)
FINE = int(2 * DEPTHS[-1])
coupled = {
    "width m, infinitely wide limit": (
        WIDTHS,
        coupled_errors([(8, m) for m in WIDTHS.tolist()], SIZES, 3, lambda _: {"substeps": None}),
    ),
    "depth L, infinitely wide": (
        DEPTHS,
        coupled_errors(
            [(depth, 1) for depth in DEPTHS.tolist()],
            SIZES,
            3,
            lambda depth: {"substeps": FINE // depth, "infinite": True},
        ),
    ),
}
groups = {}
couplings: dict[str, tuple[float, float]] = {}
for name, (sizes, errors) in coupled.items():
    mean, error = errors.mean(axis=1), errors.std(axis=1) / np.sqrt(errors.shape[1])
    rate, uncertainty, intercept = slope(np.log(sizes), np.log(mean), error / mean)
    couplings[name] = rate, uncertainty
    line = sizes.astype(float), np.exp(intercept) * sizes.astype(float) ** rate
    text = rf"{name}: exponent ${rate:.2f} \pm {uncertainty:.2f}$"
    groups[text] = Points(sizes.astype(float), mean, mean - error, mean + error, line)
    print(f"{name}: E sup |X − X̄|² with the exponent {rate:.3f} ± {uncertainty:.3f}")
coupling_figure = fits({"": groups}, "$m$ or $L$", r"$E\,\sup|X - \bar{X}|^2$", scales=("log", "log"))
keep(coupling_figure, OPTIONS, "noise_coupling")
