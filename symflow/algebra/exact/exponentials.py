r"""Sums of exponentials :math:`\sum_k c_k e^{a_k}` with exact coefficients, and their quotients.

Exponentials of different algebraic numbers are linearly independent over the algebraic numbers
(Lindemann–Weierstrass). So a sum whose exponents differ is zero only if every coefficient is.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symflow.algebra.exact.fields import FieldElement
from symflow.algebra.exact.real import ExactReal, enclose, rational_of
from symflow.errors import InputError

Scalar = Fraction | FieldElement  #: coefficients and exponents
#: Highest degree of a polynomial in e^{1/N} whose common factors are cancelled.
_MAX_DEGREE = 4096
#: Terms of a quotient that long division looks for.
_MAX_STEPS = 64


class ExpSum(ExactReal):
    """Σ c_k e^{a_k}; c_k and a_k are fractions or elements of one real number field.

    Parameters
    ----------
    terms : mapping
        From exponent to coefficient; zeros are dropped.

    Examples
    --------
    >>> e = exponential(1)
    >>> e * exponential(-1) == 1, (e - 3).sign(), str(2 * e - exponential(Fraction(1, 3)) / 2)
    (True, -1, '-1/2*exp(1/3) + 2*exp(1)')
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Scalar, Scalar]) -> None:
        self.terms = {_plain(exponent): _plain(c) for exponent, c in terms.items() if c}

    def is_zero(self) -> bool:
        """Whether the sum is zero, by Lindemann–Weierstrass."""
        return not self.terms

    @property
    def is_constant(self) -> bool:
        """Whether the sum is a number of the field of its coefficients."""
        return not self.terms or (len(self.terms) == 1 and Fraction(0) in self.terms)

    def constant(self) -> Scalar:
        """Return the value of a constant sum."""
        if not self.is_constant:
            raise InputError(f"{self} is transcendental")
        return self.terms.get(Fraction(0), Fraction(0))

    def enclosure(self, bits: int) -> Any:
        """Return a ball around the sum, computed with ``bits`` bits."""
        from flint import arb, ctx

        with ctx.workprec(bits):
            return sum((enclose(c, bits) * _power(a, bits) for a, c in self.terms.items()), arb(0))

    def to_sympy(self) -> Any:
        """Return the sum as a SymPy expression."""
        from sympy import Add, Mul, exp

        return Add(*(Mul(_sympy(c), exp(_sympy(a))) for a, c in self.terms.items()))

    def __add__(self, other: Any) -> Any:
        given = _terms(other)
        if given is None:
            return NotImplemented
        terms = dict(self.terms)
        for exponent, c in given.items():
            terms[exponent] = terms[exponent] + c if exponent in terms else c
        return ExpSum(terms)

    __radd__ = __add__

    def __neg__(self) -> ExpSum:
        return ExpSum({exponent: -c for exponent, c in self.terms.items()})

    def __sub__(self, other: Any) -> Any:
        given = _terms(other)
        return NotImplemented if given is None else self + ExpSum({a: -c for a, c in given.items()})

    def __mul__(self, other: Any) -> Any:
        given = _terms(other)
        if given is None:
            return NotImplemented
        terms: dict[Scalar, Scalar] = {}
        for a, c in self.terms.items():
            for b, k in given.items():
                exponent = a + b
                terms[exponent] = terms[exponent] + c * k if exponent in terms else c * k
        return ExpSum(terms)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, ExpFraction):
            return quotient(self * other.denominator, other.numerator)
        given = _terms(other)
        return NotImplemented if given is None else quotient(self, ExpSum(given))

    def __rtruediv__(self, other: Any) -> Any:
        given = _terms(other)
        return NotImplemented if given is None else quotient(ExpSum(given), self)

    def __pow__(self, exponent: int) -> Any:
        return _integer_power(self, exponent)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ExpFraction):
            return other == self
        given = _terms(other)
        return NotImplemented if given is None else self.terms == given

    def __hash__(self) -> int:
        return hash(self.constant()) if self.is_constant else hash(frozenset(self.terms.items()))

    def __str__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda term: (float(term[0]), str(term[0])))
        return " + ".join(_term_text(a, c) for a, c in ordered).replace("+ -", "- ") or "0"

    __repr__ = __str__


