r"""Scalar values and a symmetric score: the covariance splits into modes.

Let V_h = v_hI and every coefficient matrix of the score be a multiple of one symmetric B. With Σ₀ = FFᵀ and
:math:`F^\top BF = U\operatorname{diag}(g)U^\top` the covariance is

.. math:: \Sigma(t) = FU\operatorname{diag}(y_i(t))U^\top F^\top, \qquad y_i(0) = 1,

and each y solves a scalar equation. Softmax, whose equation is solved by rational functions, is left to the
criterion of commuting values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import wrightomega

from symflow.algebra.exact.numbers import matrix_latex, rational_latex
from symflow.algebra.exact.rational import (
    Factor,
    RationalMatrix,
    diagonal,
    fractions,
    identity,
    inertia,
    inertia_on_range,
    is_symmetric,
    is_zero,
    kernel,
    number_of,
    psd_factor,
    to_sympy,
)
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import FollowsCompiledFlow
from symflow.longtime.curve import Array, finite
from symflow.longtime.projector import limit_on_kernel
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Bound, Criterion, Hypothesis, LongTime

_COMMON = (
    r"Let $V = vI$, $B = B^{\top}$, $\Sigma_0 = FF^{\top}$ and "
    r"$F^{\top}BF = U\operatorname{diag}(g)U^{\top}$. "
)
_DISTANCE = _COMMON + (
    r"If $C = B \preceq 0$ (as for $K = -Q$), $\dot\Sigma = 2v(I-\Sigma B)^{-1}\Sigma B\Sigma$ is solved by "
    r"$\Sigma = FU\operatorname{diag}(y)U^{\top}F^{\top}$ with $\dot y = 2vgy^2/(1-gy)$: for $g < 0$ and "
    r"$u = -1/(gy)$ this is $\dot u = 2vu/(1+u)$, so $u + \log u = u_0 + \log u_0 + 2vt$ and "
    r"$u(t) = W(u_0e^{u_0+2vt})$ with Lambert's $W$; for $g = 0$, $y = 1$. For $v > 0$ hence "
    r"$\Sigma(t) \to F\Pi F^{\top}$, $\Pi$ the projector on $\ker(F^{\top}BF)$, and the rest decays like "
    r"$1/t$: "
    r"the limit of softmax with the same $B$."
)
_TRANSPORT = _COMMON + (
    r"With $\bar B = B$ the score's matrix and $p$ the prefactor, $\dot\Sigma = "
    r"2pv\,\Sigma^{1/2}\delta(\Sigma^{1/2}B"
    r"\Sigma^{1/2})\Sigma^{1/2}$, $\delta(s) = (\sqrt{1+4s^2}-1)/(2s)$, is solved by "
    r"$\Sigma = FU\operatorname{diag}(y)U^{\top}F^{\top}$ with $\dot y = 2pv\,y\,\delta(gy)$: for "
    r"$2gy = \sinh\theta$, $\theta-\coth(\theta/2)$ grows at the rate $2pv$ in modulus of $g$. A mode with "
    r"$vg < 0$ decays like $1/t$, one with $vg > 0$ grows like $e^{2p|v|t}$, one with $g = 0$ stays."
)


@dataclass(frozen=True, eq=False)
class ModeForm:
    """The covariance from its modes; ``form(t)`` returns (mean, cov), the mean None where it is not known."""

    exact: ExactProblem
    B: RationalMatrix
    mode: Callable[[Array, float], Array]
    latex: str

    def __call__(self, t: float) -> tuple[Array | None, Array]:
        """Return (mean, cov) at t ≥ 0."""
        factor = psd_factor(self.exact.sigma)
        assert factor is not None  # the reading made sure
        L = np.array(fractions(factor.L), dtype=float)
        F = L * np.sqrt(np.array([float(number_of(value)) for value in factor.D]))
        rates, axes = np.linalg.eigh(F.T @ np.array(fractions(self.B), dtype=float) @ F)
        zeros = len(rates) - np.sum(_signs(self.B, factor))
        rates[np.argsort(np.abs(rates))[: int(zeros)]] = 0.0  # how many vanish is known exactly
        turned = F @ axes
        with np.errstate(over="ignore", invalid="ignore"):
            mean, cov = self._mean(float(t)), (turned * self.mode(rates, float(t))) @ turned.T
        return finite(float(t), mean, cov)

    def _mean(self, t: float) -> Array | None:
        """Return e^{vt}α₀ where mean and covariance decouple, 0 where it stays 0."""
        head, start = self.exact.heads[0], np.asarray(self.exact.problem.initial.mean)
        constants = (
            (self.exact.shift, head.m) if head.normalise == "sinkhorn" else (self.exact.shift, head.m, head.c)
        )
        if not all(is_zero(constant) for constant in constants):
            return None
        if is_zero(self.exact.alpha):
            return np.zeros_like(start)
        if head.normalise == "sinkhorn":
            return np.asarray(np.exp(float(number_of(head.M[0, 0])) * t) * start)
        return None

    def to_latex(self) -> str:
        """Return the formulas in LaTeX."""
        return self.latex


def modes(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a law that splits into modes; None where it does not apply."""
    if exact.diffusion != 0 or not is_zero(exact.W) or len(exact.heads) != 1:
        return None
    head = exact.heads[0]
    v = head.M[0, 0]
    if not is_zero(head.M - identity(exact.dim) * v) or not is_symmetric(head.B) or head.kernel != "exp":
        return None
    tilted = head.normalise == "softmax" and head.C == head.B and not is_zero(head.C)
    if tilted and v > 0 and not inertia(head.C).positive:  # else a mode may leave the domain gy < 1
        return _told(exact, v, "distance", _DISTANCE, partial(_distance_mode, float(number_of(v))))
    if head.normalise == "sinkhorn" and is_zero(head.C):
        return _told(exact, v, "transport", _TRANSPORT, partial(_transport_mode, float(number_of(v))))
    return None


