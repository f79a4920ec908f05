"""Scalar coefficients as text that means the same double-precision expression in C, Cython and Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sympy import Add, Integer, Mul, Pow, Rational, Symbol

from symflow.errors import InputError

_EXACT = 2**53  #: integers up to here are doubles


def scalar_text(expression: Any, names: Mapping[str, str], sqrt: str = "sqrt") -> str:
    """Return ``expression`` as text; every number is written as a double, so nothing divides as integers.

    Parameters
    ----------
    expression : SymPy expression
        Rational in scalar parameters, sizes and their square roots.
    names : mapping
        Text of each scalar parameter and size, of floating-point type.
    sqrt : str
        How the square root is called.

    Raises
    ------
    InputError
        If it is not of that form.

    Examples
    --------
    >>> from sympy import Rational, Symbol
    >>> scalar_text(Rational(1, 3) * Symbol("beta"), {"beta": "b"})
    '(1.0/3.0)*b'
    """
    if expression.is_number:
        return number_text(expression)
    if isinstance(expression, Symbol):
        if expression.name not in names:
            raise InputError(f"coefficient {expression} is neither a scalar parameter nor a size")
        return names[expression.name]
    if isinstance(expression, Add):
        terms = [scalar_text(term, names, sqrt) for term in expression.as_ordered_terms()]
        return "(" + " + ".join(terms) + ")"
    if isinstance(expression, Mul):
        return _product(expression, names, sqrt)
    if isinstance(expression, Pow) and (2 * expression.exp).is_Integer:
        return _power(scalar_text(expression.base, names, sqrt), int(2 * expression.exp), sqrt)
    raise InputError(
        f"no code can be generated for the coefficient {expression}; "
        "use rational functions and square roots of scalars"
    )


def _power(base: str, halves: int, sqrt: str) -> str:
    """Return ``base`` to the power of ``halves``/2."""
    whole, half = divmod(abs(halves), 2)
    power = "*".join([base] * whole + [f"{sqrt}({base})"] * half)
    return power if halves > 0 else f"1.0/({power})"


def number_text(value: Any) -> str:
    """Return a real number as a double.

    Raises
    ------
    InputError
        If it is not real.
    """
    if isinstance(value, Integer) and abs(value) <= _EXACT:
        return f"{int(value)}.0"
    if isinstance(value, Rational) and abs(value.p) <= _EXACT and value.q <= _EXACT:
        return f"({value.p}.0/{value.q}.0)"
    if not value.is_real:
        raise InputError(f"coefficient {value} is not a real number")
    return repr(float(value.n(40)))


def _product(expression: Any, names: Mapping[str, str], sqrt: str) -> str:
    number, rest = expression.as_coeff_Mul()
    above = [] if number == 1 else [number_text(number)]
    below: list[str] = []
    for factor in rest.as_ordered_factors():
        inverse = isinstance(factor, Pow) and factor.exp.is_negative and not factor.is_number
        (below if inverse else above).append(scalar_text(1 / factor if inverse else factor, names, sqrt))
    numerator = "*".join(above) or "1.0"
    if not below:
        return numerator
    denominator = "*".join(below)
    return f"{numerator}/({denominator})" if "*" in denominator else f"{numerator}/{denominator}"


def scalar_value(expression: Any, values: Mapping[str, float]) -> float:
    """Return the value of what :func:`scalar_text` prints.

    Raises
    ------
    InputError
        If it is not of that form.

    Examples
    --------
    >>> from sympy import Symbol
    >>> scalar_value(3 * Symbol("beta") / 2, {"beta": 0.5})
    0.75
    """
    if expression.is_number:
        return float(expression)
    if isinstance(expression, Symbol) and expression.name in values:
        return values[expression.name]
    if isinstance(expression, Add):
        return math.fsum(scalar_value(term, values) for term in expression.args)
    if isinstance(expression, Mul):
        return math.prod(scalar_value(factor, values) for factor in expression.args)
    if isinstance(expression, Pow) and (2 * expression.exp).is_Integer:
        return float(scalar_value(expression.base, values) ** float(expression.exp))
    raise InputError(f"the coefficient {expression} has no value; use rational functions of scalars")
