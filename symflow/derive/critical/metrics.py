r"""Why the Hessian at a critical point does not depend on the Riemannian metric, with a metric worked out.

The worked metric is :math:`\tfrac1n\sum_i G_i\langle v_i, w_i\rangle` with
:math:`G_i = \tfrac1n\sum_j k(x_i, x_j)`: for :math:`k = e^{\beta\langle x, y\rangle}` that of self-attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, MatrixSymbol, Rational, Trace, exp

from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import normal_form
from symflow.derive.critical.form import HessianForm, hessian_form
from symflow.derive.critical.metric_checks import Accelerations, Difference, GeneralMetric
from symflow.derive.derivation import Argument
from symflow.derive.steps import Formula, Step
from symflow.errors import InputError

_HESS = r"\operatorname{Hess}"


@dataclass(frozen=True)
class MetricIndependence(Argument):
    r"""The Hessians of one energy for two metrics, and their difference.

    Attributes
    ----------
    model : EnergyModel
    statement : EnergyStatement
    form : HessianForm
        For the metric Σ|ξ_i|².
    kernel : Expr
        k of the other metric.
    force : MatrixExpr
        r with :math:`G_iw_i = P_{x_i}\tfrac1n\sum_j r(x_i, x_j; \xi_i, \xi_j)`, where w_i is what the
        accelerations of the geodesics differ by (P_x = I on ℝᵈ).
    slope : MatrixExpr
        s with :math:`\operatorname{grad}_iF = P_{x_i}(n^{-2}\sum_j s(x_i,x_j) + n^{-1}\nabla U(x_i))`.
    """

    model: Any
    statement: Any
    form: HessianForm
    kernel: Expr
    force: Any
    slope: Any

    def __repr__(self) -> str:
        return f"MetricIndependence({self.statement.name}, k = {self.kernel}: r = {self.force})"


def metric_independence(
    energy: Any, kernel: Expr | None = None, space: str | None = None
) -> MetricIndependence:
    r"""Return why Hessians agree at critical points, for any two metrics and for one worked out.

    .. math:: \widetilde{\operatorname{Hess}}F(\xi,\xi) - \operatorname{Hess}F(\xi,\xi) = dF(w),\qquad
              w = -(\tilde\Gamma - \Gamma)(\xi,\xi)

    Parameters
    ----------
    energy : EnergyModel or Energy
    kernel : Expr, optional
        k in the tokens x and y of the energy, positive; by default :math:`e^{\beta\langle x,y\rangle}` with
        the energy's own ``beta``, :math:`e^{\langle x,y\rangle}` where it has none.
    space : {"sphere", "euclidean"}, optional
        Where tokens live; where the energy says so by default.

    Raises
    ------
    InputError
        If the kernel has symbols that are neither tokens nor parameters of the energy.

    References
    ----------
    GLPR23.

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> metric_independence(Interaction()).slope
    exp(beta*Trace(x.T*y))*y
    """
    form = hessian_form(energy, space)
    statement = form.statement
    x, y, xi, eta = statement.x, statement.y, form.xi, form.eta
    kernel = _attention(statement) if kernel is None else kernel
    known = {x, y, *statement.parameters, *statement.dimensions}
    unknown = sorted(str(symbol) for symbol in kernel.free_symbols - known)
    if unknown:
        raise InputError(f"kernel has the symbol {unknown[0]}; use x, y and parameters of {statement.name}")
    swapped = {x: y, y: x}
    both = Rational(1, 2) * (statement.pair + statement.pair.xreplace(swapped))
    slope = _written(gradient(both, x))
    own = Trace(xi.T * xi) * gradient(kernel, x)
    others = Trace(eta.T * eta) * gradient(kernel.xreplace(swapped), x)
    force = _written(Rational(1, 2) * (own + others) - gateaux(kernel, {x: xi, y: eta}) * xi)
    found = MetricIndependence(form.model, statement, (), form, kernel, force, slope)
    return MetricIndependence(form.model, statement, _steps(found), form, kernel, force, slope)


def _attention(statement: Any) -> Expr:
    beta = [p for p in statement.parameters if not isinstance(p, MatrixSymbol) and p.name == "beta"]
    scale: Any = beta[0] if beta else 1
    return exp(scale * Trace(statement.x.T * statement.y))


def _written(matrix: Any) -> Any:
    return normal_form(matrix).to_sympy()


# ---- steps ----------------------------------------------------------------------------------------------


def _steps(found: MetricIndependence) -> tuple[Step, ...]:
    return (*found.form.steps, _lemma(found), _geodesics(found), _result(found))


def _lemma(found: MetricIndependence) -> Step:
    return Step(
        kind="lemma",
        title="Hessians and metrics",
        statement=r"Let $g$, $\tilde g$ be Riemannian metrics and $F$ smooth. Their geodesics $\gamma$, "
        r"$\tilde\gamma$ from one point with one velocity $v$ agree to first order, so that in every chart "
        r"$w = \tilde\gamma'' - \gamma'' = -(\tilde\Gamma - \Gamma)(v,v)$ is a tangent vector, and by the "
        r"chain rule",
        formulas=(Formula(rf"{_HESS}_{{\tilde g}}F(v,v) - {_HESS}_gF(v,v)", r"dF(w)"),),
        rule="chain rule along both geodesics",
        reference="",
        check=GeneralMetric(found),
    )


def _geodesics(found: MetricIndependence) -> Step:
    project = "P_{x_i}" if found.form.space == "sphere" else ""
    return Step(
        kind="step",
        title="Geodesics of a weighted metric",
        statement=r"For $\tilde g = \frac1n\sum_iG_i\langle v_i, w_i\rangle$, $G_i = "
        r"\frac1n\sum_jk(x_i,x_j)$, the Euler--Lagrange equations of $\frac1{2n}\sum_iG_i|\dot x_i|^2$ give, "
        r"up to normal vectors, $G_i\ddot x_i = \frac1n\sum_jr$, and the accelerations differ from "
        r"those of $\sum_i|\xi_i|^2$ by",
        formulas=(
            Formula("k(x,y)", found.kernel),
            Formula("G_iw_i", rf"{project}\tfrac1n\sum_jr(x_i,x_j;\xi_i,\xi_j)"),
            Formula(r"r(x,y;\xi,\eta)", found.force),
        ),
        rule="Euler-Lagrange equations; Gateaux derivative",
        reference="",
        check=Accelerations(found),
    )


def _result(found: MetricIndependence) -> Step:
    sphere, alone = found.form.space == "sphere", found.statement.potential != 0
    inner = r"\tfrac1{n^2}\sum_js(x_i,x_j)" + (r" + \tfrac1n\nabla U(x_i)" if alone else "")
    gradient_ = rf"P_{{x_i}}\bigl({inner}\bigr)" if sphere else inner
    return Step(
        kind="result",
        title="Independence of the metric",
        statement=r"The difference of the Hessians for $\tilde g$ and for $\sum_i|\xi_i|^2$ is linear in the "
        r"gradient, so that they agree at every critical point; by the lemma those of any two metrics do.",
        formulas=(
            Formula(
                rf"{_HESS}_{{\tilde g}}F(\xi,\xi) - {_HESS}F(\xi,\xi)",
                r"\sum_i\langle\operatorname{grad}_iF, w_i\rangle",
            ),
            Formula(r"\operatorname{grad}_iF", gradient_),
            Formula("s(x,y)", found.slope),
        ),
        rule="the lemma with the geodesics above",
        reference=found.statement.reference,
        check=Difference(found),
    )
