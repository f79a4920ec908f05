"""Matrices whose entries are rational functions of one variable, exactly, and signs of such functions.

Texts of the small grammar are evaluated on their syntax tree; nothing here knows what a text is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from sympy import QQ, Poly, Symbol
from sympy.polys.matrices import DomainMatrix

from symflow.algebra.text.syntax import Call, Name, Node, Number, Power, Product, Sum, Transposed, read
from symflow.certify.terms import Rejected

MAX_DEGREE = 30  #: of numerators and denominators; the shipped witnesses have degree 2
MAX_BITS = 4096  #: of a coefficient
MAX_TEXT = 500  #: characters of one entry
_RATIONAL = re.compile(r"-?[0-9]{1,60}(/[1-9][0-9]{0,59})?")

_CLOCK = Symbol("u")
FIELD = QQ.frac_field(_CLOCK)  #: rational functions of the variable, whatever its name in a text
CLOCK = FIELD.gens[0]


def rational(text: Any) -> Any:
    """Return the rational number that ``text`` writes as ``p`` or ``p/q``.

    Raises
    ------
    Rejected
        If it writes anything else.
    """
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise Rejected(f"{text!r} is not a rational number written p or p/q")
    numerator, _, denominator = text.partition("/")
    return QQ(int(numerator), int(denominator or 1))


def matrix_of(rows: Any, shape: tuple[int, int], entry: Any, what: str) -> DomainMatrix:
    """Return the matrix whose entries ``entry`` reads from nested lists of text."""
    if (
        not isinstance(rows, (list, tuple))
        or len(rows) != shape[0]
        or not all(isinstance(row, (list, tuple)) and len(row) == shape[1] for row in rows)
    ):
        raise Rejected(f"{what} must be a list of {shape[0]} rows of {shape[1]} entries")
    return DomainMatrix([[FIELD.convert(entry(text)) for text in row] for row in rows], shape, FIELD)


def function_of(text: Any, name: str) -> Any:
    """Return the rational function of the variable ``name`` that ``text`` writes."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise Rejected(f"an entry must be a text of at most {MAX_TEXT} characters")
    value = Evaluator({name: CLOCK}, {})(text)
    if is_matrix(value):
        raise Rejected(f"'{text}' must be a number")
    return value


