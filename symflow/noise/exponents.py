"""Exponents of two tokens that meet, as combinations of κ(1) and κ'(1) read off the derivation."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=512)
def exponent_parts(name: str, dim: int, order: Fraction = Fraction(1)) -> tuple[Fraction, Fraction]:
    """Return a and b with exponent = a·κ(1) + b·κ'(1).

    Parameters
    ----------
    name : str
        ``"lyapunov"``, ``"dissipation"`` or ``"moments"``.
    dim : int
    order : Fraction
        p, for moments.

    Examples
    --------
    >>> exponent_parts("lyapunov", 5)
    (Fraction(-2, 1), Fraction(1, 1))
    """
    from sympy import Integer, Rational, expand

    from symflow.derive.noise import pair_generator
    from symflow.derive.noise.symbols import ORDER, SIZE, kappa, kappa_slope

    given: Any = {SIZE: Integer(dim), ORDER: Rational(order.numerator, order.denominator)}
    found = expand(getattr(pair_generator(), name).subs(given))
    parts = [found.coeff(end) for end in (kappa(1), kappa_slope(1))]
    return Fraction(int(parts[0].p), int(parts[0].q)), Fraction(int(parts[1].p), int(parts[1].q))
