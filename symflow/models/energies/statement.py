"""What the definition of an energy says, as SymPy; everything else is derived from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, MatrixSymbol, Rational, S, Symbol

from symflow.algebra.functionals.average import Average


@dataclass(frozen=True)
class EnergyStatement:
    r"""The definition of one energy of a probability law, at symbolic size.

    .. math:: F(\mu) = \tfrac12\iint W(x, y)\,d\mu(x)\,d\mu(y) + \int U(x)\,d\mu(x) + \text{rest}(\mu)

    Attributes
    ----------
    name : str
        Identifier, e.g. ``"exponential"``.
    pair : Expr
        W(x, y), a SymPy scalar over ``Trace`` atoms; zero where there is no interaction. It need not be
        symmetric.
    potential : Expr
        U(x).
    rest : Expr
        What else there is, in averages over the law.
    x, y : MatrixSymbol
        Two tokens (d × 1).
    parameters : tuple of MatrixSymbol or Symbol
        In call order.
    dimensions : tuple of Symbol
        Sizes, ``d`` first.
    space : str
        Where tokens live: ``"euclidean"`` or ``"sphere"``.
    reference : str
        Citation key and equation.
    """

    name: str
    pair: Expr
    x: MatrixSymbol
    y: MatrixSymbol
    parameters: tuple[MatrixSymbol | Symbol, ...]
    dimensions: tuple[Symbol, ...]
    space: str = "euclidean"
    reference: str = ""
    potential: Expr = S.Zero
    rest: Expr = S.Zero

    @property
    def functional(self) -> Expr:
        """F as one expression in averages over the law."""
        total = self.rest
        if self.pair != 0:
            total += Rational(1, 2) * Average(Average(self.pair, self.y), self.x)
        return total + Average(self.potential, self.x) if self.potential != 0 else total

    @property
    def stacked(self) -> Mapping[str, Symbol]:
        """Parameters with a leading axis, as models with heads have them: an energy has none."""
        return {}
