r"""The direction of a covariance: validated integration after projective rescaling.

With Σ = Θ/u, tr Θ = 1 and dτ = dt/u the equation :math:`\dot\Sigma = F(\Sigma)`, F homogeneous of degree two,
becomes

.. math:: \Theta' = G(\Theta) = F(\Theta) - f\,\Theta, \qquad u' = -f\,u, \qquad t' = u, \qquad
          f = \operatorname{tr}F(\Theta),

whose solutions exist for all τ as long as Θ stays bounded; a blow-up is u → 0. One step takes the Taylor
polynomial p at an exact point, bounds its defect d = sup|G(p) − p'| in ball arithmetic, and, with μ a bound
of the logarithmic norm of G' on a tube around p, the error by

.. math:: |\Theta - p|(h) \le (|\Theta - p|(0) + hd)\,e^{\max(\mu,0)h} .

Symmetric matrices have the coordinates :math:`(\Theta_{ii}, \sqrt2\,\Theta_{ij})`, in which the Frobenius
norm is Euclidean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.algebra.exact.balls import (
    frobenius,
    inflate,
    largest_eigenvalue_bound,
    midpoints,
    norm,
    upper,
)
from symflow.longtime.quadratic import QuadraticFlow

#: Working precision in bits, order of the Taylor polynomials, and the size wanted of their last term.
PRECISION = 256
ORDER = 48
_LAST_TERM_BITS = 200
#: No step is longer than this times 1/|G'|, so that exp(μh) stays small.
_LONGEST = 2.0
#: How much wider than the error at the start of a step the tube is that its logarithmic norm is bounded on.
_TUBE = 2**12


@dataclass(frozen=True, eq=False)
class Field:
    """G and its derivative for a quadratic flow, on balls and on floats."""

    flow: QuadraticFlow

    @cached_property
    def pairs(self) -> list[tuple[Any, Any]]:
        """(V_h, A_h) as ``flint.arb_mat``."""
        from flint import arb_mat

        return [(arb_mat(V), arb_mat(A)) for V, A in self.flow.pairs]

    @cached_property
    def size(self) -> Any:
        """Σ|V_h||A_h| in Frobenius norms: an upper bound."""
        return upper(sum(frobenius(V) * frobenius(A) for V, A in self.pairs))

    @property
    def dim(self) -> int:
        """Dimension d."""
        return self.flow.dim

    @cached_property
    def basis(self) -> list[tuple[int, int]]:
        """Positions (i, j), i ≤ j, of the coordinates."""
        return list(combinations_with_replacement(range(self.dim), 2))

    def quadratic(self, theta: Any) -> Any:
        """Return F(Θ)."""
        half = sum((V * theta * A * theta for V, A in self.pairs), theta * 0)
        return half + half.transpose()

    def at(self, theta: Any) -> tuple[Any, Any]:
        """Return (G(Θ), f(Θ))."""
        F = self.quadratic(theta)
        f = trace(F)
        return F - theta * f, f

    def is_stalled(self, theta: Any, tolerance: float) -> bool:
        """Whether |G(Θ)| and |f(Θ)| are below the tolerance times Σ|V||A|."""
        G, f = self.at(theta)
        return bool(frobenius(G) < self.size * tolerance and f.abs_upper() < self.size * tolerance)

    def derivative(self, theta: Any) -> Any:
        """Return G'(Θ) as a matrix in the coordinates."""
        from flint import arb, arb_mat

        root = arb(2).sqrt()
        f = trace(self.quadratic(theta))
        columns = []
        for i, j in self.basis:
            H = arb_mat(self.dim, self.dim)
            H[i, j] = H[j, i] = arb(1) if i == j else 1 / root
            half = sum((V * (H * (A * theta) + theta * (A * H)) for V, A in self.pairs), H * 0)
            change = half + half.transpose()
            columns.append(self.coordinates(change - theta * trace(change) - H * f))
        return arb_mat(columns).transpose()

    def coordinates(self, matrix: Any) -> list[Any]:
        """Return the coordinates of a symmetric matrix."""
        from flint import arb

        root = arb(2).sqrt()
        return [matrix[i, j] if i == j else root * matrix[i, j] for i, j in self.basis]

    def matrix(self, coordinates: Any) -> Any:
        """Return the symmetric matrix with these coordinates."""
        from flint import arb, arb_mat

        root = arb(2).sqrt()
        matrix = arb_mat(self.dim, self.dim)
        for (i, j), value in zip(self.basis, coordinates, strict=True):
            matrix[i, j] = matrix[j, i] = value if i == j else value / root
        return matrix

    def logarithmic_norm(self, box: Any) -> Any:
        """Return an upper bound of the logarithmic norm of G' on a box."""
        derivative = self.derivative(box)
        middle = floats(derivative)
        return largest_eigenvalue_bound(derivative, float(np.linalg.eigvalsh(middle + middle.T)[-1] / 2))


@dataclass(frozen=True, eq=False)
class State:
    """Θ within ``error`` (Frobenius) of the exact point ``theta``; u and t as balls."""

    theta: Any
    error: Any
    u: Any
    t: Any
    tau: float


@dataclass(frozen=True, eq=False)
class _Taylor:
    """Taylor coefficients of Θ and of u (with u(0) = 1), rounded to exact numbers."""

    theta: list[Any]
    u: list[Any]


class StepFailed(ArithmeticError):
    """No step length was found on which the error can be bounded."""


