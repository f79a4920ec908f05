r"""First and second derivatives of a function of two tokens as vectors and matrices of symbolic size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import MatMul, MatrixSymbol, ZeroMatrix

from symflow.algebra.assembly import total
from symflow.algebra.terms import terms
from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import normal_form
from symflow.errors import NotAffine


@dataclass(frozen=True)
class PairBlocks:
    r"""Derivatives of W(x, y), each a SymPy expression in x, y and the parameters.

    Attributes
    ----------
    value : Expr
        W.
    x_slope, y_slope : MatrixExpr, (d, 1)
        :math:`\nabla_x W` and :math:`\nabla_y W`.
    xx, xy, yy : MatrixExpr, (d, d)
        With :math:`D^2W[(\xi,\eta)^2] = \xi^\top W_{xx}\xi + 2\xi^\top W_{xy}\eta + \eta^\top W_{yy}\eta`.
    """

    value: Any
    x_slope: Any
    y_slope: Any
    xx: Any
    xy: Any
    yy: Any


def pair_blocks(
    pair: Any, x: MatrixSymbol, y: MatrixSymbol, symmetric: tuple[MatrixSymbol, ...] = ()
) -> PairBlocks:
    """Return the derivatives of a scalar function of two column vectors, by Gateaux derivatives.

    Parameters
    ----------
    pair : Expr
        W(x, y).
    x, y : MatrixSymbol, (d, 1)
    symmetric : tuple of MatrixSymbol
        Parameters that equal their transpose.

    Examples
    --------
    >>> from sympy import Trace
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> A, x, y = matrix("A", d, d), vector("x", d), vector("y", d)
    >>> blocks = pair_blocks(Trace(y.T * A * x), x, y)
    >>> blocks.x_slope, blocks.xy, blocks.xx
    (A.T*y, A.T, 0)
    """
    x_slope, y_slope = gradient(pair, x, symmetric), gradient(pair, y, symmetric)
    return PairBlocks(
        value=normal_form(pair, symmetric).to_sympy(),
        x_slope=x_slope,
        y_slope=y_slope,
        xx=slope_matrix(x_slope, x, symmetric),
        xy=slope_matrix(x_slope, y, symmetric),
        yy=slope_matrix(y_slope, y, symmetric),
    )


def slope_matrix(field: Any, x: MatrixSymbol, symmetric: tuple[MatrixSymbol, ...] = ()) -> Any:
    r"""Return the Jacobian matrix of a vector field: J with :math:`df(\xi) = J\xi`.

    Raises
    ------
    NotAffine
        If a term of the derivative has the direction inside a product that cannot be taken apart.
    """
    name = "xi" + "'" * sum(symbol.name.startswith("xi") for symbol in field.atoms(MatrixSymbol))
    direction = MatrixSymbol(name, *x.shape)
    change = gateaux(field, {x: direction})
    parts: list[Any] = [ZeroMatrix(field.shape[0], x.shape[0])]
    for coefficient, factors in terms(change, symmetric):
        parts.append(_without(direction, coefficient, factors, symmetric))
    return normal_form(total(*parts), symmetric).to_matrix()


def _without(direction: Any, coefficient: Any, factors: Any, symmetric: tuple[Any, ...]) -> Any:
    """Return the matrix of one term that is linear in the direction."""
    inside = [factor for factor in factors if direction in factor.free_symbols]
    if not inside and direction in coefficient.free_symbols:
        row = gradient(coefficient, direction, symmetric).T
        return MatMul(*factors, row)
    if inside == [direction] and factors[-1] == direction and direction not in coefficient.free_symbols:
        return coefficient * MatMul(*factors[:-1]) if len(factors) > 1 else coefficient * _one(direction)
    raise NotAffine(
        f"the derivative has the term {coefficient} {factors}, not linear in {direction}", coefficient
    )


def _one(direction: Any) -> Any:
    from sympy import Identity

    return Identity(direction.shape[0])
