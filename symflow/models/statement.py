"""Statement: what a model says, as SymPy; everything else is derived from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, MatrixSymbol, Symbol


@dataclass(frozen=True)
class Statement:
    r"""The definition of one attention mechanism at symbolic size.

    .. math:: \Gamma_\mu(x) = b + \int v(y)\,w_\mu(x,y)\,d\mu(y), \qquad
              w_\mu(x,y) \propto e^{s(x,y)} \text{ for ``normalise = "softmax"``}

    Attributes
    ----------
    name : str
        Identifier of the model and of its parametrisation, e.g. ``"softmax-A"``.
    score : Expr
        s(x, y), a SymPy scalar over ``Trace`` atoms, including the factor ``beta/temperature``.
    value : MatrixExpr
        v(y), a column vector of size d.
    output : MatrixExpr
        The constant b added after the average (zero matrix when there is none).
    normalise : str
        ``"softmax"`` (later also ``"none"``, ``"sinkhorn"``).
    x, y : MatrixSymbol
        Query and key token.
    parameters : tuple of MatrixSymbol or Symbol
        Matrix parameters, then scalar ones, in call order.
    dimensions : tuple of Symbol
        Sizes, ``d`` first.
    reference : str
        Citation key and equation.
    """

    name: str
    score: Expr
    value: Any
    output: Any
    normalise: str
    x: MatrixSymbol
    y: MatrixSymbol
    parameters: tuple[MatrixSymbol | Symbol, ...]
    dimensions: tuple[Symbol, ...]
    reference: str
