"""The first variation of an energy: δF/δμ, its gradient, and what both are at points and Gaussian laws."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Symbol, Trace, exp

from symflow.algebra.functionals.nodes import Density, TransportCost
from symflow.algebra.functionals.variation import first_variation as vary
from symflow.algebra.functionals.variation import spatial_gradient
from symflow.algebra.latex import latex
from symflow.algebra.words import normal_form
from symflow.derive.derivation import Argument
from symflow.derive.energies.checks import (
    AtomDifferences,
    LatticeLaw,
    Mixtures,
    MomentDifferences,
    NestedSums,
    SpatialDifferences,
)
from symflow.derive.energies.gaussian import GaussianEnergy, exponent_of, gaussian_energy
from symflow.derive.steps import Check, Formula, Step
from symflow.errors import InputError

_ENVELOPE = (
    r" The coupling and the potentials are optimal, so that a change of the law enters through the "
    r"marginals alone (envelope theorem)."
)
_DENSITY = (
    r" For a direction $\eta$ with a density, $\int h\,\tfrac{d\eta}{dx}\,d\mu = "
    r"\int h\,\tfrac{d\mu}{dx}\,d\eta$."
)


@dataclass(frozen=True)
class EnergyDerivation(Argument):
    """The first variation of an energy, step by step.

    Attributes
    ----------
    model : EnergyModel
    statement : EnergyStatement
    steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    functional : Expr
        F in averages over the law.
    variation : Expr
        δF/δμ(x), up to a constant.
    gradient : MatrixExpr or None
        ∇δF/δμ(x); None where it is no expression of averages.
    gaussian : GaussianEnergy or None
        F at Gaussian laws; None where there is no closed form.
    no_closed_form : str
        Why there is none.
    """

    model: Any
    statement: Any
    functional: Expr
    variation: Expr
    gradient: Any
    gaussian: GaussianEnergy | None
    no_closed_form: str = ""

    def __repr__(self) -> str:
        return f"EnergyDerivation({self.statement.name}: δF/δμ(x) = {self.variation})"


def first_variation(energy: Any) -> EnergyDerivation:
    r"""Derive the first variation of an energy by the Gateaux rules.

    .. math:: \frac{d}{dh}F((1-h)\mu + h\nu)\Big|_{h=0} = \int\frac{\delta F}{\delta\mu}\,d(\nu-\mu)

    Parameters
    ----------
    energy : EnergyModel or Energy
        Of :mod:`symflow.models.energies` or :mod:`symflow.energies`.

    Returns
    -------
    EnergyDerivation
        With ``.steps``, ``.check()``, ``.to_latex()``, and the expressions at symbolic size.

    Raises
    ------
    InputError
        If the variation of a part is not known.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> first_variation(Interaction()).variation
    Average(exp(beta*Trace(x.T*y))/beta, y)
    """
    return _derived(getattr(energy, "model", energy))


@functools.lru_cache(maxsize=32)
def _derived(model: Any) -> EnergyDerivation:
    statement = model.statement()
    functional, x = statement.functional, statement.x
    variation = _merged(vary(functional, x))
    gradient = None if functional.has(Density) else spatial_gradient(variation, x)
    try:
        gaussian, reason = gaussian_energy(statement), ""
    except InputError as error:
        gaussian, reason = None, str(error)
    found = EnergyDerivation(model, statement, (), functional, variation, gradient, gaussian, reason)
    steps = (
        _definition(found),
        _variation(found),
        *([_gradient(found), _atoms(found)] if gradient is not None else []),
        *([_gaussian(found), *_moments(found)] if gaussian is not None else []),
    )
    return EnergyDerivation(model, statement, steps, functional, variation, gradient, gaussian, reason)


def _merged(expr: Any) -> Any:
    """Write inner products in one way, so that averages that are equal by symmetry add up."""
    return expr.replace(lambda e: isinstance(e, Trace), lambda e: normal_form(e).to_sympy())


def _definition(found: EnergyDerivation) -> Step:
    note = (
        r" Here $\mathrm{OT}(\mu,\mu) = \min_\pi -\int s\,d\pi + \mathrm{KL}(\pi\,|\,\mu\otimes\mu)$ over "
        rf"couplings of $\mu$ with itself, where $s(x,y) = {latex(_score(found))}$; the minimiser has the "
        r"density $e^{a(x) + s(x,y) + b(y)}$ with the potentials $a$ and $b$."
        if found.functional.has(TransportCost)
        else r" It is $+\infty$ where the law has no density, for tokens in particular."
        if found.functional.has(Density)
        else ""
    )
    return Step(
        kind="definition",
        title="The energy",
        statement=f"The energy is a functional of the law $\\mu$ of a token.{note}",
        formulas=(Formula(r"F(\mu)", found.functional),),
        rule="definition",
        reference=found.statement.reference,
        check=_definition_check(found),
    )


def _score(found: EnergyDerivation) -> Any:
    cost = next(iter(found.functional.atoms(TransportCost)))
    return cost.score_at(found.statement.x, found.statement.y)


def _definition_check(found: EnergyDerivation) -> Check:
    if found.functional.has(Density) and found.gaussian is not None:
        return LatticeLaw(found.functional, found.gaussian)
    return NestedSums(found.functional)


def _variation(found: EnergyDerivation) -> Step:
    how = _ENVELOPE if found.functional.has(TransportCost) else ""
    how += _DENSITY if found.functional.has(Density) else ""
    return Step(
        kind="step",
        title="The first variation",
        statement=r"An average $\int f\,d\mu$ changes by $\int f\,d\eta + \int df[\eta]\,d\mu$ in the "
        rf"direction $\eta$, and functions of averages by the chain rule.{how} The derivative of $F$ is "
        r"therefore the integral against $\eta$ of, up to a constant,",
        formulas=(Formula(r"\frac{\delta F}{\delta\mu}(x)", found.variation),),
        rule="Gateaux derivative in the law",
        reference="",
        check=Mixtures(found.functional, found.variation, found.statement.x),
    )


def _gradient(found: EnergyDerivation) -> Step:
    x = found.statement.x
    potentials = (
        r" From $e^{-a(x)} = \int e^{s(x,y) + b(y)}\,d\mu(y)$ the gradient of $a$ is minus the mean of "
        r"that of the score under the coupling, and that of $b$ likewise."
        if found.functional.has(TransportCost)
        else ""
    )
    return Step(
        kind="step",
        title="Its gradient",
        statement=f"Gradients in $x$ pass under the averages.{potentials}",
        formulas=(Formula(r"\nabla\frac{\delta F}{\delta\mu}(x)", found.gradient),),
        rule="Gateaux derivative in space",
        reference="",
        check=SpatialDifferences(found.variation, found.gradient, x),
    )


def _atoms(found: EnergyDerivation) -> Step:
    return Step(
        kind="step",
        title="At weighted tokens",
        statement=r"Let $\mu = \sum_i w_i\delta_{x_i}$. Moving $x_i$ with the velocity $v$ changes the law "
        r"in the direction $\eta$ with $\int f\,d\eta = w_i\langle\nabla f(x_i), v\rangle$, so that the "
        r"chain rule gives the derivative of the energy $F_n(x_1,\dots,x_n) = F(\mu)$, in which an average "
        r"is a sum:",
        formulas=(
            Formula(r"\nabla_{x_i}F_n", r"w_i\,\nabla\frac{\delta F}{\delta\mu}(x_i)"),
            Formula(r"\int f\,d\mu", r"\sum_{j} w_j f(x_j)"),
        ),
        rule="chain rule",
        reference="",
        check=AtomDifferences(found.functional, found.gradient, found.statement.x),
    )


def _gaussian(found: EnergyDerivation) -> Step:
    gaussian = found.gaussian
    assert gaussian is not None
    domain = [
        rf"$\lambda_{{\max}}(\Sigma^{{1/2}}C\Sigma^{{1/2}}) < 1$ for $C = {latex(c)}$"
        for c in gaussian.curvatures
    ]
    domain += [r"$\Sigma$ is invertible"] * gaussian.needs_density
    where = f" It is finite exactly where {' and '.join(domain)}."
    if not domain:
        where = r" Every $\Sigma \succeq 0$ is allowed."
    tilted = "Gaussian tilting and moments"
    return Step(
        kind="step" if found.gradient is not None else "result",
        title="At Gaussian laws",
        statement=rf"Let $\mu = \mathcal{{N}}(\alpha,\Sigma)$. {_how(found)}{where}",
        formulas=_value(gaussian.value),
        rule="optimal self-coupling" if found.functional.has(TransportCost) else tilted,
        reference="",
        check=LatticeLaw(found.functional, gaussian),
    )


def _value(value: Any) -> tuple[Formula, ...]:
    """Return the value; an exponential with its exponent in a line of its own, which can be broken."""
    found = exponent_of(value)
    if found is None:
        return (Formula("F", value),)
    return (Formula("F", found[0] * exp(Symbol("w", real=True))), Formula("w", found[1]))


def _how(found: EnergyDerivation) -> str:
    if found.functional.has(TransportCost):
        return (
            r"The optimal coupling is Gaussian, with the gain $\Sigma Bf(N)$, where $B$ is the mixed part of "
            r"the score, $N = \Sigma B^{\top}\Sigma B$ and $n f(n)^2 + f(n) = 1$. Its cost is a function of "
            r"the spectrum of $N$, with $r = \sqrt{1+4n}$."
        )
    return (
        r"Averages of exponentials of quadratic polynomials are found by completing the square, those of "
        r"polynomials by moments."
    )


def _moments(found: EnergyDerivation) -> list[Step]:
    gaussian = found.gaussian
    assert gaussian is not None
    spectral = (
        r" For a smooth function, $d\operatorname{tr}\varphi(N) = \operatorname{tr}(\varphi'(N)\,dN)$."
        if found.functional.has(TransportCost)
        else ""
    )
    return [
        Step(
            kind="result",
            title="Gradients in mean and covariance",
            statement=r"With the symmetric gradient in $\Sigma$, $dF = \langle\partial_\alpha F, d\alpha"
            rf"\rangle + \operatorname{{tr}}(\partial_\Sigma F\,d\Sigma)$.{spectral}",
            formulas=(
                Formula(r"\frac{\partial F}{\partial\alpha}", gaussian.mean_gradient),
                Formula(r"\frac{\partial F}{\partial\Sigma}", gaussian.cov_gradient),
            ),
            rule="Gateaux derivative",
            reference="",
            check=MomentDifferences(gaussian),
        )
    ]


def second_variation_kernel(energy: Any, y: Any) -> Expr:
    """Return δ²F/δμ²(x, y), the variation of the variation.

    Raises
    ------
    InputError
        If the variation depends on the law otherwise than through averages.

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> statement = Interaction().statement()
    >>> second_variation_kernel(Interaction(), statement.y)
    exp(beta*Trace(x.T*y))/beta
    """
    return _merged(vary(first_variation(energy).variation, y))
