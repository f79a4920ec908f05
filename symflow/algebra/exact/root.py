"""Real roots of polynomials all of whose roots are real, such as characteristic polynomials."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from symflow.algebra.exact.numbers import Ball, real_roots
from symflow.algebra.exact.polynomials import value_at
from symflow.algebra.exact.real import MAX_BITS, ExactReal, enclose
from symflow.errors import Undecided


class Root(ExactReal):
    """The ``index``-th root, from below, of a polynomial with as many different real roots as its degree.

    Parameters
    ----------
    polynomial : tuple
        Coefficients from the constant term up: fractions or exact real numbers.
    index : int

    Examples
    --------
    >>> golden = Root((Fraction(-1), Fraction(-1), Fraction(1)), 1)
    >>> float(golden), golden.sign(), golden > 1, golden.to_sympy()
    (1.618033988749895, 1, True, 1/2 + sqrt(5)/2)
    """

    __slots__ = ("index", "polynomial")

    def __init__(self, polynomial: tuple[Any, ...], index: int) -> None:
        self.polynomial = polynomial
        self.index = index

    @property
    def degree(self) -> int:
        """Degree of the polynomial."""
        return len(self.polynomial) - 1

    def is_zero(self) -> bool:
        """Whether the root is zero: it is where the constant term vanishes, and zero is this root."""
        return not self.polynomial[0] and bool(_isolated(self.polynomial, 64)[self.index].contains(0))

    def enclosure(self, bits: int) -> Any:
        """Return a ball around the root that holds no other one."""
        return _isolated(self.polynomial, bits)[self.index]

    def to_sympy(self) -> Any:
        """Return the root in radicals up to degree two, or as ``CRootOf`` of a polynomial over ℚ.

        Raises
        ------
        Undecided
            If SymPy has no notation for it.
        """
        from sympy import CRootOf, Poly, Symbol, sqrt

        coefficients = [_sympy(c) for c in self.polynomial]
        if self.degree == 2:
            c, b, a = coefficients
            root = sqrt((b**2 - 4 * a * c).expand()) / (2 * a)
            larger = (self.index == 1) == (enclose(self.polynomial[2], 64) > 0)
            return -b / (2 * a) + (root if larger else -root)
        if all(isinstance(c, Fraction) for c in self.polynomial):
            return CRootOf(Poly(coefficients[::-1], Symbol("x")), self.index)
        raise Undecided(f"a root of degree {self.degree} over transcendental numbers has no SymPy expression")

    def __neg__(self) -> Root:
        mirrored = tuple(-c if k % 2 else c for k, c in enumerate(self.polynomial))
        return Root(mirrored, self.degree - 1 - self.index)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Root):
            return self.index == other.index and self.polynomial == other.polynomial
        if not isinstance(other, int | Fraction | ExactReal):
            return NotImplemented
        if value_at(self.polynomial, other):
            return False
        ball = _isolated(self.polynomial, 64)
        return bool(enclose(other, 128).overlaps(ball[self.index]))

    def __hash__(self) -> int:
        return hash((self.degree, self.index))

    def _compared(self, other: Any) -> int:
        """Return the sign of the difference of two numbers that are equal only where == says so."""
        if self == other:
            return 0
        bits = 64
        while bits <= MAX_BITS:
            mine, its = self.enclosure(bits), enclose(other, bits)
            if mine < its:
                return -1
            if mine > its:
                return 1
            bits *= 2
        raise Undecided(f"{self} and {other} are not told apart at {MAX_BITS} bits")

    def __str__(self) -> str:
        return f"{float(self):.15g} (root {self.index} of degree {self.degree})"

    __repr__ = __str__


def _sympy(value: Any) -> Any:
    from sympy import Rational

    if isinstance(value, ExactReal):
        return value.to_sympy()
    return Rational(value.numerator, value.denominator)


@lru_cache(maxsize=256)
def _isolated(polynomial: tuple[Any, ...], bits: int) -> list[Any]:
    """Return disjoint balls of about ``bits`` bits, one around each root.

    The roots of a nearby rational polynomial are good guesses; a change of sign across each of as many
    disjoint intervals as the degree says proves that each holds exactly one root.
    """
    working = bits + 64
    while working <= MAX_BITS:
        found = _by_signs(polynomial, bits, working)
        if found is not None:
            return found
        working *= 2
    raise Undecided(f"the roots of a polynomial are not told apart at {MAX_BITS} bits")


def _by_signs(polynomial: tuple[Any, ...], bits: int, working: int) -> list[Any] | None:
    from flint import arb, arb_poly, ctx

    with ctx.workprec(working):
        enclosed = [enclose(c, working) for c in polynomial]
        guesses = real_roots(_integers(enclosed), working)
        if len(guesses) < len(polynomial) - 1:
            return None
        smooth = arb_poly(enclosed)
        found = []
        for guess in guesses:
            middle = guess.mid()
            radius = (abs(middle) + 1) * arb(2) ** -bits
            left, right = (middle - radius).mid(), (middle + radius).mid()
            if not smooth(left) * smooth(right) < 0:
                return None
            found.append(left.union(right))
        apart = all(one < other for one, other in pairwise(found))
        return found if apart else None


def _integers(enclosed: list[Any]) -> tuple[int, ...]:
    """Return a common multiple of the midpoints as integers."""
    from math import lcm

    middles = [Ball.of(c).midpoint for c in enclosed]
    common = lcm(*(c.denominator for c in middles))
    return tuple(int(c * common) for c in middles)
