"""CACP25: statements about the long time that are false as usually quoted; counterexamples are searched."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from symflow.certify.search.exact_solution import (
    CovarianceEquation,
    Solution,
    covariances,
    diagonals,
    line_solution,
    pole_solution,
    radial_parameters,
    radial_solution,
    refutation,
    row_vectors,
    squares,
)
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed, undecided
from symflow.derive.closure import gaussian_closure
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax

METHOD = "exact-solution"
_IN_TIME = ("cauchy-lipschitz",)
_ON_A_CLOCK = ("autonomous-scalar", "cauchy-lipschitz")


def _equation(model: Any) -> CovarianceEquation:
    flow = gaussian_closure(model).flow
    return CovarianceEquation(flow.states[1], flow.drift[1])


def _first(
    claim: str,
    found: Iterator[Solution | None],
    sizes: dict[str, int],
    lemmas: tuple[str, ...],
    deadline: Deadline,
) -> Verdict:
    """Return the verdict for the first solution that contradicts the claim."""
    for solution in found:
        deadline.check()
        if solution is None:
            continue
        verdict = replayed(refutation(claim, solution, sizes, lemmas), deadline)
        if verdict.status == "refuted":
            return verdict
    return undecided(claim, "no counterexample with small rational data was found", METHOD)


def _radial(equation: CovarianceEquation) -> Iterator[Solution | None]:
    """Solve for A, given V, Σ₀ and the rate 2; without limit the smaller V come first."""
    rate = Fraction(2)
    for V, sigma in product(diagonals(2, smallest=1), covariances(2)):
        for values in radial_parameters(equation, {"V": V}, "A", sigma, rate, largest=2):
            yield radial_solution(equation, values, sigma, rate)


def _low_rank_limit(*, deadline: Deadline) -> Verdict:
    found = _radial(_equation(Softmax()))
    return _first("CACP25/low-rank-limit", found, {"d": 2}, _IN_TIME, deadline)


def _blow_up_criterion(*, deadline: Deadline) -> Verdict:
    equation = _equation(Softmax())
    found = (
        line_solution(equation, {"V": V, "A": A}, sigma)
        for sigma, V, A in product(covariances(1), diagonals(2, smallest=1), squares(1))
    )
    return _first("CACP25/blow-up-criterion", found, {"d": 2}, _ON_A_CLOCK, deadline)


def _l2_any_k(*, deadline: Deadline) -> Verdict:
    equation = _equation(L2())
    found = (
        pole_solution(equation, {"K": K, "Q": Q, "V": V}, sigma)
        for V, K, Q, sigma in product(diagonals(1), row_vectors(1), row_vectors(1), covariances(1, parts=2))
    )
    return _first("CACP25/l2-no-blow-up-any-k", found, {"d": 2, "k": 1}, _IN_TIME, deadline)


CLAIMS = (
    Claim(
        id="CACP25/low-rank-limit",
        title="Negative strength and low-rank limits",
        quoted=r"If $VA + A^\top V^\top \preceq 0$, then $\Sigma(t)$ converges to a limit of low rank as "
        r"$t \to \infty$.",
        holds=r"False for general $(V, A)$: if $V\Sigma_0A\Sigma_0 + \Sigma_0A^\top\Sigma_0V^\top = "
        r"\lambda\Sigma_0$ with $\lambda > 0$, then $\Sigma(t) = \Sigma_0/(1 - \lambda t)$ blows up at "
        r"$1/\lambda$, and that is compatible with $VA + A^\top V^\top \prec 0$. It holds where $V$ commutes "
        r"with $\Sigma_0$ and $VA + A^\top V^\top$ (CACP25/low-rank-limit-commuting); there is no blow-up if "
        r"$V = V^\top \succ 0$ and $A + A^\top \preceq 0$ (CACP25/bounded-positive).",
        hypotheses=r"Softmax attention, $A$ with the scale $\beta/\tau$; $\Sigma_0 \succ 0$.",
        method=METHOD,
        documented="refuted",
        reference="CACP25",
        decide=_low_rank_limit,
    ),
    Claim(
        id="CACP25/blow-up-criterion",
        title="Positive strength and blow-up",
        quoted=r"If $\lambda_{\max}(VA + A^\top V^\top) > 0$, then $\Sigma(t)$ blows up in finite time.",
        holds=r"False for general $(V, A)$: in the plane with $V$ symmetric and $A$ skew, $\Sigma(t) = "
        r"\Sigma_0 + u(t)D$ stays on the line of direction $D = VA + A^\top V^\top$, and $u$ stops where "
        r"the determinant vanishes; $V \succ 0$ and $\Sigma_0 \succ 0$ do not help. "
        r"True for $V$ that commutes with $\Sigma_0$ and $VA + A^\top V^\top$, with "
        r"$\Sigma_0^{1/2}(VA + A^\top V^\top)\Sigma_0^{1/2}$ in its place (CACP25/blow-up-time).",
        hypotheses=r"Softmax attention, $A$ with the scale $\beta/\tau$; $\Sigma_0 \succ 0$.",
        method=METHOD,
        documented="refuted",
        reference="CACP25",
        decide=_blow_up_criterion,
    ),
    Claim(
        id="CACP25/l2-no-blow-up-any-k",
        title="L2 attention with any K",
        quoted=r"L2 attention never blows up, whatever $Q$, $K$, $V$.",
        holds=r"False for $K$ with a kernel: then a part of $\Sigma$ may obey "
        r"$\dot s = cs^2$. True for injective $K$ (CACP25/l2-no-blow-up).",
        hypotheses=r"L2 attention, $Q$ and $K$ with the scale $\sqrt{\beta/\tau}$; $\Sigma_0 \succ 0$.",
        method=METHOD,
        documented="refuted",
        reference="CACP25",
        decide=_l2_any_k,
    ),
)
