"""Scalars of a model as exact numbers or symbols."""

from __future__ import annotations

import math
import numbers
from typing import Any

from sympy import Expr, Rational, sympify

from symflow.errors import GrammarError, InputError


def exact_scalar(name: str, value: Any, *, allow_zero: bool) -> Expr:
    """Return ``value`` as an exact SymPy scalar: a float stands for its decimal literal.

    Raises
    ------
    InputError
        If the value is not a finite real number in its domain.

    Examples
    --------
    >>> exact_scalar("beta", 0.1, allow_zero=True)
    1/10
    """
    bound = "≥ 0" if allow_zero else "> 0"
    if isinstance(value, str):
        value = _read_scalar(name, value)
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Expr)):
        raise InputError(f"{name} = {value!r} is not a number; give a number {bound}")
    if isinstance(value, numbers.Rational):
        value = Rational(value)
    elif not isinstance(value, Expr):
        if not math.isfinite(value):
            raise InputError(f"{name} = {value!r} is not finite; give a number {bound}")
        value = Rational(repr(float(value)))
    exact = sympify(value)
    if (
        exact.is_extended_real is False
        or exact.is_infinite
        or exact.is_negative
        or (exact.is_zero and not allow_zero)
    ):
        raise InputError(f"{name} = {value} is out of its domain; give a number {bound}")
    if exact.is_number and (math.isinf(float(exact)) or (exact.is_positive and float(exact) == 0.0)):
        raise InputError(
            f"{name} is a number beyond floating-point numbers; give a number {bound} within them"
        )
    return exact


def _read_scalar(name: str, text: str) -> Any:
    from symflow.algebra.grammar import parse

    try:
        return parse(text, {})
    except GrammarError as error:
        raise GrammarError(f"{name}: {error}", error.text, error.position) from error
