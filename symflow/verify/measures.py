r"""Averages over measures of finitely many points, straight from the definition of an integral.

.. math:: \mu = \sum_j m_j\,\delta_{y_j}

Clouds of tokens, lattices and Gauss–Hermite grids are such measures; what differs is only where the points
lie and what they weigh.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import exp

from symflow.errors import InputError, SymflowError
from symflow.models.statement import Head, Statement
from symflow.verify.evaluate import Batched
from symflow.verify.places import Law, Term

Array = NDArray[np.float64]

#: Mean distance from one of the marginals of a doubly stochastic scaling.
MARGINALS = 1e-13
_ITERATIONS = 2000


@dataclass(frozen=True, eq=False)
class Measure:
    """Points ``nodes`` (N, d) with the logarithms ``logs`` (N,) of what they weigh."""

    nodes: Array
    logs: Array


def together(measures: Sequence[Measure], weights: Sequence[float]) -> Measure:
    """Return the weighted sum of measures."""
    shifted = [m.logs + np.log(w) for m, w in zip(measures, weights, strict=True)]
    return Measure(np.concatenate([m.nodes for m in measures]), np.concatenate(shifted))


def cloud(nodes: Array) -> Measure:
    """Return the empirical law of tokens (n, d)."""
    return Measure(nodes, np.full(len(nodes), -np.log(len(nodes))))


def lattice(law: Law, centre: Array, root: Array) -> Measure:
    r"""Return the law on a lattice around ``centre`` along the columns of ``root``: the trapezoidal rule.

    Spacing 0.6 and reach 9 standard deviations: :math:`e^{-2\pi^2/0.36}` and :math:`e^{-81/2}` are both
    below 1e-17.
    """
    d = len(centre)
    axis = 0.6 * np.arange(-15, 16)
    nodes = centre + np.array(list(itertools.product(axis, repeat=d))) @ root.T
    shift = nodes - law.mean
    volume = np.linalg.slogdet(root)[1] - 0.5 * np.linalg.slogdet(2 * np.pi * law.cov)[1] + d * np.log(0.6)
    return Measure(nodes, volume - 0.5 * np.einsum("ni,ij,nj->n", shift, np.linalg.inv(law.cov), shift))


def gauss_hermite(law: Law, order: int) -> Measure:
    """Return the law on the product grid of ``order`` Gauss–Hermite nodes per coordinate."""
    points, weights = np.polynomial.hermite_e.hermegauss(order)
    d = len(law.mean)
    grid = np.array(list(itertools.product(points, repeat=d)))
    logs = np.array(list(itertools.product(np.log(weights / weights.sum()), repeat=d))).sum(axis=1)
    return Measure(law.mean + grid @ np.linalg.cholesky(law.cov).T, logs)


def score(statement: Statement, term: Term, sizes: Mapping[str, int], x: Array, y: Array) -> Array:
    """Return s(x_i, y_j), one row per query x (m, d) and one column per key y (n, d)."""
    return _of_pairs(log_kernel(term.head), statement, term, sizes, x, y)


def image(statement: Statement, term: Term, sizes: Mapping[str, int], y: Array) -> Array:
    """Return v(y_j) at keys y (n, d)."""
    tokens = {statement.y.name: y[:, :, None]}
    found = Batched(dict(term.values) | tokens, sizes)(term.head.value)
    return np.broadcast_to(found, (*y.shape, 1))[:, :, 0]


def log_kernel(head: Head) -> Any:
    """Return the logarithm of the kernel of a head whose weights are normalised.

    Raises
    ------
    InputError
        If the kernel is no exponential.
    """
    if not isinstance(head.kernel, exp):
        raise InputError(f"the kernel {head.kernel} is no exponential; verification cannot normalise it")
    return head.kernel.args[0]


def average(
    statement: Statement, term: Term, sizes: Mapping[str, int], measure: Measure, x: Array
) -> tuple[Array, float]:
    """Return one integral of the definition at queries, without its factor.

    Parameters
    ----------
    statement : Statement
    term : Term
        The head and its parameters.
    sizes : mapping of str to int
    measure : Measure
        μ.
    x : ndarray, (m, d)

    Returns
    -------
    tuple
        The averages (m, d), and how far the marginals of a doubly stochastic scaling are from one.
    """
    values = image(statement, term, sizes, measure.nodes)
    if term.head.normalise == "none":
        kernel = _of_pairs(term.head.kernel, statement, term, sizes, x, measure.nodes)
        return (np.exp(measure.logs) * kernel) @ values, 0.0
    logs, residual = measure.logs, 0.0
    if term.head.normalise == "sinkhorn":
        potential, residual = scaling(score(statement, term, sizes, measure.nodes, measure.nodes), logs)
        logs = logs + potential
    exponent = logs + score(statement, term, sizes, x, measure.nodes)
    weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return weights @ values / weights.sum(axis=1, keepdims=True), residual


def scaling(exponent: Array, logs: Array) -> tuple[Array, float]:
    r"""Scale a kernel to a doubly stochastic one by Sinkhorn's iteration.

    .. math:: a_i\sum_j e^{s_{ij}}b_jm_j = 1, \qquad b_j\sum_i m_ia_ie^{s_{ij}} = 1

    Parameters
    ----------
    exponent : ndarray, (n, n)
        s.
    logs : ndarray, (n,)
        log m, with total mass one.

    Returns
    -------
    tuple
        log b (n,), and the mean distance of the marginals from one.

    Raises
    ------
    SymflowError
        If the iteration does not converge.
    """
    rows = -_log_sum(exponent + logs, axis=1)
    columns = -_log_sum(exponent + (logs + rows)[:, None], axis=0)
    mass = np.exp(logs)
    kernel = np.exp(exponent + rows[:, None] + columns)  # what is left to do is of moderate size
    a, b = np.ones(len(logs)), np.ones(len(logs))
    for _ in range(_ITERATIONS):
        a = 1.0 / (kernel @ (b * mass))
        b = 1.0 / ((a * mass) @ kernel)
        residual = float(mass @ np.abs(a * (kernel @ (b * mass)) - 1.0))
        if residual <= MARGINALS:
            return columns + np.log(b), residual
    raise SymflowError(f"the scaling of {len(logs)} points is {residual:.1e} from doubly stochastic")


def velocity(
    statement: Statement, terms: Sequence[Term], values: Any, sizes: Mapping[str, int], law: Any, x: Array
) -> tuple[Array, float]:
    """Return Γ(x) (m, d) and the residual of the scalings, the law of the keys a measure.

    ``law`` is a :class:`Measure`, or a function of a term and the queries that returns the measure to use.
    """
    tokens = dict(values) | {statement.x.name: x[:, :, None]}
    total = np.broadcast_to(Batched(tokens, sizes)(statement.background), (*x.shape, 1))[:, :, 0]
    worst = 0.0
    for term in terms:
        factor = Batched(term.values, sizes)(term.head.prefactor)
        measure = law if isinstance(law, Measure) else law(term, x)
        part, residual = average(statement, term, sizes, measure, x)
        total = total + factor * part
        worst = max(worst, residual)
    return total, worst


def _of_pairs(
    expr: Any, statement: Statement, term: Term, sizes: Mapping[str, int], x: Array, y: Array
) -> Array:
    tokens = {statement.x.name: x[:, None, :, None], statement.y.name: y[None, :, :, None]}
    return np.broadcast_to(Batched(dict(term.values) | tokens, sizes)(expr), (len(x), len(y)))


def _log_sum(exponent: Array, axis: int) -> Array:
    top = exponent.max(axis=axis, keepdims=True)
    return np.asarray(np.squeeze(top, axis) + np.log(np.exp(exponent - top).sum(axis=axis)))
