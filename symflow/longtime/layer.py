r"""Scalar values beside a feed-forward layer Wx + c with W = wI.

With τ(t) = (e^{2wt} − 1)/(2w), so that τ' = 1 + 2wτ,

.. math:: \Sigma(t) = (1 + 2w\tau)(I - \tau\Sigma_0S)^{-1}\Sigma_0 .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import exp

from symflow.algebra.exact.numbers import Ball, largest_root, matrix_latex, rational_latex
from symflow.algebra.exact.rational import (
    Factor,
    RationalMatrix,
    diagonal,
    fmpq,
    fractions,
    identity,
    inertia,
    is_zero,
    kernel,
    number_of,
    psd_factor,
    to_sympy,
    zeros,
)
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import InitialVelocity, SolvesClosedEquations
from symflow.longtime.curve import TIME, Clock, ClosedForm, RationalCurve
from symflow.longtime.projector import limit_on_kernel
from symflow.longtime.quadratic import quadratic_heads, scalar_value
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime

_BITS = 256
_STATEMENT = (
    r"Let every $V_h$ be a multiple of $I$, $S = \sum_hV_hA_h+A_h^{\top}V_h^{\top}$ and $W = wI$, so that "
    r"$\dot\Sigma = \Sigma S\Sigma+2w\Sigma$. With $\tau(t) = (e^{2wt}-1)/(2w)$ the solution is "
    r"$\Sigma(t) = e^{2wt}(I-\tau\Sigma_0S)^{-1}\Sigma_0$. Let $g$ run through the eigenvalues of "
    r"$F^{\top}SF$, "
    r"$\Sigma_0 = FF^{\top}$, with the largest $\lambda$. For $\lambda > \max(0,-2w)$ it blows up at "
    r"$t^* = \log(1+2w/\lambda)/(2w)$. Otherwise the modes $(1+2w\tau)/(1-\tau g)$ tend, for $w < 0$, to "
    r"$1$ where "
    r"$g = -2w$ and to $0$ elsewhere, and for $w > 0$ to $2w/|g|$ where $g < 0$, while they grow like "
    r"$e^{2wt}$ where $g = 0$."
)


@dataclass(frozen=True, eq=False)
class _Data:
    exact: ExactProblem
    S: RationalMatrix
    w: Any
    factor: Factor
    reduced: RationalMatrix


def layer(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a law under scalar values and a scalar layer; None where it does not apply."""
    flow = quadratic_heads(exact)
    if flow is None or exact.diffusion != 0 or is_zero(exact.W) or not scalar_value(flow):
        return None
    w = exact.W[0, 0]
    factor = psd_factor(exact.sigma)
    if not is_zero(exact.W - identity(exact.dim) * w) or factor is None or not factor.rank:
        return None
    data = _Data(exact, flow.S, w, factor, factor.L.transpose() * flow.S * factor.L)
    inverse = diagonal([1 / value for value in factor.D])
    threshold = inverse * (-2 * w if w < 0 else fmpq(0))
    if inertia(data.reduced - threshold).positive:
        return _told(data, None, _blow_up(data))
    if w < 0:
        return _told(data, limit_on_kernel(factor, kernel(data.reduced - threshold), exact.dim), None)
    if inertia(data.reduced).zero:
        return _told(data, None, None)
    return _told(data, factor.L * data.reduced.inv() * factor.L.transpose() * (-2 * w), None)


def _blow_up(data: _Data) -> Ball:
    from flint import arb, ctx

    top, _ = largest_root((data.exact.sigma * data.S).charpoly())
    with ctx.workprec(_BITS):
        return Ball.of((2 * arb(data.w) / top.arb(_BITS)).log1p() / (2 * arb(data.w)))


def _told(data: _Data, limit: RationalMatrix | None, t_star: Ball | None) -> LongTime:
    exact = data.exact
    hypothesis = Hypothesis(
        rf"every $V_h$ is a multiple of $I$ and $W = wI$ with $w = {rational_latex(data.w)}$",
        "rational arithmetic",
    )
    signs = inertia(data.reduced)
    spectrum = Hypothesis(
        rf"$F^{{\top}}SF$ has {signs.positive} positive, {signs.negative} negative, {signs.zero} zero "
        rf"eigenvalues",
        "Descartes' rule",
    )
    criterion = Criterion("scalar-layer", _STATEMENT, "", (hypothesis, spectrum))
    closed = _closed_form(data, None if t_star is None else float(t_star))
    formulas = [Formula(r"\Sigma(t)", r"e^{2wt}(I-\tau\Sigma_0S)^{-1}\Sigma_0")]
    formulas += [] if t_star is None else [Formula("t^*", t_star.to_latex())]
    formulas += [] if limit is None else [Formula(r"\Sigma^*", matrix_latex(limit))]
    velocity = exact.sigma * data.S * exact.sigma + exact.sigma * (2 * data.w)
    if t_star is not None:
        reason = "the covariance has no limit: it blows up"
    else:
        reason = "no blow-up: " + (
            "the limit exists" if limit is not None else "the covariance grows like exp(2wt)"
        )
    return LongTime(
        derivation=steps_of(
            exact,
            criterion,
            SolvesClosedEquations(exact, closed.curve, closed.clock),
            formulas,
            InitialVelocity(exact, velocity),
        ),
        criterion=criterion,
        closed_form=closed,
        limit=None if limit is None else to_sympy(limit),
        limit_rank=None if limit is None else int(limit.rank()),
        blow_up_time=t_star,
        global_in_time=t_star is None,
        witnesses={"w": number_of(data.w), "S": fractions(data.S), "reduced": fractions(data.reduced)},
        reason=reason,
    )


def _closed_form(data: _Data, ends: float | None) -> ClosedForm:
    base = RationalCurve.resolvent(data.exact.sigma * data.S, data.exact.sigma)
    d = data.exact.dim
    shifted = (zeros(d, d), *(matrix * (2 * data.w) for matrix in base.coefficients))
    padded = (*base.coefficients, zeros(d, d))
    curve = RationalCurve(tuple(a + b for a, b in zip(padded, shifted, strict=True)), base.denominator)
    w = number_of(data.w)
    clock = Clock((exp(2 * w * TIME) - 1) / (2 * w), (fmpq(1), 2 * data.w))
    formula = r"\Sigma(t) = e^{2wt}(I-\tau\Sigma_0S)^{-1}\Sigma_0, \qquad \tau = (e^{2wt}-1)/(2w)"
    return ClosedForm(curve, clock, ends, None, formula)
