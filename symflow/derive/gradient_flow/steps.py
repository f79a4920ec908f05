r"""The steps of a gradient-flow structure, as they are printed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import MatrixSymbol

from symflow.algebra.functionals.nodes import TransportCost
from symflow.algebra.latex import latex
from symflow.derive.definition import definition
from symflow.derive.gradient_flow.checks import (
    Definite,
    DissipationRate,
    FirstVariation,
    GradientOfTokens,
    Identities,
    TwoAtoms,
)
from symflow.derive.gradient_flow.coupled_checks import CoupledFlow, CouplingVariation
from symflow.derive.gradient_flow.matching import Averages, Joined
from symflow.derive.gradient_flow.necessity import Necessity
from symflow.derive.gradient_flow.parameters import Parameters
from symflow.derive.gradient_flow.structure import is_multiple_of_identity
from symflow.derive.particles.checks import KernelOfScore
from symflow.derive.steps import Check, Formula, Step
from symflow.models.attention.model import AttentionModel
from symflow.models.energies.statement import EnergyStatement
from symflow.models.statement import Statement

_SYMMETRIC_SCALING = (
    r"; the scaling is unique, so that with $s(x,y) = s(y,x)$ also $k_\infty(x,y) = k_\infty(y,x)$"
)
_GRADIENT = r"\nabla\frac{\delta F}{\delta\mu}(x)"


def opening(
    model: AttentionModel, statement: Statement, energy: EnergyStatement, found: Averages
) -> tuple[Step, Step]:
    """Return the definitions of velocity and energy, with the first variation."""
    defined = replace(definition(model, statement), check=KernelOfScore(statement))
    return defined, _first_variation(statement, energy, found)


def _first_variation(statement: Statement, energy: EnergyStatement, found: Averages) -> Step:
    if found.functional is not None:
        return _variation_of_coupling(energy, found)
    pairs, alone = found.pair != 0, found.potential != 0
    integrals = [r"\tfrac12\iint W(x,y)\,d\mu(x)\,d\mu(y)"] * pairs + [r"\int U(x)\,d\mu(x)"] * alone
    varied = [r"\int\tfrac12\bigl(W(x,y)+W(y,x)\bigr)\,d\mu(y)"] * pairs + ["U(x)"] * alone
    formulas = [Formula(r"F(\mu)", " + ".join(integrals))]
    formulas += [Formula("W(x,y)", found.pair)] * pairs + [Formula("U(x)", found.potential)] * alone
    formulas += [Formula(r"\frac{\delta F}{\delta\mu}(x)", " + ".join(varied))]
    formulas += [Formula(_GRADIENT, r"\int r(x,y)\,d\mu(y)"), Formula("r(x,y)", found.slope)]
    return Step(
        kind="step",
        title="The energy and its first variation",
        statement=r"For a law $\mu$ and a signed measure $\chi$ of mass zero, both with compact support, "
        r"$\frac{d}{d\varepsilon}F(\mu + \varepsilon\chi)|_{\varepsilon=0} = "
        r"\int\frac{\delta F}{\delta\mu}\,d\chi$ with",
        formulas=tuple(formulas),
        rule="Gateaux derivative; differentiation under the integral",
        reference=energy.reference,
        check=FirstVariation(statement, found),
    )


def _variation_of_coupling(energy: EnergyStatement, found: Averages) -> Step:
    (cost,) = found.functional.atoms(TransportCost)
    return Step(
        kind="step",
        title="The energy and its first variation",
        statement=r"Here $\mathrm{OT}(\mu,\mu)$ is the least $-\int s\,d\pi + "
        r"\mathrm{KL}(\pi\,|\,\mu\otimes\mu)$ of couplings $\pi$ of $\mu$ with itself, attained by "
        r"$k_\infty\,\mu\otimes\mu$, $k_\infty(x,y) = e^{a(x)+s(x,y)+b(y)}$; $a$ and $b$ are the "
        r"logarithms of its factors. For a law with compact support",
        formulas=(
            Formula(r"F(\mu)", found.functional),
            Formula("s(x,y)", cost.score_at(found.x, found.y)),
            Formula(r"\frac{\delta F}{\delta\mu}(x)", found.variation),
            Formula(_GRADIENT, r"\int r(x,y)\,d\mu(y)"),
            Formula("r(x,y)", found.slope),
        ),
        rule="envelope theorem: the coupling is optimal; the scaling has both marginals one",
        reference=energy.reference,
        check=CouplingVariation(found),
    )


def needed(statement: Statement, found: Averages, joined: Joined, why: Necessity) -> Step:
    """Return that the equation and the metric are needed."""
    total, letter = (why.own + why.exchanged).doit(), latex(why.matrix)
    g = r"g_\mu(x)"
    return Step(
        kind="step",
        title="What such a structure needs",
        statement=rf"Let $d\ge2$, ${latex(why.front)}$ invertible, and let $\Gamma_\mu(x) = B\,{g}^{{-1}}"
        rf"{_GRADIENT}$ for every law of at most two atoms, at its atoms, with one matrix $B$ and numbers "
        rf"${g} > 0$. With $R_1$, $R_2$ and $S$ below, $k(x,y) = {latex(_kernel(found))}$, a Dirac law "
        rf"at $x$ says that ${latex(why.front)}x$ is a positive multiple of $BSx$ for every $x$, so that "
        rf"${latex(why.front)} = BS$ up to a positive number. The law $\theta\delta_x + "
        r"(1-\theta)\delta_y$ says at $x$ that $(1-\theta)(k(y,x)-k(x,y))R_2y$ is a multiple of $Sw$, $w = "
        r"\theta k(x,x)x + (1-\theta)k(x,y)y$; for independent $x$, $y$ and two values of $\theta$ these "
        rf"are independent vectors, so it is zero. If ${letter} \ne {letter}^{{\top}}$, then $k(x,y) \ne "
        r"k(y,x)$ for almost all $x$, $y$, and $R_2 = 0$, which it is not. Hence",
        formulas=(
            Formula("R_1", why.own),
            Formula("R_2", why.exchanged),
            Formula("S", total),
            Formula(letter, latex(why.matrix.T)),
            Formula("B^{-1}", joined.metric),
        ),
        rule=r"Diracs and laws of two atoms; $B^{-1}$ up to a positive number, which $g$ takes up",
        reference="",
        check=TwoAtoms(statement, found, why),
    )


def _kernel(found: Averages) -> Any:
    return found.weight if found.weight is not None else found.velocity.as_coeff_matrices()[0]


def result(statement: Statement, energy: EnergyStatement, found: Averages, joined: Joined, sign: int) -> Step:
    """Return the structure."""
    sphere = found.space == "sphere"
    project = "P_x" if sphere else ""
    g = "" if found.weight is None else r"g_\mu(x)^{-1}"
    weighted = () if found.weight is None else (Formula(r"g_\mu(x)", _mean(found.weight)),)
    plain = joined.metric.is_Identity
    M = () if plain else (Formula("M", joined.metric),)
    inverse = "" if plain else "M^{-1}"
    means = "" if found.functional is None else _SYMMETRIC_SCALING
    return Step(
        kind="result",
        title=f"The gradient flow of the {energy.name} energy",
        statement=f"{_conditions(joined, sign)}the velocity is {_direction(sign)} of $F$ for the metric "
        rf"$\langle v,w\rangle_\mu = {_metric(found, joined, sign)}$"
        f"{' of Wasserstein' if plain and found.weight is None else ''}:",
        formulas=(
            Formula(rf"{project}\Gamma_\mu(x)", rf"{inverse}{g}{project}{_GRADIENT}"),
            *weighted,
            *M,
        ),
        rule=f"normal form of matrix words, under both integrals alike{means}",
        reference=statement.reference,
        check=_check(Identities, statement, found, joined),
    )


def _check(route: Any, statement: Statement, found: Averages, joined: Joined) -> Check:
    """Return the check of a structure; differences where the energy has no closed form at tokens."""
    if found.functional is not None:
        what = "rate" if route is DissipationRate else "gradient"
        return CoupledFlow(statement, found, joined, what)
    check: Check = route(statement, found, joined)
    return check


def _mean(weight: Any) -> str:
    return rf"\int {latex(weight)}\,d\mu(y)"


def _direction(sign: int) -> str:
    return {1: "the ascent", -1: "the descent", 0: r"the ascent ($M\succ0$) or descent ($M\prec0$)"}[sign]


def _metric(found: Averages, joined: Joined, sign: int) -> str:
    inner = r"\langle v,w\rangle" if joined.metric.is_Identity else r"\langle v,|M|w\rangle"
    if sign == 1 and not joined.metric.is_Identity:
        inner = r"\langle v,Mw\rangle"
    weight = "" if found.weight is None else r"\,g_\mu"
    return rf"\int{inner}{weight}\,d\mu"


def _conditions(joined: Joined, sign: int) -> str:
    """Return the hypotheses, as the beginning of a sentence."""
    parts = [f"${latex(a)} = {latex(b)}$" for a, b in joined.equations]
    parts += [f"${latex(matrix)}$ is invertible" for matrix in joined.invertible]
    if sign == 0 and is_multiple_of_identity(joined.metric):
        parts.append("$M$ is not zero")
    elif not is_multiple_of_identity(joined.metric):
        which = {1: "positive ", -1: "negative ", 0: ""}[sign]
        parts.append(rf"$M = {latex(joined.metric)}$ is symmetric and {which}definite")
    return f"Where {' and '.join(parts)}, " if parts else "For all parameters "


def dissipation(statement: Statement, found: Averages, joined: Joined) -> Step:
    """Return dF/dt along the flow."""
    M = "" if joined.metric.is_Identity else "M"
    g = "" if found.weight is None else r"\,g_\mu"
    project = "P_x" if found.space == "sphere" else ""
    return Step(
        kind="result",
        title="Dissipation",
        statement=r"Along solutions $\frac{d}{dt}F(\mu) = \int\langle\nabla\frac{\delta F}{\delta\mu}, "
        rf"{project}\Gamma_\mu\rangle\,d\mu$, so that",
        formulas=(
            Formula(
                r"\frac{d}{dt}F(\mu)",
                rf"\int\langle {project}\Gamma_\mu, {M}{project}\Gamma_\mu\rangle{g}\,d\mu",
            ),
        ),
        rule="chain rule, and the structure",
        reference=statement.reference,
        check=_check(DissipationRate, statement, found, joined),
    )


def tokens(statement: Statement, found: Averages, joined: Joined) -> Step:
    """Return the structure on n tokens, with its constants."""
    project = "P_{x_i}" if found.space == "sphere" else ""
    inverse = "" if joined.metric.is_Identity else "M^{-1}"
    form = r"\langle v_i,w_i\rangle" if joined.metric.is_Identity else r"\langle v_i,|M|w_i\rangle"
    g = "" if found.weight is None else "g_i"
    kernel = () if found.weight is None else (Formula("g_i", _mean_over_tokens(found)),)
    return Step(
        kind="result",
        title="On $n$ tokens",
        statement=r"For $\mu = \frac1n\sum_j\delta_{x_j}$ the energy is a function of the tokens, whose "
        rf"gradients are $\nabla_{{x_i}}F = \frac1n\nabla\frac{{\delta F}}{{\delta\mu}}(x_i)$, and the "
        rf"metric is $\frac1n\sum_i {g}{form}$:",
        formulas=(
            Formula(r"\dot x_i", rf"n\,{inverse}{f'{g}^{{-1}}' if g else ''}{project}\nabla_{{x_i}}F"),
            *kernel,
        ),
        rule=r"both tokens of a pair vary: $\tfrac12n^{-2}\sum_{i,j}W(x_i,x_j)$ has two sums with $x_i$",
        reference=statement.reference,
        check=_check(GradientOfTokens, statement, found, joined),
    )


def _mean_over_tokens(found: Averages) -> str:
    indexed = {found.x: MatrixSymbol("x_i", *found.x.shape), found.y: MatrixSymbol("x_j", *found.y.shape)}
    return rf"\frac1n\sum_{{j=1}}^{{n}} {latex(found.weight.xreplace(indexed))}"


def at_parameters(
    statement: Statement, joined: Joined, metric: Any, sign: int, parameters: Parameters
) -> Step:
    """Return that given parameters satisfy the conditions."""
    relation = r"\succ" if sign == 1 else r"\prec"
    values = tuple(Formula(name, value) for name, value in parameters.named)
    return Step(
        kind="result",
        title="At the given parameters",
        statement=rf"The conditions hold, and $M {relation} 0$: the flow is {_direction(sign)}.",
        formulas=(*values, Formula("M", metric)),
        rule="rational arithmetic",
        reference=statement.reference,
        check=Definite(joined, parameters, metric, sign),
    )
