"""Sums over a family of matrices: one expression in the h-th members, summed over h.

A member is an ordinary matrix symbol that stands for the h-th slice of an array with a leading axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sympy import MatrixExpr, MatrixSymbol, Symbol, Tuple, ZeroMatrix

from symflow.errors import InputError


def families_in(*expressions: Any) -> dict[Any, Any]:
    """Return every member that occurs in a sum over a family, with the count of its family.

    Raises
    ------
    InputError
        If a symbol stands for a member in one place and for a single matrix, or for a member of a family of
        another count, in another.
    """
    found: dict[Any, Any] = {}
    loose: set[Any] = set()
    pending: list[tuple[Any, frozenset[Any]]] = [(expression, frozenset()) for expression in expressions]
    while pending:
        node, bound = pending.pop()
        if isinstance(node, FamilySum):
            clash = [m for m in node.members if found.setdefault(m, node.count) != node.count]
            if clash:
                raise InputError(f"{clash[0]} belongs to families of {found[clash[0]]} and of {node.count}")
            pending.append((node.body, bound | set(node.members)))
        elif isinstance(node, MatrixSymbol):
            loose |= {node} - bound
        else:
            pending += [(part, bound) for part in node.args]
    for symbol in sorted(loose & found.keys(), key=str):
        raise InputError(f"{symbol} is a member of a family in one place and a single matrix in another")
    return found


class FamilySum(MatrixExpr):  # type: ignore[misc]  # SymPy is untyped
    r"""The sum of a matrix expression over a family.

    .. math:: \sum_{h=1}^{H} f(X^{(1)}_h, X^{(2)}_h, \dots)

    Parameters
    ----------
    body : MatrixExpr
        The summand, in which every symbol of ``members`` stands for its h-th matrix.
    members : iterable of MatrixSymbol
        What depends on h; those that occur are kept, sorted by name.
    count : Symbol or Integer
        H, a symbolic size.

    Raises
    ------
    InputError
        If a member is not a matrix symbol.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d, H = dimension("d"), dimension("H")
    >>> V, S = matrix("V", d, d), matrix("S", d, d)
    >>> FamilySum(V * S, (V,), H).shape
    (d, d)
    """

    def __new__(cls, body: Any, members: Iterable[Any], count: Any) -> Any:
        """Sort the members that occur, so that equal sums are equal objects."""
        listed = set(members)
        wrong = [member for member in listed if not isinstance(member, MatrixSymbol)]
        if wrong:
            raise InputError(f"members takes matrix symbols, got {wrong[0]}")
        kept = sorted(listed & body.free_symbols, key=lambda symbol: str(symbol.name))
        return MatrixExpr.__new__(cls, body, Tuple(*kept), count)

    @property
    def body(self) -> Any:
        """The summand."""
        return self.args[0]

    @property
    def members(self) -> tuple[MatrixSymbol, ...]:
        """The symbols that depend on h, sorted by name."""
        return tuple(self.args[1])

    @property
    def count(self) -> Symbol:
        """How many summands there are."""
        return self.args[2]

    @property
    def shape(self) -> tuple[Any, Any]:
        """The shape of the summand."""
        return self.body.shape  # type: ignore[no-any-return]

    def _eval_transpose(self) -> Any:
        return FamilySum(self.body.T, self.members, self.count)

    def doit(self, **hints: Any) -> Any:
        """Return the sum with its summand evaluated; a sum of zeros is zero."""
        body = self.body.doit(**hints) if hints.get("deep", True) else self.body
        return ZeroMatrix(*body.shape) if body.is_ZeroMatrix else FamilySum(body, self.members, self.count)

    def _sympystr(self, printer: Any) -> str:
        return f"sum_h({printer._print(self.body)})"
