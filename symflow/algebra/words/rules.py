"""Rewriting rules of matrix words; each replaces a word by an equal sum of words.

For an inverse letter X = P⁻¹ at position i of the word:

- ``w·X`` and ``X·w``, w the leading word of P, by means of ``P·X = X·P = I``;
- ``w·X·p`` for ``P = c(I + Σ c_i p w_i)`` with leading word p·w, by means of ``X p = p X'``;
- ``Y⁻¹·X`` where every other word of P begins with Y (and the mirrored rule);
- push-through ``p·(cI + Rp)⁻¹ = (cI + pR)⁻¹·p``, which moves inverses to the left.

For a principal root R = P^{1/2} at position i:

- ``R·R = P``, and ``w·R`` for the leading word w of P, by means of ``P·R = R·P``;
- the same push-through, ``p·R(cI + Rp) = R(cI + pR)·p``, and through inverses of polynomials in roots;
- ``w·X`` and ``X·w`` for ``X = (c₀I + c₁R)⁻¹``, w the leading word of P, by means of
  ``(c₀² − c₁²P)·X = c₀I − c₁R``;
- two letters that are functions of one P commute.

A sum over a family takes a neighbour in where its summand and the neighbour simplify.

Each lowers the word, lowers the number of closed letters, or moves a closed letter to the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from sympy import S

from symflow.algebra.words.atoms import FAMILY, INVERSE, ROOT, Atom, Scalars, Word
from symflow.algebra.words.coefficients import Coefficient, canonical, multiply_coefficients

if TYPE_CHECKING:
    from symflow.algebra.words.normal import NormalForm

Sum = list[tuple[Coefficient, Scalars, Word]]
Invert = Callable[["NormalForm"], "NormalForm"]


class Closed(Protocol):
    """What makes closed letters: the module ``closed``, which stands above this one."""

    inverse: Invert
    square_root: Invert
    absorbed: Callable[[Word, int], tuple[int, int, NormalForm] | None]


def replacement(word: Word, closed: Closed) -> Sum | None:
    """Return the sum that replaces a word by the first rule that applies; None where none does."""
    for i, atom in enumerate(word):
        if i + 1 < len(word) and atom.cancels(word[i + 1]):
            return [(S.One, (), word[:i] + word[i + 2 :])]
        if atom.inner is None:
            continue
        found = _commute(word, i) or _RULES[atom.kind](word, i, atom.inner, closed)
        if found:
            return found
    return None


def _inverse_rules(word: Word, i: int, inner: NormalForm, closed: Closed) -> Sum | None:
    return (
        _reduce_leading(word, i, inner)
        or _reduce_around(word, i, inner, closed.inverse)
        or _absorb_inverse(word, i, inner)
        or _push_through(word, i, inner, closed.inverse)
        or _rationalise(word, i, inner)
    )


def _root_rules(word: Word, i: int, inner: NormalForm, closed: Closed) -> Sum | None:
    if i + 1 < len(word) and word[i + 1] == word[i]:
        return _inserted(word[:i], inner, word[i + 2 :])
    return _reduce_to_the_left(word, i, inner) or _push_through(word, i, inner, closed.square_root)


def _family_rules(word: Word, i: int, inner: NormalForm, closed: Closed) -> Sum | None:
    found = closed.absorbed(word, i)
    return None if found is None else _inserted(word[: found[0]], found[2], word[found[1] :])


_RULES = {INVERSE: _inverse_rules, FAMILY: _family_rules, ROOT: _root_rules}


def _inserted(before: Word, form: NormalForm, after: Word) -> Sum:
    return [(c, scalars, before + middle + after) for (scalars, middle), c in form.terms.items()]


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


def _push_through(word: Word, i: int, inner: NormalForm, close: Invert) -> Sum | None:
    """Replace p·f(P) by f(P')·p, where p·P = P'·p and f is the inverse or the principal root."""
    if not i:
        return None
    turned = None if word[i].kind == ROOT else inner.rotated(word[i - 1])
    if turned is None:
        turned = inner.intertwined(word[i - 1])
    if turned is None:
        return None
    return _inserted(word[: i - 1], close(turned), word[i - 1 : i] + word[i + 1 :])


def _reduce_to_the_left(word: Word, i: int, inner: NormalForm) -> Sum | None:
    """Replace w·R, w the leading word of P = cw + Σ c_i w_i, by R·w + Σ (c_i/c)(R·w_i − w_i·R)."""
    found = inner.leading()
    n = 0 if found is None else len(found[0])
    if found is None or i < n or word[i - n : i] != found[0]:
        return None
    before, after, root = word[: i - n], word[i + 1 :], (word[i],)
    result: Sum = [(S.One, (), before + root + found[0] + after)]
    for (scalars, w), c in inner.terms.items():
        if w and w != found[0]:
            scale = canonical(c / found[1])
            result.append((scale, scalars, before + root + w + after))
            result.append((multiply_coefficients(S.NegativeOne, scale), scalars, before + w + root + after))
    return result


def _rationalise(word: Word, i: int, inner: NormalForm) -> Sum | None:
    """Replace w·X and X·w for X = (c₀I + c₁R)⁻¹ by means of (c₀² − c₁²P)·X = c₀I − c₁R."""
    roots = [w[0] for s, w in inner.terms if len(w) == 1 and w[0].kind == ROOT and not s]
    if len(inner.terms) != 2 or len(roots) != 1 or ((), ()) not in inner.terms or roots[0].inner is None:
        return None
    c0, c1, base = inner.terms[(), ()], inner.terms[(), (roots[0],)], roots[0].inner
    found = base.leading()
    n = 0 if found is None else len(found[0])
    if found is None:
        return None
    if word[i + 1 : i + 1 + n] == found[0]:
        before, after, left = word[:i], word[i + 1 + n :], False
    elif i >= n and word[i - n : i] == found[0]:
        before, after, left = word[: i - n], word[i + 1 :], True
    else:
        return None
    square = canonical(c1**2)
    scale = canonical(-1 / (square * found[1]))
    result: Sum = [(canonical(scale * c0), (), before + after)]
    result.append((canonical(-scale * c1), (), (*before, roots[0], *after)))
    rest = {m: canonical(-square * c) for m, c in base.terms.items() if m[1] != found[0]}
    rest[(), ()] = canonical(c0**2 + rest.get(((), ()), S.Zero))
    for (scalars, w), c in rest.items():
        middle = (*w, word[i]) if left else (word[i], *w)
        if c != 0:
            result.append((canonical(-scale * c), scalars, before + middle + after))
    return result


def _commute(word: Word, i: int) -> Sum | None:
    """Exchange two neighbours that are functions of one polynomial, where the second is the smaller one."""
    if i + 1 == len(word) or word[i + 1].inner is None or word[i + 1].key >= word[i].key:
        return None
    if FAMILY in (word[i].kind, word[i + 1].kind) or _generator(word[i]) != _generator(word[i + 1]):
        return None
    return [(S.One, (), (*word[:i], word[i + 1], word[i], *word[i + 2 :]))]


def _generator(atom: Atom) -> NormalForm | None:
    """Return the polynomial P that a closed letter is a function of."""
    if atom.kind == ROOT or atom.inner is None:
        return atom.inner
    letters = set(_letters(w for _, w in atom.inner.terms))
    root = letters.pop() if len(letters) == 1 else None
    return root.inner if root is not None and root.kind == ROOT else atom.inner


def _letters(words: Iterable[Word]) -> Iterable[Atom]:
    return (atom for word in words for atom in word)
