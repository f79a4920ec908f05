"""Hessians of energies of n tokens on spheres and on ℝᵈ, derived at symbolic size.

===========  ============================================================================================
`structure`  an energy as functions of few numbers, from which second derivatives are assembled
`form`       :func:`hessian_form`: the quadratic form, step by step
`metrics`    :func:`metric_independence`: Hessians for other Riemannian metrics
`spectra`    eigenvalues at consensus, clusters, polygons and simplices in closed form
===========  ============================================================================================
"""

from symflow.derive.critical.form import hessian_form as hessian_form
from symflow.derive.critical.metrics import metric_independence as metric_independence
from symflow.derive.critical.spectra import cluster_spectrum as cluster_spectrum
from symflow.derive.critical.spectra import consensus_spectrum as consensus_spectrum
from symflow.derive.critical.spectra import polygon_spectrum as polygon_spectrum
from symflow.derive.critical.spectra import simplex_spectrum as simplex_spectrum
