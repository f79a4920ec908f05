r"""
Tokens in deep transformers with random layers
==============================================

Attention with factor 1, 0 or −1, and a random perceptron in every layer: mean cosine of the tokens, and the
energy :math:`E_\beta = \frac12\iint(e^\beta - e^{\beta\langle x,y\rangle})\,d\mu\,d\mu`, for four activations
and for attention alone, with and without biases, in several dimensions. Where the field has a mean direction,
as for the sigmoid, noise alone makes all tokens meet, even against repulsion.

``python docs/experiments/plot_random_layers.py --size paper`` has the sizes of the reference experiments: 64
tokens, 150 layers, T = 5, dimensions 5, 64 and 128.
"""

import numpy as np
from measure import changed, example, keep, read_options

import symflow
from symflow.plot import Band, band_grid

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
SPEC = example("random-layers")
if not PAPER:
    SPEC = changed(SPEC, {"network": {"layers": 40, "width": 64}, "initial": {"n": 16}})
HORIZON, BETA, PATHS = SPEC.network.horizon, float(SPEC.model.beta), 8 if PAPER else 4
SIZES = (5, 64, 128) if PAPER else (5, 16)
BIASES, FACTORS = (0.0, 0.1), (1, 0, -1)
ACTIVATIONS = ("relu", "silu", "sigmoid", "tanh", None)

# %%
# The runs
# --------
# Every panel starts from the same uniform tokens. Attention alone is the flow without noise.


def starts(d: int) -> np.ndarray:
    """Return uniform tokens, one cloud per path."""
    law = changed(SPEC, {"initial": {"d": d}}).tokens
    return np.array([law.draw(seed) for seed in range(PATHS)])


def run(activation: str | None, bias: float, factor: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times and tokens (paths, T, n, d)."""
    times = np.linspace(0.0, HORIZON, 26)
    spec = changed(SPEC, {"model": {"sign": factor}, "initial": {"d": d}})
    if activation is None:
        found = symflow.ensemble(spec.model, starts(d), {}, (0.0, HORIZON), t_eval=times)
    else:
        layer = {"activation": activation, "sigma_w": bias, "sigma_u": bias}
        network = changed(spec, {"noise": layer}).deep_transformer()
        found = network.run(starts(d), rng=SPEC.noise.seed, paths=PATHS, t_eval=times)
    return found.t, found.x


def bands(values: np.ndarray, t: np.ndarray, colour: int, dash: int) -> Band:
    """Return the mean over paths, and the smallest and the largest."""
    return Band(t, values.mean(axis=0), values.min(axis=0), values.max(axis=0), colour, dash)


cosines: dict[str, dict[str, dict[str, Band]]] = {}
energies: dict[str, dict[str, dict[str, Band]]] = {}
last: dict[tuple[str | None, float, int, int], float] = {}
for d in SIZES:
    for panels in (cosines, energies):
        panels[f"$d = {d}$"] = {}
    for activation in ACTIVATIONS:
        title = activation or "attention alone"
        for panels in (cosines, energies):
            panels[f"$d = {d}$"][title] = {}
        for order, factor in enumerate(FACTORS):
            for dash, bias in enumerate(BIASES if activation else (0.0,)):
                t, x = run(activation, bias, factor, d)
                gram = x @ np.swapaxes(x, -1, -2)
                pairs = gram[..., ~np.eye(gram.shape[-1], dtype=bool)]
                energy = 0.5 * (np.exp(BETA) - np.exp(BETA * gram)).mean(axis=(-1, -2))
                name = rf"factor ${factor}$, $\sigma = {bias:g}$"
                cosines[f"$d = {d}$"][title][name] = bands(pairs.mean(axis=-1), t, order, dash)
                energies[f"$d = {d}$"][title][name] = bands(energy / energy[:, :1], t, order, dash)
                last[activation, bias, factor, d] = float(pairs[:, -1].mean())
    print(f"d = {d}: mean cosine at t = {HORIZON:g} with factor 1, 0, -1")
    for activation in ACTIVATIONS:
        for bias in BIASES if activation else (0.0,):
            row = ", ".join(f"{last[activation, bias, factor, d]:.3f}" for factor in FACTORS)
            print(f"    {activation or 'attention alone':>15}, σ = {bias:g}: {row}")

# %%
# Cosines
# -------
# The mean over all pairs; bands reach from the smallest to the largest mean of a path.

cosine_figure = band_grid(cosines, "mean cosine")
keep(cosine_figure, OPTIONS, "random_layers_cosines")

# %%
# Energies
# --------
# Relative to their start. The energy is small exactly where all tokens are close to each other.

energy_figure = band_grid(energies, "energy")
keep(energy_figure, OPTIONS, "random_layers_energy")
