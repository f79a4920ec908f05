"""Exact values of matrix expressions with exponentials, at points of ℚ or of a real number field."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.exponentials import ExpFraction, ExpSum
from symflow.algebra.exact.fields import FieldElement
from symflow.algebra.exact.real import ExactReal, rational_of
from symflow.algebra.exact.texts import simplest
from symflow.errors import InputError


def evaluate_exact(expr: Any, values: Mapping[Any, Any], dims: Mapping[Any, int] | None = None) -> Any:
    """Return the exact value of a matrix expression or scalar.

    Parameters
    ----------
    expr : MatrixExpr or Expr
        Built from sums, products, transposes, inverses, traces, determinants, integer powers and ``exp``.
    values : mapping
        From symbol or name to a nested list (matrices), number (scalars) or list of nested lists (members of
        a family). Numbers are fractions, elements of one number field, or sums of exponentials; floats are
        read as the fractions that they are.
    dims : mapping, optional
        From symbolic size or its name to an integer; what is missing is read off the matrices.

    Returns
    -------
    Fraction, FieldElement, ExpSum or ExpFraction, or a nested list of them
        Constants come back as fractions or elements of the field.

    Raises
    ------
    InputError
        For a symbol without a value, a wrong shape, a square root, an exponential of an exponential, or a
        singular inverse.

    Examples
    --------
    >>> from sympy import MatrixSymbol, Symbol, Trace, exp
    >>> d = Symbol("d", integer=True, positive=True)
    >>> x = MatrixSymbol("x", d, 1)
    >>> evaluate_exact(exp(Trace(x.T * x)) / 2, {"x": [[Fraction(1, 2)], [1]]})
    1/2*exp(5/4)
    """
    from symflow.algebra.sampling.evaluation import point_of, value_at

    result = value_at(expr, point_of(expr, values, dims, _number))
    if isinstance(result, list):
        return [[_result(entry) for entry in row] for row in result]
    return _result(result)


def _number(value: Any, name: str) -> Any:
    """Return a number as it takes part in exact arithmetic."""
    if isinstance(value, ExactReal):
        return value
    try:
        exact = rational_of(value)
    except (ValueError, OverflowError) as error:
        raise InputError(f"the value {value!r} of {name} is not a finite number") from error
    if exact is None:
        raise InputError(
            f"the value {value!r} of {name} is not an exact number; fields.from_sympy reads roots"
        )
    return exact


def _result(value: Any) -> Any:
    value = simplest(value)
    if isinstance(value, Fraction | FieldElement | ExpSum | ExpFraction):
        return value
    raise InputError(f"{value} is no exact value here; make the square root a symbol with a value in a field")
