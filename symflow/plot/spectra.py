"""Spectra: eigenvalues of a covariance over time, and of the matrices that drive it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from symflow.errors import InputError
from symflow.plot.style import (
    INK,
    MUTED,
    Array,
    CovariancePath,
    colour,
    label,
    legend,
    new_figure,
    panel_size,
    tidy,
    time_colours,
)

#: Below this share of the largest value an eigenvalue is rounding noise and is not drawn.
_NOISE = 1e-15
#: A blow-up is drawn up to this multiple of the first trace.
_HIGHEST = 1e6


def eigenvalues(paths: Sequence[CovariancePath], title: str = "") -> Figure:
    r"""Draw the eigenvalues :math:`\lambda_i(\Sigma(t))` on a logarithmic scale, one panel per path.

    Parameters
    ----------
    paths : sequence of CovariancePath
        Where ``t_star`` is given, a line marks it.
    title : str

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no path.
    """
    if not paths:
        raise InputError("paths: at least one path is needed")
    columns = min(len(paths), 4)
    rows = -(-len(paths) // columns)
    panel = panel_size(columns)
    figure = new_figure(panel * columns, panel * rows + (0.3 if title else 0.0))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, path in zip(grid.flat, paths, strict=False):
        _eigenvalue_panel(axes, path)
    for axes in grid.flat[len(paths) :]:
        axes.set_visible(False)
    if title:
        label(figure.suptitle(title, fontsize=11))
    return figure


def _eigenvalue_panel(axes: Any, path: CovariancePath) -> None:
    values = np.linalg.eigvalsh(path.cov)[:, ::-1]
    kept = values[:, 0] <= _HIGHEST * values[0, 0]
    floor = _NOISE * values[kept].max()
    shown = np.where(values > floor, values, np.nan)
    for index in range(min(values.shape[1], 8)):
        name = rf"$\lambda_{{{index + 1}}}$" if values.shape[1] <= 8 else None
        axes.plot(path.t[kept], shown[kept, index], color=colour(index), linewidth=1.5, label=name)
    if path.t_star is not None:
        axes.axvline(path.t_star, color=MUTED, linestyle="--", linewidth=1, label=r"$t^*$")
    axes.set_yscale("log")
    axes.set_xlabel("$t$")
    axes.set_ylabel(r"eigenvalues of $\Sigma$")
    axes.set_title(path.label, fontsize=10)
    tidy(axes)
    if values.shape[1] <= 8:
        legend(axes)


def spectrum_over_time(path: CovariancePath, times: int = 6, rank: int | None = None) -> Figure:
    """Draw the whole spectrum of a large covariance at some times, and some eigenvalues over time.

    Parameters
    ----------
    path : CovariancePath
    times : int
        Number of spectra.
    rank : int, optional
        Rank of Σ; eigenvalues beyond it are zero and are not drawn.

    Returns
    -------
    Figure
    """
    values = np.linalg.eigvalsh(path.cov)[:, ::-1]
    count = rank or values.shape[1]
    shown = np.where(values > _NOISE * values[:, :1], values, np.nan)[:, :count]
    figure = new_figure(8.4, 3.3)
    left, right = figure.subplots(1, 2)
    chosen = np.unique(np.linspace(0, len(path.t) - 1, times).round().astype(int))
    span = Normalize(float(path.t[0]), float(path.t[-1]))
    for index in chosen:
        ink = time_colours()(span(path.t[index]))
        left.plot(np.arange(1, count + 1), shown[index], color=ink, linewidth=1.4)
    left.set_xlabel("index $i$")
    left.set_ylabel(r"$\lambda_i(\Sigma(t))$")
    bar = figure.colorbar(ScalarMappable(span, time_colours()), ax=left, pad=0.02)
    bar.set_label("$t$")
    label(bar.ax.yaxis.label)
    bar.outline.set_visible(False)
    followed = sorted({1, 2, 3, 10, 50, count // 2, count} & set(range(1, count + 1)))
    for order, number in enumerate(followed):
        right.plot(path.t, shown[:, number - 1], color=colour(order), label=rf"$\lambda_{{{number}}}$")
    right.set_xlabel("$t$")
    for axes in (left, right):
        axes.set_yscale("log")
        tidy(axes)
    legend(right, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def matrix_spectra(spectra: Mapping[str, tuple[Array, str]], title: str = "") -> Figure:
    """Draw sorted spectra of several matrices, one panel each.

    Parameters
    ----------
    spectra : mapping of str to (ndarray, str)
        Title of a panel to its values, in decreasing order, and the label of the vertical axis.  Positive
        values are drawn on a logarithmic scale, others on a linear one with the zero line.
    title : str

    Returns
    -------
    Figure
    """
    if not spectra:
        raise InputError("spectra: at least one spectrum is needed")
    columns = min(len(spectra), 2)
    rows = -(-len(spectra) // columns)
    figure = new_figure(4.2 * columns, 2.6 * rows + (0.3 if title else 0.0))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (name, (values, ordinate)) in zip(grid.flat, spectra.items(), strict=False):
        _spectrum_panel(axes, name, values, ordinate)
    for axes in grid.flat[len(spectra) :]:
        axes.set_visible(False)
    if title:
        label(figure.suptitle(title, fontsize=11))
    return figure


def _spectrum_panel(axes: Any, name: str, values: Array, ordinate: str) -> None:
    index = np.arange(1, len(values) + 1)
    marker = "o" if len(values) <= 12 else ""
    largest = float(np.abs(values).max(initial=0.0))
    nonzero = np.abs(values) > _NOISE * largest * len(values)
    if (values[nonzero] > 0).all() and nonzero.any():
        axes.plot(index[nonzero], values[nonzero], color=colour(0), linewidth=1.5, marker=marker)
        axes.set_yscale("log")
    else:
        axes.axhline(0.0, color=INK, linewidth=0.6)
        axes.plot(index, values, color=colour(0), linewidth=1.5, marker=marker)
    axes.set_xlim(0, len(values) + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("index $i$")
    axes.set_ylabel(ordinate)
    axes.set_title(name, fontsize=10)
    tidy(axes)
