"""Tokens: angles on the circle, frames of the sphere, numbers beside predictions, diagrams of phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from symflow.errors import InputError
from symflow.plot.style import FAINT, INK, MUTED, Array, colour, label, legend, new_figure, tidy

_SPHERE_SIZE = 2.1  #: of one frame, in inches
_BEHIND = 0.22  #: opacity of tokens on the far side


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


def circle_angles(panels: Mapping[str, tuple[Array, Array, Array]]) -> Figure:
    """Draw tokens of the circle by their angles over logarithmic time, above how many clusters they form.

    Parameters
    ----------
    panels : mapping of str to (ndarray (T,), ndarray (T, n, 2), ndarray (T,))
        Title of a panel to positive times, tokens, and number of clusters.

    Raises
    ------
    InputError
        If tokens do not lie in the plane.
    """
    _require(panels, 2)
    figure = new_figure(4.2 * len(panels), 4.2)
    grid = figure.subplots(2, len(panels), squeeze=False, sharex="col", height_ratios=(3, 1))
    for (upper, lower), (name, (t, x, count)) in zip(grid.T, panels.items(), strict=True):
        _angles(upper, t, x)
        upper.set_title(name, fontsize=10)
        lower.step(t, count, where="post", color=INK, linewidth=1.3)
        lower.set_yscale("log", base=2)
        lower.set_yticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
        lower.minorticks_off()
        lower.set_xscale("log")
        lower.set_xlim(t[0], t[-1])
        lower.set_xlabel("$t$")
        for axes in (upper, lower):
            tidy(axes)
    for axes, text in ((grid[0, 0], "angle"), (grid[1, 0], "clusters")):
        axes.set_ylabel(text)
        label(axes.yaxis.label)
    return figure


def _angles(axes: Any, t: Array, x: Array) -> None:
    angles = np.arctan2(x[..., 1], x[..., 0])
    jumps = np.abs(np.diff(angles, axis=0)) > np.pi  # the angle passes ±π: no line across the panel
    shown = np.where(np.vstack([np.zeros((1, x.shape[1]), bool), jumps]), np.nan, angles)
    order = np.argsort(angles[0])
    for place, token in enumerate(order):
        ink = _wheel(place / len(order))
        axes.plot(t, shown[:, token], color=ink, linewidth=0.9, alpha=0.9)
    axes.set_yticks([-np.pi, 0.0, np.pi], [r"$-\pi$", "$0$", r"$\pi$"])
    axes.set_ylim(-np.pi, np.pi)


def _wheel(share: float) -> Any:
    from matplotlib import colormaps

    return colormaps["twilight_shifted"](0.12 + 0.76 * share)


def sphere_frames(t: Array, x: Array, title: str = "") -> Figure:
    """Draw tokens of S² at some times, seen from one side; those on the far side are pale.

    Parameters
    ----------
    t : ndarray, (T,)
    x : ndarray, (T, n, 3)
    title : str

    Raises
    ------
    InputError
        If tokens do not lie in space.
    """
    _require({title: (t, x)}, 3)
    figure = new_figure(_SPHERE_SIZE * len(t), _SPHERE_SIZE + 0.3 + (0.3 if title else 0.0))
    for axes, time, tokens in zip(figure.subplots(1, len(t), squeeze=False)[0], t, x, strict=True):
        axes.add_patch(Circle((0.0, 0.0), 1.0, facecolor="#f4f6f9", edgecolor=MUTED, linewidth=0.8))
        _graticule(axes)
        right, up, towards = _view(tokens)
        back = towards < 0
        axes.scatter(right[back], up[back], s=16, color=colour(0), alpha=_BEHIND, linewidths=0)
        axes.scatter(right[~back], up[~back], s=22, color=colour(0), edgecolors="white", linewidths=0.5)
        axes.set_xlim(-1.06, 1.06)
        axes.set_ylim(-1.06, 1.06)
        axes.set_aspect("equal")
        axes.set_axis_off()
        label(axes.set_title(f"$t = {_in_tex(float(time))}$", fontsize=10))
    if title:
        label(figure.suptitle(title, fontsize=11))
    return figure


def _in_tex(number: float) -> str:
    mantissa, e, exponent = f"{number:.3g}".partition("e")
    if not e:
        return mantissa
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


def _view(points: Array) -> tuple[Array, Array, Array]:
    """Return coordinates to the right, up, and towards the reader, from a little above the equator."""
    tilt = np.deg2rad(22.0)
    x, y, z = np.moveaxis(points, -1, 0)
    return x, np.cos(tilt) * z + np.sin(tilt) * y, np.cos(tilt) * -y + np.sin(tilt) * z


def _graticule(axes: Any) -> None:
    turn = np.linspace(0.0, 2 * np.pi, 121)
    circles = [
        np.stack([np.cos(h) * np.cos(turn), np.cos(h) * np.sin(turn), np.full_like(turn, np.sin(h))], axis=-1)
        for h in np.deg2rad([-60, -30, 0, 30, 60])
    ]
    circles += [
        np.stack([np.cos(a) * np.cos(turn), np.sin(a) * np.cos(turn), np.sin(turn)], axis=-1)
        for a in np.deg2rad([0, 45, 90, 135])
    ]
    for circle in circles:
        right, up, towards = _view(circle)
        front = np.where(towards >= 0, right, np.nan)
        axes.plot(front, up, color=FAINT, linewidth=0.7)


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


def _require(panels: Mapping[str, tuple[Array, ...]], dim: int) -> None:
    if not panels:
        raise InputError("panels: at least one panel is needed")
    for name, (t, x, *_) in panels.items():
        if x.ndim != 3 or x.shape[::2] != (len(t), dim):
            raise InputError(f"panels[{name!r}]: tokens have shape {x.shape}; needed ({len(t)}, n, {dim})")
