"""Matrix words for code generation: an expression as a sum of coefficient · product of letters.

A letter is a named matrix, transposed or not, or the inverse of a sum. Nothing here uses that a covariance
is symmetric: a generated function is then one fixed polynomial map, whose exact derivative is the tangent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Identity, Inverse, MatAdd, MatMul, MatPow, MatrixSymbol, Transpose, ZeroMatrix, cancel
from sympy.matrices.expressions.matexpr import MatrixExpr

from symflow.codegen.program import ONE, Size
from symflow.errors import InputError


@dataclass(frozen=True)
class Letter:
    """One factor of a word; ``inverse`` holds the sum that is inverted, else None."""

    name: str
    rows: Size
    cols: Size
    transposed: bool = False
    inverse: Sum | None = None

    @functools.cached_property
    def key(self) -> str:
        """A text that orders letters and tells them apart."""
        core = self.name if self.inverse is None else f"inv[{self.inverse.key}]"
        return core + "'" if self.transposed else core

    @property
    def T(self) -> Letter:
        """The transpose."""
        return Letter(self.name, self.cols, self.rows, not self.transposed, self.inverse)


Word = tuple[Letter, ...]


def word_key(word: Word) -> str:
    """Return the text of a word."""
    return "·".join(letter.key for letter in word)


def transpose_word(word: Word) -> Word:
    """Return the transpose: reversed letters, each transposed."""
    return tuple(letter.T for letter in reversed(word))


@dataclass(frozen=True)
class Sum:
    """A sum of coefficient · word, sorted by the text of the word; the empty word is the identity."""

    rows: Size
    cols: Size
    terms: tuple[tuple[Expr, Word], ...]

    @functools.cached_property
    def key(self) -> str:
        """A text that tells sums apart."""
        return " + ".join(f"({coefficient}){word_key(word)}" for coefficient, word in self.terms)

    @property
    def T(self) -> Sum:
        """The transpose."""
        return collect(self.cols, self.rows, ((c, transpose_word(w)) for c, w in self.terms))


def size_of(size: Any) -> Size:
    """Return a SymPy size as programs write it: a number, or the name of a symbol."""
    return int(size) if size.is_Integer else str(size)


def collect(rows: Size, cols: Size, terms: Iterable[tuple[Expr, Word]]) -> Sum:
    """Merge equal words, drop those with coefficient zero, and sort."""
    merged: dict[Word, Expr] = {}
    for coefficient, word in terms:
        merged[word] = merged[word] + coefficient if word in merged else coefficient
    kept = []
    for word, coefficient in merged.items():
        exact = cancel(coefficient) if coefficient.is_Add else coefficient
        if exact != 0:
            kept.append((exact, word))
    return Sum(rows, cols, tuple(sorted(kept, key=lambda term: (len(term[1]), word_key(term[1])))))


def identity(size: Size) -> Sum:
    """Return the identity as a sum."""
    return Sum(size, size, ((ONE, ()),))


def symbol(name: str, rows: Size, cols: Size) -> Sum:
    """Return one named matrix as a sum."""
    return Sum(rows, cols, ((ONE, (Letter(name, rows, cols),)),))


def add(*sums: Sum) -> Sum:
    """Return the sum of sums."""
    return collect(sums[0].rows, sums[0].cols, (term for s in sums for term in s.terms))


def scale(factor: Expr, s: Sum) -> Sum:
    """Return ``factor · s``."""
    return collect(s.rows, s.cols, ((factor * c, w) for c, w in s.terms))


def multiply(*sums: Sum) -> Sum:
    """Return the product, multiplied out."""
    terms: list[tuple[Expr, Word]] = [(ONE, ())]
    for s in sums:
        terms = [(c1 * c2, w1 + w2) for c1, w1 in terms for c2, w2 in s.terms]
    return collect(sums[0].rows, sums[-1].cols, terms)


def invert(s: Sum) -> Sum:
    """Return the inverse as one letter; a sum and its transpose share it, so that they share factors."""
    if len(s.terms) == 1 and not s.terms[0][1]:
        return Sum(s.rows, s.cols, ((1 / s.terms[0][0], ()),))
    if not s.terms:
        raise InputError("the inverse of a zero matrix does not exist; check the model's score")
    flipped = s.T
    transposed = flipped.key < s.key
    letter = Letter("", s.rows, s.cols, transposed, flipped if transposed else s)
    return Sum(s.rows, s.cols, ((ONE, (letter,)),))


def derivative(s: Sum, directions: Mapping[str, Sum]) -> Sum:
    """Return the derivative of ``s`` when each named matrix moves in its direction.

    An inverse moves by d(M⁻¹) = −M⁻¹ dM M⁻¹. Differentiating words that are pushed through already keeps
    their small inverses, and terms that cancel exactly never appear.
    """
    terms: list[tuple[Expr, Word]] = []
    for coefficient, word in s.terms:
        for i, letter in enumerate(word):
            moved = _moved(letter, directions)
            terms += [(coefficient * c, word[:i] + w + word[i + 1 :]) for c, w in moved.terms]
    return collect(s.rows, s.cols, terms)


def _moved(letter: Letter, directions: Mapping[str, Sum]) -> Sum:
    if letter.inverse is not None:
        inner = derivative(letter.inverse, directions)
        factor = Sum(letter.rows, letter.cols, ((ONE, (letter,)),))
        return scale(-ONE, multiply(factor, inner.T if letter.transposed else inner, factor))
    if letter.name not in directions:
        return Sum(letter.rows, letter.cols, ())
    moved = directions[letter.name]
    return moved.T if letter.transposed else moved


def expand(expression: Any, bindings: Mapping[str, Sum] | None = None) -> Sum:
    """Multiply out a SymPy matrix expression; ``bindings`` replaces symbols by sums.

    Raises
    ------
    InputError
        If the expression has a node or a coefficient that has no matrix program.
    """
    return _expand(expression, bindings or {})


@functools.singledispatch
def _expand(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    raise InputError(
        f"no code can be generated for {type(node).__name__} in {node}; use sums, products and inverses"
    )


def _rule(kind: type) -> Callable[[Any], Any]:
    return _expand.register(kind)


@_rule(MatrixSymbol)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    if node.name in bindings:
        return bindings[node.name]
    return symbol(node.name, size_of(node.rows), size_of(node.cols))


@_rule(Identity)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    return identity(size_of(node.rows))


@_rule(ZeroMatrix)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    return Sum(size_of(node.rows), size_of(node.cols), ())


@_rule(MatAdd)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    return add(*(_expand(arg, bindings) for arg in node.args))


@_rule(MatMul)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    factor, matrices = node.as_coeff_matrices()
    if factor.has(MatrixExpr):
        raise InputError(f"no code can be generated for the coefficient {factor}; use scalar parameters only")
    return scale(factor, multiply(*(_expand(arg, bindings) for arg in matrices)))


@_rule(Transpose)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    return _expand(node.arg, bindings).T


@_rule(Inverse)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    return invert(_expand(node.arg, bindings))


@_rule(MatPow)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    if not node.exp.is_Integer:
        raise InputError(f"no code can be generated for the power {node}; use integer powers")
    base = _expand(node.base, bindings)
    if node.exp == 0:
        return identity(base.rows)
    return multiply(*[invert(base) if node.exp < 0 else base] * abs(int(node.exp)))
