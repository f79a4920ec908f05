"""Histograms of the ranks that covariances tend to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from symflow.errors import InputError
from symflow.plot.style import MUTED, colour, label, legend, new_figure, tidy

_HATCHES = ("", "//", "..", "xx", "\\\\", "--", "++")  # a second sign beside the colour


def rank_histograms(
    panels: Mapping[str, Mapping[str, Sequence[int]]],
    expected: Mapping[str, int] | None = None,
    title: str = "",
) -> Figure:
    """Draw how often each rank was found, one panel per experiment and one bar per method.

    Parameters
    ----------
    panels : mapping of str to mapping of str to sequence of int
        Title of a panel to the ranks that each method reports, by the name of the method.
    expected : mapping of str to int, optional
        Rank that theory gives, by the title of the panel; a line marks it.
    title : str

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no panel, a panel has no method, or a rank is negative.
    """
    if not panels:
        raise InputError("panels: at least one panel is needed")
    for name, methods in panels.items():
        if not methods:
            raise InputError(f"panels[{name!r}]: at least one method is needed")
        for method, ranks in methods.items():
            if min(ranks, default=0) < 0:
                raise InputError(
                    f"panels[{name!r}][{method!r}]: {min(ranks)} is not a rank; give numbers ≥ 0"
                )
    figure = new_figure(3.0 * len(panels) + 0.4, 3.5 + (0.3 if title else 0.0))
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (name, methods) in zip(grid, panels.items(), strict=True):
        _panel(axes, name, methods, (expected or {}).get(name))
    grid[0].set_ylabel("draws")
    handles, names = grid[0].get_legend_handles_labels()
    columns = min(len(names), max(len(panels), 2))
    legend(figure, handles=handles, labels=names, loc="outside lower center", ncols=columns)
    if title:
        label(figure.suptitle(title, fontsize=11))
    return figure


def _panel(axes: Any, name: str, methods: Mapping[str, Sequence[int]], expected: int | None) -> None:
    highest = max(max(ranks, default=0) for ranks in methods.values())
    width = 0.8 / len(methods)
    if expected is not None:
        axes.axvspan(expected - 0.47, expected + 0.47, color=MUTED, alpha=0.15, label="rank by the theorem")
    for order, (method, ranks) in enumerate(methods.items()):
        counts = np.bincount(np.asarray(ranks, dtype=int), minlength=highest + 1)
        places = np.arange(highest + 1) + (order - (len(methods) - 1) / 2) * width
        axes.bar(
            places,
            counts,
            width,
            label=method,
            color=colour(order),
            hatch=_HATCHES[order % len(_HATCHES)],
            edgecolor="white",
            linewidth=0.5,
        )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("rank")
    axes.set_title(name, fontsize=10)
    tidy(axes)
    axes.grid(False, axis="x")
