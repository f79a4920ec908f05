r"""The field of a random layer: its covariance κ, in closed form where Gaussian averages have one."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Symbol, cancel, sqrt

from symflow.algebra.latex import latex
from symflow.derive.derivation import Argument
from symflow.derive.noise.activations import NoClosedForm, Terms, derivative, terms_of
from symflow.derive.noise.averages import COVARIANCE, VARIANCE, mean, pair_mean
from symflow.derive.noise.covariance_checks import (
    AtTheEnds,
    PolarQuadrature,
    SignsOfWeights,
    SlopeByDifferences,
)
from symflow.derive.noise.subject import subject_of
from symflow.derive.noise.symbols import COSINE
from symflow.derive.steps import Formula, Step
from symflow.errors import InputError
from symflow.models.noise.activation import Activation
from symflow.models.noise.registry import activation
from symflow.models.noise.statement import NoiseStatement

_SOURCE = "ABGSR26"
_KINK = (
    r"A kink leaves a point mass: the density of $Z_1$ at $0$, beside which $Z_2$ has the variance "
    r"$q(1-r^2)$, $r = c/q$."
)
_BELL = r"The derivatives of $\operatorname{erf}$ are Gaussian: averages follow by completing the square."
_RATIO = Symbol("r", real=True)


@dataclass(frozen=True)
class FieldCovariance(Argument):
    r"""κ of one random layer, step by step.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    layer : NoiseStatement
        The definition.
    kappa, slope : Expr or None
        κ(u) and κ'(u) in the symbol u; None where there is no closed form.
    at_one, slope_at_one : Expr or None
        κ(1) and κ'(1).
    average, slope_average : Expr or None
        E[φ(Z₁)φ(Z₂)] and E[φ'(Z₁)φ'(Z₂)] in the variance q and the covariance c of Z.
    no_closed_form : str
        Why there is none.
    """

    model: Any
    statement: Any
    layer: NoiseStatement
    kappa: Expr | None
    slope: Expr | None
    at_one: Expr | None
    slope_at_one: Expr | None
    average: Expr | None
    slope_average: Expr | None
    no_closed_form: str = ""

    def __repr__(self) -> str:
        return f"FieldCovariance({self.layer.name}: kappa = {self.kappa or self.no_closed_form})"


def layer_of(noise: Any) -> tuple[NoiseStatement, str]:
    """Return the definition of a random layer, and its title.

    Raises
    ------
    InputError
        If it is none.
    """
    if isinstance(noise, NoiseStatement):
        return noise, noise.name
    stated = getattr(noise, "statement", None)
    if isinstance(stated, NoiseStatement):
        return stated, getattr(getattr(noise, "activation", None), "title", stated.name)
    if not isinstance(noise, (str, Activation, Expr)):
        raise InputError(
            f"noise = {noise!r}: give a random layer, the name of an activation or an expression"
        )
    found = activation(noise)
    return found.statement(), found.title


def covariance_of(layer: NoiseStatement, title: str) -> FieldCovariance:
    """Return the covariance of a layer under a title of its own."""
    return _derived(layer, title)


def field_covariance(noise: Any) -> FieldCovariance:
    r"""Derive the covariance of the field of a random layer.

    .. math:: G(y) = m^{-1/2}W\phi(d^{-1/2}Uy + b_U) + b_W, \qquad
              \operatorname{Cov}(G(x), G(y)) = \kappa(\langle x, y\rangle)\,I_d

    Parameters
    ----------
    noise : NoiseStatement, Activation, str or Expr
        The layer; or an activation by name or as an expression in z, with d, σ_W and σ_U symbols.

    References
    ----------
    ABGSR26.

    Examples
    --------
    >>> field_covariance("relu").average
    c*asin(c/q)/(2*pi) + c/4 + q*sqrt(-c**2/q**2 + 1)/(2*pi)
    >>> field_covariance("tanh").kappa is None
    True
    """
    return _derived(*layer_of(noise))


@functools.lru_cache(maxsize=32)
def _derived(layer: NoiseStatement, title: str) -> FieldCovariance:
    subject = subject_of(layer, f"Common noise: {title}")
    try:
        terms = terms_of(layer.phi, layer.z)
        average, slope = pair_mean(terms, terms), pair_mean(derivative(terms), derivative(terms))
    except NoClosedForm as error:
        absent = FieldCovariance(subject, subject, (), layer, None, None, None, None, None, None, str(error))
        return _with_steps(absent, None)
    found = FieldCovariance(
        subject,
        subject,
        (),
        layer,
        _in_cosine(layer, average, COSINE) + layer.sigma_w**2,
        _in_cosine(layer, slope, COSINE) / layer.dim,
        _in_cosine(layer, average, 1) + layer.sigma_w**2,
        _in_cosine(layer, slope, 1) / layer.dim,
        average,
        slope,
    )
    return _with_steps(found, terms)


def _in_cosine(layer: NoiseStatement, average: Expr, cosine: Any) -> Expr:
    """Put q and c at a cosine into an average; at one they are equal before anything is evaluated."""
    if cosine == 1:
        return average.subs(COVARIANCE, VARIANCE).subs(VARIANCE, layer.variance)
    ratio = cancel(layer.covariance(cosine) / layer.variance)
    return average.subs(COVARIANCE, VARIANCE * ratio).subs(VARIANCE, layer.variance)


def _with_steps(found: FieldCovariance, terms: Terms | None) -> FieldCovariance:
    steps = [_definition(found), _units(found), _price(found)]
    if terms is None:
        steps.append(_quadrature(found))
    else:
        steps += [_known(found, terms), _closed(found), _values(found, terms)]
    return FieldCovariance(**{**vars(found), "steps": tuple(steps)})


def _definition(found: FieldCovariance) -> Step:
    layer = found.layer
    return Step(
        kind="definition",
        title="The random layer",
        statement=r"The entries of $W$ ($d\times m$) and $U$ ($m\times d$) are independent and standard "
        r"normal, those of $b_W$ and $b_U$ normal of variances $\sigma_W^2$ and $\sigma_U^2$; all tokens of "
        r"a layer share them. At unit vectors the arguments $Z_1$, $Z_2$ of $\phi$ in one unit are jointly "
        r"Gaussian, with the variance $q$ and the covariance $c$:",
        formulas=(
            Formula("G(y)", r"m^{-1/2}\,W\phi(d^{-1/2}Uy + b_U) + b_W"),
            Formula(r"\phi(z)", layer.phi),
            Formula("q", layer.variance),
            Formula("c", layer.covariance(Symbol(r"u"))),
        ),
        rule="definition",
        reference=_SOURCE,
        check=SignsOfWeights(layer),
    )


def _units(found: FieldCovariance) -> Step:
    return Step(
        kind="lemma",
        title="Its covariance at every width",
        statement=r"Given the arguments of $\phi$, $W$ averages $\langle a, w_k\rangle\langle b, "
        r"w_l\rangle$ to $\langle a, b\rangle\delta_{kl}$ over its columns. The "
        r"$m$ units contribute equal shares of $1/m$, so that for every $m$",
        formulas=(
            Formula(r"\operatorname{Cov}(G(x), G(y))", r"\kappa(\langle x, y\rangle)\,I_{d}"),
            Formula(r"\kappa(u)", r"E[\phi(Z_1)\phi(Z_2)] + \sigma_W^2"),
        ),
        rule="independence of weights",
        reference=_SOURCE,
        check=SignsOfWeights(found.layer),
    )


def _price(found: FieldCovariance) -> Step:
    return Step(
        kind="lemma",
        title="Its derivative",
        statement=r"The Gaussian density $p$ satisfies $\partial_cp = \partial_1\partial_2p$. Integrating by "
        r"parts, $\partial_cE[f(Z_1)g(Z_2)] = E[f'(Z_1)g'(Z_2)]$ (Price). As $c$ has the slope $1/d$ in $u$, "
        r"one factor $1/d$ appears, not two:",
        formulas=(
            Formula(r"\kappa'(u)", r"\frac1d\,E[\phi'(Z_1)\phi'(Z_2)]"),
            Formula(r"\kappa'(1)", r"\frac1d\,E[\phi'(Z)^2]"),
        ),
        rule="Price's theorem",
        reference="",
        check=SlopeByDifferences(found.layer, found.average, found.slope_average),
    )


def _known(found: FieldCovariance, terms: Terms) -> Step:
    kinks = any(term.kind == "step" for term in terms)
    bells = any(term.rate != 0 for term in terms)
    words = [r"Powers of $z$ differentiate to zero.", *([_KINK] * kinks), *([_BELL] * bells)]
    return Step(
        kind="step",
        title="An average that is known",
        statement=r"Price's theorem is applied until the average is known. "
        + " ".join(words)
        + r" The first "
        r"derivative is, once integrated again,",
        formulas=(Formula(r"E[\phi'(Z_1)\phi'(Z_2)]", typeset(_shown(found.slope_average))),),
        rule="Price's theorem, antiderivatives by matching derivatives",
        reference="",
        check=PolarQuadrature(derivative(terms), found.slope_average),
    )


def typeset(expr: Any) -> str:
    r"""Return an expression as LaTeX, with the arc sine written as in the text."""
    return latex(expr).replace(r"\operatorname{asin}", r"\arcsin")


def _shown(average: Any) -> Expr:
    """Write an average of variables with a kink in q and r = c/q where that is shorter."""
    shorter = average.subs(COVARIANCE, _RATIO * VARIANCE)
    return shorter if shorter.has(sqrt(1 - _RATIO**2)) or len(str(shorter)) < len(str(average)) else average


def _closed(found: FieldCovariance) -> Step:
    return Step(
        kind="result",
        title="The covariance in closed form",
        statement=r"Antiderivatives in $t = c/\varrho$ are sought in the span of $t^k$, "
        r"$t^k\sqrt{1-t^2}^{\,j}$ and $t^k\arcsin t$ by matching derivatives. The constants are "
        r"the products $E f(Z)\,E g(Z)$ at $c = 0$, by $E[Zf(Z)] = q\,E f'(Z)$. With $r = c/q$,",
        formulas=(Formula(r"E[\phi(Z_1)\phi(Z_2)]", typeset(_shown(found.average))),),
        rule="Price's theorem, Stein's identity, antiderivatives by matching derivatives",
        reference="",
        check=PolarQuadrature(terms_of(found.layer.phi, found.layer.z), found.average),
    )


def _values(found: FieldCovariance, terms: Terms) -> Step:
    return Step(
        kind="result",
        title="At one point",
        statement="At $u = 1$ both arguments agree, $c = q$:",
        formulas=(
            Formula(r"\kappa(1)", typeset(found.at_one)),
            Formula(r"\kappa'(1)", typeset(found.slope_at_one)),
        ),
        rule="evaluation at $c = q$",
        reference="",
        check=AtTheEnds(terms, found.average, found.slope_average, mean(terms)),
    )


def _quadrature(found: FieldCovariance) -> Step:
    return Step(
        kind="result",
        title="No closed form",
        statement=r"The average has no closed form of the kind that is sought here: $\kappa$, $\kappa(1)$ "
        r"and $\kappa'(1)$ are left to quadrature with proved bounds.",
        formulas=(Formula(r"\kappa(1)", rf"E\big[\big({latex(found.layer.phi)}\big)^2\big] + \sigma_W^2"),),
        rule="definition at $c = q$",
        reference="",
        check=SlopeByDifferences(found.layer, None, None),
    )
