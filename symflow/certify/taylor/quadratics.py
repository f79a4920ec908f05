r"""Polynomials :math:`c + l^\top z + \tfrac12z^\top Hz` of degree at most two, with rational coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.certify.taylor.rings import admit_bits
from symflow.certify.terms import Rejected

Rows = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Quadratic:
    """One polynomial; ``hessian`` is symmetric."""

    value: Fraction
    slope: tuple[Fraction, ...]
    hessian: Rows

    @property
    def is_constant(self) -> bool:
        """Whether the polynomial is a number."""
        return not any(self.slope) and self.is_affine

    @property
    def is_affine(self) -> bool:
        """Whether the degree is at most one."""
        return not any(map(any, self.hessian))

    def __add__(self, other: Quadratic) -> Quadratic:
        return Quadratic(
            self.value + other.value,
            tuple(a + b for a, b in zip(self.slope, other.slope, strict=True)),
            tuple(
                tuple(a + b for a, b in zip(*both, strict=True))
                for both in zip(self.hessian, other.hessian, strict=True)
            ),
        )

    def scaled(self, factor: Fraction) -> Quadratic:
        """Return a multiple."""
        return Quadratic(
            factor * self.value,
            tuple(factor * a for a in self.slope),
            tuple(tuple(factor * a for a in row) for row in self.hessian),
        )

    def __neg__(self) -> Quadratic:
        return self.scaled(Fraction(-1))

    def __sub__(self, other: Quadratic) -> Quadratic:
        return self + -other

    def __mul__(self, other: Quadratic) -> Quadratic:
        if self.is_constant:
            return other.scaled(self.value)
        if other.is_constant:
            return self.scaled(other.value)
        if not (self.is_affine and other.is_affine):
            raise Rejected("a product of degree above two")
        hessian = tuple(
            tuple(a * d + c * b for c, d in zip(self.slope, other.slope, strict=True))
            for a, b in zip(self.slope, other.slope, strict=True)
        )
        slope = tuple(self.value * b + other.value * a for a, b in zip(self.slope, other.slope, strict=True))
        return Quadratic(self.value * other.value, slope, hessian)

    def homogenised(self) -> Rows:
        """Return the matrix of 2q as a form in (1, z): q ≥ 0 everywhere if and only if it is semidefinite."""
        first = (2 * self.value, *self.slope)
        return (first, *((a, *row) for a, row in zip(self.slope, self.hessian, strict=True)))


class Quadratics:
    """Arithmetic of such polynomials in ``size`` variables."""

    def __init__(self, size: int) -> None:
        self._size = size

    def number(self, value: Fraction) -> Quadratic:
        """Return a constant."""
        nought = (Fraction(0),) * self._size
        return Quadratic(Fraction(value), nought, (nought,) * self._size)

    def variable(self, index: int) -> Quadratic:
        """Return the coordinate z_index."""
        zero = self.number(Fraction(0))
        slope = tuple(Fraction(k == index) for k in range(self._size))
        return Quadratic(zero.value, slope, zero.hessian)

    def call(self, name: str, argument: Quadratic) -> Quadratic:
        """Return one over a constant; anything else is no polynomial."""
        if name != "inverse" or not argument.is_constant or not argument.value:
            raise Rejected(f"{name} of a polynomial is no polynomial")
        return self.number(1 / argument.value)

    def sign(self, argument: Quadratic) -> int:
        """Return the sign of a constant."""
        if not argument.is_constant:
            raise Rejected("a polynomial has no sign")
        return (argument.value > 0) - (argument.value < 0)

    def admit(self, argument: Quadratic) -> None:
        """Refuse coefficients of too many bits."""
        for value in (argument.value, *argument.slope, *(c for row in argument.hessian for c in row)):
            admit_bits(value)

    def larger(self, one: Quadratic, other: Quadratic) -> Quadratic:
        """Return the larger of two constants."""
        return one if self.sign(one - other) >= 0 else other


def is_semidefinite(rows: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite."""
    from symflow.algebra.exact.rational import inertia, rational_matrix

    return inertia(rational_matrix(rows)).negative == 0


def negated(rows: Sequence[Sequence[Fraction]]) -> Any:
    """Return minus a matrix."""
    return tuple(tuple(-entry for entry in row) for row in rows)
