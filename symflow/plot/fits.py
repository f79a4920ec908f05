"""Measured points with error bars, and the lines they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from symflow.errors import InputError
from symflow.plot.style import Array, colour, label, legend, new_figure, tidy

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_SHORT = (
    300.0  # ends of a logarithmic axis, over each other, up to which numbers within a decade are labelled
)


@dataclass(frozen=True, eq=False)
class Points:
    """Measured numbers, and the line they are compared with.

    Attributes
    ----------
    x, y : ndarray, (P,)
    low, high : ndarray, (P,), or None
        Ends of the error bars.
    line : (ndarray, ndarray) or None
        Abscissae and ordinates of the line.
    """

    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    line: tuple[Array, Array] | None = None

    def __post_init__(self) -> None:
        bars = [bar.shape for bar in (self.low, self.high) if bar is not None]
        if self.x.ndim != 1 or any(shape != self.x.shape for shape in (self.y.shape, *bars)):
            raise InputError(f"x {self.x.shape}, y {self.y.shape}, bars {bars}: give (P,) each")
        if len(bars) == 1:
            raise InputError("low and high belong together; give both")


def fits(
    panels: Mapping[str, Mapping[str, Points]],
    abscissa: str,
    ordinate: str,
    *,
    scales: tuple[str, str] = ("linear", "log"),
    shared: bool = True,
) -> Figure:
    """Draw measured points and the lines they are compared with, one panel per group.

    Parameters
    ----------
    panels : mapping of str to mapping of str to Points
        Title of a panel to its points by name; mathematics between ``$``.
    abscissa, ordinate : str
        Labels of the axes.
    scales : (str, str)
        ``"linear"`` or ``"log"``, of the horizontal and the vertical axis.
    shared : bool
        Whether the panels have one vertical axis.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no panel.
    """
    if not panels:
        raise InputError("panels: at least one panel is needed")
    figure = new_figure(3.7 * len(panels) + 0.5, 3.5 + 0.22 * max(map(len, panels.values())))
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=shared)[0]
    for axes, (name, groups) in zip(grid, panels.items(), strict=True):
        for order, (text, points) in enumerate(groups.items()):
            _draw(axes, order, text, points)
        axes.set_xscale(scales[0])
        axes.set_yscale(scales[1])
        axes.set_xlabel(abscissa)
        axes.set_title(name, fontsize=10)
        tidy(axes)
        legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.17))
    for axis in (part for axes in grid for part in (axes.xaxis, axes.yaxis)):
        _mark(axis)
    label(grid[0].set_ylabel(ordinate))
    return figure


def _mark(axis: Any) -> None:
    """Label 1, 2, 5 of every decade on a short logarithmic axis, and only decades on a long one."""
    if axis.get_scale() != "log":
        return
    low, high = axis.get_view_interval()
    if high < _SHORT * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def _draw(axes: Any, order: int, text: str, points: Points) -> None:
    ink = colour(order)
    if points.line is not None:
        axes.plot(*points.line, color=ink, linewidth=1.3)
    bars = None
    if points.low is not None and points.high is not None:
        bars = np.stack([points.y - points.low, points.high - points.y])
    axes.errorbar(
        points.x,
        points.y,
        yerr=bars,
        linestyle="",
        marker=_MARKERS[order % len(_MARKERS)],
        markersize=5,
        color=ink,
        markeredgecolor="white",
        markeredgewidth=0.5,
        elinewidth=1.0,
        capsize=2.5,
        label=text,
    )
