"""Exact numbers as text of the small grammar, and back without ever executing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    return exact_value(read(text), {GENERATOR: field.generator} if field else {})


def read_matrix(rows: Sequence[Sequence[str]], field: NumberField | None = None) -> list[list[Any]]:
    """Return the matrix of the numbers that rows of texts write."""
    return [[read_exact(text, field) for text in row] for row in rows]


def exact_value(node: Node, values: Mapping[str, Any]) -> Any:
    """Return the exact value of a syntax tree, given those of its names.

    Raises
    ------
    InputError
        For a name without a value, a division by zero, or a function other than ``exp`` of a constant.
    """
    return simplest(_value(node, values))


def ball_value(node: Node, values: Mapping[str, Any]) -> Any:
    """Return a ``flint.arb`` that contains the value of a syntax tree for all values of its names in balls.

    Where the value is not defined everywhere in the balls, the ball is not finite.

    Raises
    ------
    InputError
        For a name without a value, or a function without enclosure.
    """
    from flint import arb, fmpq

    match node:
        case Number(value=value):
            return arb(fmpq(value.numerator, value.denominator))
        case Name(name=name) if name in values:
            return values[name]
        case Sum(terms=terms):
            return sum((sign * ball_value(term, values) for sign, term in terms), arb(0))
        case Product(factors=factors):
            found = arb(1)
            for divides, factor in factors:
                value = ball_value(factor, values)
                found = found / value if divides else found * value
            return found
        case Power(base=base, exponent=exponent):
            return ball_value(base, values) ** exponent
        case Call(function=name, arguments=(argument,)) if name in _BALLS:
            return _BALLS[name](ball_value(argument, values))
    raise InputError(f"{getattr(node, 'function', getattr(node, 'name', node))} has no enclosure in balls")


_BALLS: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "tanh": lambda x: x.tanh(),
    "erf": lambda x: x.erf(),
    "Abs": abs,
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
}


def simplest(value: Any) -> Any:
    """Return a constant sum as a number of its field, and a rational element of a field as a fraction."""
    if isinstance(value, ExpSum) and value.is_constant:
        value = value.constant()
    if isinstance(value, FieldElement) and value.is_rational:
        return value.fraction()
    return value


def _value(node: Node, values: Mapping[str, Any]) -> Any:
    match node:
        case Number(value=value):
            return value
        case Name(name=name) if name in values:
            return values[name]
        case Sum(terms=terms):
            return reduce(lambda a, b: a + b, [sign * _value(term, values) for sign, term in terms])
        case Product(factors=factors):
            return reduce(lambda a, b: a * b, [_factor(*factor, values) for factor in factors])
        case Power(base=base, exponent=exponent):
            return _value(base, values) ** exponent
        case Call(function="exp", arguments=(argument,)):
            return exponential(_value(argument, values))
    raise InputError(f"{getattr(node, 'name', type(node).__name__)} has no exact value here")


def _factor(divides: bool, node: Node, values: Mapping[str, Any]) -> Any:
    value = _value(node, values)
    if not divides:
        return value
    if not value:
        raise InputError("a division by zero")
    return 1 / value
