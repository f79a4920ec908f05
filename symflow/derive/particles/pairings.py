r"""A score as a function of pairings: what couples x and y is ⟨left(x), right(y)⟩ or |left(x) − right(y)|².

Everything else in a score is a number of x alone or of y alone, which is computed once per token.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sympy import Add, Expr, MatAdd, MatMul, Mul, S, Symbol, Trace, Transpose, ZeroMatrix
from sympy.matrices.expressions.matexpr import MatrixExpr

from symflow.algebra.assembly import product, total
from symflow.algebra.words import identical, normal_form
from symflow.errors import InputError, NoTokenFlow
from symflow.flow import Pairing


@dataclass(frozen=True)
class PairedScore:
    """A score in the symbols of what it is made of; fields as in :class:`~symflow.flow.PairTerm`."""

    pairings: tuple[Pairing, ...]
    rows: tuple[tuple[Symbol, Expr], ...]
    columns: tuple[tuple[Symbol, Expr], ...]
    score: Expr

    @property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols that stand for pairings and numbers."""
        numbers = (symbol for symbol, _ in (*self.rows, *self.columns))
        return frozenset((*(pairing.symbol for pairing in self.pairings), *numbers))


def paired_score(score: Expr, x: Any, y: Any, taken: Iterable[str] = ()) -> PairedScore:
    r"""Split a score into pairings and numbers of one token.

    A constant factor of a product pairing is moved into its ``left``, where it costs once per token.

    Parameters
    ----------
    score : Expr
        A scalar over ``Trace`` atoms, also inside functions.
    x, y : MatrixSymbol
        Query and key token.
    taken : iterable of str
        Names that no new symbol may have.

    Raises
    ------
    NoTokenFlow
        If x and y are coupled by something else, such as the inverse of a matrix that contains a token.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d, k = dimension("d"), dimension("k")
    >>> Q, K, x, y = matrix("Q", k, d), matrix("K", k, d), vector("x", d), vector("y", d)
    >>> found = paired_score(2 * Trace(x.T * Q.T * K * y), x, y)
    >>> found.score, found.pairings[0].left, found.pairings[0].right
    (u_1, 2*Q*x, K*y)
    """
    reader = _Reader(x, y, frozenset(taken))
    read = reader.read(reader.prepared(score))
    found = PairedScore(
        tuple(reader.pairings), tuple(reader.rows.items()), tuple(reader.columns.items()), read
    )
    return _used(_folded(found))


