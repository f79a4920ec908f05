"""Polynomials in matrix words with scalar factors, kept in normal form by rewriting.

A normal form is a sum ``Σ coefficient · (scalar factors) · (word)``. Words are rewritten by ``rules``, and a
factor ``uᵀ…v`` of size 1×1 inside a word becomes a scalar factor. What the rules do not identify is left
apart: equality of normal forms proves equality, never the converse.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from sympy import E, S, exp

from symflow.algebra.words.atoms import (
    BASE,
    BILINEAR,
    FUNCTION,
    ROOT,
    Atom,
    Exponent,
    Factor,
    Key,
    Keyed,
    Monomial,
    Scalars,
    Word,
    leading_key,
    monomial_key,
    scalars_of,
    word_key,
)
from symflow.algebra.words.coefficients import (
    Coefficient,
    add_coefficients,
    canonical,
    coefficient_key,
    exact_number,
    multiply_coefficients,
)
from symflow.algebra.words.restore import to_matrix, to_sympy, vanishes_over_common_denominator
from symflow.algebra.words.rules import replacement
from symflow.errors import InputError

Terms = dict[Monomial, Coefficient]


class Work:
    """A bound on rewriting: where it is exhausted, words stay as they are, which is still correct."""

    __slots__ = ("depth", "left")

    def __init__(self) -> None:
        self.left, self.depth = 4000, 80

    def enter(self) -> bool:
        """Take one step; False when no more may be taken."""
        self.left -= 1
        self.depth -= 1
        return self.left > 0 and self.depth > 0

    def leave(self) -> None:
        """Come back from a step."""
        self.depth += 1


class NormalForm(Keyed):
    """A polynomial in matrix words: hashable, with ``+ - * .T``; scalars have shape ``(1, 1)``.

    Attributes
    ----------
    shape : tuple
        Rows and columns (SymPy integers or symbols).
    terms : dict
        ``{(scalar factors, word): coefficient}`` without zeros, in canonical order.
    """

    __slots__ = ("shape", "terms")

    def __init__(self, shape: tuple[Any, Any], terms: Terms) -> None:
        ordered = sorted(terms, key=monomial_key)
        self.shape = shape
        self.terms = {m: terms[m] for m in ordered}
        body = tuple((monomial_key(m), coefficient_key(c)) for m, c in self.terms.items())
        self._seal((coefficient_key(shape[0]), coefficient_key(shape[1]), body))

    @property
    def is_scalar(self) -> bool:
        """Whether the shape is 1×1."""
        return bool(self.shape[0] == 1 and self.shape[1] == 1)

    @property
    def is_zero(self) -> bool:
        """Whether this is proven to be zero (fractions of scalars are brought to a common denominator)."""
        if not self.terms:
            return True
        return vanishes_over_common_denominator(self)

    def __add__(self, other: NormalForm) -> NormalForm:
        if self.shape != other.shape:
            raise InputError(f"cannot add matrices of shapes {self.shape} and {other.shape}")
        return NormalForm(self.shape, collect([*self.terms.items(), *other.terms.items()]))

    def __neg__(self) -> NormalForm:
        return self.scaled(S.NegativeOne)

    def __sub__(self, other: NormalForm) -> NormalForm:
        return self + (-other)

    def __mul__(self, other: NormalForm) -> NormalForm:
        if self.is_scalar:
            shape = other.shape
        elif other.is_scalar:
            shape = self.shape
        elif self.shape[1] == other.shape[0]:
            shape = (self.shape[0], other.shape[1])
        else:
            raise InputError(f"cannot multiply matrices of shapes {self.shape} and {other.shape}")
        return NormalForm(shape, collect(_products(self.terms, other.terms, Work())))

    def __pow__(self, exponent: int) -> NormalForm:
        result = one(self.shape[0])
        for _ in range(exponent):
            result = result * self
        return result

    @property
    def T(self) -> NormalForm:
        """The transpose."""
        return NormalForm(self.shape[::-1], collect(_transposed_terms(self.terms, Work())))

    def scaled(self, coefficient: Coefficient) -> NormalForm:
        """Return this times a coefficient."""
        pairs = ((m, multiply_coefficients(coefficient, c)) for m, c in self.terms.items())
        return NormalForm(self.shape, collect(pairs))

    def to_sympy(self) -> Any:
        """Return the SymPy expression of the normal form, terms in canonical order."""
        return to_sympy(self)

    def to_matrix(self) -> Any:
        """Return the SymPy expression as a matrix, also where the shape is 1×1."""
        return to_matrix(self)

    def __repr__(self) -> str:
        return f"NormalForm({self.to_sympy()})"

    def transpose_invariant(self) -> Key:
        """Return a key that is the same for this and for its transpose."""
        return tuple(sorted(leading_key(word)[:2] for _, word in self.terms))

    def rotated(self, p: Atom, first: bool = False) -> NormalForm | None:
        """Return cI + pR for cI + Rp (``first``: cI + Rp for cI + pR); None for any other polynomial."""
        if ((), ()) not in self.terms:
            return None
        turned: Terms = {}
        for (scalars, w), c in self.terms.items():
            if (not w and scalars) or (w and (w[0] if first else w[-1]) != p):
                return None
            moved = (*w[1:], p) if first else (p, *w[:-1])
            turned[scalars, moved if w else ()] = c
        size = p.cols if first else p.rows
        if size != 1:
            return NormalForm((size, size), turned)
        pairs = [t for (s, w), c in turned.items() for t in times_scalars(s, c, normalised_word(w, Work()))]
        return NormalForm((S.One, S.One), collect(pairs))

    def intertwined(self, p: Atom) -> NormalForm | None:
        """Return P' with ``p·P = P'·p``, for cI + Rp with roots of such polynomials among its words.

        By functional calculus P = aI + Sp and P' = aI + pS with one scalar a; P' is invertible with P, and
        has a principal root with P, where p is square or a is positive.
        """
        turned: Terms = {}
        positive = p.rows == p.cols
        for (scalars, w), c in self.terms.items():
            moved = _passed(p, w)
            if ((), ()) not in self.terms or moved is None or (not w and scalars):
                return None
            if not positive and (not w or w[0].kind == ROOT) and not c.is_positive:
                return None
            turned[scalars, moved] = c
        return NormalForm((p.rows, p.rows), turned) if p.rows != 1 else None

    def leading(self) -> tuple[Word, Coefficient] | None:
        """Return leading word and its coefficient; None where scalar factors multiply that word."""
        word = max((w for _, w in self.terms), key=leading_key, default=())
        alike = [s for s, w in self.terms if w == word]
        if not word or alike != [()]:
            return None
        return word, self.terms[(), word]


def one(size: Any) -> NormalForm:
    """Return the identity of a size (the scalar 1 for size 1)."""
    return NormalForm((size, size), {((), ()): S.One})


def constant(value: Coefficient) -> NormalForm:
    """Return a scalar constant."""
    value = canonical(value)
    return NormalForm((S.One, S.One), {((), ()): value} if value != 0 else {})


def zero(rows: Any, cols: Any) -> NormalForm:
    """Return the zero matrix."""
    return NormalForm((rows, cols), {})


def from_factor(factor: Factor, exponent: Exponent = 1) -> NormalForm:
    """Return a scalar factor as a scalar normal form."""
    return NormalForm((S.One, S.One), {(((factor, exponent),), ()): S.One})


def from_atom(atom: Atom) -> NormalForm:
    """Return one letter as a normal form."""
    return NormalForm((atom.rows, atom.cols), normalised_word((atom,), Work()))


def collect(pairs: Iterable[tuple[Monomial, Coefficient]]) -> Terms:
    """Add up coefficients of equal monomials and drop zeros."""
    terms: Terms = {}
    for monomial, coefficient in pairs:
        known = terms.get(monomial)
        total = coefficient if known is None else add_coefficients(known, coefficient)
        if total == 0:
            terms.pop(monomial, None)
        else:
            terms[monomial] = total
    return terms


def _products(left: Terms, right: Terms, work: Work) -> list[tuple[Monomial, Coefficient]]:
    pairs: list[tuple[Monomial, Coefficient]] = []
    for (s1, w1), c1 in left.items():
        for (s2, w2), c2 in right.items():
            c = multiply_coefficients(c1, c2)
            words: Terms = normalised_word(w1 + w2, work) if w1 and w2 else {((), w1 or w2): S.One}
            for (scalars, _), c3 in _merge(s1, s2).items():
                pairs.extend(times_scalars(scalars, multiply_coefficients(c, c3), words))
    return pairs


def times_scalars(scalars: Scalars, c: Coefficient, terms: Terms) -> Iterable[tuple[Monomial, Coefficient]]:
    """Multiply terms by a coefficient and scalar factors."""
    for (others, word), c2 in terms.items():
        for (merged, _), c3 in _merge(scalars, others).items():
            yield (merged, word), multiply_coefficients(c, multiply_coefficients(c2, c3))


def _merge(left: Scalars, right: Scalars) -> Terms:
    """Multiply scalar factors: exponents add, exponentials merge, integer powers of sums expand."""
    if not left or not right:
        return {(left or right, ()): S.One}
    powers: dict[Factor, Exponent] = dict(left)
    for factor, exponent in right:
        powers[factor] = powers.get(factor, 0) + exponent
    powers = {f: e for f, e in powers.items() if e != 0}
    special = {f: e for f, e in powers.items() if f.is_exponential or _expands(f, e)}
    if not special or (len(special) == 1 and all(f.is_exponential and e == 1 for f, e in special.items())):
        return {(scalars_of(powers), ()): S.One}
    plain = {f: e for f, e in powers.items() if f not in special}
    result = NormalForm((S.One, S.One), {(scalars_of(plain), ()): S.One})
    argument = zero(S.One, S.One)
    for factor, exponent in special.items():
        if factor.is_exponential:
            argument = argument + factor.args[0].scaled(exact_number(exponent))
        else:
            result = result * factor.args[0] ** int(exponent)
    return (result * exponential(argument)).terms


def _expands(factor: Factor, exponent: Exponent) -> bool:
    return factor.kind == BASE and exponent > 0 and Fraction(exponent).denominator == 1


def exponential(argument: NormalForm) -> NormalForm:
    """Return exp of a scalar; the constant part of the argument goes to the coefficient."""
    rest = {m: c for m, c in argument.terms.items() if m != ((), ())}
    front = canonical(E ** argument.terms.get(((), ()), S.Zero))
    if not rest:
        return constant(front)
    inner = NormalForm(argument.shape, rest)
    return from_factor(Factor(FUNCTION, function=exp, args=(inner,))).scaled(front)


def normalised_word(word: Word, work: Work) -> Terms:
    """Rewrite a word until no rule applies."""
    cut = _inner_scalar(word)
    if cut is not None and cut != (0, len(word)):
        i, j = cut
        rest = normalised_word(word[:i] + word[j:], work)
        return collect(_products(normalised_word(word[i:j], work), rest, work))
    pairs: list[tuple[Monomial, Coefficient]] = []
    hit = replacement(word, _closed()) if work.enter() else None
    for c, scalars, other in hit or ():
        pairs.extend(times_scalars(scalars, c, normalised_word(other, work)))
    work.leave()
    if hit is not None:
        return collect(pairs)
    return _bilinear(word, work) if cut is not None else {((), word): S.One}


def _inner_scalar(word: Word) -> tuple[int, int] | None:
    """Return the slice of the first 1×1 subword, from a letter with one row to one with one column."""
    start = None
    for i, atom in enumerate(word):
        if atom.rows == 1:
            start = i
        if atom.cols == 1 and start is not None:
            return start, i + 1
    return None


def _passed(p: Atom, word: Word) -> Word | None:
    """Return w' with ``p·w = w'·p`` for a word of roots that p passes and perhaps a tail that ends with p."""
    if not word:
        return ()
    if word[0].kind != ROOT or word[0].inner is None:
        return (p, *word[:-1]) if word[-1] == p else None
    inner = word[0].inner.intertwined(p)
    tail = _passed(p, word[1:])
    return None if inner is None or tail is None else (Atom(None, inner=inner, kind=ROOT), *tail)


def _transposed_terms(terms: Terms, work: Work) -> list[tuple[Monomial, Coefficient]]:
    pairs: list[tuple[Monomial, Coefficient]] = []
    for (scalars, word), c in terms.items():
        words = transposed_word(word, work)
        pairs.extend(times_scalars(scalars, c, words))
    return pairs


def transposed_word(word: Word, work: Work) -> Terms:
    """Return the transpose of a word, rewritten."""
    if not any(a.inner is not None for a in word):
        return normalised_word(tuple(transposed_symbol(a) for a in reversed(word)), work)
    result: Terms = {((), ()): S.One}
    for atom in reversed(word):
        result = collect(_products(result, _transposed_atom(atom, work), work))
    return result


def transposed_symbol(atom: Atom) -> Atom:
    """Return the transpose of a letter that is not closed."""
    return atom if atom.symmetric else atom.with_flags(not atom.transposed, atom.inverted)


def _transposed_atom(atom: Atom, work: Work) -> Terms:
    if atom.inner is None:
        return {((), (transposed_symbol(atom),)): S.One}
    if atom._transpose is None:
        atom._transpose = _closed().transposed_letter(atom)
    return atom._transpose.terms


def _bilinear(word: Word, work: Work) -> Terms:
    """Return the scalar uᵀ…v by the smaller of the word and its transpose."""
    summed: NormalForm | None = _closed().summed_scalar(word)
    if summed is not None:
        return summed.terms
    other = _transposed_open(word, work)
    single = single_word(other)
    if single is not None:
        word = min(word, single, key=word_key)
    elif max(word_key(w) for _, w in other) < word_key(word):
        pairs: list[tuple[Monomial, Coefficient]] = []
        for (scalars, shorter), c in other.items():
            pairs.extend(times_scalars(scalars, c, _bilinear(shorter, work)))
        return collect(pairs)
    return {(((Factor(BILINEAR, word), 1),), ()): S.One}


def _transposed_open(word: Word, work: Work) -> Terms:
    """Transpose a 1×1 word and rewrite its inside, keeping the two vectors as the ends of the words."""
    u, v = (_transposed_end(a, work) for a in (word[-1], word[0]))
    if u is None or v is None:
        return {((), word): S.One}
    if len(word) < 3:
        return {((), (u, v)): S.One}
    return {(s, (u, *w, v)): c for (s, w), c in transposed_word(word[1:-1], work).items()}


def _transposed_end(atom: Atom, work: Work) -> Atom | None:
    """Return the transpose of a vector where it is one letter, else None."""
    single = single_word(_transposed_atom(atom, work))
    return single[0] if single is not None and len(single) == 1 else None


def single_word(terms: Terms) -> Word | None:
    """Return the only word of terms that are one word with coefficient 1."""
    ((scalars, word), c), *more = terms.items() or [(((), ()), S.Zero)]
    return word if not more and not scalars and c == 1 else None


def _closed() -> Any:
    # Words and closed letters are defined by each other: a closed letter is built by multiplying words.
    from symflow.algebra.words import closed

    return closed
