"""Coefficients of matrix words: SymPy scalars free of matrices, equal rational functions as equal objects."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from sympy import Float, Mul, Pow, Rational, cancel, expand, radsimp, srepr

from symflow.errors import InputError

Coefficient = Any  #: a SymPy scalar free of matrices


@lru_cache(maxsize=4096)
def canonical(value: Any) -> Coefficient:
    """Return the canonical form of a coefficient, so that equal rational functions become equal objects."""
    if isinstance(value, Rational):
        return value
    if isinstance(value, Float):
        return _exact(value)
    if not value.is_finite and value.is_number:
        raise InputError(f"the coefficient {value} is not a finite number")
    if value.has(Float):
        value = value.xreplace({f: _exact(f) for f in value.atoms(Float)})
    expanded = expand(value)
    if _has_sum_below(expanded):
        expanded = expand(radsimp(expanded)) if expanded.is_number else cancel(expanded)
    return expanded


def _exact(value: Any) -> Any:
    return Rational(*float(value).as_integer_ratio())


def _has_sum_below(value: Any) -> bool:
    powers = value.atoms(Pow)
    return any(p.base.is_Add and not p.exp.is_positive for p in powers)


@lru_cache(maxsize=4096)
def coefficient_key(value: Coefficient) -> tuple[Any, ...]:
    """Return the ordering key of a coefficient (assumptions of its symbols included)."""
    if isinstance(value, Rational):
        return (0, "", int(value.p), int(value.q))
    return (1, srepr(value), 0, 1)


def exact_number(exponent: int | Fraction) -> Any:
    """Return an exponent as a SymPy number."""
    fraction = Fraction(exponent)
    return Rational(fraction.numerator, fraction.denominator)


def add_coefficients(a: Coefficient, b: Coefficient) -> Coefficient:
    """Return ``a + b`` in canonical form."""
    total = a + b
    return total if isinstance(total, Rational) else canonical(total)


def multiply_coefficients(a: Coefficient, b: Coefficient) -> Coefficient:
    """Return ``a·b`` in canonical form."""
    if isinstance(a, Rational) and isinstance(b, Rational):
        return a * b
    return canonical(Mul(a, b))
