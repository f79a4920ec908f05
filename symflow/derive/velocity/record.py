"""What a route is given and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, MatMul, MatrixSymbol, Symbol

from symflow.algebra.affine import affine_parts
from symflow.algebra.assembly import product, total
from symflow.algebra.latex import latex
from symflow.algebra.words import identical
from symflow.derive.steps import Step
from symflow.errors import ClosureUndecided, SymflowError
from symflow.models.statement import Head, Statement

NORMAL_FORM = "normal form of matrix words"
Running = tuple[tuple[MatrixSymbol, Any], ...]

#: θ_τ, the weight of one position under a mask.
WEIGHT = Symbol("weight", nonnegative=True)


@dataclass(frozen=True)
class AffineVelocity:
    """Γ(x) = constant + linear·(x − α) with the steps that lead to it.

    Attributes
    ----------
    constant, linear : MatrixExpr
        In the parameters, ``alpha`` and ``Sigma``, and in the matrices of ``running``.
    field : MatrixExpr
        Γ(x) as it was derived.
    steps : tuple of Step
        With their independent checks.
    tilt : MatrixExpr or None
        Symmetric C: the field exists where ``λ_max(Σ^{1/2}CΣ^{1/2}) < 1``; None where that always holds.
    running : tuple of (MatrixSymbol, MatrixExpr)
        Under a mask, what is summed over the positions up to the own one, and the part of one position.
    """

    constant: Any
    linear: Any
    field: Any
    steps: tuple[Step, ...] = ()
    tilt: Any = None
    running: Running = ()


@dataclass(frozen=True)
class Setting:
    r"""One head, the Gaussian law that it averages against, and what is added to its average.

    Attributes
    ----------
    statement : Statement
        The model.
    head : Head
        One of its heads.
    offset : MatrixExpr
        b(x), added to the average of the only head; zero where heads are derived one by one.
    alpha, sigma : MatrixSymbol
        Mean and covariance.
    label : str
        The LaTeX of the velocity without its argument, such as ``\Gamma_\mu``.
    """

    statement: Statement
    head: Head
    offset: Any
    alpha: MatrixSymbol
    sigma: MatrixSymbol
    label: str

    @property
    def x(self) -> MatrixSymbol:
        """The query token."""
        return self.statement.x

    @property
    def y(self) -> MatrixSymbol:
        """The key token."""
        return self.statement.y

    def value_parts(self) -> tuple[Any, Any]:
        """Return (W, m) with prefactor · v(y) = Wy + m."""
        return affine_parts(self.scaled_value(), self.y)

    def scaled_value(self) -> Any:
        """Return prefactor · v(y)."""
        prefactor: Expr = self.head.prefactor
        return self.head.value if prefactor == 1 else MatMul(prefactor, self.head.value).doit()

    def letter(self, name: str) -> str:
        """Return the LaTeX of a coefficient; it wears a hat where a parameter has that name."""
        return letter(name, self.statement)

    def velocity(
        self,
        field: Any,
        constant: Any,
        linear: Any,
    ) -> AffineVelocity:
        """Add the offset to a field and its parts, after proving that they belong together.

        Raises
        ------
        SymflowError
            If the normal form does not show that ``field = constant + linear·(x − α)``.
        """
        slope, shift = affine_parts(self.offset, self.x)
        whole = total(field, product(slope, self.x), shift)
        value = total(constant, product(slope, self.alpha), shift)
        gradient = total(linear, slope)
        if not identical(whole, total(value, gradient * (self.x - self.alpha)), (self.sigma,)):
            name = self.statement.name
            raise SymflowError(f"{name}: the velocity field did not split into its affine parts")
        return AffineVelocity(value, gradient, whole)


def undecided(setting: Setting, why: str) -> ClosureUndecided:
    """Return the error of a head that no route covers."""
    return ClosureUndecided(
        f"{setting.statement.name}: whether Gaussians are preserved is undecided: {why}. "
        "The closure needs an affine value, and a score yᵀBx + ½yᵀCy + cᵀy + r(x) in an exponential that is "
        "normalised, or a kernel that is a polynomial in y and affine in x"
    )


def letter(name: str, statement: Statement) -> str:
    """Return the LaTeX of a coefficient; it wears a hat where a parameter of the model has that name."""
    taken = {parameter.name for parameter in statement.parameters}
    return rf"\widehat{{{name}}}" if name in taken else name


def finite_normaliser(statement: Statement) -> str:
    """Return the inequality under which the normaliser is finite, as LaTeX."""
    return rf"\lambda_{{\max}}(\Sigma^{{1/2}}{letter('C', statement)}\Sigma^{{1/2}}) < 1"


def running_sum(weight: Symbol, part: Any, states: tuple[MatrixSymbol, ...]) -> str:
    """Return the LaTeX of the sum over τ ≤ s of what position τ adds to a running matrix."""
    there = {state: MatrixSymbol(f"{state.name}_tau", *state.shape) for state in states}
    own = (part / weight).doit().xreplace(there)
    inner = "" if own.is_Identity else rf"({latex(own)})" if own.is_MatAdd else latex(own)
    return rf"\sum_{{\tau\le s}}\theta_{{\tau}}{inner}"


def argument(statement: Statement) -> str:
    """Return the argument of the velocity, with the position under a mask."""
    return "(x)" if statement.positions is None else "(s,x)"