class ExpFraction(ExactReal):
    """A quotient of two :class:`ExpSum`, made by :func:`quotient`.

    Over ℚ it is in lowest terms, with 1 as the lowest term of the denominator.

    Examples
    --------
    >>> e = exponential(1)
    >>> (e * e - 1) / (e + 1) == e - 1, str(1 / (1 + e))
    (True, '(1)/(1 + exp(1))')
    """

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: ExpSum, denominator: ExpSum) -> None:
        self.numerator = numerator
        self.denominator = denominator

    def is_zero(self) -> bool:
        """Whether the quotient is zero."""
        return self.numerator.is_zero()

    def enclosure(self, bits: int) -> Any:
        """Return a ball around the quotient, computed with ``bits`` bits."""
        from flint import ctx

        with ctx.workprec(bits):
            return self.numerator.enclosure(bits) / self.denominator.enclosure(bits)

    def sign(self) -> int:
        """Return −1, 0 or 1."""
        return self.numerator.sign() * self.denominator.sign()

    def to_sympy(self) -> Any:
        """Return the quotient as a SymPy expression."""
        return self.numerator.to_sympy() / self.denominator.to_sympy()

    def __add__(self, other: Any) -> Any:
        given = _parts(other)
        if given is None:
            return NotImplemented
        top, bottom = given
        if bottom == self.denominator:
            return quotient(self.numerator + top, bottom)
        return quotient(self.numerator * bottom + top * self.denominator, self.denominator * bottom)

    __radd__ = __add__

    def __neg__(self) -> ExpFraction:
        return ExpFraction(-self.numerator, self.denominator)

    def __sub__(self, other: Any) -> Any:
        given = _parts(other)
        return NotImplemented if given is None else self + quotient(-given[0], given[1])

    def __mul__(self, other: Any) -> Any:
        given = _parts(other)
        if given is None:
            return NotImplemented
        return quotient(self.numerator * given[0], self.denominator * given[1])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        given = _parts(other)
        if given is None:
            return NotImplemented
        return quotient(self.numerator * given[1], self.denominator * given[0])

    def __rtruediv__(self, other: Any) -> Any:
        given = _parts(other)
        if given is None:
            return NotImplemented
        return quotient(given[0] * self.denominator, given[1] * self.numerator)

    def __pow__(self, exponent: int) -> Any:
        return _integer_power(self, exponent)

    def __eq__(self, other: object) -> bool:
        given = _parts(other)
        if given is None:
            return NotImplemented
        return bool(self.numerator * given[1] == given[0] * self.denominator)

    def __hash__(self) -> int:
        if _is_rational(self.numerator) and _is_rational(self.denominator):
            return hash((self.numerator, self.denominator))
        return hash(ExpFraction)  # equal quotients over a field may differ by a common factor

    def __str__(self) -> str:
        return f"({self.numerator})/({self.denominator})"

    __repr__ = __str__


def exponential(exponent: Any) -> ExpSum:
    """Return e^a for a fraction, an element of a number field, or a constant :class:`ExpSum`.

    Raises
    ------
    InputError
        If the exponent is anything else.
    """
    return ExpSum({scalar(exponent): Fraction(1)})


def scalar(value: Any) -> Scalar:
    """Return a coefficient or exponent as a fraction or an element of a number field; refuses the rest."""
    if isinstance(value, FieldElement):
        return value
    if isinstance(value, ExpSum) and value.is_constant:
        return value.constant()
    exact = rational_of(value)
    if exact is None:
        raise InputError(f"{value!r} is neither rational nor an element of a number field")
    return exact


def quotient(numerator: ExpSum, denominator: ExpSum) -> ExpSum | ExpFraction:
    """Return a quotient: a sum again where the denominator divides, as a single exponential always does."""
    if denominator.is_zero():
        raise ZeroDivisionError("division by a sum of exponentials that is zero")
    if numerator.is_zero():
        return numerator
    if len(denominator.terms) > 1:
        numerator, denominator = _reduced(numerator, denominator)
    exponent = min(denominator.terms)
    unit = ExpSum({-exponent: 1 / denominator.terms[exponent]})
    numerator, denominator = numerator * unit, denominator * unit
    return numerator if len(denominator.terms) == 1 else ExpFraction(numerator, denominator)


