r"""Gaussian closure: the ODEs of mean and covariance that an attention model induces.

Score → quadratic form (B, C, c) → tilted mean → affine velocity field → ODEs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sympy import Identity, Integer, Inverse, MatAdd, MatMul, MatrixSymbol

from symflow.algebra.affine import affine_parts
from symflow.algebra.assembly import product, total
from symflow.algebra.definite import is_negative_semidefinite
from symflow.algebra.gaussian import tilted_covariance, tilted_mean
from symflow.algebra.latex import latex
from symflow.algebra.quadratic import QuadraticForm, quadratic_form
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.transposition import transposed
from symflow.algebra.words import identical, normal_form
from symflow.derive.checks import (
    AffineField,
    ContinuityEquation,
    LatticeQuadrature,
    QuadraticInComponents,
    RationalPoints,
    Together,
)
from symflow.derive.derivation import Derivation
from symflow.derive.steps import Formula, Step
from symflow.errors import ClosureUndecided, InputError, NotAffine, NotQuadratic, SymflowError
from symflow.flow import CovarianceStructure, Flow
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement

NORMAL_FORM = "normal form of matrix words"


@dataclass(frozen=True)
class _AffineVelocity:
    """Γ(x) = constant + linear·(x − α) with the pieces it came from."""

    form: QuadraticForm
    field: Any
    constant: Any
    linear: Any
    bounded: bool


def gaussian_closure(model: AttentionModel, given: Iterable[str] | None = None) -> Derivation:
    r"""Derive the ODEs that keep a Gaussian law Gaussian.

    .. math:: \dot\alpha = \Gamma(\alpha), \qquad \dot\Sigma = L\Sigma + \Sigma L^\top,
              \qquad \Gamma(x) = \Gamma(\alpha) + L(x - \alpha)

    Parameters
    ----------
    model : AttentionModel
        A shipped variant or a user's own mechanism.
    given : iterable of str, optional
        Names of the parameters in use, e.g. ``{"Q", "K", "V"}`` or ``{"A", "V", "bq"}``.

    Returns
    -------
    Derivation
        With ``mean_rhs`` and ``cov_rhs`` in the symbols ``alpha`` (d×1) and ``Sigma`` (d×d).

    Raises
    ------
    ClosureUndecided
        If the score is not quadratic in y or the value not affine; neither proves that Gaussians
        are not preserved.
    InputError
        If two symbols have one name, or a parameter is unknown or missing.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> gaussian_closure(Softmax()).mean_rhs
    V*(I + Sigma*A)*alpha
    """
    statement = model.statement(given)
    d = statement.dimensions[0]
    alpha, sigma = vector("alpha", d), matrix("Sigma", d, d)
    _refuse_equal_names(statement, alpha, sigma)
    velocity = _affine_velocity(statement, alpha, sigma)
    cov_rhs = _plus_transpose(MatMul(velocity.linear, sigma).doit(deep=False), sigma)
    flow = Flow(
        name=statement.name,
        states=(alpha, sigma),
        drift=(velocity.constant, cov_rhs),
        parameters=statement.parameters,
        dimensions=statement.dimensions,
        covariance=CovarianceStructure(sigma, velocity.linear, None if velocity.bounded else velocity.form.C),
    )
    return Derivation(model, statement, _steps(model, statement, velocity, flow), flow)


def _refuse_equal_names(statement: Statement, *states: MatrixSymbol) -> None:
    """Refuse a parameter called like a state, which would be taken for it, or like another parameter."""
    names = [s.name for s in (*states, *statement.parameters)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{statement.name} has two symbols called {twice[0]!r}; rename the one in score or value "
            "(alpha and Sigma are mean and covariance)"
        )


def _affine_velocity(statement: Statement, alpha: MatrixSymbol, sigma: MatrixSymbol) -> _AffineVelocity:
    x, y, d = statement.x, statement.y, statement.dimensions[0]
    try:
        form = quadratic_form(statement.score, x, y)
        weight, shift = affine_parts(statement.value, y)
    except (NotQuadratic, NotAffine) as error:
        raise ClosureUndecided(
            f"{statement.name}: whether Gaussians are preserved is undecided: {error}. "
            "The closure needs a score yᵀBx + ½yᵀCy + cᵀy + r(x) and an affine value"
        ) from error
    shift = MatAdd(shift, statement.background).doit()
    gain = product(weight, _gain(form, sigma))
    field = total(product(weight, tilted_mean(form, alpha, sigma, x)), shift)
    constant = total(
        product(gain, _simplified(Identity(d) + sigma * form.B), alpha), product(gain, sigma, form.c), shift
    )
    linear = product(gain, sigma, form.B)
    if not identical(field, constant + linear * (x - alpha), (sigma,)):
        raise SymflowError(f"{statement.name}: the velocity field did not split into its affine parts")
    return _AffineVelocity(form, field, constant, linear, is_negative_semidefinite(form.C))


def _gain(form: QuadraticForm, sigma: MatrixSymbol) -> Any:
    """Return (I − ΣC)⁻¹, or I where the score has no term in yᵀCy."""
    identity = Identity(sigma.shape[0])
    return identity if form.C.is_ZeroMatrix else Inverse(_simplified(identity - sigma * form.C))


def _simplified(expression: Any) -> Any:
    return normal_form(expression).to_sympy()


def _plus_transpose(half: Any, sigma: MatrixSymbol) -> Any:
    """Return M + Mᵀ with the transpose written out in the symbols."""
    if half.is_ZeroMatrix:
        return half
    return MatAdd(half, transposed(half, (sigma,)))


def _steps(
    model: AttentionModel, statement: Statement, velocity: _AffineVelocity, flow: Flow
) -> tuple[Step, ...]:
    return (
        _definition(model, statement),
        _decomposition(statement, velocity.form),
        _tilting_lemma(),
        _velocity_step(statement, velocity, flow),
        _affine_step(statement, velocity, flow),
        _closure_lemma(),
        _result(model, statement, velocity, flow),
    )


def _definition(model: AttentionModel, statement: Statement) -> Step:
    weights = r"e^{s(x,y)}"
    value, output = latex(statement.value), statement.background
    if statement.value.is_MatAdd:
        value = rf"({value})"
    tail = "" if output.is_ZeroMatrix else f" + {latex(output)}"
    average = rf"\frac{{\int {value}\,{weights}\,d\mu(y)}}{{\int {weights}\,d\mu(y)}}{tail}"
    return Step(
        kind="definition",
        title=model.title,
        statement=r"Tokens with law $\mu$ on $\mathbb{R}^d$ move with the velocity field $\Gamma_\mu$, "
        r"that is $\partial_t\mu + \operatorname{div}(\mu\,\Gamma_\mu) = 0$, where",
        formulas=(Formula(r"\Gamma_\mu(x)", average), Formula("s(x,y)", statement.score)),
        rule="definition",
        reference=statement.reference,
        check=QuadraticInComponents(statement.score, statement.y),
    )


def _decomposition(statement: Statement, form: QuadraticForm) -> Step:
    bilinear, tilt, linear = (_letter(name, statement) for name in ("B", "C", "c"))
    return Step(
        kind="step",
        title="The score as a quadratic form",
        statement=r"In the key $y$ the score is a quadratic polynomial, "
        rf"$s(x,y) = y^{{\top}}{bilinear}x + \tfrac12\,y^{{\top}}{tilt}y + {linear}^{{\top}}y + r(x)$ "
        rf"with ${tilt} = {tilt}^{{\top}}$ and",
        formulas=(Formula(bilinear, form.B), Formula(tilt, form.C), Formula(linear, form.c)),
        rule=NORMAL_FORM,
        reference="",
        check=RationalPoints(statement.score, form.score()),
    )


def _letter(name: str, statement: Statement) -> str:
    """Return the letter of a coefficient; it wears a hat where a parameter of the score has that name."""
    taken = {parameter.name for parameter in statement.parameters}
    return rf"\widehat{{{name}}}" if name in taken else name


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


def _velocity_step(statement: Statement, velocity: _AffineVelocity, flow: Flow) -> Step:
    tilt = _letter("C", statement)
    if velocity.bounded:
        sign = "= 0" if velocity.form.C.is_ZeroMatrix else r"\preceq 0"
        domain = rf"Here ${tilt} {sign}$, so the normaliser is finite for every $\Sigma \succeq 0$."
    else:
        domain = (
            rf"The normaliser is finite exactly while ${_finite_normaliser(statement)}$; "
            "beyond, the model is not defined."
        )
    alpha, sigma = flow.states
    return Step(
        kind="step",
        title="The velocity field",
        statement=rf"{domain} Apply the lemma to $\mu = \mathcal{{N}}(\alpha,\Sigma)$ and the affine value:",
        formulas=(Formula(r"\Gamma_\mu(x)", velocity.field),),
        rule="Gaussian tilting",
        reference="",
        check=LatticeQuadrature(
            statement.score,
            MatAdd(statement.value, statement.background).doit(),
            velocity.field,
            statement.y,
            alpha,
            sigma,
        ),
    )


def _affine_step(statement: Statement, velocity: _AffineVelocity, flow: Flow) -> Step:
    return Step(
        kind="step",
        title="The field is affine",
        statement=r"Hence $\Gamma_\mu(x) = \Gamma_\mu(\alpha) + L\,(x-\alpha)$ with",
        formulas=(Formula(r"\Gamma_\mu(\alpha)", velocity.constant), Formula("L", velocity.linear)),
        rule=NORMAL_FORM,
        reference="",
        check=AffineField(velocity.field, velocity.constant, velocity.linear, statement.x, flow.states[0]),
    )


@functools.cache
def _closure_lemma() -> Step:
    d = dimension("d")
    x, alpha, sigma = vector("x", d), vector("alpha", d), matrix("Sigma", d, d)
    b, linear, flow = vector("b", d), matrix("L", d, d), matrix("Phi", d, d)
    velocity = linear * flow  # of the flow map
    return Step(
        kind="lemma",
        title="Closure",
        statement=r"Let $\Gamma_\mu(x) = b + L(x-\alpha)$ for $\mu = \mathcal{N}(\alpha,\Sigma)$, with $b$ "
        r"and $L$ locally Lipschitz functions of $(\alpha,\Sigma)$ on an open set, and let "
        r"$\Sigma(0) \succeq 0$. As long as the solution of the system below stays in that set, "
        r"$\mathcal{N}(\alpha(t),\Sigma(t))$ solves "
        r"$\partial_t\mu + \operatorname{div}(\mu\,\Gamma_\mu) = 0$, and "
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


def _result(model: AttentionModel, statement: Statement, velocity: _AffineVelocity, flow: Flow) -> Step:
    alpha, sigma = flow.states
    domain = "" if velocity.bounded else rf" and ${_finite_normaliser(statement)}$"
    return Step(
        kind="result",
        title=f"Gaussian closure: {model.title}",
        statement=r"From $\mu(0) = \mathcal{N}(\alpha_0,\Sigma_0)$ with $\Sigma_0 \succeq 0$ the equation is "
        r"solved by $\mu(t) = \mathcal{N}(\alpha(t),\Sigma(t))$, as long as the solution of the following "
        rf"system exists{domain}:",
        formulas=(Formula(r"\dot\alpha", flow.drift[0]), Formula(r"\dot\Sigma", flow.drift[1])),
        rule="closure lemma",
        reference=statement.reference,
        check=ContinuityEquation(velocity.field, flow.drift[0], flow.drift[1], statement.x, alpha, sigma),
    )


def _finite_normaliser(statement: Statement) -> str:
    """Return the inequality under which the normaliser is finite, as LaTeX."""
    return rf"\lambda_{{\max}}(\Sigma^{{1/2}}{_letter('C', statement)}\Sigma^{{1/2}}) < 1"
