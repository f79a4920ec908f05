"""Lemmas on Gaussian laws in an affine velocity field, without and with noise."""

from __future__ import annotations

import functools
from typing import Any

from sympy import Identity, Symbol

from symflow.algebra.symbols import dimension, matrix, vector
from symflow.derive.checks import ContinuityEquation, RationalPoints, Together
from symflow.derive.steps import Formula, Step

_AFFINE = (
    r"Let $\Gamma_\mu(x) = b + L(x-\alpha)$ for $\mu = \mathcal{N}(\alpha,\Sigma)$, with $b$ "
    r"and $L$ locally Lipschitz functions of $(\alpha,\Sigma)$ on an open set, and let "
    r"$\Sigma(0) \succeq 0$. As long as the solution of the system below stays in that set, "
    r"$\mathcal{N}(\alpha(t),\Sigma(t))$ solves "
)


@functools.cache
def closure_lemma() -> Step:
    """Return the lemma that an affine field moves a Gaussian law to a Gaussian law of the same rank."""
    x, alpha, sigma, b, linear = _letters()
    d = dimension("d")
    flow = matrix("Phi", d, d)
    velocity = linear * flow  # of the flow map
    return Step(
        kind="lemma",
        title="Closure",
        statement=_AFFINE + r"$\partial_t\mu + \operatorname{div}(\mu\,\Gamma_\mu) = 0$, and "
        r"$\Sigma(t) = \Phi(t)\Sigma(0)\Phi(t)^{\top}$ with "
        r"$\dot\Phi = L\Phi$, $\Phi(0) = I$, so $\operatorname{rank}\Sigma(t)$ is constant.",
        formulas=(
            Formula(r"\dot\alpha", "b"),
            Formula(r"\dot\Sigma", r"L\Sigma + \Sigma L^{\top}"),
        ),
        rule="push-forward of a Gaussian law by the affine flow map",
        reference="CACP25",
        check=Together(
            (
                ContinuityEquation(
                    b + linear * (x - alpha), b, linear * sigma + sigma * linear.T, x, alpha, sigma
                ),
                RationalPoints(
                    velocity * sigma * flow.T + flow * sigma * velocity.T,
                    linear * (flow * sigma * flow.T) + (flow * sigma * flow.T) * linear.T,
                ),
            )
        ),
    )


@functools.cache
def noisy_closure_lemma() -> Step:
    """Return the lemma for an affine field with independent noise √(2ε)dW on every token."""
    x, alpha, sigma, b, linear = _letters()
    epsilon = Symbol("epsilon", positive=True)
    spread = linear * sigma + sigma * linear.T + 2 * epsilon * Identity(dimension("d"))
    return Step(
        kind="lemma",
        title="Closure with noise",
        statement=_AFFINE
        + r"$\partial_t\mu + \operatorname{div}(\mu\,\Gamma_\mu) = \varepsilon\,\Delta\mu$. "
        r"Noise fills every direction: $\Sigma(t) \succ 0$ for $t > 0$ where $\varepsilon > 0$.",
        formulas=(
            Formula(r"\dot\alpha", "b"),
            Formula(r"\dot\Sigma", r"L\Sigma + \Sigma L^{\top} + 2\varepsilon I"),
        ),
        rule="a linear equation with additive noise has Gaussian solutions",
        reference="CACP25",
        check=ContinuityEquation(b + linear * (x - alpha), b, spread, x, alpha, sigma, epsilon),
    )


def _letters() -> tuple[Any, ...]:
    d = dimension("d")
    alpha, sigma = vector("alpha", d), matrix("Sigma", d, d)
    return vector("x", d), alpha, sigma, vector("b", d), matrix("L", d, d)
