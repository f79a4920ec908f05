r"""The energy of n tokens by its definition, at tokens whose coordinates are series.

.. math:: F = \frac{1}{2n^2}\sum_{i,j=1}^n W(x_i, x_j) + \frac1n\sum_i U(x_i)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add

from symflow.algebra.text.syntax import Call, Name, Node, Number, Power, Product, Sum, Transposed, read
from symflow.certify.taylor.hyperdual import Hyperdual, Hyperduals
from symflow.certify.taylor.matrices import Evaluation, Matrix
from symflow.certify.terms import Rejected

TOKENS = ("x", "y")
Rows = Sequence[Sequence[Fraction]]
Token = tuple[Hyperdual, ...]


@dataclass(frozen=True)
class TokenEnergy:
    """W and U as texts, and rational values of their parameters as rows (a number is one row of one).

    Attributes
    ----------
    pair, potential : str
        Empty where there is none.
    parameters : Mapping of str to rows of Fraction
    """

    pair: str
    potential: str
    parameters: Mapping[str, Rows]

    @property
    def is_invariant(self) -> bool:
        """Whether tokens occur in inner products of tokens only, so that rotations change nothing."""
        return all(_invariant(read(text)) for text in (self.pair, self.potential) if text)

    def at(self, series: Hyperduals, count: int, size: int) -> Evaluated:
        """Return the energy of ``count`` tokens in ``size`` dimensions in an arithmetic."""
        values = {
            name: tuple(tuple(series.number(entry) for entry in row) for row in rows)
            for name, rows in self.parameters.items()
        }
        trees = [read(text) if text else None for text in (self.pair, self.potential)]
        return Evaluated(series, trees[0], trees[1], values, count, size)


@dataclass(frozen=True)
class Evaluated:
    """The energy in one arithmetic."""

    series: Hyperduals
    pair: Node | None
    potential: Node | None
    values: Mapping[str, Matrix]
    count: int
    size: int

    def terms_with(self, tokens: Sequence[Token], moved: frozenset[int] = frozenset()) -> Hyperdual:
        """Return the terms that contain every token of ``moved``: only these have its mixed derivative."""
        terms = []
        if self.pair is not None:
            weight = Fraction(1, 2 * self.count**2)
            terms += [
                self._term(self.pair, (tokens[i], tokens[j]), weight)
                for i in range(self.count)
                for j in range(self.count)
                if moved <= {i, j}
            ]
        if self.potential is not None:
            weight = Fraction(1, self.count)
            terms += [
                self._term(self.potential, (tokens[i],), weight) for i in range(self.count) if moved <= {i}
            ]
        return reduce(add, terms, self.series.number(Fraction(0)))

    def _term(self, tree: Node, tokens: Sequence[Token], weight: Fraction) -> Hyperdual:
        placed = {
            name: tuple((entry,) for entry in token) for name, token in zip(TOKENS, tokens, strict=False)
        }
        found: Hyperdual = Evaluation(self.series, {**self.values, **placed}, {"d": self.size}).number(tree)
        return self.series.number(weight) * found


def combination(node: Node) -> tuple[tuple[int, str], ...] | None:
    """Return signs and names of a sum of tokens such as ``x - y``; None for anything else.

    Examples
    --------
    >>> combination(read("x - y")), combination(read("A*x"))
    (((1, 'x'), (-1, 'y')), None)
    """
    match node:
        case Name(name=name) if name in TOKENS:
            return ((1, name),)
        case Sum(terms=terms):
            parts = [(sign, combination(term)) for sign, term in terms]
            if all(part is not None for _, part in parts):
                return tuple((sign * s, name) for sign, part in parts for s, name in part or ())
    return None


def _invariant(node: Node) -> bool:
    """Whether tokens and their sums are arguments of dot and norm2 alone, with no matrix between them."""
    match node:
        case Call(function="dot" | "norm2", arguments=arguments):
            return all(combination(argument) is not None for argument in arguments)
        case Call(arguments=arguments):
            return all(_invariant(argument) for argument in arguments)
        case Name(name=name):
            return name not in TOKENS
        case Number():
            return True
        case Sum(terms=terms):
            return all(_invariant(term) for _, term in terms)
        case Product(factors=factors):
            return all(_invariant(factor) for _, factor in factors)
        case Power(base=base):
            return _invariant(base)
        case Transposed(operand=operand):
            return _invariant(operand)
    raise Rejected(f"{type(node).__name__} cannot be part of an energy")
