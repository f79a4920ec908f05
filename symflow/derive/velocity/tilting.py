"""Weights normalised row by row: a quadratic score tilts the Gaussian law of the key."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from sympy import Identity, Integer, Inverse, MatAdd

from symflow.algebra.assembly import product, total
from symflow.algebra.definite import is_negative_semidefinite
from symflow.algebra.gaussian import tilted_covariance, tilted_mean
from symflow.algebra.quadratic import QuadraticForm, quadratic_form
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.words import normal_form
from symflow.derive.checks import LatticeQuadrature, RationalPoints, Together
from symflow.derive.steps import Formula, Step
from symflow.derive.velocity.record import NORMAL_FORM, AffineVelocity, Setting, finite_normaliser


def velocity(setting: Setting) -> AffineVelocity:
    r"""Return :math:`W(I - \Sigma C)^{-1}(\alpha + \Sigma(Bx + c)) + m` for the value :math:`Wy + m`.

    Raises
    ------
    NotQuadratic, NotAffine
        If the score is not quadratic in y, or the value not affine.
    """
    form = quadratic_form(setting.head.score, setting.x, setting.y)
    weight, shift = setting.value_parts()
    alpha, sigma = setting.alpha, setting.sigma
    bounded = is_negative_semidefinite(form.C)
    gain = product(weight, _gain(form, sigma))
    identity = Identity(sigma.shape[0])
    derived = setting.velocity(
        field=total(product(weight, tilted_mean(form, alpha, sigma, setting.x)), shift),
        constant=total(
            product(gain, normal_form(identity + sigma * form.B).to_sympy(), alpha),
            product(gain, sigma, form.c),
            shift,
        ),
        linear=product(gain, sigma, form.B),
    )
    steps = (
        _decomposition(setting, form),
        _tilting_lemma(),
        _velocity_step(setting, form, bounded, derived.field),
    )
    return replace(derived, steps=steps, tilt=None if bounded else form.C)


def _gain(form: QuadraticForm, sigma: Any) -> Any:
    """Return (I − ΣC)⁻¹, or I where the score has no term in yᵀCy."""
    identity = Identity(sigma.shape[0])
    if form.C.is_ZeroMatrix:
        return identity
    return Inverse(normal_form(identity - sigma * form.C).to_sympy())


def _decomposition(setting: Setting, form: QuadraticForm) -> Step:
    """Return the step that reads the quadratic form off the score."""
    bilinear, tilt, linear = (setting.letter(name) for name in ("B", "C", "c"))
    return Step(
        kind="step",
        title="The score as a quadratic form",
        statement=r"In the key $y$ the score is a quadratic polynomial, "
        rf"$s(x,y) = y^{{\top}}{bilinear}x + \tfrac12\,y^{{\top}}{tilt}y + {linear}^{{\top}}y + r(x)$ "
        rf"with ${tilt} = {tilt}^{{\top}}$ and",
        formulas=(Formula(bilinear, form.B), Formula(tilt, form.C), Formula(linear, form.c)),
        rule=NORMAL_FORM,
        reference="",
        check=RationalPoints(setting.head.score, form.score()),
    )


@functools.cache
def _tilting_lemma() -> Step:
    d = dimension("d")
    x, y, alpha, sigma = vector("x", d), vector("y", d), vector("alpha", d), matrix("Sigma", d, d)
    tilt = matrix("C", d, d)
    form = QuadraticForm(matrix("B", d, d), tilt, vector("c", d), Integer(0), x, y, symmetric=(tilt,))
    mean, spread = tilted_mean(form, alpha, sigma, x), tilted_covariance(form, sigma)
    return Step(
        kind="lemma",
        title="Gaussian tilting",
        statement=r"Let $s(x,y) = y^{\top}Bx + \tfrac12\,y^{\top}Cy + c^{\top}y + r(x)$ with $C = C^{\top}$, "
        r"and let $\mu = \mathcal{N}(\alpha,\Sigma)$ with $\Sigma \succeq 0$, possibly singular, and "
        r"$\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1$. The law with density proportional to "
        r"$e^{s(x,y)}$ with respect to $\mu(dy)$ is Gaussian with covariance "
        r"$(I-\Sigma C)^{-1}\Sigma$ and mean",
        formulas=(Formula("m(x)", mean),),
        rule=r"complete the square for $\Sigma \succ 0$; both sides are continuous in $\Sigma \succeq 0$",
        reference="CACP25",
        check=Together(
            (
                LatticeQuadrature(form.score(), y, mean, y, alpha, sigma, symmetric=(tilt,)),
                LatticeQuadrature(
                    form.score(), y * y.T, spread + mean * mean.T, y, alpha, sigma, symmetric=(tilt,)
                ),
            )
        ),
    )


def _velocity_step(setting: Setting, form: QuadraticForm, bounded: bool, field: Any) -> Step:
    tilt = setting.letter("C")
    if bounded:
        sign = "= 0" if form.C.is_ZeroMatrix else r"\preceq 0"
        domain = rf"Here ${tilt} {sign}$, so the normaliser is finite for every $\Sigma \succeq 0$."
    else:
        domain = (
            rf"The normaliser is finite exactly while ${finite_normaliser(setting.statement)}$; "
            "beyond, the model is not defined."
        )
    return Step(
        kind="step",
        title="The velocity field",
        statement=rf"{domain} Apply the lemma to $\mu = \mathcal{{N}}(\alpha,\Sigma)$ and the affine value:",
        formulas=(Formula(rf"{setting.label}(x)", field),),
        rule="Gaussian tilting",
        reference="",
        check=LatticeQuadrature(
            setting.head.score,
            MatAdd(setting.scaled_value(), setting.offset).doit(),
            field,
            setting.y,
            setting.alpha,
            setting.sigma,
        ),
    )
