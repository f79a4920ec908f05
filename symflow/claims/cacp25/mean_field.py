"""CACP25: the mean-field limit of n tokens, against Gaussian laws and against fine clouds on the line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from symflow.certify.measurement import Criterion, Estimate
from symflow.claims.claim import Deadline
from symflow.claims.measuring import Experiment, measured
from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.softmax import Softmax

#: Of the Gaussian law and its softmax attention: tails of the weights have four moments along the run.
MEAN, COV = ((0.5, -0.3)), ((0.8, 0.2), (0.2, 0.6))
PARAMS = {"A": ((0.28, 0.14), (-0.07, -0.21)), "V": ((0.6, -0.2), (0.3, 0.4))}
_LINE: dict[str, AttentionModel] = {"softmax": Softmax(), "l2": L2(), "sigmoid": Sigmoid()}
_SIZES = {
    "replicates": 16,
    "tokens": 1000,
    "smallest": 100,
    "doublings": 3,
    "reference": 1600,
    "time": 1.0,
}


def spread_of_weights(model: AttentionModel, params: Mapping[str, Any], cov: Any) -> float:
    r"""Return :math:`\lambda_{\max}(\Sigma^{1/2}B^\top\Sigma B\Sigma^{1/2})` of a score :math:`y^\top Bx`.

    For a Gaussian law the average of exp(q·xᵀBᵀΣBx) over the queries is finite where q times this is below a
    half. From a half on the variance of a mean over tokens is infinite; below a quarter their fourth moments
    are finite, so that standard errors mean what they say.

    Parameters
    ----------
    model : AttentionModel
    params : mapping of str to array_like
    cov : array_like, (d, d)

    Raises
    ------
    InputError
        If the score is not bilinear up to terms in x alone.

    Examples
    --------
    >>> round(spread_of_weights(Softmax(), {"A": [[0.5]], "V": [[1.0]]}, [[1.0]]), 12)
    0.25
    """
    import numpy as np

    from symflow.algebra.quadratic import quadratic_form
    from symflow.algebra.sampling import evaluate

    statement = model.statement(params)
    form = quadratic_form(statement.score, statement.x, statement.y)
    if not (form.C.is_ZeroMatrix and form.c.is_ZeroMatrix):
        raise InputError(f"{statement.name}: the score has terms in the key alone; this is for bilinear ones")
    given = {name: np.asarray(value, float).tolist() for name, value in params.items()}
    score = np.array(evaluate(form.B, given), float)
    sigma = np.asarray(cov, float)
    return float(np.linalg.eigvals(sigma @ score.T @ sigma @ score).real.max())


def gaussian_differences(count: int, time: float, seed: Sequence[int]) -> tuple[list[float], float]:
    """Return the moments of ``count`` tokens less those of the Gaussian equations, and the spread of weights.

    The equations start at the moments of the sample, so that the difference is not that of the starts.
    """
    import numpy as np

    from symflow.integrate.gaussian import Gaussian
    from symflow.integrate.solve import solve

    rng = np.random.default_rng(list(seed))
    params = {name: np.array(value) for name, value in PARAMS.items()}
    start = np.array(MEAN) + rng.normal(size=(count, 2)) @ np.linalg.cholesky(np.array(COV)).T
    law = Gaussian(start.mean(axis=0), np.cov(start.T, bias=True))
    span = (0.0, time)
    tokens = solve(Softmax(), start, params, span, t_eval=[time], raise_on_failure=True).x[-1]
    flow = solve(Softmax(), law, params, span, t_eval=np.linspace(0.0, time, 9), raise_on_failure=True)
    spread = max(spread_of_weights(Softmax(), params, cov) for cov in flow.cov)
    cov = np.cov(tokens.T, bias=True) - flow.cov[-1]
    return [*(tokens.mean(axis=0) - flow.mean[-1]).tolist(), *cov[np.triu_indices(2)].tolist()], spread


def slope_of(counts: Sequence[int], errors: Sequence[float]) -> float:
    """Return the least-squares slope of log error against log count."""
    logs = [(math.log(n), math.log(error)) for n, error in zip(counts, errors, strict=True)]
    centre = [sum(column) / len(logs) for column in zip(*logs, strict=True)]
    top = sum((a - centre[0]) * (b - centre[1]) for a, b in logs)
    return float(top / sum((a - centre[0]) ** 2 for a, _ in logs))


def _limit(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> list[Estimate]:
    counts = [int(sizes["smallest"]) * 2**k for k in range(int(sizes["doublings"]) + 1)]
    return [*_moments(seed, sizes, deadline), *_rates(seed, sizes, counts, deadline)]


def _moments(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> list[Estimate]:
    """Return every moment's mean difference, which is zero, and the spread of the weights along the runs."""
    found, spreads = [], []
    for replicate in range(int(sizes["replicates"])):
        deadline.check()
        differences, spread = gaussian_differences(int(sizes["tokens"]), sizes["time"], (seed, 0, replicate))
        found.append(differences)
        spreads.append(spread)
    names = ("mean 1", "mean 2", "covariance 11", "covariance 12", "covariance 22")
    estimates = [
        Estimate.of_samples(f"softmax, Gaussian start: {name} of tokens less that of the ODE", samples, _ZERO)
        for name, samples in zip(names, zip(*found, strict=True), strict=True)
    ]
    quarter = Criterion("at most", 0.25)
    return [*estimates, Estimate.of_samples("largest spread of the weights along a run", spreads, quarter)]


