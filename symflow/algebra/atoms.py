"""Letters of the matrix words and the scalar factors made from them: pure data with an ordering.

Every object carries a ``key``, a nested tuple of numbers and strings. Equality, hashing and ordering use
the key alone, so that no result depends on the hash seed of the interpreter.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sympy import Float, Mul, Pow, Rational, cancel, expand, radsimp, srepr

from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.algebra.normal import NormalForm

Coefficient = Any  #: a SymPy scalar free of matrices
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


Scalars = tuple[tuple[Factor, Exponent], ...]
Monomial = tuple[Scalars, Word]


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


@lru_cache(maxsize=4096)
def canonical(value: Any) -> Coefficient:
    """Return the canonical form of a coefficient, so that equal rational functions become equal objects."""
    if isinstance(value, Rational):
        return value
    if isinstance(value, Float):
        return _exact(value)
    if not value.is_finite and value.is_number:
        raise InputError(f"the coefficient {value} is not a finite number")
    if value.has(Float):
        value = value.xreplace({f: _exact(f) for f in value.atoms(Float)})
    expanded = expand(value)
    if _has_sum_below(expanded):
        expanded = expand(radsimp(expanded)) if expanded.is_number else cancel(expanded)
    return expanded


def _exact(value: Any) -> Any:
    return Rational(*float(value).as_integer_ratio())


def _has_sum_below(value: Any) -> bool:
    powers = value.atoms(Pow)
    return any(p.base.is_Add and not p.exp.is_positive for p in powers)


@lru_cache(maxsize=4096)
def coefficient_key(value: Coefficient) -> Key:
    """Return the ordering key of a coefficient (assumptions of its symbols included)."""
    if isinstance(value, Rational):
        return (0, "", int(value.p), int(value.q))
    return (1, srepr(value), 0, 1)


def add_coefficients(a: Coefficient, b: Coefficient) -> Coefficient:
    """Return ``a + b`` in canonical form."""
    total = a + b
    return total if isinstance(total, Rational) else canonical(total)


def multiply_coefficients(a: Coefficient, b: Coefficient) -> Coefficient:
    """Return ``a·b`` in canonical form."""
    if isinstance(a, Rational) and isinstance(b, Rational):
        return a * b
    return canonical(Mul(a, b))
