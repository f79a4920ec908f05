"""Real number fields ℚ(θ): θ is one real root of an irreducible polynomial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm, prod
from typing import Any

from symflow.algebra.exact.numbers import AlgebraicNumber, real_root_at
from symflow.algebra.exact.rational import fmpq, fraction
from symflow.algebra.exact.real import ExactReal, rational_of
from symflow.errors import InputError

GENERATOR = "theta"  #: the name of θ in texts


@dataclass(frozen=True)
class NumberField:
    r"""The field :math:`\mathbb{Q}(\theta)`.

    Attributes
    ----------
    root : AlgebraicNumber
        θ.

    Examples
    --------
    >>> field = NumberField(AlgebraicNumber((-2, 0, 1), 1))
    >>> field.generator * field.generator == 2
    True
    """

    root: AlgebraicNumber

    @property
    def degree(self) -> int:
        """Dimension over ℚ."""
        return self.root.degree

    @property
    def generator(self) -> FieldElement:
        """θ."""
        return self.element([0, 1])

    def element(self, coefficients: Iterable[Any]) -> FieldElement:
        """Return Σ c_k θᵏ of rational coefficients, from the constant term up."""
        from flint import fmpq_poly

        return FieldElement(self, fmpq_poly([fmpq(c) for c in coefficients]) % self.modulus())

    def modulus(self) -> Any:
        """Return the minimal polynomial of θ as ``flint.fmpq_poly``."""
        return _modulus(self.root.polynomial)

    def __str__(self) -> str:
        return f"Q({GENERATOR}), {GENERATOR} = {self.root}"


@lru_cache(maxsize=64)
def _modulus(polynomial: tuple[int, ...]) -> Any:
    from flint import fmpq_poly

    return fmpq_poly(list(polynomial))


class FieldElement(ExactReal):
    """An element of a :class:`NumberField`, made by its ``element``; rationals mix with it freely."""

    __slots__ = ("field", "value")

    def __init__(self, field: NumberField, value: Any) -> None:
        self.field = field
        self.value = value

    @property
    def coefficients(self) -> tuple[Fraction, ...]:
        """Coefficients of 1, θ, …, θ^{degree − 1}."""
        found = [fraction(c) for c in self.value.coeffs()]
        return tuple(found + [Fraction(0)] * (self.field.degree - len(found)))

    @property
    def is_rational(self) -> bool:
        """Whether the element is a fraction."""
        return bool(self.value.degree() < 1)

    def fraction(self) -> Fraction:
        """Return the value of a rational element."""
        if not self.is_rational:
            raise InputError(f"{self} is irrational")
        return fraction(fmpq(self.value[0]))

    def is_zero(self) -> bool:
        """Whether the element is zero."""
        return bool(self.value == 0)

    def enclosure(self, bits: int) -> Any:
        """Return a ball around the element, computed with ``bits`` bits."""
        from flint import arb, ctx

        with ctx.workprec(bits):
            theta, total = self.field.root.arb(bits), arb(0)
            for coefficient in reversed(self.value.coeffs()):
                total = total * theta + arb(coefficient)
            return total

    def to_sympy(self) -> Any:
        """Return the element as a polynomial in θ, a radical or a root."""
        from sympy import Rational

        theta = self.field.root.to_sympy()
        terms = [Rational(c.numerator, c.denominator) * theta**k for k, c in enumerate(self.coefficients)]
        return sum(terms, Rational(0))

    def minimal_polynomial(self) -> AlgebraicNumber:
        """Return the element as a root of its own minimal polynomial."""
        from symflow.algebra.exact.rational import rational_matrix

        power, columns = self.field.element([1]), []
        for _ in range(self.field.degree):
            columns.append((power * self).coefficients)
            power = power * self.field.generator
        return real_root_at(rational_matrix(columns).charpoly(), self.enclosure)

    def _other(self, other: Any) -> Any:
        """Return the other operand as a polynomial in θ, None if it is of another kind."""
        if isinstance(other, FieldElement):
            if other.field != self.field:
                raise InputError(f"{self} and {other} lie in different fields; take both from a common one")
            return other.value
        exact = rational_of(other)
        return None if exact is None else fmpq(exact)

    def __add__(self, other: Any) -> Any:
        value = self._other(other)
        return NotImplemented if value is None else FieldElement(self.field, self.value + value)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        value = self._other(other)
        return NotImplemented if value is None else FieldElement(self.field, self.value - value)

    def __rsub__(self, other: Any) -> Any:
        value = self._other(other)
        return NotImplemented if value is None else FieldElement(self.field, value - self.value)

    def __mul__(self, other: Any) -> Any:
        value = self._other(other)
        if value is None:
            return NotImplemented
        return FieldElement(self.field, (self.value * value) % self.field.modulus())

    __rmul__ = __mul__

    def __neg__(self) -> FieldElement:
        return FieldElement(self.field, -self.value)

    def __pos__(self) -> FieldElement:
        return self

    def reciprocal(self) -> FieldElement:
        """Return 1/x for x ≠ 0."""
        if self.is_zero():
            raise ZeroDivisionError("division by zero in a number field")
        _, inverse, _ = self.value.xgcd(self.field.modulus())
        return FieldElement(self.field, inverse)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, FieldElement):
            return self * other.reciprocal()
        exact = rational_of(other)
        return NotImplemented if exact is None else self * (1 / exact)

    def __rtruediv__(self, other: Any) -> Any:
        return self.reciprocal() * other

    def __pow__(self, exponent: int) -> Any:
        base = self if exponent >= 0 else self.reciprocal()
        result: Any = self.field.element([1])
        for _ in range(abs(exponent)):
            result = result * base
        return result

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FieldElement):
            if other.field == self.field:
                return bool(self.value == other.value)
            return self.minimal_polynomial() == other.minimal_polynomial()
        exact = rational_of(other)
        if exact is None:
            return NotImplemented
        return self.is_rational and self.fraction() == exact

    def __hash__(self) -> int:
        return hash(self.fraction()) if self.is_rational else hash((self.field.degree, self.coefficients))

    def __str__(self) -> str:
        terms = []
        for power, coefficient in enumerate(self.coefficients):
            factor = GENERATOR if power == 1 else f"{GENERATOR}**{power}"
            if coefficient and power == 0:
                terms.append(str(coefficient))
            elif coefficient:
                sign = {Fraction(1): "", Fraction(-1): "-"}.get(coefficient)
                terms.append(f"{coefficient}*{factor}" if sign is None else sign + factor)
        return " + ".join(terms).replace("+ -", "- ") or "0"

    __repr__ = __str__


# --------------------------------------------------------------------------------------------- cyclotomic


@dataclass(frozen=True)
class Cosines:
    """The real field that holds cos(2πk/n) and sin(2πk/n) for every k.

    Examples
    --------
    >>> thirds = cosines(3)
    >>> thirds.cos(1), thirds.sin(1) * thirds.sin(1)
    (-1/2, 3/4)
    """

    n: int
    order: int
    field: NumberField

    def cos(self, k: int) -> FieldElement:
        """Return cos(2πk/n)."""
        return self._cosine(k * (self.order // self.n))

    def sin(self, k: int) -> FieldElement:
        """Return sin(2πk/n)."""
        return self._cosine(k * (self.order // self.n) - self.order // 4)

    def _cosine(self, j: int) -> FieldElement:
        """Return cos(2πj/order), by 2cos((j+1)φ) = 2cos φ · 2cos jφ − 2cos((j−1)φ)."""
        theta = self.field.generator
        before, now = theta, self.field.element([2])
        for _ in range(abs(j) % self.order):
            before, now = now, theta * now - before
        return FieldElement(self.field, now.value / 2)


def cosines(n: int) -> Cosines:
    """Return the field that holds cos(2πk/n) and sin(2πk/n); θ = 2 cos(2π/lcm(n, 4)).

    Raises
    ------
    InputError
        If n < 1.
    """
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}")
    from flint import fmpz_poly

    order = lcm(n, 4)
    polynomial = tuple(int(c) for c in fmpz_poly.cos_minpoly(order).coeffs())
    # 2 cos(2π/m) is the largest of its conjugates 2 cos(2πk/m).
    return Cosines(n, order, NumberField(AlgebraicNumber(polynomial, len(polynomial) - 2)))


def common_field(elements: Sequence[Any]) -> NumberField | None:
    """Return the field of the elements that lie in one, None if all are rational."""
    fields = {element.field for element in elements if isinstance(element, FieldElement)}
    if len(fields) > 1:
        raise InputError(f"the numbers lie in {len(fields)} different fields; take all from a common one")
    return fields.pop() if fields else None


# ------------------------------------------------------------------------------------------------ from SymPy


def from_sympy(numbers: Sequence[Any]) -> list[Fraction | FieldElement]:
    """Return exact real algebraic SymPy numbers as elements of one field; fractions where all are rational.

    Parameters
    ----------
    numbers : sequence of Expr
        Sums, products and quotients of rationals, roots, ``CRootOf`` and cosines or sines of rational
        multiples of π.

    Raises
    ------
    InputError
        If a number is not real and algebraic.

    Examples
    --------
    >>> from sympy import cos, pi, sqrt
    >>> root, cosine = from_sympy([sqrt(3), cos(pi / 6)])
    >>> root == 2 * cosine
    True
    """
    from sympy import sympify

    exact = [sympify(number) for number in numbers]
    generators = sorted({g for number in exact for g in _generators(number)}, key=str)
    if not generators:
        return [_from_polynomial(number, {}, None) for number in exact]
    field, images = _primitive_field(generators)
    known = dict(zip(generators, images, strict=True))
    return [_from_polynomial(number, known, field) for number in exact]


def _generators(number: Any) -> set[Any]:
    """Return the irrational numbers that a number is a rational function of."""
    from sympy import Add, Mul, Pow

    if rational_of(number) is not None:
        return set()
    if isinstance(number, Add | Mul) or (isinstance(number, Pow) and number.exp.is_Integer):
        return {g for part in number.args for g in _generators(part)}
    if isinstance(number, Pow) and number.exp.is_Rational:
        return {Pow(number.base, Pow(number.exp.q, -1))}
    if not (number.is_algebraic and number.is_real):
        raise InputError(f"{number} is not known to be a real algebraic number")
    return {number}


def _primitive_field(generators: Sequence[Any]) -> tuple[NumberField, list[FieldElement]]:
    """Return a field that holds all generators, and their images in it."""
    from sympy import Dummy, primitive_element
    from sympy.polys.polyerrors import NotAlgebraic

    try:
        polynomial, weights, images = primitive_element(generators, Dummy("x"), ex=True, polys=True)
    except (NotAlgebraic, NotImplementedError) as error:
        raise InputError(f"one of {list(generators)} is not a real algebraic number") from error
    integral = polynomial.clear_denoms(convert=True)[1].primitive()[1]
    coefficients = tuple(int(c) for c in reversed(integral.all_coeffs()))
    theta = sum((w * g for w, g in zip(weights, generators, strict=True)), 0 * generators[0])
    field = NumberField(_root_near(coefficients, theta))
    return field, [field.element(list(reversed(image))) for image in images]


def _root_near(coefficients: tuple[int, ...], number: Any) -> AlgebraicNumber:
    """Return the root that a SymPy number is, singled out by its decimals."""
    from flint import arb, fmpq_poly

    def enclosure(bits: int) -> Any:
        digits = bits // 3
        return arb(str(number.evalf(digits + 10))) + arb(0, 1) * arb(10) ** -digits

    if not number.is_real:
        raise InputError(f"{number} is not real")
    return real_root_at(fmpq_poly(list(coefficients)), enclosure)


def _from_polynomial(number: Any, known: Mapping[Any, FieldElement], field: NumberField | None) -> Any:
    """Return the element that a sum, product or power of known elements is."""
    from sympy import Add, Mul, Pow

    exact = rational_of(number)
    if exact is not None:
        return field.element([exact]) if field else exact
    if number in known:
        return known[number]
    parts = [_from_polynomial(part, known, field) for part in number.args if not isinstance(number, Pow)]
    if isinstance(number, Add):
        return sum(parts[1:], parts[0])
    if isinstance(number, Mul):
        return prod(parts[1:], start=parts[0])
    root = Pow(number.base, Pow(number.exp.q, -1))
    return _from_polynomial(root, known, field) ** int(number.exp.p)
