r"""The velocity at a place straight from its definition, by quadrature.

.. math:: \Gamma(x) = b(x) + \sum \text{prefactor}\int v(y)\,w_\mu(x,y)\,d\mu(y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.models.statement import Statement
from symflow.verify.evaluate import Exact, Values
from symflow.verify.measures import Measure, gauss_hermite, lattice, log_kernel, score, together, velocity
from symflow.verify.places import Law, Place, Term, integrals

Array = NDArray[np.float64]

#: Γ(x) (m, d) at queries x (m, d), and the residual of what was iterated on the way.
Velocity = Callable[[Array], tuple[Array, float]]

#: Gauss–Hermite nodes per coordinate: 1600 points in the plane.
ORDER = 40


def velocity_at_fifty_digits(
    statement: Statement, values: Values, sizes: Mapping[str, int], place: Place, x: Any, ctx: Any
) -> Any:
    r"""Return Γ(x) for d = 1 by the trapezoidal rule, as a number of the context.

    On the line the rule converges like :math:`e^{-2\pi^2/h^2}` for a Gaussian of unit variance. For weights
    that are normalised nodes are placed around the tilted Gaussian, whose centre and width are read off the
    score by finite differences (they decide where the nodes lie, not what is summed).

    Parameters
    ----------
    statement : Statement
    values : mapping of str to ndarray
    sizes : mapping of str to int
        With ``d`` = 1.
    place : Place
        The laws that a token sees, with positive variances.
    x : number of ``ctx``
    ctx : mpmath context

    Raises
    ------
    InputError
        If weights are normalised by an iteration, or over several positions.
    """
    known = {statement.x.name: ctx.matrix([[x]])}
    total = Exact(values, sizes, ctx, known)(statement.background)[0, 0]
    for term in integrals(statement, values, sizes):
        line = _Line(statement, term, sizes, ctx, x)
        factor = Exact(term.values, sizes, ctx)(term.head.prefactor)
        if term.head.normalise == "none":
            part = ctx.fsum(ctx.mpf(law.weight) * line.average(law) for law in place.laws)
        else:
            part = line.normalised(_only(term, place))
        total += factor * part
    return total


class _Line:
    """One integral at one query on the real line."""

    def __init__(self, statement: Statement, term: Term, sizes: Mapping[str, int], ctx: Any, x: Any) -> None:
        self._statement, self._term, self._sizes, self._ctx, self._x = statement, term, sizes, ctx, x
        # e^{-2π²/h²} and e^{-(reach)²/2} both below 10^-digits
        digits = (ctx.dps + 5) * ctx.log(10)
        self._step, reach = ctx.pi * ctx.sqrt(2 / digits), ctx.sqrt(2 * digits)
        last = int(reach / self._step) + 1
        self._indices = range(-last, last + 1)

    def at(self, y: Any, *expressions: Any) -> list[Any]:
        """Return the values of expressions in x and y."""
        tokens = ((self._statement.x, self._x), (self._statement.y, y))
        known = {symbol.name: self._ctx.matrix([[value]]) for symbol, value in tokens}
        evaluate = Exact(self._term.values, self._sizes, self._ctx, known)
        return [evaluate(expr) for expr in expressions]

    def average(self, law: Law) -> Any:
        """Return ∫v k dμ."""
        ctx, head = self._ctx, self._term.head
        centre, width = ctx.mpf(float(law.mean[0])), ctx.sqrt(ctx.mpf(float(law.cov[0, 0])))
        total = ctx.mpf(0)
        for index in self._indices:
            z = self._step * index
            kernel, value = self.at(centre + width * z, head.kernel, head.value)
            total += ctx.exp(-z * z / 2) * kernel * value[0, 0]
        return total * self._step / ctx.sqrt(2 * ctx.pi)

    def normalised(self, law: Law) -> Any:
        """Return ∫v k dμ/∫k dμ."""
        ctx, head = self._ctx, self._term.head
        logarithm = log_kernel(head)
        mean, variance = ctx.mpf(float(law.mean[0])), ctx.mpf(float(law.cov[0, 0]))

        def exponent(y: Any) -> Any:
            return self.at(y, logarithm)[0] - (y - mean) ** 2 / (2 * variance)

        below, middle, above = exponent(mean - 1), exponent(mean), exponent(mean + 1)
        curvature = -(above - 2 * middle + below)
        width, centre = 1 / ctx.sqrt(curvature), mean + (above - below) / (2 * curvature)
        peak, mass, moment = exponent(centre), ctx.mpf(0), ctx.mpf(0)
        for index in self._indices:
            node = centre + width * self._step * index
            weight = ctx.exp(exponent(node) - peak)
            mass += weight
            moment += weight * self.at(node, head.value)[0][0, 0]
        return moment / mass


def on_lattice(statement: Statement, values: Values, sizes: Mapping[str, int], place: Place) -> Velocity:
    """Return Γ in float64 by the trapezoidal rule on lattices of ℝᵈ, for small d and covariances ≻ 0."""
    terms = integrals(statement, values, sizes)

    def nodes(term: Term, x: Array) -> Measure:
        if term.head.normalise == "none":
            parts = [lattice(law, law.mean, square_root(law.cov)) for law in place.laws]
            return together(parts, [law.weight for law in place.laws])
        law = _only(term, place)
        return lattice(law, *_tilted(statement, term, sizes, law, x))

    def field(x: Array) -> tuple[Array, float]:
        rows = [velocity(statement, terms, values, sizes, nodes, one[None]) for one in x]
        return np.concatenate([row for row, _ in rows]), 0.0

    return field


def on_grid(statement: Statement, values: Values, sizes: Mapping[str, int], place: Place) -> Velocity:
    """Return Γ in float64 with the law on a Gauss–Hermite product grid, on which kernels are scaled."""
    terms = integrals(statement, values, sizes)
    grid = together([gauss_hermite(law, ORDER) for law in place.laws], [law.weight for law in place.laws])
    return lambda x: velocity(statement, terms, values, sizes, grid, x)


def drift_from(place: Place, field: Velocity, noise: float) -> tuple[Array, Array, float]:
    r"""Return :math:`\alpha' = \Gamma(\alpha)`, :math:`\Sigma' = L\Sigma + \Sigma L^\top + 2\varepsilon I`,
    the columns of :math:`L\Sigma^{1/2}` being differences of the affine Γ, and the residual of the field.
    """
    root = square_root(place.own.cov)
    values, residual = field(np.vstack([place.own.mean, place.own.mean + root.T]))
    half = (values[1:] - values[0]).T @ root.T
    return values[0], half + half.T + 2 * noise * np.eye(len(root)), residual


def square_root(cov: Array) -> Array:
    """Return F with Σ = FFᵀ, for a singular Σ too."""
    weights, axes = np.linalg.eigh(cov)
    return np.asarray(axes * np.sqrt(np.maximum(weights, 0.0)))


def slope_and_tilt(
    statement: Statement, term: Term, sizes: Mapping[str, int], law: Law
) -> tuple[float, float]:
    r"""Return the logarithm of the weights' relative variance, and how far their moments are finite.

    .. math:: |\Sigma^{1/2}\nabla_ys(\alpha,\alpha)|^2, \qquad \lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2})

    The p-th moment of the weights is finite where p times the second is below one.
    """
    gradient, hessian = _differences(statement, term, sizes, law, law.mean[None], 1.0)
    root = square_root(law.cov)
    return float(gradient @ law.cov @ gradient), float(np.linalg.eigvalsh(root.T @ hessian @ root)[-1])


def mixed_part(statement: Statement, term: Term, sizes: Mapping[str, int], d: int) -> Array:
    """Return B of the score's term yᵀBx, by mixed differences, which are exact for a quadratic score."""
    corners = np.vstack([np.zeros(d), np.eye(d)])
    found = score(statement, term, sizes, corners, corners)
    return np.asarray(found[1:, 1:] - found[1:, :1] - found[:1, 1:] + found[0, 0]).T


