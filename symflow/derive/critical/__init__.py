"""Hessians of energies of n tokens on spheres and on ℝᵈ, derived at symbolic size."""

from symflow.derive.critical.form import hessian_form as hessian_form
from symflow.derive.critical.metrics import metric_independence as metric_independence
