r"""Under which equations between parameters a score is symmetric, s(x, y) = s(y, x)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sympy import Dummy, Expr, MatrixSymbol, Symbol, Trace, Transpose

from symflow.algebra.words import identical
from symflow.derive.particles.pairings import PairedScore
from symflow.errors import InputError
from symflow.flow import Pairing

Equation = tuple[Any, Any]
#: How many equations are tried together.
MOST_EQUATIONS = 2


def symmetric_if(found: PairedScore, x: Any, y: Any) -> tuple[Equation, ...] | None:
    r"""Return equations between parameters that make the score symmetric; None where none were found.

    Tried are: nothing, one parameter equal to another of its shape, a square parameter equal to its
    transpose, and two of these together. What is returned is proved by the normal form.

    Parameters
    ----------
    found : PairedScore
        The score.
    x, y : MatrixSymbol
        Query and key token.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> from symflow.derive.particles.pairings import paired_score
    >>> d, k = dimension("d"), dimension("k")
    >>> Q, K, x, y = matrix("Q", k, d), matrix("K", k, d), vector("x", d), vector("y", d)
    >>> symmetric_if(paired_score(Trace(x.T * Q.T * K * y), x, y), x, y)
    ((K, Q),)
    """
    texts = [side for pairing in found.pairings for side in (pairing.left, pairing.right)]
    texts += [value for _, value in (*found.rows, *found.columns)]
    letters = {s for text in texts for s in text.atoms(MatrixSymbol)} - {x, y}
    for equations in sets_of_equations(letters):
        if _is_symmetric(found, x, y, equations):
            return equations
    return None


def sets_of_equations(letters: Iterable[Any]) -> Iterator[tuple[Equation, ...]]:
    """Yield sets of equations between matrices, those with the fewest equations first.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d = dimension("d")
    >>> list(sets_of_equations([matrix("A", d, d)]))
    [(), ((A, A.T),)]
    """
    ordered = sorted(letters, key=lambda s: str(s.name))
    single: list[Equation] = [(a, b) for a, b in itertools.combinations(ordered, 2) if a.shape == b.shape]
    single += [(m, Transpose(m)) for m in ordered if m.rows == m.cols and m.rows != 1]
    yield ()
    for count in range(1, MOST_EQUATIONS + 1):
        yield from itertools.combinations(single, count)


def _is_symmetric(found: PairedScore, x: Any, y: Any, equations: tuple[Equation, ...]) -> bool:
    """Whether the score with x and y exchanged is, symbol by symbol, the score again."""
    table = {a: b for a, b in equations if isinstance(b, MatrixSymbol)}
    symmetric = tuple(a for a, b in equations if not isinstance(b, MatrixSymbol) and a not in table)
    exchange = {x: y, y: x}
    images = _images(found, table, exchange, symmetric)
    exchanged = found.score.xreplace(images)
    return bool(exchanged == found.score or (exchanged - found.score).expand() == 0)


def _images(
    found: PairedScore, table: Mapping[Any, Any], exchange: Mapping[Any, Any], symmetric: tuple[Any, ...]
) -> dict[Symbol, Symbol]:
    """Map each symbol to the one that it becomes; to a new one where it becomes something else."""
    values = {p.symbol: pairing_value(p).xreplace(table) for p in found.pairings}
    values |= {symbol: value.xreplace(table) for symbol, value in (*found.rows, *found.columns)}
    letters = {symbol: value.atoms(MatrixSymbol) for symbol, value in values.items()}
    images = {}
    for symbol, value in values.items():
        moved = value.xreplace(exchange)
        own = {exchange.get(letter, letter) for letter in letters[symbol]}
        # Normal forms are slow to reach, so what has other letters is passed over: at worst nothing is found.
        alike = (other for other in values if letters[other] == own)
        equal = (other for other in alike if _equal(moved, values[other], symmetric))
        images[symbol] = next(equal, None) or Dummy(symbol.name, **symbol.assumptions0)
    return images


def pairing_value(pairing: Pairing) -> Expr:
    """Return what a pairing is, as a scalar of the tokens.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, vector
    >>> d = dimension("d")
    >>> pairing_value(Pairing(Symbol("u"), vector("x", d), vector("y", d)))
    Trace(x.T*y)
    """
    left, right = pairing.left, pairing.right
    if pairing.difference:
        left = right = left - right
    return Trace(Transpose(left) * right).doit()


@functools.lru_cache(maxsize=4096)  # the same two meet under many equations
def _equal(a: Any, b: Any, symmetric: tuple[Any, ...]) -> bool:
    if a == b:
        return True
    try:
        return identical(a, b, symmetric)
    except InputError:  # something that the calculus of matrices does not know
        return False
