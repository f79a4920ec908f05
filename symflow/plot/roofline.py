"""Rates of programs under what a machine allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from symflow.errors import InputError
from symflow.plot.style import INK, colour, label, legend, new_figure, tidy

_MARKERS = "osD^vP*X"  # a second sign beside the colour
_DECADE = 10.0


def roofline(
    points: Mapping[str, Sequence[tuple[float, float]]],
    speed: float,
    bandwidth: float,
    products: float | None = None,
) -> Figure:
    """Draw operations per second against operations per byte, under both roofs.

    Parameters
    ----------
    points : mapping of str to sequence of (float, float)
        Operations per byte and operations per second of each case, by program.
    speed : float
        Operations per second that the machine reaches at most.
    bandwidth : float
        Bytes per second.
    products : float, optional
        Operations per second of a product of large matrices, a lower roof.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no point, or a number is not positive and finite.
    """
    numbers = [("speed", speed), ("bandwidth", bandwidth)]
    numbers += [("products", products)] if products is not None else []
    numbers += [
        (f"points[{name!r}]", part) for name, pairs in points.items() for pair in pairs for part in pair
    ]
    for name, number in numbers:
        if not 0.0 < number < np.inf:
            raise InputError(f"{name}: {number} must be positive and finite")
    everywhere = [intensity for pairs in points.values() for intensity, _ in pairs]
    if not everywhere:
        raise InputError("points: at least one program with a case is needed")
    figure = new_figure(7.0, 4.0)
    axes = figure.subplots()
    ridge = speed / bandwidth
    x = np.geomspace(min(*everywhere, ridge) / _DECADE, max(*everywhere, ridge) * _DECADE, 200)
    axes.loglog(x, np.minimum(speed, bandwidth * x), color=INK, linewidth=1.2)
    if products is not None:
        axes.axhline(products, color=INK, linewidth=0.8, linestyle="dashed")
        products_say = f"{products / 1e9:.3g} Gop/s in products"
        label(
            axes.annotate(
                products_say, (x[-1], products), (0, -10), textcoords="offset points", fontsize=8, ha="right"
            )
        )
    roofs = {
        f"{speed / 1e9:.3g} Gop/s": ((x[-1], speed), (0, 4), "right"),
        f"{bandwidth / 1e9:.3g} GB/s": ((x[0], bandwidth * x[0]), (8, -3), "left"),
    }
    for text, (place, offset, side) in roofs.items():
        label(axes.annotate(text, place, offset, textcoords="offset points", fontsize=8, ha=side))
    for index, (name, pairs) in enumerate(points.items()):
        if pairs:
            axes.plot(
                *zip(*pairs, strict=True), _MARKERS[index % len(_MARKERS)], color=colour(index), label=name,
                markersize=5, linestyle="none",
            )  # fmt: skip
    axes.set_xlabel("operations per byte")
    axes.set_ylabel("operations per second")
    tidy(axes)
    legend(axes, loc="upper left", bbox_to_anchor=(1.0, 1.0))  # points may lie anywhere under the roofs
    return figure
