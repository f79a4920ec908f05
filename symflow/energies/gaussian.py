"""Energies of Gaussian laws in numbers, from their derived closed forms."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.energies.atoms import Law, scalar_function, vector_function
from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.energies.energy import Energy
    from symflow.models.energies.statement import EnergyStatement

#: Asymmetry and negative eigenvalues up to this, relative to the largest entry, are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class GaussianValue:
    r"""An energy at :math:`\mathcal N(\alpha, \Sigma)` and its gradients.

    Attributes
    ----------
    value : float
    mean_gradient : ndarray, (d,)
        ∂F/∂α.
    cov_gradient : ndarray, (d, d)
        The symmetric ∂F/∂Σ, with dF = tr(∂F/∂Σ dΣ).
    """

    value: float
    mean_gradient: Array
    cov_gradient: Array


def gaussian_value(energy: Energy, mean: Any, cov: Any) -> GaussianValue:
    """Return the energy of a Gaussian law; parameters and errors are those of ``Energy.on_gaussian``."""
    alpha, sigma = _moments(mean, cov)
    form, value, gradients, curvatures = _functions(energy.statement())
    law = _law(energy, alpha, sigma)
    _require_domain(form, [curvature(law, {}) for curvature in curvatures], sigma, energy.name)
    number = float(value(law, {}))
    law = replace(law, values={**law.values, "F": number})
    found = [np.asarray(gradient(law, {})) for gradient in gradients]
    if not (np.isfinite(number) and all(np.isfinite(part).all() for part in found)):
        raise InputError("energy or gradient exceed the range of doubles; scale the law or the parameters")
    return GaussianValue(number, found[0][:, 0], 0.5 * (found[1] + found[1].T))


def _moments(mean: Any, cov: Any) -> tuple[Array, Array]:
    alpha, sigma = real_array(mean, "mean"), real_array(cov, "cov")
    if alpha.ndim != 1 or sigma.shape != (alpha.size, alpha.size):
        raise InputError(
            f"mean of shape {alpha.shape} and cov of shape {sigma.shape} must be (d,) and (d, d)"
        )
    scale = np.abs(sigma).max()
    if np.abs(sigma - sigma.T).max() > _ROUNDING * scale:
        raise InputError("cov is not symmetric; give (cov + cov.T)/2")
    smallest = float(np.linalg.eigvalsh(sigma)[0])
    if smallest < -_ROUNDING * scale:
        raise InputError(f"cov is not positive semidefinite: it has the eigenvalue {smallest:.6g}")
    return alpha, 0.5 * (sigma + sigma.T)


@functools.lru_cache(maxsize=64)
def _functions(statement: EnergyStatement) -> Any:
    from symflow.derive.energies.gaussian import gaussian_energy

    form = gaussian_energy(statement)
    gradients = [vector_function(part) for part in (form.mean_gradient, form.cov_gradient)]
    return form, scalar_function(form.value), gradients, [vector_function(c) for c in form.curvatures]


def _law(energy: Energy, alpha: Array, sigma: Array) -> Law:
    from symflow.energies.symbolic import law

    return law(
        energy.statement(), {**energy.values_by_name(), "alpha": alpha[:, None], "Sigma": sigma}, alpha[None]
    )


def _require_domain(form: Any, curvatures: list[Array], sigma: Array, name: str) -> None:
    """Refuse laws at which the energy is infinite."""
    weights, axes = np.linalg.eigh(sigma)
    if form.needs_density and weights[0] <= _ROUNDING * weights[-1]:
        raise InputError(f"cov is singular, so that the law has no density and {name} is +∞")
    factor = axes * np.sqrt(np.maximum(weights, 0.0))
    for curvature in curvatures:
        largest = float(np.linalg.eigvalsh(factor.T @ (0.5 * (curvature + curvature.T)) @ factor)[-1])
        if largest >= 1.0:
            raise InputError(
                f"{name} is infinite at this law: an average of exponentials diverges, since "
                f"λ_max(Σ^½CΣ^½) = {largest:.6g} is not below 1; choose a smaller cov"
            )