def start(flow: QuadraticFlow, sigma: Any) -> State:
    """Return the state of an exact covariance."""
    from flint import arb, arb_mat, ctx

    with ctx.workprec(PRECISION):
        enclosed = arb_mat(sigma)
        size = trace(enclosed)
        theta = enclosed * (1 / size)
        middle = midpoints(theta)
        return State(middle, frobenius(theta - middle), 1 / size, arb(0), 0.0)


def advance(field: Field, state: State) -> State:
    """Return the state one step later, with proved bounds.

    Raises
    ------
    StepFailed
        If no step is short enough.
    """
    taylor = _taylor(field, state.theta)
    h = _length(field, state, taylor)
    for _ in range(12):
        after = _bounded(field, state, taylor, h)
        if after is not None:
            return after
        h = h / 2
    raise StepFailed(f"the error of a step at τ = {state.tau:.4g} cannot be bounded")


def _taylor(field: Field, theta: Any) -> _Taylor:
    """Return the coefficients from the recurrence of F, f and G."""
    from flint import arb

    coefficients, left, right = [theta], [], []
    traces: list[Any] = []
    factor = [arb(1)]
    for k in range(ORDER):
        left.append([V * coefficients[k] for V, _ in field.pairs])
        right.append([A * coefficients[k] for _, A in field.pairs])
        half = theta * 0
        for i in range(k + 1):
            for U, W in zip(left[i], right[k - i], strict=True):
                half = half + U * W
        F = half + half.transpose()
        traces.append(trace(F))
        G = F
        growth = arb(0)
        for i in range(k + 1):
            G = G - coefficients[k - i] * traces[i]
            growth = growth + traces[i] * factor[k - i]
        coefficients.append(midpoints(G * (arb(1) / (k + 1))))
        factor.append((-growth / (k + 1)).mid())
    return _Taylor(coefficients, factor)


def _length(field: Field, state: State, taylor: _Taylor) -> Any:
    """Return a step for which the last terms are of the wanted size."""
    from flint import arb

    wanted = 2.0**-_LAST_TERM_BITS
    rates = []
    for order in (ORDER - 1, ORDER):
        size = max(float(frobenius(taylor.theta[order])), float(abs(taylor.u[order])), 1e-300)
        rates.append((wanted / size) ** (1.0 / order))
    stiff = float(np.linalg.norm(floats(field.derivative(state.theta)), 2))
    return arb(min(*rates, _LONGEST / max(stiff, 1e-300)))


def _bounded(field: Field, state: State, taylor: _Taylor, h: Any) -> State | None:
    """Return the state after h, or None where the tube is too narrow for the bound."""
    from flint import arb, arb_mat, arb_poly

    d = field.dim
    time = arb(h) / 2 + arb(0, 1) * (arb(h) / 2)  # [0, h]
    p = [[arb_poly([c[i, j] for c in taylor.theta]) for j in range(d)] for i in range(d)]
    box = arb_mat([[p[i][j](time) for j in range(d)] for i in range(d)])
    G, f = _field_polynomials(field, p)
    defect = norm((G[i][j] - p[i][j].derivative())(time) for i in range(d) for j in range(d))
    tube = (state.error + h * defect) * _TUBE
    inside = inflate(box, tube)
    mu = field.logarithmic_norm(inside)
    growth = upper((mu * h).exp()) if mu > 0 else arb(1)
    error = upper((state.error + h * defect) * growth)
    if not error < tube:
        return None
    # u: the defect of its polynomial, and f on the tube instead of on p
    factor = arb_poly(taylor.u)
    wrong = 4 * field.size * frobenius(inside) * tube
    rate = trace(field.quadratic(inside)).abs_upper()
    missed = (-(f * factor) - factor.derivative())(time).abs_upper() + wrong * factor(time).abs_upper()
    u_error = upper(h * missed * (rate * h).exp())
    spread = arb(0, 1) * u_error
    moved = arb_mat([[p[i][j](h) for j in range(d)] for i in range(d)])
    middle = midpoints(moved)
    return State(
        theta=middle,
        error=upper(error + frobenius(moved - middle)),
        u=state.u * (factor(h) + spread),
        t=state.t + state.u * (factor.integral()(h) + spread * h),
        tau=state.tau + float(h),
    )


def _field_polynomials(field: Field, p: list[list[Any]]) -> tuple[list[list[Any]], Any]:
    """Return (G(p), f(p)) as polynomials of balls."""
    from flint import arb_poly

    indices = range(field.dim)
    zero = arb_poly([0])
    half = [[zero for _ in indices] for _ in indices]
    for V, A in field.pairs:
        left = [[sum((p[k][j] * V[i, k] for k in indices), zero) for j in indices] for i in indices]
        right = [[sum((p[k][j] * A[i, k] for k in indices), zero) for j in indices] for i in indices]
        for i in indices:
            for j in indices:
                half[i][j] = sum((left[i][k] * right[k][j] for k in indices), half[i][j])
    F = [[half[i][j] + half[j][i] for j in indices] for i in indices]
    f = sum((F[i][i] for i in indices), zero)
    return [[F[i][j] - f * p[i][j] for j in indices] for i in indices], f


def trace(matrix: Any) -> Any:
    """Return the trace of a ``flint.arb_mat``."""
    return sum((matrix[i, i] for i in range(1, matrix.nrows())), matrix[0, 0])


def floats(matrix: Any) -> NDArray[np.float64]:
    """Return the midpoints as floats."""
    return np.array([[float(entry.mid()) for entry in row] for row in matrix.tolist()])
