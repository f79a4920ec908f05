"""Gaussians as ellipses: the set at one standard deviation, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from symflow.errors import InputError
from symflow.plot.style import Array, CovariancePath, label, new_figure, panel_size, tidy, time_colours

_TURN = np.linspace(0, 2 * np.pi, 181)
#: An ellipse this much longer than the first one is left out: it would squeeze all others to a dot.
_LARGEST = 6.0


def ellipse(mean: Array, cov: Array) -> Array:
    r"""Return points of :math:`\{\alpha + \Sigma^{1/2}u : |u| = 1\}`; a segment where Σ has rank one.

    Parameters
    ----------
    mean : ndarray, (2,)
    cov : ndarray, (2, 2)

    Returns
    -------
    ndarray, (2, n)
    """
    weights, axes = np.linalg.eigh(cov)
    root = axes * np.sqrt(np.maximum(weights, 0.0))
    return np.asarray(mean[:, None] + root @ np.vstack([np.cos(_TURN), np.sin(_TURN)]))


def ellipses(paths: Sequence[CovariancePath], count: int = 9, title: str = "") -> Figure:
    """Draw one panel per path with ellipses at ``count`` times, coloured by the share of time passed.

    Parameters
    ----------
    paths : sequence of CovariancePath
    count : int
    title : str

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no path or one is not 2 × 2.
    """
    if not paths:
        raise InputError("paths: at least one path is needed")
    for path in paths:
        path.require_plane()
    columns = min(len(paths), 4)
    rows = -(-len(paths) // columns)
    panel = panel_size(columns)
    figure = new_figure(panel * columns + 0.6, panel * rows + (0.3 if title else 0.0))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, path in zip(grid.flat, paths, strict=False):
        _panel(axes, path, count)
    for axes in grid.flat[len(paths) :]:
        axes.set_visible(False)
    colours = ScalarMappable(Normalize(0, 1), time_colours())
    bar = figure.colorbar(colours, ax=grid, shrink=0.75, pad=0.02, ticks=[0, 1])
    bar.ax.set_yticklabels(["start", "end"], fontsize=9)
    bar.outline.set_visible(False)
    if title:
        label(figure.suptitle(title, fontsize=11))
    return figure


def _panel(axes: Any, path: CovariancePath, count: int) -> None:
    centres = np.zeros(path.cov.shape[:2]) if path.mean is None else path.mean
    size = np.sqrt(np.linalg.eigvalsh(path.cov)[:, -1])
    usable = np.flatnonzero(size <= _LARGEST * size[0])
    wanted = np.linspace(path.t[0], path.t[usable[-1]], count)
    chosen = sorted({int(np.abs(path.t[usable] - t).argmin()) for t in wanted})
    for order, index in enumerate(chosen):
        share = order / max(len(chosen) - 1, 1)
        axes.plot(*ellipse(centres[index], path.cov[index]), color=time_colours()(share), linewidth=1.5)
        axes.plot(*centres[index], marker=".", markersize=3, color=time_colours()(share))
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("$x_1$")
    axes.set_ylabel("$x_2$")
    axes.set_title(path.label, fontsize=10)
    tidy(axes)
