r"""Neighbourhoods that the direction of a covariance provably does not leave.

At an approximate equilibrium c of G, in coordinates y = R(Θ − c) with RᵀR = X the solution of a Lyapunov
equation for G'(c), a ball :math:`|y| \le r` is forward invariant if

.. math:: \mu_2(R\,G'(\Theta)R^{-1}) \le -\kappa < 0 \text{ on the ball}, \qquad |R\,G(c)| \le \kappa r,

because then :math:`|y|' \le -\kappa|y| + |R\,G(c)| \le 0` on its boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_lyapunov

from symflow.algebra.exact.balls import largest_eigenvalue_bound, midpoints, norm, upper
from symflow.longtime.projective import Field, State, floats, trace

#: Newton steps, each doubling the digits of a double's start.
_NEWTON = 5
#: Coarsest residual |G| at which an equilibrium is looked for.
_NEAR = 0.3


@dataclass(frozen=True, eq=False)
class Trap:
    """A forward invariant ball.

    Attributes
    ----------
    centre : flint.arb_mat
        c, exact.
    metric : ndarray
        R, whose floats are exact numbers.
    radius, contraction : flint.arb
        r and κ.
    box : flint.arb_mat
        A box in Θ that contains the ball.
    growth : flint.arb
        A ball that contains f = tr F on the box.
    """

    centre: Any
    metric: Any
    radius: Any
    contraction: Any
    box: Any
    growth: Any


def find_trap(field: Field, state: State) -> Trap | None:
    """Return a trap that holds the state, None where none is found."""
    from flint import arb_mat

    if not float(norm(field.at(state.theta)[0].entries())) < _NEAR * (1 + float(field.size)):
        return None
    centre = _equilibrium(field, state.theta)
    if centre is None:
        return None
    jacobian = floats(field.derivative(centre))
    if not np.isfinite(jacobian).all():
        return None
    rounding = len(jacobian) * np.finfo(float).eps * np.linalg.norm(jacobian)
    if np.linalg.eigvals(jacobian).real.max() >= -rounding:  # no contraction that could be verified
        return None
    X = solve_continuous_lyapunov(jacobian.T, -np.eye(len(jacobian)))
    try:
        metric = np.linalg.cholesky((X + X.T) / 2).T
    except np.linalg.LinAlgError:
        return None
    return _verified(field, state, centre, arb_mat(metric.tolist()))


def _equilibrium(field: Field, theta: Any) -> Any:
    """Return an exact point near which G vanishes, by Newton's method on midpoints."""
    from flint import arb_mat

    centre = theta
    for _ in range(_NEWTON):
        G, _ = field.at(centre)
        right = arb_mat([[value.mid()] for value in field.coordinates(G)])
        try:
            step = midpoints(field.derivative(centre)).solve(right)
        except ZeroDivisionError:
            return None
        size = float(norm(step.entries()))
        if not np.isfinite(size) or size > 1.0:
            return None
        centre = midpoints(centre - field.matrix([row[0] for row in step.tolist()]))
    return centre


def _verified(field: Field, state: State, centre: Any, R: Any) -> Trap | None:
    """Return the trap around ``centre`` in the metric R if every inequality holds in balls."""
    from flint import arb, arb_mat

    inverse = R.inv()
    away = arb_mat([[value] for value in field.coordinates(state.theta - centre)])
    radius = upper((norm((R * away).entries()) + norm(R.entries()) * state.error) * arb(1.01))
    residual = norm((R * arb_mat([[v] for v in field.coordinates(field.at(centre)[0])])).entries())
    radius = max(radius, upper(residual * 2**20), key=float)
    widths = [arb(0, 1) * upper(norm(row) * radius) for row in inverse.tolist()]
    box = centre + field.matrix(widths)
    transformed = R * field.derivative(box) * inverse
    middle = floats(transformed)
    bound = largest_eigenvalue_bound(transformed, float(np.linalg.eigvalsh(middle + middle.T)[-1] / 2))
    if not bound < 0 or not residual <= -bound * radius:
        return None
    return Trap(centre, R, radius, -bound, box, trace(field.quadratic(box)))
