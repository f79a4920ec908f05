r"""The tilted mean straight from its definition, by quadrature and by sampling.

.. math:: \Gamma(x) = \frac{\int v(y)\,e^{s(x,y)}\,d\mu(y)}{\int e^{s(x,y)}\,d\mu(y)} + b
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.models.statement import Statement
from symflow.verify.evaluate import Batched, Exact, Values

Array = NDArray[np.float64]


def velocity_at_fifty_digits(
    statement: Statement, values: Values, law: tuple[Array, Array], x: Any, ctx: Any
) -> Any:
    r"""Return Γ(x) for d = 1 by the trapezoidal rule, as a number of the context.

    On the line the rule converges like :math:`e^{-2\pi^2/h^2}` for a Gaussian of unit variance; nodes are
    placed around the tilted Gaussian, whose centre and width are read off the score by finite differences
    (they decide where the nodes lie, not what is summed).

    Parameters
    ----------
    statement : Statement
    values : mapping of str to ndarray
    law : tuple of ndarray
        α (1,) and Σ (1, 1), positive.
    x : number of ``ctx``
    ctx : mpmath context
    """
    sizes = {s.name: 1 for s in statement.dimensions}
    mean, variance = ctx.mpf(float(law[0][0])), ctx.mpf(float(law[1][0, 0]))

    def evaluate(expr: Any, y: Any) -> Any:
        return _Line(values, sizes, ctx, {statement.x.name: x, statement.y.name: y})(expr)

    def exponent(y: Any) -> Any:
        return evaluate(statement.score, y) - (y - mean) ** 2 / (2 * variance)

    below, middle, above = exponent(mean - 1), exponent(mean), exponent(mean + 1)
    curvature = -(above - 2 * middle + below)
    width, centre = 1 / ctx.sqrt(curvature), mean + (above - below) / (2 * curvature)
    # e^{-2π²/h²} and e^{-(reach)²/2} both below 10^-digits
    digits = (ctx.dps + 5) * ctx.log(10)
    step, reach = ctx.pi * ctx.sqrt(2 / digits), ctx.sqrt(2 * digits)
    peak, mass, moment = exponent(centre), ctx.mpf(0), ctx.mpf(0)
    for index in range(-int(reach / step) - 1, int(reach / step) + 2):
        node = centre + width * step * index
        weight = ctx.exp(exponent(node) - peak)
        mass += weight
        moment += weight * evaluate(statement.value, node)[0, 0]
    return moment / mass + evaluate(statement.background, mean)[0, 0]


class _Line(Exact):
    """:class:`Exact` with the two tokens given as numbers of the context, not as floats."""

    def __init__(self, values: Values, sizes: Mapping[str, int], ctx: Any, tokens: Mapping[str, Any]) -> None:
        super().__init__(values, sizes, ctx)
        self._tokens = tokens

    def symbol(self, expr: Any) -> Any:
        if expr.name in self._tokens:
            return self.ctx.matrix([[self._tokens[expr.name]]])
        return super().symbol(expr)


def velocity_on_lattice(
    statement: Statement, values: Values, sizes: Mapping[str, int], law: tuple[Array, Array], x: Array
) -> Array:
    """Return Γ(x) in float64 by the trapezoidal rule on a lattice of ℝᵈ, for small d and ``Sigma`` ≻ 0.

    Parameters
    ----------
    statement : Statement
    values : mapping of str to ndarray
    sizes : mapping of str to int
    law : tuple of ndarray
        α (d,) and Σ (d, d) of the token's law.
    x : ndarray, (d,)
    """
    alpha, Sigma = law
    d = len(alpha)

    def exponent(y: Array) -> Array:
        shift = y - alpha
        score = _score(statement, values, sizes, x, y)
        return np.asarray(score - 0.5 * np.einsum("ni,ij,nj->n", shift, np.linalg.inv(Sigma), shift))

    gradient, hessian = _differences(exponent, alpha, np.sqrt(np.linalg.eigvalsh(Sigma)[0]))
    covariance = np.linalg.inv(-hessian)
    centre = alpha + covariance @ gradient
    # Spacing 0.6 and reach 9 standard deviations: e^{-2π²/0.36} and e^{-81/2} are both below 1e-17.
    axis = 0.6 * np.arange(-15, 16)
    lattice = np.array(list(itertools.product(axis, repeat=d)))
    nodes = centre + lattice @ np.linalg.cholesky((covariance + covariance.T) / 2).T
    return _weighted(statement, values, sizes, nodes, exponent(nodes))[0]


def sampled_velocity(
    statement: Statement,
    values: Values,
    sizes: Mapping[str, int],
    law: tuple[Array, Array],
    x: Array,
    samples: int,
    rng: Any,
) -> tuple[Array, Array]:
    r"""Return the importance-weighted mean and its standard error, per component.

    .. math:: \hat\Gamma = \frac{\sum_i w_iv(y_i)}{\sum_iw_i}, \quad w_i = e^{s(x,y_i)}, \qquad
              \mathrm{se}^2 = \frac{\sum_i w_i^2(v(y_i)-\hat\Gamma)^2}{(\sum_iw_i)^2}

    Parameters
    ----------
    statement, values, sizes, law, x
        As for :func:`velocity_on_lattice`; here Σ may be singular.
    samples : int
    rng : numpy.random.Generator
    """
    alpha, Sigma = law
    weights, axes = np.linalg.eigh(Sigma)
    root = axes * np.sqrt(np.maximum(weights, 0.0))
    y = alpha + rng.normal(size=(samples, len(alpha))) @ root.T
    return _weighted(statement, values, sizes, y, _score(statement, values, sizes, x, y))


def score_slope(
    statement: Statement, values: Values, sizes: Mapping[str, int], law: tuple[Array, Array], x: Array
) -> float:
    r"""Return :math:`|\Sigma^{1/2}\nabla_ys(x,\alpha)|^2`, the log of the weights' relative variance."""
    alpha, Sigma = law
    gradient, _ = _differences(lambda y: _score(statement, values, sizes, x, y), alpha, 1.0)
    return float(gradient @ Sigma @ gradient)