def _reduced(numerator: ExpSum, denominator: ExpSum) -> tuple[ExpSum, ExpSum]:
    """Cancel the greatest common divisor in ℚ[t, 1/t], t the exponential of a common measure of exponents."""
    if not (_is_rational(numerator) and _is_rational(denominator)):
        return _divided(numerator, denominator)
    lowest = min(*numerator.terms, *denominator.terms)
    measure = _measure([a - lowest for a in (*numerator.terms, *denominator.terms)])
    degree = (max(*numerator.terms, *denominator.terms) - lowest) / measure
    if degree > _MAX_DEGREE:
        return _divided(numerator, denominator)
    top, bottom = (_polynomial(part, lowest, measure) for part in (numerator, denominator))
    common = top.gcd(bottom)
    if common.degree() == 0:
        return numerator, denominator
    return tuple(_sum_of(part, measure) for part in (top // common, bottom // common))  # type: ignore[return-value]


def _divided(numerator: ExpSum, denominator: ExpSum) -> tuple[ExpSum, ExpSum]:
    """Cancel the denominator, or the numerator, where it divides the other."""
    if (found := exact_quotient(numerator, denominator)) is not None:
        return found, ExpSum({Fraction(0): Fraction(1)})
    if (found := exact_quotient(denominator, numerator)) is not None:
        return ExpSum({Fraction(0): Fraction(1)}), found
    return numerator, denominator


def exact_quotient(numerator: ExpSum, denominator: ExpSum) -> ExpSum | None:
    """Return q with ``q * denominator == numerator``, None where there is none with few terms.

    Long division by falling exponents, an order that multiplication respects: the lowest exponent of q would
    be the difference of the lowest ones.

    Examples
    --------
    >>> e = exponential(1)
    >>> exact_quotient(e * e - 1, e + 1), exact_quotient(e, e + 1) is None
    (-1 + exp(1), True)
    """
    if numerator.is_zero():
        return numerator
    lowest, highest = min(numerator.terms) - min(denominator.terms), max(denominator.terms)
    leading = denominator.terms[highest]
    terms: dict[Scalar, Scalar] = {}
    for _ in range(_MAX_STEPS):
        if numerator.is_zero():
            return ExpSum(terms)
        top = max(numerator.terms)
        exponent, coefficient = top - highest, numerator.terms[top] / leading
        if exponent < lowest:
            return None
        terms[exponent] = coefficient
        numerator = numerator - denominator * ExpSum({exponent: coefficient})
    return None


def _measure(exponents: list[Any]) -> Fraction:
    """Return the largest fraction of which every exponent is an integer multiple."""
    from math import gcd, lcm

    common = lcm(*(a.denominator for a in exponents))
    return Fraction(gcd(*(int(a * common) for a in exponents)) or 1, common)


def _polynomial(part: ExpSum, lowest: Any, measure: Fraction) -> Any:
    from flint import fmpq, fmpq_poly

    degrees = {int((a - lowest) / measure): Fraction(c) for a, c in part.terms.items()}  # type: ignore[arg-type]
    zero = Fraction(0)
    dense = (degrees.get(k, zero) for k in range(max(degrees) + 1))
    return fmpq_poly([fmpq(c.numerator, c.denominator) for c in dense])


def _sum_of(polynomial: Any, measure: Fraction) -> ExpSum:
    from symflow.algebra.exact.rational import fraction

    return ExpSum({k * measure: fraction(c) for k, c in enumerate(polynomial.coeffs()) if c != 0})


def _plain(value: Scalar) -> Scalar:
    """Return a rational element of a field as the fraction that it is."""
    return value.fraction() if isinstance(value, FieldElement) and value.is_rational else value


def _is_rational(value: ExpSum) -> bool:
    return all(type(part) is Fraction for term in value.terms.items() for part in term)


def _terms(value: Any) -> Mapping[Scalar, Scalar] | None:
    """Return the terms of a sum or a scalar, None for what is neither."""
    if isinstance(value, ExpSum):
        return value.terms
    exact = value if isinstance(value, FieldElement) else rational_of(value)
    if exact is None:
        return None
    return {Fraction(0): exact} if exact else {}


def _parts(value: Any) -> tuple[ExpSum, ExpSum] | None:
    if isinstance(value, ExpFraction):
        return value.numerator, value.denominator
    terms = _terms(value)
    return None if terms is None else (ExpSum(terms), ExpSum({Fraction(0): Fraction(1)}))


def _integer_power(base: Any, exponent: int) -> Any:
    if not isinstance(exponent, int):
        raise InputError(f"only integer powers of sums of exponentials are exact, got {exponent!r}")
    result: Any = ExpSum({Fraction(0): Fraction(1)})
    for _ in range(abs(exponent)):
        result = result * base
    return result if exponent >= 0 else 1 / result


@lru_cache(maxsize=4096)
def _power(exponent: Scalar, bits: int) -> Any:
    """Return e^a as a ball; the magnitude of a costs leading bits of the exponent, so these are added."""
    from flint import ctx

    with ctx.workprec(bits + max(0, int(abs(float(exponent))).bit_length())):
        return enclose(exponent, ctx.prec).exp()


def _sympy(value: Scalar) -> Any:
    from sympy import Rational

    return (
        value.to_sympy() if isinstance(value, FieldElement) else Rational(value.numerator, value.denominator)
    )


def _term_text(exponent: Scalar, coefficient: Scalar) -> str:
    factor = str(coefficient)
    if isinstance(coefficient, FieldElement) and not coefficient.is_rational:
        factor = f"({factor})"
    if exponent == 0:
        return factor
    sign = {"1": "", "-1": "-"}.get(factor)
    return f"{sign}exp({exponent})" if sign is not None else f"{factor}*exp({exponent})"
