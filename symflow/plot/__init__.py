"""Figures of Gaussian flows; every function takes arrays and returns a Matplotlib ``Figure``.

Nothing here touches Matplotlib's global state: no pyplot, no ``rcParams``.
"""

from symflow.plot.cone import cone
from symflow.plot.ellipses import ellipses
from symflow.plot.spectra import eigenvalues, matrix_spectra, spectrum_over_time
from symflow.plot.style import CovariancePath, save

__all__ = [
    "CovariancePath",
    "cone",
    "eigenvalues",
    "ellipses",
    "matrix_spectra",
    "save",
    "spectrum_over_time",
]
