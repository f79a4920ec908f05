"""Values of syntax trees at explicit sizes: matrices of series, or of polynomials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, Protocol

from symflow.algebra.text.syntax import Call, Name, Node, Number, Power, Product, Sum, Transposed
from symflow.certify.terms import Rejected

Matrix = tuple[tuple[Any, ...], ...]  #: rows; a number is a 1 × 1 matrix
_OF_ONE = frozenset(("exp", "log", "sqrt", "sin", "cos", "tanh", "erf", "sigmoid"))


class Entries(Protocol):
    """What the evaluation needs of the entries beside their operators."""

    def number(self, value: Fraction) -> Any:
        """Return a fraction."""
        ...

    def call(self, name: str, argument: Any) -> Any:
        """Return a function of an entry; ``"inverse"`` is one over it."""
        ...

    def sign(self, argument: Any) -> int:
        """Return the sign."""
        ...

    def larger(self, one: Any, other: Any) -> Any:
        """Return the larger of two."""
        ...

    def admit(self, argument: Any) -> None:
        """Refuse an entry that takes too much memory."""
        ...


class Evaluation:
    """The values of trees where names have values.

    Parameters
    ----------
    arithmetic : Entries
        Arithmetic of the entries, for instance that of series.
    values : mapping of str to Matrix
    sizes : mapping of str to int
        What a size name stands for, as an argument of ``eye`` and as a number.
    """

    def __init__(self, arithmetic: Entries, values: Mapping[str, Matrix], sizes: Mapping[str, int]) -> None:
        self._arithmetic = arithmetic
        self._values = values
        self._sizes = sizes

    def number(self, node: Node) -> Any:
        """Return the value of a scalar; raises :class:`Rejected` if it has none, or is a matrix."""
        return _entry(self.matrix(node))

    def matrix(self, node: Node) -> Matrix:
        """Return the value of a tree.

        Raises
        ------
        Rejected
            If it has no value, or no derivative, in the arithmetic.
        """
        found = self._matrix(node)
        self._admit(found)
        return found

    def _admit(self, matrix: Matrix) -> None:
        for row in matrix:
            for entry in row:
                self._arithmetic.admit(entry)

    def _matrix(self, node: Node) -> Matrix:
        match node:
            case Number(value=value):
                return self._constant(value)
            case Name(name=name):
                return self._named(name)
            case Sum(terms=terms):
                parts = (
                    self.matrix(term) if sign > 0 else _negated(self.matrix(term)) for sign, term in terms
                )
                return reduce(added, parts)
            case Product(factors=factors):
                return reduce(multiplied, (self._factor(*factor) for factor in factors))
            case Power(base=base, exponent=exponent):
                return self._power(self.matrix(base), exponent)
            case Transposed(operand=operand):
                return transposed(self.matrix(operand))
            case Call(function=function, arguments=arguments):
                return self._call(function, arguments)
        raise Rejected(f"{type(node).__name__} has no second derivative here")

    def _constant(self, value: Fraction | int) -> Matrix:
        return ((self._arithmetic.number(Fraction(value)),),)

    def _named(self, name: str) -> Matrix:
        if name in self._values:
            return self._values[name]
        if name not in self._sizes:
            raise Rejected(f"{name!r} has no value")
        return self._constant(self._sizes[name])

    def _factor(self, divides: bool, node: Node) -> Matrix:
        value = self.matrix(node)
        return ((self._arithmetic.call("inverse", _entry(value)),),) if divides else value

    def _power(self, base: Matrix, exponent: int) -> Matrix:
        if exponent < 0:
            base = self._inverse(base)
        size = _square(base)
        found = self._identity(size)
        for _ in range(abs(exponent)):
            found = multiplied(found, base)
            self._admit(found)
        return found

    def _identity(self, rows: int, cols: int | None = None, diagonal: int = 1) -> Matrix:
        entry = self._arithmetic.number
        columns = rows if cols is None else cols
        return tuple(tuple(entry(Fraction(diagonal * (i == j))) for j in range(columns)) for i in range(rows))

    def _call(self, name: str, nodes: Sequence[Node]) -> Matrix:
        arguments = [self.matrix(node) for node in nodes]
        first = arguments[0]
        match name:
            case "dot" | "norm2":
                return _inner(first, arguments[-1])
            case "tr":
                return ((reduce(add, (first[i][i] for i in range(_square(first)))),),)
            case "inv":
                return self._inverse(first)
            case "eye":
                return self._identity(self._size(nodes[0]))
            case "zeros":
                return self._identity(self._size(nodes[0]), self._size(nodes[1]), diagonal=0)
            case "Max":
                return self._largest([_entry(argument) for argument in arguments])
            case "Min":
                return _negated(self._largest([-_entry(argument) for argument in arguments]))
            case "Abs":
                return self._largest([_entry(first), -_entry(first)])
        if name not in _OF_ONE:
            raise Rejected(f"{name} has no second derivative here")
        return ((self._arithmetic.call(name, _entry(first)),),)

    def _size(self, node: Node) -> int:
        match node:
            case Number(value=value) if value.denominator == 1:
                return int(value)
            case Name(name=name) if name in self._sizes:
                return self._sizes[name]
        raise Rejected("a size must be a whole number or the name of one")

    def _largest(self, arguments: Sequence[Any]) -> Matrix:
        return ((reduce(self._arithmetic.larger, arguments),),)

    def _inverse(self, matrix: Matrix) -> Matrix:
        """Return the inverse by Gauss's elimination, with pivots whose values are known not to vanish."""
        size = _square(matrix)
        rows = [list(a + b) for a, b in zip(matrix, self._identity(size), strict=True)]
        for k in range(size):
            pivot = self._pivot(rows, k)
            rows[k], rows[pivot] = rows[pivot], rows[k]
            scale = self._arithmetic.call("inverse", rows[k][k])
            rows[k] = [entry * scale for entry in rows[k]]
            for i in (i for i in range(size) if i != k):
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
        return tuple(tuple(row[size:]) for row in rows)

    def _pivot(self, rows: Sequence[Sequence[Any]], k: int) -> int:
        for i in range(k, len(rows)):
            try:
                if self._arithmetic.sign(rows[i][k]):
                    return i
            except Rejected:  # a ball that contains zero is no pivot; the next one may be
                continue
        raise Rejected("an inverse does not exist, or is not shown to")


