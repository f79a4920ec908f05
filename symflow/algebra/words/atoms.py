"""Letters of the matrix words and the scalar factors made from them: pure data with an ordering.

Every object carries a ``key``, a nested tuple of numbers and strings. Equality, hashing and ordering use
the key alone, so that no result depends on the hash seed of the interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import exp

from symflow.algebra.words.coefficients import coefficient_key

if TYPE_CHECKING:
    from symflow.algebra.words.normal import NormalForm

Exponent = int | Fraction
Key = tuple[Any, ...]


class Keyed:
    """An immutable object that is equal to another of its class exactly when the keys are equal."""

    __slots__ = ("_hash", "key")
    key: Key
    _hash: int

    def _seal(self, key: Key) -> None:
        self.key = key
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the hash, which holds in one process only."""
        names = [n for c in type(self).__mro__ for n in getattr(c, "__slots__", ())]
        return {n: getattr(self, n) for n in names if n != "_hash"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._hash = hash(self.key)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Keyed) or type(self) is not type(other):
            return False
        return self._hash == other._hash and self.key == other.key


SYMBOL, INVERSE, FAMILY, ROOT = range(4)


class Atom(Keyed):
    """One letter: a symbol (perhaps transposed or inverted), or a letter closed around a polynomial P.

    Attributes
    ----------
    kind : int
        ``SYMBOL``, ``INVERSE`` of P, sum of P over a ``FAMILY``, or principal square ``ROOT`` of P.
    symbol : MatrixSymbol or None
        The symbol; None for a closed letter.
    transposed, inverted, symmetric : bool
        Flags of a symbol, the second one of a sum too; a symmetric symbol is never marked transposed.
    inner : NormalForm or None
        The polynomial P of a closed letter.
    members : tuple of MatrixSymbol
        The symbols in P that a family has one of for each index, sorted by name.
    count : Symbol or None
        How many indices the family has.
    shape_class : tuple
        A key that is the same for the atom and for its transpose.
    """

    __slots__ = (
        "_transpose",
        "cols",
        "count",
        "inner",
        "inverted",
        "kind",
        "members",
        "rows",
        "shape_class",
        "symbol",
        "symmetric",
        "transposed",
    )
    _transpose: NormalForm | None

    def __init__(
        self,
        symbol: Any,
        transposed: bool = False,
        inverted: bool = False,
        symmetric: bool = False,
        inner: NormalForm | None = None,
        kind: int = SYMBOL,
        members: tuple[Any, ...] = (),
        count: Any = None,
    ) -> None:
        self.shape_class: Key
        self.kind, self.members, self.count = kind, members, count
        self.symbol, self.inner, self.symmetric = symbol, inner, symmetric
        self.transposed, self.inverted = transposed and not symmetric, inverted
        self._transpose = None
        if inner is not None:
            self.rows, self.cols = inner.shape
            family = (*family_key(members, count), inverted) if kind == FAMILY else ()
            self.shape_class = (kind, inner.transpose_invariant(), *family)
            self._seal((kind, inner.key, *family))
            return
        rows, cols = symbol.shape
        self.rows, self.cols = (cols, rows) if self.transposed else (rows, cols)
        size = (coefficient_key(rows), coefficient_key(cols))
        self.shape_class = (0, str(symbol.name), inverted, symmetric, *size)
        self._seal((*self.shape_class, self.transposed))

    def with_flags(self, transposed: bool, inverted: bool) -> Atom:
        """Return the same symbol with other flags, or the same sum inverted or not."""
        if self.kind == FAMILY:
            return Atom(None, False, inverted, False, self.inner, FAMILY, self.members, self.count)
        return Atom(self.symbol, transposed, inverted, self.symmetric)

    def cancels(self, other: Atom) -> bool:
        """Whether ``self·other`` is the identity because both are one symbol or sum, inverted once."""
        return (
            self.inverted != other.inverted
            and self.inner == other.inner
            and self.members == other.members
            and self.count == other.count
            and self.transposed == other.transposed
            and self.symbol == other.symbol
            and self.symmetric == other.symmetric
        )


Word = tuple[Atom, ...]

BILINEAR, TRACE, FUNCTION, BASE, LOGDET, SUM = range(6)


class Factor(Keyed):
    """A scalar factor: ``uᵀ…v``, ``tr(…)``, ``f(…)``, the base of a power, ``log|det …|``, or a sum.

    Attributes
    ----------
    kind : int
        ``BILINEAR``, ``TRACE``, ``FUNCTION``, ``BASE``, ``LOGDET`` or ``SUM``.
    word : Word
        The letters of the first two kinds.
    function : type or None
        The SymPy class of ``FUNCTION``.
    args : tuple of NormalForm
        The arguments of the other kinds.
    members, count
        Of ``SUM``, as in an atom.
    """

    __slots__ = ("args", "count", "function", "kind", "members", "word")

    def __init__(
        self,
        kind: int,
        word: Word = (),
        function: Any = None,
        args: tuple[NormalForm, ...] = (),
        members: tuple[Any, ...] = (),
        count: Any = None,
    ) -> None:
        self.kind, self.word, self.function, self.args = kind, word, function, args
        self.members, self.count = members, count
        name = "" if function is None else function.__name__
        family = family_key(members, count) if kind == SUM else ()
        self._seal((kind, len(word), tuple(a.key for a in word), name, tuple(a.key for a in args), family))

    @property
    def is_exponential(self) -> bool:
        """Whether this is the exponential of its argument."""
        return self.kind == FUNCTION and self.function is exp


def family_key(members: tuple[Any, ...], count: Any) -> Key:
    """Return the ordering key of the index of a family."""
    return (tuple(str(m.name) for m in members), coefficient_key(count))


def mentions(part: Atom | Factor, symbols: frozenset[Any]) -> bool:
    """Whether a letter or scalar factor depends on one of the matrix symbols.

    A sum does not depend on its own members: its index is bound.
    """
    symbols = symbols - frozenset(part.members)
    if not symbols:
        return False
    if isinstance(part, Atom):
        return part.symbol in symbols if part.inner is None else _form_mentions(part.inner, symbols)
    return any(mentions(a, symbols) for a in part.word) or any(_form_mentions(f, symbols) for f in part.args)


def _form_mentions(form: NormalForm, symbols: frozenset[Any]) -> bool:
    return any(
        any(mentions(a, symbols) for a in word) or any(mentions(f, symbols) for f, _ in scalars)
        for scalars, word in form.terms
    )


Scalars = tuple[tuple[Factor, Exponent], ...]
Monomial = tuple[Scalars, Word]


def scalars_of(powers: Mapping[Factor, Exponent]) -> Scalars:
    """Return scalar factors with their exponents in canonical order."""
    return tuple(sorted(powers.items(), key=lambda item: item[0].key))


def word_key(word: Word) -> Key:
    """Return the degree-lexicographic key of a word."""
    return (len(word), tuple(a.key for a in word))


def leading_key(word: Word) -> Key:
    """Return an ordering key that ties a word with its transpose only, broken by :func:`word_key`."""
    classes = tuple(a.shape_class for a in word)
    return (len(word), min(classes, classes[::-1]), word_key(word))


def monomial_key(monomial: Monomial) -> Key:
    """Return the ordering key of a monomial: word first, then scalar factors."""
    scalars, word = monomial
    return (*word_key(word), tuple((f.key, Fraction(e)) for f, e in scalars))
