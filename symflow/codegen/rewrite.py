r"""Rewrites on matrix words, and the plan by which a sum of words is evaluated cheapest.

Two rules need mathematics:

.. math:: (I + UW)^{-1}U = U(I + WU)^{-1}, \qquad (I + UW)^{-1} = I - U(I + WU)^{-1}W,

applied where ``WU`` is smaller than ``UW``: with Σ = FFᵀ a solve of size d becomes one of size r. The first
holds for every function made of inverses and principal roots, f(UW)U = U f(WU). The rest is
bookkeeping: common prefixes and suffixes are factored out when that is cheaper, chains are bracketed by
dynamic programming, and sub-products that exist already cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from sympy import Expr

from symflow.codegen.program import ONE, Size
from symflow.codegen.words import (
    Letter,
    Sum,
    Word,
    add,
    collect,
    identity,
    invert,
    multiply,
    scale,
    square_root,
    transpose_word,
)

#: Sizes assumed when costs are compared: d ≥ k ≥ r ≥ 1. Any other sizes are right, just not cheapest.
_TYPICAL = (64, 48, 40, 36)
_TYPICAL_RANK = 16
#: The number of heads, and their sizes beside d: together they make up d.
_TYPICAL_HEAD = 8


@dataclass(frozen=True)
class Weights:
    """Typical values of the symbolic sizes."""

    values: Mapping[str, int]

    def __call__(self, size: Size) -> int:
        return size if isinstance(size, int) else self.values[size]


def typical(dimensions: Collection[str], rank: str | None = None, counts: Collection[str] = ()) -> Weights:
    """Return the sizes assumed for ``dimensions`` (in call order), a rank, and counts of heads."""
    values = {name: _TYPICAL[min(i, len(_TYPICAL) - 1)] for i, name in enumerate(dimensions)}
    if counts:
        values |= dict.fromkeys(list(dimensions)[1:], _TYPICAL_HEAD)
    if rank is not None:
        values[rank] = _TYPICAL_RANK
    return Weights(values)


# --- push-through ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Split:
    """``I + U·W`` with U of fewer columns than rows."""

    u: Sum
    w: Sum
    prefix: Word  # U when U is one word, else empty
    suffix: Word  # W when W is one word, else empty
    suffix_scale: Expr


def push_through(s: Sum, weights: Weights) -> Sum:
    """Replace every inverse of I + UW by one of the smaller I + WU."""
    terms: list[tuple[Expr, Word]] = []
    for coefficient, word in s.terms:
        terms += scale(coefficient, _push_word(word, s.rows, s.cols, weights)).terms
    return collect(s.rows, s.cols, terms)


def _push_word(word: Word, rows: Size, cols: Size, weights: Weights) -> Sum:
    for i, letter in enumerate(word):
        before, after = word[:i], word[i + 1 :]
        if letter.family is not None:
            body = push_through(letter.family.body, weights)
            if body != letter.family.body:
                changed = Sum(
                    letter.rows,
                    letter.cols,
                    ((ONE, (replace(letter, family=replace(letter.family, body=body)),)),),
                )
                return multiply(_word(before, rows, letter.rows), changed, _word(after, letter.cols, cols))
            continue
        if letter.root is not None or (letter.inverse is not None and _has_root(letter.inverse)):
            pushed = push_function(before, letter, after, weights)
            if pushed is not None:
                return push_through(_word(pushed, rows, cols), weights)
        if letter.inverse is None:
            continue
        oriented = letter.inverse.T if letter.transposed else letter.inverse
        split = _split(oriented, weights)
        if split is not None:
            return push_through(_replace(before, split, after, rows, cols, oriented.rows), weights)
    return _word(word, rows, cols)


def _word(word: Word, rows: Size, cols: Size) -> Sum:
    return Sum(rows, cols, ((ONE, word),))


def _replace(before: Word, split: _Split, after: Word, rows: Size, cols: Size, size: Size) -> Sum:
    inner = split.u.cols
    small = invert(add(identity(inner), multiply(split.w, split.u)))
    left = Sum(rows, size, ((ONE, before),))
    right = Sum(size, cols, ((ONE, after),))
    if split.prefix and after[: len(split.prefix)] == split.prefix:
        rest = Sum(inner, cols, ((ONE, after[len(split.prefix) :]),))
        return multiply(left, split.u, small, rest)
    if split.suffix and before[-len(split.suffix) :] == split.suffix:
        rest = Sum(rows, inner, ((1 / split.suffix_scale, before[: -len(split.suffix)]),))
        return multiply(rest, small, split.w, right)
    return add(multiply(left, right), scale(-ONE, multiply(left, split.u, small, split.w, right)))


def _split(s: Sum, weights: Weights) -> _Split | None:
    """Return U and W for ``s = I + UW`` with the narrowest U, or None."""
    words = [(c, w) for c, w in s.terms if w]
    if len(words) == len(s.terms) or not words or s.terms[0][0] != ONE:
        return None
    best: tuple[int, bool, int] | None = None
    for from_left in (True, False):
        for cut in range(1, min(len(w) for _, w in words)):
            parts = {w[:cut] if from_left else w[len(w) - cut :] for _, w in words}
            if len(parts) > 1:
                break
            inner = words[0][1][cut - 1].cols if from_left else words[0][1][-cut].rows
            candidate = (weights(inner), not from_left, cut)
            if weights(inner) < weights(s.rows) and (best is None or candidate < best):
                best = candidate
    return None if best is None else _cut(s, words, from_left=not best[1], cut=best[2])


def _cut(s: Sum, words: list[tuple[Expr, Word]], *, from_left: bool, cut: int) -> _Split:
    first = words[0][1]
    if from_left:
        inner = first[cut - 1].cols
        u = Sum(s.rows, inner, ((ONE, first[:cut]),))
        w = collect(inner, s.cols, ((c, word[cut:]) for c, word in words))
    else:
        inner = first[-cut].rows
        u = collect(s.rows, inner, ((c, word[: len(word) - cut]) for c, word in words))
        w = Sum(inner, s.cols, ((ONE, first[len(first) - cut :]),))
    prefix = u.terms[0][1] if len(u.terms) == 1 and u.terms[0][0] == ONE else ()
    suffix = w.terms[0][1] if len(w.terms) == 1 else ()
    return _Split(u, w, prefix, suffix, w.terms[0][0] if suffix else ONE)


# --- the same for functions made of inverses and roots -----------------------------------------------


def _has_root(s: Sum) -> bool:
    return any(letter.root is not None for _, word in s.terms for letter in word)


def push_function(before: Word, letter: Letter, after: Word, weights: Weights) -> Word | None:
    """Return ``before · f(UW) · after`` with the smallest ``f(WU)``, or None where nothing gets smaller.

    That needs ``U`` in front of ``after``, or ``W`` at the end of ``before``.
    """
    arguments = _arguments(_single(letter))
    if not arguments:
        return None
    best: tuple[int, bool, int] | None = None
    for at_front in (True, False):
        neighbour = after if at_front else before
        for cut in range(1, min(map(len, arguments))):
            parts = {w[:cut] if at_front else w[len(w) - cut :] for w in arguments}
            (part, *others) = parts
            beside = neighbour[:cut] if at_front else neighbour[len(neighbour) - cut :]
            if others or beside != part or len(neighbour) < cut:
                break
            inner = part[-1].cols if at_front else part[0].rows
            candidate = (weights(inner), not at_front, cut)
            if weights(inner) < weights(letter.rows) and (best is None or candidate < best):
                best = candidate
    if best is None:
        return None
    _, at_end, cut = best
    (small,) = _turned(_single(letter), -cut if at_end else cut).terms[0][1]
    if at_end:
        return (*before[: len(before) - cut], small, *before[len(before) - cut :], *after)
    return (*before, *after[:cut], small, *after[cut:])


def _single(letter: Letter) -> Sum:
    return Sum(letter.rows, letter.cols, ((ONE, (letter,)),))


def _inside(letter: Letter) -> Sum | None:
    """Return what a root or an inverse is taken of, as the letter reads it."""
    inner = None if letter.moved is not None else letter.root if letter.root is not None else letter.inverse
    return None if inner is None else inner.T if letter.transposed else inner


def _arguments(s: Sum) -> list[Word] | None:
    """Return the words X_i where ``s`` is a function of ΣX_i alone, else None."""
    found: list[Word] = []
    for _, word in s.terms:
        inner = _inside(word[0]) if len(word) == 1 else None
        if inner is not None:
            nested = _arguments(inner)
            if nested is None:
                return None
            found += nested
        elif any(letter.inverse is not None or letter.root is not None for letter in word):
            return None
        elif word:
            found.append(word)
    return found


def _turned(s: Sum, cut: int) -> Sum:
    """Return the function of UW that ``s`` is as one of WU, U the first ``cut`` letters of each word."""
    parts: list[tuple[Expr, Sum]] = []
    size: Size | None = None
    for coefficient, word in s.terms:
        inner = _inside(word[0]) if len(word) == 1 else None
        if inner is not None:
            turned = _turned(inner, cut)
            turned = square_root(turned) if word[0].root is not None else invert(turned)
        elif word:
            turned = _whole(word[cut:] + word[:cut])
        else:
            continue
        size = turned.rows
        parts.append((coefficient, turned))
    assert size is not None
    unit = [scale(c, identity(size)) for c, word in s.terms if not word]
    return add(*(scale(c, part) for c, part in parts), *unit)


def _whole(word: Word) -> Sum:
    return collect(word[0].rows, word[-1].cols, ((ONE, word),))


# --- plans -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    """A letter, or a word whose value exists already."""

    word: Word
    rows: Size
    cols: Size


@dataclass(frozen=True)
class Product:
    """A product of two plans; ``word`` is its text when both sides are single words."""

    left: Plan
    right: Plan
    word: Word | None

    @property
    def rows(self) -> Size:
        """Rows of the result."""
        return self.left.rows

    @property
    def cols(self) -> Size:
        """Columns of the result."""
        return self.right.cols


@dataclass(frozen=True)
class Total:
    """``Σ coefficient · plan + diagonal · I``; ``source`` is the sum that it evaluates."""

    rows: Size
    cols: Size
    terms: tuple[tuple[Expr, Plan], ...]
    diagonal: Expr
    source: Sum


Plan = Leaf | Product | Total


class Planner:
    """Chooses the cheapest evaluation of sums of words, given what is known already.

    Parameters
    ----------
    weights : Weights
        Typical sizes.
    known : callable
        Whether a word (or its transpose) has a value already.
    repeated : callable, optional
        Whether a word has another value in every turn of the loop that it is planned for; others are
        computed once for all turns.
    """

    def __init__(
        self,
        weights: Weights,
        known: Callable[[Word], bool],
        repeated: Callable[[Word], bool] = lambda word: True,
    ) -> None:
        self._weights = weights
        self._known = known
        self._repeated = repeated
        self._sums: dict[Sum, tuple[float, Plan]] = {}

    def plan(self, s: Sum) -> Plan:
        """Return the cheapest plan found."""
        return self._sum(s)[1]

    def _sum(self, s: Sum) -> tuple[float, Plan]:
        if s not in self._sums:
            options = [self._grouped(s, [[term] for term in s.terms], at_front=True)]
            for at_front in (True, False):
                groups = _groups(s, at_front)
                if len(groups) < len(s.terms):
                    options.append(self._grouped(s, groups, at_front))
            self._sums[s] = min(options, key=lambda option: option[0])
        return self._sums[s]

    def _grouped(self, s: Sum, groups: list[list[tuple[Expr, Word]]], at_front: bool) -> tuple[float, Plan]:
        cost = float(len(groups) * self._weights(s.rows) * self._weights(s.cols))
        diagonal, terms = s.terms[0][0] * 0 if s.terms else ONE * 0, []
        for group in groups:
            if not group[0][1]:
                diagonal = group[0][0]
                continue
            coefficient, (group_cost, plan) = self._group(s, group, at_front)
            cost += group_cost
            terms.append((coefficient, plan))
        return cost, Total(s.rows, s.cols, tuple(terms), diagonal, s)

    def _group(
        self, s: Sum, group: list[tuple[Expr, Word]], at_front: bool
    ) -> tuple[Expr, tuple[float, Plan]]:
        """Plan ``Σ c·word`` of words with a common front or end as common · (Σ c·rest)."""
        common = group[0][0]
        if len(group) == 1:
            return common, self._chain([(0.0, Leaf((x,), x.rows, x.cols)) for x in group[0][1]])
        if any(not (c / common).is_Rational for c, _ in group):
            common = ONE
        length = _shared_length([w if at_front else w[::-1] for _, w in group])
        cut = group[0][1][:length] if at_front else group[0][1][len(group[0][1]) - length :]
        rest = [(c / common, w[length:] if at_front else w[: len(w) - length]) for c, w in group]
        shape = (cut[-1].cols, s.cols) if at_front else (s.rows, cut[0].rows)
        inner = self._sum(collect(*shape, rest))
        letters: list[tuple[float, Plan]] = [(0.0, Leaf((x,), x.rows, x.cols)) for x in cut]
        return common, self._chain([*letters, inner] if at_front else [inner, *letters])

    def _chain(self, parts: list[tuple[float, Plan]]) -> tuple[float, Plan]:
        """Bracket a product of parts by dynamic programming."""
        n = len(parts)
        best: dict[tuple[int, int], tuple[float, Plan]] = {(i, i + 1): part for i, part in enumerate(parts)}
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                word = _word_of([plan for _, plan in parts[i : i + width]])
                if word is not None and self._known(word):
                    best[i, i + width] = (0.0, Leaf(word, parts[i][1].rows, parts[i + width - 1][1].cols))
                    continue
                # On a tie products start from the left: VΣA is then there for the mean, too.
                options = [
                    self._pair(best[i, j], best[j, i + width], word) for j in range(i + width - 1, i, -1)
                ]
                best[i, i + width] = min(options, key=lambda option: option[0])
        return best[0, n]

    def _pair(
        self, left: tuple[float, Plan], right: tuple[float, Plan], word: Word | None
    ) -> tuple[float, Plan]:
        w = self._weights
        rows, inner, cols = w(left[1].rows), w(left[1].cols), w(right[1].cols)
        scalar = only_letter(left[1])
        scales = scalar is not None and scalar.trace is not None
        cost = float(rows * cols * (1 if scales else inner))
        if inverse_letter(right[1]):
            # X·M⁻¹ is solved as (M⁻ᵀXᵀ)ᵀ, which copies; M⁻¹·M'⁻¹ forms an inverse.
            cost += inner * cols * (inner if inverse_letter(left[1]) else 1) + 1
        if word is not None and not self._repeated(word):
            cost /= _TYPICAL_HEAD
        return left[0] + right[0] + cost, Product(left[1], right[1], word)


def _groups(s: Sum, at_front: bool) -> list[list[tuple[Expr, Word]]]:
    """Return the terms grouped by their first (or last) letter, identity alone."""
    found: dict[Letter | None, list[tuple[Expr, Word]]] = {}
    for coefficient, word in s.terms:
        key = (word[0] if at_front else word[-1]) if word else None
        found.setdefault(key, []).append((coefficient, word))
    return list(found.values())


def _shared_length(words: list[Word]) -> int:
    length = 0
    while all(len(w) > length for w in words) and len({w[length] for w in words}) == 1:
        length += 1
    return length


def inverse_letter(plan: Plan) -> Letter | None:
    """Return the letter where a plan is one inverse and nothing else: its product is then a solve."""
    letter = only_letter(plan)
    return letter if letter is not None and letter.inverse is not None else None


def only_letter(plan: Plan) -> Letter | None:
    """Return the letter where a plan is one letter and nothing else."""
    return plan.word[0] if isinstance(plan, Leaf) and len(plan.word) == 1 else None


def _word_of(plans: list[Plan]) -> Word | None:
    if all(isinstance(plan, Leaf) for plan in plans):
        return tuple(letter for plan in plans if isinstance(plan, Leaf) for letter in plan.word)
    return None


def canonical_word(word: Word) -> tuple[Word, bool]:
    """Return the word or its transpose, whichever sorts first, and whether it was flipped."""
    flipped = transpose_word(word)
    return (flipped, True) if [x.key for x in flipped] < [x.key for x in word] else (word, False)
