"""Matrix words for code generation: an expression as a sum of coefficient · product of letters.

A letter is a named matrix, transposed or not, or made of sums: an inverse, a principal square root (or its
derivative), a sum over a family, a trace times the identity. Nothing here uses that a covariance is
symmetric: a generated function is then one fixed analytic map, whose exact derivative is the tangent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sympy import (
    Add,
    Expr,
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixSymbol,
    Mul,
    Trace,
    Transpose,
    ZeroMatrix,
    cancel,
    sqrt,
)
from sympy import expand as expand_scalar
from sympy.matrices.expressions.matexpr import MatrixExpr

from symflow.algebra.families import FamilySum
from symflow.codegen.program import ONE, Size
from symflow.errors import InputError


@dataclass(frozen=True)
class Family:
    """``Σ_h body``: the letters called ``members`` stand for the h-th of ``count`` matrices."""

    body: Sum
    members: frozenset[str]
    count: Size


@dataclass(frozen=True)
class Letter:
    """One factor of a word.

    Attributes
    ----------
    name : str
        Of a named matrix, empty for the others.
    inverse : Sum or None
        The sum that is inverted.
    root : Sum or None
        The sum whose principal square root R this is.
    moved : Sum or None
        With ``root``: the letter is the solution X of RX + XR = moved, which is how R moves.
    family : Family or None
        A sum over a family; never transposed, since its body is.
    trace : Sum or None
        The letter is tr(trace)·I; it commutes and stands first in its word.
    """

    name: str
    rows: Size
    cols: Size
    transposed: bool = False
    inverse: Sum | None = None
    root: Sum | None = None
    moved: Sum | None = None
    family: Family | None = None
    trace: Sum | None = None

    @functools.cached_property
    def key(self) -> str:
        """A text that orders letters and tells them apart."""
        return self._core + "'" if self.transposed else self._core

    @property
    def _core(self) -> str:
        if self.family is not None:
            return f"sum[{self.family.count}: {self.family.body.key}]"
        kinds = (("inv", self.inverse), ("root", self.root), ("of", self.moved), ("tr", self.trace))
        return self.name or "".join(f"{kind}[{inner.key}]" for kind, inner in kinds if inner is not None)

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The named matrices in it."""
        if self.family is not None:
            return self.family.body.names
        inner = [s for s in (self.inverse, self.root, self.moved, self.trace) if s is not None]
        return frozenset().union(*(s.names for s in inner)) if inner else frozenset({self.name})

    @property
    def T(self) -> Letter:
        """The transpose."""
        if self.family is not None:
            return family_letter(self.family.body.T, self.family.members, self.family.count)
        if self.trace is not None:
            return self
        return replace(self, rows=self.cols, cols=self.rows, transposed=not self.transposed)


Word = tuple[Letter, ...]


def family_letter(body: Sum, members: Iterable[str], count: Size) -> Letter:
    """Return the sum of ``body`` over a family as a letter."""
    return Letter("", body.rows, body.cols, family=Family(body, frozenset(members), count))


def word_key(word: Word) -> str:
    """Return the text of a word."""
    return "·".join(letter.key for letter in word)


def transpose_word(word: Word) -> Word:
    """Return the transpose: reversed letters, each transposed; traces stay in front."""
    first = next((i for i, letter in enumerate(word) if letter.trace is None), len(word))
    turned = tuple(letter.T for letter in reversed(word[first:]))
    return tuple(_resized(letter, turned) for letter in word[:first]) + turned


