r"""Steps on Gaussian laws: Bures geodesics, affine optimal velocities, and the restricted Hessian."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Inverse, Symbol, ZeroMatrix

from symflow.algebra.functionals.gaussian import on_gaussian
from symflow.algebra.symbols import dimension
from symflow.algebra.words import normal_form
from symflow.derive.second_variation.gaussian import (
    ALPHA,
    DRIFT,
    INNER_MEAN,
    OUTER_MEAN,
    SIGMA,
    Averaged,
    bent_part,
    gaussian_acceleration,
    metric_part,
    straight_part,
)
from symflow.derive.second_variation.gaussian_checks import (
    AccelerationByQuadrature,
    AffineOptimal,
    AlongGradientFlow,
    BuresCurve,
    RestrictedHessian,
)
from symflow.derive.second_variation.twisted import TwistedMetric
from symflow.derive.steps import Formula, Step
from symflow.models.energies.statement import EnergyStatement

_D = dimension("d")
_MASS = Symbol("Z", positive=True)
_BOUND = r"$\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1$"
#: Parameters of centred laws and of velocities that keep them centred.
_CENTRED = {symbol: ZeroMatrix(_D, 1) for symbol in (ALPHA, DRIFT, INNER_MEAN, OUTER_MEAN)}


def bures_steps(statement: EnergyStatement) -> tuple[Step, ...]:
    """Return the second variation along geodesics of Gaussian laws."""
    closed = on_gaussian(statement.functional, ALPHA, SIGMA)
    straight = straight_part(statement)
    return (
        _closed_form(statement, closed.value, straight),
        _bures(statement, closed.value, straight),
    )


def _closed_form(statement: EnergyStatement, value: Expr, straight: Averaged) -> Step:
    return Step(
        kind="step",
        title="The energy of Gaussian laws",
        statement=r"At $\mu = \mathcal{N}(\alpha, \Sigma)$, completing squares gives the following"
        + _domain(straight),
        formulas=(Formula(r"F(\alpha,\Sigma)", value),),
        rule="Gaussian tilting",
        reference=statement.reference,
        check=BuresCurve(statement, value, straight),
    )


def _domain(parts: Averaged) -> str:
    from symflow.algebra.latex import latex

    tilts = {c for part in parts for c in part.law.curvatures if not c.is_ZeroMatrix}
    bounds = sorted(latex(tilt) for tilt in tilts)
    if not bounds:
        return "."
    listed = ", ".join(f"{_BOUND} with $C = {bound}$" for bound in bounds)
    return f", where {listed}; elsewhere it is infinite."


def _bures(statement: EnergyStatement, value: Expr, straight: Averaged) -> Step:
    return Step(
        kind="result",
        title="Second variation along Bures geodesics",
        statement=r"Gaussian laws are totally geodesic for $W_2$: the optimal velocity between them "
        r"is affine, $v(x) = c + Lx$ with $L$ symmetric, and moves them along $\alpha(t) = \alpha + t(c "
        r"+ L\alpha)$, "
        r"$\Sigma(t) = (I + tL)\Sigma(I + tL)$. The squared length is $|c + L\alpha|^2 + "
        r"\operatorname{tr}(L\Sigma L)$. " + _tilted_words(straight),
        formulas=_summed(r"\frac{d^2}{dt^2}F(\mu_t)\Big|_{t=0}", straight),
        rule="moments of the tilted law",
        reference=statement.reference,
        check=BuresCurve(statement, value, straight),
    )


def _tilted_words(parts: Averaged) -> str:
    if not parts:
        return ""
    return (
        r"With $Z$ the average of $e^{s(x,y)}$ over independent $x, y \sim \mu$, under the law of density "
        r"$e^{s}/Z$ the second point given the first has the law $\mathcal{N}(b + Tx, R)$ and the "
        r"first the law $\mathcal{N}(m, S)$. For $\alpha = c = 0$, where $b = m = 0$,"
    )


def _summed(label: str, parts: Averaged) -> tuple[Formula, ...]:
    """Return the value at centred laws, and the parameters of its tilted laws."""
    rows = []
    for index, part in enumerate(parts):
        value = normal_form(part.average.xreplace(_CENTRED)).to_sympy()
        name = label if len(parts) == 1 else rf"\Big({label}\Big)_{{{index + 1}}}"
        rows.append(Formula(name, _MASS * value))
        for symbol, expression in part.law.parts().items():
            if symbol in value.free_symbols:
                rows.append(Formula(symbol, expression))
        rows.append(Formula(r"\log Z", normal_form(part.law.log_mass.xreplace(_CENTRED)).to_sympy()))
    return tuple(rows) or (Formula(label, "0"),)


def twisted_steps(statement: EnergyStatement, metric: TwistedMetric) -> tuple[Step, ...]:
    """Return the second variation along twisted geodesics from a Gaussian law with affine velocity."""
    parts = straight_part(statement, metric.symmetric), bent_part(statement, metric)
    length, acceleration = metric_part(metric), gaussian_acceleration(metric)
    return (
        _optimal(metric),
        _cubic(metric, acceleration),
        _restricted(statement, metric, parts, length),
        _result(statement, metric, parts, length),
    )


def _optimal(metric: TwistedMetric) -> Step:
    return Step(
        kind="lemma",
        title="Affine optimal velocities",
        statement=r"The optimal velocity of a tangent $\dot\mu$ is the one for which $G_\mu Nv$ is a "
        r"gradient. At "
        r"$\mathcal{N}(\alpha,\Sigma)$, $\nabla\log G_\mu$ is affine. For $d = 1$ every affine $v$ is "
        r"optimal. For "
        r"$d \ge 2$, $\Sigma \succ 0$ and $A$ invertible an affine $v$ is optimal exactly if it is a "
        r"multiple of "
        r"$N^{-1}\nabla\log G_\mu$: symmetry of the derivative of $G_\mu Nv$ asks $(NLz)\wedge(A\Sigma "
        r"Az) = 0$ for "
        r"all $z$, so $NL = \lambda A\Sigma A$, and then $Nv = \lambda\nabla\log G_\mu$ from the linear "
        r"terms.",
        formulas=(Formula(r"\nabla\log G_\mu(x)", _log_slope(metric)),),
        rule="symmetry of a Jacobian matrix",
        reference="CACP25",
        check=AffineOptimal(),
    )


def _cubic(metric: TwistedMetric, acceleration: Any) -> Step:
    shown = normal_form(acceleration.xreplace(_CENTRED), (*metric.symmetric, SIGMA)).to_matrix()
    return Step(
        kind="step",
        title="The acceleration is cubic",
        statement=r"With $v(x) = c + Lx$ the normaliser cancels and the acceleration is a polynomial of "
        r"degree three, "
        r"so that the geodesic leaves the Gaussian laws. For $\alpha = c = 0$ it is",
        formulas=(Formula("a(x)", shown),),
        rule="moments of the tilted law",
        reference="CACP25",
        check=AccelerationByQuadrature(metric, acceleration),
    )


def _restricted(
    statement: EnergyStatement, metric: TwistedMetric, parts: tuple[Averaged, Averaged], length: Averaged
) -> Step:
    return Step(
        kind="lemma",
        title="The restricted Hessian is the full one",
        statement=r"Let $\mathcal{G}$ be the Gaussian laws and $X$ tangent to them. The Hessian of the "
        r"restriction of "
        r"$F$ is $\operatorname{Hess}F(X,X) + dF(\mathrm{II}(X,X))$, and the second fundamental form "
        r"$\mathrm{II}(X,X)$, although not zero because of the cubic acceleration, is orthogonal to "
        r"$\mathcal{G}$. "
        r"For $F = \tfrac12\iint K\,d\mu\,d\mu$ the gradient $N^{-1}\nabla\log G_\mu$ is an affine "
        r"field, hence "
        r"tangent to $\mathcal{G}$, and $dF(\mathrm{II}(X,X)) = "
        r"\langle\operatorname{grad}F,\mathrm{II}(X,X)\rangle = 0$.",
        formulas=(Formula(r"\operatorname{grad}F(x)", Inverse(metric.size) * _log_slope(metric)),),
        rule="Gauss formula",
        reference="CACP25",
        check=RestrictedHessian(metric),
    )


def _result(
    statement: EnergyStatement, metric: TwistedMetric, parts: tuple[Averaged, Averaged], length: Averaged
) -> Step:
    return Step(
        kind="result",
        title="Second variation at Gaussian laws",
        statement=r"At $\mathcal{N}(0,\Sigma)$, along $v(x) = Lx$ with $\dot\Sigma = L\Sigma + \Sigma "
        r"L^\top$, where "
        r"$v$ is optimal, second variation and squared length are the following"
        + _domain(length)
        + " "
        + _tilted_words(length)
        + r" the second variation is $D^2F + \int\langle f, a\rangle\,d\mu$ and the squared length is $g$.",
        formulas=tuple(
            dict.fromkeys(  # the tilted laws are often the same
                (
                    *_summed("D^2F", parts[0]),
                    *_summed(r"\int\langle f, a\rangle\,d\mu", parts[1]),
                    *_summed("g", length),
                )
            )
        ),
        rule="moments of the tilted law",
        reference="CACP25",
        check=AlongGradientFlow(metric),
    )


def _log_slope(metric: TwistedMetric) -> Any:
    """Return ∇log G at x, the score of which is bilinear."""
    A = metric.parameters[0]
    return A * (ALPHA + SIGMA * A * metric.x)
