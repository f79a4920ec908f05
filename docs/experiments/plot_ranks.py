r"""
Limit ranks, and what clipping makes of them
============================================

For :math:`Q \in \mathbb{R}^{\lfloor d/2 \rfloor \times d}` drawn at random, :math:`K = -Q` and :math:`V =
I`, the covariance of softmax attention tends to a limit of rank exactly :math:`d - \lfloor d/2 \rfloor`.
An explicit Euler scheme with clipped eigenvalues reports other ranks, and for :math:`V \ne vI` it can
diverge where no solution does.

``python docs/experiments/plot_ranks.py --size paper`` draws a hundred times in each dimension.
"""

import numpy as np
from measure import clipped_euler, keep, read_options, settled_rank, spectrum

import symflow
from symflow.plot import curves, rank_histograms

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
DRAWS = 100 if PAPER else 10
DIMENSIONS = (3, 4, 5)
STEPS = (0.001, 0.01, 0.1) if PAPER else (0.01, 0.1)
LATE, STILL, VISIBLE = 1e6, 1e-3, 0.1
model = symflow.Softmax()

# %%
# The draws
# ---------
# Entries of Q and of a square root of Σ₀ are standard normal; the seed is the dimension.


def draw(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return queries (B, ⌊d/2⌋, d) and first covariances (B, d, d)."""
    rng = np.random.default_rng(d)
    Q, root = rng.normal(size=(DRAWS, d // 2, d)), rng.normal(size=(DRAWS, d, d))
    return Q, root @ np.swapaxes(root, 1, 2)


draws = {d: draw(d) for d in DIMENSIONS}

# %%
# The theorem
# -----------
# ``long_time`` reads the floating-point numbers as the rationals they are, so that the rank of the limit
# is decided and not estimated.

limits: dict[int, list[np.ndarray]] = {}
exact: dict[int, list[int]] = {}
for d, (Q, cov) in draws.items():
    found = [
        symflow.long_time(model, symflow.Gaussian(np.zeros(d), S), {"Q": q, "K": -q, "V": np.eye(d)})
        for q, S in zip(Q, cov, strict=True)
    ]
    exact[d] = [result.limit_rank for result in found]
    limits[d] = [np.array(result.limit, float) for result in found]
    print(f"d = {d}: criterion {found[0].criterion.name}")
    print(f"    ranks {sorted(set(exact[d]))}, d - d//2 = {d - d // 2}")

# %%
# Runs in factor form
# -------------------
# At every finite time the rank is still d, and the factor F of Σ = FFᵀ keeps it to the last digit:
# eigenvalues that decay like 1/t are still there at t = 10⁶. Those that no longer decay are the rank of
# the limit.

reported: dict[int, list[int]] = {}
for d, (Q, cov) in draws.items():
    laws = [symflow.Gaussian(np.zeros(d), S) for S in cov]
    V = np.broadcast_to(np.eye(d), cov.shape)  # one per member, so that the kernel serves other V below, too
    runs = symflow.ensemble(model, laws, {"Q": Q, "K": -Q, "V": V}, (0, LATE), t_eval=[0, LATE / 10, LATE])
    early, late = np.moveaxis(spectrum(runs.factor), 1, 0)[1:]
    reported[d] = settled_rank(early, late).tolist()
    print(f"d = {d}: {runs}; smallest eigenvalue at the end {late.min():.1e}")

# %%
# The usual script
# ----------------
# Euler steps, negative eigenvalues set to zero, stopped where the drift is below 10⁻³, rank = number of
# eigenvalues above 0.1. Two things go wrong. A limit may have eigenvalues below 0.1 although they stay:
# the third bar counts those above 0.1 of the exact limit. And a step that overshoots is clipped, which
# removes a direction for ever.

histograms: dict[str, dict[str, list[int]]] = {}
for d, (Q, cov) in draws.items():
    bars = {"exact limit": exact[d], "runs in factor form": reported[d]}
    bars["exact limit, eigenvalues > 0.1"] = [int((np.linalg.eigvalsh(S) > VISIBLE).sum()) for S in limits[d]]
    A, V = -np.swapaxes(Q, 1, 2) @ Q, np.broadcast_to(np.eye(d), cov.shape)
    for step in STEPS:
        end, outcome, clipped = clipped_euler(V, A, cov, step, still=STILL, most=int(300 / step))
        bars[f"clipped Euler, step {step:g}"] = (np.linalg.eigvalsh(end) > VISIBLE).sum(axis=1).tolist()
        ends = dict(zip(*np.unique(outcome, return_counts=True), strict=True))
        ends = ", ".join(f"{count} {name}" for name, count in ends.items())
        print(f"d = {d}, step {step:g}: {ends}; clipped in {(clipped > 0).sum()} of {DRAWS} runs")
    histograms[f"d = {d}"] = bars

ranks_figure = rank_histograms(histograms, {f"d = {d}": d - d // 2 for d in DIMENSIONS})
keep(ranks_figure, OPTIONS, "ranks")

# %%
# Divergence that is not there
# ----------------------------
# For :math:`V = V^\top \succ 0` and :math:`A = -Q^\top Q` the weighted trace
# :math:`\operatorname{tr}(V^{-1}\Sigma)` does not grow, so that :math:`\operatorname{tr}\Sigma \le
# \lambda_{\max}(V)\operatorname{tr}(V^{-1}\Sigma_0)` for all times (``CACP25/bounded-positive``). With V
# = I clipping cannot diverge, because the eigenvalues only decrease; for other V it can, and does.

verdict = symflow.check("CACP25/bounded-positive")
print(verdict.claim, verdict.status)


steps = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3]) if PAPER else np.array([0.01, 0.03, 0.1])
shares: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
for d, (Q, cov) in draws.items():
    root = np.random.default_rng(10 + d).normal(size=cov.shape)
    A, I = -np.swapaxes(Q, 1, 2) @ Q, np.broadcast_to(np.eye(d), cov.shape)
    V = root @ np.swapaxes(root, 1, 2) + 0.1 * I
    bound = np.linalg.eigvalsh(V)[:, -1] * np.trace(np.linalg.solve(V, cov), axis1=1, axis2=2)
    laws = [symflow.Gaussian(np.zeros(d), S) for S in cov]
    runs = symflow.ensemble(model, laws, {"Q": Q, "K": -Q, "V": V}, (0, 30), t_eval=np.linspace(0, 30, 31))
    traces = np.trace(runs.cov, axis1=2, axis2=3).max(axis=1)
    factor = ~runs.success | (traces > bound * (1 + 1e-9))
    above: dict[str, list[float]] = {"clipped Euler, V ≠ vI": [], "clipped Euler, V = I": []}
    start = np.trace(cov, axis1=1, axis2=2)  # for V = I the trace only decreases
    for counted, value, limit in zip(above.values(), (V, I), (bound, start), strict=True):
        for step in steps:
            most, far = int(30 / step), 1e3 * bound.max()
            end, outcome, _ = clipped_euler(value, A, cov, step, still=STILL, most=most, far=far)
            beyond = (np.trace(end, axis1=1, axis2=2) > limit) | (outcome == "diverged")
            counted.append(beyond.mean())
    above["runs in factor form, V ≠ vI"] = [factor.mean()] * len(steps)
    shares[f"d = {d}"] = {name: (steps, np.array(values)) for name, values in above.items()}
    for name, values in above.items():
        print(f"d = {d}, {name}: above the bound", ", ".join(f"{share:.0%}" for share in values))

spurious_figure = curves(shares, "share above the proved bound", scale="linear", abscissa="step $h$")
for axes in spurious_figure.axes:
    axes.set_xscale("log")
keep(spurious_figure, OPTIONS, "spurious")
