r"""Heads that do not see the query: an affine flow, with or without noise.

.. math:: \dot\alpha = G\alpha + g, \qquad \dot\Sigma = W\Sigma + \Sigma W^\top + 2\varepsilon I
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import expm

from symflow.algebra.exact.numbers import matrix_latex
from symflow.algebra.exact.rational import (
    RationalMatrix,
    fmpq,
    fractions,
    identity,
    inertia,
    is_zero,
    number_of,
    rational_matrix,
    symmetric_part,
    to_sympy,
    zeros,
)
from symflow.derive.checks import Together
from symflow.derive.steps import Check, Formula
from symflow.errors import InputError
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import FollowsCompiledFlow, Holds
from symflow.longtime.curve import Array, finite
from symflow.longtime.reading import ExactHead, ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime
from symflow.longtime.settling import is_hurwitz, lyapunov_solution, settled

#: Without noise and without stability the limit is read off d(d+1)/2 exact powers: largest d for that.
_WIDEST = 6
_STATEMENT = (
    r"Suppose that no head depends on $x$: it has $B_h = 0$ or no value. Then $\Gamma(x) = Wx+\dots$ and "
    r"$\dot\Sigma = W\Sigma+\Sigma W^{\top}+2\varepsilon I$ exists for all times. If every eigenvalue of $W$ "
    r"has a "
    r"negative real part, $W\Sigma^*+\Sigma^*W^{\top} = -2\varepsilon I$ has one solution, and $\Sigma(t) = "
    r"\Sigma^*+e^{tW}(\Sigma_0-\Sigma^*)e^{tW^{\top}} \to \Sigma^*$. Conversely let $\varepsilon > 0$ and "
    r"$\Sigma^* \succeq 0$ be a steady state: for a left eigenvector $w^*W = \lambda w^*$ then "
    r"$2\operatorname{Re}\lambda\;w^*\Sigma^*w = -2\varepsilon|w|^2 < 0$, so every eigenvalue has a negative "
    r"real part; otherwise there is no steady state and, because a limit would be one, no limit. For "
    r"$\dot z = Mz$ let $m$ be the minimal polynomial of $z_0$: $z(t)$ converges exactly if $m = h$ or "
    r"$m = xh$, all roots of $h$ with negative real part, to $0$ or to $h(M)z_0/h(0)$."
)
_FORM = r"e^{tW}\Sigma_0e^{tW^{\top}}"
_NOISY = _FORM + r"+2\varepsilon\int_0^te^{sW}e^{sW^{\top}}ds"


@dataclass(frozen=True, eq=False)
class _MeanFlow:
    """α' = Gα + g."""

    G: RationalMatrix
    g: RationalMatrix

    @property
    def generator(self) -> RationalMatrix:
        """The generator of (α, 1)."""
        d = self.G.nrows()
        rows = [[*self.G.tolist()[i], self.g[i, 0]] for i in range(d)]
        return rational_matrix([*rows, [0] * (d + 1)])


@dataclass(frozen=True, eq=False)
class AffineForm:
    """Mean and covariance from matrix exponentials; ``form(t)`` returns (mean or None, cov).

    Attributes
    ----------
    exact : ExactProblem
    steady : flint.fmpq_mat or None
        A solution of the Lyapunov equation, where the covariance tends to it or there is no noise.
    flow : _MeanFlow or None
    """

    exact: ExactProblem
    steady: RationalMatrix | None
    flow: _MeanFlow | None

    def __call__(self, t: float) -> tuple[Array | None, Array]:
        """Return (mean, cov) at t ≥ 0."""
        time = float(t)
        if not 0.0 <= time < np.inf:
            raise InputError(f"t = {time!r} must be finite and at least 0")
        with np.errstate(over="ignore", invalid="ignore"):  # refused by name in finite
            mean, cov = self._mean(time), self._cov(time)
        return finite(time, mean, 0.5 * (cov + cov.T))

    def _cov(self, t: float) -> Array:
        d = self.exact.dim
        W: Array = _floats(self.exact.W)
        start: Array = _floats(self.exact.sigma)
        if self.steady is not None:
            flow = np.asarray(expm(t * W))
            steady = _floats(self.steady)
            return np.asarray(steady + flow @ (start - steady) @ flow.T)
        operator = np.zeros((d * d + 1, d * d + 1))
        operator[:-1, :-1] = np.kron(W, np.eye(d)) + np.kron(np.eye(d), W)
        operator[:-1, -1] = 2.0 * float(number_of(self.exact.diffusion)) * np.eye(d).ravel()
        moved = np.asarray(expm(t * operator)) @ np.append(start.ravel(), 1.0)
        return np.asarray(moved[:-1].reshape(d, d))

    def _mean(self, t: float) -> Array | None:
        if self.flow is None:
            return None
        if is_zero(self.exact.alpha) and is_zero(self.flow.g):  # stays there, also where e^{tG} is infinite
            return np.zeros(self.exact.dim)
        start = np.append(_floats(self.exact.alpha)[:, 0], 1.0)
        return np.asarray((expm(t * _floats(self.flow.generator)) @ start)[:-1])

    def to_latex(self) -> str:
        """Return the formulas in LaTeX."""
        cov = _NOISY if self.exact.diffusion != 0 else _FORM
        mean = r", \qquad \alpha(t) = e^{tG}\alpha_0+\int_0^te^{sG}g\,ds"
        return rf"\Sigma(t) = {cov}" + (mean if self.flow is not None else "")


