r"""Attention without normaliser whose kernel is the score: the second moment carries everything.

For Γ(x) = Σ_h V_hMA_hx with M = Σ + ααᵀ both moments flow by L = Σ_h V_hMA_h, so that

.. math:: \dot M = LM + ML^\top = \sum_h V_hMA_hM + MA_h^\top MV_h^\top

is the quadratic equation of a centred law with covariance M.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from symflow.algebra.exact.rational import is_zero, to_sympy, zeros
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import Holds
from symflow.longtime.quadratic import quadratic_flow
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime

_STATEMENT = (
    r"Let $\Gamma_\mu(x) = \sum_hV_hMA_hx$ with $M = \Sigma+\alpha\alpha^{\top}$. With $L = "
    r"\sum_hV_hMA_h$ one has "
    r"$\dot\alpha = L\alpha$, $\dot\Sigma = L\Sigma+\Sigma L^{\top}$, hence $\dot M = LM+ML^{\top}$: the "
    r"second "
    r"moment solves the equation of a centred law with covariance $M$. Since $\Sigma, \alpha\alpha^{\top} "
    r"\preceq M$ and $M = \Sigma+\alpha\alpha^{\top}$, mean or covariance blows up exactly when $M$ does, "
    r"and "
    r"both tend to $0$ if $M$ does. For $M$: "
)


def uncentred(exact: ExactProblem, decide: Callable[[ExactProblem], LongTime]) -> LongTime | None:
    """Return the fate of a law with a mean from the fate of its second moment; None where that is not closed.

    Parameters
    ----------
    exact : ExactProblem
    decide : callable
        The criteria, for the centred law.
    """
    if is_zero(exact.alpha) or all(head.normalise != "none" for head in exact.heads):
        return None
    moment = exact.sigma + exact.alpha * exact.alpha.transpose()
    centred = replace(exact, sigma=moment, alpha=zeros(exact.dim, 1))
    if quadratic_flow(centred) is None:
        return None
    found = decide(centred)
    if found.criterion is None:
        return found
    vanishes = found.limit is not None and found.limit_rank == 0
    zero = to_sympy(zeros(exact.dim, exact.dim)) if vanishes else None
    own = Hypothesis(
        r"$\Gamma_\mu(x) = \sum_hV_hMA_hx$: no biases, no layer, no noise", "normal form of the score"
    )
    criterion = Criterion(
        f"second-moment, {found.criterion.name}",
        _STATEMENT + found.criterion.statement,
        found.criterion.reference,
        (own, *found.criterion.hypotheses),
    )
    formulas = [Formula("M(0)", r"\Sigma_0+\alpha_0\alpha_0^{\top}")]
    if found.blow_up_time is not None:
        formulas.append(Formula("t^*", found.blow_up_time.to_latex()))
    return LongTime(
        derivation=steps_of(
            exact, criterion, _moment_check(exact, centred), formulas, found.derivation.steps[-1].check
        ),
        criterion=criterion,
        limit=zero,
        limit_rank=0 if vanishes else None,
        blow_up_time=found.blow_up_time,
        global_in_time=found.global_in_time,
        witnesses={"second_moment": found.witnesses},
        reason=found.reason if vanishes or found.blow_up_time is not None else _open(found),
    )


def _open(found: LongTime) -> str:
    return f"for the second moment: {found.reason}; how it splits into mean and covariance is not decided"


def _moment_check(exact: ExactProblem, centred: ExactProblem) -> Holds:
    """Return the check that the derived equations add up to the equation of the second moment."""
    test = partial(_adds_up, exact, centred)
    return Holds(test, "the derived equations in rational arithmetic", "Σ' + (ααᵀ)' = M' at the start")


def _adds_up(exact: ExactProblem, centred: ExactProblem) -> bool:
    mean, cov = exact.drift(exact.alpha, exact.sigma)
    total: Any = cov + mean * exact.alpha.transpose() + exact.alpha * mean.transpose()
    return bool(total == exact.drift(centred.alpha, centred.sigma)[1])
