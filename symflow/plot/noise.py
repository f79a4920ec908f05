"""Tokens in common noise: curves with bands, cosines over time, laws of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from symflow.errors import InputError
from symflow.plot.style import (
    FAINT,
    MUTED,
    Array,
    colour,
    label,
    legend,
    new_figure,
    tidy,
    time_colours,
)

_DASHES = ("-", "--", "-.")
_BINS = 60


@dataclass(frozen=True, eq=False)
class Band:
    """A curve, and what lies around it.

    Attributes
    ----------
    t, middle : ndarray, (T,)
    low, high : ndarray, (T,), or None
        Ends of the band.
    colour, dash : int
        Numbers of the colour and of the line style.
    """

    t: Array
    middle: Array
    low: Array | None = None
    high: Array | None = None
    colour: int = 0
    dash: int = 0

    def __post_init__(self) -> None:
        sides = [side for side in (self.low, self.high) if side is not None]
        if len(sides) == 1 or any(part.shape != self.t.shape for part in (self.middle, *sides)):
            raise InputError(f"t has shape {self.t.shape}; middle, low and high need the same (T,)")


def band_grid(
    rows: Mapping[str, Mapping[str, Mapping[str, Band]]],
    ordinate: str,
    *,
    abscissa: str = "$t$",
    scale: str = "linear",
) -> Figure:
    """Draw curves with bands, one panel per row and column.

    Parameters
    ----------
    rows : mapping of str to mapping of str to mapping of str to Band
        Name of a row to titles of its panels to curves by name.
    ordinate, abscissa : str
        Labels of the axes.
    scale : str
        ``"linear"`` or ``"log"``, of the vertical axes.

    Raises
    ------
    InputError
        If there is no panel, or rows differ in their columns.
    """
    columns = list(next(iter(rows.values()), ()))
    if not columns or any(list(row) != columns for row in rows.values()):
        raise InputError("rows: at least one is needed, and all need the same columns")
    figure = new_figure(max(2.5 * len(columns) + 0.6, 4.4), max(1.9 * len(rows), 2.2) + 0.8)
    grid = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey="row")
    handles: dict[str, Any] = {}
    for number, (line, (name, row)) in enumerate(zip(grid, rows.items(), strict=True)):
        for axes, (title, bands) in zip(line, row.items(), strict=True):
            for text, band in bands.items():
                handles.setdefault(text, _band(axes, band))
            axes.set_yscale(scale)
            tidy(axes)
            if number == 0:
                label(axes.set_title(title, fontsize=10))
            if number == len(rows) - 1:
                label(axes.set_xlabel(abscissa))
        label(line[0].set_ylabel(f"{name}\n{ordinate}" if ordinate else name))
    legend(
        figure,
        handles=list(handles.values()),
        labels=list(handles),
        loc="outside lower center",
        ncols=min(len(handles), max(3, len(columns) + 1)),
    )
    return figure


def _band(axes: Any, band: Band) -> Any:
    ink = colour(band.colour)
    if band.low is not None and band.high is not None:
        axes.fill_between(band.t, band.low, band.high, color=ink, alpha=0.15, linewidth=0)
    dash = _DASHES[band.dash % len(_DASHES)]
    (line,) = axes.plot(band.t, band.middle, color=ink, linestyle=dash, linewidth=1.5)
    return line


def cosine_clusters(runs: Mapping[str, tuple[Array, Array]], times: int = 3) -> Figure:
    """Draw the cosines of all pairs over time, and matrices of cosines at some times, one row per run.

    Tokens are sorted by the leading eigenvector of the last matrix, so that clusters are blocks.

    Parameters
    ----------
    runs : mapping of str to (ndarray, ndarray)
        Name of a run to its times (T,) and unit tokens (T, n, d).
    times : int
        How many matrices: at equal distances, the last one at the end.

    Raises
    ------
    InputError
        If there is no run, or tokens do not have the shape (T, n, d).
    """
    if not runs:
        raise InputError("runs: at least one run is needed")
    for name, (t, x) in runs.items():
        if x.ndim != 3 or x.shape[:1] != t.shape:
            raise InputError(f"runs[{name!r}]: t {t.shape} and x {x.shape}; give (T,) and (T, n, d)")
    figure = new_figure(4.4 + 2.1 * times, 2.5 * len(runs) + 0.2)
    grid = figure.subplots(len(runs), times + 1, squeeze=False, width_ratios=[2.0] + [1.0] * times)
    norm = Normalize(-1.0, 1.0)
    for line, (name, (t, x)) in zip(grid, runs.items(), strict=True):
        gram = x @ np.swapaxes(x, -1, -2)
        _density(figure, line[0], t, gram, name)
        order = np.argsort(np.linalg.eigh(gram[-1])[1][:, -1])
        shown = np.linspace(0, len(t) - 1, times).round().astype(int)
        for axes, index in zip(line[1:], shown, strict=True):
            sorted_ = gram[index][np.ix_(order, order)]
            axes.imshow(sorted_, cmap="PuOr_r", norm=norm, interpolation="nearest")
            axes.set_xticks([])
            axes.set_yticks([])
            label(axes.set_title(f"$t = {t[index]:.3g}$", fontsize=10))
    bar = figure.colorbar(ScalarMappable(norm, "PuOr_r"), ax=grid[:, 1:], pad=0.02, fraction=0.03)
    _quiet(bar, r"$\langle x_i, x_j\rangle$")
    return figure


def _density(figure: Any, axes: Any, t: Array, gram: Array, name: str) -> None:
    """Draw the share of pairs by their cosine, over time."""
    pairs = gram[:, ~np.eye(gram.shape[-1], dtype=bool)]
    edges = np.linspace(-1.0, 1.0, _BINS + 1)
    share = np.stack([np.histogram(np.clip(row, -1.0, 1.0), edges)[0] for row in pairs], axis=1)
    share = share / pairs.shape[1]
    middle = 0.5 * (t[1:] + t[:-1])
    sides = np.concatenate([t[:1], middle, t[-1:]])
    norm = LogNorm(1.0 / pairs.shape[1] * 2, 1.0)
    shown = np.ma.masked_equal(share, 0.0)
    mesh = axes.pcolormesh(sides, edges, shown, cmap=time_colours(), norm=norm, rasterized=True)
    axes.set_xlabel("$t$")
    axes.set_ylabel(f"{name}\ncosine of a pair")
    tidy(axes)
    axes.grid(False)
    _quiet(figure.colorbar(mesh, ax=axes, pad=0.02), "share of pairs")


def _quiet(bar: Any, text: str) -> None:
    bar.set_label(text, fontsize=9)
    label(bar.ax.yaxis.label)
    bar.ax.tick_params(colors=MUTED, labelsize=8)
    bar.outline.set_visible(False)


@dataclass(frozen=True, eq=False)
class Law:
    """A law on an interval: a histogram of samples, and its density.

    Attributes
    ----------
    samples : ndarray, (N,)
    points, density : ndarray, (P,)
    """

    samples: Array
    points: Array
    density: Array


def laws(
    panels: Mapping[str, Mapping[str, Law]], abscissa: str, *, bins: int = 40, span: tuple[float, float]
) -> Figure:
    """Draw histograms and the densities that they are compared with, one panel per group.

    Parameters
    ----------
    panels : mapping of str to mapping of str to Law
        Title of a panel to its laws by name.
    abscissa : str
        Label of the horizontal axis.
    bins : int
        Of the histograms.
    span : (float, float)
        Ends of the axis and of the histograms.

    Raises
    ------
    InputError
        If there is no panel.
    """
    if not panels:
        raise InputError("panels: at least one panel is needed")
    figure = new_figure(3.5 * len(panels) + 0.5, 3.6)
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    edges = np.linspace(*span, bins + 1)
    names: dict[str, Any] = {}
    for axes, (title, group) in zip(grid, panels.items(), strict=True):
        for order, (name, law) in enumerate(group.items()):
            count, _ = np.histogram(law.samples, edges)
            height = count / len(law.samples) / np.diff(edges)
            axes.stairs(height, edges, color=colour(order), fill=True, alpha=0.25)
            inside = (law.points >= span[0]) & (law.points <= span[1])
            (line,) = axes.plot(
                law.points[inside],
                law.density[inside],
                color=colour(order),
                linewidth=1.5,
                linestyle=_DASHES[order % len(_DASHES)],
            )
            names.setdefault(name, line)
        axes.set_xlim(*span)
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel(abscissa)
        axes.set_title(title, fontsize=10)
        tidy(axes)
        axes.grid(True, color=FAINT, linewidth=0.5)
    label(grid[0].set_ylabel("density"))
    legend(
        figure, handles=list(names.values()), labels=list(names), loc="outside lower center", ncols=len(names)
    )
    return figure
