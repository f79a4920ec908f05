"""Figures of Gaussian flows and of tokens: functions take arrays and return a Matplotlib ``Figure``.

Nothing here touches Matplotlib's global state: no pyplot, no ``rcParams``.
"""

from importlib.util import find_spec

from symflow.errors import InputError

if find_spec("matplotlib") is None:
    raise InputError("figures need Matplotlib, which is not installed; run: pip install 'symflow[plot]'")

from symflow.plot.atlas import atlas
from symflow.plot.clusters import CirclePath, staircases
from symflow.plot.cone import cone
from symflow.plot.curves import curves
from symflow.plot.ellipses import ellipses
from symflow.plot.fits import Points, fits
from symflow.plot.hessians import Branch, hessian_spectra
from symflow.plot.landscape import Landscape, landscapes
from symflow.plot.noise import Band, Law, band_grid, cosine_clusters, laws
from symflow.plot.portrait import Portrait, phase_portrait
from symflow.plot.ranks import rank_histograms
from symflow.plot.spectra import eigenvalues, matrix_spectra, spectrum_over_time
from symflow.plot.sphere import cosine_spectra, polyhedra, sphere_movie
from symflow.plot.style import CovariancePath, save
from symflow.plot.tokens import Predicted, beside_prediction, phase_diagram

__all__ = [
    "Band",
    "Branch",
    "CirclePath",
    "CovariancePath",
    "Landscape",
    "Law",
    "Points",
    "Portrait",
    "Predicted",
    "atlas",
    "band_grid",
    "beside_prediction",
    "cone",
    "cosine_clusters",
    "cosine_spectra",
    "curves",
    "eigenvalues",
    "ellipses",
    "fits",
    "hessian_spectra",
    "landscapes",
    "laws",
    "matrix_spectra",
    "phase_diagram",
    "phase_portrait",
    "polyhedra",
    "rank_histograms",
    "save",
    "spectrum_over_time",
    "sphere_movie",
    "staircases",
]
