"""Atlases of critical points on the circle."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from symflow.errors import InputError
from symflow.plot.style import FAINT, INK, MUTED, Array, colour, label, legend, new_figure

if TYPE_CHECKING:
    from symflow.critical import Atlas, CriticalPoint

#: Height of a circle with its text, in inches.
_CIRCLE = 1.9
#: Tokens nearer than this are drawn as one dot.
_TOGETHER = 1e-6
_LOOKS = {"maximum": (colour(0), "o"), "saddle": (colour(1), "s"), "minimum": (colour(2), "D")}
_DEGENERATE = (MUTED, "X")
_MARK = "\N{CHECK MARK}"
_SAID = {True: "these are all", False: "there are others", None: "others are not excluded"}


def atlas(atlases: Sequence[Atlas], columns: int = 5) -> Figure:
    r"""Draw critical points of tokens on the circle, with energy and index, one block of circles per atlas.

    Dots are tokens, a number beside one says how many share its place. Colour and shape are those of maxima,
    saddles and minima; the check mark says that ball arithmetic proves existence and index.

    Parameters
    ----------
    atlases : sequence of Atlas
        Of :func:`symflow.critical.critical_points`, for d = 2.
    columns : int
        Circles per row.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no atlas, or one has no points or is not on the circle.
    """
    if not atlases:
        raise InputError("atlases: at least one atlas is needed")
    for k, one in enumerate(atlases):
        if one.d != 2 or not len(one):
            raise InputError(f"atlases[{k}] has {len(one)} points in dimension {one.d}; needed points, d = 2")
    columns = min(columns, max(len(one) for one in atlases))
    rows = [-(-len(one) // columns) for one in atlases]
    heights = [*(_CIRCLE * count + 0.25 for count in rows), 0.3]
    figure = new_figure(1.45 * columns, sum(heights))
    *blocks, foot = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    kinds = []
    for block, one, count in zip(blocks, atlases, rows, strict=True):
        grid = block.subplots(count, columns, squeeze=False)
        label(block.suptitle(f"$n = {one.n}$: {_SAID[one.complete]}", fontsize=10, x=0.02, ha="left"))
        for axes, point in zip(grid.flat, one, strict=False):
            _circle(axes, point)
            kinds.append(point.kind)
        for axes in grid.flat[len(one) :]:
            axes.set_visible(False)
    _legend(foot, kinds)
    return figure


def _circle(axes: Any, point: CriticalPoint) -> None:
    ink, marker = _LOOKS.get(point.kind, _DEGENERATE)
    turn = np.linspace(0.0, 2 * np.pi, 121)
    axes.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1.0, zorder=1)
    for angle, count in places(point.x):
        x, y = np.cos(angle), np.sin(angle)
        axes.plot(x, y, marker, color=ink, markersize=5.0 + 1.2 * (count - 1), zorder=2, clip_on=False)
        if count > 1:
            axes.text(0.66 * x, 0.66 * y, str(count), fontsize=8, color=INK, ha="center", va="center")
    axes.set_xlim(-1.2, 1.2)
    axes.set_ylim(-1.2, 1.2)
    axes.set_aspect("equal")
    axes.set_axis_off()
    proved = f" {_MARK}" if point.certified else ""
    name = "\n".join(wrap(point.name.removesuffix(" in rank 2"), 20))
    said = f"{name}\n$E = {point.energy:.4f}$\n{point.increasing} up, {point.decreasing} down{proved}"
    text = axes.text(0.0, -1.3, said, fontsize=7.5, color=INK, ha="center", va="top", linespacing=1.25)
    text.set_math_fontfamily("cm")


def places(x: Array) -> list[tuple[float, int]]:
    """Return the angles of the dots with the numbers of tokens, with an axis of reflection upright.

    Parameters
    ----------
    x : ndarray, (n, 2)

    Examples
    --------
    >>> places(np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]))
    [(1.5707963267948966, 2), (4.71238898038469, 1)]
    """
    left, found = list(np.arctan2(x[:, 1], x[:, 0])), []
    while left:
        near = [a for a in left if abs(np.exp(1j * a) - np.exp(1j * left[0])) <= _TOGETHER]
        left = [a for a in left if a not in near]
        found.append((float(near[0]), len(near)))
    top = _axis(found)
    return [((angle - top) % (2 * np.pi) + np.pi / 2, count) for angle, count in found]


def _axis(found: list[tuple[float, int]]) -> float:
    """Return the angle of the largest place on an axis of reflection, or of the largest of all."""
    by_size = sorted(found, key=lambda place: -place[1])
    for top, _ in by_size:
        # odd Fourier coefficients about an axis of reflection vanish; as many as places tell measures apart
        lopsided = [sum(c * np.sin(k * (a - top)) for a, c in found) for k in range(1, 2 * len(found))]
        if np.abs(lopsided).max() <= _TOGETHER:
            return top
    return by_size[0][0]


def _legend(foot: Any, kinds: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    looks = {**_LOOKS, "degenerate": _DEGENERATE}
    shown = [kind for kind in looks if kind in kinds]
    dots = [Line2D([], [], color=looks[k][0], marker=looks[k][1], linestyle="", markersize=5) for k in shown]
    dots.append(Line2D([], [], color=INK, marker=f"${_MARK}$", linestyle="", markersize=6))
    legend(
        foot,
        handles=dots,
        labels=[*shown, "certified"],
        loc="center",
        ncols=len(dots),
    )
