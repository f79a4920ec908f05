r"""
The instability of the uniform law
==================================

On the circle a small ripple of the uniform law with k waves grows like :math:`e^{\lambda_k t}`. The rates
are derived from the flow of tokens by the Funk–Hecke formula, for softmax attention
:math:`\lambda_k = \frac{k^2}{\beta}\frac{I_k(\beta)}{I_0(\beta)}`, and compared with the growth of the k-th
Fourier mode of evenly spaced tokens that are displaced a little.

``python docs/experiments/plot_instability.py --size paper`` takes more modes and other attention.
"""

import numpy as np
from measure import keep, read_options, slope

import symflow
from symflow.clustering import uniform_instability
from symflow.plot import Points, fits

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
MODES = range(1, 13) if PAPER else range(1, 9)
TOKENS, RIPPLE = (512 if PAPER else 128), 1e-6
SCALES = (1, 4, 9)
kinds = {"softmax": symflow.Softmax, "unnormalised": symflow.Unnormalised}

# %%
# What is derived
# ---------------
# The growth rate in every dimension.

print(uniform_instability(symflow.Softmax(space="sphere", beta=4)).to_latex())

# %%
# What is measured
# ----------------
# Time ends before the fastest mode, which rounding excites, has grown by e⁸.

even = 2 * np.pi * np.arange(TOKENS) / TOKENS


def growth(model: symflow.Softmax, k: int, rate: float, fastest: float) -> tuple[float, float]:
    """Return the slope of the logarithm of mode k with its standard error."""
    angles = even + RIPPLE * np.sin(k * even)
    start = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    times = np.linspace(0, min(3 / rate, 8 / fastest), 21)
    run = symflow.solve(model, start, {}, (0, times[-1]), t_eval=times, rtol=1e-10, atol=1e-13)
    turned = np.exp(1j * k * np.arctan2(run.x[..., 1], run.x[..., 0])).mean(axis=1)
    found, error, _ = slope(times, np.log(np.abs(turned)))
    return found, error


panels: dict[str, dict[str, Points]] = {}
deviations: dict[str, float] = {}
for name, kind in kinds.items():
    groups: dict[str, Points] = {}
    for beta in SCALES:
        model = kind(space="sphere", beta=beta)
        spectrum = uniform_instability(model)
        exact = np.array([float(spectrum.rate(k, 2)) for k in MODES])
        measured = np.array(
            [growth(model, k, rate, exact.max()) for k, rate in zip(MODES, exact.tolist(), strict=True)]
        )
        waves = np.array(MODES, dtype=float)
        groups[rf"$\beta = {beta}$"] = Points(waves, measured[:, 0], line=(waves, exact))
        off = deviations[f"{name}, {beta}"] = float(np.abs(measured[:, 0] - exact).max() / exact.max())
        fastest = int(waves[np.argmax(exact)])
        print(f"{name}, β = {beta}: off by {off:.1e} of the largest rate; fastest mode k = {fastest}")
    panels[name] = groups

instability_figure = fits(panels, "number of waves $k$", r"growth rate $\lambda_k$", shared=False)
for axes in instability_figure.axes:
    axes.set_ylim(1e-6, None)
keep(instability_figure, OPTIONS, "instability")
