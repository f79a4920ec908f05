r"""Gaussian expectations of polynomials in matrix words, by Isserlis' theorem at symbolic size.

A monomial is cut at every occurrence of y into *pieces*: matrices whose ends are legs (places of y), closed
ends, or the rows and columns of the result. With :math:`y = \alpha + z` a leg receives either :math:`\alpha`
or :math:`\Sigma` together with one other leg, and each choice joins pieces to chains and traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import MatrixExpr, MatrixSymbol, S

from symflow.algebra.words import NormalForm, identical, normal_form
from symflow.algebra.words.atoms import BILINEAR, FAMILY, SUM, Monomial, Word, mentions
from symflow.algebra.words.closed import family_sum
from symflow.algebra.words.normal import constant, one, zero
from symflow.algebra.words.traces import trace
from symflow.errors import InputError, NotPolynomial

_DEGREE = 8  #: most factors y of one term; a term of degree n has as many pairings as n has involutions
_ROWS, _COLUMNS = "rows", "columns"  # open ends of the result
_Leg = int | str | None


@dataclass(frozen=True)
class _Piece:
    """A matrix between two ends: legs (numbers), open ends of the result, or closed ends (None)."""

    left: _Leg
    form: NormalForm
    right: _Leg

    def turned(self, leg: _Leg) -> _Piece:
        """Return the piece with ``leg`` on the right, transposed if need be."""
        return self if self.right == leg else _Piece(self.right, self.form.T, self.left)

    def upright(self) -> _Piece:
        """Return the piece with the rows of the result on the left and its columns on the right."""
        turned = self.right == _ROWS or self.left == _COLUMNS
        return _Piece(self.right, self.form.T, self.left) if turned else self


def expectation(expr: Any, y: Any, alpha: Any, Sigma: Any, symmetric: Sequence[Any] = ()) -> Any:
    r"""Return the expectation of a polynomial in a Gaussian vector.

    .. math:: E[f(y)], \qquad y \sim N(\alpha, \Sigma), \qquad
              E[y\,y^\top A\,y] = (\Sigma + \alpha\alpha^\top)A\alpha + \Sigma A^\top\alpha
              + \operatorname{tr}(\Sigma A)\,\alpha

    Every :math:`\Sigma \succeq 0` is allowed; no inverse of it appears.

    Parameters
    ----------
    expr : MatrixExpr or Expr
        f, polynomial of degree at most 8 in y; sums over a family may contain y in one factor of a term.
    y : MatrixSymbol, shape (n, 1)
        The Gaussian vector.
    alpha : MatrixExpr, shape (n, 1)
        Its mean.
    Sigma : MatrixExpr, shape (n, n)
        Its covariance; a symbol is taken to be symmetric.
    symmetric : sequence of MatrixSymbol
        Further symbols with ``X.T = X``.

    Returns
    -------
    MatrixExpr or Expr
        Of the shape of ``expr``, in normal form.

    Raises
    ------
    NotPolynomial
        With the ``term`` in which y stands inside a function, an inverse, a root or a broken power.
    InputError
        When a shape does not fit, Sigma is not known to be symmetric, or the degree is too high.

    References
    ----------
    Isserlis 1918; Wick's theorem.

    Examples
    --------
    >>> from sympy import Trace
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> A, Sigma, y, alpha = matrix("A", d, d), matrix("Sigma", d, d), vector("y", d), vector("alpha", d)
    >>> expectation(Trace(y.T * A * y), y, alpha, Sigma)
    Trace(A*Sigma) + Trace(alpha.T*A*alpha)
    """
    if not isinstance(y, MatrixSymbol) or y.cols != 1:
        raise InputError(f"y must be the symbol of a column vector, got {y}")
    for name, value, shape in (("alpha", alpha, (y.rows, 1)), ("Sigma", Sigma, (y.rows, y.rows))):
        if tuple(getattr(value, "shape", ())) != shape:
            raise InputError(f"{name} must be a matrix of shape {shape}, got {value}")
    known = tuple(dict.fromkeys((*symmetric, *((Sigma,) if isinstance(Sigma, MatrixSymbol) else ()))))
    if not identical(Sigma, Sigma.T, known):
        raise InputError(f"Sigma = {Sigma} is not known to be symmetric; list its symmetric symbols")
    law = _Law(y, normal_form(alpha, known), normal_form(Sigma, known))
    found = law.expect(normal_form(expr, known))
    return found.to_matrix() if isinstance(expr, MatrixExpr) else found.to_sympy()


@dataclass(frozen=True)
class _Law:
    """The law N(α, Σ) of the symbol y."""

    y: Any
    mean: NormalForm
    cov: NormalForm

    def expect(self, form: NormalForm) -> NormalForm:
        """Return the expectation of a polynomial."""
        total = zero(*form.shape)
        for monomial, c in form.terms.items():
            total = total + self._term(monomial, form.shape).scaled(c)
        return total

    def _term(self, monomial: Monomial, shape: tuple[Any, Any]) -> NormalForm:
        scalars, word = monomial
        random = frozenset((self.y,))
        fixed = tuple((f, e) for f, e in scalars if not mentions(f, random))
        front = NormalForm((S.One, S.One), {(fixed, ()): S.One})
        moving = [(f, e) for f, e in scalars if mentions(f, random)]
        words = [word, *(f.word for f, _ in moving)]
        closed = [a for w in words for a in w if a.inner is not None and mentions(a, random)]
        if closed or any(f.kind != BILINEAR or Fraction(e).denominator > 1 or e < 0 for f, e in moving):
            whole = NormalForm(shape, {monomial: S.One})
            return front * self._inside_a_sum(moving, word, whole)
        cut = _Cut(self.y)
        for factor, exponent in moving:
            for _ in range(int(exponent)):
                cut.scalar(factor.word)
        outside = cut.matrix(word, shape)
        if cut.legs > _DEGREE:
            raise InputError(f"a term has degree {cut.legs} in {self.y}; at most {_DEGREE} is possible")
        return front * self._paired(tuple(cut.pieces), *outside)

    def _inside_a_sum(self, moving: list[Any], word: Word, whole: NormalForm) -> NormalForm:
        """Return the expectation of a term whose only dependence on y is one sum over a family."""
        random = frozenset((self.y,))
        letters = [i for i, atom in enumerate(word) if mentions(atom, random)]
        if not letters and len(moving) == 1 and moving[0][1] == 1:
            factor = moving[0][0]
            rest = NormalForm(whole.shape, {((), word): S.One})
            if factor.kind == SUM:
                return family_sum(self.expect(factor.args[0]), factor.members, factor.count) * rest
            if factor.kind == BILINEAR:
                return self._inside_a_sum([], factor.word, constant(S.One)) * rest
        if not moving and len(letters) == 1 and word[letters[0]].kind == FAMILY:
            atom = word[letters[0]]
            if atom.inner is not None and not atom.inverted:
                summed = family_sum(self.expect(atom.inner), atom.members, atom.count)
                before, after = word[: letters[0]], word[letters[0] + 1 :]
                return _product(_form(before, atom.rows), summed, _form(after, atom.cols))
        raise NotPolynomial(
            f"the term {whole.to_sympy()} is not a polynomial in {self.y}, or multiplies sums over a family",
            whole.to_sympy(),
        )

    def _paired(self, pieces: tuple[_Piece, ...], left: NormalForm, right: NormalForm) -> NormalForm:
        """Return the sum over all ways to give the legs α or, two by two, Σ; the rest stands outside."""
        legs = [end for piece in pieces for end in (piece.left, piece.right) if isinstance(end, int)]
        if not legs:
            return _assembled(pieces, left, right)
        first, *others = legs
        piece = next(p for p in pieces if first in (p.left, p.right)).turned(first)
        rest = tuple(p for p in pieces if first not in (p.left, p.right))
        total = self._paired((*rest, _Piece(piece.left, piece.form * self.mean, None)), left, right)
        for other in others:
            if piece.left == other:
                joined, kept = _Piece(None, trace(piece.form * self.cov), None), rest
            else:
                partner = next(p for p in rest if other in (p.left, p.right)).turned(other)
                kept = tuple(p for p in rest if other not in (p.left, p.right))
                form = piece.form * self.cov * partner.form.T
                joined = _Piece(piece.left, form, partner.left)
            total = total + self._paired((*kept, joined), left, right)
        return total


class _Cut:
    """Cuts words at every y; the places become legs, numbered from zero."""

    def __init__(self, y: Any) -> None:
        self.y = y
        self.legs = 0
        self.pieces: list[_Piece] = []

    def _leg(self) -> int:
        self.legs += 1
        return self.legs - 1

    def scalar(self, word: Word) -> None:
        """Cut a factor ``uᵀ…v``, in which y is u or v or both."""
        n = self.y.rows
        starts, ends = word[0].symbol == self.y, len(word) > 1 and word[-1].symbol == self.y
        inner = _form(word[1 if starts else 0 : -1 if ends else None], n)
        left = self._leg() if starts else None
        right = self._leg() if ends else None
        self.pieces.append(_Piece(left, inner, right))

    def matrix(self, word: Word, shape: tuple[Any, Any]) -> tuple[NormalForm, NormalForm]:
        """Cut the matrix word of a term; return what stands left and right of its pieces."""
        n = self.y.rows
        places = [i for i, atom in enumerate(word) if atom.symbol == self.y]
        if not places:
            return NormalForm(shape, {((), word): S.One}), constant(S.One)
        left = right = constant(S.One)
        first, last = places[0], places[-1]
        if word[first].cols == 1:
            self.pieces.append(_Piece(_ROWS, _form(word[:first], n), self._leg()))
        elif first:
            left = _form(word[:first], n)
        if word[last].rows == 1:
            self.pieces.append(_Piece(self._leg(), _form(word[last + 1 :], n), _COLUMNS))
        elif last + 1 < len(word):
            right = _form(word[last + 1 :], n)
        return left, right


def _form(word: Word, size: Any) -> NormalForm:
    """Return a word as a normal form; the empty one is an identity."""
    return NormalForm((word[0].rows, word[-1].cols), {((), word): S.One}) if word else one(size)


def _product(*forms: NormalForm) -> NormalForm:
    first, *others = forms
    for form in others:
        first = first * form
    return first


def _assembled(pieces: tuple[_Piece, ...], left: NormalForm, right: NormalForm) -> NormalForm:
    """Return the product of closed pieces, those with open rows before those with open columns."""
    upright = [p.upright() for p in pieces]
    scalars = [p.form for p in upright if p.left is None and p.right is None]
    rows = [p.form for p in upright if p.left == _ROWS]
    columns = [p.form for p in upright if p.left is None and p.right == _COLUMNS]
    return _product(constant(S.One), *scalars, left, *rows, *columns, right)
