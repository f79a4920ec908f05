r"""Scalar Riccati equations with constant coefficients, solved and decided exactly.

.. math:: \dot s = q(s) = q_0 + q_1s + q_2s^2, \qquad s(0) = 0, \qquad
          s(t) = \frac{q_0T}{\omega - \tfrac12q_1T}, \quad T = \tanh(\omega t), \quad
          4\omega^2 = q_1^2 - 4q_0q_2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, Rational, exp, sqrt, tan, tanh

from symflow.algebra.exact.numbers import AlgebraicNumber, Ball, real_root_at
from symflow.algebra.exact.rational import fmpq, fraction, number_of
from symflow.longtime.checks import Holds
from symflow.longtime.curve import TIME, Clock, sample_points

_BITS = 256
#: Longest expression, in characters of SymPy, that is written out.
_PRINTED = 80


@dataclass(frozen=True)
class Riccati:
    """Coefficients of q as ``flint.fmpq``."""

    q0: Any
    q1: Any
    q2: Any

    @property
    def discriminant(self) -> Any:
        """4ω² = q₁² − 4q₀q₂."""
        return self.q1 * self.q1 - 4 * self.q0 * self.q2

    @property
    def coefficients(self) -> tuple[Any, Any, Any]:
        """From the constant term up."""
        return self.q0, self.q1, self.q2

    def limit(self) -> AlgebraicNumber | None:
        """Return lim s(t): the first root of q in the direction of q₀; None where s grows beyond bounds."""
        from flint import arb, ctx, fmpq_poly

        if self.q0 == 0:
            return AlgebraicNumber.rational(fraction(fmpq(0)))
        if self.q0 < 0:
            mirrored = Riccati(-self.q0, self.q1, -self.q2).limit()
            return None if mirrored is None else mirrored.negative()
        if (self.q1 >= 0 and self.q2 >= 0) or self.discriminant < 0:
            return None

        def enclosure(bits: int) -> Any:
            with ctx.workprec(bits + 32):  # the smallest positive root, without cancellation
                return 2 * arb(self.q0) / (arb(self.discriminant).sqrt() - arb(self.q1))

        return real_root_at(fmpq_poly(list(self.coefficients)), enclosure)

    def blow_up(self) -> AlgebraicNumber | Ball | None:
        """Return when s leaves every bounded set, None where it exists for all times."""
        from flint import arb, ctx

        if self.q0 < 0:
            return Riccati(-self.q0, self.q1, -self.q2).blow_up()
        if self.q0 == 0 or self.q2 <= 0 or self.limit() is not None:
            return None
        if self.discriminant == 0:
            return AlgebraicNumber.rational(fraction(2 / self.q1))
        with ctx.workprec(_BITS):
            if self.discriminant > 0:
                omega = arb(self.discriminant).sqrt() / 2
                return Ball.of((2 * omega / arb(self.q1)).atanh() / omega)
            omega = arb(-self.discriminant).sqrt() / 2
            return Ball.of((arb.pi() / 2 - (arb(self.q1) / (2 * omega)).atan()) / omega)

    def clock(self) -> Clock:
        """Return s(t)."""
        return Clock(self._expression(), self.coefficients)

    def _expression(self) -> Expr:
        q0, q1, q2 = (number_of(value) for value in self.coefficients)
        square = number_of(self.discriminant)
        if square == 0:
            return q0 * TIME / (1 - q1 * TIME / 2)
        if q2 == 0:
            return q0 * (exp(q1 * TIME) - 1) / q1
        omega = sqrt(abs(square)) / 2
        turned = tanh(omega * TIME) if square > 0 else tan(omega * TIME)
        return q0 * turned / (omega - q1 * turned / 2) if q0 else Rational(0)

    def shown(self) -> Any:
        """Return s(t) for print: the expression, or its general form where the numbers are long."""
        expression = self._expression()
        if len(str(expression)) <= _PRINTED:
            return expression
        turned = "tanh" if self.discriminant > 0 else "tan"
        return rf"\frac{{q_0\{turned}(\omega t)}}{{\omega-\tfrac12q_1\{turned}(\omega t)}}"

    def check(self) -> Holds:
        """Return the check that the stated s(t) solves ṡ = q(s), by power series of balls at several "
        "times."""
        return Holds(self._solves, "power series in ball arithmetic", f"ṡ = q(s) at four times, {_BITS} bits")

    def _solves(self) -> bool:
        from flint import arb, arb_series, ctx

        with ctx.workprec(_BITS):
            for point in sample_points(4):
                s = self._series(arb_series([arb(point), 1], 2))
                value, slope = s.coeffs()[:2] if self.q0 != 0 else (arb(0), arb(0))
                if not slope.overlaps(self.q0 + self.q1 * value + self.q2 * value * value):
                    return False
        return True

    def _series(self, t: Any) -> Any:
        from flint import arb

        if self.discriminant == 0:
            return self.q0 * t / (1 - self.q1 * t / 2)
        omega = arb(abs(self.discriminant)).sqrt() / 2
        if self.discriminant > 0:
            growth = (2 * omega * t).exp()
            turned = (growth - 1) / (growth + 1)
        else:
            turned = (omega * t).tan()
        return self.q0 * turned / (omega - self.q1 * turned / 2)
