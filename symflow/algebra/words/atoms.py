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


class Atom(Keyed):
    """One letter: a symbol (perhaps transposed or inverted) or the inverse of a polynomial.

    Attributes
    ----------
    symbol : MatrixSymbol or None
        The symbol; None for the inverse of a polynomial.
    transposed, inverted, symmetric : bool
        Flags of a symbol; a symmetric symbol is never marked transposed.
    inner : NormalForm or None
        The polynomial P of an atom P⁻¹.
    shape_class : tuple
        A key that is the same for the atom and for its transpose.
    """

    __slots__ = (
        "_transpose",
        "cols",
        "inner",
        "inverted",
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
    ) -> None:
        self.shape_class: Key
        self.symbol, self.inner, self.symmetric = symbol, inner, symmetric
        self.transposed, self.inverted = transposed and not symmetric, inverted
        self._transpose = None
        if inner is not None:
            self.rows, self.cols = inner.shape
            self.shape_class = (1, inner.transpose_invariant())
            self._seal((1, inner.key))
            return
        rows, cols = symbol.shape
        self.rows, self.cols = (cols, rows) if self.transposed else (rows, cols)
        size = (coefficient_key(rows), coefficient_key(cols))
        self.shape_class = (0, str(symbol.name), inverted, symmetric, *size)
        self._seal((*self.shape_class, self.transposed))

    def with_flags(self, transposed: bool, inverted: bool) -> Atom:
        """Return the same symbol with other flags."""
        return Atom(self.symbol, transposed, inverted, self.symmetric)

    def cancels(self, other: Atom) -> bool:
        """Whether ``self·other`` is the identity because both are one symbol, inverted once."""
        return (
            self.inner is None
            and other.inner is None
            and self.inverted != other.inverted
            and self.transposed == other.transposed
            and self.symbol == other.symbol
            and self.symmetric == other.symmetric
        )


Word = tuple[Atom, ...]

BILINEAR, TRACE, FUNCTION, BASE, LOGDET = range(5)


class Factor(Keyed):
    """A scalar factor: ``uᵀ…v``, ``tr(…)``, ``f(…)``, a sum kept as the base of a power, or ``log|det …|``.

    Attributes
    ----------
    kind : int
        ``BILINEAR``, ``TRACE``, ``FUNCTION``, ``BASE`` or ``LOGDET``.
    word : Word
        The letters of the first two kinds.
    function : type or None
        The SymPy class of ``FUNCTION``.
    args : tuple of NormalForm
        The arguments of the last three kinds.
    """

    __slots__ = ("args", "function", "kind", "word")

    def __init__(
        self, kind: int, word: Word = (), function: Any = None, args: tuple[NormalForm, ...] = ()
    ) -> None:
        self.kind, self.word, self.function, self.args = kind, word, function, args
        name = "" if function is None else function.__name__
        self._seal((kind, len(word), tuple(a.key for a in word), name, tuple(a.key for a in args)))

    @property
    def is_exponential(self) -> bool:
        """Whether this is the exponential of its argument."""
        return self.kind == FUNCTION and self.function is exp


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
