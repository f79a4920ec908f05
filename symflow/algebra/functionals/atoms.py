"""Functionals at laws of finitely many points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sympy import Add, MatAdd, MatrixExpr

from symflow.algebra.functionals.average import averages
from symflow.algebra.functionals.nodes import Density, law_functions
from symflow.errors import InputError


def on_atoms(expr: Any, points: Sequence[Any], weights: Sequence[Any]) -> Any:
    r"""Return an expression with every average written as a sum over weighted points.

    .. math:: \int f(z)\,d\mu(z) = \sum_i w_i f(x_i), \qquad \mu = \sum_i w_i\delta_{x_i}

    Parameters
    ----------
    expr : Expr or MatrixExpr
        A functional, its variation, or the gradient of that.
    points : sequence of MatrixExpr, shape (d, 1)
        x_1, …, x_n.
    weights : sequence of Expr
        w_1, …, w_n, as many.

    Returns
    -------
    Expr or MatrixExpr
        Without averages, for any exact or numerical evaluation; cost and potentials of transport are left.

    Raises
    ------
    InputError
        If there is not one weight per point, or the expression needs a density.

    Examples
    --------
    >>> from sympy import Symbol, Trace
    >>> from symflow.algebra.functionals.average import Average
    >>> from symflow.algebra.symbols import dimension, vector
    >>> d, w = dimension("d"), Symbol("w")
    >>> x, y, z = (vector(name, d) for name in "xyz")
    >>> on_atoms(Average(Trace(z.T * x), z), [x, y], [w, 1 - w])
    w*Trace(x.T*x) + (1 - w)*Trace(y.T*x)
    """
    if len(points) != len(weights) or not points:
        raise InputError(
            f"there are {len(points)} points and {len(weights)} weights; give one weight per point"
        )
    for node in law_functions(expr):
        if isinstance(node, Density):
            raise InputError("a law of finitely many points has no density, the functional is infinite")
    return expr.xreplace({node: _summed(node, points, weights) for node in averages(expr)})


def _summed(node: Any, points: Sequence[Any], weights: Sequence[Any]) -> Any:
    terms = [w * on_atoms(node.at(point), points, weights) for point, w in zip(points, weights, strict=True)]
    return MatAdd(*terms).doit(deep=False) if isinstance(node, MatrixExpr) else Add(*terms)
