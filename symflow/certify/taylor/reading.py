"""Numbers of a proof object."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symflow.certify.propositions.velocity import StatedVelocity
from symflow.certify.rational import rational
from symflow.certify.terms import Rejected


def fraction(text: Any) -> Fraction:
    """Return the number that a text p or p/q writes."""
    number = rational(text)
    return Fraction(int(number.numerator), int(number.denominator))


def parameters(given: Any, stated: StatedVelocity) -> dict[str, Fraction]:
    """Return the value of every parameter of a statement.

    Raises
    ------
    Rejected
        If one is missing, unknown, no rational number, or has another sign than is stated.
    """
    if not isinstance(given, Mapping) or set(given) != set(stated.symbols):
        raise Rejected(f"'parameters' must give {', '.join(stated.symbols) or 'nothing'}")
    values = {name: fraction(text) for name, text in given.items()}
    for name, sign in stated.signs.items():
        if values[name] < 0 or (sign == "positive" and values[name] == 0):
            raise Rejected(f"{name} = {values[name]} is not {sign}")
    return values
