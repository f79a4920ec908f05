r"""The plane with skew-symmetric A: the covariance moves on a line.

In d = 2 every symmetric Σ has :math:`\Sigma J\Sigma = \det(\Sigma)\,J`, J the rotation by a right angle. So
for :math:`A_h = a_hJ` the equation is :math:`\dot\Sigma = \det(\Sigma)\,S`, S = Σ_h V_hA_h + A_hᵀV_hᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import exp, sqrt, tanh

from symflow.algebra.exact.numbers import (
    AlgebraicNumber,
    Ball,
    BallMatrix,
    matrix_latex,
    rational_latex,
    real_root_at,
)
from symflow.algebra.exact.rational import (
    RationalMatrix,
    fmpq,
    fraction,
    fractions,
    is_zero,
    number_of,
    to_sympy,
)
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import Holds, SolvesClosedEquations
from symflow.longtime.curve import TIME, Clock, ClosedForm, RationalCurve, sample_points
from symflow.longtime.quadratic import quadratic_flow
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Bound, Criterion, Hypothesis, LongTime

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
    q: tuple[Any, Any, Any]

    @property
    def square(self) -> Any:
        """4ω²."""
        q0, q1, q2 = self.q
        return q1 * q1 - 4 * q0 * q2


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
    data = _Data(exact, S, (q0, q1, q2))
    root = _first_root(data)
    if root is not None:
        return _converges(data, root)
    return _blow_up(data) if q2 > 0 else _grows(data)


def _first_root(data: _Data) -> AlgebraicNumber | None:
    """Return the smallest positive root of q; q(0) > 0."""
    from flint import ctx, fmpq_poly

    q0, q1, q2 = data.q
    if q2 >= 0 and q1 >= 0:
        return None
    # 2q₀/(−q₁ + √Δ) is the smallest positive root in every remaining case

    def enclosure(bits: int) -> Any:
        from flint import arb

        with ctx.workprec(bits + 32):
            return 2 * arb(q0) / (-arb(q1) + arb(data.square).sqrt())

    return real_root_at(fmpq_poly([q0, q1, q2]), enclosure)


def _converges(data: _Data, root: AlgebraicNumber) -> LongTime:
    limit = _limit(data, root)
    hypothesis = Hypothesis(rf"$q$ has the smallest positive root ${root.to_latex()}$", "rational arithmetic")
    closed = _closed_form(data, None)
    formulas = (
        *_shown(closed),
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
    from flint import arb, ctx

    q1, square = data.q[1], data.square
    t_star: AlgebraicNumber | Ball
    if square == 0:
        t_star = AlgebraicNumber.rational(2 / fraction(q1))
    else:
        with ctx.workprec(_BITS):
            omega = arb(square).sqrt() / 2
            t_star = Ball.of((2 * omega / arb(q1)).atanh() / omega)
    hypothesis = Hypothesis(r"$q_2 > 0$ and $q$ has no positive root", "rational arithmetic")
    closed = _closed_form(data, float(t_star))
    formulas = (*_shown(closed), Formula("t^*", t_star.to_latex()))
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
    criterion, derivation = _told(data, hypothesis, closed, _shown(closed))
    return LongTime(
        derivation,
        criterion,
        closed,
        direction=to_sympy(data.S * (1 / (data.S[0, 0] + data.S[1, 1]))),
        global_in_time=True,
        bounds=(
            Bound(r"s(t) = q_0(e^{q_1t}-1)/q_1", {"q0": number_of(data.q[0]), "q1": number_of(data.q[1])}),
        ),
        witnesses=_witnesses(data),
        reason="no blow-up, and no limit: the covariance grows exponentially",
    )


def _told(data: _Data, hypothesis: Hypothesis, closed: ClosedForm, formulas: Any) -> tuple[Criterion, Any]:
    values = ", ".join(rf"q_{i} = {rational_latex(value)}" for i, value in enumerate(data.q))
    hypotheses = (
        Hypothesis(r"$d = 2$ and every $A_h$ is skew-symmetric", "rational arithmetic"),
        Hypothesis(rf"${values}$, $S = {matrix_latex(data.S)}$", "rational arithmetic"),
        hypothesis,
    )
    criterion = Criterion("skew-plane", _STATEMENT, "", hypotheses)
    lemma = SolvesClosedEquations(data.exact, closed.curve, closed.clock)
    return criterion, steps_of(data.exact, criterion, lemma, formulas, _clock_check(data))


def _closed_form(data: _Data, ends: float | None) -> ClosedForm:
    q0, q1, q2 = (number_of(value) for value in data.q)
    omega = sqrt(number_of(data.square)) / 2
    if omega == 0:
        expression = q0 * TIME / (1 - q1 * TIME / 2)
    elif q2 == 0:
        expression = q0 * (exp(q1 * TIME) - 1) / q1
    else:
        expression = q0 * tanh(omega * TIME) / (omega - q1 * tanh(omega * TIME) / 2)
    curve = RationalCurve.line(data.exact.sigma, data.S)
    return ClosedForm(
        curve,
        Clock(expression, data.q),
        ends,
        None,
        r"\Sigma(t) = \Sigma_0 + s(t)S, \qquad \dot s = \det(\Sigma_0+sS)",
    )


def _shown(closed: ClosedForm) -> tuple[Formula, ...]:
    return Formula(r"\Sigma(t)", r"\Sigma_0 + s(t)\,S"), Formula("s(t)", closed.clock.expression)


def _clock_check(data: _Data) -> Holds:
    """Return the check that the stated s(t) solves ṡ = q(s), by power series of balls at several times."""

    def test() -> bool:
        from flint import arb, arb_series, ctx

        q0, q1, q2 = (arb(value) for value in data.q)
        with ctx.workprec(_BITS):
            omega = arb(data.square).sqrt() / 2
            for point in sample_points(4):
                t = arb_series([arb(point), 1], 2)
                if data.square == 0:
                    s = q0 * t / (1 - q1 * t / 2)
                else:
                    e = (2 * omega * t).exp()
                    turned = (e - 1) / (e + 1)
                    s = q0 * turned / (omega - q1 * turned / 2)
                value, slope = s.coeffs()[:2]
                if not slope.overlaps(q0 + q1 * value + q2 * value * value):
                    return False
        return True

    return Holds(test, "power series in ball arithmetic", f"ṡ = q(s) at four times, {_BITS} bits")


def _witnesses(data: _Data) -> dict[str, Any]:
    return {"S": fractions(data.S), "q": [number_of(value) for value in data.q]}