def _only(term: Term, place: Place) -> Law:
    if len(place.laws) != 1 or term.head.normalise != "softmax":
        raise InputError(
            "weights that are normalised over positions, or by an iteration, are no single integral"
        )
    return place.own


def _tilted(
    statement: Statement, term: Term, sizes: Mapping[str, int], law: Law, x: Array
) -> tuple[Array, Array]:
    """Return centre and root of the covariance of e^{s(x,·)}μ."""
    step = float(np.sqrt(np.linalg.eigvalsh(law.cov)[0]))
    gradient, hessian = _differences(statement, term, sizes, law, x, step)
    covariance = np.linalg.inv(np.linalg.inv(law.cov) - hessian)
    return law.mean + covariance @ gradient, square_root((covariance + covariance.T) / 2)


def _differences(
    statement: Statement, term: Term, sizes: Mapping[str, int], law: Law, x: Array, step: float
) -> tuple[Array, Array]:
    """Return gradient and Hessian in y of the score at (x, α) by differences, exact for quadratics."""
    d = len(law.mean)
    both = step * np.stack([np.eye(d), -np.eye(d)])
    pairs = law.mean + both[:, None, :, None, :] + both[None, :, None, :, :]  # signs first

    def at(nodes: Array) -> Array:
        return score(statement, term, sizes, x, nodes.reshape(-1, d)).reshape(nodes.shape[:-1])

    ahead, behind = at(law.mean + both)
    found = at(pairs)
    hessian = (found[0, 0] - found[0, 1] - found[1, 0] + found[1, 1]) / (4 * step**2)
    return (ahead - behind) / (2 * step), (hessian + hessian.T) / 2
