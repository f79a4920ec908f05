r"""
From n tokens to the mean field
===============================

Tokens drawn from a Gaussian law, against the Gaussian equations: their mean and covariance along the run,
and how fast the difference decays with n. Started at the law itself the difference is that of the starts, of
order :math:`n^{-1/2}`; started at the moments of the very sample it is smaller, and of the same order.

``python docs/experiments/plot_mean_field.py --size paper`` goes to n = 1600.
"""

import numpy as np
from measure import example, keep, read_options, slope

import symflow
from symflow.plot import Points, curves, fits

OPTIONS = read_options()
PAPER = OPTIONS.size == "paper"
COUNTS = 50 * 2 ** np.arange(6 if PAPER else 4)
REPLICATES = 200
spec = example("gaussian-tokens")
A, V, times = spec.parameters["A"], spec.parameters["V"], spec.t_eval
law = spec.tokens.gaussian

# %%
# The weights must have moments
# -----------------------------
# The mean over keys of :math:`e^{\langle Qx, Ky\rangle}` has a finite fourth moment over keys and queries
# while :math:`\lambda_{\max}(\Sigma^{1/2}A^\top\Sigma A\Sigma^{1/2}) < \tfrac14`; otherwise error bars
# would mean nothing.


gaussian = {"t_eval": times, "rtol": 1e-9, "atol": 1e-12}
mean_field = symflow.solve(spec.model, law, spec.parameters, spec.t_span, **gaussian)
spread = [float(np.linalg.eigvals(S @ A.T @ S @ A).real.max()) for S in mean_field.cov]
print(f"largest eigenvalue along the run: {max(spread):.3f} < 1/4")
if max(spread) >= 0.25:
    raise SystemExit("the weights have no moments")

# %%
# The runs
# --------
# The error of a run is the largest one along it, of mean and covariance together.


def moments(x: np.ndarray) -> np.ndarray:
    """Return mean and covariance of tokens (..., n, d) side by side, (..., d + d²)."""
    mean = x.mean(axis=-2)
    centred = x - mean[..., None, :]
    cov = np.swapaxes(centred, -1, -2) @ centred / x.shape[-2]
    return np.concatenate([mean, cov.reshape(*mean.shape[:-1], -1)], axis=-1)


def both(run: symflow.Trajectory | symflow.Ensemble) -> np.ndarray:
    """Return mean and covariance of Gaussian runs side by side."""
    return np.concatenate([run.mean, run.cov.reshape(*run.mean.shape[:-1], -1)], axis=-1)


errors: dict[str, list[np.ndarray]] = {"from the law": [], "from the sample's moments": []}
spectrum: dict[int, np.ndarray] = {}
for n in COUNTS.tolist():
    sized = {**spec.data["initial"], "n": n}
    sample = symflow.spec.parse_spec({**spec.data, "initial": sized}).tokens
    starts = np.array([sample.draw(1000 * n + seed) for seed in range(REPLICATES)])
    runs = symflow.ensemble(spec.model, starts, spec.parameters, spec.t_span, t_eval=times, **spec.solver)
    seen = moments(runs.x)
    laws = [symflow.Gaussian(x.mean(axis=0), np.cov(x.T, bias=True)) for x in starts]
    own = symflow.ensemble(spec.model, laws, spec.parameters, spec.t_span, **gaussian)
    for name, reference in zip(errors, (both(mean_field), both(own)), strict=True):
        errors[name].append(np.linalg.norm(seen - reference, axis=-1).max(axis=1))
    spectrum[n] = np.trace(seen[..., 2:].reshape(REPLICATES, len(times), 2, 2), axis1=-2, axis2=-1)

# %%
# Along a run
# -----------

few, many = int(COUNTS[0]), int(COUNTS[-1])
traces = {
    f"$n = {n}$": {
        "Gaussian equations": (times, np.trace(mean_field.cov, axis1=1, axis2=2)),
        **{f"run {r + 1}": (times, spectrum[n][r]) for r in range(4)},
    }
    for n in (few, many)
}
trace_figure = curves(traces, r"$\mathrm{tr}\,\Sigma$", scale="linear")
keep(trace_figure, OPTIONS, "mean_field_trace")

# %%
# The rate
# --------
# The mean over replicates with its standard error, and the line fitted to its logarithm.

groups: dict[str, Points] = {}
rates: dict[str, tuple[float, float]] = {}
for name, samples in errors.items():
    mean = np.array([each.mean() for each in samples])
    error = np.array([each.std(ddof=1) for each in samples]) / np.sqrt(REPLICATES)
    rate, uncertainty, intercept = slope(np.log(COUNTS), np.log(mean), error / mean)
    rates[name] = rate, uncertainty
    text = rf"{name}: $n^{{{rate:.2f} \pm {uncertainty:.2f}}}$"
    line = COUNTS, np.exp(intercept) * COUNTS.astype(float) ** rate
    groups[text] = Points(COUNTS.astype(float), mean, mean - error, mean + error, line)
    print(f"{name}: error of order n^({rate:.3f} ± {uncertainty:.3f})")
rate_figure = fits({"": groups}, "$n$", "largest error of the moments", scales=("log", "log"))
keep(rate_figure, OPTIONS, "mean_field_rate")
