"""The symbol table of a certificate: reading terms, what they depend on, where they are defined."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sympy import (
    Add,
    E,
    Expr,
    Identity,
    Integer,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixExpr,
    MatrixSymbol,
    Mul,
    Pow,
    Rational,
    Symbol,
    Trace,
    Transpose,
    Tuple,
    ZeroMatrix,
    cos,
    erf,
    exp,
    pi,
    preorder_traversal,
    sin,
    tanh,
)
from sympy.core.symbol import Str

from symflow.algebra.families import FamilySum
from symflow.algebra.grammar import Operations, parse_with_operations
from symflow.algebra.symbols import dimension, matrix
from symflow.algebra.words import NormalForm, normal_form
from symflow.certify.names import check_names, is_fixed_size
from symflow.certify.size import Budget
from symflow.errors import InputError

#: functions of the grammar that are finite and smooth on the whole real line
_SMOOTH = frozenset(("exp", "sin", "cos", "tanh", "erf", "sigmoid"))

#: node types that are real and smooth where the inverses and roots exist; powers of scalars and sums over a
#: family are looked at apart
_ADMITTED = (
    *(Rational, type(E), type(pi), Symbol, Str, Add, Mul),
    *(MatrixSymbol, Identity, ZeroMatrix, MatAdd, MatMul, Transpose, Inverse, MatPow, Trace),
    *(FamilySum, Tuple),
    *(exp, sin, cos, tanh, erf),
)


class Rejected(Exception):
    """A line does not follow; the message says why."""


@dataclass(frozen=True)
class FamilyOfHeads:
    """Names that stand for the h-th of ``count`` matrices or vectors."""

    members: frozenset[str]
    count: str


class Terms:
    """Symbols with shapes, definitions made along the way, inverses and roots proved to exist.

    Parameters
    ----------
    shapes : Mapping of str to sequence of str
        Name to sizes: ``()`` a scalar, ``("d",)`` a vector, ``("k", "d")`` a matrix.
    signs : Mapping of str to str
        Scalars that the claim assumes ``"nonnegative"`` or ``"positive"``.
    symmetric : tuple of str
        Matrices that the claim takes symmetric.
    families : tuple of FamilyOfHeads
        Names over which sums may run.
    depending : Mapping of str to frozenset of str
        Symbols that are functions of other ones, which the claim does not write out.
    """

    def __init__(
        self,
        shapes: Mapping[str, tuple[str, ...]],
        signs: Mapping[str, str],
        symmetric: tuple[str, ...] = (),
        families: tuple[FamilyOfHeads, ...] = (),
        depending: Mapping[str, frozenset[str]] = MappingProxyType({}),
    ) -> None:
        written = {size for shape in shapes.values() for size in shape if not is_fixed_size(size)}
        sizes = sorted(written | {family.count for family in families})
        check_names([*shapes, *sizes])
        self.symbols: dict[str, Any] = {size: dimension(size) for size in sizes}
        self.symbols |= {
            name: make_symbol(name, shape, signs.get(name, "")) for name, shape in shapes.items()
        }
        self.signs = dict(signs)
        self.symmetric = tuple(self.symbols[name] for name in symmetric)
        self.families = families
        self.definitions: dict[str, Any] = {}
        self.invertible: list[Any] = []
        self.rooted: list[Any] = []
        self._depending = dict(depending)
        self._defined: set[str] = set()
        # symbols are only ever added, so a text keeps its meaning
        self._read: dict[str, tuple[Any, Operations]] = {}
        self._forms: dict[Any, NormalForm] = {}
        self._budget = Budget()

    def read(self, text: str) -> Any:
        """Return the expression that ``text`` stands for.

        Raises
        ------
        GrammarError
            If the text cannot be read, a name is unknown, or shapes do not fit.
        """
        return self._parse(text)[0]

    def _parse(self, text: str) -> tuple[Any, Operations]:
        if text not in self._read:
            self._budget.spend_text(text)
            self._read[text] = parse_with_operations(text, self.symbols)
        return self._read[text]

    def define(self, name: str, value: Any) -> None:
        """Add the new symbol ``name`` that stands for ``value``."""
        if name in self.symbols:
            raise Rejected(f"the name {name!r} is already taken, a definition needs a new one")
        check_names([*self.symbols, name])
        self.symbols[name] = matrix(name, *value.shape) if is_matrix(value) else Symbol(name, real=True)
        self.definitions[name] = value

    @property
    def abbreviations(self) -> frozenset[str]:
        """Names that hide others: definitions, and symbols that are functions of other ones."""
        return frozenset((*self.definitions, *self._depending))

    def depends_on(self, expr: Any) -> frozenset[str]:
        """Return the names in ``expr``, abbreviations included down to their bottom."""
        names: set[str] = set()
        pending = [symbol.name for symbol in expr.free_symbols]
        while pending:
            name = pending.pop()
            if name not in names:
                names.add(name)
                pending += self._depending.get(name, ())
                if name in self.definitions:
                    pending += [symbol.name for symbol in self.definitions[name].free_symbols]
        return frozenset(names)

    def require_free(self, expr: Any, names: Iterable[str], what: str) -> None:
        """Refuse ``expr`` if it depends on one of ``names``."""
        found = sorted(self.depends_on(expr) & set(names))
        if found:
            raise Rejected(f"{what} must not depend on {', '.join(found)}")

    def same(self, left: Any, right: Any) -> bool:
        """Whether both expressions have the same shape and the same normal form."""
        if shape_of(left) != shape_of(right):
            return False
        try:
            one, other = self._form(left), self._form(right)
            return bool(one == other or (one - other).is_zero)
        except InputError as error:  # a node that the normal form does not know proves nothing
            raise Rejected(str(error)) from error

    def _form(self, expr: Any) -> NormalForm:
        if expr not in self._forms:
            self._budget.spend_expression(expr)
            self._forms[expr] = normal_form(expr, symmetric=self.symmetric)
        return self._forms[expr]

    def grant_inverse(self, expr: Any) -> None:
        """Record that the square matrix ``expr`` is invertible."""
        self.invertible.append(expr)

    def grant_root(self, expr: Any) -> None:
        """Record that the square matrix ``expr`` has a principal square root."""
        self.rooted.append(expr)

    def require_defined(self, text: str) -> None:
        """Refuse a text with a part that is not known to be real, finite and smooth in its symbols.

        What the text writes is looked at, and then what was read, because reading cancels ``inv(X)*X``.
        """
        if text in self._defined:
            return
        expr, operations = self._parse(text)
        for name, arguments in operations:
            if name == "inv":
                self._require_granted(arguments[0], self.invertible, "inverse", "invertible")
            elif name == "sqrtm":
                self._require_granted(arguments[0], self.rooted, "root", "one that has a principal root")
            elif name in ("/", "sqrt"):
                self._require_positive(arguments[0], rational=name == "/")
            elif name not in _SMOOTH:
                raise Rejected(f"{name} in '{text}' is not known to be finite and smooth")
        for node in preorder_traversal(expr):
            if isinstance(node, Pow):
                self._require_power(node)
            elif isinstance(node, FamilySum):
                self._require_family(node)
            elif not isinstance(node, _ADMITTED):
                raise Rejected(
                    f"{type(node).__name__} in '{text}' is not known to be real, finite and smooth"
                )
        self._defined.add(text)

    def _require_granted(self, base: Any, granted: list[Any], what: str, shown: str) -> None:
        if base in granted:  # written in the same way, which needs no normal form
            return
        forms = (base, transposed(base))
        if not any(self.same(form, known) for known in granted for form in forms):
            raise Rejected(f"the {what} of {base} appears before that was shown to be {shown}")

    def _require_family(self, node: FamilySum) -> None:
        """Refuse a sum over names that are no family of the claim, and a sum of sums."""
        names = {member.name for member in node.members}
        known = any(names <= f.members and node.count == self.symbols[f.count] for f in self.families)
        if not known or node.body.has(FamilySum):
            raise Rejected(f"{node} does not run over the heads of one family of the claim")

    def _require_power(self, node: Any) -> None:
        if not (node.exp.is_Integer and node.exp >= 0):
            self._require_positive(node.base, rational=node.exp.is_Integer)

    def _require_positive(self, base: Any, *, rational: bool) -> None:
        """Refuse a base that is not known to be positive; ``rational`` admits every number but zero."""
        if not self._is_positive(base) and not (rational and base.is_Rational and base != 0):
            raise Rejected(f"{base} is not known to be positive; the claim has to assume it")

    def _is_positive(self, base: Any) -> bool:
        if base.is_Mul or base.is_Add:
            return all(self._is_positive(part) for part in base.args)
        if base.is_Pow:
            return base.exp.is_Rational and self._is_positive(base.base)
        if base.is_Symbol:  # sizes are positive integers
            return self.signs.get(base.name) == "positive" or bool(base.is_integer)
        return isinstance(base, exp) or bool(base.is_Rational and base > 0)


def make_symbol(name: str, shape: tuple[str, ...], sign: str = "") -> Any:
    """Return the SymPy symbol of a name: real scalar, column vector or matrix."""
    if not shape:
        assumptions = (
            {"nonnegative": True} if sign == "nonnegative" else {"positive": True} if sign else {"real": True}
        )
        return Symbol(name, **assumptions)
    rows, cols = (Integer(size) if is_fixed_size(size) else dimension(size) for size in (*shape, "1")[:2])
    return matrix(name, rows, cols)


def is_matrix(expr: Any) -> bool:
    """Whether ``expr`` is a matrix expression (1×1 ones included)."""
    return isinstance(expr, MatrixExpr)


def shape_of(expr: Any) -> tuple[Any, Any]:
    """Return (rows, columns); a scalar counts as 1×1."""
    return tuple(expr.shape) if is_matrix(expr) else (1, 1)


def multiply(*factors: Any) -> Any:
    """Return the product, not evaluated; refuses shapes that do not fit."""
    matrices = [factor for factor in factors if is_matrix(factor)]
    for left, right in itertools.pairwise(matrices):
        if left.shape[1] != right.shape[0]:
            raise Rejected(f"the product of shapes {left.shape} and {right.shape} has no meaning")
    scalar = Mul(*[factor for factor in factors if not is_matrix(factor)])
    if not matrices:
        return scalar
    if scalar == 1:
        return MatMul(*matrices) if len(matrices) > 1 else matrices[0]
    return MatMul(scalar, *matrices)


def total(terms: Iterable[Any]) -> Any:
    """Return the sum, not evaluated; next to scalars 1×1 matrices become scalars."""
    listed = list(terms)
    if len({shape_of(term) for term in listed}) > 1:
        raise Rejected(f"the shapes {', '.join(str(shape_of(term)) for term in listed)} cannot be added")
    if all(is_matrix(term) for term in listed):
        return MatAdd(*listed) if len(listed) > 1 else listed[0]
    return Add(*[as_scalar(term) for term in listed])


def as_scalar(expr: Any) -> Expr:
    """Return a 1×1 matrix expression, or the trace of a square one, as a scalar."""
    rows, cols = shape_of(expr)
    if rows != cols:
        raise Rejected(f"{expr} of shape {(rows, cols)} is no scalar")
    return Trace(expr) if is_matrix(expr) else expr


def quadratic(vector: Any, form: Any) -> Expr:
    """Return the scalar ``vectorᵀ form vector``."""
    return Trace(multiply(transposed(vector), form, vector))


def transposed(expr: Any) -> Any:
    """Return the transpose; a scalar is its own."""
    return expr.T if is_matrix(expr) else expr


def substitute(expr: Any, pairs: Iterable[tuple[Any, Any]]) -> Any:
    """Replace symbols one after the other; refuses what a sum over a family would take for its own."""
    for symbol, value in pairs:
        if symbol not in expr.free_symbols:
            continue
        names = {symbol, *value.free_symbols}
        if any(names.intersection(node.members) for node in expr.atoms(FamilySum)):
            raise Rejected(f"{symbol} = {value} cannot be put into a sum over {symbol} or a part of {value}")
        expr = expr.xreplace({symbol: value})
    return expr


def loose_names(expr: Any) -> frozenset[str]:
    """Return the names in ``expr`` that no sum over a family binds."""
    if isinstance(expr, FamilySum):
        return loose_names(expr.body) - {member.name for member in expr.members}
    if is_symbol(expr):
        return frozenset((expr.name,))
    return frozenset().union(*(loose_names(part) for part in expr.args))


def is_symbol(expr: Any) -> bool:
    """Whether ``expr`` is a bare scalar or matrix symbol."""
    return isinstance(expr, (Symbol, MatrixSymbol))
