"""Rational powers of scalars in normal form."""

from __future__ import annotations

from fractions import Fraction

from sympy import Pow, Rational, S

from symflow.algebra.words.atoms import BASE, Exponent, Factor, scalars_of
from symflow.algebra.words.coefficients import canonical, exact_number
from symflow.algebra.words.normal import NormalForm, constant, from_factor
from symflow.errors import InputError


def power(base: NormalForm, exponent: Exponent) -> NormalForm:
    """Return a rational power of a scalar; a sum under a negative or broken exponent stays closed."""
    if Fraction(exponent).denominator == 1 and exponent >= 0:
        return base ** int(exponent)
    number = exact_number(exponent)
    if len(base.terms) == 1:
        (((scalars, _), c),) = base.terms.items()
        if not scalars:
            return constant(Pow(c, number))
        whole = Fraction(exponent).denominator == 1
        if whole or (c.is_positive and len(scalars) == 1 and scalars[0][1] == 1):
            raised = tuple((f, _plain(e * exponent)) for f, e in scalars)
            return NormalForm(base.shape, {(raised, ()): canonical(Pow(c, number))})
    if not base.terms:
        raise InputError("a scalar that is identically zero has no negative or broken power")
    content, base = scalar_content(base)
    if Fraction(exponent).denominator == 1 and content:
        outside = NormalForm(
            base.shape, {(scalars_of({f: e * int(exponent) for f, e in content.items()}), ()): S.One}
        )
        return outside * power(base, exponent)
    size = next(reversed(base.terms.values()))
    if Fraction(exponent).denominator != 1:
        size = abs(size) if isinstance(size, Rational) else S.One
    monic = base.scaled(canonical(1 / size))
    return from_factor(Factor(BASE, args=(monic,)), _plain(exponent)).scaled(canonical(Pow(size, number)))


def scalar_content(form: NormalForm) -> tuple[dict[Factor, Exponent], NormalForm]:
    """Write a scalar as a product of powers of factors times a sum without negative or common powers."""
    every = {f for scalars, _ in form.terms for f, _ in scalars}
    powers = [dict(scalars) for scalars, _ in form.terms]
    lowest = {f: min(p.get(f, 0) for p in powers) for f in sorted(every, key=lambda f: f.key)}
    content = {f: e for f, e in lowest.items() if e != 0 and Fraction(e).denominator == 1}
    if not content or any(f.is_exponential or f.kind == BASE for f in content):
        return {}, form
    divisor = NormalForm(form.shape, {(scalars_of({f: -e for f, e in content.items()}), ()): S.One})
    return content, form * divisor


def _plain(exponent: Exponent) -> Exponent:
    fraction = Fraction(exponent)
    return fraction.numerator if fraction.denominator == 1 else fraction
