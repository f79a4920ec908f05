"""Exact numbers as text of the small grammar, and back without ever executing it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from symflow.algebra.exact.exponentials import ExpSum, exponential
from symflow.algebra.exact.fields import GENERATOR, FieldElement, NumberField
from symflow.algebra.text.syntax import Call, Name, Node, Number, Power, Product, Sum, read
from symflow.errors import InputError


def read_exact(text: str, field: NumberField | None = None) -> Any:
    """Return the number that a text of sums, products, quotients, powers and ``exp`` writes.

    Parameters
    ----------
    text : str
    field : NumberField, optional
        What ``theta`` generates.

    Returns
    -------
    Fraction, FieldElement, ExpSum or ExpFraction
        Constants come back as fractions or elements of the field.

    Raises
    ------
    InputError
        If the text cannot be read, or its value is no sum of exponentials of the field, or a quotient of two.

    Examples
    --------
    >>> read_exact("-1/2*exp(1/3) + 2*exp(1)")
    -1/2*exp(1/3) + 2*exp(1)
    """
    return simplest(_value(read(text), field))


def read_matrix(rows: Sequence[Sequence[str]], field: NumberField | None = None) -> list[list[Any]]:
    """Return the matrix of the numbers that rows of texts write."""
    return [[read_exact(text, field) for text in row] for row in rows]


def simplest(value: Any) -> Any:
    """Return a constant sum as a number of its field, and a rational element of a field as a fraction."""
    if isinstance(value, ExpSum) and value.is_constant:
        value = value.constant()
    if isinstance(value, FieldElement) and value.is_rational:
        return value.fraction()
    return value


def _value(node: Node, field: NumberField | None) -> Any:
    match node:
        case Number(value=value):
            return value
        case Name(name=name) if name == GENERATOR and field is not None:
            return field.generator
        case Sum(terms=terms):
            return reduce(lambda a, b: a + b, [sign * _value(term, field) for sign, term in terms])
        case Product(factors=factors):
            return reduce(lambda a, b: a * b, [_factor(*factor, field) for factor in factors])
        case Power(base=base, exponent=exponent):
            return _value(base, field) ** exponent
        case Call(function="exp", arguments=(argument,)):
            return exponential(_value(argument, field))
    raise InputError(f"{getattr(node, 'name', type(node).__name__)} has no exact value here")


def _factor(divides: bool, node: Node, field: NumberField | None) -> Any:
    value = _value(node, field)
    if not divides:
        return value
    if not value:
        raise InputError("a division by zero")
    return 1 / value
