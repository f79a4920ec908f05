r"""The plane with a multiple of a reflection as value: two Riccati equations.

Let d = 2, V = Vᵀ, tr V = 0 and A = xI + yV. In the eigenbasis of V, V = diag(ν, −ν) and A = diag(p, m), the
off-diagonal entry b of Σ is constant and the diagonal ones a, c solve

.. math:: \dot a = 2\nu(pa^2 + mb^2), \qquad \dot c = -2\nu(mc^2 + pb^2) .
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sympy import lambdify

from symflow.algebra.exact.numbers import AlgebraicNumber, Ball, BallMatrix, rational_latex
from symflow.algebra.exact.rational import (
    RationalMatrix,
    fmpq,
    fractions,
    identity,
    is_symmetric,
    is_zero,
    number_of,
    rational_root,
    to_sympy,
    trace,
    zeros,
)
from symflow.derive.steps import Formula
from symflow.errors import InputError
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import Holds, InitialVelocity
from symflow.longtime.curve import TIME, Array, WithoutCaches, finite
from symflow.longtime.quadratic import quadratic_flow
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime
from symflow.longtime.riccati import Riccati

_BITS = 256
_STATEMENT = (
    r"Let $d = 2$, $V = V^{\top}$, $\operatorname{tr}V = 0$, $A = xI+yV$, with the eigenvalues $\pm\nu$ "
    r"of $V$ and "
    r"the projectors $\Pi_\pm = \tfrac12(I\pm V/\nu)$ on its eigenvectors, $A\Pi_+ = p\Pi_+$, $A\Pi_- = "
    r"m\Pi_-$. "
    r"Then $N = \Pi_+\Sigma\Pi_-+\Pi_-\Sigma\Pi_+$ is constant, because $V\Sigma A\Sigma+\Sigma "
    r"A^{\top}\Sigma "
    r"V^{\top}$ has the block $(\nu-\nu)\,\Pi_+\Sigma A\Sigma\Pi_-$. With $b^2 = ac-\det\Sigma$, a "
    r"constant too, "
    r"$a = \operatorname{tr}(\Pi_+\Sigma)$ and $c = \operatorname{tr}(\Pi_-\Sigma)$ solve "
    r"$\dot a = 2\nu(pa^2+mb^2)$, $\dot c = -2\nu(mc^2+pb^2)$, and $\Sigma = a\Pi_++c\Pi_-+N$."
)


@dataclass(frozen=True, eq=False)
class _Data:
    exact: ExactProblem
    plus: RationalMatrix
    minus: RationalMatrix
    constant: RationalMatrix  # N
    a: Riccati
    c: Riccati
    starts: tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class ReflectionForm(WithoutCaches):
    """Σ(t) = a(t)Π₊ + c(t)Π₋ + N; ``form(t)`` returns (None, cov)."""

    data: _Data
    ends: float | None

    def Sigma(self, t: Any = TIME) -> Any:
        """Return Σ(t) as a SymPy matrix."""
        return self._symbolic.subs(TIME, t)

    @cached_property
    def _symbolic(self) -> Any:
        d = self.data
        a = number_of(d.starts[0]) + d.a.clock().expression
        c = number_of(d.starts[1]) + d.c.clock().expression
        return (a * to_sympy(d.plus) + c * to_sympy(d.minus) + to_sympy(d.constant)).applyfunc(
            lambda x: x.together()
        )

    @cached_property
    def _number(self) -> Any:
        return lambdify(TIME, self._symbolic, "mpmath")

    def __call__(self, t: float) -> tuple[Array | None, Array]:
        """Return the covariance at a time ≥ 0 before the blow-up."""
        if not 0.0 <= float(t) < (np.inf if self.ends is None else self.ends):
            raise InputError(f"t = {t!r} must be at least 0 and before the blow-up time {self.ends}")
        return finite(float(t), None, np.array(self._number(float(t)).tolist(), dtype=float))

    def to_latex(self) -> str:
        """Return the formulas in LaTeX."""
        return r"\Sigma(t) = a(t)\Pi_+ + c(t)\Pi_- + N"


def reflection(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a planar law whose value is a multiple of a reflection; None where it does not "
    "apply."""
    data = _read(exact)
    if data is None:
        return None
    limits = data.a.limit(), data.c.limit()
    t_star = _first(data.a.blow_up(), data.c.blow_up())
    limit = None if t_star is not None else _limit(data, limits)
    rank = None if limit is None else _rank(data, limits)
    hypotheses = (
        Hypothesis(r"$d = 2$, $V = V^{\top}$, $\operatorname{tr}V = 0$, $A = xI+yV$", "rational arithmetic"),
        Hypothesis(
            rf"$\dot a$ has the coefficients {_row(data.a)} and $\dot c$ {_row(data.c)} around the start",
            "rational arithmetic",
        ),
    )
    criterion = Criterion("reflection", _STATEMENT, "", hypotheses)
    form = ReflectionForm(data, None if t_star is None else float(t_star))
    formulas = [Formula(r"\Sigma(t)", r"a(t)\Pi_+ + c(t)\Pi_- + N")]
    formulas += [] if t_star is None else [Formula("t^*", t_star.to_latex())]
    formulas += [] if rank is None else [Formula(r"\operatorname{rank}\Sigma^*", str(rank))]
    velocity = data.plus * data.a.q0 + data.minus * data.c.q0
    solved = Holds(
        partial(_both_solved, data),
        "power series in ball arithmetic",
        "both Riccati equations at four times",
    )
    return LongTime(
        derivation=steps_of(exact, criterion, InitialVelocity(exact, velocity), formulas, solved),
        criterion=criterion,
        closed_form=form,
        limit=limit,
        limit_rank=rank,
        blow_up_time=t_star,
        global_in_time=t_star is None,
        witnesses={
            "projectors": (fractions(data.plus), fractions(data.minus)),
            "N": fractions(data.constant),
        },
        reason="the covariance has no limit: it blows up"
        if t_star is not None
        else "no blow-up: " + ("the limit exists" if limit is not None else "the covariance grows"),
    )


