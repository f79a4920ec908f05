r"""Dimension one: with a layer and noise the variance solves a Riccati equation.

.. math:: \dot\Sigma = r(\Sigma) = 2\varepsilon + 2w\Sigma + 2a\Sigma^2, \qquad a = \sum_h v_hA_h
"""

from __future__ import annotations

from typing import Any

from sympy import ImmutableMatrix

from symflow.algebra.exact.numbers import AlgebraicNumber, rational_latex, real_root_at
from symflow.algebra.exact.rational import RationalMatrix, fraction, number_of, rational_matrix
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import SolvesClosedEquations
from symflow.longtime.curve import ClosedForm, RationalCurve
from symflow.longtime.quadratic import quadratic_heads
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime
from symflow.longtime.riccati import Riccati

_STATEMENT = (
    r"In dimension one $\dot\Sigma = r(\Sigma) = 2\varepsilon+2w\Sigma+2a\Sigma^2$ with $a = "
    r"\sum_hv_hA_h$. Then "
    r"$s = \Sigma-\Sigma_0$ solves $\dot s = q_0+q_1s+q_2s^2$, $q_0 = r(\Sigma_0)$, $q_1 = r'(\Sigma_0)$, "
    r"$q_2 = 2a$, and $s(t) = q_0T/(\omega-\tfrac12q_1T)$ with $T = \tanh(\omega t)$, "
    r"$4\omega^2 = q_1^2-4q_0q_2$. It tends to the first root of $r$ in the direction of $q_0$; where "
    r"there is "
    r"none it grows beyond bounds, in finite time exactly if $q_2 > 0$."
)


def line(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a law on the line; None where the equation is not quadratic."""
    flow = quadratic_heads(exact)
    if flow is None or exact.dim != 1:
        return None
    r0, r1, r2 = exact.diffusion * 2, exact.W[0, 0] * 2, flow.S[0, 0]
    x = exact.sigma[0, 0]
    q = Riccati(r0 + r1 * x + r2 * x * x, r1 + 2 * r2 * x, r2)
    t_star, shift = q.blow_up(), q.limit()
    limit = None if shift is None else _shifted((r0, r1, r2), shift, x)
    noisy = exact.diffusion != 0
    curve = RationalCurve.line(exact.sigma, _one())
    ends = None if t_star is None else float(t_star)
    closed = ClosedForm(curve, q.clock(), ends, None, r"\Sigma(t) = \Sigma_0 + s(t)")
    coefficients = ", ".join(rf"q_{i} = {rational_latex(c)}" for i, c in enumerate(q.coefficients))
    criterion = Criterion(
        "riccati", _STATEMENT, "", (Hypothesis(rf"${coefficients}$", "rational arithmetic"),)
    )
    formulas = [
        Formula(r"\Sigma(t)", rf"{rational_latex(x)} + s(t)"),
        Formula("s(t)", q.shown()),
    ]
    formulas += [] if t_star is None else [Formula("t^*", t_star.to_latex())]
    formulas += [] if limit is None else [Formula(r"\Sigma^*", limit.to_latex())]
    exact_limit = None if limit is None else ImmutableMatrix([[limit.to_sympy()]])
    return LongTime(
        derivation=steps_of(
            exact, criterion, SolvesClosedEquations(exact, curve, closed.clock), formulas, q.check()
        ),
        criterion=criterion,
        closed_form=closed,
        limit=exact_limit,
        limit_rank=_rank(limit, t_star),
        blow_up_time=t_star,
        steady_state=exact_limit if noisy else None,
        global_in_time=t_star is None,
        witnesses={"r": [number_of(value) for value in (r0, r1, r2)]},
        reason=_reason(t_star, limit, noisy),
    )


def _one() -> RationalMatrix:
    return rational_matrix([[1]])


def _shifted(coefficients: tuple[Any, Any, Any], shift: AlgebraicNumber, start: Any) -> AlgebraicNumber:
    """Return Σ₀ + s* as the root of r that it is; where s* = 0, Σ₀ itself."""
    from flint import fmpq_poly

    if shift.is_rational:
        return AlgebraicNumber.rational(shift.fraction() + fraction(start))
    return real_root_at(fmpq_poly(list(coefficients)), lambda bits: shift.arb(bits) + start)


def _rank(limit: AlgebraicNumber | None, t_star: Any) -> int | None:
    if limit is None:
        return None if t_star is None else 1
    return int(limit != 0)


def _reason(t_star: Any, limit: Any, noisy: bool) -> str:
    if limit is not None:
        return "no blow-up: the limit exists"
    none = "; no steady state is above the start" if noisy else ""
    if t_star is not None:
        return f"the variance has no limit: it blows up{none}"
    return f"no blow-up, and no limit: the variance grows{none}"
