"""Averages over a law as SymPy nodes with a bound vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sympy import Basic, Expr, MatrixExpr, MatrixSymbol, S, Symbol
from sympy.core.symbol import Str
from sympy.printing.precedence import PRECEDENCE

from symflow.errors import InputError

#: The law that averages are taken over where none is named.
LAW = Symbol("mu")
_TAKEN = "_names_of_enclosing_averages"
_PRETTY = ("x", "y", "z", "w", "u", "v")


class Bound(MatrixSymbol):  # type: ignore[misc]
    """A vector that is averaged over; equal names of it and of a free symbol do not matter."""


class _Average(Basic):  # type: ignore[misc]
    """What averages of numbers and of vectors share.

    The bound vector is called after the height of the node, so that averages which differ in the name of
    the bound vector alone are equal.
    """

    precedence = PRECEDENCE["Add"]  # a factor beside an integral could be read as part of it

    def __new__(cls, body: Any, z: MatrixSymbol, law: Symbol = LAW) -> Any:
        bound = Bound(f"z_{1 + height(body)}", *z.shape)
        return super().__new__(cls, body.xreplace({z: bound}), bound, law)

    @property
    def body(self) -> Any:
        """What is averaged."""
        return self.args[0]

    @property
    def bound(self) -> Any:
        """The vector that is averaged over."""
        return self.args[1]

    @property
    def law(self) -> Any:
        """The law."""
        return self.args[2]

    @property
    def free_symbols(self) -> set[Any]:
        """Symbols of the body but the bound vector; the law is none of them."""
        found: set[Any] = self.body.free_symbols | {n for n in self.bound.shape if n.is_Symbol}
        return found - {self.bound}

    def opened(self, *others: Any) -> tuple[Any, Any]:
        """Return the body with a symbol for the bound vector that is new to it and to ``others``."""
        z = fresh(self.bound.shape, (self.body, *others))
        return self.body.xreplace({self.bound: z}), z

    def at(self, point: Any) -> Any:
        """Return the body with a vector in place of the bound one."""
        body, z = self.opened(point)
        return body.xreplace({z: point})

    def _xreplace(self, rule: Mapping[Any, Any]) -> tuple[Any, bool]:
        if self in rule:
            return rule[self], True
        body, z = self.opened(*rule.values(), *rule)
        new, changed = body._xreplace(rule)
        law, renamed = self.law._xreplace(rule)
        return (average(new, z, law), True) if changed or renamed else (self, False)

    def _eval_subs(self, old: Any, new: Any) -> Any:
        return self.xreplace({old: new})

    def _shown(self, printer: Any) -> tuple[str, str, Any]:
        """Return the printed body and bound vector, with a name that readers know, and the body."""
        outer: frozenset[str] = getattr(printer, _TAKEN, frozenset())
        taken = {str(s.name) for s in self.free_symbols} | outer
        name = next((n for n in _PRETTY if n not in taken), self.bound.name)
        z = MatrixSymbol(name, *self.bound.shape)
        body = self.body.xreplace({self.bound: z})
        setattr(printer, _TAKEN, taken | {name})  # averages inside take other names
        try:
            return printer._print(body), printer._print(z), body
        finally:
            setattr(printer, _TAKEN, outer)

    def _latex(self, printer: Any, **_: Any) -> str:
        inner, z, body = self._shown(printer)
        if body.is_Add or getattr(body, "is_MatAdd", False):
            inner = rf"\left({inner}\right)"
        return rf"\int {inner}\, d{printer._print(self.law)}({z})"

    def _sympystr(self, printer: Any, **_: Any) -> str:
        inner, z, _body = self._shown(printer)
        law = "" if self.law == LAW else f", {self.law}"
        return f"Average({inner}, {z}{law})"

    def doit(self, **hints: Any) -> Any:
        """Return the average of the evaluated body."""
        body, z = self.opened()
        return average(body.doit(**hints), z, self.law)


class Average(_Average, Expr):  # type: ignore[misc]
    r"""The average of a number over a law.

    .. math:: \int f(z)\,d\mu(z)

    Parameters
    ----------
    body : Expr
        f(z), which may contain further averages.
    z : MatrixSymbol, shape (d, 1)
        The vector that is averaged over; it is bound.
    law : Symbol, optional
        The law, μ where it is left out.

    Examples
    --------
    >>> from sympy import Trace
    >>> from symflow.algebra.symbols import dimension, vector
    >>> x, y, z = (vector(name, dimension("d")) for name in "xyz")
    >>> Average(Trace(x.T * y), y) == Average(Trace(x.T * z), z)
    True
    """

    is_commutative = True
    is_real = True
    is_extended_real = True
    is_Average = True

    def __new__(cls, body: Any, z: MatrixSymbol, law: Symbol = LAW) -> Any:
        """Return the node; a matrix is averaged by :class:`AverageMatrix`."""
        if isinstance(body, MatrixExpr):
            raise InputError("body is a matrix; use average(body, z)")
        return super().__new__(cls, S(body), z, law)


class AverageMatrix(_Average, MatrixExpr):  # type: ignore[misc]
    """The average of a vector or matrix over a law; parameters as for :class:`Average`."""

    is_Average = True

    @property
    def shape(self) -> tuple[Any, Any]:
        """Rows and columns of the body."""
        rows, cols = self.args[0].shape
        return rows, cols

    def _entry(self, i: Any, j: Any, **_: Any) -> Any:
        body, z = self.opened(i, j)
        return Average(body[i, j], z, self.law)

    def _eval_transpose(self) -> Any:
        body, z = self.opened()
        return AverageMatrix(body.T, z, self.law)


def average(body: Any, z: MatrixSymbol, law: Symbol = LAW) -> Any:
    """Return the average of a number or of a matrix over a law; what does not depend on z is its own average.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, vector
    >>> x, z = (vector(name, dimension("d")) for name in "xz")
    >>> average(x, z), average(3 * z, z).shape
    (x, (d, 1))
    """
    if z not in body.free_symbols and law == LAW:
        return body
    return AverageMatrix(body, z, law) if isinstance(body, MatrixExpr) else Average(body, z, law)


def height(expr: Any) -> int:
    """Return how many averages are nested in an expression."""
    if isinstance(expr, _Average):
        return 1 + height(expr.body)
    return max((height(part) for part in expr.args), default=0) if isinstance(expr, Basic) else 0


def fresh(shape: Iterable[Any], taken: Iterable[Any]) -> Bound:
    """Return a vector symbol that does not occur in the expressions ``taken``."""
    names = {str(node.name) for expr in taken if isinstance(expr, Basic) for node in expr.atoms(MatrixSymbol)}
    count = next(n for n in range(len(names) + 1) if f"o_{n}" not in names)
    return Bound(Str(f"o_{count}"), *shape)


def averages(expr: Any) -> list[Any]:
    """Return the averages that stand in no other average, in the order in which they are met."""
    if isinstance(expr, _Average):
        return [expr]
    found = [node for part in getattr(expr, "args", ()) for node in averages(part)]
    return list(dict.fromkeys(found))
