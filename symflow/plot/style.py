"""What the figures share: paths, colours, and saving as SVG, PDF and PNG."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from symflow.errors import InputError

Array = NDArray[np.float64]

#: Okabe and Ito's colours, which readers with any colour vision can tell apart on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, MUTED, FAINT = "#222222", "#6b6b6b", "#d9d9d9"
_PNG_SCALE = 2.0


@dataclass(frozen=True, eq=False)
class CovariancePath:
    """A covariance over time, as the figures take it.

    Attributes
    ----------
    label : str
        Shown in legends; mathematics between ``$``.
    t : ndarray, (T,)
    cov : ndarray, (T, d, d)
    mean : ndarray, (T, d), or None
        Centres of ellipses; the origin where None.
    limit : ndarray, (d, d), or None
        A predicted limit, marked with a cross.
    t_star : float or None
        A predicted blow-up time, marked with a line.
    """

    label: str
    t: Array
    cov: Array
    mean: Array | None = None
    limit: Array | None = None
    t_star: float | None = None

    def __post_init__(self) -> None:
        if self.t.ndim != 1 or self.cov.shape[:1] != self.t.shape or self.cov.ndim != 3:
            raise InputError(
                f"path {self.label!r}: t has shape {self.t.shape} and cov {self.cov.shape}; needed (T,) "
                f"and (T, d, d)"
            )

    def require_plane(self) -> None:
        """Refuse a path whose covariances are not 2 × 2."""
        if self.cov.shape[1:] != (2, 2):
            raise InputError(
                f"path {self.label!r}: cov has shape {self.cov.shape}; this figure needs (T, 2, 2)"
            )


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure (inches) with its own canvas, unknown to pyplot."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def panel_size(count: int) -> float:
    """Return the width of one of ``count`` panels side by side, in inches."""
    return 2.3 if count > 2 else 3.6


def colour(index: int) -> str:
    """Return the palette's colour number ``index``, wrapping around."""
    return PALETTE[index % len(PALETTE)]


def time_colours() -> ListedColormap:
    """Return a map of even lightness that any colour vision can read, without the end too light for white."""
    return ListedColormap(colormaps["cividis"](np.linspace(0.0, 0.86, 256)))


def label(text: Any) -> None:
    """Set a Matplotlib text in the colours and mathematics font of the figures."""
    text.set_color(INK)
    text.set_math_fontfamily("cm")


def tidy(axes: Any) -> None:
    """Remove the box's upper and right side and calm grid and ticks."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(which="both", colors=MUTED, labelsize=9)
    axes.grid(True, color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        label(text)


def legend(axes: Any, **kwargs: Any) -> None:
    """Draw a frameless legend whose texts use the figures' fonts."""
    drawn = axes.legend(frameon=False, fontsize=9, **kwargs)
    for text in drawn.get_texts():
        label(text)


def save(figure: Figure, stem: Path, formats: Iterable[str] = ("svg", "pdf", "png")) -> list[Path]:
    """Write the figure as ``stem.svg``, ``stem.pdf`` and ``stem.png`` (twice the screen's resolution).

    Parameters
    ----------
    figure : Figure
    stem : Path
        Path without suffix; its folder exists.
    formats : iterable of str

    Returns
    -------
    list of Path
        The files, in the order of ``formats``.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout is settled; no need to solve for it once per format
    figure.set_facecolor("white")
    written = []
    for kind in formats:
        file = stem.with_name(f"{stem.name}.{kind}")
        figure.set_dpi(100 * _PNG_SCALE)  # the backends of vector graphics change it
        _WRITERS[kind](figure, file)
        written.append(file)
    return written


# ``savefig`` would draw every figure twice; the backends do it once.
def _write_png(figure: Figure, file: Path) -> None:
    FigureCanvasAgg(figure).print_png(file)  # type: ignore[no-untyped-call]


def _write_svg(figure: Figure, file: Path) -> None:
    FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})  # type: ignore[no-untyped-call]


def _write_pdf(figure: Figure, file: Path) -> None:
    FigureCanvasPdf(figure).print_pdf(file, metadata={"CreationDate": None})  # type: ignore[no-untyped-call]


_WRITERS = {"png": _write_png, "svg": _write_svg, "pdf": _write_pdf}
