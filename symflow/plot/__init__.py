"""Figures of Gaussian flows; every function takes arrays and returns a Matplotlib ``Figure``.

Nothing here touches Matplotlib's global state: no pyplot, no ``rcParams``.
"""

from importlib.util import find_spec

from symflow.errors import InputError

if find_spec("matplotlib") is None:
    raise InputError("figures need Matplotlib, which is not installed; run: pip install 'symflow[plot]'")

from symflow.plot.cone import cone
from symflow.plot.curves import curves
from symflow.plot.ellipses import ellipses
from symflow.plot.portrait import Portrait, phase_portrait
from symflow.plot.ranks import rank_histograms
from symflow.plot.spectra import eigenvalues, matrix_spectra, spectrum_over_time
from symflow.plot.style import CovariancePath, save

__all__ = [
    "CovariancePath",
    "Portrait",
    "cone",
    "curves",
    "eigenvalues",
    "ellipses",
    "matrix_spectra",
    "phase_portrait",
    "rank_histograms",
    "save",
    "spectrum_over_time",
]
