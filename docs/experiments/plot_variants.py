r"""
One start, many mechanisms
==========================

Softmax, ℓ2, linear and Sinkhorn attention with the same Q, K, V from the same law; linear attention under
a causal mask, with and without an attention sink; and noise, which replaces collapse by a steady state.
"""

import numpy as np
from measure import keep, read_options

import symflow
from symflow.plot import CovariancePath, curves, eigenvalues

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
POSITIONS = 64 if PAPER else 12
times = np.linspace(0, 20, 401 if PAPER else 81)

# %%
# The same start
# --------------
# With K = −Q and V = I all four contract to a point, like 1/t: in the end ℓ2 attention twice as fast as
# softmax, since its exponent −\|Qx − Ky\|² holds 2⟨Qx, Ky⟩, and Sinkhorn attention like softmax, but
# slower where Σ is large. Linear attention hears the mean, too, which here is far from the origin.

Q = np.array([[0.8, 0.3], [-0.2, 0.5]])
start = symflow.Gaussian([1.0, -0.5], [[2.0, 0.5], [0.5, 1.0]])
models = {m.title: m for m in (symflow.Softmax(), symflow.L2(), symflow.Linear(), symflow.Sinkhorn())}


def run(model, sign: float, end: float = 20.0) -> symflow.Trajectory:
    """Integrate with K = sign · Q and V = I."""
    params = {"Q": Q, "K": sign * Q, "V": np.eye(2)}
    return symflow.solve(model, start, params, (0, end), t_eval=times * (end / 20))


attracted = {title: run(model, -1.0) for title, model in models.items()}
repelled = {title: run(model, 1.0, 4.0) for title, model in models.items()}
for title in models:
    one, other = attracted[title], repelled[title]
    star = "" if other.t_star is None else f" at t* = {other.t_star:.6f}"
    print(
        f"{title:>20}: K = -Q {one.status}, tr Σ(20) = {np.trace(one.cov[-1]):.5f}; K = Q "
        f"{other.status}{star}"
    )

# %%
# With K = Q the same four part ways: softmax and linear attention blow up in finite time, linear first;
# ℓ2 and Sinkhorn grow at most exponentially (``CACP25/l2-no-blow-up``, and the bound of ``long_time``).

traces = {
    name: {title: (r.t, np.trace(r.cov, axis1=1, axis2=2)) for title, r in group.items()}
    for name, group in (("$K = -Q$", attracted), ("$K = Q$", repelled))
}
variants_figure = curves(traces, r"$\mathrm{tr}\,\Sigma$", shared=False)
variants_figure.axes[1].set_ylim(1, 1e4)
keep(variants_figure, OPTIONS, "variants")
paths = [CovariancePath(title, r.t, r.cov) for title, r in attracted.items()]
spectra_figure = eigenvalues(paths)
keep(spectra_figure, OPTIONS, "variants_eigenvalues")

# %%
# Along positions
# ---------------
# Under a causal mask the token at position s hears positions τ ≤ s only: late positions hear more and
# contract faster. A sink at the first position gives every position something to hear: with it the first
# ones contract, too.

n = POSITIONS
chain = symflow.Gaussian(np.tile([1.0, -0.5], (n, 1)), np.tile(start.cov, (n, 1, 1)))
params = {"Q": Q, "K": -Q, "V": np.eye(2)}
places = np.arange(1, n + 1) / n
masked: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
for sink in (0, 0.5):
    run_of_chain = symflow.solve(
        symflow.Masked(symflow.Linear(), sink=sink), chain, params, (0, 10), t_eval=[0, 1, 3, 10]
    )
    spread = np.trace(run_of_chain.cov, axis1=2, axis2=3)
    masked[f"sink = {sink}"] = {
        f"t = {t:g}": (places, row) for t, row in zip(run_of_chain.t, spread, strict=True)
    }
    print(f"sink = {sink}: tr Σ at t = 10, first position {spread[-1, 0]:.4f}, last {spread[-1, -1]:.4f}")
masked_figure = curves(masked, r"$\mathrm{tr}\,\Sigma_s$", abscissa="position $s$")
keep(masked_figure, OPTIONS, "masked")

# %%
# Noise
# -----
# With noise √(2ε)dW the covariance tends to a steady state of full rank, which ``long_time`` gives
# exactly; the distance to it decays exponentially, the faster the more noise.

noisy: dict[str, tuple[np.ndarray, np.ndarray]] = {}
for epsilon in (0.01, 0.1, 1.0):
    model = symflow.Softmax(diffusion=epsilon)
    law, numbers = symflow.Gaussian([0.0, 0.0], start.cov), {"A": -np.eye(2), "V": np.eye(2)}
    steady = np.array(symflow.long_time(model, law, numbers).steady_state, float)
    r = symflow.solve(model, law, numbers, (0, 20), t_eval=times)
    distance = np.linalg.norm(r.cov - steady, axis=(1, 2))
    shown = distance > 1e-9  # below it the tolerance of the run is seen
    noisy[rf"$\varepsilon = {epsilon:g}$"] = (r.t[shown], distance[shown])
    print(f"ε = {epsilon:g}: steady state {steady.round(6).tolist()}, distance at the end {distance[-1]:.1e}")
noise_figure = curves({"": noisy}, r"$\|\Sigma - \Sigma_\infty\|$")
keep(noise_figure, OPTIONS, "noise")
