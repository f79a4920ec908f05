"""Expressions in numbers of any arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add, mul
from typing import Any, Protocol

import sympy

#: functions of the grammar that have values at real numbers and are continuous
CONTINUOUS = frozenset(("exp", "sin", "cos", "tanh", "erf", "Max", "Min", "Abs"))


class NotEvaluable(Exception):
    """An expression with a part that has no value in an arithmetic."""


class Functions(Protocol):
    """What an arithmetic must know."""

    def rational(self, number: sympy.Rational) -> Any:
        """Return a rational number."""
        ...

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the value of a function; also of ``power`` with an exponent and of ``constant``."""
        ...


def evaluate(expr: Any, values: Mapping[Any, Any], functions: Functions) -> Any:
    """Return the value of an expression.

    Raises
    ------
    NotEvaluable
        If it contains something else than numbers, ``values`` and the functions of :data:`CONTINUOUS`.
    """
    if expr in values:
        return values[expr]
    if expr.is_Rational:
        return functions.rational(expr)
    if expr in (sympy.pi, sympy.E):
        return functions.call("constant", str(expr))
    if expr.is_Pow:
        return _power(expr, values, functions)
    parts = [evaluate(part, values, functions) for part in expr.args]
    if (expr.is_Add or expr.is_Mul) and parts:
        return reduce(add if expr.is_Add else mul, parts)
    name = type(expr).__name__
    if name not in CONTINUOUS:
        raise NotEvaluable(f"{expr} has no value here")
    return functions.call(name, *parts)


def _power(expr: Any, values: Mapping[Any, Any], functions: Functions) -> Any:
    base = evaluate(expr.base, values, functions)
    if expr.exp.is_Integer:
        return base ** int(expr.exp)
    if not (2 * expr.exp).is_Integer:
        raise NotEvaluable(f"the power {expr} has no value here")
    return functions.call("power", base, functions.rational(expr.exp))
