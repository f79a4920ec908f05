"""Tokens on the sphere of space, seen from far away: polyhedra, spectra of cosines, and a film."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import PillowWriter
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from symflow.errors import InputError
from symflow.plot.style import FAINT, INK, MUTED, PALETTE, Array, label, legend, new_figure, tidy

_VIEW = (30.0, 25.0)  # degrees: longitude and latitude of the eye
_BEHIND = 0.25  # opacity of what is on the far side
_ALIKE = 1e-3  # cosines of a spectrum that are closer are one


def polyhedra(panels: Mapping[str, tuple[Array, float]], columns: int = 4) -> Figure:
    """Draw tokens on the sphere and lines between those that are close, one panel per cloud.

    Parameters
    ----------
    panels : mapping of str to (ndarray (n, 3), float)
        Title of a panel to unit vectors, and the cosine from which on two of them are joined by a line. What
        is on the far side is pale.
    columns : int
        Panels per row.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no panel, or a cloud is not (n, 3).
    """
    if not panels:
        raise InputError("panels: at least one cloud is needed")
    for name, (x, _) in panels.items():
        _require_space(x, f"panels[{name!r}]", 2)
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(2.5 * columns, 2.75 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (name, (x, least)) in zip(grid.flat, panels.items(), strict=False):
        _globe(axes, _VIEW)
        _edges(axes, x, least)
        _tokens(axes, x, _VIEW)
        label(axes.set_title(name, fontsize=10))
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    return figure


def sphere_movie(
    path: Path, t: Array, x: Array, *, turn: float = 60.0, rate: int = 15, inches: float = 3.2
) -> Path:
    """Write a film of tokens on the sphere as an animated GIF.

    Parameters
    ----------
    path : Path
        File to write; its folder exists.
    t : ndarray, (T,)
        Times, shown above each picture.
    x : ndarray, (T, n, 3)
        Unit vectors.
    turn : float
        By how many degrees the eye travels around the sphere meanwhile.
    rate : int
        Pictures per second.
    inches : float
        Width and height; 100 pixels per inch.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the shapes do not fit.
    """
    _require_space(x, "x", 3)
    if t.shape != x.shape[:1]:
        raise InputError(f"t of shape {t.shape} and x of shape {x.shape}: give (T,) and (T, n, 3)")
    figure = new_figure(inches, inches)
    axes = figure.subplots()
    writer = PillowWriter(fps=rate)
    with writer.saving(figure, str(path), 100):
        for moment, cloud, eye in zip(t, x, _eyes(len(t), turn), strict=True):
            axes.clear()
            _globe(axes, eye)
            _tokens(axes, cloud, eye)
            label(axes.set_title(f"$t = {moment:.1f}$", fontsize=10))
            writer.grab_frame()
    return path


def cosine_spectra(panels: Mapping[str, tuple[Array, Array]], columns: int = 4) -> Figure:
    """Draw the cosines of all pairs in increasing order, and the exact values as lines.

    Parameters
    ----------
    panels : mapping of str to (ndarray, ndarray)
        Title of a panel to the cosines that were reached and those of the exact configuration, both (P,).
    columns : int
        Panels per row.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no panel, or the two differ in number.
    """
    if not panels:
        raise InputError("panels: at least one configuration is needed")
    for name, (found, exact) in panels.items():
        if found.shape != exact.shape or found.ndim != 1:
            raise InputError(
                f"panels[{name!r}]: {found.shape} cosines and {exact.shape} exact ones; give (P,) both"
            )
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(2.5 * columns, 2.6 * rows + 0.3)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for axes, (name, (found, exact)) in zip(grid.flat, panels.items(), strict=False):
        _spectrum(axes, name, np.sort(found), np.sort(exact))
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for row in grid:
        label(row[0].set_ylabel(r"$\langle x_i, x_j\rangle$"))
    handles, names = grid[0, 0].get_legend_handles_labels()
    legend(figure, handles=handles, labels=names, loc="outside lower center", ncols=2)
    return figure


def _spectrum(axes: Any, name: str, found: Array, exact: Array) -> None:
    levels = exact[np.concatenate([[True], np.diff(exact) > _ALIKE])]
    for order, level in enumerate(levels):
        axes.axhline(level, color=PALETTE[1], linewidth=1.2, label="exact" if order == 0 else None)
    share = (np.arange(found.size) + 0.5) / found.size
    axes.plot(share, found, "o", color=PALETTE[0], markersize=3.5, markeredgewidth=0, label="reached")
    axes.set_xlim(0, 1)
    axes.set_ylim(-1.1, 1.1)
    axes.set_xlabel("share of pairs")
    axes.set_title(name, fontsize=10)
    tidy(axes)


def _require_space(x: Array, name: str, axes: int) -> None:
    if x.ndim != axes or x.shape[-1] != 3:
        needed = "(n, 3)" if axes == 2 else "(T, n, 3)"
        raise InputError(f"{name} has shape {x.shape}; this figure needs {needed}")


def _eyes(count: int, turn: float) -> Iterator[tuple[float, float]]:
    for share in np.linspace(0.0, 1.0, count):
        yield _VIEW[0] + turn * float(share), _VIEW[1]


def _seen(x: Array, eye: Sequence[float]) -> Array:
    """Return right, up, and towards the eye, of points (..., 3)."""
    longitude, latitude = np.radians(eye)
    towards = np.array(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )
    right = np.array([-np.sin(longitude), np.cos(longitude), 0.0])
    return np.asarray(x @ np.stack([right, np.cross(towards, right), towards], axis=-1))


def _globe(axes: Any, eye: Sequence[float]) -> None:
    """Draw the outline, meridians and parallels."""
    axes.add_patch(Circle((0, 0), 1.0, facecolor="#fafafa", edgecolor=MUTED, linewidth=0.8, zorder=0))
    turn = np.linspace(0, 2 * np.pi, 181)
    ring = np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=-1)
    for height in np.sin(np.radians([-60, -30, 0, 30, 60])):
        _line(axes, ring * np.sqrt(1 - height**2) + [0, 0, height], eye)
    for angle in np.radians(np.arange(0, 180, 30)):
        upright = np.stack([ring[:, 0] * np.cos(angle), ring[:, 0] * np.sin(angle), ring[:, 1]], axis=-1)
        _line(axes, upright, eye)
    axes.set_aspect("equal")
    axes.set_xlim(-1.08, 1.08)
    axes.set_ylim(-1.08, 1.08)
    axes.set_axis_off()


def _line(axes: Any, points: Array, eye: Sequence[float]) -> None:
    right, up, depth = _seen(points, eye).T
    front = np.where(depth >= 0, right, np.nan)
    axes.plot(right, up, color=FAINT, linewidth=0.4, alpha=0.6, zorder=1)
    axes.plot(front, up, color=FAINT, linewidth=0.8, zorder=2)


def _edges(axes: Any, x: Array, least: float) -> None:
    first, second = np.nonzero(np.triu(x @ x.T >= least, 1))
    seen = _seen(x, _VIEW)
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        (x0, y0, z0), (x1, y1, z1) = seen[i], seen[j]
        near = z0 + z1 >= -1e-9
        axes.plot(
            [x0, x1],
            [y0, y1],
            color=INK,
            linewidth=1.0,
            alpha=0.9 if near else _BEHIND,
            zorder=4 if near else 3,
        )


def _tokens(axes: Any, x: Array, eye: Sequence[float]) -> None:
    right, up, depth = _seen(x, eye).T
    for near in (False, True):
        shown = (depth >= 0) == near
        axes.scatter(
            right[shown],
            up[shown],
            s=26,
            color=PALETTE[0],
            alpha=0.85 if near else _BEHIND,
            edgecolor="white",
            linewidth=0.5,
            zorder=6 if near else 3,
        )
