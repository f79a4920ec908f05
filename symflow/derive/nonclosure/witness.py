"""The evidence that a Gaussian does not stay Gaussian, and its check by another route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, Rational

from symflow.algebra.exact.numbers import Ball
from symflow.derive.nonclosure.reduction import Integral


@dataclass(frozen=True)
class Law:
    """The Gaussian N(mean, variance) on the real line."""

    mean: Rational
    variance: Rational

    def __str__(self) -> str:
        return f"N({self.mean}, {self.variance})"


@dataclass(frozen=True)
class Witness:
    r"""One law, one point and one derivative of the velocity that does not vanish.

    In dimension one a Gaussian that solves the equation has a velocity that is affine in x, so a single
    derivative of order k ≥ 2, or a second difference, that is not zero refutes that Gaussians are preserved.

    Attributes
    ----------
    model : str
        Name of the statement.
    parameters : tuple of (str, Rational)
        Values of all parameters; every size and the number of heads is one.
    laws : tuple of Law
        The law of the tokens; with a causal mask one at each position, in order.
    weights : tuple of Rational
        Of the positions; ``(1,)`` without a mask.
    point : Rational
        x₀; with a mask a token at the last position.
    order : int
        k ≥ 2 of the derivative in x.
    step : Rational or None
        None for the derivative; else the step h of Γ(x₀ + h) − 2Γ(x₀) + Γ(x₀ − h), with ``order`` two.
    value : Expr or Ball
        The derivative or difference, exact or enclosed; not zero.
    integrals : tuple of Integral
        The velocity at these parameters, without its affine background.
    dimension : int
        One.
    """

    model: str
    parameters: tuple[tuple[str, Rational], ...]
    laws: tuple[Law, ...]
    weights: tuple[Rational, ...]
    point: Rational
    order: int
    value: Expr | Ball
    integrals: tuple[Integral, ...]
    step: Rational | None = None
    dimension: int = 1

    @property
    def exact(self) -> bool:
        """Whether ``value`` is an exact number."""
        return not isinstance(self.value, Ball)

    def __str__(self) -> str:
        return f"d = {self.dimension}, {self._setting()}: {self._left()} = {self._value()} ≠ 0"

    def _value(self) -> str:
        return str(self.value)

    def _setting(self) -> str:
        values = [f"{name} = {value}" for name, value in self.parameters]
        if len(self.laws) == 1:
            return ", ".join([*values, f"μ = {self.laws[0]}"])
        laws = ", ".join(str(law) for law in self.laws)
        weights = ", ".join(str(weight) for weight in self.weights)
        return ", ".join([*values, f"positions with laws {laws} and weights {weights}"])

    def _left(self) -> str:
        x, h = self.point, self.step
        if h is not None:
            return f"Γ({x + h}) − 2Γ({x}) + Γ({x - h})"
        return f"Γ{chr(8242) * self.order}({x})" if self.order < 4 else f"Γ⁽{_raised(self.order)}⁾({x})"

    def to_record(self) -> dict[str, Any]:
        """Return the witness as text and numbers that JSON can hold; exact numbers are text."""
        return {
            "dimension": self.dimension,
            "parameters": {name: str(value) for name, value in self.parameters},
            "laws": [{"mean": str(law.mean), "variance": str(law.variance)} for law in self.laws],
            "weights": [str(weight) for weight in self.weights],
            "point": str(self.point),
            "order": self.order,
            "step": None if self.step is None else str(self.step),
            "value": self._value(),
            "exact": self.exact,
        }

    def to_latex(self) -> str:
        r"""Return the witness as LaTeX text with one displayed equation."""
        left, value = self.inequality()
        return f"For {self.setting()},\n\\[\n{left} = {value}.\n\\]\n"

    def setting(self) -> str:
        """Return size, parameters and law as LaTeX text."""
        from symflow.algebra.latex import latex

        values = [rf"${_name_latex(name)} = {latex(number)}$" for name, number in self.parameters]
        law = ", ".join(rf"\mathcal{{N}}({latex(law.mean)}, {latex(law.variance)})" for law in self.laws)
        where = rf"$\mu = {law}$"
        if len(self.laws) > 1:
            weights = ", ".join(latex(weight) for weight in self.weights)
            where = rf"positions with the laws ${law}$ and the weights ${weights}$"
        return ", ".join([rf"$d = {self.dimension}$", *values, where])

    def inequality(self) -> tuple[str, str]:
        """Return the derivative or difference, and its value that is not zero, in LaTeX."""
        from symflow.algebra.latex import latex

        x, h, value = latex(self.point), self.step, self.value
        left = rf"\Gamma^{{({self.order})}}({x})"
        if h is not None:
            left = rf"\Gamma({latex(self.point + h)}) - 2\,\Gamma({x}) + \Gamma({latex(self.point - h)})"
        number = value.to_latex() if isinstance(value, Ball) else latex(value)
        return left, rf"{number} \neq 0"

    def _repr_latex_(self) -> str:
        return self.to_latex()

    def check(self) -> bool:
        """Compare the value with high-precision quadrature of the definition and central differences.

        Returns
        -------
        bool
            True.

        Raises
        ------
        CheckFailed
            If they disagree.
        """
        from symflow.derive.nonclosure.quadrature import Velocity
        from symflow.errors import CheckFailed

        velocity = Velocity(self.integrals, self.laws, self.weights)
        measured = velocity.difference(self.point, self.order, self.step)
        stated, radius = velocity.number(self.value)
        # with 50 digits and steps of 1e-8 the differences are right to about 1e-15 times later derivatives
        if abs(measured - stated) > radius + velocity.tolerance * (1 + abs(stated)):
            raise CheckFailed(f"{self}: quadrature gives {measured}", self, measured)
        return True


def _name_latex(name: str) -> str:
    """Return the name of a parameter as LaTeX."""
    from sympy import Symbol

    from symflow.algebra.latex import latex

    return latex(Symbol(name))


def _raised(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
