r"""Series in two first-order parameters, :math:`a + b\varepsilon + c\eta + d\varepsilon\eta`, over any ring.

With :math:`\varepsilon^2 = \eta^2 = 0` the last coefficient of f is a second derivative: the mixed one of
:math:`f(x + \varepsilon u + \eta v)`, and the one in time along a curve with velocity v and acceleration a
of :math:`f(x + (\varepsilon + \eta)v + \varepsilon\eta a)`. So these are derivatives of a definition, and no
formula for them is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from symflow.certify.terms import Rejected


class Ring(Protocol):
    """Numbers that are added and multiplied by the operators of Python, and functions of them."""

    def number(self, value: Fraction) -> Any:
        """Return a fraction as an element."""
        ...

    def sign(self, value: Any) -> int:
        """Return −1, 0 or 1; raises :class:`symflow.certify.terms.Rejected` where it is not known."""
        ...

    def admit(self, value: Any) -> None:
        """Refuse an element that takes too much memory."""
        ...

    def jet(self, name: str, value: Any) -> tuple[Any, Any, Any]:
        """Return a function of one argument with its first two derivatives; ``"inverse"`` is 1/u."""
        ...


@dataclass(frozen=True, slots=True)
class Hyperdual:
    """One series: value, the two first derivatives, and the mixed one."""

    value: Any
    first: Any
    second: Any
    mixed: Any

    def __add__(self, other: Hyperdual) -> Hyperdual:
        return Hyperdual(
            self.value + other.value,
            self.first + other.first,
            self.second + other.second,
            self.mixed + other.mixed,
        )

    def __neg__(self) -> Hyperdual:
        return Hyperdual(-self.value, -self.first, -self.second, -self.mixed)

    def __sub__(self, other: Hyperdual) -> Hyperdual:
        return self + -other

    def __mul__(self, other: Hyperdual) -> Hyperdual:
        return Hyperdual(
            self.value * other.value,
            self.value * other.first + self.first * other.value,
            self.value * other.second + self.second * other.value,
            self.value * other.mixed
            + self.first * other.second
            + self.second * other.first
            + self.mixed * other.value,
        )


class Hyperduals:
    """Arithmetic of series over a ring."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self._nought = ring.number(Fraction(0))

    def number(self, value: Fraction) -> Hyperdual:
        """Return a constant."""
        return self.constant(self.ring.number(value))

    def constant(self, value: Any) -> Hyperdual:
        """Return an element of the ring."""
        return Hyperdual(value, self._nought, self._nought, self._nought)

    def varied(self, value: Any, first: Any = None, second: Any = None, mixed: Any = None) -> Hyperdual:
        """Return a series with the given coefficients; those that are left out are zero."""
        rest = (self._nought if part is None else part for part in (first, second, mixed))
        return Hyperdual(value, *rest)

    def curve(self, point: Any, velocity: Any, acceleration: Any = None) -> Hyperdual:
        """Return a coordinate of a curve, so that the last coefficient is the second derivative in time."""
        return self.varied(point, velocity, velocity, acceleration)

    def call(self, name: str, argument: Hyperdual) -> Hyperdual:
        """Return a smooth function of one argument by the chain rule."""
        value, slope, bend = self.ring.jet(name, argument.value)
        return Hyperdual(
            value,
            slope * argument.first,
            slope * argument.second,
            slope * argument.mixed + bend * argument.first * argument.second,
        )

    def sign(self, argument: Hyperdual) -> int:
        """Return the sign of the value."""
        return self.ring.sign(argument.value)

    def admit(self, argument: Hyperdual) -> None:
        """Refuse a series that takes too much memory."""
        for part in (argument.value, argument.first, argument.second, argument.mixed):
            self.ring.admit(part)

    def larger(self, one: Hyperdual, other: Hyperdual) -> Hyperdual:
        """Return the larger of two series; there is no derivative where they are equal."""
        sign = self.sign(one - other)
        if sign == 0:
            raise Rejected("a maximum has no derivative where two of its arguments are equal")
        return one if sign > 0 else other
