r"""The plane with skew-symmetric A: the covariance moves on a line.

In d = 2 every symmetric Σ has :math:`\Sigma J\Sigma = \det(\Sigma)\,J`, J the rotation by a right angle. So
for :math:`A_h = a_hJ` the equation is :math:`\dot\Sigma = \det(\Sigma)\,S`, S = Σ_h V_hA_h + A_hᵀV_hᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symflow.algebra.exact.numbers import (
    AlgebraicNumber,
    BallMatrix,
    matrix_latex,
    rational_latex,
)
from symflow.algebra.exact.rational import (
    RationalMatrix,
    fmpq,
    fractions,
    is_zero,
    number_of,
    to_sympy,
)
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import SolvesClosedEquations
from symflow.longtime.curve import ClosedForm, RationalCurve
from symflow.longtime.quadratic import quadratic_flow
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Bound, Criterion, Hypothesis, LongTime
from symflow.longtime.riccati import Riccati

_BITS = 256
_STATEMENT = (
    r"Let $d = 2$, $A_h^{\top} = -A_h$ and $S = \sum_hV_hA_h + A_h^{\top}V_h^{\top}$. Since "
    r"$\Sigma J\Sigma = \det(\Sigma)J$ for symmetric $\Sigma$ and skew $J$, "
    r"$\dot\Sigma = \sum_hV_h\Sigma A_h\Sigma + \Sigma A_h^{\top}\Sigma V_h^{\top} = \det(\Sigma)\,S$, hence "
    r"$\Sigma(t) = \Sigma_0 + s(t)S$ with $\dot s = q(s) = \det(\Sigma_0+sS) = q_0+q_1s+q_2s^2$. With "
    r"$\omega = \tfrac12(q_1^2-4q_0q_2)^{1/2}$, real because $\Sigma_0 \succ 0$, "
    r"$s(t) = q_0\tanh(\omega t)/(\omega-\tfrac12q_1\tanh(\omega t))$ ($q_0t/(1-\tfrac12q_1t)$ for "
    r"$\omega = 0$). If $q$ has a positive root, $s$ tends to the smallest one, where $\Sigma$ is singular; "
    r"otherwise $s$ grows beyond bounds, in finite time exactly if $q_2 > 0$: "
    r"$\tanh(\omega t^*) = 2\omega/q_1$."
)


@dataclass(frozen=True, eq=False)
class _Data:
    exact: ExactProblem
    S: RationalMatrix
    q: Riccati


def plane(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a planar law under skew A; None where it does not apply."""
    flow = quadratic_flow(exact)
    if flow is None or exact.dim != 2 or any(not is_zero(A + A.transpose()) for _, A in flow.pairs):
        return None
    S, start = flow.S, exact.sigma
    q0, q2 = start.det(), S.det()
    q1 = start[0, 0] * S[1, 1] + start[1, 1] * S[0, 0] - 2 * start[0, 1] * S[0, 1]
    if q0 == 0:
        return None  # constant, which is radial
    data = _Data(exact, S, Riccati(q0, q1, q2))
    root = data.q.limit()
    if root is not None:
        return _converges(data, root)
    return _grows(data) if q2 == 0 else _blow_up(data)


def _converges(data: _Data, root: AlgebraicNumber) -> LongTime:
    limit = _limit(data, root)
    hypothesis = Hypothesis(rf"$q$ has the smallest positive root ${root.to_latex()}$", "rational arithmetic")
    closed = _closed_form(data, None)
    formulas = (
        *_shown(data),
        Formula(r"\Sigma^*", rf"\Sigma_0 + ({root.to_latex()})\,S"),
        Formula(r"\operatorname{rank}\Sigma^*", "1"),
    )
    criterion, derivation = _told(data, hypothesis, closed, formulas)
    return LongTime(
        derivation,
        criterion,
        closed,
        limit=limit,
        limit_rank=1,  # singular, and not zero: otherwise Σ₀ were a multiple of S, and radial
        global_in_time=True,
        witnesses={**_witnesses(data), "root": root},
        reason="no blow-up: the limit exists",
    )


def _limit(data: _Data, root: AlgebraicNumber) -> Any:
    from flint import arb_mat, ctx

    if root.is_rational:
        return to_sympy(data.exact.sigma + data.S * fmpq(root.fraction()))
    with ctx.workprec(_BITS):
        return BallMatrix.of((arb_mat(data.exact.sigma) + arb_mat(data.S) * root.arb(_BITS)).tolist())


def _blow_up(data: _Data) -> LongTime:
    t_star = data.q.blow_up()
    assert t_star is not None  # q₂ > 0 and no positive root
    hypothesis = Hypothesis(r"$q_2 > 0$ and $q$ has no positive root", "rational arithmetic")
    closed = _closed_form(data, float(t_star))
    formulas = (*_shown(data), Formula("t^*", t_star.to_latex()))
    criterion, derivation = _told(data, hypothesis, closed, formulas)
    return LongTime(
        derivation,
        criterion,
        closed,
        limit_rank=2,  # of S, which is definite: q₂ = det S > 0
        direction=to_sympy(data.S * (1 / (data.S[0, 0] + data.S[1, 1]))),
        blow_up_time=t_star,
        global_in_time=False,
        witnesses=_witnesses(data),
        reason="the covariance has no limit: it blows up",
    )


def _grows(data: _Data) -> LongTime:
    hypothesis = Hypothesis(r"$q_2 = 0$ and $q$ has no positive root", "rational arithmetic")
    closed = _closed_form(data, None)
    criterion, derivation = _told(data, hypothesis, closed, _shown(data))
    return LongTime(
        derivation,
        criterion,
        closed,
        direction=to_sympy(data.S * (1 / (data.S[0, 0] + data.S[1, 1]))),
        global_in_time=True,
        bounds=(
            Bound(r"s(t) = q_0(e^{q_1t}-1)/q_1", {"q0": number_of(data.q.q0), "q1": number_of(data.q.q1)}),
        ),
        witnesses=_witnesses(data),
        reason="no blow-up, and no limit: the covariance grows exponentially",
    )


def _told(data: _Data, hypothesis: Hypothesis, closed: ClosedForm, formulas: Any) -> tuple[Criterion, Any]:
    values = ", ".join(rf"q_{i} = {rational_latex(value)}" for i, value in enumerate(data.q.coefficients))
    hypotheses = (
        Hypothesis(r"$d = 2$ and every $A_h$ is skew-symmetric", "rational arithmetic"),
        Hypothesis(rf"${values}$, $S = {matrix_latex(data.S)}$", "rational arithmetic"),
        hypothesis,
    )
    criterion = Criterion("skew-plane", _STATEMENT, "", hypotheses)
    lemma = SolvesClosedEquations(data.exact, closed.curve, closed.clock)
    return criterion, steps_of(data.exact, criterion, lemma, formulas, data.q.check())


def _closed_form(data: _Data, ends: float | None) -> ClosedForm:
    curve = RationalCurve.line(data.exact.sigma, data.S)
    formula = r"\Sigma(t) = \Sigma_0 + s(t)S, \qquad \dot s = \det(\Sigma_0+sS)"
    return ClosedForm(curve, data.q.clock(), ends, None, formula)


def _shown(data: _Data) -> tuple[Formula, ...]:
    return Formula(r"\Sigma(t)", r"\Sigma_0 + s(t)\,S"), Formula("s(t)", data.q.shown())


def _witnesses(data: _Data) -> dict[str, Any]:
    return {"S": fractions(data.S), "q": [number_of(value) for value in data.q.coefficients]}
