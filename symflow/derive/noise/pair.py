r"""Two tokens in common noise: the generator of their cosine, and what it says where they meet."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Symbol, cancel, collect, diff, factor

from symflow.algebra.latex import latex
from symflow.derive.derivation import Argument
from symflow.derive.noise import limits
from symflow.derive.noise.ito import (
    cosine_generator,
    normalisation_drift,
    radial_drift,
    square_root_drift,
    triangular_root,
)
from symflow.derive.noise.pair_checks import (
    EnergyAtOne,
    GeneratorInComponents,
    LayerMean,
    LimitAtOne,
    RadiusInComponents,
    SquareRootInComponents,
    StratonovichCorrection,
    at_lyapunov,
    at_powers,
)
from symflow.derive.noise.subject import SPHERE_NOISE
from symflow.derive.noise.symbols import BETA, COSINE, ORDER, kappa, kappa_slope
from symflow.derive.steps import Formula, Step

_SOURCE = "ABGSR26"


@dataclass(frozen=True)
class PairGenerator(Argument):
    r"""What common noise does to two tokens on the sphere, step by step; :math:`Lf = G_0f' + G_1f''`.

    Everything is an expression in κ(u), κ(1), κ'(1), the size d and u = ⟨x, y⟩.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    correction : Expr
        c in :math:`dx = -c\,x\,dt + P_x\,dW(x)` (Itô).
    drift, diffusion : Expr
        G₀ and G₁, without attention.
    lyapunov : Expr
        λ₁.
    dissipation : Expr
        λ̄ = Λ(2).
    moments : Expr
        Λ(p), in the symbol p.
    energy : Expr
        F(u) = −Lf/f of f = e^β − e^{βu}.
    square_root : Expr
        What the Cholesky factor in a Stratonovich scheme adds to G₀, for two tokens.
    """

    model: Any
    statement: Any
    correction: Expr
    drift: Expr
    diffusion: Expr
    lyapunov: Expr
    dissipation: Expr
    moments: Expr
    energy: Expr
    square_root: Expr

    def moment_exponent(self, p: Any) -> Expr:
        """Return Λ(p)."""
        return limits.in_slopes(self.moments.subs(ORDER, p))

    def insert(self, expr: Expr, covariance: Expr, at_one: Any, slope_at_one: Any) -> Expr:
        """Return an expression of this record for one field.

        Parameters
        ----------
        expr : Expr
            In κ(u), κ'(u), κ(1) and κ'(1).
        covariance : Expr
            κ as a function of the symbol u.
        at_one, slope_at_one : Expr or number
            κ(1) and κ'(1).
        """
        given = {kappa(1): at_one, kappa_slope(1): slope_at_one}
        slope = diff(covariance, COSINE)
        inside = expr.subs(given).replace(kappa_slope, lambda point: slope.subs(COSINE, point))
        return inside.replace(kappa, lambda point: covariance.subs(COSINE, point))

    def __repr__(self) -> str:
        return f"PairGenerator(G0 = {self.drift}, G1 = {self.diffusion})"


@functools.cache
def pair_generator() -> PairGenerator:
    """Derive the generator of the cosine of two tokens in common noise, and its limits where they meet.

    References
    ----------
    ABGSR26.

    Examples
    --------
    >>> found = pair_generator()
    >>> found.diffusion
    (u - 1)*(u + 1)*(u*kappa(u) - kappa(1))
    >>> found.lyapunov
    (d - 3)*kappa_slope(1)/2 - (d - 1)*kappa(1)/2
    """
    correction = factor(cancel(-normalisation_drift() / COSINE))
    drift, diffusion = cosine_generator(correction)
    drift = collect(drift, (kappa(COSINE), kappa(1)), factor)
    exponent, moments = limits.lyapunov(drift, diffusion), limits.moment_exponent(drift, diffusion)
    found = PairGenerator(
        SPHERE_NOISE,
        SPHERE_NOISE,
        (),
        correction,
        drift,
        diffusion,
        exponent,
        limits.in_slopes(moments.subs(ORDER, 2)),
        moments,
        limits.energy_rate(drift, diffusion),
        square_root_drift(triangular_root()),
    )
    return PairGenerator(**{**vars(found), "steps": _steps(found)})


def _steps(found: PairGenerator) -> tuple[Step, ...]:
    return (
        _definition(found),
        _layer(found),
        _radius(found),
        _generator(found),
        _meeting(found),
        _exponents(found),
        _moments(found),
        _energy(found),
        _stratonovich(found),
        _square_root(found),
    )


def _definition(found: PairGenerator) -> Step:
    return Step(
        kind="definition",
        title="Tokens in common noise",
        statement=r"All tokens $X^i$ on the unit sphere of $\mathbb{R}^{d}$ are moved by one Gaussian field "
        r"$W(t, x)$ that is white in time, with $\Gamma$ the attention, $P_x = I - xx^\top$, in the sense of "
        r"It\^o:",
        formulas=(
            Formula("dX^i", r"P_{X^i}\Gamma_\mu(X^i)\,dt - c\,X^i\,dt + P_{X^i}\,dW(X^i)"),
            Formula(r"d\langle W_a(x), W_b(y)\rangle", r"\kappa(\langle x, y\rangle)\,\delta_{ab}\,dt"),
            Formula("c", found.correction),
        ),
        rule="definition",
        reference=_SOURCE,
        check=RadiusInComponents(found.correction),
    )


def _layer(found: PairGenerator) -> Step:
    return Step(
        kind="step",
        title="Where the correction comes from",
        statement=r"A layer is $x \mapsto \mathrm{LN}(x + \sqrt hG(x))$, $\mathrm{LN}(v) = v/|v|$, $G(x) "
        r"\sim N(0, \kappa(1)I_d)$ and $h$ the time of a layer. The first derivative of $\mathrm{LN}$ at a "
        r"point of the sphere is $P_x$; the average of the second one over $G$ remains in the limit:",
        formulas=(
            Formula(
                r"E[\mathrm{LN}(x + \sqrt hG)] - x",
                r"\frac h2\,E\big[D^2\mathrm{LN}(x)[G, G]\big] + o(h) = -h\,c\,x + o(h)",
            ),
        ),
        rule="Gateaux derivatives, Isserlis' theorem",
        reference=_SOURCE,
        check=LayerMean(found.correction),
    )


def _radius(found: PairGenerator) -> Step:
    lost = radial_drift(Symbol("c"))
    return Step(
        kind="step",
        title="The sphere is invariant",
        statement=r"By It\^o's formula $|X|^2$ has no noise, as $X^\top P_X = 0$, and its drift at $|X| = 1$ "
        r"is $\kappa(1)\operatorname{tr}P_X - 2c$. It vanishes for this $c$ and no other; attention does not "
        r"enter. Without the term $-cX$ the radius would grow.",
        formulas=(Formula(r"L\,|X|^2", lost),),
        rule=r"It\^o's formula, traces of projectors at symbolic size",
        reference="",
        check=RadiusInComponents(found.correction),
    )


def _generator(found: PairGenerator) -> Step:
    return Step(
        kind="result",
        title="The generator of the cosine",
        statement=r"Let $u = \langle X, Y\rangle$ for two tokens. $\operatorname{tr}P_XP_Y = d - 2 + u^2$ "
        r"and $\langle Y, P_XP_YX\rangle = -u(1 - u^2)$ give $Lf = G_0f' + G_1f''$ for functions of $u$. "
        r"Attention adds $(\langle P_X\Gamma_\mu(X), Y\rangle + \langle X, P_Y\Gamma_\mu(Y)\rangle)f'$.",
        formulas=(Formula("G_0(u)", found.drift), Formula("G_1(u)", found.diffusion)),
        rule=r"It\^o's formula, normal form of matrix words at $|X| = |Y| = 1$",
        reference=_SOURCE,
        check=GeneratorInComponents(found.correction, found.drift, found.diffusion),
    )


def _meeting(found: PairGenerator) -> Step:
    ratios = (found.drift / (1 - COSINE), found.diffusion / (1 - COSINE) ** 2)
    return Step(
        kind="step",
        title="Where tokens meet",
        statement=r"If $\kappa$ is differentiable at $1$, $\kappa(u) = \kappa(1) - \kappa'(1)(1 - u) + "
        r"o(1 - u)$, then for $u \to 1$",
        formulas=(
            Formula(r"\lim\,G_0/(1-u)", limits.near_one(ratios[0])),
            Formula(r"\lim\,G_1/(1-u)^2", limits.near_one(ratios[1])),
        ),
        rule="rational functions of $1 - u$",
        reference="",
        check=LimitAtOne(tuple((ratio, limits.near_one(ratio)) for ratio in ratios)),
    )


def _exponents(found: PairGenerator) -> Step:
    return Step(
        kind="result",
        title="The Lyapunov exponent",
        statement=r"The logarithm of the distance of two tokens is $\frac12\log(2 - 2u)$. The limit of its "
        r"drift is the top Lyapunov exponent of the flow of the noise (Raimond); two close tokens "
        r"synchronise if it is negative.",
        formulas=(Formula(r"\lambda_1 = \lim_{u\to1}L\,\tfrac12\log(1-u)", found.lyapunov),),
        rule="limits of $G_0$ and $G_1$",
        reference=_SOURCE,
        check=at_lyapunov(found.drift, found.diffusion, found.lyapunov),
    )


def _moments(found: PairGenerator) -> Step:
    relation = limits.in_slopes(found.dissipation / 2 - found.lyapunov)
    spread = limits.in_slopes((found.moments / ORDER - found.lyapunov) / ORDER)
    return Step(
        kind="result",
        title="Moments of the distance",
        statement=r"For $f = (1-u)^{p/2}$ let $\Lambda(p)$ be the limit of $Lf/f$ at $u \to 1$, and "
        r"$\bar\lambda = \Lambda(2)$. $\Lambda$ is a parabola with the slope $\lambda_1$ at $0$:",
        formulas=(
            Formula(r"\bar\lambda", found.dissipation),
            Formula(r"\tfrac12\bar\lambda - \lambda_1", relation),
            Formula(r"\Lambda(p)", rf"p\,\lambda_1 + p^2\,v,\qquad v = {latex(spread)}"),
        ),
        rule="limits of $G_0$ and $G_1$",
        reference=_SOURCE,
        check=at_powers(found.drift, found.diffusion, found.moments),
    )


def _energy(found: PairGenerator) -> Step:
    rate = BETA * (Symbol("G_0") + BETA * Symbol("G_1"))
    return Step(
        kind="result",
        title="The dissipation energy",
        statement=r"Let $\mathcal E = \frac12\iint(e^\beta - e^{\beta\langle x, y\rangle})\,d\mu\,d\mu$. For "
        r"$f = e^\beta - e^{\beta u}$, $-Lf = Ff$. So $\frac{d}{dt}E[\mathcal E] \le \bar\lambda'E[\mathcal "
        r"E]$, $\bar\lambda' = -\inf_{[-1,1)}F$, without attention, and $\bar\lambda' \ge \bar\lambda$. As "
        r"$G_1(-1) = 0$ and $G_0(-1) = (d-1)(\kappa(-1) + \kappa(1)) \ge 0$, $F$ vanishes at $u = -1$ "
        r"exactly for odd fields, $\kappa(-1) = -\kappa(1)$.",
        formulas=(
            Formula("F(u)", rf"\frac{{e^{{\beta u}}}}{{e^\beta - e^{{\beta u}}}}\,{latex(rate)}"),
            Formula("F(1^-)", limits.energy_rate_at_one(found.drift, found.diffusion)),
        ),
        rule=r"$F(1^-) = -\bar\lambda$, since $f$ has a simple zero at $u = 1$",
        reference=_SOURCE,
        check=EnergyAtOne(found.energy, found.drift, found.diffusion, found.dissipation),
    )


def _stratonovich(found: PairGenerator) -> Step:
    return Step(
        kind="step",
        title="In the sense of Stratonovich",
        statement=r"Write $W = \sum_k\varphi_kB_k$ with Brownian motions $B_k$, $\sum_k\varphi_k(x)"
        r"\varphi_k(y)^\top = \kappa(\langle x, y\rangle)I$. The correction of $dX = P_X\circ dW(X)$ is half "
        r"of $\sum_kD(P_x\varphi_k)[P_x\varphi_k]$: derivatives of $P_x$ give $-\kappa(1)(d-1)x$, those of "
        r"$\varphi_k$ give $\kappa'(1)P_xP_xx = 0$. So both equations are the same, and the law $\mu$ of the "
        r"tokens solves the stochastic transport equation",
        formulas=(
            Formula("dX", r"P_X\Gamma_\mu(X)\,dt + P_X\circ dW(X)"),
            Formula(
                r"d\mu",
                r"-\operatorname{div}(\mu P\Gamma_\mu)\,dt - \operatorname{div}(\mu P\,dW) + "
                r"\tfrac12\kappa(1)\,\Delta\mu\,dt",
            ),
        ),
        rule=r"It\^o's formula for $\int f\,d\mu$",
        reference=_SOURCE,
        check=StratonovichCorrection(found.correction),
    )


def _square_root(found: PairGenerator) -> Step:
    own, other = kappa(1), kappa(COSINE)
    return Step(
        kind="result",
        title="A square root of the covariance is no field",
        statement=r"Let a Stratonovich scheme be given $dX^i = P_{X^i}\sum_j\ell_{ij}(u)\circ dB^j$ with the "
        r"Cholesky factor $\ell$ of the covariance of the field at two tokens instead of a field. Then the "
        r"vector fields act on the entries of $\ell$ as well: the scheme converges to the solution of "
        r"another equation, in which the drift of $u$ exceeds $G_0$ by",
        formulas=(
            Formula(r"\ell_{11}\ell_{21}", other),
            Formula(r"\ell_{21}^2 + \ell_{22}^2", own),
            Formula(r"\Delta G_0", found.square_root),
        ),
        rule=r"$\frac12\sum_VV(Vu)$, with constant $\ell_{21}^2 + \ell_{22}^2 = \kappa(1)$",
        reference="",
        check=SquareRootInComponents(found.correction, found.drift, found.square_root),
    )
