"""Letters that are closed around a polynomial: principal square roots, and sums over a family.

Both are made from normal forms and are letters of normal forms, so this module stands above ``normal`` and
is handed to the rewriting rules from there.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Pow, S, Symbol

from symflow.algebra.words.atoms import (
    BILINEAR,
    FAMILY,
    INVERSE,
    ROOT,
    SUM,
    TRACE,
    Atom,
    Factor,
    Scalars,
    Word,
    mentions,
)
from symflow.algebra.words.coefficients import Coefficient, canonical
from symflow.algebra.words.inverses import inverse, normalising_coefficient
from symflow.algebra.words.normal import NormalForm, Work, constant, from_factor, normalised_word, one, zero
from symflow.algebra.words.powers import power
from symflow.algebra.words.traces import trace
from symflow.errors import InputError

__all__ = ["absorbed", "family_sum", "inverse", "square_root", "summed_scalar", "transposed_letter"]

Members = tuple[Any, ...]


def transposed_letter(atom: Atom) -> NormalForm:
    """Return the transpose of a closed letter."""
    if atom.inner is None:
        raise InputError(f"{atom.symbol} is not a closed letter")
    mirrored = atom.inner.T
    if atom.kind == INVERSE:
        return inverse(mirrored)
    if atom.kind == ROOT:
        return square_root(mirrored)
    turned = family_sum(mirrored, atom.members, atom.count)
    return inverse(turned) if atom.inverted else turned


# ---- roots -----------------------------------------------------------------------------------------


def square_root(matrix: NormalForm) -> NormalForm:
    """Return the principal square root, which is taken to exist.

    Raises
    ------
    InputError
        When the matrix is not square.
    """
    if matrix.is_scalar:
        return power(matrix, Fraction(1, 2))
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"only a square matrix has a square root, got shape {matrix.shape}")
    if not matrix.terms:
        return matrix
    size = matrix.shape[0]
    if not any(word for _, word in matrix.terms):
        return power(NormalForm((S.One, S.One), matrix.terms), Fraction(1, 2)) * one(size)
    scale = normalising_coefficient(matrix)
    scale = scale if scale.is_positive else S.One
    monic = matrix.scaled(canonical(1 / scale))
    letter = Atom(None, inner=monic, kind=ROOT)
    return NormalForm(matrix.shape, {((), (letter,)): canonical(Pow(scale, S.Half))})


# ---- sums over a family ----------------------------------------------------------------------------


def family_sum(form: NormalForm, members: Members, count: Symbol) -> NormalForm:
    """Return the sum of a polynomial over the index that its ``members`` carry.

    What does not depend on the index stands outside: scalar factors, and the letters before the first and
    after the last member of every word. A term without members is multiplied by the count.
    """
    total = zero(*form.shape)
    for (scalars, word), c in form.terms.items():
        total = total + _sum_of_term(scalars, word, c, form.shape, members, count)
    return total


def _sum_of_term(
    scalars: Scalars, word: Word, c: Coefficient, shape: tuple[Any, Any], members: Members, count: Symbol
) -> NormalForm:
    own = frozenset(members)
    inside = tuple((f, e) for f, e in scalars if mentions(f, own))
    outside = tuple((f, e) for f, e in scalars if not mentions(f, own))
    front = NormalForm((S.One, S.One), {(outside, ()): c})
    places = [i for i, atom in enumerate(word) if mentions(atom, own)]
    if places:
        middle = slice(places[0], places[-1] + 1)
        letter = _letter(inside, word[middle], members, count)
        summed = (*word[: places[0]], letter, *word[places[-1] + 1 :])
        return front * NormalForm(shape, normalised_word(summed, Work()))
    size = _sum_of_scalars(inside, members, count) if inside else constant(count)
    return front * size * NormalForm(shape, {((), word): S.One})


def _letter(scalars: Scalars, word: Word, members: Members, count: Symbol) -> Atom:
    inner = NormalForm((word[0].rows, word[-1].cols), {(scalars, word): S.One})
    return Atom(None, inner=inner, kind=FAMILY, members=_occurring(inner, members), count=count)


def _occurring(form: NormalForm, members: Members) -> Members:
    """Return the members that the only term of a form depends on, sorted by name."""
    ((scalars, word),) = form.terms
    parts: tuple[Atom | Factor, ...] = (*word, *(f for f, _ in scalars))
    found = [m for m in members if any(mentions(part, frozenset((m,))) for part in parts)]
    return tuple(sorted(found, key=lambda m: str(m.name)))


def _sum_of_scalars(scalars: Scalars, members: Members, count: Symbol) -> NormalForm:
    """Return the sum of a product of scalar factors, all of which contain members.

    Of one factor ``uᵀ…v`` or ``tr(…)`` the letters without members are taken out, where that can be done in
    one way only; everything else is summed as a whole.
    """
    factor, exponent = scalars[0]
    own = frozenset(members)
    if len(scalars) == 1 and exponent == 1 and factor.kind in (BILINEAR, TRACE):
        word = factor.word
        places = [i for i, atom in enumerate(word) if mentions(atom, own)]
        if factor.kind == TRACE:
            return _sum_of_trace(word, places, members, count)
        if len(places) < len(word) and (places[0] > 0 or places[-1] < len(word) - 1):
            letter = _letter((), word[places[0] : places[-1] + 1], members, count)
            summed = (*word[: places[0]], letter, *word[places[-1] + 1 :])
            return NormalForm((S.One, S.One), normalised_word(summed, Work()))
    return _whole(scalars, members, count)


def _sum_of_trace(word: Word, places: list[int], members: Members, count: Symbol) -> NormalForm:
    n = len(word)
    starts = [i for i in places if (i - 1) % n not in places]
    if len(starts) != 1:  # only members, or several gaps between them
        return _whole(((Factor(TRACE, word), 1),), members, count)
    turned = word[starts[0] :] + word[: starts[0]]
    letter = _letter((), turned[: len(places)], members, count)
    summed = (letter, *turned[len(places) :])
    return trace(NormalForm((letter.rows, letter.rows), normalised_word(summed, Work())))


def _whole(scalars: Scalars, members: Members, count: Symbol) -> NormalForm:
    form = NormalForm((S.One, S.One), {(scalars, ()): S.One})
    return from_factor(Factor(SUM, args=(form,), members=_occurring(form, members), count=count))


def summed_scalar(word: Word) -> NormalForm | None:
    """Return the trace of a word, summed as a whole, if its only sum has gaps between members; else None.

    A summand of scalar factors, or with letters without members between the members, has several ways of
    taking letters out; under a trace or between two vectors it is summed as a whole instead.
    """
    sums = [i for i, atom in enumerate(word) if atom.kind == FAMILY]
    if len(sums) != 1:
        return None
    i, atom = sums[0], word[sums[0]]
    own = frozenset(atom.members)
    if atom.inner is None or atom.inverted or not _has_gaps(atom) or any(mentions(a, own) for a in word):
        return None
    summand = trace(_product(word[:i], atom.inner, word[i + 1 :]))
    return family_sum(summand, atom.members, atom.count)


def _product(before: Word, middle: NormalForm, after: Word) -> NormalForm:
    if before:
        middle = NormalForm((before[0].rows, before[-1].cols), {((), before): S.One}) * middle
    if after:
        middle = middle * NormalForm((after[0].rows, after[-1].cols), {((), after): S.One})
    return middle


def _has_gaps(atom: Atom) -> bool:
    """Whether a summand has scalar factors, or letters without members between its members."""
    if atom.inner is None:
        return False
    ((scalars, word),) = atom.inner.terms
    own = frozenset(atom.members)
    return bool(scalars) or not all(mentions(letter, own) for letter in word)


def absorbed(word: Word, i: int) -> tuple[int, int, NormalForm] | None:
    """Return (start, end, sum) where the sum at ``i`` and a neighbour simplify as one sum; else None."""
    atom = word[i]
    if atom.inner is None or atom.inverted:
        return None
    ((scalars, core),) = atom.inner.terms
    own = frozenset(atom.members)
    if not any(letter.inner is not None for letter in core):
        return None
    for start, end in ((i, i + 2), (i - 1, i + 1)):
        pair = word[max(start, 0) : end]
        if len(pair) < 2 or any(mentions(a, own) for a in pair) or pair[0].rows == 1 == pair[1].cols:
            continue
        before, after = word[start:i], word[i + 1 : end]
        product = _product(before, atom.inner, after)
        if product.terms != {(scalars, (*before, *core, *after)): S.One}:
            return start, end, family_sum(product, atom.members, atom.count)
    return None
