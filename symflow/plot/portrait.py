r"""Phase portraits: 2 × 2 initial laws of one trace as points of a disc, marked by their fate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from symflow.errors import InputError
from symflow.plot.cone import cone_coordinates
from symflow.plot.style import INK, MUTED, Array, colour, label, legend, new_figure

_MARKERS = ("o", "^", "s", "D", "v", "P", "X")
_DISC = 4.2  # of the width of a panel, in square roots of the number of points per marker


@dataclass(frozen=True, eq=False)
class Portrait:
    """Initial laws and what becomes of them.

    Attributes
    ----------
    cov : ndarray, (N, 2, 2)
        Initial covariances; only Σ/tr Σ is drawn.
    region : sequence of str, (N,)
        Fate of each, e.g. ``"zero"``, ``"line"``, ``"plane"``, ``"blow-up"``.
    paths : sequence of ndarray, (T, 2, 2)
        Trajectories to draw through the disc, divided by their traces.
    """

    cov: Array
    region: Sequence[str]
    paths: Sequence[Array] = field(default=())

    def __post_init__(self) -> None:
        if self.cov.shape != (len(self.region), 2, 2):
            raise InputError(
                f"cov has shape {self.cov.shape}; needed ({len(self.region)}, 2, 2), as many as regions"
            )


def disc(cov: Array) -> Array:
    r"""Return :math:`(a-b,\,2c)/(a+b)` of covariances :math:`\begin{pmatrix}a&c\\c&b\end{pmatrix}`.

    The closed unit disc; its circle is rank one, at twice the angle of the line, its centre a multiple of I.

    Parameters
    ----------
    cov : ndarray, (..., 2, 2)

    Returns
    -------
    ndarray, (..., 2)
    """
    points = cone_coordinates(cov)
    return np.asarray(points[..., :2] / points[..., 2:])


def phase_portrait(panels: Mapping[str, Portrait], columns: int = 3, title: str = "") -> Figure:
    """Draw the disc of 2 × 2 covariances of one trace, each law marked by its fate.

    Parameters
    ----------
    panels : mapping of str to Portrait
        One panel per model, titled by its key.
    columns : int
        Panels per row.
    title : str

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no panel.
    """
    if not panels:
        raise InputError("panels: at least one portrait is needed")
    regions = list(dict.fromkeys(name for portrait in panels.values() for name in portrait.region))
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(3.1 * columns, 3.2 * rows + 0.45 + (0.3 if title else 0.0))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (name, portrait) in zip(grid.flat, panels.items(), strict=False):
        _panel(axes, name, portrait, regions)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    _legend(figure, regions, columns, any(portrait.paths for portrait in panels.values()))
    if title:
        label(figure.suptitle(title, fontsize=11))
    return figure


def _panel(axes: Any, name: str, portrait: Portrait, regions: list[str]) -> None:
    turn = np.linspace(0, 2 * np.pi, 241)
    axes.plot(np.cos(turn), np.sin(turn), color=INK, linewidth=0.8)
    for path in portrait.paths:
        axes.plot(*disc(path).T, color=INK, linewidth=0.7, alpha=0.8, zorder=3)
    points, fates = disc(portrait.cov), np.asarray(portrait.region)
    size = min(30.0, (72 * 2.4 / _DISC) ** 2 / max(len(fates), 1) * 2)
    for order, region in enumerate(regions):
        axes.scatter(
            *points[fates == region].T,
            s=size,
            marker=_MARKERS[order % len(_MARKERS)],
            color=colour(order),
            linewidth=0,
            alpha=0.75,
            zorder=2,
        )
    axes.set_aspect("equal")
    axes.set_xlim(-1.06, 1.06)
    axes.set_ylim(-1.06, 1.06)
    axes.set_xlabel(r"$(\Sigma_{11}-\Sigma_{22})/\mathrm{tr}\,\Sigma$")
    axes.set_ylabel(r"$2\,\Sigma_{12}/\mathrm{tr}\,\Sigma$")
    axes.set_title(name, fontsize=10)
    axes.set_xticks([-1, 0, 1])
    axes.set_yticks([-1, 0, 1])
    axes.tick_params(colors=MUTED, labelsize=9)
    for side in axes.spines.values():
        side.set_visible(False)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        label(text)


def _legend(figure: Figure, regions: list[str], columns: int, has_paths: bool) -> None:
    entries = [
        Line2D([], [], linestyle="", marker=_MARKERS[i % len(_MARKERS)], color=colour(i), label=name)
        for i, name in enumerate(regions)
    ]
    if has_paths:
        entries.append(Line2D([], [], color=INK, linewidth=0.7, label="trajectory"))
    legend(figure, handles=entries, loc="outside lower center", ncols=min(len(entries), 2 * columns))