def _entry(matrix: Matrix) -> Any:
    if len(matrix) != 1 or len(matrix[0]) != 1:
        raise Rejected("a matrix stands where a number is needed")
    return matrix[0][0]


def _square(matrix: Matrix) -> int:
    if len(matrix) != len(matrix[0]):
        raise Rejected("a matrix that is not square stands where a square one is needed")
    return len(matrix)


def _negated(matrix: Matrix) -> Matrix:
    return tuple(tuple(-entry for entry in row) for row in matrix)


def transposed(matrix: Matrix) -> Matrix:
    """Return the transpose."""
    return tuple(zip(*matrix, strict=True))


def added(one: Matrix, other: Matrix) -> Matrix:
    """Return the sum of matrices of one shape."""
    if (len(one), len(one[0])) != (len(other), len(other[0])):
        raise Rejected("matrices of different shapes cannot be added")
    return tuple(tuple(a + b for a, b in zip(r, s, strict=True)) for r, s in zip(one, other, strict=True))


def multiplied(one: Matrix, other: Matrix) -> Matrix:
    """Return the product, where a 1 × 1 matrix counts as a number."""
    if len(one[0]) == len(other):
        return tuple(
            tuple(
                reduce(add, (a * b[j] for a, b in zip(row, other, strict=True))) for j in range(len(other[0]))
            )
            for row in one
        )
    if len(one) == len(one[0]) == 1:
        return tuple(tuple(one[0][0] * entry for entry in row) for row in other)
    if len(other) == len(other[0]) == 1:
        return multiplied(other, one)
    raise Rejected("matrices whose shapes do not fit cannot be multiplied")


def _inner(one: Matrix, other: Matrix) -> Matrix:
    if (len(one), len(one[0])) != (len(other), len(other[0])):
        raise Rejected("vectors of different sizes have no inner product")
    pairs = (a * b for r, s in zip(one, other, strict=True) for a, b in zip(r, s, strict=True))
    return ((reduce(add, pairs),),)
