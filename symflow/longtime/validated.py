r"""Blow-up or decay of a quadratic flow by validated integration of its direction.

Once Θ is trapped where :math:`f \in [f_-, f_+]`, u = 1/ρ obeys :math:`u' = -fu`: for f₋ > 0 the remaining
time is :math:`\int u\,d\tau \in [u/f_+, u/f_-]`; for f₊ < 0 the law exists for all times and tends to zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.algebra.exact.numbers import Ball, BallMatrix
from symflow.algebra.exact.rational import fractions, is_zero, to_sympy, zeros
from symflow.derive.steps import Checked, Formula
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.longtime.assemble import steps_of, undecided
from symflow.longtime.checks import BlowsUpInCompiledFlow
from symflow.longtime.projective import ORDER, PRECISION, Field, State, StepFailed, advance, start
from symflow.longtime.quadratic import QuadraticFlow, quadratic_flow
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime
from symflow.longtime.trap import Trap, find_trap

#: Steps of a run, and how often a trap is looked for.
_STEPS = 400
_EVERY = 4
#: Relative width of the blow-up time at which a run stops.
_WIDTH = 1e-13
#: Where |G| and |f| are both below this times Σ|V||A|, the direction has stalled.
_STALLED = 5e-3
#: The largest matrices that are integrated in balls: the work grows like d⁶.
_WIDEST = 5

_STATEMENT = (
    r"Let $\dot\Sigma = F(\Sigma)$, $F$ homogeneous of degree two, and $\Sigma = \Theta/u$ with "
    r"$\operatorname{tr}\Theta = 1$, $d\tau = dt/u$, $f = \operatorname{tr}F(\Theta)$. Then "
    r"$\Theta' = F(\Theta)-f\Theta$, $u' = -fu$, $t' = u$. If $\Theta$ stays, from some $\tau_1$ on, in a "
    r"set where $f_- \le f \le f_+$: for $f_- > 0$, $\Sigma$ blows up at $t^* \in t(\tau_1) + "
    r"u(\tau_1)\,[1/f_+, 1/f_-]$; for $f_+ < 0$, $\Sigma$ exists for all times and tends to $0$ like $1/t$. "
    r"A ball $|R(\Theta-c)| \le r$ is such a set if $\mu_2(R\,G'R^{-1}) \le -\kappa < 0$ on it and "
    r"$|R\,G(c)| \le \kappa r$, $G(\Theta) = F(\Theta)-f\Theta$."
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A state inside a trap, and how many steps led to it."""

    state: State
    trap: Trap
    steps: int

    @property
    def blows_up(self) -> bool:
        """Whether f is positive on the trap."""
        return bool(self.trap.growth > 0)

    def time(self) -> Any:
        """Return a ball (flint.arb) that contains the blow-up time."""
        return self.state.t + self.state.u / self.trap.growth


def validated(exact: ExactProblem) -> LongTime | None:
    """Return a blow-up time in a ball, or decay, by validated integration; a reason where it fails."""
    from flint import ctx

    flow = quadratic_flow(exact)
    if flow is None or is_zero(exact.sigma):
        return None
    if exact.dim > _WIDEST:
        return undecided(
            exact, f"no criterion applies, and d = {exact.dim} > {_WIDEST} is not integrated in balls"
        )
    with ctx.workprec(PRECISION):
        found = follow(flow, exact.sigma)
        if isinstance(found, str):
            return undecided(
                exact, f"no criterion applies, and validated integration reached no trap: {found}"
            )
        return _result(exact, found)


def follow(flow: QuadraticFlow, sigma: Any) -> Outcome | str:
    """Integrate until the direction is trapped and the time is sharp; text says why that did not happen."""
    field, state = Field(flow), start(flow, sigma)
    best: Outcome | None = None
    for step in range(1, _STEPS + 1):
        try:
            state = advance(field, state)
        except StepFailed as error:
            return best or str(error)
        if step % _EVERY:
            continue
        trap = find_trap(field, state)
        if trap is None or not (trap.growth > 0 or trap.growth < 0):
            if best is None and field.is_stalled(state.theta, _STALLED):
                return "the direction approaches one in which growth, f, vanishes"
            continue
        best = Outcome(state, trap, step)
        if not best.blows_up:
            return best
        time = best.time()
        if float(time.rad()) <= _WIDTH * float(time.mid()):
            return best
    return best or f"the direction is not trapped after {_STEPS} steps (τ = {state.tau:.4g})"


def _result(exact: ExactProblem, found: Outcome) -> LongTime:
    trap, state = found.trap, found.state
    growth, time = Ball.of(trap.growth), Ball.of(found.time())
    hypotheses = (
        Hypothesis(
            rf"$\Theta(\tau_1)$ lies in the trap at $\tau_1 = {state.tau:.6g}$",
            f"{found.steps} Taylor steps of order {ORDER} in balls of {PRECISION} bits, "
            f"error {float(state.error):.2g}",
        ),
        Hypothesis(
            rf"$\kappa \ge {float(trap.contraction):.4g}$, $r = {float(trap.radius):.3g}$",
            "elimination in balls",
        ),
        Hypothesis(rf"$f \in {growth.to_latex()}$ on the trap", "ball arithmetic"),
    )
    criterion = Criterion("validated-integration", _STATEMENT, "", hypotheses)
    witnesses = {
        "tau": state.tau,
        "centre": BallMatrix.of(trap.centre.tolist()),
        "metric": BallMatrix.of(trap.metric.tolist()),
        "radius": Ball.of(trap.radius),
        "contraction": Ball.of(trap.contraction),
        "growth": growth,
        "Sigma0": fractions(exact.sigma),
    }
    if not found.blows_up:
        check = _Decays(exact, found)
        formulas = [Formula(r"\lim_{t\to\infty}\Sigma(t)", "0")]
        return LongTime(
            derivation=steps_of(exact, criterion, check, formulas, check),
            criterion=criterion,
            limit=to_sympy(zeros(exact.dim, exact.dim)),
            limit_rank=0,
            global_in_time=True,
            direction=BallMatrix.of(trap.box.tolist()),
            witnesses=witnesses,
            reason="no blow-up: the covariance tends to zero",
        )
    blown = BlowsUpInCompiledFlow(exact, float(time))
    return LongTime(
        derivation=steps_of(exact, criterion, blown, [Formula("t^*", rf"{time.to_latex()}")], blown),
        criterion=criterion,
        direction=BallMatrix.of(trap.box.tolist()),
        blow_up_time=time,
        global_in_time=False,
        witnesses=witnesses,
        reason="the covariance has no limit: it blows up; the rank of its direction is not decided",
    )


@dataclass(frozen=True, eq=False)
class _Decays:
    """The compiled flow, which knows nothing of directions, reaches the time of the trap."""

    exact: ExactProblem
    found: Outcome

    def run(self) -> Checked:
        """Integrate with the general solver."""
        problem = self.exact.problem
        params = {name: problem.values[name] for name in problem.given}
        initial = Gaussian(np.zeros(self.exact.dim), np.array(fractions(self.exact.sigma), dtype=float))
        end = max(float(self.found.state.t.mid()), 1.0)
        run = solve(problem.model, initial, params, (0.0, end), rtol=1e-10, atol=1e-13)
        return Checked(run.status == "finished", "the compiled flow", f"finished at t = {run.t[-1]:.4g}")
