r"""The self-coupling that a compiled kernel contains, against the equation that makes it optimal.

With :math:`C = E[(x-\alpha)(y-\alpha)^\top]`, x the query, the precision of (x, y) mixes the two by the score
alone:

.. math:: \Sigma^{-1}C\,(\Sigma - C^\top\Sigma^{-1}C)^{-1} = B^\top, \qquad s(x,y) = y^\top Bx + \dots
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.verify.definition import mixed_part, square_root
from symflow.verify.evaluate import Batched, context
from symflow.verify.measures import image
from symflow.verify.places import Term, integrals
from symflow.verify.points import Point
from symflow.verify.subject import Subject

Array = NDArray[np.float64]


def optimality(subject: Subject, point: Point) -> float:
    """Return the residual of the equation relative to B, divided by the condition of Σ.

    C is read off the compiled F' = LF: of a head with value Wy + m, LΣ is the factor of the head times WCᵀ,
    plus what the background contributes. The residual is computed to 50 digits.
    """
    (term,) = integrals(subject.statement, point.params, point.sizes)
    mean, cov = point.state
    cross = _cross_covariance(subject, term, point)
    mixed = mixed_part(subject.statement, term, point.sizes, len(mean))
    ctx = context()
    C, sigma, B = (ctx.matrix(m.tolist()) for m in (cross, cov, mixed))
    gain = ctx.inverse(sigma) * C
    residual = gain * ctx.inverse(sigma - C.T * gain) - B.T
    return float(ctx.mnorm(residual, "f") / ctx.mnorm(B, "f")) / float(np.linalg.cond(cov))


def _cross_covariance(subject: Subject, term: Term, point: Point) -> Array:
    mean, cov = point.state
    d = len(mean)
    root = square_root(cov)
    y = np.concatenate([mean, root.ravel()])
    out = np.empty_like(y)
    subject.compiled.bind("factor", dict(point.sizes) | _rank(subject, d), point.params)(0.0, y, out)
    half = out[d:].reshape(d, d) @ root.T - _background_slope(subject, point) @ cov
    corners = image(subject.statement, term, point.sizes, np.vstack([np.zeros(d), np.eye(d)]))
    weight = (corners[1:] - corners[0]).T
    factor = Batched(term.values, point.sizes)(term.head.prefactor)
    return np.asarray(np.linalg.solve(factor * weight, half).T)


def _rank(subject: Subject, d: int) -> dict[str, int]:
    """Return the size that the factor has beyond those of the flow: its number of columns."""
    names = subject.compiled.interface(subject.given).entry("factor").dimensions
    known = {symbol.name for symbol in subject.flow.dimensions}
    return {name: d for name in names if name not in known}


def _background_slope(subject: Subject, point: Point) -> Any:
    statement, d = subject.statement, len(point.state[0])
    corners = np.vstack([np.zeros(d), np.eye(d)])[:, :, None]
    values = Batched(dict(point.params) | {statement.x.name: corners}, point.sizes)(statement.background)
    found = np.broadcast_to(values, corners.shape)[:, :, 0]
    return (found[1:] - found[0]).T
