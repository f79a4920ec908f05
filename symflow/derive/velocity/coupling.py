r"""Doubly stochastic weights: the optimal coupling of a Gaussian law with itself.

The law of the key y given the query x is sought as N(α + H(x − α), S). That it couples μ with itself gives S;
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
    r"""Return :math:`W(\alpha + H(x-\alpha)) + m` for the value :math:`Wy + m`.

    .. math:: H = 2\Sigma B\bigl(I + (I + 4\Sigma B^\top\Sigma B)^{1/2}\bigr)^{-1}

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
    numerator, denominator = scalar_solution()
    powers = {0: Identity(sigma.rows), 1: root}
    below = total(*(product(c * powers[n]) if c != 1 else powers[n] for n, c in denominator))
    return product(numerator * sigma, bilinear, Inverse(below))


def _radicand(bilinear: Any, sigma: Any) -> Any:
    mirrored = transposed(bilinear)
    return normal_form(Identity(sigma.rows) + 4 * sigma * mirrored * sigma * bilinear).to_sympy()


@functools.cache
def scalar_solution() -> tuple[Any, tuple[tuple[int, Any], ...]]:
    """Return numerator and denominator of f in r = √(1 + 4n), the denominator by powers of r."""
    n, r, x = Symbol("n"), Symbol("r", positive=True), Symbol("x")
    roots = solve((n * x**2 + x - 1).subs(n, (r**2 - 1) / 4), x)
    (regular,) = (root for root in roots if fraction(together(root))[1].subs(r, 1) != 0)
    numerator, denominator = fraction(together(regular))
    return numerator, tuple((power, c) for (power,), c in sorted(Poly(denominator, r).terms()))


def _conditional_covariance(bilinear: Any, sigma: Any, gain: Any) -> Any:
    """Return S = Σ − HΣHᵀ in normal form, after proving that H = SB."""
    spread = normal_form(sigma - gain * sigma * transposed(gain, (sigma,)), (sigma,)).to_matrix()
    if not identical(gain, spread * bilinear, (sigma,)):
        raise SymflowError(f"the normal form does not show that {gain} solves the equation of the coupling")
    return spread


def _absorbed(setting: Setting, form: QuadraticForm) -> Step:
    bilinear = setting.letter("B")
    return Step(
        kind="step",
        title="What the scaling absorbs",
        statement=rf"The score is $s(x,y) = y^{{\top}}{bilinear}x + p(y) + r(x)$ with a quadratic polynomial "
        r"$p$. The factors $e^{r(x)}$ and $e^{p(y)}$ of the kernel belong to the two scalings, so "
        rf"$k_\infty$ is the doubly stochastic scaling of $e^{{y^{{\top}}{bilinear}x}}$ alone, with",
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
        statement=r"Let $\mu = \mathcal{N}(\alpha,\Sigma)$. The law $\pi$ with density "
        r"$a(x)\,e^{y^{\top}Bx}\,b(y)$ with respect to $\mu\otimes\mu$ and both marginals $\mu$ is unique, "
        r"since it minimises a strictly convex relative entropy. It is the Gaussian law under which "
        r"$y$ given $x$ is $\mathcal{N}(\alpha + H(x-\alpha), S)$, if $y$ has the covariance "
        r"$H\Sigma H^{\top} + S = \Sigma$, and if the mixed part $y^{\top}S^{-1}Hx$ of the log-density is "
        r"$y^{\top}Bx$, in other words if the precision of $\pi$ has the off-diagonal block $-B$:",
        formulas=(Formula("S", sigma - gain * sigma * gain.T), Formula("H", spread * matrix("B", d, d))),
        rule="the mixed part of a Gaussian log-density, read off its exponent",
        reference="CACP25",
        check=BlockPrecision(),
    )


@functools.cache
def _solution_lemma() -> Step:
    d = dimension("d")
    bilinear, sigma = matrix("B", d, d), matrix("Sigma", d, d)
    gain = _conditional_gain(bilinear, sigma)
    spread = _conditional_covariance(bilinear, sigma, gain)
    return Step(
        kind="lemma",
        title="The self-coupling in closed form",
        statement=r"For every $B$, singular and non-symmetric ones included, and every $\Sigma \succeq 0$ "
        r"these equations are solved as below, with principal square roots of matrices whose eigenvalues "
        r"are at least one, and with $S \succeq 0$ of the rank of $\Sigma$. To find $H$, put "
        r"$H = \Sigma B f(N)$ with $N = \Sigma B^{\top}\Sigma B$. Then $f(N)\Sigma = \Sigma f(N)^{\top}$, "
        r"the equation becomes $N f(N)^2 + f(N) = I$, and the scalar solution that is regular at $0$ is "
        r"$f(n) = 2/(1+\sqrt{1+4n})$.",
        formulas=(Formula("H", gain), Formula("S", spread)),
        rule=NORMAL_FORM,
        reference="CACP25",
        check=SelfCoupling(gain, spread, bilinear, sigma),
    )


def _velocity_step(setting: Setting, gain: Any, field: Any) -> Step:
    return Step(
        kind="step",
        title="The velocity field",
        statement=r"The average of the affine value over the law of $y$ given $x$ is its value at the mean "
        r"$\alpha + H(x-\alpha)$. No normaliser can diverge, and the velocity at the mean is free of "
        r"$\Sigma$:",
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
