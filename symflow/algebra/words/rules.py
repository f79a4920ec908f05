"""Rewriting rules of matrix words; each replaces a word by an equal sum of words.

For an inverse letter X = P⁻¹ at position i of the word:

- ``w·X`` and ``X·w``, w the leading word of P, by means of ``P·X = X·P = I``;
- ``w·X·p`` for ``P = c(I + Σ c_i p w_i)`` with leading word p·w, by means of ``X p = p X'``;
- ``Y⁻¹·X`` where every other word of P begins with Y (and the mirrored rule);
- push-through ``p·(cI + Rp)⁻¹ = (cI + pR)⁻¹·p``, which moves inverses to the left.

Each lowers the word, lowers the number of inverses, or moves an inverse to the left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sympy import S

from symflow.algebra.words.atoms import Scalars, Word
from symflow.algebra.words.coefficients import Coefficient, canonical, multiply_coefficients

if TYPE_CHECKING:
    from symflow.algebra.words.normal import NormalForm

Sum = list[tuple[Coefficient, Scalars, Word]]
Invert = Callable[["NormalForm"], "NormalForm"]


def replacement(word: Word, invert: Invert) -> Sum | None:
    """Return the sum that replaces a word by the first rule that applies; None where none does."""
    for i, atom in enumerate(word):
        if i + 1 < len(word) and atom.cancels(word[i + 1]):
            return [(S.One, (), word[:i] + word[i + 2 :])]
        if atom.inner is None:
            continue
        found = (
            _reduce_leading(word, i, atom.inner)
            or _reduce_around(word, i, atom.inner, invert)
            or _absorb_inverse(word, i, atom.inner)
            or _push_through(word, i, atom.inner, invert)
        )
        if found:
            return found
    return None


def _reduce_leading(word: Word, i: int, inner: NormalForm) -> Sum | None:
    found = inner.leading()
    if found is None:
        return None
    lead, c = found
    n = len(lead)
    if word[i + 1 : i + 1 + n] == lead:
        before, after, left = word[:i], word[i + 1 + n :], False
    elif i >= n and word[i - n : i] == lead:
        before, after, left = word[: i - n], word[i + 1 :], True
    else:
        return None
    x, scale = (word[i],), canonical(1 / c)
    result: Sum = [(scale, (), before + after)]
    for (scalars, w), coefficient in inner.terms.items():
        if w != lead:
            middle = w + x if left else x + w
            result.append((multiply_coefficients(-scale, coefficient), scalars, before + middle + after))
    return result


def _reduce_around(word: Word, i: int, inner: NormalForm, invert: Invert) -> Sum | None:
    """Replace w·X·p: with X' = (cI + Σ c_i w_i p)⁻¹ the sum of all c_i w_i X p is I − cX'."""
    found = inner.leading()
    if found is None or i + 1 >= len(word) or len(found[0]) < 2:
        return None
    (p, *w), n = found[0], len(found[0]) - 1
    if word[i + 1] != p or i < n or list(word[i - n : i]) != w:
        return None
    turned = inner.rotated(p, first=True)
    if turned is None:
        return None
    before, after, scale = word[: i - n], word[i + 2 :], canonical(1 / found[1])
    result: Sum = [(scale, (), before + after)]
    outer = multiply_coefficients(-scale, inner.terms[(), ()])
    for (scalars, middle), c in invert(turned).terms.items():
        result.append((multiply_coefficients(outer, c), scalars, before + middle + after))
    for (scalars, other), c in inner.terms.items():
        if other and other != found[0]:
            middle = (*other[1:], word[i], p)
            result.append((multiply_coefficients(-scale, c), scalars, before + middle + after))
    return result


def _absorb_inverse(word: Word, i: int, inner: NormalForm) -> Sum | None:
    """Replace Y⁻¹·X by (Y⁻¹ − Σ c_i w_i X)/c for P = cI + Σ c_i Y w_i, and X·Y⁻¹ likewise."""
    identity = inner.terms.get(((), ()))
    others = [(m, c) for m, c in inner.terms.items() if m[1]]
    if identity is None or len(others) + 1 != len(inner.terms):
        return None
    for left in (True, False):
        j = i - 1 if left else i + 1
        if not 0 <= j < len(word):
            continue
        if not all(word[j].cancels(w[0] if left else w[-1]) for (_, w), _ in others):
            continue
        before, after = word[: min(i, j)], word[max(i, j) + 1 :]
        scale, x = canonical(1 / identity), (word[i],)
        result: Sum = [(scale, (), (*before, word[j], *after))]
        for (scalars, w), c in others:
            middle = w[1:] + x if left else x + w[:-1]
            result.append((multiply_coefficients(-scale, c), scalars, before + middle + after))
        return result
    return None


def _push_through(word: Word, i: int, inner: NormalForm, invert: Invert) -> Sum | None:
    turned = inner.rotated(word[i - 1]) if i else None
    if turned is None:
        return None
    before, after = word[: i - 1], word[i - 1 : i] + word[i + 1 :]
    return [(c, scalars, before + middle + after) for (scalars, middle), c in invert(turned).terms.items()]
