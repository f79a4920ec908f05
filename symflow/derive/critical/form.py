r"""The Hessian of an energy of n tokens as a quadratic form of symbolic size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, MatrixSymbol, S, Trace, ZeroMatrix

from symflow.algebra.symbols import vector
from symflow.algebra.variation import gateaux
from symflow.algebra.words import normal_form
from symflow.derive.critical.checks import FirstDerivative, GreatCircles, SecondDerivative
from symflow.derive.critical.structure import require_pairs
from symflow.derive.derivation import Argument
from symflow.derive.steps import Formula, Step
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement

SPACES = ("sphere", "euclidean")

_SUM = r"\tfrac{1}{2n^2}\sum_{i,j} "
_GREAT = r"x_i(t) = \cos(|\xi_i|t)\,x_i + \frac{\sin(|\xi_i|t)}{|\xi_i|}\,\xi_i"


@dataclass(frozen=True)
class HessianForm(Argument):
    r"""The second derivative of an energy of n tokens along geodesics.

    .. math:: \operatorname{Hess}F(\xi,\xi) = \frac{1}{2n^2}\sum_{i,j} h(x_i, x_j; \xi_i, \xi_j)
              + \frac1n\sum_i k(x_i; \xi_i)

    Attributes
    ----------
    model : EnergyModel
    statement : EnergyStatement
    space : str
        ``"sphere"`` (great circles) or ``"euclidean"`` (straight lines).
    xi, eta : MatrixSymbol
        Velocities of x and y.
    pair, potential : Expr
        h and k.
    slope, potential_slope : Expr
        The first derivatives of W and U along the velocities.
    """

    model: Any
    statement: Any
    space: str
    xi: MatrixSymbol
    eta: MatrixSymbol
    pair: Expr
    potential: Expr
    slope: Expr
    potential_slope: Expr

    def __repr__(self) -> str:
        return f"HessianForm({self.statement.name}, {self.space}: h = {self.pair}, k = {self.potential})"


def hessian_form(energy: Any, space: str | None = None) -> HessianForm:
    r"""Return the Hessian of an energy of n tokens, step by step.

    Parameters
    ----------
    energy : EnergyModel or Energy
        Of :mod:`symflow.models.energies` or :mod:`symflow.energies`.
    space : {"sphere", "euclidean"}, optional
        Where tokens live; where the energy says so by default.

    Returns
    -------
    HessianForm
        An argument with ``.steps``, ``.check()``, ``.to_latex()``, and the form at symbolic size.

    Raises
    ------
    InputError
        If ``space`` is unknown, the energy is no sum over pairs, or a function has no known derivative.

    References
    ----------
    GLPR23.

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> found = hessian_form(Interaction())
    >>> found.slope
    exp(beta*Trace(x.T*y))*Trace(eta.T*x) + exp(beta*Trace(x.T*y))*Trace(xi.T*y)
    """
    model = getattr(energy, "model", energy)
    statement: EnergyStatement = model.statement()
    require_pairs(statement)
    space = statement.space if space is None else space
    if space not in SPACES:
        raise InputError(f"space = {space!r} is unknown; use {' or '.join(map(repr, SPACES))}")
    taken = {str(symbol.name) for symbol in (*statement.parameters, statement.x, statement.y)}
    xi, eta = (_velocity(name, statement, taken) for name in ("xi", "eta"))
    along = {statement.x: xi, statement.y: eta}
    bent = _accelerations(statement, space, xi, eta)
    slopes = tuple(_written(gateaux(f, along)) for f in (statement.pair, statement.potential))
    pair = second_along(statement.pair, along, bent)
    potential = second_along(statement.potential, {statement.x: xi}, {statement.x: bent[statement.x]})
    form = HessianForm(model, statement, (), space, xi, eta, pair, potential, *slopes)
    return HessianForm(model, statement, _steps(form), space, xi, eta, pair, potential, *slopes)


def _velocity(name: str, statement: EnergyStatement, taken: set[str]) -> MatrixSymbol:
    while name in taken:
        name += "'"
    return vector(name, statement.x.shape[0])


def _accelerations(statement: EnergyStatement, space: str, xi: Any, eta: Any) -> dict[Any, Any]:
    """Return the accelerations of geodesics: −|ξ|²x on the sphere."""
    if space == "euclidean":
        still = ZeroMatrix(*statement.x.shape)
        return {statement.x: still, statement.y: still}
    return {
        statement.x: -Trace(xi.T * xi) * statement.x,
        statement.y: -Trace(eta.T * eta) * statement.y,
    }


def second_along(function: Any, along: dict[Any, Any], bent: dict[Any, Any]) -> Any:
    """Return the second derivative of a function along curves with these velocities and accelerations."""
    if function == 0:
        return S.Zero
    straight = gateaux(gateaux(function, along), along)
    moving = {token: change for token, change in bent.items() if not change.is_ZeroMatrix}
    return _written(straight + (gateaux(function, moving) if moving else 0))


def _written(scalar: Any) -> Any:
    return normal_form(scalar).to_sympy()


# ---- steps ----------------------------------------------------------------------------------------------


def _steps(form: HessianForm) -> tuple[Step, ...]:
    return (_definition(form), _first(form), _curves(form), _result(form))


def _definition(form: HessianForm) -> Step:
    statement = form.statement
    formulas = [Formula(r"F(x_1,\ldots,x_n)", " + ".join(_parts(form, "W(x_i, x_j)", "U(x_i)")))]
    formulas += [Formula("W(x,y)", statement.pair)] * (statement.pair != 0)
    formulas += [Formula("U(x)", statement.potential)] * (statement.potential != 0)
    where = r"\mathbb{S}^{d-1}" if form.space == "sphere" else r"\mathbb{R}^d"
    return Step(
        kind="definition",
        title="The energy of n tokens",
        statement=rf"The energy of the law $\frac1n\sum_i\delta_{{x_i}}$, $x_i \in {where}$, is",
        formulas=tuple(formulas),
        rule="integrals against the empirical law are sums",
        reference=statement.reference,
        check=FirstDerivative(form),
    )


def _parts(form: HessianForm, pair: str, alone: str) -> list[str]:
    found = [_SUM + pair] * (form.statement.pair != 0)
    return found + [r"\tfrac1n\sum_i " + alone] * (form.statement.potential != 0)


def _first(form: HessianForm) -> Step:
    return Step(
        kind="step",
        title="The derivative along a motion",
        statement=r"While the tokens move with velocities $\xi_i$, each summand changes by its Gateaux "
        r"derivative; with $\xi = \xi_i$, $\eta = \xi_j$ that of $W(x_i, x_j)$ is",
        formulas=(Formula(r"DW(x,y)[\xi,\eta]", form.slope),),
        rule="Gateaux derivative",
        reference="",
        check=FirstDerivative(form),
    )


def _curves(form: HessianForm) -> Step:
    return Step(
        kind="step",
        title="The second derivative along curves",
        statement=r"Along curves with velocities $\xi_i$ and accelerations $a_i$ at $t = 0$ the chain rule "
        r"gives, for each pair and each token,",
        formulas=(
            Formula(r"\frac{d^2}{dt^2}W", r"D^2W[(\xi_i,\xi_j)^2] + DW[(a_i,a_j)]"),
            Formula(r"\frac{d^2}{dt^2}U", r"D^2U[\xi_i^2] + DU[a_i]"),
        ),
        rule="chain rule",
        reference="",
        check=SecondDerivative(form),
    )


def _result(form: HessianForm) -> Step:
    sphere = form.space == "sphere"
    curves = rf"on the sphere great circles, ${_GREAT}$, with $a_i = -|\xi_i|^2x_i$" if sphere else ""
    formulas = [
        Formula(
            r"\operatorname{Hess}F(\xi,\xi)",
            " + ".join(_parts(form, r"h(x_i,x_j;\xi_i,\xi_j)", r"k(x_i;\xi_i)")) or "0",
        )
    ]
    formulas += [Formula(r"h(x,y;\xi,\eta)", form.pair)] * (form.statement.pair != 0)
    formulas += [Formula(r"k(x;\xi)", form.potential)] * (form.statement.potential != 0)
    return Step(
        kind="result",
        title=f"The Hessian of {form.model.title.lower() or form.statement.name}",
        statement=r"For the metric $\sum_i|\xi_i|^2$ geodesics are "
        f"{curves or 'straight lines, $a_i = 0$'}. The Hessian is the second derivative along them:",
        formulas=tuple(formulas),
        rule="the second derivative along geodesics",
        reference=form.statement.reference,
        check=GreatCircles(form),
    )
