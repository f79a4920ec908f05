"""Spectra of Hessians of energies over a parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from symflow.errors import InputError
from symflow.plot.style import INK, MUTED, Array, colour, label, legend, new_figure, tidy

#: Relative to the largest value of a panel: branches that differ by less are one.
_SAME = 1e-12
#: Smallest distance of two labels, as a share of the height of a panel.
_APART = 0.075


@dataclass(frozen=True, eq=False)
class Branch:
    """An eigenvalue as a function of the parameter.

    Attributes
    ----------
    values : ndarray, (B,)
    multiplicity : int
    """

    values: Array
    multiplicity: int


def hessian_spectra(
    panels: Mapping[str, Sequence[Branch]],
    beta: Array,
    ordinate: str,
    *,
    abscissa: str = r"$\beta$",
    columns: int = 3,
    threshold: float | None = None,
) -> Figure:
    r"""Draw eigenvalues of Hessians over a parameter, one panel per configuration.

    Positive eigenvalues are solid and orange, negative ones dashed and blue, those that vanish dotted and
    grey; at the right end of every branch stands its multiplicity. On the sphere a positive one is a
    direction in which an energy that is to be maximised still grows.

    Parameters
    ----------
    panels : mapping of str to sequence of Branch
        Title of a panel to its branches; equal ones are drawn once, with the sum of their multiplicities.
    beta : ndarray, (B,)
        Increasing.
    ordinate, abscissa : str
        Labels of the axes.
    columns : int
        Panels per row.
    threshold : float, optional
        Far below it the vertical axis is linear, far above logarithmic (asinh); by default it is linear.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no panel, or a branch has another number of values than ``beta``.
    """
    if not panels:
        raise InputError("panels: at least one panel is needed")
    for name, branches in panels.items():
        for k, branch in enumerate(branches):
            if branch.values.shape != beta.shape or beta.ndim != 1:
                raise InputError(
                    f"panels[{name!r}][{k}] has values of shape {branch.values.shape}; needed {beta.shape}"
                )
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(2.6 * columns + 0.5, 2.5 * rows + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes, (name, branches) in zip(grid.flat, panels.items(), strict=False):
        _panel(axes, merged(branches), beta, threshold)
        axes.set_title(name, fontsize=10)
        tidy(axes)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for k, axes in enumerate(grid.flat[: len(panels)]):
        if k + columns >= len(panels):
            axes.set_xlabel(abscissa)
            axes.xaxis.set_tick_params(labelbottom=True)
            label(axes.xaxis.label)
    for axes in grid[:, 0]:
        axes.set_ylabel(ordinate)
        label(axes.yaxis.label)
    _legend(figure)
    return figure


def merged(branches: Sequence[Branch]) -> list[Branch]:
    """Return the branches with equal ones put together, the largest at the end of the range first."""
    scale = max((float(np.abs(b.values).max()) for b in branches), default=0.0)
    found: list[Branch] = []
    for branch in branches:
        for k, other in enumerate(found):
            if np.abs(branch.values - other.values).max() <= _SAME * scale:
                found[k] = Branch(other.values, other.multiplicity + branch.multiplicity)
                break
        else:
            if branch.multiplicity:
                found.append(branch)
    return sorted(found, key=lambda b: -float(b.values[-1]))


_LOOKS: dict[str, tuple[str, Any]] = {
    r"$\lambda > 0$": (colour(1), "-"),
    r"$\lambda < 0$": (colour(0), "--"),
    r"$\lambda = 0$": (MUTED, ":"),
}


def _panel(axes: Any, branches: Sequence[Branch], beta: Array, threshold: float | None) -> None:
    scale = max(float(np.abs(b.values).max()) for b in branches) or 1.0
    axes.axhline(0.0, color=INK, linewidth=0.6)
    for branch in branches:
        values = branch.values
        kinds = (values > _SAME * scale, values < -_SAME * scale, np.abs(values) <= _SAME * scale)
        for here, (ink, dash) in zip(kinds, _LOOKS.values(), strict=True):
            grown = here.copy()  # with the point before, so that no gap is left at a change of sign
            grown[1:] |= here[:-1]
            axes.plot(beta, np.where(grown, values, np.nan), color=ink, linestyle=dash, linewidth=1.6)
    if threshold is not None:
        axes.set_yscale("asinh", linear_width=threshold)
    axes.margins(x=0.02, y=0.08)
    if threshold is not None:
        _powers(axes, threshold)
    _multiplicities(axes, branches)


def _powers(axes: Any, threshold: float) -> None:
    """Put ticks at zero and at the powers of ten beyond the threshold, without those between."""
    low, high = axes.get_ylim()
    first = math.ceil(math.log10(threshold))
    last = math.floor(math.log10(max(-low, high, threshold)))
    powers = range(first, last + 1)
    ticks = {sign * 10.0**k: rf"${'-' * (sign < 0)}10^{{{k}}}$" for k in powers for sign in (1, -1)}
    shown = {value: text for value, text in {0.0: "$0$", **ticks}.items() if low <= value <= high}
    axes.set_yticks(list(shown), list(shown.values()), math_fontfamily="cm")
    axes.set_yticks([], minor=True)


def _multiplicities(axes: Any, branches: Sequence[Branch]) -> None:
    """Write the multiplicities beside the right ends of the branches."""
    axes.get_ylim()  # settles the limits
    to_panel = axes.transScale + axes.transLimits
    ends = [float(to_panel.transform((0.0, b.values[-1]))[1]) for b in branches]
    for branch, height in zip(branches, spread(ends, _APART), strict=True):
        text = axes.text(
            1.01,
            height,
            rf"$\times{branch.multiplicity}$",
            transform=axes.transAxes,
            fontsize=8,
            color=INK,
            va="center",
        )
        text.set_math_fontfamily("cm")


def spread(heights: Sequence[float], least: float) -> list[float]:
    """Return decreasing heights moved as little as keeps neighbours apart.

    Examples
    --------
    >>> spread([0.5, 0.5, 0.0], 0.1)
    [0.55, 0.45, 0.0]
    """
    groups: list[tuple[float, int]] = []  # centre of some labels, and how many
    for height in heights:
        groups.append((height, 1))
        while len(groups) > 1:
            (one, few), (other, more) = groups[-2:]
            if one - other >= least * (few + more) / 2:
                break
            groups[-2:] = [((one * few + other * more) / (few + more), few + more)]
    return [centre + least * ((count - 1) / 2 - k) for centre, count in groups for k in range(count)]


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=ink, linestyle=dash, linewidth=1.6) for ink, dash in _LOOKS.values()]
    legend(figure, handles=lines, labels=list(_LOOKS), loc="outside lower center", ncols=3)
