r"""Linear-fractional solutions, recognised by putting them into the derived equation.

Where the velocity gradient obeys :math:`\dot L = L^2` along the flow, the flow map is
:math:`\Phi(t) = (I - tL_0)^{-1}` and

.. math:: \Sigma(t) = (I - tL_0)^{-1}\Sigma_0(I - tL_0)^{-\top} .

Both sides of the equation are rational in t, so that agreement at more points than their degree is a proof.
"""

from __future__ import annotations

from typing import Any

from symflow.algebra.exact.numbers import AlgebraicNumber, matrix_latex, real_root_at
from symflow.algebra.exact.rational import (
    RationalMatrix,
    fmpq,
    fractions,
    identity,
    inertia,
    is_zero,
    to_sympy,
    zeros,
)
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import InitialVelocity, SolvesClosedEquations
from symflow.longtime.curve import ClosedForm, RationalCurve, plain_clock
from symflow.longtime.quadratic import covariance_is_autonomous
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime

#: Largest d: the proof evaluates at about 2d² points.
_WIDEST = 6
_STATEMENT = (
    r"Let $\dot\Sigma = L\Sigma+\Sigma L^{\top}$ and suppose $\dot L = L^2$ along "
    r"$\Sigma(t) = (I-tL_0)^{-1}\Sigma_0(I-tL_0)^{-\top}$, $L_0 = L(\Sigma_0)$. Then this is the solution: "
    r"$\Phi = (I-tL_0)^{-1}$ has $\dot\Phi = \Phi L_0\Phi = L\Phi$. It blows up at the smallest positive "
    r"pole "
    r"of an entry of $\Sigma(t)$ in lowest terms; without one it exists for all times. If every $C_h "
    r"\preceq 0$, no normaliser diverges before."
)


def fractional(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a linear-fractional solution; None where the candidate solves nothing."""
    if exact.diffusion != 0 or exact.dim > _WIDEST or not covariance_is_autonomous(exact):
        return None
    if any(inertia(head.C).positive for head in exact.heads):
        return None  # the curve may leave the domain, where a normaliser diverges
    gradient = exact.velocity_gradient()
    if gradient is None:
        return None
    curve = _candidate(gradient, exact.sigma)
    proof = SolvesClosedEquations(exact, curve, plain_clock())
    if not proof.run().passed:
        return None
    t_star = _first_pole(curve)
    hypothesis = Hypothesis(
        rf"$L_0 = {matrix_latex(gradient)}$ and $\Sigma(t)$ solves the derived equation", proof.run().evidence
    )
    criterion = Criterion("linear-fractional", _STATEMENT, "", (hypothesis,))
    ends = None if t_star is None else float(t_star)
    form = r"(I-tL_0)^{-1}\Sigma_0(I-tL_0)^{-\top}"
    closed = ClosedForm(curve, plain_clock(), ends, None, rf"\Sigma(t) = {form}")
    limit = curve.limit() if t_star is None else None
    formulas = [Formula(r"\Sigma(t)", form)]
    if t_star is not None:
        formulas.append(Formula("t^*", t_star.to_latex()))
    if limit is not None:
        formulas.append(Formula(r"\Sigma^*", matrix_latex(limit)))
    velocity = gradient * exact.sigma + exact.sigma * gradient.transpose()
    return LongTime(
        derivation=steps_of(exact, criterion, proof, formulas, InitialVelocity(exact, velocity)),
        criterion=criterion,
        closed_form=closed,
        limit=None if limit is None else to_sympy(limit),
        limit_rank=None if limit is None else int(limit.rank()),
        blow_up_time=t_star,
        global_in_time=t_star is None,
        witnesses={"L0": fractions(gradient), "Sigma0": fractions(exact.sigma)},
        reason=_reason(t_star, limit),
    )


def _reason(t_star: AlgebraicNumber | None, limit: Any) -> str:
    if t_star is not None:
        return "the covariance has no limit: it blows up"
    return "no blow-up: " + (
        "the limit exists" if limit is not None else "the covariance grows like a power of t"
    )


def _candidate(gradient: RationalMatrix, sigma: RationalMatrix) -> RationalCurve:
    d = gradient.nrows()
    if is_zero(gradient):
        return RationalCurve((sigma,), (fmpq(1),))
    resolvent = RationalCurve.resolvent(gradient, identity(d))
    left, q = resolvent.coefficients, resolvent.denominator
    numerators = [zeros(d, d) for _ in range(2 * len(left) - 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(left):
            numerators[i + j] = numerators[i + j] + a * sigma * b.transpose()
    square = [
        sum((q[i] * q[k - i] for i in range(len(q)) if 0 <= k - i < len(q)), 0) for k in range(2 * len(q) - 1)
    ]
    return RationalCurve(tuple(numerators), tuple(square))


def _first_pole(curve: RationalCurve) -> AlgebraicNumber | None:
    """Return the smallest positive pole of an entry in lowest terms."""
    from flint import ctx, fmpq_poly

    poles = []
    for _, q in curve.entries():
        for factor, _ in fmpq_poly(q).factor()[1]:
            with ctx.workprec(256):
                found: Any = fmpq_poly(factor).complex_roots()
            poles += [(root.real, factor) for root, _ in found if root.imag == 0 and root.real > 0]
    if not poles:
        return None
    first, factor = min(poles, key=lambda item: float(item[0].mid()))
    return real_root_at(fmpq_poly(factor), lambda bits: first)