class Evaluator:
    """Values of syntax trees: a :class:`DomainMatrix` over the field, or an element of it.

    Parameters
    ----------
    values : mapping of str to DomainMatrix, field element, or list of matrices of a family
    sizes : mapping of str to int

    Attributes
    ----------
    divisors : list
        Every number, and the determinant of every matrix, that something was divided by: the text has a
        value at a point of the variable only where none of them vanishes.
    """

    def __init__(self, values: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        self._values = values
        self._sizes = sizes
        self.divisors: list[Any] = []

    def __call__(self, text: str) -> Any:
        """Return the value of ``text``; raises :class:`Rejected` if it has none, or one that is too large."""
        return self._value(read(text))

    def _value(self, node: Node) -> Any:
        match node:
            case Number(value=value):
                found = FIELD.convert(QQ(value.numerator, value.denominator))
            case Name(name=name):
                found = self._named(name)
            case Sum(terms=terms):
                found = reduce(_add, [_scaled(sign, self._value(term)) for sign, term in terms])
            case Product(factors=factors):
                found = reduce(_multiply, [self._factor(*factor) for factor in factors])
            case Power(base=base, exponent=exponent):
                found = self._power(self._value(base), exponent)
            case Transposed(operand=operand):
                found = _transposed(self._value(operand))
            case Call(function="sum", arguments=arguments):
                found = self._sum(arguments)
            case Call(function=function, arguments=arguments):
                found = self._call(function, [self._value(argument) for argument in arguments])
            case _:
                raise Rejected(f"{type(node).__name__} has no value")
        return _bounded(found)

    def _named(self, name: str) -> Any:
        if isinstance(self._values.get(name), list):
            raise Rejected(f"{name!r} belongs to a family and has a value inside its sum only")
        if name in self._values:
            return self._values[name]
        if name not in self._sizes:
            raise Rejected(f"{name!r} has no value")
        return FIELD.convert(QQ(self._sizes[name]))

    def _factor(self, divides: bool, node: Node) -> Any:
        value = self._value(node)
        if not divides:
            return value
        if is_matrix(value) or value == 0:
            raise Rejected("a division by a matrix or by zero")
        self.divisors.append(value)
        return 1 / value

    def _power(self, base: Any, exponent: int) -> Any:
        if is_matrix(base):
            raise Rejected("only numbers are raised to a power")
        if exponent < 0:
            if base == 0:
                raise Rejected("a negative power of zero")
            self.divisors.append(base)
            base = 1 / base
        return reduce(_multiply, [base] * abs(exponent), FIELD.one)

    def _call(self, name: str, arguments: Sequence[Any]) -> Any:
        (first, *_) = arguments
        if name == "inv" and _is_square(first):
            return self._inverse(first)
        if name == "tr" and _is_square(first):
            return sum((first[i, i].element for i in range(first.shape[0])), FIELD.zero)
        if name in ("eye", "zeros") and not any(is_matrix(argument) for argument in arguments):
            rows, cols = (_count(argument) for argument in (*arguments, first)[:2])
            return DomainMatrix.eye(rows, FIELD) if name == "eye" else DomainMatrix.zeros((rows, cols), FIELD)
        raise Rejected(f"{name} has no exact value here")

    def _sum(self, arguments: Sequence[Node]) -> Any:
        """Return the sum of the first argument over the members of a family."""
        body, count, *members = arguments
        names = [node.name for node in members if isinstance(node, Name)]
        values = [self._values.get(name) for name in names]
        size = self._sizes.get(count.name) if isinstance(count, Name) else None
        if not values or not all(isinstance(value, list) and len(value) == size for value in values):
            raise Rejected("a sum runs over the matrices of a family, each with one value for every head")
        parts = []
        for one in zip(*values, strict=True):
            inner = Evaluator({**self._values, **dict(zip(names, one, strict=True))}, self._sizes)
            parts.append(inner._value(body))
            self.divisors += inner.divisors
        return reduce(_add, parts)

    def _inverse(self, matrix: DomainMatrix) -> DomainMatrix:
        determinant = matrix.det()
        if determinant == 0:
            raise Rejected("an inverse does not exist")
        self.divisors.append(determinant)
        return matrix.inv()


def is_matrix(value: Any) -> bool:
    """Whether ``value`` is a matrix instead of an element of the field."""
    return isinstance(value, DomainMatrix)


def _is_square(value: Any) -> bool:
    return is_matrix(value) and value.shape[0] == value.shape[1]


def _count(size: Any) -> int:
    """Return a size that is a number; the sizes of a proof are small."""
    return int(_constant(size))


def _constant(element: Any) -> Any:
    """Return the rational number that an element of the field is."""
    if not (element.numer.is_ground and element.denom.is_ground):
        raise Rejected(f"{element} is not a number")
    return element.numer.LC / element.denom.LC


def _bounded(value: Any) -> Any:
    for entry in entries(value) if is_matrix(value) else [value]:
        for part in (entry.numer, entry.denom):
            if part.degree() > MAX_DEGREE:
                raise Rejected(f"a polynomial of degree above {MAX_DEGREE} is too large")
            for coefficient in part.coeffs():
                if max(coefficient.numerator.bit_length(), coefficient.denominator.bit_length()) > MAX_BITS:
                    raise Rejected(f"a number of more than {MAX_BITS} binary digits is too large")
    return value


def entries(matrix: DomainMatrix) -> list[Any]:
    """Return all entries, row by row."""
    return [entry for row in matrix.to_list() for entry in row]


def _scaled(sign: int, value: Any) -> Any:
    return value if sign == 1 else -value


def _transposed(value: Any) -> Any:
    return value.transpose() if is_matrix(value) else value


def _add(one: Any, other: Any) -> Any:
    if is_matrix(one) != is_matrix(other):
        raise Rejected("a matrix and a number cannot be added")
    if is_matrix(one) and one.shape != other.shape:
        raise Rejected(f"matrices of shapes {one.shape} and {other.shape} cannot be added")
    return _bounded(one + other)


def _multiply(one: Any, other: Any) -> Any:
    matrices = [is_matrix(part) for part in (one, other)]
    if all(matrices) and one.shape[1] != other.shape[0]:
        raise Rejected(f"matrices of shapes {one.shape} and {other.shape} cannot be multiplied")
    if matrices == [False, True]:
        return _bounded(other * one)
    return _bounded(one * other)


def derivative(matrix: DomainMatrix) -> DomainMatrix:
    """Return the entrywise derivative in the variable."""
    rows = [[entry.diff(CLOCK) for entry in row] for row in matrix.to_list()]
    return DomainMatrix(rows, matrix.shape, FIELD)


def value_at(matrix: DomainMatrix, point: Any) -> DomainMatrix:
    """Return the matrix at a rational point of the variable; refuses a pole."""
    rows = [[FIELD.convert(_element_at(entry, point)) for entry in row] for row in matrix.to_list()]
    return DomainMatrix(rows, matrix.shape, FIELD)


def _element_at(entry: Any, point: Any) -> Any:
    bottom = entry.denom.evaluate(0, point)
    if bottom == 0:
        raise Rejected(f"the solution has a pole at {point}")
    return entry.numer.evaluate(0, point) / bottom


def at_infinity(matrix: DomainMatrix) -> DomainMatrix:
    """Return the limit at infinity of the variable; refuses an entry that grows."""
    rows = [[FIELD.convert(_element_at_infinity(entry)) for entry in row] for row in matrix.to_list()]
    return DomainMatrix(rows, matrix.shape, FIELD)


def _element_at_infinity(entry: Any) -> Any:
    top, bottom = entry.numer.degree(), entry.denom.degree()
    if top > bottom:
        raise Rejected("an entry grows beyond bounds")
    return entry.numer.LC / entry.denom.LC if entry and top == bottom else QQ(0)


def rank_of(matrix: DomainMatrix) -> int:
    """Return the rank of a matrix."""
    return int(matrix.rank())


def polynomial(element: Any) -> Poly:
    """Return an element of the ring of polynomials as a polynomial; refuses a denominator."""
    if not element.denom.is_ground:
        raise Rejected("the clock must have a polynomial right-hand side")
    return Poly(FIELD.to_sympy(element), _CLOCK, domain=QQ)


def numerator_and_denominator(element: Any) -> tuple[Poly, Poly]:
    """Return coprime polynomials with the quotient ``element``."""
    top, bottom = (Poly(part.as_expr(), _CLOCK, domain=QQ) for part in (element.numer, element.denom))
    return top, bottom


def roots_in(poly: Poly, start: Any, end: Any) -> int:
    """Return how many different real roots lie in the closed interval; ``end`` None means infinity."""
    if poly.is_zero:
        raise Rejected("a polynomial that vanishes has no isolated roots")
    if poly.degree() == 0:
        return 0
    return int(poly.count_roots(QQ.to_sympy(start), None if end is None else QQ.to_sympy(end)))


def is_symmetric(matrix: DomainMatrix) -> bool:
    """Whether the matrix equals its transpose."""
    return bool(matrix.shape[0] == matrix.shape[1] and matrix == matrix.transpose())


def is_semidefinite(matrix: DomainMatrix, *, strictly: bool = False) -> bool:
    """Whether a symmetric matrix of numbers is positive semidefinite (or definite).

    All roots of det(xI − N) are real, so none is negative exactly if the coefficients of det(xI + N) have one
    sign (Descartes), and zero is none exactly if the last one does not vanish.
    """
    if not is_symmetric(matrix):
        raise Rejected("only a symmetric matrix has a sign")
    numbers = DomainMatrix(
        [[_constant(entry) for entry in row] for row in matrix.to_list()], matrix.shape, QQ
    )
    coefficients = (-numbers).charpoly()
    return all(c >= 0 for c in coefficients) and not (strictly and coefficients[-1] == 0)
