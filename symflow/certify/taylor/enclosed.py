"""Series with coefficients in ball arithmetic, and rigorous enclosures of their Gaussian integrals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import acb, acb_series, arb, fmpq

from symflow.certify.taylor.majorant import Bound, tail
from symflow.certify.terms import Rejected

_REACHES = (12, 24, 48, 96, 192)  # where the tails are cut off
_SMALL = 90  # bits: how small a tail must be
_EVALUATIONS = 12_000  # of one integrand on one side; the witnesses in the tests need half of that


class EnclosedSeries:
    """Arithmetic of series in ξ = x − x₀ with complex balls, truncated after ``order``.

    Parameters
    ----------
    order : int
        Last power of ξ.
    analytic : bool
        Whether functions must be refused where they are not holomorphic.
    """

    def __init__(self, order: int, analytic: bool = False) -> None:
        self._order = order
        self._analytic = analytic

    def number(self, value: Any) -> Any:
        """Return a constant."""
        return self._series([exact(Fraction(value))])

    def query(self, point: Fraction) -> Any:
        """Return the series of x around ``point``."""
        return self._series([exact(point), acb(1)])

    def key(self, value: Any) -> Any:
        """Return y, a ball."""
        return self._series([acb(value)])

    def _series(self, coefficients: list[Any]) -> Any:
        return acb_series(coefficients[: self._order + 1], prec=self._order + 1)

    def add(self, left: Any, right: Any) -> Any:
        """Return the sum."""
        return left + right

    def multiply(self, left: Any, right: Any) -> Any:
        """Return the product."""
        return left * right

    def invert(self, value: Any) -> Any:
        """Return 1/f; not finite where f₀ may vanish."""
        if value[0].contains(0):
            return self._undefined()
        return value.inv()

    def _undefined(self) -> Any:
        return self._series([acb("nan")] * (self._order + 1))

    def call(self, name: str, arguments: list[Any]) -> Any:
        """Return a function of a series."""
        first = arguments[0]
        if name in ("Max", "Min", "Abs"):
            return self._corner(name, arguments)
        if name == "tanh":  # 1 − 2/(1 + exp 2s)
            one, two = self.number(1), self.number(2)
            return one - two * self.invert(one + (two * first).exp())
        if name == "sqrt":
            return first.sqrt() if first[0].real > 0 and first[0].imag.is_zero() else self._undefined()
        if name not in ("exp", "sin", "cos", "erf"):
            raise Rejected(f"{name} has no enclosure")
        return getattr(first, name)()

    def _corner(self, name: str, arguments: list[Any]) -> Any:
        if not all(argument[n].is_zero() for argument in arguments for n in range(1, self._order + 1)):
            raise Rejected(f"{name} has no derivatives")
        values = [argument[0] for argument in arguments]
        found = values[0]
        if name == "Abs":
            return self._series([found.real_abs(analytic=self._analytic) if not found.is_zero() else found])
        for other in values[1:]:
            if (found - other).is_zero():  # both are the same constant, which is no corner
                continue
            join = found.real_max if name == "Max" else found.real_min
            found = join(other, analytic=self._analytic)
        return self._series([found])


def exact(value: Fraction) -> Any:
    """Return a fraction as a complex ball."""
    return acb(fmpq(value.numerator, value.denominator))


def integrated(
    integrand: Callable[[Any, bool], Any], bound: Bound, mean: Fraction, variance: Fraction
) -> Any:
    """Return a ball that contains the integral of a function of y against a Gaussian.

    Parameters
    ----------
    integrand : callable
        From a complex ball y, and whether holomorphy must be verified, to a complex ball.
    bound : Bound
        Of the integrand on the real line.

    Raises
    ------
    Rejected
        If the tails are not small enough far out, or the enclosure is not finite.
    """
    reach, beyond = _reach(bound, mean, variance)
    m, v = exact(mean), exact(variance)
    front = 1 / (2 * arb.pi() * v.real).sqrt()

    def weighted(y: Any, analytic: bool) -> Any:
        return integrand(y, analytic) * (-((y - m) ** 2) / (2 * v)).exp() * front

    found = arb(0, 1) * beyond
    for left, right in ((-reach, 0), (0, reach)):  # a corner is most often at zero
        part = acb.integral(
            weighted, acb(left), acb(right),
            rel_tol=arb(2) ** -64, abs_tol=arb(2) ** -76, eval_limit=_EVALUATIONS,
        )  # fmt: skip
        found += part.real
    if not found.is_finite():
        raise Rejected("an integral was not enclosed")
    return found


def _reach(bound: Bound, mean: Fraction, variance: Fraction) -> tuple[int, Any]:
    for reach in _REACHES:
        beyond = tail(bound, reach, mean, variance)
        if beyond < arb(2) ** -_SMALL:
            return reach, beyond.upper()
    raise Rejected("the tails of an integral are not small")
