r"""Steady states under idiosyncratic noise: Σ* with F(Σ*) + 2εI = 0, or the proof that there is none."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from symflow.algebra.exact.balls import (
    frobenius,
    inflate,
    is_positive_definite,
    midpoints,
)
from symflow.algebra.exact.numbers import Ball, BallMatrix, largest_root, rational_latex
from symflow.algebra.exact.rational import (
    RationalMatrix,
    commute,
    diagonal,
    fmpq,
    fractions,
    inertia,
    is_zero,
    number_of,
    trace,
)
from symflow.derive.steps import Check, Checked, Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import BlowsUpInCompiledFlow, Holds
from symflow.longtime.lyapunov import Weighted, decay_constant, weighted
from symflow.longtime.noisy_modes import noisy_modes
from symflow.longtime.quadratic import quadratic_heads, scalar_value
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Bound, Criterion, Hypothesis, LongTime

_BITS = 256
_COMMUTING = (
    r"Let every $V_h$ commute with $\Sigma_0$ and with $S = \sum_hV_hA_h+A_h^{\top}V_h^{\top}$, and "
    r"$\varepsilon > 0$. The solution of $\dot\Sigma = \Sigma S\Sigma+2\varepsilon I$ is a limit of "
    r"polynomials in $\Sigma_0$ and $S$, so it commutes with every $V_h$ and solves the equation. A steady "
    r"state that commutes with every $V_h$ (as every matrix does where $V_h = v_hI$) is regular and has $S = "
    r"-2\varepsilon\Sigma^{-2}$, so one exists exactly if $P = -S \succ 0$, and it is $\Sigma^* = "
    r"(2\varepsilon)^{1/2}P^{-1/2}$. Then with $\Omega = (2\varepsilon P)^{1/2}$ and $Y = "
    r"\cosh(\Omega t)+\Omega^{-1}\sinh(\Omega t)P\Sigma_0$, $\Sigma = P^{-1}\dot YY^{-1}$ for all $t \ge 0$, "
    r"and $Y \sim \tfrac12e^{\Omega t}(I+\Omega^{-1}P\Sigma_0)$ with an invertible factor gives "
    r"$\Sigma(t) \to P^{-1}\Omega = \Sigma^*$. The difference $D$ of two solutions has $2\dot D = "
    r"(\Sigma_1+\Sigma_2)SD+DS(\Sigma_1+\Sigma_2)$, so it stays $\succeq 0$: $\Sigma$ is above the "
    r"solution from $0$, which for $\lambda = \lambda_{\max}(S) > 0$ blows up at "
    r"$\tfrac\pi2(2\varepsilon\lambda)^{-1/2}$."
)
_WEIGHTED = (
    r"Let $V = V^{\top} \succ 0$ and $\varepsilon > 0$. Then $\varphi = \operatorname{tr}(V^{-1}\Sigma)$ has "
    r"$\dot\varphi = \operatorname{tr}(\Sigma(A+A^{\top})\Sigma)+2\varepsilon\operatorname{tr}V^{-1}$. For "
    r"$A+A^{\top} \succeq 0$ this is positive, so no steady state exists. For $A+A^{\top} \prec 0$, with "
    r"$\kappa$ as without noise, $\dot\varphi \le -\kappa\varphi^2+2\varepsilon\operatorname{tr}V^{-1}$, so "
    r"$\varphi(t) \le \max(\varphi(0),(2\varepsilon\operatorname{tr}(V^{-1})/\kappa)^{1/2})$: no blow-up."
)


def noise(exact: ExactProblem) -> LongTime | None:
    """Return what is proved about a law with noise; None where no statement applies."""
    flow = quadratic_heads(exact)
    if flow is None or exact.diffusion == 0 or not is_zero(exact.W):
        return None
    S = flow.S
    if all(commute(V, exact.sigma) and commute(V, S) for V, _ in flow.pairs):
        return noisy_modes(exact, S, scalar_value(flow)) or _commuting(exact, S, scalar_value(flow))
    data = weighted(exact)
    return None if data is None else _weighted(exact, data)


def _commuting(exact: ExactProblem, S: RationalMatrix, scalar: bool) -> LongTime:
    signs = inertia(S)
    epsilon = exact.diffusion
    own = r"every $V_h$ is a multiple of $I$" if scalar else r"every $V_h$ commutes with $\Sigma_0$ and $S$"
    hypotheses = (
        Hypothesis(own, "rational arithmetic"),
        Hypothesis(
            rf"$S$ has {signs.positive} positive, {signs.negative} negative, {signs.zero} zero eigenvalues",
            "Descartes' rule",
        ),
    )
    criterion = Criterion("noise-scalar" if scalar else "noise-commuting", _COMMUTING, "", hypotheses)
    if signs.negative < exact.dim:
        return _without_steady_state(exact, S, criterion, scalar)
    limit = inverse_root(S * (fmpq(-1) / (2 * epsilon)))
    check = _Steady(exact, S, limit)
    return LongTime(
        derivation=steps_of(
            exact, criterion, check, [Formula(r"\Sigma^*", r"(2\varepsilon)^{1/2}(-S)^{-1/2}")], check
        ),
        criterion=criterion,
        limit=limit,
        limit_rank=exact.dim,
        steady_state=limit,
        global_in_time=True,
        witnesses={"S": fractions(S), "diffusion": number_of(epsilon)},
        reason="no blow-up: the limit is the steady state",
    )


def _without_steady_state(
    exact: ExactProblem, S: RationalMatrix, criterion: Criterion, scalar: bool
) -> LongTime:
    blows_up = bool(inertia(S).positive)
    holds = Holds(partial(_is_not_negative, S), "Descartes' rule", "S is not negative definite")
    formulas = [Formula(r"\{\Sigma \succeq 0 : \Sigma S\Sigma+2\varepsilon I = 0\}", r"\emptyset")]
    bounds: tuple[Bound, ...] = ()
    result: Check = holds
    if blows_up:
        latest = _latest(exact, S)
        formulas.append(Formula(r"t^* \le", latest.to_latex()))
        bounds = (Bound(r"t^* \le \tfrac\pi2(2\varepsilon\lambda_{\max}(S))^{-1/2}", {"latest": latest}),)
        result = BlowsUpInCompiledFlow(exact, float(latest), at_latest=True)
    none = "no steady state exists" + ("" if scalar else " that commutes with every V")
    fate = "the covariance blows up" if blows_up else "no blow-up: tr Σ grows at most linearly"
    return LongTime(
        derivation=steps_of(exact, criterion, holds, formulas, result),
        criterion=criterion,
        global_in_time=not blows_up,
        bounds=bounds,
        witnesses={"S": fractions(S), "diffusion": number_of(exact.diffusion)},
        reason=f"{none}; {fate}",
    )


def _latest(exact: ExactProblem, S: RationalMatrix) -> Ball:
    """Return when the solution from 0 blows up."""
    from flint import arb, ctx

    top, _ = largest_root(S.charpoly())
    with ctx.workprec(_BITS):
        return Ball.of(arb.pi() / (2 * (2 * arb(exact.diffusion) * top.arb(_BITS)).sqrt()))


def _is_not_negative(S: RationalMatrix) -> bool:
    return inertia(S).negative < int(S.nrows())


def inverse_root(matrix: RationalMatrix) -> Any:
    r"""Return M^{-1/2} of a positive definite matrix: exact where M is diagonal, else in balls.

    An approximate root Z ≻ 0 of M has :math:`|M^{1/2} - Z|_F \le |M - Z^2|_F/\lambda_{\min}(Z)`, because
    the difference D solves :math:`DM^{1/2} + ZD = M - Z^2`.
    """
    from flint import arb, arb_mat, ctx
    from sympy import ImmutableMatrix, sqrt

    d = matrix.nrows()
    entries = [matrix[i, i] for i in range(d)]
    if is_zero(matrix - diagonal(entries)):
        return ImmutableMatrix.diag(*(1 / sqrt(number_of(value)) for value in entries))
    with ctx.workprec(_BITS):
        M = arb_mat(matrix)
        weights, axes = np.linalg.eigh(np.array(fractions(matrix), dtype=float))
        Z = arb_mat((axes * np.sqrt(weights) @ axes.T).tolist())
        for _ in range(6):  # Newton: Z ← (Z + Z⁻¹M)/2, symmetrised
            Z = Z + Z.inv() * M
            Z = midpoints((Z + Z.transpose()) * (arb(1) / 4))
        floor = _smallest(Z, float(np.sqrt(weights[0])))
        root = inflate(Z, frobenius(M - Z * Z) / floor)
        return BallMatrix.of(root.inv().tolist())


def _smallest(Z: Any, guess: float) -> Any:
    """Return a proved positive lower bound of λ_min."""
    from flint import arb

    bound = arb(guess)
    while True:
        bound = bound / 2
        rows = Z.tolist()
        if is_positive_definite(
            [[x - bound if i == j else x for j, x in enumerate(r)] for i, r in enumerate(rows)]
        ):
            return bound


def _weighted(exact: ExactProblem, data: Weighted) -> LongTime | None:
    signs = inertia(data.growth)
    none, bounded = not signs.negative, signs.negative == exact.dim
    if not none and not bounded:
        return None
    sign = r"\succeq" if none else r"\prec"
    criterion = Criterion(
        "noise-weighted-trace",
        _WEIGHTED,
        "",
        (Hypothesis(rf"$A+A^{{\top}} {sign} 0$", "Descartes' rule"),),
    )
    source = 2 * exact.diffusion * trace(data.inverse)
    bounds: tuple[Bound, ...] = ()
    formulas = [Formula(r"2\varepsilon\operatorname{tr}V^{-1}", rational_latex(source))]
    if bounded:
        kappa = decay_constant(data)
        formulas.append(Formula(r"\kappa", rational_latex(kappa)))
        bounds = (
            Bound(
                r"\varphi(t) \le \max(\varphi(0),(2\varepsilon\operatorname{tr}(V^{-1})/\kappa)^{1/2})",
                {"phi0": number_of(trace(data.inverse * exact.sigma)), "square": number_of(source / kappa)},
            ),
        )

    check = Holds(
        partial(_identity_holds, exact, data), "the derived equation in rational arithmetic", "equal at Σ₀"
    )
    return LongTime(
        derivation=steps_of(exact, criterion, check, formulas, check),
        criterion=criterion,
        global_in_time=True if bounded else None,
        bounds=bounds,
        witnesses={"weight": fractions(data.inverse), "growth": fractions(data.growth)},
        reason="no steady state exists; blow-up is not decided"
        if none
        else "no blow-up: the weighted trace stays bounded; the limit is not decided",
    )


def _identity_holds(exact: ExactProblem, data: Weighted) -> bool:
    velocity = trace(data.inverse * exact.drift(exact.alpha * 0, exact.sigma)[1])
    source = 2 * exact.diffusion * trace(data.inverse)
    return bool(velocity == trace(exact.sigma * data.growth * exact.sigma) + source)


class _Steady:
    """The stated matrix makes ΣSΣ + 2εI vanish."""

    def __init__(self, exact: ExactProblem, S: RationalMatrix, limit: Any) -> None:
        self._exact, self._S, self._limit = exact, S, limit

    def run(self) -> Checked:
        """Evaluate the residual in floats."""
        limit = np.array(self._limit, dtype=float)
        S = np.array(fractions(self._S), dtype=float)
        epsilon = float(number_of(self._exact.diffusion))
        residual = float(np.abs(limit @ S @ limit + 2 * epsilon * np.eye(len(S))).max() / (2 * epsilon))
        return Checked(residual < 1e-10, "the equation in floats", f"relative residual {residual:.1e}")
