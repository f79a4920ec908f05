"""Values of syntax trees where every size is one, so that a matrix is a number."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Protocol

from symflow.algebra.text.syntax import Call, Name, Node, Number, Power, Product, Sum, Transposed
from symflow.certify.terms import Rejected


class Arithmetic(Protocol):
    """What the evaluation of a tree needs."""

    def number(self, value: Any) -> Any:
        """Return a fraction."""
        ...

    def add(self, left: Any, right: Any) -> Any:
        """Return the sum."""
        ...

    def multiply(self, left: Any, right: Any) -> Any:
        """Return the product."""
        ...

    def invert(self, value: Any) -> Any:
        """Return one over the value."""
        ...

    def call(self, name: str, arguments: list[Any]) -> Any:
        """Return the value of a function of numbers."""
        ...


def evaluate(node: Node, values: Mapping[str, Any], arithmetic: Arithmetic) -> Any:
    """Return the value of a tree; names without a value are sizes, which are one.

    Raises
    ------
    Rejected
        If it has no value in the arithmetic.
    """
    match node:
        case Number(value=value):
            return arithmetic.number(value)
        case Name(name=name):
            return values[name] if name in values else arithmetic.number(1)
        case Transposed(operand=operand):
            return evaluate(operand, values, arithmetic)
        case Sum(terms=terms):
            parts = [_signed(sign, evaluate(term, values, arithmetic), arithmetic) for sign, term in terms]
            return reduce(arithmetic.add, parts)
        case Product(factors=factors):
            parts = [_factor(divides, factor, values, arithmetic) for divides, factor in factors]
            return reduce(arithmetic.multiply, parts)
        case Power(base=base, exponent=exponent):
            return power(evaluate(base, values, arithmetic), exponent, arithmetic)
        case Call(function="eye" | "zeros", arguments=arguments):
            _require_size_one(arguments)
            return arithmetic.number(int(node.function == "eye"))
        case Call(function=function, arguments=arguments):
            return _call(function, [evaluate(a, values, arithmetic) for a in arguments], arithmetic)
    raise Rejected(f"{type(node).__name__} has no value")


def power(base: Any, exponent: int, arithmetic: Arithmetic) -> Any:
    """Return an integer power."""
    if exponent < 0:
        base = arithmetic.invert(base)
    return reduce(arithmetic.multiply, [base] * abs(exponent), arithmetic.number(1))


def _require_size_one(sizes: tuple[Node, ...]) -> None:
    """Refuse a size that is written as another number: ``tr(eye(2))`` is two whatever the sizes are."""
    for size in sizes:
        if isinstance(size, Number) and size.value != 1:
            raise Rejected(f"the size {size.value} is not one")


def _signed(sign: int, value: Any, arithmetic: Arithmetic) -> Any:
    return value if sign > 0 else arithmetic.multiply(arithmetic.number(-1), value)


def _factor(divides: bool, node: Node, values: Mapping[str, Any], arithmetic: Arithmetic) -> Any:
    value = evaluate(node, values, arithmetic)
    return arithmetic.invert(value) if divides else value


def _call(name: str, arguments: list[Any], arithmetic: Arithmetic) -> Any:
    match name:
        case "dot" | "norm2":
            return arithmetic.multiply(arguments[0], arguments[-1])
        case "tr":
            return arguments[0]
        case "inv":
            return arithmetic.invert(arguments[0])
        case "sigmoid":
            minus = _signed(-1, arguments[0], arithmetic)
            growth = arithmetic.add(arithmetic.number(1), arithmetic.call("exp", [minus]))
            return arithmetic.invert(growth)
    return arithmetic.call(name, arguments)
