"""Gaussian tokens beside the Gaussian equations, with error bars from replicates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.models.attention.softmax import Softmax
from symflow.plot import Predicted, beside_prediction, save
from symflow.report.blocks import Outcome, Paragraph, Picture, Section
from symflow.report.comparison import Comparison, agreement_badge, at_most, comparison, comparison_grid

Array = NDArray[np.float64]

_SEED = 2501
_SIZES, _REPLICATES = (250, 2000), 20
_TIMES = np.linspace(0.0, 1.0, 9)
_MEAN, _COV = np.array([0.5, -0.3]), np.array([[0.8, 0.2], [0.2, 0.6]])
_PARAMS = {"A": np.array([[0.28, 0.14], [-0.07, -0.21]]), "V": np.array([[0.6, -0.2], [0.3, 0.4]])}
_MOMENTS = (r"$\alpha_1$", r"$\alpha_2$", r"$\Sigma_{11}$", r"$\Sigma_{12}$", r"$\Sigma_{22}$")
#: In standard errors: Student's t with 19 degrees of freedom exceeds it with probability 1e-4.
_ERRORS = 5.0


@dataclass(frozen=True, eq=False)
class _Sample:
    """Moments along replicates, (replicates, times, moments): of tokens, and of the equations."""

    tokens: Array
    law: Array
    spread: float

    @property
    def difference(self) -> Array:
        """Tokens less equations, averaged over the replicates, (times, moments)."""
        return np.asarray((self.tokens - self.law).mean(axis=0))

    @property
    def error(self) -> Array:
        """The standard error of the average difference, from the replicates."""
        return np.asarray((self.tokens - self.law).std(axis=0, ddof=1) / np.sqrt(len(self.tokens)))


def mean_field_outcome(out: Path) -> Outcome:
    """Return the section on many tokens and their law; a figure is written below ``out``."""
    samples = {n: _sample(n) for n in _SIZES}
    most = samples[_SIZES[-1]]
    rows = [_row(index, most) for index in range(len(_MOMENTS))]
    spread = max(sample.spread for sample in samples.values())
    rows.append(at_most(r"$\max_t\lambda_{\max}(\Sigma A^{\top}\Sigma A)$", spread, 0.25))
    save(_figure(samples), out / "figures" / "mean-field")
    said = (
        r"$n$ tokens drawn from a Gaussian law under softmax attention, beside the equations of mean and "
        r"covariance that are derived above. Each of the "
        rf"{_REPLICATES} replicates draws its own tokens, and its equations start at the mean and "
        rf"covariance of "
        r"these, so that what remains is the error of the mean-field limit; error bars are standard errors "
        r"from the replicates. Weights of Gaussian tokens have four moments only where "
        r"$\lambda_{\max}(\Sigma^{1/2}A^{\top}\Sigma A\Sigma^{1/2}) < \tfrac14$, which holds along "
        r"the runs; from "
        r"$\tfrac12$ on their variance is infinite."
    )
    note = rf"$n = {_SIZES[-1]}$, $t = {_TIMES[-1]:g}$; allowed are {_ERRORS:g} standard errors."
    picture = Picture(
        "mean-field",
        r"Moments of tokens less those of the Gaussian equations, averaged over the replicates, with two "
        r"standard errors: they shrink like $n^{-1/2}$.",
    )
    badge = agreement_badge("mean field", rows)
    section = Section(
        "Mean field", "mean-field", (Paragraph(said), comparison_grid(rows, note), picture), (badge,)
    )
    return Outcome(section, {"comparisons": rows}, all(row["agrees"] for row in rows), ("CACP25",))


def _sample(n: int) -> _Sample:
    found = [_replicate(n, index) for index in range(_REPLICATES)]
    tokens, law = (np.array([one[k] for one in found]) for k in (0, 1))
    return _Sample(tokens, law, max(one[2] for one in found))


def _replicate(n: int, index: int) -> tuple[Array, Array, float]:
    rng = np.random.default_rng([_SEED, n, index])
    start = _MEAN + rng.normal(size=(n, 2)) @ np.linalg.cholesky(_COV).T
    law = Gaussian(start.mean(axis=0), np.cov(start.T, bias=True))
    span = (float(_TIMES[0]), float(_TIMES[-1]))
    tokens = solve(Softmax(), start, _PARAMS, span, t_eval=_TIMES, rtol=1e-7, atol=1e-9)
    flow = solve(Softmax(), law, _PARAMS, span, t_eval=_TIMES)
    x: Array = tokens.x
    spread = max(_spread(cov) for cov in flow.cov)
    covs = np.array([np.cov(frame.T, bias=True) for frame in x])
    return _moments(x.mean(axis=1), covs), _moments(flow.mean, flow.cov), spread


def _moments(mean: Array, cov: Array) -> Array:
    i, j = np.triu_indices(2)
    return np.concatenate([mean, cov[:, i, j]], axis=1)


def _spread(cov: Array) -> float:
    A = _PARAMS["A"]
    return float(np.linalg.eigvals(cov @ A.T @ cov @ A).real.max())


def _row(index: int, sample: _Sample) -> Comparison:
    law, tokens = (part[:, -1, index].mean() for part in (sample.law, sample.tokens))
    error = float(sample.error[-1, index])
    measured = rf"${tokens:.5f} \pm {error:.5f}$"
    difference = abs(float(sample.difference[-1, index]))
    return comparison(_MOMENTS[index], f"{law:.5f}", measured, difference, _ERRORS * error, "absolute")


def _figure(samples: dict[int, _Sample]) -> Any:
    panels = {}
    for n, sample in samples.items():
        shift = 0.008 * (np.arange(len(_MOMENTS)) - 2)
        panels[f"$n = {n}$"] = [
            Predicted(
                name,
                (np.array([]), np.array([])),
                (_TIMES[1:] + shift[k], sample.difference[1:, k], 2 * sample.error[1:, k]),
            )
            for k, name in enumerate(_MOMENTS)
        ]
    return beside_prediction(panels, "$t$", "tokens less equations")
