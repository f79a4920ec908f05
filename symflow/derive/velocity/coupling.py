r"""Doubly stochastic weights: the optimal coupling of a Gaussian law with itself.

The law of the key y given the query x is sought as N(α + H(x − α), S). That it couples μ with itself gives S, and
that the mixed part of its log-density is the one of the score gives an equation for H, which is solved.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from sympy import Identity, Inverse, MatPow, Poly, Rational, Symbol, Trace, fraction, solve, together

from symflow.algebra.assembly import product, total
from symflow.algebra.quadratic import QuadraticForm, quadratic_form
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.transposition import transposed
from symflow.algebra.words import identical, normal_form
from symflow.derive.coupling_checks import BlockPrecision, DoublyStochastic, MixedDifferences, SelfCoupling
from symflow.derive.steps import Formula, Step
from symflow.derive.velocity.record import NORMAL_FORM, AffineVelocity, Setting
from symflow.errors import SymflowError


def velocity(setting: Setting) -> AffineVelocity:
    r"""Return :math:`W(\alpha + H(x-\alpha)) + m`, :math:`H = 2\Sigma B(I + (I+4\Sigma B^\top\Sigma B)^{1/2})^{-1}`.

    Raises
    ------
    NotQuadratic, NotAffine
        If the score is not quadratic in y, or the value not affine.
    """
    form = quadratic_form(setting.head.score, setting.x, setting.y)
    weight, shift = setting.value_parts()
    alpha, sigma = setting.alpha, setting.sigma
    gain = _conditional_gain(form.B, sigma)
    conditional = total(alpha, product(gain, setting.x - alpha))
    derived = setting.velocity(
        field=total(product(weight, conditional), shift),
        constant=total(product(weight, alpha), shift),
        linear=product(weight, gain),
    )
    steps = (
        _absorbed(setting, form),
        _optimality_lemma(),
        _solution_lemma(),
        _velocity_step(setting, gain, derived.field),
    )
    return replace(derived, steps=steps)


def _conditional_gain(bilinear: Any, sigma: Any) -> Any:
    """Return H = ΣB·f(ΣBᵀΣB), where x = f(n) solves the scalar equation n·x² + x = 1 and is regular at 0."""
    if bilinear.is_ZeroMatrix:
        return bilinear
    root = MatPow(_radicand(bilinear, sigma), Rational(1, 2))
    numerator, denominator = _scalar_solution()
    powers = {0: Identity(sigma.rows), 1: root}
    below = total(*(product(c * powers[n]) if c != 1 else powers[n] for n, c in denominator))
    return product(numerator * sigma, bilinear, Inverse(below))


def _radicand(bilinear: Any, sigma: Any) -> Any:
    mirrored = transposed(bilinear)
    return normal_form(Identity(sigma.rows) + 4 * sigma * mirrored * sigma * bilinear).to_sympy()


@functools.cache
def _scalar_solution() -> tuple[Any, tuple[tuple[int, Any], ...]]:
    """Return numerator and denominator of f in r = √(1 + 4n), the denominator by powers of r."""
    n, r, x = Symbol("n"), Symbol("r", positive=True), Symbol("x")
    roots = solve((n * x**2 + x - 1).subs(n, (r**2 - 1) / 4), x)
    (regular,) = (root for root in roots if fraction(together(root))[1].subs(r, 1) != 0)
    numerator, denominator = fraction(together(regular))
    return numerator, tuple((power, c) for (power,), c in sorted(Poly(denominator, r).terms()))


def _proved(bilinear: Any, sigma: Any, gain: Any) -> Any:
    """Return the gain after proving H = (Σ − HΣHᵀ)B with R² = I + 4ΣBᵀΣB and RΣ = ΣRᵀ.

    The second relation holds for principal roots since ΣN and NΣ have the same analytic functions next to Σ;
    it turns Σ·(I + Rᵀ)⁻¹ into (I + R)⁻¹·Σ, after which the normal form decides.
    """
    letter = matrix("R", sigma.rows, sigma.rows)
    root = MatPow(_radicand(bilinear, sigma), Rational(1, 2))
    half = gain.xreplace({root: letter})
    beside = Inverse(Identity(sigma.rows) + letter)
    spread = half * 2 * beside * sigma * transposed(bilinear) * sigma  # HΣHᵀ, Hᵀ = 2(I + Rᵀ)⁻¹BᵀΣ
    square = (letter * letter - Identity(sigma.rows)) / 4  # ΣBᵀΣB
    product_ = half * 2 * beside * square
    if identical(
        spread * bilinear, half * 2 * beside * (sigma * transposed(bilinear) * sigma * bilinear), (sigma,)
    ) and identical(half, sigma * bilinear - product_, (sigma,)):
        return gain
    raise SymflowError(f"the normal form does not show that {gain} solves the equation of the coupling")


def _absorbed(setting: Setting, form: QuadraticForm) -> Step:
    bilinear = setting.letter("B")
    return Step(
        kind="step",
        title="What the scaling absorbs",
        statement=rf"The score is $s(x,y) = y^{{\top}}{bilinear}x + p(y) + r(x)$ with a quadratic polynomial $p$. "
        r"The factors $e^{r(x)}$ and $e^{p(y)}$ of the kernel belong to the two scalings, so $k_\infty$ is the "
        rf"doubly stochastic scaling of $e^{{y^{{\top}}{bilinear}x}}$ alone, with",
        formulas=(Formula(bilinear, form.B),),
        rule=NORMAL_FORM,
        reference="",
        check=MixedDifferences(setting.head.score, form.B, setting.x, setting.y),
    )


@functools.cache
def _optimality_lemma() -> Step:
    d = dimension("d")
    x, y, sigma = vector("x", d), vector("y", d), matrix("Sigma", d, d)
    gain, spread = matrix("H", d, d), matrix("S", d, d)
    rest = y - gain * x
    mixed = quadratic_form(-Trace(rest.T * Inverse(spread) * rest) / 2, x, y, (spread,)).B
    if not identical(spread * mixed, gain, (spread,)):
        raise SymflowError(f"the mixed part {mixed} of the conditional law is not S⁻¹H")
    return Step(
        kind="lemma",
        title="Gaussian self-coupling",
        statement=r"Let $\mu = \mathcal{N}(\alpha,\Sigma)$ and $\pi(dx,dy) = k_\infty(x,y)\,\mu(dx)\mu(dy)$ with "
        r"$k_\infty(x,y) = a(x)\,e^{y^{\top}Bx}\,b(y)$ and both marginals $\mu$; such $\pi$ is unique, since it "
        r"minimises a strictly convex relative entropy. It is the Gaussian law under which $y$ given $x$ is "
        r"$\mathcal{N}(\alpha + H(x-\alpha), S)$, provided that $y$ has covariance $H\Sigma H^{\top} + S = \Sigma$ "
        r"and the mixed part $y^{\top}S^{-1}Hx$ of the log-density is $y^{\top}Bx$, in other words that the "
        r"precision of $\pi$ has the off-diagonal block $-B$:",
        formulas=(Formula("S", sigma - gain * sigma * gain.T), Formula("H", spread * matrix("B", d, d))),
        rule="the mixed part of a Gaussian log-density, read off its exponent",
        reference="CACP25",
        check=BlockPrecision(),
    )


@functools.cache
def _solution_lemma() -> Step:
    d = dimension("d")
    bilinear, sigma = matrix("B", d, d), matrix("Sigma", d, d)
    gain = _proved(bilinear, sigma, _conditional_gain(bilinear, sigma))
    letter = matrix("R", d, d)
    radicand = _radicand(bilinear, sigma)
    shown = gain.xreplace({MatPow(radicand, Rational(1, 2)): letter})
    return Step(
        kind="lemma",
        title="The self-coupling in closed form",
        statement=r"For every $B$, singular and non-symmetric ones included, and every $\Sigma \succeq 0$ the "
        r"equation $H = (\Sigma - H\Sigma H^{\top})B$ is solved by the following $H$ with "
        r"$S = \Sigma - H\Sigma H^{\top} \succeq 0$. Here $R$ is the principal square root; the eigenvalues of "
        r"$I + 4\Sigma B^{\top}\Sigma B$ are at least one. Put $H = \Sigma B f(N)$ with $N = \Sigma B^{\top}\Sigma B$: "
        r"as $f(N)\Sigma = \Sigma f(N)^{\top}$, the equation becomes $N f(N)^2 + f(N) = I$, and the scalar solution "
        r"that is regular at zero is $f(n) = 2/(1+\sqrt{1+4n})$.",
        formulas=(Formula("H", shown), Formula("R", MatPow(radicand, Rational(1, 2)))),
        rule=f"{NORMAL_FORM} with $R^2 = I + 4N$ and $R\\Sigma = \\Sigma R^{{\\top}}$",
        reference="CACP25",
        check=SelfCoupling(gain, bilinear, sigma),
    )


def _velocity_step(setting: Setting, gain: Any, field: Any) -> Step:
    return Step(
        kind="step",
        title="The velocity field",
        statement=r"The average of the affine value over the law of $y$ given $x$ is its value at the mean "
        r"$\alpha + H(x-\alpha)$. No normaliser can diverge, and $\Gamma_\mu(\alpha)$ does not depend on $\Sigma$:",
        formulas=(Formula(rf"{setting.label}(x)", field),),
        rule="Gaussian self-coupling",
        reference="",
        check=DoublyStochastic(
            score=setting.head.score,
            value=total(setting.scaled_value(), setting.offset),
            field=field,
            gain=gain,
            x=setting.x,
            y=setting.y,
            mean=setting.alpha,
            covariance=setting.sigma,
        ),
    )
