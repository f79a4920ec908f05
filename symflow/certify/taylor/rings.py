"""The rings of :mod:`symflow.certify.taylor.hyperdual`: exact sums of exponentials, and balls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symflow.algebra.exact.exponentials import exponential
from symflow.algebra.exact.rational import rational_root
from symflow.algebra.exact.real import rational_of, sign
from symflow.certify.terms import Rejected
from symflow.errors import Undecided

MAX_BITS = 2048  #: of a rational number, so that a stored proof cannot exhaust memory
MAX_WORK_BITS = 65_536  #: of a number that arises on the way
MAX_TERMS = 4096  #: of a sum of exponentials
MAX_EXPONENT = 10_000  #: of an exponential
_AT_ZERO = {
    "sin": ("0", "1", "0"),
    "cos": ("1", "0", "-1"),
    "tanh": ("0", "1", "0"),
    "sigmoid": ("1/2", "1/4", "0"),
}
_LOG_AT_ONE = ("0", "1", "-1")


class ExactRing:
    """ℚ[e^q] and its quotients; other functions where their values are rational."""

    def number(self, value: Fraction) -> Any:
        """Return a fraction."""
        return _bounded(Fraction(value))

    def sign(self, value: Any) -> int:
        """Return the sign, decided exactly."""
        try:
            return sign(value)
        except Undecided as error:
            raise Rejected(str(error)) from error

    def admit(self, value: Any) -> None:
        """Refuse numbers of too many bits, and sums of too many terms."""
        for part in (getattr(value, "numerator", value), getattr(value, "denominator", value)):
            terms = getattr(part, "terms", {Fraction(0): part})
            if len(terms) > MAX_TERMS:
                raise Rejected(f"a sum of more than {MAX_TERMS} exponentials is too large")
            for term in terms.items():
                for number in term:
                    admit_bits(number)

    def jet(self, name: str, value: Any) -> tuple[Any, Any, Any]:
        """Return a function with its first two derivatives."""
        if name == "inverse":
            if not value:
                raise Rejected("a division by zero")
            inverse = 1 / value
            return inverse, -inverse * inverse, 2 * inverse * inverse * inverse
        exact = _rational(value, name)
        if name == "exp":
            if abs(exact) > MAX_EXPONENT:
                raise Rejected(f"an exponential of more than {MAX_EXPONENT} is too large")
            found = exponential(_bounded(exact)) if exact else Fraction(1)
            return found, found, found
        if name == "sqrt":
            return _root(exact)
        special = _LOG_AT_ONE if name == "log" and exact == 1 else _AT_ZERO.get(name)
        if special is None or (name != "log" and exact):
            raise Rejected(f"{name} of {exact} is not exact here")
        first, second, third = (Fraction(part) for part in special)
        return first, second, third


def _rational(value: Any, name: str) -> Fraction:
    if not isinstance(value, Fraction) and not getattr(value, "is_constant", False):
        raise Rejected(f"{name} of {value} is not exact here")
    exact = rational_of(value if isinstance(value, Fraction) else value.constant())
    if exact is None:
        raise Rejected(f"{name} of {value} is not exact here")
    return exact


def _root(value: Fraction) -> tuple[Any, Any, Any]:
    if value <= 0:
        raise Rejected("a square root has no derivative where its argument is not positive")
    from flint import fmpq

    root = rational_root(fmpq(value.numerator, value.denominator))
    if root is None:
        raise Rejected(f"the square root of {value} is not exact here")
    exact = Fraction(int(root.p), int(root.q))
    return exact, 1 / (2 * exact), -1 / (4 * exact**3)


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise Rejected(f"a number of more than {MAX_BITS} bits is too large")
    return value


def admit_bits(value: Any) -> None:
    """Refuse a fraction, a whole number, or an element of a number field, of too many bits."""
    for part in getattr(value, "coefficients", (value,)):
        if max(part.numerator.bit_length(), part.denominator.bit_length()) > MAX_WORK_BITS:
            raise Rejected(f"a number of more than {MAX_WORK_BITS} bits is too large")


class BallRing:
    """Balls of arb, at the precision of the context."""

    def number(self, value: Fraction) -> Any:
        """Return a ball around a fraction."""
        from flint import arb, fmpq

        return arb(fmpq(value.numerator, value.denominator))

    def sign(self, value: Any) -> int:
        """Return the sign; raises :class:`Rejected` where the ball contains zero."""
        if value > 0:
            return 1
        if value < 0:
            return -1
        raise Rejected("a sign is not known")

    def admit(self, value: Any) -> None:
        """Admit every ball: its size is that of the precision."""

    def jet(self, name: str, value: Any) -> tuple[Any, Any, Any]:
        """Return a function with its first two derivatives."""
        if name in ("log", "sqrt") and not value > 0:
            raise Rejected(f"{name} has no derivative where its argument is not positive")
        if name == "inverse" and value.contains(0):
            raise Rejected("a division by a number that may be zero")
        found: tuple[Any, Any, Any] = _BALL_JETS[name](value)
        return found


def _exp(u: Any) -> tuple[Any, Any, Any]:
    value = u.exp()
    return value, value, value


def _inverse(u: Any) -> tuple[Any, Any, Any]:
    value = 1 / u
    return value, -value * value, 2 * value * value * value


def _log(u: Any) -> tuple[Any, Any, Any]:
    slope = 1 / u
    return u.log(), slope, -slope * slope


def _sqrt(u: Any) -> tuple[Any, Any, Any]:
    value = u.sqrt()
    return value, 1 / (2 * value), -1 / (4 * value * u)


def _tanh(u: Any) -> tuple[Any, Any, Any]:
    value = u.tanh()
    slope = 1 / u.cosh() ** 2
    return value, slope, -2 * value * slope


def _erf(u: Any) -> tuple[Any, Any, Any]:
    slope = 2 * (-u * u).exp() / u.pi().sqrt()
    return u.erf(), slope, -2 * u * slope


def _sigmoid(u: Any) -> tuple[Any, Any, Any]:
    value, slope, bend = _tanh(u / 2)
    return (1 + value) / 2, slope / 4, bend / 8


_BALL_JETS = {
    "exp": _exp,
    "inverse": _inverse,
    "log": _log,
    "sqrt": _sqrt,
    "sin": lambda u: (u.sin(), u.cos(), -u.sin()),
    "cos": lambda u: (u.cos(), -u.sin(), -u.cos()),
    "tanh": _tanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
}