def _distance_mode(v: float, rates: Array, t: float) -> Array:
    y = np.ones_like(rates)
    u = -1.0 / rates[rates < 0]
    y[rates < 0] = u / wrightomega(u + np.log(u) + 2.0 * v * t).real
    return y


def _transport_mode(v: float, rates: Array, t: float) -> Array:
    """Return the modes of :math:`\\dot m = v(\\sqrt{1+4m^2} - 1)`, m = gy; v contains the prefactor."""
    return np.array([_transported(v, float(g), t) for g in rates])


def _transported(v: float, g: float, t: float) -> float:
    if g == 0.0:
        return 1.0
    start = np.arcsinh(2.0 * abs(g))
    wanted = start - 1.0 / np.tanh(start / 2) + 2.0 * v * np.sign(g) * t
    # θ − coth(θ/2) increases; bracket its root: θ ∈ (0, wanted + 1 + …)
    low, high = 0.0, max(start, wanted + 2.0, 1.0)
    while high - 1.0 / np.tanh(high / 2) < wanted:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if middle - 1.0 / np.tanh(middle / 2) < wanted else (low, middle)
    return float(np.sinh(0.5 * (low + high)) / (2.0 * abs(g)))


def _told(
    exact: ExactProblem, v: Any, name: str, statement: str, mode: Callable[[Array, float], Array]
) -> LongTime:
    head = exact.heads[0]
    factor = psd_factor(exact.sigma)
    assert factor is not None  # the reading made sure
    reduced = factor.L.transpose() * head.B * factor.L
    signs = inertia_on_range(exact.sigma, head.B * (1 if v > 0 else -1), factor.rank)
    grows = bool(signs.positive) and v != 0
    null = kernel(reduced) if factor.rank and v != 0 else identity(factor.rank)
    limit = None if grows else limit_on_kernel(factor, null, exact.dim)
    hypotheses = (
        Hypothesis(
            rf"$V = {rational_latex(v)}\,I$ with the prefactor, $B = B^{{\top}}$", "rational arithmetic"
        ),
        Hypothesis(
            rf"$v\,F^{{\top}}BF$ has {signs.positive} positive, {signs.negative} negative and "
            rf"{signs.zero} zero eigenvalues",
            "Descartes' rule",
        ),
    )
    criterion = Criterion(f"modes-{name}", statement, "CACP25", hypotheses)
    closed = ModeForm(exact, head.B, mode, r"\Sigma(t) = FU\operatorname{diag}(y_i(t))U^{\top}F^{\top}")
    formulas = [Formula(r"\Sigma(t)", r"FU\operatorname{diag}(y_i(t))U^{\top}F^{\top}")]
    if limit is not None:
        shown = matrix_latex(limit) if exact.dim <= 6 else r"F\Pi F^{\top}"
        formulas += [Formula(r"\Sigma^*", shown), Formula(r"\operatorname{rank}\Sigma^*", str(null.ncols()))]
    check = FollowsCompiledFlow(exact, closed)
    growth = Bound(r"\Sigma(t) = O(e^{2p|v|t})", {"rate": 2 * abs(number_of(v))})
    return LongTime(
        derivation=steps_of(exact, criterion, check, formulas, check),
        criterion=criterion,
        closed_form=closed,
        limit=None if limit is None else to_sympy(limit),
        limit_rank=None if limit is None else int(null.ncols()),
        global_in_time=True,
        bounds=(growth if grows else Bound(r"\Sigma(t) - \Sigma^* = O(1/t)"),),
        witnesses={"B": fractions(head.B), "reduced": fractions(reduced), "L": fractions(factor.L)},
        reason="no blow-up: "
        + ("the covariance grows at most exponentially" if grows else "the limit exists"),
    )


def _signs(B: RationalMatrix, factor: Factor) -> tuple[int, int]:
    """Return how many eigenvalues of FᵀBF are positive and negative."""
    signs = inertia_on_range(factor.L * diagonal(factor.D) * factor.L.transpose(), B, factor.rank)
    return signs.positive, signs.negative
