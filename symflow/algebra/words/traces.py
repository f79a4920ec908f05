"""Traces and determinants of matrix polynomials, canonical under rotation and transposition."""

from __future__ import annotations

from typing import Any

from sympy import S, log

from symflow.algebra.words.atoms import (
    INVERSE,
    LOGDET,
    ROOT,
    TRACE,
    Atom,
    Factor,
    Key,
    Monomial,
    Word,
    word_key,
)
from symflow.algebra.words.coefficients import Coefficient, canonical
from symflow.algebra.words.inverses import normalising_coefficient, split_invertible
from symflow.algebra.words.normal import (
    NormalForm,
    Terms,
    Work,
    collect,
    constant,
    from_atom,
    from_factor,
    normalised_word,
    one,
    single_word,
    times_scalars,
    transposed_symbol,
    transposed_word,
    zero,
)
from symflow.algebra.words.powers import scalar_content
from symflow.errors import InputError

_ORBIT = 60  # most words that are looked at for the representative of a trace


def trace(matrix: NormalForm) -> NormalForm:
    """Return the trace, canonical under rotation and transposition of each word.

    Raises
    ------
    InputError
        When the matrix is not square.
    """
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"the trace needs a square matrix, got shape {matrix.shape}")
    if matrix.is_scalar:
        return matrix
    pairs: list[tuple[Monomial, Coefficient]] = []
    for (scalars, word), c in matrix.terms.items():
        pairs.extend(times_scalars(scalars, c, _trace_word(word, matrix.shape[0], Work())))
    return NormalForm((S.One, S.One), collect(pairs))


def _trace_word(word: Word, size: Any, work: Work) -> Terms:
    if not word:
        return {((), ()): canonical(size)}
    for r, atom in enumerate(word):
        if atom.rows == 1:
            return normalised_word(word[r:] + word[:r], work)
    summed: NormalForm | None = _closed().summed_scalar(word)
    if summed is not None:
        return summed.terms
    weight = _weight(word)
    for r in range(1, len(word)):
        turned = word[r:] + word[:r]
        hit = normalised_word(turned, work)
        if all(_weight(w) < weight for _, w in hit):
            return _trace_terms(hit, turned[0].rows, work)
    best = min(_orbit(word, work), key=word_key)
    return {(((Factor(TRACE, best), 1),), ()): S.One}


def _closed() -> Any:
    # As in ``normal``: the trace of a word with a sum is a sum of traces.
    from symflow.algebra.words import closed

    return closed


def _trace_terms(terms: Terms, size: Any, work: Work) -> Terms:
    pairs: list[tuple[Monomial, Coefficient]] = []
    for (scalars, word), c in terms.items():
        pairs.extend(times_scalars(scalars, c, _trace_word(word, size, work)))
    return collect(pairs)


def _weight(word: Word) -> Key:
    """Return a measure that rotation and transposition leave alone."""
    return (len(word), tuple(sorted(a.shape_class for a in word)))


def _orbit(word: Word, work: Work) -> list[Word]:
    """Return words with the same trace: rotations, transposes and pushed inverses."""
    seen = {word: None}
    queue = [word]
    plain = not any(a.inner is not None for a in word)
    while queue and len(seen) < _ORBIT:
        current = queue.pop()
        neighbours: list[Word | None] = [current[1:] + current[:1]]
        if plain:
            neighbours.append(tuple(transposed_symbol(a) for a in reversed(current)))
        else:
            neighbours.append(single_word(transposed_word(current, work)))
            neighbours.append(single_word(normalised_word(current, work)))
        for other in neighbours:
            if other is not None and other not in seen:
                seen[other] = None
                queue.append(other)
    return list(seen)


def log_determinant(matrix: NormalForm) -> NormalForm:
    """Return ``log|det|`` in normal form: products split, ``det(I + RP) = det(I + PR)`` used.

    Raises
    ------
    InputError
        When the matrix is not square or is identically zero.
    """
    total = zero(S.One, S.One)
    if matrix.is_scalar and matrix.terms:
        content, matrix = scalar_content(matrix)
        for factor, exponent in content.items():
            value = from_factor(Factor(LOGDET, args=(from_factor(factor),)))
            total = total + value.scaled(S(int(exponent)))
    left, core, right = split_invertible(matrix)
    for atom in left + right:
        total = total + _log_of_atom(atom)
    scale = normalising_coefficient(core)
    if scale != 1:
        total = total + constant(core.shape[0] * log(abs(scale)))
        core = core.scaled(canonical(1 / scale))
    if core == one(core.shape[0]):
        return total
    return total + from_factor(Factor(LOGDET, args=(_determinant_representative(core),)))


def _log_of_atom(atom: Atom) -> NormalForm:
    if atom.inner is not None and atom.kind == INVERSE:
        return -log_determinant(atom.inner)
    if atom.inner is not None and atom.kind == ROOT:
        return log_determinant(atom.inner).scaled(S.Half)
    symbol = from_atom(atom.with_flags(False, False))
    value = from_factor(Factor(LOGDET, args=(symbol,)))
    return -value if atom.inverted else value


def _determinant_representative(core: NormalForm) -> NormalForm:
    """Return the smallest of the matrices ``I + PR``, ``I + RP`` and transposes with the same determinant."""
    seen = {core: None}
    queue = [core]
    while queue and len(seen) < _ORBIT:
        current = queue.pop()
        others: list[NormalForm | None] = [current.T]
        last = {w[-1] for _, w in current.terms if w}
        if len(last) == 1:
            others.append(current.rotated(last.pop()))
        for other in others:
            if other is not None and other not in seen:
                seen[other] = None
                queue.append(other)
    return min(seen, key=lambda form: (sum(len(w) for _, w in form.terms), form.key))