def affine(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a law whose velocity gradient is constant; None where a head depends on x."""
    if is_zero(exact.W) and exact.diffusion == 0:
        return None
    if not all(_is_blind(head) for head in exact.heads):
        return None
    stable = is_hurwitz(exact.W.charpoly())
    noisy = exact.diffusion != 0
    limit = _limit(exact, stable)
    flow = _mean_flow(exact)
    form = AffineForm(exact, limit if stable else None if noisy else zeros(exact.dim, exact.dim), flow)
    mean_limit = None if flow is None else _mean_limit(exact, flow)
    criterion = Criterion("affine", _STATEMENT, "", _hypotheses(stable))
    formulas = [Formula(r"\Sigma(t)", _NOISY if noisy else _FORM)]
    formulas += [] if limit is None else [Formula(r"\Sigma^*", _shown(limit))]
    formulas += [] if mean_limit is None else [Formula(r"\lim_{t\to\infty}\alpha(t)", _shown(mean_limit))]
    witnesses: dict[str, Any] = {"W": fractions(exact.W), "diffusion": number_of(exact.diffusion)}
    if flow is not None:
        witnesses |= {"G": fractions(flow.G), "g": fractions(flow.g)}
    if mean_limit is not None:
        witnesses["mean_limit"] = fractions(mean_limit)
    return LongTime(
        derivation=steps_of(
            exact, criterion, _lemma(exact, form), formulas, _check(exact, form, stable, limit)
        ),
        criterion=criterion,
        closed_form=form,
        limit=None if limit is None else to_sympy(limit),
        limit_rank=None if limit is None else int(limit.rank()),
        steady_state=to_sympy(limit) if noisy and limit is not None else None,
        global_in_time=True,
        witnesses=witnesses,
        reason=_reason(exact, limit),
    )


def _is_blind(head: ExactHead) -> bool:
    """Whether the integral does not depend on x, and exists for every law."""
    if is_zero(head.M) and is_zero(head.m):
        return head.kernel == "score" or not inertia(head.C).positive
    if head.normalise == "none":
        return head.kernel == "score" and is_zero(head.B) and head.rest_is_zero
    constant = is_zero(head.M) or is_zero(head.B)
    return constant and head.kernel == "exp" and not inertia(head.C).positive


def _mean_flow(exact: ExactProblem) -> _MeanFlow | None:
    """Return the equation of the mean, None where the covariance or a square of the mean enters."""
    G, g = exact.W, exact.shift
    for head in exact.heads:
        plain = is_zero(head.c) and is_zero(head.C)
        if not is_zero(head.M) and not plain and head.normalise != "sinkhorn":
            return None
        if head.normalise == "none":
            if not plain:
                return None
            continue  # the kernel is zero
        G, g = G + head.M, g + head.m
    return _MeanFlow(G, g)


def _limit(exact: ExactProblem, stable: bool) -> RationalMatrix | None:
    d = exact.dim
    if stable:
        return lyapunov_solution(exact.W, identity(d) * (2 * exact.diffusion))
    if exact.diffusion != 0 or d > _WIDEST:
        return None
    return settled(partial(_moved, exact.W), exact.sigma)


def _moved(W: RationalMatrix, sigma: RationalMatrix) -> RationalMatrix:
    return symmetric_part(W * sigma)


def _mean_limit(exact: ExactProblem, flow: _MeanFlow) -> RationalMatrix | None:
    start = rational_matrix([*exact.alpha.tolist(), [1]])
    limit = settled(flow.generator.__mul__, start)
    return None if limit is None else rational_matrix(limit.tolist()[:-1])


def _hypotheses(stable: bool) -> tuple[Hypothesis, ...]:
    side = (
        "every eigenvalue of $W$ has a negative real part"
        if stable
        else (r"an eigenvalue of $W$ has a real part $\ge 0$")
    )
    return (
        Hypothesis(r"every head has $B_h = 0$ or no value", "rational arithmetic"),
        Hypothesis(
            side,
            "Routh's criterion for the characteristic polynomial in rational arithmetic",
        ),
    )


def _is_evaluated(exact: ExactProblem) -> bool:
    """Whether the derived drift has rational values: square roots of matrices have none."""
    return all(head.normalise != "sinkhorn" for head in exact.heads)


def _lemma(exact: ExactProblem, form: AffineForm) -> Check:
    if not _is_evaluated(exact):
        return FollowsCompiledFlow(exact, form)
    return Holds(
        partial(_derived_alike, exact, form.flow),
        "the derived equations in rational arithmetic",
        "equal at 2 + d(d+1)/2 laws",
    )


def _check(exact: ExactProblem, form: AffineForm, stable: bool, limit: RationalMatrix | None) -> Check:
    definite = Holds(
        partial(_lyapunov_agrees, exact, stable),
        "Lyapunov's equation by elimination, Descartes' rule",
        "its solution is definite" if stable else "it has no positive definite solution",
    )
    parts: tuple[Check, ...] = (definite, FollowsCompiledFlow(exact, form))
    if limit is not None and _is_evaluated(exact):
        still = Holds(
            partial(_stands_still, exact, limit), "the derived equation in rational arithmetic", "Σ̇ = 0 at Σ*"
        )
        parts = (*parts, still)
    return Together(parts)


def _lyapunov_agrees(exact: ExactProblem, stable: bool) -> bool:
    """Whether WX + XWᵀ = −I has a positive definite solution exactly if W was found stable."""
    X = lyapunov_solution(exact.W, identity(exact.dim))
    return (X is not None and inertia(X).positive == exact.dim) == stable


def _stands_still(exact: ExactProblem, limit: RationalMatrix) -> bool:
    return is_zero(exact.drift(exact.alpha, limit)[1])


def _derived_alike(exact: ExactProblem, flow: _MeanFlow | None) -> bool:
    """Whether the derived drift is the stated one at the start, at 0 and at a basis of covariances."""
    d = exact.dim
    laws = [(exact.alpha, exact.sigma), (exact.alpha * fmpq(0), zeros(d, d))]
    for i in range(d):
        for j in range(i + 1):
            root = rational_matrix([[int(k in (i, j))] for k in range(d)])
            laws.append((exact.alpha + root * (i + 1), root * root.transpose()))
    for alpha, sigma in laws:
        mean, cov = exact.drift(alpha, sigma)
        if cov != _moved(exact.W, sigma) + identity(d) * (2 * exact.diffusion):
            return False
        if flow is not None and mean != flow.G * alpha + flow.g:
            return False
    return True


def _reason(exact: ExactProblem, limit: RationalMatrix | None) -> str:
    if limit is not None:
        return "no blow-up: the limit exists"
    if exact.diffusion != 0:
        return (
            "no blow-up; no steady state exists: W has an eigenvalue with real part ≥ 0, and noise reaches it"
        )
    if exact.dim > _WIDEST:
        return f"no blow-up; the limit is not decided for d > {_WIDEST} where W is not stable"
    return "no blow-up, and no limit: an eigenvalue of W with real part ≥ 0 moves the covariance"


def _shown(limit: RationalMatrix) -> str:
    return matrix_latex(limit) if limit.nrows() <= _WIDEST else r"\text{see the result}"


def _floats(matrix: RationalMatrix) -> Array:
    return np.array(fractions(matrix), dtype=float)
