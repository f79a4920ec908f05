"""Energies at Gaussian laws: values, gradients in mean and covariance, and where they are finite."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from sympy import Add, Expr, MatAdd, MatrixSymbol, Mul, S, Symbol, exp, sift

from symflow.algebra.functionals.gaussian import on_gaussian
from symflow.algebra.functionals.nodes import TransportCost, law_functions
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import gradient
from symflow.derive.energies.transport import transport_on_gaussian
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement

#: Stands for the value of the energy in gradients that are multiples of it.
VALUE = Symbol("F", real=True)


@dataclass(frozen=True)
class GaussianEnergy:
    r"""An energy at :math:`\mathcal N(\alpha, \Sigma)`.

    Attributes
    ----------
    value : Expr
        F(α, Σ).
    mean_gradient, cov_gradient : MatrixExpr
        ∂F/∂α and the symmetric ∂F/∂Σ, which may contain the symbol ``F`` for the value.
    alpha, sigma : MatrixSymbol
    curvatures : tuple of MatrixExpr
        F is finite where λ_max(Σ^{1/2}CΣ^{1/2}) < 1 for each C.
    needs_density : bool
        Whether F is infinite for singular Σ.
    """

    value: Expr
    mean_gradient: Any
    cov_gradient: Any
    alpha: MatrixSymbol
    sigma: MatrixSymbol
    curvatures: tuple[Any, ...]
    needs_density: bool


@functools.lru_cache(maxsize=64)
def gaussian_energy(statement: EnergyStatement) -> GaussianEnergy:
    """Return an energy at Gaussian laws.

    Raises
    ------
    NotQuadratic, NotPolynomial, InputError
        If it has no closed form there.

    Examples
    --------
    >>> from symflow.models.energies.registry import energy_model
    >>> gaussian_energy(energy_model("entropy").statement()).cov_gradient
    -(1/2)*Sigma**(-1)
    """
    taken = {str(p.name) for p in statement.parameters}
    if clash := sorted(taken & {"alpha", "Sigma"}):
        raise InputError(f"parameter {clash[0]!r} has the name of a moment of the law; rename it")
    alpha, sigma = vector("alpha", dimension("d")), matrix("Sigma", dimension("d"), dimension("d"))
    costs, rest = _apart(statement.functional)
    found = on_gaussian(rest, alpha, sigma)
    parts = [transport_on_gaussian(cost, alpha, sigma) for cost in costs]
    value = Add(found.value, *(c * part.value for c, part in zip(costs.values(), parts, strict=True)))
    gradients = [_gradient(found.value, X, sigma) for X in (alpha, sigma)]
    for c, part in zip(costs.values(), parts, strict=True):
        gradients = [
            MatAdd(own, c * more).doit() for own, more in zip(gradients, part.gradients, strict=True)
        ]
    mean, cov = gradients
    return GaussianEnergy(value, mean, cov, alpha, sigma, found.curvatures, found.needs_density)


def _apart(functional: Expr) -> tuple[dict[Any, Any], Expr]:
    """Return the costs of transport with their factors, and what else there is."""
    costs: dict[Any, Any] = {}
    rest = []
    for term in Add.make_args(functional):
        nodes = [node for node in law_functions(term) if isinstance(node, TransportCost)]
        if not nodes:
            rest.append(term)
            continue
        factor = term / nodes[0]
        if len(nodes) > 1 or not factor.is_number:
            raise InputError(f"{term} is no multiple of a cost of transport")
        costs[nodes[0]] = costs.get(nodes[0], S.Zero) + factor
    return costs, Add(*rest)


def exponent_of(value: Any) -> tuple[Any, Any] | None:
    """Return c and u of a value c·exp(u), None for another one."""
    exponents, others = sift(Mul.make_args(value), lambda part: isinstance(part, exp), binary=True)
    return (Mul(*others), exponents[0].args[0]) if len(exponents) == 1 else None


def _gradient(value: Any, X: Any, sigma: Any) -> Any:
    """Return the gradient; that of a multiple of one exponential as a multiple of the value."""
    found = exponent_of(value)
    if found is not None and not found[0].has(X):
        slope = gradient(found[1], X, (sigma,))
        return MatAdd(*((VALUE * part).doit(deep=False) for part in MatAdd.make_args(slope))).doit(deep=False)
    return gradient(value, X, (sigma,))
