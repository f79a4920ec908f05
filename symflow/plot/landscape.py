"""Energies along geodesics, with their second derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from symflow.errors import InputError
from symflow.plot.style import INK, Array, colour, label, legend, new_figure, tidy


@dataclass(frozen=True, eq=False)
class Landscape:
    """An energy along a curve.

    Attributes
    ----------
    label : str
        Shown in the legend; mathematics between ``$``.
    t, energy, second : ndarray, (T,)
        Times, the energy, and its second derivative.
    """

    label: str
    t: Array
    energy: Array
    second: Array

    def __post_init__(self) -> None:
        if self.t.ndim != 1 or not self.t.shape == self.energy.shape == self.second.shape:
            raise InputError(
                f"landscape {self.label!r}: t, energy and second have shapes {self.t.shape}, "
                f"{self.energy.shape} and {self.second.shape}; needed the same (T,)"
            )


def landscapes(panels: Mapping[str, Sequence[Landscape]], ordinates: tuple[str, str] | None = None) -> Figure:
    r"""Draw energies along geodesics above their second derivatives, one column per group.

    Where the second derivative is negative the energy is not convex: there a band lies under both curves.

    Parameters
    ----------
    panels : mapping of str to sequence of Landscape
        Title of a column to its curves; the same label has the same colour in every column.
    ordinates : (str, str), optional
        Labels of the vertical axes, by default F and its second derivative.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no group, or one is empty.
    """
    if not panels or not all(panels.values()):
        raise InputError("panels: at least one group, and in each at least one landscape, is needed")
    names = list(dict.fromkeys(item.label for items in panels.values() for item in items))
    figure = new_figure(2.9 * len(panels) + 0.7, 4.4)
    grid = figure.subplots(2, len(panels), squeeze=False, sharex="col", height_ratios=(3, 2))
    for column, (title, items) in zip(grid.T, panels.items(), strict=True):
        for item in items:
            _drawn(column, item, names.index(item.label))
        _finished(column, title)
    for axes, text in zip(grid[:, 0], ordinates or ("$F(\\mu_t)$", r"$d^2F/dt^2$"), strict=True):
        axes.set_ylabel(text)
        label(axes.yaxis.label)
    _legend(figure, grid)
    return figure


def _drawn(column: Any, item: Landscape, order: int) -> None:
    ink = colour(order)
    for axes, values in zip(column, (item.energy, item.second), strict=True):
        bent = np.where(item.second < 0.0, values, np.nan)
        axes.plot(item.t, bent, color=ink, linewidth=7.0, alpha=0.25, solid_capstyle="butt")
        axes.plot(item.t, values, color=ink, linewidth=1.5, label=item.label)


def _finished(column: Any, title: str) -> None:
    upper, lower = column
    upper.set_title(title, fontsize=10)
    lower.set_xlabel("$t$")
    lower.axhline(0.0, color=INK, linewidth=0.7)
    for axes in column:
        axes.margins(x=0.02)
        tidy(axes)


def _legend(figure: Figure, grid: Any) -> None:
    handles = {
        text: handle
        for axes in grid[0]
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    legend(
        figure,
        handles=list(handles.values()),
        labels=list(handles),
        loc="outside lower center",
        ncols=min(len(handles), 2 * grid.shape[1]),
    )
