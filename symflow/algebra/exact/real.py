"""What exact real numbers have in common: order by their sign, enclosures refined until they tell enough."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symflow.algebra.exact.numbers import Ball
from symflow.errors import Undecided

#: Bits of the finest enclosure; what differs from zero by less than that is left open.
MAX_BITS = 1 << 20
_GUARD = 32


def rational_of(value: Any) -> Fraction | None:
    """Return a number as the fraction it is, None for what is no integer, fraction, float or SymPy rational.

    Examples
    --------
    >>> rational_of(0.5), rational_of("1/2")
    (Fraction(1, 2), None)
    """
    if type(value) is Fraction:
        return value
    if isinstance(value, int | float | Fraction):
        return Fraction(value)
    if type(value).__name__ in ("fmpq", "fmpz"):
        return Fraction(int(value.p), int(value.q)) if hasattr(value, "q") else Fraction(int(value))
    if getattr(value, "is_Float", False):
        return Fraction(*float(value).as_integer_ratio())
    if getattr(value, "is_Rational", False):
        return Fraction(int(value.p), int(value.q))
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "shape", None) == ():
        return rational_of(value.item())
    return None


class ExactReal:
    """A real number with exact arithmetic; subclasses decide zero and enclose themselves in balls."""

    __slots__ = ()

    def is_zero(self) -> bool:
        """Whether the number is zero, decided exactly."""
        raise NotImplementedError

    def enclosure(self, bits: int) -> Any:
        """Return a ``flint.arb`` that contains the number, computed with ``bits`` bits."""
        raise NotImplementedError

    def to_sympy(self) -> Any:
        """Return the number as a SymPy expression."""
        raise NotImplementedError

    def __neg__(self) -> Any:
        raise NotImplementedError

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        raise NotImplementedError

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def arb(self, bits: int = 128) -> Any:
        """Return a ``flint.arb`` that contains the number with a relative error below ``2**-bits``.

        Raises
        ------
        Undecided
            If cancellation takes more than ``MAX_BITS`` bits.
        """
        from flint import arb

        if self.is_zero():
            return arb(0)
        working = bits + _GUARD
        while working <= MAX_BITS:
            found = self.enclosure(working)
            if found.is_exact() or found.rel_accuracy_bits() >= bits:
                return found
            working *= 2
        raise Undecided(f"the number is not zero, but {MAX_BITS} bits do not tell it from zero")

    def ball(self, bits: int = 128) -> Ball:
        """Return an enclosure with rational ends."""
        return Ball.of(self.arb(bits))

    def sign(self) -> int:
        """Return −1, 0 or 1.

        Zero is decided exactly, so that refining an enclosure of what is left ends.
        """
        if self.is_zero():
            return 0
        return 1 if self.arb(2) > 0 else -1

    def __float__(self) -> float:
        return float(self.ball(80))

    def __bool__(self) -> bool:
        return not self.is_zero()

    def __abs__(self) -> Any:
        return -self if self.sign() < 0 else self

    def _compared(self, other: Any) -> int:
        return sign(self - other)

    def __lt__(self, other: Any) -> bool:
        return self._compared(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compared(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compared(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compared(other) >= 0


def sign(value: Any) -> int:
    """Return the sign of a fraction or of an exact real number."""
    if isinstance(value, ExactReal):
        return value.sign()
    return int(value > 0) - int(value < 0)


def enclose(value: Any, bits: int) -> Any:
    """Return a ``flint.arb`` around a fraction or an exact real number, at ``bits`` bits."""
    from flint import arb, ctx, fmpq

    if isinstance(value, ExactReal):
        return value.enclosure(bits)
    exact = Fraction(value)
    with ctx.workprec(bits):
        return arb(fmpq(exact.numerator, exact.denominator))