def _both_solved(data: _Data) -> bool:
    return bool(data.a.check().run().passed and data.c.check().run().passed)


def _read(exact: ExactProblem) -> _Data | None:
    flow = quadratic_flow(exact)
    if flow is None or exact.dim != 2:
        return None
    V = flow.pairs[0][0]
    A = sum((A for _, A in flow.pairs), zeros(2, 2))
    if any(other != V for other, _ in flow.pairs) or not is_symmetric(V) or trace(V) != 0 or is_zero(V):
        return None
    nu = rational_root(-V.det())
    half = A - identity(2) * (trace(A) / 2)
    if nu is None or not is_zero(half - V * (trace(half * V) / trace(V * V))):
        return None
    plus = (identity(2) + V * (1 / nu)) * (fmpq(1) / 2)
    minus = identity(2) - plus
    p, m = trace(A * plus), trace(A * minus)
    sigma = exact.sigma
    a, c = trace(plus * sigma), trace(minus * sigma)
    square = a * c - sigma.det()
    constant = plus * sigma * minus + minus * sigma * plus
    first = Riccati(2 * nu * (p * a * a + m * square), 4 * nu * p * a, 2 * nu * p)
    second = Riccati(-2 * nu * (m * c * c + p * square), -4 * nu * m * c, -2 * nu * m)
    return _Data(exact, plus, minus, constant, first, second, (a, c))


def _first(*times: AlgebraicNumber | Ball | None) -> AlgebraicNumber | Ball | None:
    """Return the earlier blow-up; where balls overlap, the ball that holds both."""
    known = [time for time in times if time is not None]
    if len(known) < 2:
        return known[0] if known else None
    balls = [time if isinstance(time, Ball) else time.ball(_BITS) for time in known]
    order = sorted(range(2), key=lambda i: balls[i].midpoint)
    if balls[order[0]].upper < balls[order[1]].lower:
        return known[order[0]]
    low, high = balls[order[0]].lower, max(ball.upper for ball in balls)
    return Ball((low + high) / 2, (high - low) / 2)


def _limit(data: _Data, limits: tuple[AlgebraicNumber | None, AlgebraicNumber | None]) -> Any:
    from flint import arb_mat, ctx

    a, c = limits
    if a is None or c is None:
        return None
    if a.is_rational and c.is_rational:
        shift = data.plus * fmpq(a.fraction()) + data.minus * fmpq(c.fraction())
        return to_sympy(data.exact.sigma + shift)
    with ctx.workprec(_BITS):
        moved = arb_mat(data.plus) * a.arb(_BITS) + arb_mat(data.minus) * c.arb(_BITS)
        return BallMatrix.of((arb_mat(data.exact.sigma) + moved).tolist())


def _rank(data: _Data, limits: Any) -> int | None:
    """Return the rank of the limit: exact where both entries are rational, else None."""
    a, c = limits
    if not (a.is_rational and c.is_rational):
        return None
    shift = data.plus * fmpq(a.fraction()) + data.minus * fmpq(c.fraction())
    return int((data.exact.sigma + shift).rank())


def _row(q: Riccati) -> str:
    return ", ".join(f"${rational_latex(value)}$" for value in q.coefficients)
