"""Exact numbers ``Σ q_r √r`` with rational q_r and squarefree r: a field, for the square roots in a score."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from symflow.errors import InputError


class Surd:
    """An irrational sum of square roots; rational results of arithmetic come back as ``Fraction``.

    Parameters
    ----------
    parts : dict
        From squarefree positive integers r to the rational coefficient of √r.

    Examples
    --------
    >>> root = square_root(Fraction(8))
    >>> root * root, 1 / (1 + root) * (1 + root)
    (Fraction(8, 1), Fraction(1, 1))
    """

    __slots__ = ("parts",)

    def __init__(self, parts: dict[int, Fraction]) -> None:
        self.parts = parts

    def __add__(self, other: Fraction | Surd | int) -> Fraction | Surd:
        parts = dict(self.parts)
        for r, q in _parts(other).items():
            parts[r] = parts.get(r, Fraction(0)) + q
        return _number(parts)

    __radd__ = __add__

    def __neg__(self) -> Surd:
        return Surd({r: -q for r, q in self.parts.items()})

    def __sub__(self, other: Fraction | Surd | int) -> Fraction | Surd:
        return self + (-other)

    def __rsub__(self, other: Fraction | int) -> Fraction | Surd:
        return (-self) + other

    def __mul__(self, other: Fraction | Surd | int) -> Fraction | Surd:
        parts: dict[int, Fraction] = {}
        for r1, q1 in self.parts.items():
            for r2, q2 in _parts(other).items():
                outside, inside = _split_square(r1 * r2)
                parts[inside] = parts.get(inside, Fraction(0)) + q1 * q2 * outside
        return _number(parts)

    __rmul__ = __mul__

    def __truediv__(self, other: Fraction | Surd | int) -> Fraction | Surd:
        return self * (other.reciprocal() if isinstance(other, Surd) else 1 / Fraction(other))

    def __rtruediv__(self, other: Fraction | int) -> Fraction | Surd:
        return self.reciprocal() * other

    def reciprocal(self) -> Fraction | Surd:
        """Return 1/self, by conjugating with respect to one prime after the other."""
        prime = next(p for p in (_smallest_prime(r) for r in self.parts) if p > 1)
        conjugate = Surd({r: (-q if r % prime == 0 else q) for r, q in self.parts.items()})
        norm = self * conjugate
        return conjugate * (norm.reciprocal() if isinstance(norm, Surd) else 1 / norm)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Surd) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(frozenset(self.parts.items()))

    def __repr__(self) -> str:
        return " + ".join(f"{q}*sqrt({r})" if r > 1 else str(q) for r, q in sorted(self.parts.items()))


def square_root(value: Fraction) -> Fraction | Surd:
    """Return the exact square root of a non-negative rational.

    Raises
    ------
    InputError
        When the value is negative.
    """
    if value < 0:
        raise InputError(f"the square root of {value} is not real")
    outside, inside = _split_square(value.numerator * value.denominator)
    return _number({inside: Fraction(outside, value.denominator)})


def _parts(value: Fraction | Surd | int) -> dict[int, Fraction]:
    return value.parts if isinstance(value, Surd) else {1: Fraction(value)}


def _number(parts: dict[int, Fraction]) -> Fraction | Surd:
    kept = {r: q for r, q in parts.items() if q}
    return kept.get(1, Fraction(0)) if not kept.keys() - {1} else Surd(kept)


def _split_square(n: int) -> tuple[int, int]:
    """Return (a, r) with n = a²r and r squarefree."""
    outside, inside, p = 1, 1, 2
    while n > 1 and p * p <= n:
        while n % (p * p) == 0:
            n //= p * p
            outside *= p
        if n % p == 0:
            n //= p
            inside *= p
        if isqrt(n) ** 2 == n:
            return outside * isqrt(n), inside
        p += 1
    return outside, inside * n if n else 0


def _smallest_prime(n: int) -> int:
    return next((p for p in range(2, isqrt(n) + 1) if n % p == 0), n)
