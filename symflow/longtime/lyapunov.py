r"""A weighted trace that decides: V symmetric and definite, A + Aᵀ semidefinite.

.. math:: \frac{d}{dt}\operatorname{tr}(V^{-1}\Sigma) = \operatorname{tr}(\Sigma(A + A^\top)\Sigma)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from symflow.algebra.exact.numbers import rational_latex
from symflow.algebra.exact.rational import (
    RationalMatrix,
    fmpq,
    fractions,
    inertia,
    is_symmetric,
    is_zero,
    number_of,
    symmetric_part,
    to_sympy,
    trace,
    zeros,
)
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import Holds
from symflow.longtime.quadratic import quadratic_heads
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Bound, Criterion, Hypothesis, LongTime

_STATEMENT = (
    r"Let $\dot\Sigma = V\Sigma A\Sigma + \Sigma A^{\top}\Sigma V^{\top}$ with $V = V^{\top} \succ 0$ "
    r"($(-V,-A)$ gives the same equation). Then $\varphi = \operatorname{tr}(V^{-1}\Sigma)$ has "
    r"$\dot\varphi = \operatorname{tr}(\Sigma(A+A^{\top})\Sigma)$. If $A+A^{\top} \preceq 0$, $\varphi$ does "
    r"not grow, so $\Sigma$ stays bounded and exists for all times. If $P = -(A+A^{\top}) \succ 0$, the "
    r"Cauchy--Schwarz inequality $\varphi^2 = \operatorname{tr}(V^{-1}P^{-1/2}\,P^{1/2}\Sigma)^2 \le "
    r"\operatorname{tr}(V^{-1}P^{-1}V^{-1})\operatorname{tr}(\Sigma P\Sigma)$ gives "
    r"$\dot\varphi \le -\kappa\varphi^2$ with $1/\kappa = \operatorname{tr}(V^{-1}P^{-1}V^{-1})$, hence "
    r"$\varphi(t) \le \varphi(0)/(1+\kappa\varphi(0)t)$ and $\Sigma(t) \to 0$ like $1/t$."
)


@dataclass(frozen=True, eq=False)
class Weighted:
    """V ≻ 0 after a change of sign, and A + Aᵀ with its signs."""

    V: RationalMatrix
    A: RationalMatrix
    inverse: RationalMatrix

    @property
    def growth(self) -> RationalMatrix:
        """A + Aᵀ."""
        return symmetric_part(self.A)


def weighted(exact: ExactProblem) -> Weighted | None:
    """Return the data of the criterion for heads that share one symmetric definite V, else None."""
    flow = quadratic_heads(exact)
    if flow is None or not is_zero(exact.W):
        return None
    V = flow.pairs[0][0]
    if not is_symmetric(V) or any(other != V for other, _ in flow.pairs):
        return None
    A = sum((A for _, A in flow.pairs), zeros(flow.dim, flow.dim))
    signs = inertia(V)
    if flow.dim not in (signs.positive, signs.negative):
        return None
    factor = fmpq(1 if signs.positive else -1)
    return Weighted(V * factor, A * factor, (V * factor).inv())


def lyapunov(exact: ExactProblem) -> LongTime | None:
    """Return that the law exists for all times, and decays where A + Aᵀ ≺ 0; None where it does not apply."""
    data = weighted(exact)
    if data is None or exact.diffusion != 0:
        return None
    signs = inertia(data.growth)
    if signs.positive:
        return None
    start = trace(data.inverse * exact.sigma)
    strict = signs.negative == exact.dim
    sign = r"\prec" if strict else r"\preceq"
    hypotheses = (
        Hypothesis(r"$V = V^{\top} \succ 0$ up to a common sign of $V$ and $A$", "Descartes' rule"),
        Hypothesis(rf"$A + A^{{\top}} {sign} 0$", "Descartes' rule"),
    )
    criterion = Criterion("weighted-trace", _STATEMENT, "", hypotheses)
    bounds = [
        Bound(
            r"\operatorname{tr}(V^{-1}\Sigma(t)) \le \operatorname{tr}(V^{-1}\Sigma_0)",
            {"start": number_of(start)},
        )
    ]
    formulas = [Formula(r"\operatorname{tr}(V^{-1}\Sigma_0)", rational_latex(start))]
    if strict:
        kappa = decay_constant(data)
        bounds.append(
            Bound(
                r"\operatorname{tr}(V^{-1}\Sigma(t)) \le \varphi_0/(1+\kappa\varphi_0t)",
                {"phi0": number_of(start), "kappa": number_of(kappa)},
            )
        )
        formulas += [Formula(r"\kappa", rational_latex(kappa)), Formula(r"\lim_{t\to\infty}\Sigma(t)", "0")]
    zero = to_sympy(zeros(exact.dim, exact.dim))
    return LongTime(
        derivation=steps_of(exact, criterion, _identity(exact, data), formulas, _identity(exact, data)),
        criterion=criterion,
        limit=zero if strict else None,
        limit_rank=0 if strict else None,
        global_in_time=True,
        bounds=tuple(bounds),
        witnesses={"weight": fractions(data.inverse), "growth": fractions(data.growth)},
        reason="no blow-up: the weighted trace does not grow"
        + ("" if strict else "; convergence is not decided where A + Aᵀ is singular"),
    )


def decay_constant(data: Weighted) -> Any:
    r"""Return :math:`\kappa = 1/\operatorname{tr}(V^{-1}|A+A^\top|^{-1}V^{-1})` for a negative A + Aᵀ."""
    P = data.growth * fmpq(-1)
    return 1 / trace(data.inverse * P.inv() * data.inverse)


def _identity(exact: ExactProblem, data: Weighted) -> Holds:
    """Return the check of the derivative of the weighted trace, against the derived equation."""
    test = partial(_identity_holds, exact, data)
    return Holds(test, "the derived equation in rational arithmetic", "tr(V⁻¹Σ') = tr(Σ(A + Aᵀ)Σ) ≤ 0 at Σ₀")


def _identity_holds(exact: ExactProblem, data: Weighted) -> bool:
    sigma, mean = exact.sigma, zeros(exact.dim, 1)
    velocity = trace(data.inverse * exact.drift(mean, sigma)[1])
    return bool(velocity == trace(sigma * data.growth * sigma) and velocity <= 0)