def _score(statement: Statement, values: Values, sizes: Mapping[str, int], x: Array, y: Array) -> Array:
    tokens = {statement.x.name: x[:, None], statement.y.name: y[:, :, None]}
    return np.broadcast_to(Batched(dict(values) | tokens, sizes)(statement.score), (len(y),))


def _weighted(
    statement: Statement, values: Values, sizes: Mapping[str, int], y: Array, exponent: Array
) -> tuple[Array, Array]:
    tokens = {statement.y.name: y[:, :, None]}
    image = np.broadcast_to(Batched(dict(values) | tokens, sizes)(statement.value), (len(y), y.shape[1], 1))[
        :, :, 0
    ]
    weight = np.exp(exponent - exponent.max())
    mass = weight.sum()
    mean = weight @ image / mass
    error = np.sqrt((weight**2) @ (image - mean) ** 2) / mass
    return mean + Batched(values, sizes)(statement.background)[:, 0], error


def _differences(function: Any, at: Array, step: float) -> tuple[Array, Array]:
    """Return gradient and Hessian of a quadratic function by central differences, exact up to rounding."""
    d = len(at)
    shifts = step * np.eye(d)
    middle = function(at[None])[0]
    ahead, behind = function(at + shifts), function(at - shifts)
    hessian = np.empty((d, d))
    for i, j in itertools.product(range(d), repeat=2):
        both = function((at + shifts[i] + shifts[j])[None])[0]
        hessian[i, j] = (both - ahead[i] - ahead[j] + middle) / step**2
    return (ahead - behind) / (2 * step), (hessian + hessian.T) / 2
