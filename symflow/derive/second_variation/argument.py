r"""Second variations of energies along geodesics of W₂ and of the twisted metric, as checked arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sympy import Expr, Integer, Inverse, MatMul, Rational, Trace, exp

from symflow.algebra.functionals.average import Average, average
from symflow.algebra.functionals.variation import first_variation, spatial_gradient
from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import normal_form
from symflow.derive.derivation import Argument
from symflow.derive.second_variation import gaussian_steps
from symflow.derive.second_variation.checks import (
    AlongGreatCircles,
    AlongLines,
    ChristoffelOfAtoms,
    DiracCurve,
    HamiltonOfAtoms,
)
from symflow.derive.second_variation.twisted import TwistedMetric, twisted_metric
from symflow.derive.steps import Formula, Step
from symflow.errors import InputError, NotQuadratic
from symflow.models.energies.model import EnergyModel
from symflow.models.energies.statement import EnergyStatement

METRICS = ("wasserstein", "bures", "twisted")


@dataclass(frozen=True)
class SecondVariationArgument(Argument):
    """How the second derivative of an energy along geodesics follows from its definition.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`; the statement is that of the energy.
    metric : str
        ``"wasserstein"``, ``"bures"`` or ``"twisted"``.
    pairs, own : Expr
        Integrands of the straight part: :math:`D^2W(x,y)[(v,w)^2]` and :math:`D^2U(x)[v^2]`.
    """

    metric: str
    pairs: Expr
    own: Expr


def second_variation_argument(model: EnergyModel, metric: str) -> SecondVariationArgument:
    """Derive the second variation of an energy along geodesics, at symbolic size.

    Parameters
    ----------
    model : EnergyModel
        The energy, of the form ½∬W dμdμ + ∫U dμ.
    metric : {"wasserstein", "bures", "twisted"}
        W₂; W₂ on Gaussian laws; the twisted metric.

    Raises
    ------
    InputError
        If the metric is unknown or the energy has another form.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> from symflow.models.energies.exponential import Exponential
    >>> second_variation_argument(Exponential(), "wasserstein").check()
    True
    """
    if metric not in METRICS:
        raise InputError(f"metric = {metric!r} is unknown; use {', '.join(map(repr, METRICS))}")
    statement = model.statement()
    if statement.rest != 0:
        raise InputError(
            f"{statement.name} is more than ½∬W dμdμ + ∫U dμ; second variations are known for that form"
        )
    twisted = twisted_metric()
    if metric == "twisted":
        statement = with_kernel(statement, twisted)
    pairs, own = straight_integrands(statement)
    steps = [_definition(model, statement, pairs, own)]
    if metric == "wasserstein":
        steps += [_straight(statement, pairs, own), _sphere(statement, pairs, own)]
    elif metric == "bures":
        steps += gaussian_steps.bures_steps(statement)
    else:
        steps += [_hamilton(statement, twisted), _acceleration(statement, twisted, pairs, own)]
        steps += [_dirac(statement, twisted), *gaussian_steps.twisted_steps(statement, twisted)]
    return SecondVariationArgument(model, statement, tuple(steps), metric, pairs, own)  # type: ignore[arg-type]


def with_kernel(statement: EnergyStatement, metric: TwistedMetric) -> EnergyStatement:
    """Return the energy with K for its pair where that is the exponential of a bilinear score.

    The metric is meant with the matrix of that score, which has to be symmetric.
    """
    pair, x, y = statement.pair, statement.x, statement.y
    if not isinstance(pair, exp):
        return statement
    try:
        form = quadratic_form(pair.args[0], x, y)
    except NotQuadratic:
        return statement
    if not form.C.is_ZeroMatrix or not form.c.is_ZeroMatrix or form.rest != 0:
        return statement
    kernel = metric.kernel.xreplace({metric.x: x, metric.y: y})
    return replace(statement, pair=kernel, parameters=metric.parameters)


def _velocities(statement: EnergyStatement) -> tuple[Any, Any]:
    d = statement.dimensions[0]
    return vector("v", d), vector("w", d)


def _second(scalar: Any, directions: dict[Any, Any]) -> Any:
    return normal_form(gateaux(gateaux(scalar, directions), directions)).to_sympy()


def straight_formula(statement: EnergyStatement, pairs: Expr, own: Expr) -> Expr:
    """Return the second derivative along straight lines, with v = v(x) and w = v(y)."""
    s = statement
    doubled = Rational(1, 2) * Average(Average(pairs, s.y), s.x) if pairs != 0 else Integer(0)
    return doubled + (Average(own, s.x) if own != 0 else Integer(0))


def _definition(model: EnergyModel, statement: EnergyStatement, pairs: Expr, own: Expr) -> Step:
    return Step(
        kind="definition",
        title=model.title,
        statement=r"The energy of a law $\mu$ is" + _same_matrix(statement),
        formulas=(Formula(r"F(\mu)", statement.functional),),
        rule="definition",
        reference=statement.reference,
        check=AlongLines(statement, pairs, own, *_velocities(statement)),
    )


def _same_matrix(statement: EnergyStatement) -> str:
    """Return the condition under which the score of the energy is that of the metric."""
    shared = statement.parameters == twisted_metric().parameters
    return r", with $A = K^{\top}Q$ symmetric," if shared else ""


def _straight(statement: EnergyStatement, pairs: Expr, own: Expr) -> Step:
    return Step(
        kind="result",
        title=r"Second variation along geodesics of $W_2$",
        statement=r"Let $\mu_t$ be the law of $x + t\,v(x)$, $x \sim \mu$; for an optimal velocity $v$ "
        r"this is "
        r"the geodesic of $W_2$, and on atoms that do not meet every $v$ is optimal for small times. With "
        r"$v = v(x)$ and $w = v(y)$",
        formulas=(Formula(r"\frac{d^2}{dt^2}F(\mu_t)\Big|_{t=0}", straight_formula(statement, pairs, own)),),
        rule="Gateaux derivative along straight lines",
        reference=statement.reference,
        check=AlongLines(statement, pairs, own, *_velocities(statement)),
    )


def _sphere(statement: EnergyStatement, pairs: Expr, own: Expr) -> Step:
    s, (v, w) = statement, _velocities(statement)
    slope = gradient(_one_sided(s), s.x)
    bent = Average(normal_form(Trace(v.T * v) * Trace(s.x.T * slope)).to_sympy(), s.y)
    return Step(
        kind="result",
        title="On the sphere",
        statement=r"Geodesics of the unit sphere have the acceleration $-|v|^2x$. For tangent $v$ the second "
        r"variation along them is",
        formulas=(
            Formula(
                r"\frac{d^2}{dt^2}F(\mu_t)\Big|_{t=0}",
                straight_formula(s, pairs, own) - Average(bent, s.x),
            ),
        ),
        rule="chain rule along great circles",
        reference=statement.reference,
        check=AlongGreatCircles(s, pairs, own, slope, v, w),
    )


def _one_sided(statement: EnergyStatement) -> Expr:
    """Return the integrand of the first variation, as a function of x."""
    s = statement
    return Rational(1, 2) * (s.pair + s.pair.xreplace({s.x: s.y, s.y: s.x})) + s.potential


def _hamilton(statement: EnergyStatement, metric: TwistedMetric) -> Step:
    """Return the geodesic equations as variations of the Hamiltonian, for quadratic potentials φ."""
    d = dimension("d")
    q, R = vector("q", d), matrix("R", d, d)
    inverse = Inverse(metric.size)
    known = (*metric.symmetric, R)

    def energy_at(point: Any) -> Expr:
        momentum = q + R * point  # ∇φ for φ = ⟨q, x⟩ + ½⟨x, Rx⟩
        density = Average(metric.kernel.xreplace({metric.x: point}), metric.y)
        return Trace(momentum.T * inverse * momentum) / (2 * density)

    hamiltonian = Average(energy_at(metric.x), metric.x)
    variation = first_variation(hamiltonian, vector("z", d))
    force = spatial_gradient(variation, vector("z", d), known)
    return Step(
        kind="step",
        title="Geodesic equations from the Hamiltonian",
        statement=r"The twisted metric is $\int\langle v, |M|v\rangle G_\mu\,d\mu$ with $G_\mu(x) = "
        r"\int K(x,y)\,"
        r"d\mu(y)$; $N = |M|$. With $\nabla\varphi = G_\mu N v$ its geodesics are the curves "
        r"$\partial_t\mu = "
        r"\delta H/\delta\varphi = -\operatorname{div}(\mu\,N^{-1}\nabla\varphi/G_\mu)$, "
        r"$\partial_t\varphi = "
        r"-\delta H/\delta\mu$. Along them a token with velocity $v$ has the momentum $p = G_\mu N v$ with "
        r"$\dot p = \int f\,d\mu(y)$, $w = v(y)$; for $\nabla\varphi(x) = q + Rx$ the variation is",
        formulas=(
            Formula("K(x,y)", metric.kernel),
            Formula(
                r"H(\mu,\varphi)",
                r"\tfrac12\int\frac{\langle\nabla\varphi, N^{-1}\nabla\varphi\rangle}{G_\mu}\,d\mu",
            ),
            Formula(r"\nabla\frac{\delta H}{\delta\mu}(z)", force),
            Formula("f", metric.force),
        ),
        rule="first variation of the Hamiltonian",
        reference="CACP25",
        check=HamiltonOfAtoms(statement, metric),
    )


def _acceleration(statement: EnergyStatement, metric: TwistedMetric, pairs: Expr, own: Expr) -> Step:
    x, y = metric.x, metric.y
    G = metric.density
    force, rate = average(metric.force, y), Average(metric.rate, y)
    formula = MatMul(Inverse(metric.size), force) - rate * metric.v
    s = statement
    straight = straight_formula(s, pairs, own)
    return Step(
        kind="result",
        title="Second variation along twisted geodesics",
        statement=r"Since $\dot p = G_\mu N a + \dot G_\mu N v$, the acceleration $a$ of a token "
        r"satisfies the first "
        r"equation, and the second variation is the second one with $v = v(x)$, $w = v(y)$. On $n$ "
        r"atoms this is "
        r"the Riemannian Hessian $D^2F - dF(\Gamma(v,v))$ of the metric $\sum_i w_iG_i\langle v_i, N "
        r"v_i\rangle$: "
        r"its geodesic equations are the Euler--Lagrange equations of the same kinetic energy.",
        formulas=(
            Formula(f"{G}_\\mu(x)\\,a(x)", formula),
            Formula(
                r"\frac{d^2}{dt^2}F(\mu_t)\Big|_{t=0}",
                straight + Average(Trace(vector("f", x.shape[0]).T * vector("a", x.shape[0])), x),
            ),
            Formula("f(x)", spatial_gradient(first_variation(s.functional, s.x), s.x)),
        ),
        rule="Euler--Lagrange equations",
        reference="CACP25",
        check=ChristoffelOfAtoms(statement, metric, pairs, own),
    )


@dataclass(frozen=True)
class OnDirac:
    """Second variation and squared length at a Dirac, as expressions in x and the velocity."""

    second: Expr
    square: Expr
    velocity: Any


def straight_on_dirac(statement: EnergyStatement) -> OnDirac:
    """Return the second derivative along straight lines at the law of one atom, beside |v|²."""
    s, (v, w) = statement, _velocities(statement)
    pairs, own = straight_integrands(statement)
    second = (pairs / 2 + own).xreplace({s.y: s.x, w: v})
    return OnDirac(normal_form(second).to_sympy(), Trace(v.T * v), v)


def on_dirac(statement: EnergyStatement, metric: TwistedMetric) -> OnDirac:
    """Return the general formula of the second variation at the law of one atom at x with velocity v."""
    s, (v, w) = statement, _velocities(statement)
    together = {s.y: s.x, w: v, metric.x: s.x, metric.y: s.x, metric.v: v, metric.w: v}
    density = metric.kernel.xreplace(together)
    force, rate = metric.force.xreplace(together), metric.rate.xreplace(together)
    bent = metric.acceleration(force, rate, v).xreplace({metric.density: density})
    slope = gradient(_one_sided(s), s.x).xreplace({s.y: s.x})
    second = straight_on_dirac(s).second + Trace(slope.T * bent)
    square = metric.square(v) * density
    return OnDirac(
        normal_form(second, metric.symmetric).to_sympy(),
        normal_form(square, metric.symmetric).to_sympy(),
        v,
    )


def straight_integrands(statement: EnergyStatement) -> tuple[Expr, Expr]:
    """Return D²W(x, y)[(v, w)²] and D²U(x)[v²]."""
    v, w = _velocities(statement)
    pairs = _second(statement.pair, {statement.x: v, statement.y: w})
    return pairs, _second(statement.potential, {statement.x: v})


def _dirac(statement: EnergyStatement, metric: TwistedMetric) -> Step:
    found = on_dirac(statement, metric)
    return Step(
        kind="step",
        title="Diracs",
        statement=r"At the law of one atom at $x$ with velocity $v$ all averages are values: second "
        r"variation and "
        r"squared length are",
        formulas=(Formula("F''", found.second), Formula("g(v,v)", found.square)),
        rule="averages over one atom",
        reference="CACP25",
        check=DiracCurve(statement, metric, found.second),
    )
