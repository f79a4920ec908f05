"""Clusters on the circle: angles, energy and number of clusters over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.plot.style import PALETTE, Array, label, new_figure, tidy

_HALF = (-np.pi, 0.0, np.pi)
_LEAP = 0.9 * np.pi  # a line is broken where an angle leaps by more, around the circle


@dataclass(frozen=True, eq=False)
class CirclePath:
    """Tokens on the circle over time.

    Attributes
    ----------
    t : ndarray, (T,)
        Positive: the axis is logarithmic.
    x : ndarray, (T, n, 2)
    energy : ndarray, (T,)
    count : ndarray of int, (T,)
        How many clusters there are.
    """

    t: Array
    x: Array
    energy: Array
    count: NDArray[np.intp]

    def __post_init__(self) -> None:
        shapes = (self.x.shape[:1], self.energy.shape, self.count.shape)
        if self.x.shape[2:] != (2,) or any(shape != self.t.shape for shape in shapes):
            raise InputError(
                f"t {self.t.shape}, x {self.x.shape}, energy {self.energy.shape}, count {self.count.shape}: "
                "give (T,), (T, n, 2), (T,), (T,)"
            )
        if not (self.t > 0).all():
            raise InputError("t must be positive, because the axis of time is logarithmic; leave t = 0 out")


def staircases(paths: Mapping[str, CirclePath]) -> Figure:
    """Draw angles, energy and number of clusters over the logarithm of time, one column per path.

    Parameters
    ----------
    paths : mapping of str to CirclePath
        Titles to paths.

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
    figure = new_figure(3.9 * len(paths) + 0.4, 6.2)
    grid = figure.subplots(3, len(paths), squeeze=False, sharex="col", height_ratios=(1.7, 1.0, 1.0))
    for column, (name, path) in zip(grid.T, paths.items(), strict=True):
        _column(column, path)
        column[0].set_title(name, fontsize=10)
        column[-1].set_xlabel("$t$")
        for axes in column:
            axes.set_xscale("log")
            axes.set_xlim(path.t[0], path.t[-1])
            tidy(axes)
    for axes, text in zip(grid[:, 0], ("angle", r"energy $E_\beta$", "clusters"), strict=True):
        label(axes.set_ylabel(text))
    figure.align_ylabels()
    return figure


def _column(column: Any, path: CirclePath) -> None:
    angles, energy, count = column
    for theta in np.arctan2(path.x[..., 1], path.x[..., 0]).T:
        leaps = np.flatnonzero(np.abs(np.diff(theta)) > _LEAP) + 1
        angles.plot(
            np.insert(path.t, leaps, path.t[leaps]),
            np.insert(theta, leaps, np.nan),
            color=PALETTE[0],
            linewidth=0.9,
            alpha=0.7,
        )
    angles.set_ylim(-np.pi, np.pi)
    angles.set_yticks(_HALF, [r"$-\pi$", "$0$", r"$\pi$"])
    energy.plot(path.t, path.energy, color=PALETTE[1], linewidth=1.6)
    count.step(path.t, path.count, where="post", color=PALETTE[2], linewidth=1.6)
    count.set_ylim(0, None)
    count.yaxis.set_major_locator(MaxNLocator(4, integer=True))