class _Reader:
    """Walks a score and collects what it is made of."""

    def __init__(self, x: Any, y: Any, taken: frozenset[str]) -> None:
        self.x, self.y, self._taken = x, y, taken
        self.pairings: list[Pairing] = []
        self.rows: dict[Symbol, Any] = {}
        self.columns: dict[Symbol, Any] = {}

    def read(self, expr: Any) -> Any:
        """Return the expression in symbols of pairings and numbers."""
        on_x, on_y = self._depends(expr)
        if isinstance(expr, Expr) and not (on_x and on_y):
            if on_y:
                return self._number(expr, self.columns, "b")
            return self._number(expr, self.rows, "a") if on_x or expr.has(MatrixExpr) else expr
        if isinstance(expr, Add):
            return self._sum(expr)
        if isinstance(expr, Mul):
            return self._product(expr)
        if isinstance(expr, Trace):
            return self._trace(expr)
        return expr.func(*(self.read(part) for part in expr.args)) if on_x or on_y else expr

    def _depends(self, expr: Any) -> tuple[bool, bool]:
        return self.x in expr.free_symbols, self.y in expr.free_symbols

    def _is_constant(self, expr: Any) -> bool:
        return self._depends(expr) == (False, False) and not expr.has(MatrixExpr)

    def _groups(self, parts: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Sort into constants, those of x (or of matrices) alone, those of y alone, and the others."""
        constants: list[Any] = []
        of_x: list[Any] = []
        of_y: list[Any] = []
        mixed: list[Any] = []
        for part in parts:
            on_x, on_y = self._depends(part)
            if on_x and on_y:
                mixed.append(part)
            elif on_y:
                of_y.append(part)
            else:
                (constants if self._is_constant(part) else of_x).append(part)
        return constants, of_x, of_y, mixed

    def _sum(self, expr: Any) -> Any:
        constants, of_x, of_y, mixed = self._groups(expr.args)
        alone = [self.read(Add(*group)) for group in (of_x, of_y) if group]
        return Add(*constants, *alone, *(self.read(part) for part in self._merged(mixed)))

    def _product(self, expr: Any) -> Any:
        constants, of_x, of_y, mixed = self._groups(expr.args)
        sums = [part for part in mixed if isinstance(part, Add)]
        if sums and len(mixed) == 1 and not (of_x or of_y):  # so that factors reach what they multiply
            return self.read(Add(*(Mul(*constants, term) for term in sums[0].args)))
        alone = [self.read(Mul(*group)) for group in (of_x, of_y) if group]
        return Mul(*constants, *alone, *(self.read(part) for part in mixed))

    def _merged(self, parts: list[Any]) -> list[Any]:
        """Add up products ⟨l₁, r⟩ + ⟨l₂, r⟩ = ⟨l₁ + l₂, r⟩ with one right-hand side."""
        lefts: dict[Any, list[Any]] = {}
        rest = []
        for part in parts:
            coefficient, word = part.as_independent(Trace, as_Add=False)
            sides = self._sides(word.arg) if isinstance(word, Trace) else None
            if sides is None or not self._is_constant(coefficient):
                rest.append(part)
            else:
                lefts.setdefault(sides[1], []).append((coefficient, sides[0], part))
        for right, found in lefts.items():
            if len(found) == 1:
                rest.append(found[0][2])
            else:
                left = total(*(_scaled(coefficient, side) for coefficient, side, _ in found))
                rest.append(Trace(Transpose(left) * right))
        return rest

    # ---- traces ------------------------------------------------------------------------------------

    def prepared(self, expr: Any) -> Any:
        """Return the score with every trace multiplied out that is no pairing as it stands."""
        return expr.replace(lambda e: isinstance(e, Trace), self._prepared_trace)

    def _prepared_trace(self, expr: Any) -> Any:
        if self._depends(expr) != (True, True) or self._difference(expr.arg) or self._sides(expr.arg):
            return expr
        return normal_form(expr).to_sympy()

    def _trace(self, expr: Any) -> Any:
        difference = self._difference(expr.arg)
        if difference is not None:
            return self._pairing(*difference, difference=True)
        sides = self._sides(expr.arg)
        if sides is not None:
            return self._pairing(*sides)
        raise NoTokenFlow(
            f"the score couples x and y by {expr}, which is no function of ⟨left(x), right(y)⟩ or "
            "|left(x) − right(y)|²; write it with dot and norm2"
        )

    def _difference(self, arg: Any) -> tuple[Any, Any] | None:
        """Return left and right of ``(left − right)ᵀ(left − right)``."""
        factors = MatMul.make_args(arg)
        half, odd = divmod(len(factors), 2)
        if tuple(arg.shape) != (1, 1) or odd or not half:
            return None
        first, second = product(*factors[:half]), product(*factors[half:])
        if second.cols != 1 or self._depends(second) != (True, True) or not _same(first.T, second):
            return None
        parts = MatAdd.make_args(second)
        if any(self._depends(part) == (True, True) for part in parts):
            parts = MatAdd.make_args(normal_form(second).to_sympy())
        if any(self._depends(part) == (True, True) for part in parts):
            return None
        left = total(*(part for part in parts if self.y not in part.free_symbols))
        return left, total(*(_scaled(S.NegativeOne, p) for p in parts if self.y in p.free_symbols))

    def _sides(self, arg: Any) -> tuple[Any, Any] | None:
        """Return left and right of a word that is ``left(x)ᵀ right(y)``, cut where it is narrowest."""
        factors = MatMul.make_args(arg)
        if tuple(arg.shape) != (1, 1) or any(self._depends(f) == (True, True) for f in factors):
            return None
        if any(self.x in f.free_symbols for f in factors[-1:]):
            factors = tuple(Transpose(f).doit(deep=False) for f in reversed(factors))
        last = max((i for i, f in enumerate(factors) if self.x in f.free_symbols), default=-1)
        first = min((i for i, f in enumerate(factors) if self.y in f.free_symbols), default=len(factors))
        if not 0 <= last < first < len(factors):
            return None
        cuts = range(last + 1, first + 1)
        cut = next((i for i in cuts if factors[i].rows != self.x.rows), first)
        return Transpose(product(*factors[:cut])).doit(), product(*factors[cut:])

    # ---- symbols -----------------------------------------------------------------------------------

    def _pairing(self, left: Any, right: Any, difference: bool = False) -> Any:
        for known in self.pairings:
            equal = known.difference == difference and known.left.shape == left.shape
            if equal and _same(known.left, left) and _same(known.right, right):
                return known.symbol
        name = self._name("u", len(self.pairings) + 1)
        symbol = Symbol(name, nonnegative=True) if difference else Symbol(name, real=True)
        self.pairings.append(Pairing(symbol, left, right, difference))
        return symbol

    def _number(self, expr: Any, known: dict[Symbol, Any], letter: str) -> Any:
        for symbol, value in known.items():
            if value == expr:
                return symbol
        symbol = Symbol(self._name(letter, len(known) + 1), real=True)
        known[symbol] = expr
        return symbol

    def _name(self, letter: str, index: int) -> str:
        name = f"{letter}_{index}"
        while name in self._taken:
            name += "_"
        return name


def _folded(found: PairedScore) -> PairedScore:
    """Move the one constant factor with which a product pairing occurs into its left-hand side."""
    score, pairings = found.score, []
    for pairing in found.pairings:
        symbol = pairing.symbol
        factors = _factors(score, symbol, found.symbols)
        if not pairing.difference and len(factors) == 1 and factors != {S.One}:
            (factor,) = factors
            score = _without(score, symbol, found.symbols)
            pairing = replace(pairing, left=_scaled(factor, pairing.left))
        pairings.append(pairing)
    return replace(found, pairings=tuple(pairings), score=score)


def _constant_part(node: Any, symbols: frozenset[Symbol]) -> tuple[Any, ...]:
    return tuple(part for part in node.args if not part.free_symbols & symbols)


def _factors(node: Any, symbol: Symbol, symbols: frozenset[Symbol]) -> set[Any]:
    """Return the constant factors that ``symbol`` has where it occurs."""
    if node == symbol:
        return {S.One}
    found: set[Any] = set()
    for part in node.args:
        if part == symbol:
            found.add(Mul(*_constant_part(node, symbols)) if isinstance(node, Mul) else S.One)
        elif symbol in part.free_symbols:
            found |= _factors(part, symbol, symbols)
    return found


def _without(node: Any, symbol: Symbol, symbols: frozenset[Symbol]) -> Any:
    """Return the expression without the constant factors of ``symbol``."""
    if node == symbol or symbol not in node.free_symbols:
        return node
    if isinstance(node, Mul) and symbol in node.args:
        return Mul(*(part for part in node.args if part not in _constant_part(node, symbols)))
    return node.func(*(_without(part, symbol, symbols) for part in node.args))


def _used(found: PairedScore) -> PairedScore:
    """Leave out what has cancelled."""
    free = found.score.free_symbols
    return replace(
        found,
        pairings=tuple(pairing for pairing in found.pairings if pairing.symbol in free),
        rows=tuple(pair for pair in found.rows if pair[0] in free),
        columns=tuple(pair for pair in found.columns if pair[0] in free),
    )


def _scaled(factor: Any, matrix: Any) -> Any:
    """Return the multiple of a matrix, a sum term by term."""
    if isinstance(matrix, MatAdd):
        return total(*(_scaled(factor, part) for part in matrix.args))
    return matrix if factor == 1 or isinstance(matrix, ZeroMatrix) else (factor * matrix).doit(deep=False)


def _same(a: Any, b: Any) -> bool:
    """Whether two matrices are equal as far as the normal form proves it."""
    if a == b:
        return True
    if a.shape != b.shape:
        return False
    try:
        return identical(a, b)
    except InputError:  # something that the calculus of matrices does not know
        return False
