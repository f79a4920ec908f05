"""Numbers over time, one curve each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from symflow.errors import InputError
from symflow.plot.style import Array, colour, label, legend, new_figure, tidy

_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))


def curves(
    panels: Mapping[str, Mapping[str, tuple[Array, Array]]],
    ordinate: str,
    *,
    scale: str = "log",
    abscissa: str = "$t$",
    shared: bool = True,
    title: str = "",
) -> Figure:
    """Draw named curves, one panel per group; the same name has the same colour in every panel.

    Parameters
    ----------
    panels : mapping of str to mapping of str to (ndarray, ndarray)
        Title of a panel to its curves, (t, values) by name.
    ordinate : str
        Label of the vertical axis.
    scale : str
        ``"log"`` or ``"linear"``, of the vertical axis.
    abscissa : str
        Label of the horizontal axis.
    shared : bool
        Whether the panels have one vertical axis.
    title : str

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no panel, or times and values of a curve differ in number.
    """
    if not panels:
        raise InputError("panels: at least one panel is needed")
    for name, lines in panels.items():
        for line, (t, values) in lines.items():
            if t.shape != values.shape or t.ndim != 1:
                raise InputError(
                    f"panels[{name!r}][{line!r}]: times have shape {t.shape} and values {values.shape}; "
                    f"needed the same (T,)"
                )
    names = list(dict.fromkeys(line for lines in panels.values() for line in lines))
    figure = new_figure(3.4 * len(panels) + 0.6, 3.2 + (0.3 if title else 0.0))
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=shared)[0]
    for axes, (name, lines) in zip(grid, panels.items(), strict=True):
        _panel(axes, name, lines, names)
        axes.set_yscale(scale)
        axes.set_xlabel(abscissa)
        tidy(axes)
    grid[0].set_ylabel(ordinate)
    label(grid[0].yaxis.label)
    handles = {
        text: handle for axes in grid for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    legend(
        figure,
        handles=[handles[text] for text in names],
        labels=names,
        loc="outside lower center",
        ncols=min(len(names), 3 * len(panels)),
    )
    if title:
        label(figure.suptitle(title, fontsize=11))
    return figure


def _panel(axes: Any, name: str, lines: Mapping[str, tuple[Array, Array]], names: list[str]) -> None:
    for line, (t, values) in lines.items():
        order = names.index(line)
        dash = _DASHES[order % len(_DASHES)]
        axes.plot(t, values, color=colour(order), linestyle=dash, linewidth=1.6, label=line)
    axes.set_title(name, fontsize=10)
