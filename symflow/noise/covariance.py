r"""Covariances of fields at two unit vectors as functions of a correlation, in balls.

K(r) = E φ(√q X)φ(√q Y) for standard normal X, Y with correlation r is Σ a_k² r^k (Mehler): its even and
its odd part increase on [0, 1] together with all their derivatives, so values at two ends enclose the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.noise.enclosure import ball


class Covariance(ABC):
    """K on [−1, 1]; arguments are ``flint.arb`` of small radius, ends of [−1, 1] included.

    Attributes
    ----------
    at_one : flint.arb
        K(1) = E φ².
    slope_at_one : flint.arb
        K'(1) = q E φ'².
    """

    at_one: Any
    slope_at_one: Any

    @abstractmethod
    def value(self, r: Any) -> Any:
        """Return K(r)."""

    @abstractmethod
    def slope(self, r: Any) -> Any:
        """Return K'(r)."""

    @abstractmethod
    def chord(self, r: Any) -> Any:
        """Return (K(1) − K(r))/(1 − r), at r = 1 the slope there."""

    @abstractmethod
    def near_end(self, s: Any, end: int) -> Any:
        """Return K(±(1 − s²)) without what ``slack`` bounds, for real or complex balls s, or series in s."""

    @abstractmethod
    def slope_near_end(self, s: Any, end: int) -> Any:
        """Return K'(±(1 − s²)) in the same way."""

    @property
    @abstractmethod
    def slack(self) -> tuple[Any, Any]:
        """Bounds of what is left out near an end of values and of slopes."""


@dataclass(frozen=True)
class HermiteCovariance(Covariance):
    """A series with a proved tail.

    Attributes
    ----------
    squares : tuple of flint.arb
        a_k² for k = 0, …, n.
    tail, slope_tail : flint.arb
        Upper bounds of Σ a_k² and of Σ k a_k² over k > n.
    """

    squares: tuple[Any, ...]
    at_one: Any
    slope_at_one: Any
    tail: Any
    slope_tail: Any

    @classmethod
    def of(cls, coefficients: Sequence[Any], at_one: Any, slope_at_one: Any) -> HermiteCovariance:
        """Return the covariance with Hermite coefficients a_0, …, a_n, by Parseval's identity."""
        squares = tuple(a * a for a in coefficients)
        tail = at_one - sum(squares)
        slope_tail = slope_at_one - sum(k * c for k, c in enumerate(squares))
        return cls(squares, at_one, slope_at_one, _not_negative(tail), _not_negative(slope_tail))

    @property
    def degree(self) -> int:
        """n."""
        return len(self.squares) - 1

    @property
    def slack(self) -> tuple[Any, Any]:
        return self.tail, self.slope_tail

    def value(self, r: Any) -> Any:
        return _horner(self.squares, r) + _signed(self.tail, r, self.degree + 1)

    def slope(self, r: Any) -> Any:
        return _horner(self._slopes(), r) + _signed(self.slope_tail, r, self.degree)

    def chord(self, r: Any) -> Any:
        return _horner(self.chord_coefficients(), r) + _signed(self.slope_tail, r, self.degree + 1)

    def chord_coefficients(self) -> list[Any]:
        """Return Σ_{k>j} a_k² for j ≤ n, coefficients of the chord; those further on add up to the tail."""
        sums, left = [], self.at_one
        for square in self.squares:
            left = left - square
            sums.append(left)
        return sums

    def near_end(self, s: Any, end: int) -> Any:
        return _horner(self.squares, end * (1 - s * s))

    def slope_near_end(self, s: Any, end: int) -> Any:
        return _horner(self._slopes(), end * (1 - s * s))

    def _slopes(self) -> list[Any]:
        return [k * c for k, c in enumerate(self.squares)][1:]


@dataclass(frozen=True)
class KinkCovariance(Covariance):
    r"""The covariance of φ(z) = c + m z + h|z|.

    .. math:: c^2 + 2ch\sqrt{2q/\pi} + m^2 q r
              + \frac{2h^2q}{\pi}\bigl(\sqrt{1 - r^2} + r\arcsin r\bigr)

    Attributes
    ----------
    constant, linear, kink : Fraction
        c, m and h.
    variance : Fraction
        q.
    """

    constant: Fraction
    linear: Fraction
    kink: Fraction
    variance: Fraction

    @property
    def at_one(self) -> Any:
        """K(1)."""
        return self._offset() + ball(self.variance * (self.linear**2 + self.kink**2))

    @property
    def slope_at_one(self) -> Any:
        """K'(1)."""
        return ball(self.variance * (self.linear**2 + self.kink**2))

    @property
    def slack(self) -> tuple[Any, Any]:
        return ball(Fraction(0)), ball(Fraction(0))

    def value(self, r: Any) -> Any:
        end, s = _to_end(r)
        return self.near_end(s, end)

    def slope(self, r: Any) -> Any:
        end, s = _to_end(r)
        return self.slope_near_end(s, end)

    def chord(self, r: Any) -> Any:
        if r.contains(1):
            return self.slope_at_one
        return (self.at_one - self.value(r)) / (1 - r)

    def near_end(self, s: Any, end: int) -> Any:
        # √(1 − r²) = s√(2 − s²) and arcsin(1 − s²) = π/2 − 2 arcsin(s/√2) are regular at s = 0.
        r, angle = 1 - s * s, _angle(s)
        curved = s * (2 - s * s).sqrt() + r * angle
        return self._offset() + end * self._linear() * r + self._curved() * curved

    def at_angle(self, theta: Any) -> Any:
        """Return K(cos θ), which is analytic in θ."""
        from flint import arb

        r = theta.cos()
        curved = theta.sin() + r * (arb.pi() / 2 - theta)
        return self._offset() + self._linear() * r + self._curved() * curved

    def slope_near_end(self, s: Any, end: int) -> Any:
        return self._linear() + end * self._curved() * _angle(s)

    def _offset(self) -> Any:
        from flint import arb

        mean = (2 * ball(self.variance) / arb.pi()).sqrt()
        return ball(self.constant**2) + ball(2 * self.constant * self.kink) * mean

    def _linear(self) -> Any:
        return ball(self.linear**2 * self.variance)

    def _curved(self) -> Any:
        from flint import arb

        return ball(2 * self.kink**2 * self.variance) / arb.pi()


def _angle(s: Any) -> Any:
    from flint import arb

    return arb.pi() / 2 - 2 * (s / arb(2).sqrt()).asin()


def _to_end(r: Any) -> tuple[int, Any]:
    """Return the nearer end of [−1, 1] and the root of the distance to it."""
    end = 1 if r.mid() >= 0 else -1
    return end, (1 - end * r).max(0).sqrt()


def _signed(bound: Any, r: Any, degree: int) -> Any:
    """Return an enclosure of r^degree·p for unknown p ∈ [0, bound] that decreases in nothing but its size."""
    size = bound * abs(r) ** degree
    return size.union(0) if r >= 0 else size.union(-size)


def _horner(coefficients: Sequence[Any], x: Any) -> Any:
    total = x * 0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def _not_negative(value: Any) -> Any:
    return value.upper().max(0)