#: Student's t with 15 degrees of freedom exceeds 5 with probability 1.6e-4, and 4 with 1.2e-3.
_ZERO = Criterion("near", 0.0, errors=5.0)
_HALF = Criterion("near", -0.5, errors=4.0)


def _rates(
    seed: int, sizes: Mapping[str, float], counts: Sequence[int], deadline: Deadline
) -> list[Estimate]:
    """Return the slopes of log W₁ to the limit against log n, from uniform starts on the line."""
    estimates = []
    for index, (name, model) in enumerate(_LINE.items(), 1):
        limit = _line_run(model, _quantiles(int(sizes["reference"])), sizes["time"])
        slopes = []
        for replicate in range(int(sizes["replicates"])):
            deadline.check()
            slopes.append(_slope(model, limit, counts, sizes["time"], (seed, index, replicate)))
        quantity = f"{name}, uniform start on [-1, 1]: slope of log W₁ against log n"
        estimates.append(Estimate.of_samples(quantity, slopes, _HALF))
    return estimates


def _slope(
    model: AttentionModel, limit: Any, counts: Sequence[int], time: float, seed: Sequence[int]
) -> float:
    import numpy as np

    from symflow.distances import wasserstein

    rng = np.random.default_rng(list(seed))
    ends = [_line_run(model, rng.uniform(-1.0, 1.0, size=(n, 1)), time) for n in counts]
    return slope_of(counts, [wasserstein(end, limit, order=1) for end in ends])


def _quantiles(count: int) -> Any:
    """Return the midpoints of equal parts of [−1, 1]: a cloud at most 1/count from the uniform law."""
    import numpy as np

    return ((2.0 * np.arange(count) + 1.0) / count - 1.0)[:, None]


def _line_run(model: AttentionModel, start: Any, time: float) -> Any:
    """Return the tokens at the end, for scores 1 and values −1/2."""
    from symflow.integrate.solve import solve

    names = [p.name for p in model.statement().parameters if getattr(p, "shape", ())]
    params = {name: [[-0.5]] if name == "V" else [[1.0]] for name in names}
    return solve(model, start, params, (0.0, time), t_eval=[time], raise_on_failure=True).x[-1]


CLAIMS = (
    measured(
        Experiment(
            claim="CACP25/mean-field-limit",
            scope="softmax attention from Gaussian tokens in dimension two against the Gaussian equations "
            "that start at the moments of the sample; softmax, l2 and sigmoid attention from uniform tokens "
            "on the line against a fine cloud of quantiles",
            run=_limit,
            sizes=_SIZES,
            seed=20250119,
        ),
        title="Mean-field limit of n tokens",
        quoted=r"As $n \to \infty$ the empirical law of $n$ tokens tends to the solution of the transport "
        "equation.",
        holds=r"The stability estimate gives $W_p(\mu^n(t), \mu(t)) \le C(t, R_0)W_p(\mu^n_0, \mu_0)$, so "
        r"that the empirical laws converge as fast as those of the starts do. Measured: the moments of "
        r"Gaussian tokens are those of the Gaussian equations within their standard errors, and on the line "
        r"$W_1$ decays like $n^{-1/2}$. For Gaussian starts the weights have finite variance only where "
        r"$\lambda_{\max}(\Sigma^{1/2}A^\top\Sigma A\Sigma^{1/2}) < \tfrac12$.",
        hypotheses=r"Starts with compact support; Gaussian ones with "
        r"$\lambda_{\max}(\Sigma^{1/2}A^\top\Sigma A\Sigma^{1/2}) < \tfrac14$ along the run.",
        reference="CACP25",
    ),
)
