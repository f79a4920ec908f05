r"""Values and scores that commute with the covariance, with noise: every mode is a scalar equation.

.. math:: \dot\Sigma = \Sigma S\Sigma + 2\varepsilon I, \qquad \dot y = sy^2 + 2\varepsilon
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.algebra.exact.numbers import Ball, rational_latex
from symflow.algebra.exact.rational import (
    RationalMatrix,
    commute,
    fmpq,
    fractions,
    identity,
    inertia,
    number_of,
    rational_matrix,
    trace,
)
from symflow.derive.checks import Together
from symflow.derive.steps import Check, Formula
from symflow.errors import InputError
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import BlowsUpInCompiledFlow, FollowsCompiledFlow
from symflow.longtime.curve import Array, finite
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, Hypothesis, LongTime

_BITS = 256
_STATEMENT = (
    r"Let every $V_h$ commute with $\Sigma_0$ and with $S = \sum_hV_hA_h+A_h^{\top}V_h^{\top}$, and "
    r"$\Sigma_0$ with $S$. Then $\Sigma(t)$ is a polynomial in $\Sigma_0$ and $S$, so that it commutes "
    r"with every $V_h$ and $\dot\Sigma = \Sigma S\Sigma+2\varepsilon I$. On a common "
    r"eigenspace with the eigenvalues $x$ of $\Sigma_0$ and $s$ of $S$ this is "
    r"$\dot y = sy^2+2\varepsilon$, $y(0) = x$. With $\omega = "
    r"(2\varepsilon|s|)^{1/2}$: for $s > 0$ it blows up at $\omega t = \tfrac\pi2-"
    r"\arctan(x(s/2\varepsilon)^{1/2})$, for $s = 0$ it is $x+2\varepsilon t$, and for $s < 0$ it tends to "
    r"$(2\varepsilon/|s|)^{1/2}$. A steady state that commutes with every $V_h$ has $\Sigma^{-2} = "
    r"-S/(2\varepsilon)$, so it exists only if $S \prec 0$."
)


@dataclass(frozen=True, eq=False)
class _Mode:
    """Eigenvalues of Σ₀ and S on a common eigenspace, as balls, and its dimension."""

    x: Any
    s: Any
    multiplicity: int

    @property
    def is_open(self) -> bool:
        """Whether the ball leaves the sign of s open: it is exactly 0 where s = 0."""
        return not (self.s == 0 or self.s > 0 or self.s < 0)


@dataclass(frozen=True, eq=False)
class NoisyForm:
    """The covariance from its modes; ``form(t)`` returns (None, cov)."""

    exact: ExactProblem
    S: RationalMatrix
    joint: RationalMatrix
    ends: float | None

    def __call__(self, t: float) -> tuple[Array | None, Array]:
        """Return the covariance at a time ≥ 0 before the blow-up."""
        time = float(t)
        if not 0.0 <= time < (np.inf if self.ends is None else self.ends):
            raise InputError(f"t = {time!r} must be at least 0 and before the blow-up time {self.ends}")
        _, axes = np.linalg.eigh(np.array(fractions(self.joint), dtype=float))
        start = np.array(fractions(self.exact.sigma), dtype=float)
        rates = np.diag(axes.T @ np.array(fractions(self.S), dtype=float) @ axes).copy()
        rates[np.argsort(np.abs(rates))[: inertia(self.S).zero]] = 0.0  # how many vanish is known exactly
        noise = 2.0 * float(number_of(self.exact.diffusion))
        values = [
            _mode_at(x, s, noise, time) for x, s in zip(np.diag(axes.T @ start @ axes), rates, strict=True)
        ]
        return finite(time, None, np.asarray((axes * np.array(values)) @ axes.T))

    def to_latex(self) -> str:
        """Return the formulas in LaTeX."""
        return r"\Sigma(t) = U\operatorname{diag}(y_i(t))U^{\top}, \qquad \dot y_i = s_iy_i^2+2\varepsilon"


def _mode_at(x: float, s: float, noise: float, t: float) -> float:
    if s == 0.0:
        return x + noise * t
    omega, scale = np.sqrt(noise * abs(s)), np.sqrt(noise / abs(s))
    turned = np.tan(omega * t) if s > 0 else np.tanh(omega * t)
    return float((x + scale * turned) / (1.0 - np.sign(s) * x * turned / scale))


def noisy_modes(exact: ExactProblem, S: RationalMatrix, scalar: bool) -> LongTime | None:
    """Return the fate of a law whose covariance commutes with S where S is not negative definite, else None.

    Parameters
    ----------
    exact : ExactProblem
        With noise, without a layer, and with values that commute with Σ₀ and S.
    S : flint.fmpq_mat
    scalar : bool
        Whether every value is a multiple of the identity, so that every covariance commutes with it.
    """
    signs = inertia(S)
    if not commute(S, exact.sigma) or signs.negative == exact.dim:
        return None
    joint, modes = _modes(exact, S)
    t_star, rank = _blow_up(exact, modes) if signs.positive else (None, None)
    ends = None if t_star is None else float(t_star)
    form = NoisyForm(exact, S, joint, ends)
    hypotheses = (
        Hypothesis(
            r"$V_h\Sigma_0 = \Sigma_0V_h$, $V_hS = SV_h$, $\Sigma_0S = S\Sigma_0$", "rational arithmetic"
        ),
        Hypothesis(
            rf"$S$ has {signs.positive} positive, {signs.negative} negative, {signs.zero} zero eigenvalues",
            "Descartes' rule",
        ),
    )
    criterion = Criterion("noise-modes", _STATEMENT, "", hypotheses)
    formulas = [Formula(r"2\varepsilon", rational_latex(2 * exact.diffusion))]
    formulas += [] if t_star is None else [Formula("t^*", t_star.to_latex())]
    lemma = FollowsCompiledFlow(exact, form, ends)
    result: Check = lemma if ends is None else Together((lemma, BlowsUpInCompiledFlow(exact, ends)))
    fate = "the covariance has no limit: it blows up"
    if t_star is None:
        fate = "no blow-up, and no limit: the covariance grows like 2εt"
    return LongTime(
        derivation=steps_of(exact, criterion, lemma, formulas, result),
        criterion=criterion,
        closed_form=form,
        limit_rank=rank,
        blow_up_time=t_star,
        global_in_time=t_star is None,
        witnesses={"S": fractions(S), "diffusion": number_of(exact.diffusion), "joint": fractions(joint)},
        reason=f"{fate}; no steady state exists" + ("" if scalar else " that commutes with every V"),
    )


def _modes(exact: ExactProblem, S: RationalMatrix) -> tuple[RationalMatrix, list[_Mode]]:
    """Return a combination Z of Σ₀ and S that separates their common eigenspaces, and the modes.

    Then both are polynomials in Z; on the roots of an irreducible factor f they are evaluated modulo f, so
    that a zero eigenvalue is exactly zero.
    """
    from flint import ctx, fmpq_poly

    weight = 1
    while (found := _polynomials(exact.sigma + S * weight, (exact.sigma, S))) is None:
        weight += 1
    joint = exact.sigma + S * weight
    bits, modes = _BITS, list[_Mode]()
    while not modes or any(mode.is_open for mode in modes):
        bits *= 2
        with ctx.workprec(bits):
            modes = []
            for factor, multiplicity in joint.charpoly().factor()[1]:
                x, s = (polynomial % fmpq_poly(factor) for polynomial in found)
                roots: Any = fmpq_poly(factor).numer().complex_roots()
                modes += [_Mode(_at(x, z.real), _at(s, z.real), multiplicity) for z, _ in roots]
    return joint, modes


def _polynomials(Z: RationalMatrix, wanted: tuple[RationalMatrix, ...]) -> list[Any] | None:
    """Return the polynomials in a symmetric Z that the wanted matrices are, None where one is not."""
    from flint import fmpq_poly

    characteristic = Z.charpoly()
    count = (characteristic // characteristic.gcd(characteristic.derivative())).degree()
    powers = [identity(Z.nrows())]
    while len(powers) < count:
        powers.append(powers[-1] * Z)
    gram = rational_matrix([[trace(one * other) for other in powers] for one in powers])
    found = []
    for matrix in wanted:
        coefficients = gram.solve(rational_matrix([[trace(one * matrix)] for one in powers])).entries()
        value = sum((P * c for P, c in zip(powers, coefficients, strict=True)), Z * fmpq(0))
        if value != matrix:
            return None
        found.append(fmpq_poly(coefficients))
    return found


def _at(polynomial: Any, z: Any) -> Any:
    """Return the value in ball arithmetic, exactly 0 for the zero polynomial."""
    value = z * 0
    for coefficient in reversed(polynomial.coeffs()):
        value = value * z + coefficient
    return value


def _blow_up(exact: ExactProblem, modes: list[_Mode]) -> tuple[Ball, int | None]:
    """Return the first blow-up time, and the rank of the direction where one mode is first."""
    from flint import arb, ctx

    with ctx.workprec(_BITS):
        times = []
        for mode in modes:
            if mode.s > 0:
                omega = (2 * arb(exact.diffusion) * mode.s).sqrt()
                scale = (2 * arb(exact.diffusion) / mode.s).sqrt()
                late = (scale / mode.x).atan() if mode.x > 0 else arb.pi() / 2 - (mode.x / scale).atan()
                times.append((Ball.of(late / omega), mode.multiplicity))
    first = min((ball for ball, _ in times), key=lambda ball: ball.upper)
    near = [(ball, multiplicity) for ball, multiplicity in times if ball.lower <= first.upper]
    low = min(ball.lower for ball, _ in near)
    enclosure = Ball((low + first.upper) / 2, (first.upper - low) / 2)
    return enclosure, near[0][1] if len(near) == 1 else None
