"""Wasserstein distances between Gaussian laws, between clouds of tokens, and along positions.

Every function returns a distance; its square has ``_squared`` in the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian

__all__ = [
    "bures",
    "bures_gradient",
    "bures_squared",
    "conditional_wasserstein",
    "conditional_wasserstein_squared",
    "covariance_root",
    "covariance_root_derivative",
    "wasserstein",
    "wasserstein_squared",
]


def bures_squared(a: Any, b: Any) -> float:
    r"""Return the squared Bures distance of two covariances.

    .. math:: \operatorname{tr}\bigl(A + B - 2(A^{1/2}BA^{1/2})^{1/2}\bigr)
              = \min_{U^\top U = I}\|F - GU\|^2, \qquad A = FF^\top,\ B = GG^\top

    The right-hand side is computed: it subtracts factors, not traces, so that it is exact to rounding for
    singular covariances and for covariances that are close to each other.

    Parameters
    ----------
    a, b : array_like, (d, d)
        Symmetric positive semidefinite.

    Raises
    ------
    InputError
        If an argument is no covariance or the sizes differ.

    Examples
    --------
    >>> bures_squared([[9.0]], [[4.0]])
    1.0
    """
    return _bures_squared(*_same_size(_covariance(a, "a"), _covariance(b, "b")))


def bures(a: Any, b: Any) -> float:
    r"""Return the Bures distance of two covariances, :math:`W_2(\mathcal N(0,A), \mathcal N(0,B))`.

    Parameters and errors are those of :func:`bures_squared`.

    Examples
    --------
    >>> bures([[9.0]], [[4.0]])
    1.0
    """
    return float(np.sqrt(bures_squared(a, b)))


def bures_gradient(a: Any, b: Any) -> Array:
    r"""Return the gradient of the squared Bures distance with respect to the first covariance.

    .. math:: \nabla_A\,W^2(A, B) = I - T, \qquad TAT = B,\ T \succeq 0

    Parameters
    ----------
    a : array_like, (d, d)
        Symmetric positive definite; at a singular covariance there is no gradient.
    b : array_like, (d, d)
        Symmetric positive semidefinite.

    Returns
    -------
    ndarray, (d, d)
        I minus the matrix T of the optimal transport map, finite also where eigenvalues coincide.

    Raises
    ------
    InputError
        If ``a`` is singular, or an argument is no covariance, or the sizes differ.

    Examples
    --------
    >>> bures_gradient([[4.0]], [[1.0]])
    array([[0.5]])
    """
    first, second = _same_size(_covariance(a, "a"), _covariance(b, "b"))
    if first.rank < first.dim:
        raise InputError(f"a has rank {first.rank} < {first.dim}: the distance has no gradient there")
    lower = np.linalg.cholesky(first.cov)
    inner = covariance_root(lower.T @ second.cov @ lower)
    half = np.linalg.solve(lower.T, inner)
    transport = np.linalg.solve(lower.T, half.T)
    return np.asarray(np.eye(first.dim) - 0.5 * (transport + transport.T))


def wasserstein_squared(a: Any, b: Any) -> float:
    r"""Return the squared Wasserstein distance of two laws.

    .. math:: W_2^2(\mathcal N(\alpha, A), \mathcal N(\beta, B)) = |\alpha-\beta|^2 + W^2(A, B), \qquad
              W_2^2\Bigl(\tfrac1n\sum\delta_{x_i}, \tfrac1n\sum\delta_{y_i}\Bigr)
              = \min_\sigma \tfrac1n\sum|x_i - y_{\sigma(i)}|^2

    On the line the minimum is the sorted one, which costs n log n; there the numbers may differ.

    Parameters
    ----------
    a, b : Gaussian, or array_like (n, d)
        Two Gaussian laws, or two clouds of tokens, equally many if d > 1.

    Raises
    ------
    InputError
        If the laws are of different kinds, sizes or numbers of tokens.

    References
    ----------
    Dowson, Landau, The Fréchet distance between multivariate normal distributions, 1982.

    Examples
    --------
    >>> wasserstein_squared(Gaussian([0], [[1]]), Gaussian([10], [[1]]))
    100.0
    """
    if isinstance(a, Gaussian) != isinstance(b, Gaussian):
        raise InputError("a and b must both be Gaussian laws or both be arrays of tokens (n, d)")
    if not isinstance(a, Gaussian):
        return _cloud_cost(_tokens(a, "a"), _tokens(b, "b"), 2.0)
    for name, law in (("a", a), ("b", b)):
        if law.positions is not None:
            raise InputError(f"{name} has positions; use conditional_wasserstein")
    _same_size(a, b)
    return float(np.sum((a.mean - b.mean) ** 2)) + _bures_squared(a, b)


def wasserstein(a: Any, b: Any, *, order: float = 2) -> float:
    """Return the Wasserstein distance of two laws.

    Parameters
    ----------
    a, b
        As for :func:`wasserstein_squared`.
    order : float, default 2
        p ≥ 1 of W_p; Gaussian laws have W₂ only.

    Raises
    ------
    InputError
        As :func:`wasserstein_squared`, and if the order is not usable.

    Examples
    --------
    >>> wasserstein(Gaussian([0], [[1]]), Gaussian([10], [[1]]))
    10.0
    >>> wasserstein([[0.0], [2.0]], [[1.0], [2.0]], order=1)
    0.5
    """
    if _order(order) == 2:
        return float(np.sqrt(wasserstein_squared(a, b)))
    if isinstance(a, Gaussian) or isinstance(b, Gaussian):
        raise InputError(f"order = {order!r}: of Gaussian laws only W_2 is known; give order=2 or tokens")
    return float(_cloud_cost(_tokens(a, "a"), _tokens(b, "b"), float(order)) ** (1.0 / order))


def conditional_wasserstein_squared(a: Any, b: Any, weights: Sequence[float] | None = None) -> float:
    r"""Return the squared conditional Wasserstein distance of two laws along positions.

    .. math:: d_2^2(\mu, \nu) = \int W_2^2(\mu^s, \nu^s)\,d\theta(s)

    Parameters
    ----------
    a, b : Gaussian, or array_like (n, d) or (n, m, d)
        With equally many positions n: Gaussian laws, one token, or a cloud of m tokens at each.
    weights : sequence of float, (n,), optional
        The law θ of the positions, e.g. ``Masked(...).weights(n)``; uniform by default.

    Raises
    ------
    InputError
        If a law has no positions, the numbers differ, or the weights are no probabilities.

    References
    ----------
    CACP25 (conditional Wasserstein distance of masked attention).

    Examples
    --------
    >>> a = Gaussian([[0.0], [0.0]], [[[1.0]], [[1.0]]])
    >>> b = Gaussian([[0.0], [2.0]], [[[1.0]], [[1.0]]])
    >>> conditional_wasserstein_squared(a, b)
    2.0
    """
    return _conditional_cost(a, b, weights, 2.0)


def conditional_wasserstein(
    a: Any, b: Any, weights: Sequence[float] | None = None, *, order: float = 2
) -> float:
    r"""Return the conditional Wasserstein distance :math:`(\int W_p^p(\mu^s, \nu^s)\,d\theta(s))^{1/p}`.

    Parameters
    ----------
    a, b, weights
        As for :func:`conditional_wasserstein_squared`.
    order : float, default 2
        p ≥ 1; two for Gaussian laws.

    Examples
    --------
    >>> conditional_wasserstein([[0.0], [1.0]], [[0.0], [3.0]], order=1)
    1.0
    """
    return float(_conditional_cost(a, b, weights, _order(order)) ** (1.0 / order))


def _conditional_cost(a: Any, b: Any, weights: Sequence[float] | None, order: float) -> float:
    """Return the mean over positions of the distances to the power ``order``."""
    if not (isinstance(a, Gaussian) or isinstance(b, Gaussian)):
        first, second = _placed(a, "a"), _placed(b, "b")
        if first.shape[::2] != second.shape[::2]:
            raise InputError(f"a has shape {first.shape}, b {second.shape}: positions and size must agree")
        theta = _weights(weights, len(first))
        costs = [_cloud_cost(x, y, order) for x, y in zip(first, second, strict=True)]
        return float(theta @ np.array(costs))
    if order != 2:
        raise InputError(f"order = {order!r}: of Gaussian laws only W_2 is known; give order=2 or tokens")
    for name, law in (("a", a), ("b", b)):
        if not isinstance(law, Gaussian) or law.positions is None:
            raise InputError(f"{name} must be a Gaussian with positions: mean (n, d), cov (n, d, d)")
    if a.mean.shape != b.mean.shape:
        raise InputError(f"a has mean of shape {a.mean.shape}, b of shape {b.mean.shape}; they must agree")
    theta = _weights(weights, len(a.mean))
    pairs = zip(zip(a.mean, a.cov, strict=True), zip(b.mean, b.cov, strict=True), strict=True)
    squares = [wasserstein_squared(Gaussian(*one), Gaussian(*other)) for one, other in pairs]
    return float(theta @ np.array(squares))


def covariance_root(cov: Any) -> Array:
    r"""Return the positive semidefinite square root :math:`\Sigma^{1/2}` in double precision.

    Parameters
    ----------
    cov : array_like, (d, d)
        Symmetric positive semidefinite; whole numbers are read as floats.

    Raises
    ------
    InputError
        If the matrix is not symmetric or has a negative eigenvalue.

    Examples
    --------
    >>> covariance_root([[4, 0], [0, 9]])
    array([[2., 0.],
           [0., 3.]])
    """
    values, axes = np.linalg.eigh(_covariance(cov, "cov").cov)
    root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    return np.asarray(0.5 * (root + root.T))


def covariance_root_derivative(cov: Any, direction: Any) -> Array:
    r"""Return the derivative of :math:`\Sigma^{1/2}` in a symmetric direction.

    .. math:: R\,\delta R + \delta R\,R = \delta\Sigma, \qquad R = \Sigma^{1/2}

    Parameters
    ----------
    cov : array_like, (d, d)
        Symmetric positive definite.
    direction : array_like, (d, d)
        Symmetric.

    Raises
    ------
    InputError
        If ``cov`` is singular, where the root is not differentiable, or a shape does not fit.

    Examples
    --------
    >>> covariance_root_derivative([[4.0]], [[1.0]])
    array([[0.25]])
    """
    law, moved = _covariance(cov, "cov"), real_array(direction, "direction")
    if moved.shape != law.cov.shape:
        raise InputError(f"direction must have shape {law.cov.shape} like cov, got {moved.shape}")
    if law.rank < law.dim:
        raise InputError(f"cov has rank {law.rank} < {law.dim}: its root is not differentiable there")
    values, axes = np.linalg.eigh(law.cov)
    roots = np.sqrt(values)
    inner = axes.T @ (0.5 * (moved + moved.T)) @ axes
    return np.asarray(axes @ (inner / (roots[:, None] + roots[None, :])) @ axes.T)


def _bures_squared(a: Gaussian, b: Gaussian) -> float:
    """Return min over orthogonal U of |F − GU|², the minimiser from the singular vectors of GᵀF."""
    d = a.dim
    f, g = (np.zeros((d, d)) for _ in range(2))
    f[:, : a.rank], g[:, : b.rank] = a.factor(), b.factor()
    left, _, right = np.linalg.svd(g.T @ f)
    return float(np.sum((f - g @ (left @ right)) ** 2))


def _cloud_cost(x: Array, y: Array, order: float) -> float:
    """Return W_p to the power p of two clouds: sorted on the line, else by the best assignment."""
    if x.shape[1] == y.shape[1] == 1:
        return _line_cost(np.sort(x[:, 0]), np.sort(y[:, 0]), order)
    if x.shape != y.shape:
        raise InputError(f"a has shape {x.shape}, b has shape {y.shape}; give equally many tokens")
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    cost = cdist(x, y, "sqeuclidean") if order == 2 else cdist(x, y) ** order
    rows, columns = linear_sum_assignment(cost)
    return float(cost[rows, columns].mean())


def _line_cost(x: Array, y: Array, order: float) -> float:
    """Return the integral of |F⁻¹ − G⁻¹|ᵖ of two sorted clouds, whose quantile functions are steps."""
    if len(x) == len(y):
        return float(np.mean(np.abs(x - y) ** order))
    n, m = len(x), len(y)
    ends = np.union1d(np.arange(n + 1) * m, np.arange(m + 1) * n)  # in units of 1/(nm), exactly
    pieces = np.diff(ends) / (n * m)
    return float(pieces @ np.abs(x[ends[:-1] // m] - y[ends[:-1] // n]) ** order)


def _order(order: float) -> float:
    if isinstance(order, bool) or not isinstance(order, (int, float)) or not 1 <= order < np.inf:
        raise InputError(f"order = {order!r} must be a finite number ≥ 1")
    return float(order)


def _placed(value: Any, name: str) -> Array:
    """Return clouds at positions; a matrix holds one token at each."""
    tokens = real_array(value, name)
    tokens = tokens[:, None, :] if tokens.ndim == 2 else tokens
    if tokens.ndim != 3 or tokens.size == 0:
        raise InputError(f"{name} must be a Gaussian with positions, or tokens (n, d) or (n, m, d)")
    return tokens


def _covariance(value: Any, name: str) -> Gaussian:
    """Return a centred law with this covariance, which checks it."""
    cov = np.atleast_2d(real_array(value, name))
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
        raise InputError(f"{name} must be a square matrix, got shape {cov.shape}")
    try:
        return Gaussian(np.zeros(cov.shape[0]), cov)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _same_size(a: Gaussian, b: Gaussian) -> tuple[Gaussian, Gaussian]:
    if a.dim != b.dim:
        raise InputError(f"a has dimension {a.dim}, b has {b.dim}; they must agree")
    return a, b


def _tokens(value: Any, name: str) -> Array:
    tokens = real_array(value, name)
    if tokens.ndim != 2 or tokens.size == 0:
        raise InputError(f"{name} must be a Gaussian or an array of tokens (n, d), got shape {tokens.shape}")
    return tokens


def _weights(weights: Sequence[float] | None, count: int) -> Array:
    if weights is None:
        return np.full(count, 1.0 / count)
    theta = real_array(weights, "weights")
    if theta.shape != (count,) or (theta < 0.0).any() or abs(theta.sum() - 1.0) > 1e-9:
        raise InputError(f"weights must be {count} numbers ≥ 0 with sum 1, got {theta.tolist()}")
    return theta
