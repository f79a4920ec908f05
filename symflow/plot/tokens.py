"""Numbers of tokens beside predictions, and diagrams of phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from symflow.errors import InputError
from symflow.plot.style import MUTED, Array, colour, label, legend, new_figure, tidy


@dataclass(frozen=True, eq=False)
class Predicted:
    """A quantity as predicted, a curve, and as measured, points.

    Attributes
    ----------
    label : str
    curve : tuple of ndarray, (abscissae, values)
        Empty arrays where there is none.
    points : tuple of ndarray, (abscissae, values), or (abscissae, values, half lengths of error bars)
    """

    label: str
    curve: tuple[Array, Array]
    points: tuple[Array, ...] = ()


def beside_prediction(
    panels: Mapping[str, Sequence[Predicted]],
    abscissa: str,
    ordinate: str,
    *,
    scales: tuple[str, str] = ("linear", "linear"),
    shared: bool = True,
    measured: str = "measured",
) -> Figure:
    """Draw predictions as curves and what was measured as points, one panel per group.

    Parameters
    ----------
    panels : mapping of str to sequence of Predicted
    abscissa, ordinate : str
        Labels of the axes.
    scales : (str, str)
        Of the horizontal and the vertical axis.
    shared : bool
        Whether the panels share the vertical axis.
    measured : str
        What the points are called.

    Raises
    ------
    InputError
        If there is no panel.
    """
    if not panels:
        raise InputError("panels: at least one panel is needed")
    figure = new_figure(3.7 * len(panels) + 0.6, 3.4)
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=shared)[0]
    names = list(dict.fromkeys(item.label for items in panels.values() for item in items))
    for axes, (name, items) in zip(grid, panels.items(), strict=True):
        for item in items:
            _predicted(axes, item, colour(names.index(item.label)))
        axes.set_title(name, fontsize=10)
        axes.set_xscale(scales[0])
        axes.set_yscale(scales[1])
        axes.set_xlabel(abscissa)
        tidy(axes)
    grid[0].set_ylabel(ordinate)
    label(grid[0].yaxis.label)
    dots = any(len(item.points) == 2 for items in panels.values() for item in items)
    _legend_below(figure, grid, measured, dots)
    return figure


def _predicted(axes: Any, item: Predicted, ink: str) -> None:
    if len(item.curve[0]):
        axes.plot(*item.curve, color=ink, linewidth=1.5, label=item.label)
    if len(item.points) == 3:
        t, values, bars = item.points
        name = None if len(item.curve[0]) else item.label
        look = {"color": ink, "markersize": 4, "capsize": 2.5, "elinewidth": 1}
        axes.errorbar(t, values, bars, fmt="o", label=name, **look)
    elif item.points:
        axes.plot(*item.points, "o", color=ink, markersize=4, markerfacecolor="white", markeredgewidth=1.1)


def _legend_below(figure: Figure, grid: Any, measured: str, has_points: bool) -> None:
    from matplotlib.lines import Line2D

    handles = {
        text: handle for axes in grid for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if has_points:
        handles[measured] = Line2D([], [], marker="o", color=MUTED, linestyle="", markerfacecolor="white")
    legend(
        figure,
        handles=list(handles.values()),
        labels=list(handles),
        loc="outside lower center",
        ncols=min(len(handles), 3 * len(grid)),
    )


def phase_diagram(
    panels: Mapping[str, Array], beta: Array, t: Array, curve: tuple[Array, Array] | None = None
) -> Figure:
    r"""Draw shares in [0, 1] over time and β, one panel per group, with a curve t(β) over each.

    Parameters
    ----------
    panels : mapping of str to ndarray, (len(beta), len(t))
    beta, t : ndarray
        Increasing.
    curve : tuple of ndarray, (β, t), optional

    Raises
    ------
    InputError
        If the shape of a panel does not fit.
    """
    for name, shares in panels.items():
        if shares.shape != (len(beta), len(t)):
            raise InputError(
                f"panels[{name!r}] has shape {shares.shape}; needed {(len(beta), len(t))}, β and t"
            )
    figure = new_figure(3.1 * len(panels) + 0.8, 3.2)
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    image: Any = None
    for axes, (name, shares) in zip(grid, panels.items(), strict=True):
        image = axes.pcolormesh(t, beta, shares, vmin=0, vmax=1, cmap="cividis", rasterized=True)
        if curve is not None:
            axes.plot(curve[1], curve[0], color="white", linewidth=1.8)
            axes.plot(curve[1], curve[0], color=colour(1), linewidth=1.1, linestyle="--")
        axes.set_xlim(t[0], t[-1])
        axes.set_ylim(beta[0], beta[-1])
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("$t$")
        tidy(axes)
        axes.grid(False)
    grid[0].set_ylabel(r"$\beta$")
    label(grid[0].yaxis.label)
    bar = figure.colorbar(image, ax=list(grid), pad=0.02)
    bar.set_label("share of pairs that are close")
    label(bar.ax.yaxis.label)
    bar.outline.set_visible(False)
    return figure
