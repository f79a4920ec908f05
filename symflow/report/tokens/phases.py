"""A small phase diagram: how many pairs are close, over time and β, beside the time of the common cosine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from symflow.clustering import equiangular_flow, fraction_above
from symflow.integrate.ensemble.run import ensemble
from symflow.models.attention.softmax import Softmax
from symflow.plot import phase_diagram, save
from symflow.report.blocks import Paragraph, Picture, Section
from symflow.report.comparison import Comparison, comparison, comparison_grid

Array = NDArray[np.float64]

_SEED = 7
_COUNT, _STARTS, _LEVEL = 32, 8, 0.999
_DIMENSIONS = (2, 8, 64)
_BETAS = np.linspace(0.25, 6.0, 24)
_TIMES = np.linspace(0.0, 12.0, 49)
#: Uniform tokens of dimension d have cosines of size d^{-1/2} instead of zero, which shifts the time.
_SHIFT = 0.1


def phase_part(out: Path) -> tuple[Section, list[Comparison]]:
    """Return the diagrams, and at the largest dimension the time of clustering beside that of the cosine."""
    shares = {d: np.array([_shares(d, beta) for beta in _BETAS]) for d in _DIMENSIONS}
    curve = np.array([_hitting_time(beta) for beta in _BETAS])
    panels = {rf"$d = {d}$": found for d, found in shares.items()}
    save(phase_diagram(panels, _BETAS, _TIMES, (_BETAS, curve)), out / "figures" / "phases")
    rows = [_row(index, shares[_DIMENSIONS[-1]], curve) for index in (3, 7, 11)]
    said = (
        rf"The share of pairs with $\langle x_i, x_j\rangle > {_LEVEL:g}$ for $n = {_COUNT}$ tokens from "
        rf"{_STARTS} uniform starts under SA, over time and $\beta$. In high dimension uniform tokens are "
        r"nearly orthogonal, so that the time at which they meet is nearly the time at which the common "
        rf"cosine of orthonormal tokens reaches {_LEVEL:g} (dashed). In the plane they are caught in several "
        r"clusters instead. The full diagrams, with 2048 starts and 90 values of $\beta$, are a sweep of a "
        r"spec file."
    )
    note = (
        rf"Time at which half of the pairs are close, $d = {_DIMENSIONS[-1]}$, beside "
        rf"$\gamma_\beta(t) = {_LEVEL:g}$."
    )
    picture = Picture("phases", r"Small phase diagrams; dashed: $\gamma_\beta(t) = 0.999$.")
    return Section(
        "Phase diagram", "clustering-phases", (Paragraph(said), picture, comparison_grid(rows, note))
    ), rows


def _shares(d: int, beta: float) -> Array:
    rng = np.random.default_rng([_SEED, d])
    x = rng.normal(size=(_STARTS, _COUNT, d))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    runs = ensemble(
        Softmax(space="sphere", beta=float(beta)), x, {}, (0.0, float(_TIMES[-1])),
        t_eval=_TIMES, rtol=1e-6, atol=1e-8,
    )  # fmt: skip
    return np.asarray(fraction_above(runs.x, _LEVEL, distinct=True).mean(axis=0))


def _hitting_time(beta: float) -> float:
    return equiangular_flow(Softmax(space="sphere", beta=float(beta))).hitting_time(_LEVEL, _COUNT)


def _row(index: int, shares: Array, curve: Array) -> Comparison:
    """Compare the time at which half of the pairs are close, interpolated, with that of the cosine."""
    half = float(np.interp(0.5, shares[index], _TIMES)) if shares[index][-1] > 0.5 else np.inf
    time = float(curve[index])
    quantity = rf"$\beta = {_BETAS[index]:g}$: time of clustering"
    return comparison(quantity, f"{time:.4g}", f"{half:.4g}", abs(half / time - 1), _SHIFT, "relative")