def _resized(scalar: Letter, word: Word) -> Letter:
    """Return a trace times the identity that fits in front of ``word``."""
    return replace(scalar, rows=word[0].rows, cols=word[0].rows) if word else scalar


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

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The named matrices in it."""
        return frozenset().union(*(letter.names for _, word in self.terms for letter in word))

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
    for coefficient, word in _families_together(rows, cols, terms):
        merged[word] = merged[word] + coefficient if word in merged else coefficient
    kept = []
    for word, coefficient in merged.items():
        exact = cancel(coefficient) if coefficient.is_Add else coefficient
        if exact != 0:
            kept.append((exact, word))
    return Sum(rows, cols, tuple(sorted(kept, key=lambda term: (len(term[1]), word_key(term[1])))))


def _families_together(
    rows: Size, cols: Size, terms: Iterable[tuple[Expr, Word]]
) -> Iterator[tuple[Expr, Word]]:
    """Yield the terms with all sums over families of one size as one: they need one loop."""
    found: dict[Size, list[tuple[Expr, Family]]] = {}
    for coefficient, word in terms:
        if len(word) == 1 and word[0].family is not None:
            found.setdefault(word[0].family.count, []).append((coefficient, word[0].family))
        else:
            yield coefficient, word
    for count, families in found.items():
        body = collect(rows, cols, ((k * c, w) for k, family in families for c, w in family.body.terms))
        if body.terms:
            yield ONE, (family_letter(body, frozenset().union(*(f.members for _, f in families)), count),)


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
    """Return the product, multiplied out; a sum over a family takes its neighbours into its body."""
    terms: list[tuple[Expr, Word]] = [(ONE, ())]
    for s in sums:
        terms = [(c1 * c2, w1 + w2) for c1, w1 in terms for c2, w2 in s.terms]
    return collect(sums[0].rows, sums[-1].cols, ((c, _arranged(w)) for c, w in terms))


def _arranged(word: Word) -> Word:
    """Return the word with its traces in front, or inside its only family."""
    scalars = tuple(letter for letter in word if letter.trace is not None)
    rest = tuple(letter for letter in word if letter.trace is None)
    places = [i for i, letter in enumerate(rest) if letter.family is not None]
    if len(places) == 1 and len(word) > 1:
        (i,) = places
        family = rest[i].family
        assert family is not None
        before = tuple(_resized(letter, rest) for letter in scalars) + rest[:i]
        terms = ((c, _arranged(before + w + rest[i + 1 :])) for c, w in family.body.terms)
        body = collect(rest[0].rows, rest[-1].cols, terms)
        return (family_letter(body, family.members, family.count),)
    if not scalars:
        return word
    return tuple(sorted((_resized(s, rest) for s in scalars), key=lambda s: s.key)) + rest


def invert(s: Sum) -> Sum:
    """Return the inverse as one letter; a sum and its transpose share it, so that they share factors."""
    if len(s.terms) == 1 and not s.terms[0][1]:
        return Sum(s.rows, s.cols, ((1 / s.terms[0][0], ()),))
    if not s.terms:
        raise InputError("the inverse of a zero matrix does not exist; check the model's score")
    inner, transposed = _oriented(s)
    return _alone(Letter("", s.rows, s.cols, transposed, inverse=inner))


def square_root(s: Sum) -> Sum:
    """Return the principal square root as one letter, shared like an inverse."""
    if not s.terms:
        return s
    if len(s.terms) == 1 and not s.terms[0][1]:
        return Sum(s.rows, s.cols, ((sqrt(s.terms[0][0]), ()),))
    inner, transposed = _oriented(s)
    return _alone(Letter("", s.rows, s.cols, transposed, root=inner))


def trace(s: Sum, size: Size) -> Sum:
    """Return ``tr(s)·I`` of the given size."""
    if not s.terms:
        return Sum(size, size, ())
    inner, _ = _oriented(s)
    return _alone(Letter("", size, size, trace=inner))


def _oriented(s: Sum) -> tuple[Sum, bool]:
    """Return the sum or its transpose, whichever sorts first, and whether it was turned."""
    flipped = s.T
    return (flipped, True) if flipped.key < s.key else (s, False)


def _alone(letter: Letter) -> Sum:
    return Sum(letter.rows, letter.cols, ((ONE, (letter,)),))


def derivative(s: Sum, directions: Mapping[str, Sum]) -> Sum:
    """Return the derivative of ``s`` when each named matrix moves in its direction.

    An inverse moves by d(M⁻¹) = −M⁻¹ dM M⁻¹, a root R of M by the X with RX + XR = dM. Differentiating words
    that are pushed through already keeps their small sizes, and terms that cancel exactly never appear.
    """
    terms: list[tuple[Expr, Word]] = []
    for coefficient, word in s.terms:
        for i, letter in enumerate(word):
            moved = _moved(letter, directions)
            terms += [(coefficient * c, _arranged(word[:i] + w + word[i + 1 :])) for c, w in moved.terms]
    return collect(s.rows, s.cols, terms)


def _moved(letter: Letter, directions: Mapping[str, Sum]) -> Sum:
    if letter.inverse is not None:
        inner = derivative(letter.inverse, directions)
        factor = _alone(letter)
        return scale(-ONE, multiply(factor, inner.T if letter.transposed else inner, factor))
    if letter.root is not None:
        inner = derivative(letter.root, directions)
        return _alone(replace(letter, moved=inner)) if inner.terms else Sum(letter.rows, letter.cols, ())
    if letter.trace is not None:
        return trace(derivative(letter.trace, directions), letter.rows)
    if letter.family is not None:
        body = derivative(letter.family.body, directions)
        return collect(
            letter.rows,
            letter.cols,
            [(ONE, (family_letter(body, letter.family.members, letter.family.count),))],
        )
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
    product = multiply(*(_expand(arg, bindings) for arg in matrices))
    if not factor.has(MatrixExpr):
        return scale(factor, product)
    parts = [scale(c, multiply(*s, product)) for c, s in _scalar_terms(factor, product.rows, bindings)]
    return add(*parts)


def _scalar_terms(factor: Any, size: Size, bindings: Mapping[str, Sum]) -> Iterator[tuple[Expr, list[Sum]]]:
    """Yield the terms of a polynomial in traces: a coefficient and ``tr(·)·I`` for each trace."""
    for term in Add.make_args(expand_scalar(factor)):
        coefficient, traces = ONE, []
        for base, power in (part.as_base_exp() for part in Mul.make_args(term)):
            if not base.has(MatrixExpr):
                coefficient *= base**power
            elif isinstance(base, Trace) and power.is_Integer and power > 0:
                traces += [trace(_expand(base.arg, bindings), size)] * int(power)
            else:
                raise InputError(
                    f"no code can be generated for the coefficient {base**power}; use polynomials in traces"
                )
        yield coefficient, traces


@_rule(Transpose)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    return _expand(node.arg, bindings).T


@_rule(Inverse)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    return invert(_expand(node.arg, bindings))


@_rule(MatPow)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    halves = 2 * node.exp
    if not halves.is_Integer:
        raise InputError(f"no code can be generated for the power {node}; use multiples of 1/2")
    base = _expand(node.base, bindings)
    if halves == 0:
        return identity(base.rows)
    if halves % 2:
        base = square_root(base)
    else:
        halves = halves / 2
    return multiply(*[invert(base) if halves < 0 else base] * abs(int(halves)))


@_rule(FamilySum)
def _(node: Any, bindings: Mapping[str, Sum]) -> Sum:
    body = _expand(node.body, bindings)
    nested = any(letter.family is not None for _, word in body.terms for letter in word)
    if nested:
        raise InputError(f"no code can be generated for {node}: a sum over heads inside another one")
    letter = family_letter(body, (member.name for member in node.members), size_of(node.count))
    return collect(body.rows, body.cols, [(ONE, (letter,))])
