"""The cone picture: 2 × 2 covariances as points of a circular cone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from symflow.errors import InputError
from symflow.plot.style import FAINT, MUTED, Array, CovariancePath, colour, label, legend, new_figure

#: A path whose trace exceeds this multiple of its first one is followed to the edge of the picture only.
_ESCAPE = 20.0


def cone_coordinates(cov: Array) -> Array:
    r"""Return :math:`(a-b,\,2c,\,a+b)` of covariances :math:`\begin{pmatrix}a&c\\c&b\end{pmatrix}`.

    There Σ ⪰ 0 is the circular cone :math:`z \ge \sqrt{x^2+y^2}`, rank one its boundary and multiples of the
    identity its axis.

    Parameters
    ----------
    cov : ndarray, (..., 2, 2)

    Returns
    -------
    ndarray, (..., 3)
    """
    a, b, c = cov[..., 0, 0], cov[..., 1, 1], cov[..., 0, 1]
    return np.stack([a - b, 2 * c, a + b], axis=-1)


def cone(groups: Mapping[str, Sequence[CovariancePath]], columns: int = 4) -> Figure:
    """Draw trajectories of 2 × 2 covariances inside the cone of positive semidefinite matrices.

    Parameters
    ----------
    groups : mapping of str to sequence of CovariancePath
        One panel per group, titled by its key; labelled paths appear in a legend.  Each cone is cut
        a little above its paths; an arrow head marks where one that escapes leaves the picture.
    columns : int
        Panels per row.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If a group is empty or a path is not 2 × 2.
    """
    for name, paths in groups.items():
        if not paths:
            raise InputError(f"groups[{name!r}]: at least one path is needed")
        for path in paths:
            path.require_plane()
    columns = min(columns, len(groups))
    rows = -(-len(groups) // columns)
    figure = new_figure(3.1 * columns, 3.0 * rows + 0.35)
    marks = {"start", "end of the run"}
    for place, (name, paths) in enumerate(groups.items()):
        axes: Any = figure.add_subplot(rows, columns, place + 1, projection="3d")
        marks |= _panel(axes, name, paths)
    labels = list(dict.fromkeys(path.label for paths in groups.values() for path in paths if path.label))
    _legend(figure, labels, marks, columns)
    return figure


def _panel(axes: Any, name: str, paths: Sequence[CovariancePath]) -> set[str]:
    top = 1.15 * max(_height(path) for path in paths)
    _draw_cone(axes, top)
    labels = list(dict.fromkeys(path.label for path in paths if path.label))
    marks: set[str] = set()
    for order, path in enumerate(paths):
        ink = colour(labels.index(path.label) if path.label else order)
        marks |= _draw_path(axes, path, ink, top)
    _dress(axes, top, name)
    return marks


def _draw_cone(axes: Any, top: float) -> None:
    angle, level = np.meshgrid(np.linspace(0, 2 * np.pi, 49), np.linspace(0, top, 2))
    axes.plot_surface(
        level * np.cos(angle),
        level * np.sin(angle),
        level,
        color="#8fb8de",
        alpha=0.10,
        linewidth=0,
        shade=False,
    )
    turn = np.linspace(0, 2 * np.pi, 97)
    for share in (1 / 3, 2 / 3, 1.0):
        ring = share * top
        axes.plot(ring * np.cos(turn), ring * np.sin(turn), ring, color=MUTED, linewidth=0.5, alpha=0.7)
    for turn_at in np.arange(12) * np.pi / 6:
        axes.plot(
            [0, top * np.cos(turn_at)], [0, top * np.sin(turn_at)], [0, top], color=FAINT, linewidth=0.5
        )


def _draw_path(axes: Any, path: CovariancePath, ink: str, top: float) -> set[str]:
    """Draw one path and return which special marks it used."""
    points = _below(cone_coordinates(path.cov), top)
    stays = len(points) == len(path.cov) and bool(points[-1, 2] < top)
    axes.plot(*points.T, color=ink, linewidth=1.6, zorder=5)
    axes.scatter(*points[0], color=ink, s=14, depthshade=False, zorder=6)
    if stays:
        axes.scatter(*points[-1], facecolor="white", edgecolor=ink, s=22, depthshade=False, zorder=7)
    else:
        axes.scatter(*points[-1], color=ink, marker="^", s=24, depthshade=False, zorder=7)
    if path.limit is not None:
        axes.scatter(*cone_coordinates(path.limit), color=ink, marker="x", s=36, depthshade=False, zorder=8)
    return ({"limit by the theorem"} if path.limit is not None else set()) | (
        set() if stays else {"leaves the picture"}
    )


def _height(path: CovariancePath) -> float:
    """Return the largest trace of a path that stays bounded, the first one of a path that escapes."""
    traces = np.trace(path.cov, axis1=1, axis2=2)
    return float(traces.max() if traces.max() <= _ESCAPE * traces[0] else 1.05 * traces[0])


def _below(points: Array, top: float) -> Array:
    """Cut a path where it first leaves the drawn part of the cone."""
    outside = np.flatnonzero(points[:, 2] > top)
    if not outside.size or outside[0] == 0:
        return points[:1] if outside.size else points
    first = outside[0]
    before, after = points[first - 1], points[first]
    share = (top - before[2]) / (after[2] - before[2])
    return np.vstack([points[:first], before + share * (after - before)])


def _dress(axes: Any, top: float, title: str) -> None:
    axes.set_xlim(-top, top)
    axes.set_ylim(-top, top)
    axes.set_zlim(0, top)
    axes.set_box_aspect((1, 1, 0.95), zoom=0.88)
    axes.view_init(elev=18, azim=-58)
    axes.set_xlabel(r"$\Sigma_{11}-\Sigma_{22}$", labelpad=-2)
    axes.set_ylabel(r"$2\,\Sigma_{12}$", labelpad=-2)
    axes.set_zlabel(r"$\Sigma_{11}+\Sigma_{22}$", labelpad=-4)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        label(axis.label)
        axis.pane.set_alpha(0.0)
        axis.pane.set_edgecolor(FAINT)
        axis.set_tick_params(labelsize=7, colors=MUTED, pad=-2)
        axis.set_major_locator(MaxNLocator(4))
    axes.grid(False)
    label(axes.set_title(title, fontsize=11, y=0.97))


def _legend(figure: Figure, labels: list[str], marks: set[str], columns: int) -> None:
    entries = [Line2D([], [], color=colour(i), linewidth=1.6, label=text) for i, text in enumerate(labels)]
    looks = {"start": ("o", MUTED), "end of the run": ("o", "white"), "leaves the picture": ("^", MUTED)}
    looks |= {"limit by the theorem": ("x", MUTED)}
    entries += [
        Line2D(
            [], [], linestyle="", marker=m, markerfacecolor=f, markeredgecolor=MUTED, markersize=5, label=text
        )
        for text, (m, f) in looks.items()
        if text in marks
    ]
    legend(figure, handles=entries, loc="outside lower center", ncols=2 if columns == 1 else len(entries))
