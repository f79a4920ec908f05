"""Decomposition of a score into a quadratic form in y with coefficients affine in x."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sympy import S, Trace, Transpose

from symflow.algebra.words import normal_form
from symflow.algebra.words.atoms import BILINEAR, Atom, Factor, Scalars, Word
from symflow.algebra.words.coefficients import Coefficient
from symflow.algebra.words.normal import NormalForm, zero
from symflow.errors import InputError, NotQuadratic


@dataclass(frozen=True)
class QuadraticForm:
    r"""A score :math:`s(x,y) = y^\top B x + \tfrac12 y^\top C y + c^\top y + r(x)` with C symmetric.

    Attributes
    ----------
    B : MatrixExpr, shape (n, m)
        Coefficient of the bilinear part.
    C : MatrixExpr, shape (n, n)
        Symmetric by construction.
    c : MatrixExpr, shape (n, 1)
        Coefficient of the linear part.
    rest : Expr
        Everything that does not contain y.
    x, y : MatrixSymbol
        The two vectors, of sizes m and n.
    symmetric : tuple of MatrixSymbol
        The symbols that were taken to be symmetric.
    """

    B: Any
    C: Any
    c: Any
    rest: Any
    x: Any
    y: Any
    symmetric: tuple[Any, ...] = ()

    def score(self) -> Any:
        """Return the score put together again."""
        yt = Transpose(self.y)
        quadratic = Trace(yt * self.C * self.y) / 2
        return Trace(yt * self.B * self.x) + quadratic + Trace(self.c.T * self.y) + self.rest


def quadratic_form(score: Any, x: Any, y: Any, symmetric: tuple[Any, ...] = ()) -> QuadraticForm:
    r"""Read off B, C, c and the rest of a score that is quadratic in y.

    .. math:: s(x,y) = y^\top B x + \tfrac12 y^\top C y + c^\top y + r(x)

    Parameters
    ----------
    score : Expr or 1×1 MatrixExpr
        The score.
    x, y : MatrixSymbol
        Column vectors.
    symmetric : tuple of MatrixSymbol
        Symbols with ``X.T = X``.

    Returns
    -------
    QuadraticForm
        All parts in normal form.

    Raises
    ------
    NotQuadratic
        With the ``term`` left over: of third or higher degree in y, inside another function, or of a degree
        in x that makes the tilted mean not affine.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> A, x, y = matrix("A", d, d), vector("x", d), vector("y", d)
    >>> form = quadratic_form(Trace(y.T * A * x) - Trace(y.T * y), x, y)
    >>> form.B, form.C, form.c
    (A, -2*I, 0)
    """
    for name, vector in (("x", x), ("y", y)):
        if getattr(vector, "cols", None) != 1:
            raise InputError(f"{name} must be a column vector symbol, got {vector}")
    form = normal_form(score, symmetric)
    if not form.is_scalar:
        raise InputError(f"the score must be a scalar, got shape {form.shape}")
    parts = {
        "B": zero(y.rows, x.rows),
        "C": zero(y.rows, y.rows),
        "c": zero(y.rows, S.One),
        "rest": zero(S.One, S.One),
    }
    for (scalars, _), coefficient in form.terms.items():
        name, value = _Term(scalars, coefficient, x, y).part()
        parts[name] = parts[name] + value
    return QuadraticForm(
        B=parts["B"].to_matrix(),
        C=(parts["C"] + parts["C"].T).to_matrix(),
        c=parts["c"].to_matrix(),
        rest=parts["rest"].to_sympy(),
        x=x,
        y=y,
        symmetric=tuple(symmetric),
    )


class _Term:
    """One monomial of the score, its factors sorted into those with y, those with x and the others."""

    def __init__(self, scalars: Scalars, coefficient: Coefficient, x: Any, y: Any) -> None:
        self.x, self.y = Atom(x), Atom(y)
        self.whole = NormalForm((S.One, S.One), {(scalars, ()): coefficient})
        self.with_y: list[Word] = []
        self.with_x: list[Word] = []
        spectators = self.whole
        if any(_contains(f, y) for f, _ in scalars):
            others: list[tuple[Factor, Any]] = []
            for factor, exponent in scalars:
                if not _contains(factor, y) and not _contains(factor, x):
                    others.append((factor, exponent))
                else:
                    words = self._words(factor, exponent, x, y)
                    (self.with_y if _contains(factor, y) else self.with_x).extend(words)
            spectators = NormalForm((S.One, S.One), {(tuple(others), ()): coefficient})
        self.spectators = spectators

    def _words(self, factor: Factor, exponent: Any, x: Any, y: Any) -> list[Word]:
        """Return the scalar words uᵀ…v of a factor with x or y at its ends and nowhere else."""
        if factor.kind != BILINEAR or exponent != int(exponent) or exponent < 0:
            raise self._error("there x or y stands inside a function or a power")
        if any(_has_symbol(a, v) for a in factor.word if a.inner is not None for v in (x, y)):
            raise self._error("there x or y stands inside an inverse, a root or a sum over a family")
        return [factor.word] * int(exponent)

    def part(self) -> tuple[str, NormalForm]:
        """Return the name of the part the monomial belongs to, and its value."""
        if not self.with_y:
            return "rest", self.spectators
        degree = sum(self._ends(word, self.y) for word in self.with_y)
        degree_x = sum(self._ends(word, self.x) for word in self.with_y + self.with_x)
        if degree > 2 or degree + degree_x > 2:
            raise self._error(f"it has degree {degree} in y and {degree_x} in x")
        first = self.with_y[0]
        if degree + degree_x == 2:
            second = self.y if degree == 2 else self.x
            name = "C" if degree == 2 else "B"
            if len(self.with_y) + len(self.with_x) == 1:
                return name, self.spectators * _between(first, self.y, second)
            other = (self.with_y + self.with_x)[1]
            return name, self.spectators * (_beside(first, self.y) * _beside(other, second).T)
        return "c", self.spectators * _beside(first, self.y)

    def _ends(self, word: Word, letter: Atom) -> int:
        ends = word[:1] + word[1:][-1:]
        return sum(1 for atom in ends if atom.symbol == letter.symbol)

    def _error(self, why: str) -> NotQuadratic:
        term = self.whole.to_sympy()
        shape = "yᵀBx + ½yᵀCy + cᵀy + r(x)"
        return NotQuadratic(f"the score is not {shape}: the term {term} is left over; {why}", term)


def _word(word: Word, rows: Any, cols: Any) -> NormalForm:
    return NormalForm((rows, cols), {((), word): S.One})


def _between(word: Word, left: Atom, right: Atom) -> NormalForm:
    """Return M of ``leftᵀ M right`` or ``rightᵀ Mᵀ left``."""
    inside = word[1:-1]
    if word[-1] == right:
        return _word(inside, left.rows, right.rows)
    return _word(inside, right.rows, left.rows).T


def _beside(word: Word, vector: Atom) -> NormalForm:
    """Return u of ``vectorᵀ u`` or ``uᵀ vector``."""
    if word[-1] == vector:
        return _word(word[:-1], S.One, vector.rows).T
    return _word(word[1:], vector.rows, S.One)


def _contains(factor: Factor, symbol: Any) -> bool:
    return any(_has_symbol(a, symbol) for a in _letters(factor))


def _letters(factor: Factor) -> Iterator[Atom]:
    yield from factor.word
    for form in factor.args:
        for scalars, word in form.terms:
            yield from word
            for inner, _ in scalars:
                yield from _letters(inner)


def _has_symbol(atom: Atom, symbol: Any) -> bool:
    if atom.inner is None:
        return bool(atom.symbol == symbol)
    return any(_has_symbol(a, symbol) for _, w in atom.inner.terms for a in w) or any(
        _contains(f, symbol) for s, _ in atom.inner.terms for f, _ in s
    )
