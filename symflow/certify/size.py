"""How large an expression becomes when it is multiplied out, bounded before that is done.

A short text can stand for astronomically many terms, for example ``(a + b + c)**100`` or a product of sixty
sums. The bounds follow from the tree of the expression alone, so that they are the same on every machine.
"""

from __future__ import annotations

from collections import Counter
from math import comb, prod
from typing import Any

from sympy import Add, Inverse, MatAdd, MatMul, MatPow, Mul, Pow, Trace, Transpose

from symflow.algebra.families import FamilySum
from symflow.algebra.text.syntax import Call, Node, Power, Product, Sum, Transposed, read
from symflow.errors import CertificateError

MAX_SIZE = 10_000  #: of one expression; in the proofs for the shipped models the largest is about 400
MAX_TOTAL_SIZE = 40_000  #: of all expressions of one chain; the shipped models need about 4 000
MAX_CHARACTERS = 200_000  #: of all different texts of one chain; the shipped models need about 10 000
MAX_EXPONENT = 100
MAX_WORD = 100  #: letters of one product
MAX_DENOMINATOR = 30  #: terms of one denominator; fractions in several variables are slow to cancel


class Budget:
    """What one chain may use; a proof beyond it is refused, whether right or wrong."""

    def __init__(self) -> None:
        self._characters = MAX_CHARACTERS
        self._size = MAX_TOTAL_SIZE

    def spend_text(self, text: str) -> None:
        """Take the length of a text that is going to be read."""
        self._characters -= len(text)
        if self._characters < 0:
            raise CertificateError(f"the proof has more than {MAX_CHARACTERS} characters of text")
        if _written_letters(read(text)) > MAX_WORD:
            raise CertificateError(f"'{text[:40]}…' has a product of more than {MAX_WORD} letters")

    def spend_expression(self, expr: Any) -> None:
        """Take the size of an expression that is going to be multiplied out."""
        self._size -= expanded_size(expr)
        if self._size < 0:
            raise CertificateError(f"the proof is too large: its expressions exceed {MAX_TOTAL_SIZE} letters")


def expanded_size(expr: Any) -> int:
    """Return a bound on terms times letters of ``expr`` when it is multiplied out.

    Raises
    ------
    CertificateError
        If ``expr`` or a part of it exceeds :data:`MAX_SIZE`.

    Examples
    --------
    >>> from sympy import Symbol
    >>> a, b = Symbol("a"), Symbol("b")
    >>> expanded_size(a + b), expanded_size((a + b) ** 10)
    (2, 110)
    """
    return _extent(expr, {}).size


def _written_letters(node: Node) -> int:
    """Return a bound on the letters of a product in a text; long products are slow to read already."""
    match node:
        case Sum(terms=terms):
            return max(_written_letters(term) for _, term in terms)
        case Product(factors=factors):
            return sum(_written_letters(factor) for _, factor in factors)
        case Power(base=base, exponent=exponent):
            return _written_letters(base) * max(1, abs(exponent))
        case Transposed(operand=operand):
            return _written_letters(operand)
        case Call(arguments=arguments):
            return sum(_written_letters(argument) for argument in arguments)
    return 1


class _Extent:
    """Bounds: terms of the numerator, letters of a term, sums in the denominator with their exponents."""

    __slots__ = ("divisors", "letters", "terms")

    def __init__(self, terms: int, letters: int, divisors: Counter[tuple[Any, int]] | None = None) -> None:
        self.terms = terms
        self.letters = letters
        self.divisors = Counter() if divisors is None else divisors
        if letters > MAX_WORD:
            raise CertificateError(f"a product of more than {MAX_WORD} letters is too long")
        if self.denominator > MAX_DENOMINATOR:
            raise CertificateError(f"a denominator of more than {MAX_DENOMINATOR} terms is too large")
        if self.size > MAX_SIZE:
            raise CertificateError(
                f"an expression is too large: multiplied out it exceeds {MAX_SIZE} letters"
            )

    @property
    def denominator(self) -> int:
        """Terms of the denominator."""
        return prod(_terms_of_power(terms, exponent) for (_, terms), exponent in self.divisors.items())

    @property
    def size(self) -> int:
        """Letters of numerator and denominator together."""
        return self.terms * max(1, self.letters) * self.denominator


def _extent(expr: Any, known: dict[Any, _Extent]) -> _Extent:
    if expr not in known:
        known[expr] = _combine(expr, [_extent(part, known) for part in expr.args])
    return known[expr]


def _combine(expr: Any, parts: list[_Extent]) -> _Extent:
    if isinstance(expr, (Add, MatAdd)):
        divisors: Counter[tuple[Any, int]] = Counter()
        for part in parts:
            divisors |= part.divisors
        return _Extent(sum(part.terms for part in parts), max(part.letters for part in parts), divisors)
    if isinstance(expr, (Mul, MatMul)):
        joined = sum((part.divisors for part in parts), Counter[tuple[Any, int]]())
        return _Extent(prod(part.terms for part in parts), sum(part.letters for part in parts), joined)
    if isinstance(
        expr, Inverse
    ):  # a MatPow too; of rank one it becomes the identity and the terms of its base
        return _Extent(1 + parts[0].terms * parts[0].denominator, parts[0].letters)
    if isinstance(expr, (Pow, MatPow)) and expr.exp.is_Rational:
        return _raise(expr, parts[0])
    if isinstance(expr, (Trace, Transpose, FamilySum)):
        return parts[0]
    return _Extent(1, 0 if expr.is_Number else 1)


def _raise(power: Any, base: _Extent) -> _Extent:
    exponent = int(abs(power.exp).ceiling())
    if exponent > MAX_EXPONENT:
        raise CertificateError(f"the exponent {power.exp} is larger than {MAX_EXPONENT}")
    if isinstance(power, MatPow):
        return _Extent(base.terms**exponent, base.letters * exponent)
    if power.exp.is_Integer and power.exp >= 0:
        divisors = Counter({divisor: exponent * times for divisor, times in base.divisors.items()})
        return _Extent(_terms_of_power(base.terms, exponent), base.letters * exponent, divisors)
    turned = Counter({(power.base, base.terms): exponent}) if base.terms > 1 else None
    return _Extent(base.denominator**exponent, base.letters, turned)


def _terms_of_power(terms: int, exponent: int) -> int:
    """Return the number of monomials of degree ``exponent`` in ``terms`` letters."""
    return comb(terms + exponent - 1, exponent)
