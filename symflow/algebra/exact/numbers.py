"""Numbers that are known exactly, or to lie in a stated interval: both print, compare and convert."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symflow.algebra.exact.rational import fraction, fractions
from symflow.errors import Undecided

#: Bits at which roots are separated first; doubled until they are.
_BITS = 64
#: Of two, in an end of a ball: a fraction with larger powers takes minutes and gigabytes.
_MAX_EXPONENT = 1 << 20
#: Longest fraction, in digits, that is written out as one.
_WRITTEN = 9


@dataclass(frozen=True)
class Ball:
    """A real number in ``[midpoint − radius, midpoint + radius]``, both ends exact fractions.

    Examples
    --------
    >>> 0.5 in Ball(Fraction(1, 2), Fraction(1, 10**6))
    True
    """

    midpoint: Fraction
    radius: Fraction

    @classmethod
    def of(cls, value: Any) -> Ball:
        """Return the ball of a ``flint.arb``."""
        return cls(_dyadic(value.mid()), _dyadic(value.rad()))

    @property
    def lower(self) -> Fraction:
        """Lower end."""
        return self.midpoint - self.radius

    @property
    def upper(self) -> Fraction:
        """Upper end."""
        return self.midpoint + self.radius

    def __contains__(self, value: Any) -> bool:
        exact = Fraction(int(value.p), int(value.q)) if hasattr(value, "p") else Fraction(value)
        return self.lower <= exact <= self.upper

    def __float__(self) -> float:
        return _double(self.midpoint)

    def __str__(self) -> str:
        return f"[{float(self.midpoint):.15g} ± {float(self.radius):.2g}]"

    def to_latex(self) -> str:
        """Return ``m ± r`` in LaTeX."""
        if self.radius == 0:
            return fraction_latex(self.midpoint)
        return rf"{_decimal(float(self.midpoint), 15)} \pm {_decimal(float(self.radius), 2)}"


@dataclass(frozen=True, repr=False)
class BallMatrix:
    """A matrix of :class:`Ball`; ``np.array(matrix, float)`` holds the midpoints."""

    entries: tuple[tuple[Ball, ...], ...]

    @classmethod
    def of(cls, rows: Iterable[Iterable[Any]]) -> BallMatrix:
        """Return the ball matrix of rows of ``flint.arb``."""
        return cls(tuple(tuple(Ball.of(entry) for entry in row) for row in rows))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.entries), len(self.entries[0])

    def tolist(self) -> list[list[float]]:
        """Return the midpoints."""
        return [[float(entry) for entry in row] for row in self.entries]

    def __repr__(self) -> str:
        rows = ", ".join(f"[{', '.join(map(str, row))}]" for row in self.entries)
        return f"BallMatrix([{rows}])"

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, row: int) -> tuple[Ball, ...]:
        return self.entries[row]

    def to_latex(self) -> str:
        """Return the matrix of ``m ± r`` in LaTeX."""
        return _pmatrix([[entry.to_latex() for entry in row] for row in self.entries])


@dataclass(frozen=True)
class AlgebraicNumber:
    """A real algebraic number: the ``index``-th real root, from below, of an irreducible integer polynomial.

    Attributes
    ----------
    polynomial : tuple of int
        Coefficients from the constant term up, without common factor, the last one positive.
    index : int
        0 for the smallest real root.

    Examples
    --------
    >>> root = AlgebraicNumber((-2, 0, 1), 1)
    >>> float(root), root.to_sympy()
    (1.4142135623730951, sqrt(2))
    """

    polynomial: tuple[int, ...]
    index: int

    @classmethod
    def rational(cls, value: Fraction) -> AlgebraicNumber:
        """Return a fraction as an algebraic number of degree one."""
        return cls((-value.numerator, value.denominator), 0)

    @property
    def degree(self) -> int:
        """Degree of the minimal polynomial."""
        return len(self.polynomial) - 1

    @property
    def is_rational(self) -> bool:
        """Whether it is a fraction."""
        return self.degree == 1

    def fraction(self) -> Fraction:
        """Return the value of a rational number."""
        constant, leading = self.polynomial
        return Fraction(-constant, leading)

    def arb(self, bits: int = 128) -> Any:
        """Return a ``flint.arb`` that contains the number, accurate to about ``bits`` bits."""
        return real_roots(self.polynomial, bits)[self.index]

    def ball(self, bits: int = 128) -> Ball:
        """Return an enclosure."""
        return Ball.of(self.arb(bits))

    def reciprocal(self) -> AlgebraicNumber:
        """Return 1/x for x ≠ 0."""
        sign = 1 if self.polynomial[0] > 0 else -1
        reverse = tuple(sign * c for c in reversed(self.polynomial))
        return AlgebraicNumber(reverse, _matching_root(reverse, lambda bits: 1 / self.arb(bits)))

    def negative(self) -> AlgebraicNumber:
        """Return −x."""
        mirrored = tuple(c * (-1) ** k for k, c in enumerate(self.polynomial))
        sign = 1 if mirrored[-1] > 0 else -1
        polynomial = tuple(sign * c for c in mirrored)
        return AlgebraicNumber(polynomial, len(real_roots(polynomial, _BITS)) - 1 - self.index)

    def to_sympy(self) -> Any:
        """Return the number as a SymPy one: in radicals up to degree two, else ``CRootOf``."""
        from sympy import CRootOf, Poly, Rational, Symbol, sqrt

        if self.is_rational:
            value = self.fraction()
            return Rational(value.numerator, value.denominator)
        if self.degree == 2:
            c, b, a = self.polynomial
            sign = -1 if self.index == 0 else 1
            return (-b + sign * sqrt(b * b - 4 * a * c)) / (2 * a)
        return CRootOf(Poly(list(reversed(self.polynomial)), Symbol("x")), self.index)

    def __float__(self) -> float:
        return _double(self.ball(96).midpoint)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, AlgebraicNumber):
            return (self.polynomial, self.index) == (other.polynomial, other.index)
        if isinstance(other, float):
            return self.is_rational and self.fraction() == Fraction(other)
        if isinstance(other, int | Fraction):
            return self.is_rational and self.fraction() == other
        if hasattr(other, "p") and hasattr(other, "q"):
            return self.is_rational and self.fraction() == Fraction(int(other.p), int(other.q))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.fraction()) if self.is_rational else hash((self.polynomial, self.index))

    def __str__(self) -> str:
        if self.is_rational:
            return str(self.fraction())
        return f"{float(self):.15g} (root {self.index} of {self.polynomial})"

    def to_latex(self) -> str:
        """Return the number: in radicals where they are short, else its decimals and its polynomial."""
        from sympy import latex

        if self.is_rational:
            return fraction_latex(self.fraction())
        if self.degree == 2 and max(len(str(c)) for c in self.polynomial) <= _WRITTEN:
            return str(latex(self.to_sympy()))
        return _decimal(float(self), 15) + r"\dots"

    def polynomial_latex(self) -> str:
        """Return the minimal polynomial in x, where its coefficients are short; else its degree in words."""
        from sympy import Poly, Symbol, latex

        if max(len(str(c)) for c in self.polynomial) > 2 * _WRITTEN:
            return rf"\text{{(integer polynomial of degree {self.degree})}}"
        return str(latex(Poly(list(reversed(self.polynomial)), Symbol("x")).as_expr()))


def largest_root(polynomial: Any) -> tuple[AlgebraicNumber, int]:
    """Return the largest real root of a ``flint.fmpq_poly`` that has real roots only, and its multiplicity.

    Examples
    --------
    >>> from symflow.algebra.exact.rational import rational_matrix
    >>> root, multiplicity = largest_root(rational_matrix([[2, 0], [0, 2]]).charpoly())
    >>> root == 2, multiplicity
    (True, 2)
    """
    candidates = []
    for factor, multiplicity in polynomial.factor()[1]:
        coefficients = _primitive(factor)
        if count := len(real_roots(coefficients, _BITS)):
            candidates.append((AlgebraicNumber(coefficients, count - 1), multiplicity))
    bits = _BITS
    while len(candidates) > 1:
        enclosed = [(number.arb(bits), number, multiplicity) for number, multiplicity in candidates]
        floor = max(enclosed, key=lambda item: float(item[0].mid()))[0].lower()
        candidates = [(number, multiplicity) for arb, number, multiplicity in enclosed if not arb < floor]
        bits *= 2
    return candidates[0]


def real_root_at(polynomial: Any, enclosure: Any) -> AlgebraicNumber:
    """Return the root of a ``flint.fmpq_poly`` that ``enclosure(bits)``, an arb, singles out."""
    bits = _BITS
    while True:
        found = [
            AlgebraicNumber(coefficients, index)
            for factor, _ in polynomial.factor()[1]
            for coefficients in [_primitive(factor)]
            for index, root in enumerate(real_roots(coefficients, bits))
            if root.overlaps(enclosure(bits))
        ]
        if len(found) == 1:
            return found[0]
        bits *= 2


def _matching_root(polynomial: tuple[int, ...], enclosure: Any) -> int:
    from flint import fmpq_poly

    return real_root_at(fmpq_poly(list(polynomial)), enclosure).index


@lru_cache(maxsize=256)
def real_roots(coefficients: tuple[int, ...], bits: int) -> list[Any]:
    """Return the real roots in ascending order; flint isolates them and marks the real ones."""
    from flint import ctx, fmpz_poly

    with ctx.workprec(bits):
        found: Any = fmpz_poly(list(coefficients)).complex_roots()
        roots = [root.real for root, _ in found if root.imag == 0]
    return sorted(roots, key=lambda root: float(root.mid()))


def _primitive(factor: Any) -> tuple[int, ...]:
    from flint import fmpq_poly

    numerator = fmpq_poly(factor).numer()
    coefficients = [int(c) for c in numerator.coeffs()]
    content = int(numerator.content()) * (1 if coefficients[-1] > 0 else -1)
    return tuple(c // content for c in coefficients)


def _dyadic(value: Any) -> Fraction:
    mantissa, exponent = value.man_exp()
    if abs(int(exponent)) > _MAX_EXPONENT:
        raise Undecided(f"a number beyond 2^{_MAX_EXPONENT}, or its inverse, is not written as a fraction")
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


# ------------------------------------------------------------------------------------------------- printing


def fraction_latex(value: Fraction) -> str:
    r"""Return a fraction in LaTeX; one that a double stands for is written as its shortest decimal.

    Examples
    --------
    >>> fraction_latex(Fraction(1, 3)), fraction_latex(Fraction(0.1))
    ('\\frac{1}{3}', '0.1')
    """
    if value.denominator == 1 and len(str(value.numerator)) <= 2 * _WRITTEN:
        return str(value.numerator)
    if len(str(value.denominator)) <= _WRITTEN and len(str(value.numerator)) <= _WRITTEN:
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    number = _double(value)
    if math.isinf(number) or number == 0:  # beyond the doubles
        return _decimal(Decimal(value.numerator) / Decimal(value.denominator), 15) + r"\dots"
    return _decimal(number, 17) if Fraction(number) == value else _decimal(number, 15) + r"\dots"


def matrix_latex(matrix: Any) -> str:
    """Return a rational matrix in LaTeX."""
    return _pmatrix([[fraction_latex(entry) for entry in row] for row in fractions(matrix)])


def rational_latex(number: Any) -> str:
    """Return a ``flint.fmpq`` in LaTeX."""
    return fraction_latex(fraction(number))


def _pmatrix(entries: list[list[str]]) -> str:
    rows = r" \\ ".join(" & ".join(row) for row in entries)
    return rf"\begin{{pmatrix}}{rows}\end{{pmatrix}}"


def _double(value: Fraction) -> float:
    """Return the nearest double, which is infinite beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _decimal(number: float | Decimal, digits: int) -> str:
    text = repr(number) if digits >= 17 else f"{number:.{digits}g}".lower()
    if "e" not in text:
        return text.removesuffix(".0")
    mantissa, exponent = text.split("e")
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}"
