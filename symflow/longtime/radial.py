r"""Radial solutions: a covariance that keeps its direction."""

from __future__ import annotations

from symflow.algebra.exact.numbers import AlgebraicNumber, rational_latex
from symflow.algebra.exact.rational import (
    fmpq,
    fraction,
    fractions,
    is_zero,
    number_of,
    psd_factor,
    to_sympy,
    trace,
)
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import InitialVelocity, SolvesClosedEquations
from symflow.longtime.curve import ClosedForm, RationalCurve, plain_clock
from symflow.longtime.quadratic import quadratic_flow
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime

_STATEMENT = (
    r"Let $\dot\Sigma = F(\Sigma)$ with $F$ homogeneous of degree two. If $F(\Sigma_0) = \lambda\Sigma_0$, "
    r"then $\Sigma(t) = \Sigma_0/(1-\lambda t)$: with $\rho = 1/(1-\lambda t)$ both sides are "
    r"$\lambda\rho^2\Sigma_0$. For $\lambda > 0$ it blows up at $t^* = 1/\lambda$, for $\lambda < 0$ it "
    r"tends to $0$ like $1/t$, for $\lambda = 0$ it is constant."
)


def radial(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a law on an invariant ray; None where Σ₀ is on none."""
    flow = quadratic_flow(exact)
    if flow is None:
        return None
    velocity = flow.rhs(exact.sigma)
    size = trace(exact.sigma)
    rate = trace(velocity) / size if size != 0 else fmpq(0)
    if velocity != exact.sigma * rate:
        return None
    factor = psd_factor(exact.sigma)
    assert factor is not None  # the reading made sure
    hypothesis = Hypothesis(
        rf"$F(\Sigma_0) = \lambda\Sigma_0$ with $\lambda = {rational_latex(rate)}$", "rational arithmetic"
    )
    criterion = Criterion("radial", _STATEMENT, "CACP25", (hypothesis,))
    t_star = AlgebraicNumber.rational(1 / fraction(rate)) if rate > 0 else None
    curve = RationalCurve((exact.sigma,), (fmpq(1), -rate))
    closed = ClosedForm(
        curve,
        plain_clock(),
        None if t_star is None else float(t_star),
        None,
        rf"\Sigma(t) = \frac{{1}}{{1-\lambda t}}\,\Sigma_0, \qquad \lambda = {rational_latex(rate)}",
    )
    ends = [] if t_star is None else [Formula("t^*", t_star.to_latex())]
    derivation = steps_of(
        exact,
        criterion,
        SolvesClosedEquations(exact, curve, closed.clock),
        [Formula(r"\Sigma(t)", rf"\frac{{1}}{{1-({rational_latex(rate)})t}}\,\Sigma_0"), *ends],
        InitialVelocity(exact, exact.sigma * rate),
    )
    witnesses = {"lambda": number_of(rate), "Sigma0": fractions(exact.sigma)}
    if t_star is not None:
        return LongTime(
            derivation,
            criterion,
            closed,
            limit_rank=factor.rank,
            direction=to_sympy(exact.sigma * (1 / size)),
            blow_up_time=t_star,
            global_in_time=False,
            witnesses=witnesses,
            reason="the covariance has no limit: it blows up",
        )
    limit = exact.sigma * (1 if rate == 0 else 0)
    return LongTime(
        derivation,
        criterion,
        closed,
        limit=to_sympy(limit),
        limit_rank=0 if is_zero(limit) else factor.rank,
        global_in_time=True,
        witnesses=witnesses,
        reason="no blow-up: the limit exists",
    )
