"""Inverses in normal form: what divides off is inverted letter by letter, the rest becomes one letter."""

from __future__ import annotations

from typing import Any

from sympy import S

from symflow.algebra.words.atoms import INVERSE, ROOT, Atom, Word, word_key
from symflow.algebra.words.coefficients import Coefficient, canonical
from symflow.algebra.words.normal import NormalForm, from_atom, one
from symflow.algebra.words.powers import power
from symflow.errors import InputError

_LETTERS = 60  # most letters that are divided off a matrix before it is inverted


def inverse(matrix: NormalForm) -> NormalForm:
    """Return the inverse in normal form; the matrix is assumed to be invertible.

    Raises
    ------
    InputError
        When the matrix is not square or is identically zero.
    """
    if matrix.is_scalar:
        return power(matrix, -1)
    left, core, right = split_invertible(matrix)
    ahead = _inverse_word(right, core.shape[0])
    behind = _inverse_word(left, core.shape[0])
    if not any(word for _, word in core.terms):
        scalar = NormalForm((S.One, S.One), core.terms)
        return power(scalar, -1) * (ahead * behind)
    if (turned := _rank_one(core)) is not None:
        c = core.terms[(), ()]
        update = one(core.shape[0]) - power(turned, -1) * (core - one(core.shape[0]).scaled(c))
        return ahead * update.scaled(canonical(1 / c)) * behind
    scale = normalising_coefficient(core)
    monic = core.scaled(canonical(1 / scale))
    closed = NormalForm(core.shape, {((), (Atom(None, inner=monic, kind=INVERSE),)): canonical(1 / scale)})
    return ahead * closed * behind


def _rank_one(core: NormalForm) -> NormalForm | None:
    """Return the scalar c + rp for cI + pr with a vector p, else None."""
    for first in (True, False):
        letter = next((w[0] if first else w[-1] for _, w in core.terms if w))
        if letter.cols == 1 if first else letter.rows == 1:
            turned = core.rotated(letter, first)
            if turned is not None:
                return turned
    return None


def _inverse_word(word: Word, size: Any) -> NormalForm:
    result = one(size)
    for atom in reversed(word):
        result = result * inverse_atom(atom)
    return result


def inverse_atom(atom: Atom) -> NormalForm:
    """Return the inverse of one letter."""
    if atom.inner is not None and atom.kind == INVERSE:
        return atom.inner
    if atom.inner is not None and atom.kind == ROOT:  # R⁻¹ = P⁻¹R, so that no letter is an inverted root
        return inverse(atom.inner) * from_atom(atom)
    return from_atom(atom.with_flags(atom.transposed, not atom.inverted))


def normalising_coefficient(core: NormalForm) -> Coefficient:
    """Return what the core is divided by: the identity's coefficient, else the leading one, else 1."""
    identity = core.terms.get(((), ()))
    if identity is not None and not any(s for s, w in core.terms if not w):
        return identity
    found = core.leading()
    return S.One if found is None else found[1]


def split_invertible(matrix: NormalForm) -> tuple[Word, NormalForm, Word]:
    """Write a matrix as ``left · core · right`` with words of invertible letters on both sides.

    A letter is known to be invertible when it is an inverse, or when it is square and divides the
    (invertible) matrix from that side.

    Raises
    ------
    InputError
        When the matrix is not square or is identically zero.
    """
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"only a square matrix can be inverted, got shape {matrix.shape}")
    if not matrix.terms:
        raise InputError("the zero matrix cannot be inverted")
    left: Word = ()
    right: Word = ()
    core = matrix
    for _ in range(_LETTERS):
        atom, on_left = _dividing_letter(core)
        if atom is None:
            break
        if on_left:
            left, core = (*left, atom), inverse_atom(atom) * core
        else:
            right, core = (atom, *right), core * inverse_atom(atom)
    return left, core, right


def _dividing_letter(core: NormalForm) -> tuple[Atom | None, bool]:
    """Return a letter to be divided off, and whether on the left."""
    words = [w for _, w in core.terms]
    filled = [w for w in words if w]
    if not filled:
        return None, True
    complete = len(filled) == len(words)
    for on_left in (True, False):
        ends = {w[0] if on_left else w[-1] for w in filled}
        atom = ends.pop()
        if not ends and (atom.inverted or (complete and atom.rows == atom.cols)):
            return atom, on_left
    inverses = [w for w in filled if all(a.inverted or a.kind == INVERSE for a in w)]
    if complete and inverses:
        return min(inverses, key=word_key)[0], True
    return None, True
