"""Second derivatives of energies along geodesics of spaces of laws, at tokens and at Gaussian laws."""

from __future__ import annotations

from typing import Any

from symflow.curvature.along import SecondVariation, exact_tokens, float_tokens
from symflow.curvature.cloud import read_cloud
from symflow.curvature.gaussian_metrics import bures_variation, twisted_variation
from symflow.curvature.gaussians import GaussianLaw, GaussianVariation, read_gaussian
from symflow.curvature.tokens import Parameters, TokenEnergy, TwistedTokens
from symflow.curvature.twist import read_twist
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement

__all__ = ["SecondVariation", "second_variation"]

METRICS = ("wasserstein", "bures", "twisted")


def second_variation(
    energy: Any, metric: str, at: Any, weights: Any = None, *, V: Any = None, A: Any = None
) -> SecondVariation:
    r"""Return the second derivative of an energy along geodesics through a law.

    Parameters
    ----------
    energy : Energy
        Of :mod:`symflow.energies`, of the form :math:`\tfrac12\iint W\,d\mu d\mu + \int U\,d\mu`.
    metric : {"wasserstein", "bures", "twisted"}
        W₂ on laws of tokens (straight lines in ℝᵈ); W₂ on Gaussian laws; the metric
        :math:`\int\langle v, |M|v\rangle G_\mu\,d\mu`, :math:`M = AV^{-1}`,
        :math:`G_\mu(x) = \int e^{\langle Ax,y\rangle}d\mu(y)`, on either.
    at : array_like, (n, d), or Gaussian
        Tokens, or a law with ``mean`` and ``cov``. Integers, fractions and exact SymPy numbers give exact
        results, floats give floats.
    weights : array_like, (n,), optional
        Of the tokens; equal where left out.
    V, A : array_like, (d, d)
        Of the twisted metric: A symmetric, AV⁻¹ symmetric and definite. Where the energy is the exponential
        of a bilinear score, A is its matrix by default.

    Returns
    -------
    SecondVariation
        ``.form(v)``, ``.metric(v)``, ``.matrix``, ``.eigenvalues()``, ``.signature()``. A velocity of tokens
        is an array (n, d), whose entries in a row are the coordinates of ``.matrix``. A tangent of Gaussian
        laws is a pair of derivatives of mean and covariance, or the latter alone; its coordinates are the
        former, then the entries on and above the diagonal of the latter, row by row.

    Notes
    -----
    Straight lines are meant in ℝᵈ, for energies on the sphere too; there :func:`symflow.hessian` follows
    great circles. At a Gaussian law the exponential energy and the twisted metric are finite for Σ ≺ I only
    (for A = ±I), and for d ≥ 2 the optimal velocity of a Gaussian tangent is affine for multiples of the
    gradient :math:`|M|^{-1}\nabla\log G` alone; others are refused.

    Raises
    ------
    InputError
        If an argument is not usable, naming it and the remedy.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> from symflow.energies import Exponential
    >>> found = second_variation(Exponential([[-1]], [[1]]), "twisted", [[2]], V=[[1]])
    >>> found.form([[1]]), found.metric([[1]])  # |x|² − 1 per unit speed
    (3*exp(-4), exp(-4))
    """
    if hasattr(at, "mean") and hasattr(at, "cov"):
        return gaussian_at(energy, metric, at, weights, V, A)[0]
    tokens, twisted = tokens_at(energy, metric, at, weights, V, A)
    return exact_tokens(tokens, twisted) if tokens.cloud.exact else float_tokens(tokens, twisted)


def tokens_at(
    energy: Any, metric: str, at: Any, weights: Any, V: Any, A: Any
) -> tuple[TokenEnergy, TwistedTokens | None]:
    """Return the energy at a law of tokens, and the twisted metric where it is the one."""
    statement, exact = read_energy(energy, metric)
    if metric == "bures":
        raise InputError("metric = 'bures' is W₂ on Gaussian laws; give a Gaussian, or use 'wasserstein'")
    cloud = read_cloud(at, weights)
    d = cloud.tokens.shape[1]
    values = {symbol: exact[symbol.name] for symbol in statement.parameters}
    _refuse_sizes(statement, values, d)
    tokens = TokenEnergy(statement, Parameters(values, {statement.dimensions[0]: d}), cloud)
    if metric != "twisted":
        return tokens, None
    return tokens, TwistedTokens(read_twist(statement, exact, V, A, d), cloud)


def gaussian_at(
    energy: Any, metric: str, at: Any, weights: Any, V: Any, A: Any
) -> tuple[GaussianVariation, GaussianLaw]:
    """Return the second variation at a Gaussian law, and the law."""
    statement, exact = read_energy(energy, metric)
    if weights is not None:
        raise InputError("weights belong to tokens; leave them out for a Gaussian")
    law = read_gaussian(at)
    values = {symbol: exact[symbol.name] for symbol in statement.parameters}
    _refuse_sizes(statement, values, law.size)
    if metric != "twisted":
        return bures_variation(statement, values, law), law
    return twisted_variation(statement, values, law, read_twist(statement, exact, V, A, law.size)), law


def read_energy(energy: Any, metric: str) -> tuple[EnergyStatement, dict[str, Any]]:
    """Return the definition of an energy and its exact parameters; refuse another form or metric."""
    if metric not in METRICS:
        raise InputError(f"metric = {metric!r} is unknown; use {', '.join(map(repr, METRICS))}")
    statement = energy.statement()
    if statement.rest != 0:
        raise InputError(
            f"{statement.name} is more than ½∬W dμdμ + ∫U dμ; second variations are known for that form"
        )
    return statement, energy.exact()


def _refuse_sizes(statement: EnergyStatement, values: dict[Any, Any], d: int) -> None:
    """Refuse parameters that do not fit tokens with d coordinates."""
    for symbol, value in values.items():
        sizes = zip(getattr(symbol, "shape", ()), _shape(value), strict=False)
        if any(size == statement.dimensions[0] and found != d for size, found in sizes):
            raise InputError(
                f"{symbol.name} of the energy has shape {_shape(value)}, but the law lives in {d} dimensions"
            )


def _shape(value: Any) -> tuple[int, ...]:
    return (len(value), len(value[0])) if isinstance(value, list) else ()
