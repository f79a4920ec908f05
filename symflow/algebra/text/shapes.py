"""Shapes of undeclared names in a text of the small grammar, by unification.

A shape is a pair (rows, columns) whose entries are 1, another integer, a size name such as ``"d"``, or an
unknown. Sums, ``dot`` and transposes give equations at once. A product waits until all but one of its factors
are known to be scalars; when nothing moves, the first waiting product is settled by the custom of the field:
a lower-case name in front of another factor is a scalar, an upper-case name is a matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from symflow.algebra.text.syntax import (
    Call,
    Comparison,
    Name,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Transposed,
    fail,
)


@dataclass(frozen=True)
class _Unknown:
    index: int


Size = str | int
_Entry = Size | _Unknown
_Shape = tuple[_Entry, _Entry]
_SCALAR: _Shape = (1, 1)


@dataclass(frozen=True)
class _Chain:
    """A product that is not settled: its factors with their shapes, and the shape of its value."""

    factors: tuple[tuple[Node, _Shape], ...]
    value: _Shape


def infer_shapes(
    node: Node, declared: Mapping[str, tuple[Size, Size]], target: tuple[Size, Size], text: str
) -> dict[str, tuple[Size, Size]]:
    """Return the shape of every name of ``node`` in order of first appearance.

    Parameters
    ----------
    node : Node
        Syntax tree of the text.
    declared : mapping
        Known shapes.
    target : tuple
        Shape that the whole text must have.
    text : str
        For messages.

    Raises
    ------
    GrammarError
        If the equations contradict each other; the message names both shapes and the place.
    """
    system = _System(declared, text)
    system.equate(system.shape(node), target, node)
    system.settle()
    return system.named()


class _System:
    """Equations between shape entries (union-find) and the products that wait."""

    def __init__(self, declared: Mapping[str, tuple[Size, Size]], text: str) -> None:
        self._text = text
        self._links: dict[_Unknown, _Entry] = {}
        self._names: dict[str, _Shape] = {}
        self._declared = declared
        self._waiting: list[_Chain] = []
        self._count = 0
        self._taken = {size for shape in declared.values() for size in shape if isinstance(size, str)}

    def _fresh(self) -> _Unknown:
        self._count += 1
        return _Unknown(self._count)

    def _find(self, entry: _Entry) -> _Entry:
        while isinstance(entry, _Unknown) and entry in self._links:
            entry = self._links[entry]
        return entry

    def _resolve(self, shape: _Shape) -> _Shape:
        return self._find(shape[0]), self._find(shape[1])

    def _unify(self, a: _Entry, b: _Entry) -> bool:
        a, b = self._find(a), self._find(b)
        if a == b:
            return True
        if isinstance(a, _Unknown):
            self._links[a] = b
        elif isinstance(b, _Unknown):
            self._links[b] = a
        else:
            return False
        return True

    def _show(self, shape: _Shape) -> str:
        rows, cols = ("?" if isinstance(e, _Unknown) else str(e) for e in self._resolve(shape))
        return "a scalar" if (rows, cols) == ("1", "1") else f"({rows}, {cols})"

    def equate(self, a: _Shape, b: _Shape, node: Node) -> None:
        """Demand equal shapes."""
        shown = self._show(a), self._show(b)
        if not (self._unify(a[0], b[0]) and self._unify(a[1], b[1])):
            raise fail(f"shapes differ: {shown[0]} where {shown[1]} is needed", self._text, node.position)

    # ---- equations of one node -------------------------------------------------------------------

    def shape(self, node: Node) -> _Shape:
        """Return the shape of ``node`` and collect its equations."""
        match node:
            case Number():
                return _SCALAR
            case Name(name=name):
                return self._name(name)
            case Transposed(operand=operand):
                rows, cols = self.shape(operand)
                return cols, rows
            case Power(base=base):
                self.equate(self.shape(base), _SCALAR, base)
                return _SCALAR
            case Sum(terms=terms):
                return self._sum([term for _, term in terms])
            case Product(factors=factors):
                return self._product(factors)
            case Call():
                return self._call(node)
            case Comparison(left=left, right=right):
                for side in (left, right):
                    self.equate(self.shape(side), _SCALAR, side)
                return _SCALAR
        raise fail("cannot infer the shape", self._text, node.position)

    def _name(self, name: str) -> _Shape:
        if name not in self._names:
            if name in self._declared:
                self._names[name] = self._declared[name]
            elif name in self._taken:  # a size used as a number, as in dot(x, y)/sqrt(d)
                self._names[name] = _SCALAR
            else:
                self._names[name] = (self._fresh(), self._fresh())
        return self._names[name]

    def _sum(self, terms: list[Node]) -> _Shape:
        first = self.shape(terms[0])
        for term in terms[1:]:
            self.equate(self.shape(term), first, term)
        return first

    def _product(self, factors: tuple[tuple[bool, Node], ...]) -> _Shape:
        chain = []
        for is_divisor, factor in factors:
            shape = self.shape(factor)
            if is_divisor:
                self.equate(shape, _SCALAR, factor)
            else:
                chain.append((factor, shape))
        value = (self._fresh(), self._fresh())
        self._waiting.append(_Chain(tuple(chain), value))
        return value

    def _call(self, node: Call) -> _Shape:
        if node.function in ("eye", "zeros"):
            sizes = [self._size(argument) for argument in node.arguments]
            return sizes[0], sizes[-1]
        shapes = [self.shape(argument) for argument in node.arguments]
        if node.function == "dot":
            self.equate(shapes[1], shapes[0], node.arguments[1])
        elif node.function in ("inv", "sqrtm", "tr"):
            self.equate(shapes[0], (shapes[0][1], shapes[0][0]), node.arguments[0])
        elif node.function != "norm2":
            for argument, shape in zip(node.arguments, shapes, strict=True):
                self.equate(shape, _SCALAR, argument)
        return shapes[0] if node.function in ("inv", "sqrtm") else _SCALAR

    def _size(self, node: Node) -> Size:
        if isinstance(node, Name):
            self._taken.add(node.name)
            return node.name
        if isinstance(node, Number) and node.value.denominator == 1 and node.value > 0:
            return int(node.value)
        raise fail("a size is a name or a positive integer", self._text, node.position)

    # ---- products --------------------------------------------------------------------------------

    def settle(self) -> None:
        """Settle every waiting product."""
        while self._waiting:
            if not self._settle_known():
                self._settle_by_custom(self._waiting[0])

    def _open(self, chain: _Chain) -> list[tuple[Node, _Shape]]:
        return [(node, shape) for node, shape in chain.factors if self._resolve(shape) != _SCALAR]

    def _settle_known(self) -> bool:
        for chain in self._waiting:
            rest = self._open(chain)
            if len(rest) <= 1:
                self._waiting.remove(chain)
                self.equate(chain.value, rest[0][1] if rest else _SCALAR, chain.factors[0][0])
                return True
        return False

    def _settle_by_custom(self, chain: _Chain) -> None:
        rest = self._open(chain)
        free = [node for node, shape in rest if self._is_free(node, shape)]
        if len(free) == len(rest) and self._resolve(chain.value) == _SCALAR:
            scalars = free
        else:
            scalars = [node for node in free if node is not rest[-1][0] and _is_lower(node)]
        if scalars:
            for node, shape in rest:
                if node in scalars:
                    self.equate(shape, _SCALAR, node)
            return
        self._waiting.remove(chain)
        self.equate(chain.value, self._fold(rest), chain.factors[0][0])

    def _is_free(self, node: Node, shape: _Shape) -> bool:
        return isinstance(node, Name) and all(isinstance(e, _Unknown) for e in self._resolve(shape))

    def _fold(self, factors: list[tuple[Node, _Shape]]) -> _Shape:
        value = factors[0][1]
        for node, shape in factors[1:]:
            shown = self._show(value), self._show(shape)
            if self._unify(value[1], shape[0]):
                value = (value[0], shape[1])
            elif self._find(value[1]) == 1 and self._unify(value[0], 1):  # (uᵀv)·w
                value = shape
            elif self._find(shape[0]) != 1 or not self._unify(shape[1], 1):  # w·(…) stays w
                message = f"the product of {shown[0]} and {shown[1]} has no meaning"
                raise fail(message, self._text, node.position)
        return value

    # ---- result ----------------------------------------------------------------------------------

    def named(self) -> dict[str, tuple[Size, Size]]:
        """Return the shapes, unknown sizes named k, k2, k3, … in order of first appearance."""
        for name, shape in self._names.items():
            if name[:1].islower() and isinstance(self._find(shape[1]), _Unknown):
                self._unify(shape[1], 1)
        taken = self._taken | set(self._names)
        result: dict[str, tuple[Size, Size]] = {}
        for name, shape in self._names.items():
            sizes: list[Size] = []
            for entry in shape:
                found = self._find(entry)
                if isinstance(found, _Unknown):
                    fresh = _fresh_size(taken)
                    self._links[found] = fresh
                    found = fresh
                    taken.add(fresh)
                sizes.append(found)
            result[name] = (sizes[0], sizes[1])
            if sizes[0] == 1 != sizes[1] and name not in self._declared:
                hint = f"write dot({name}, …), or declare its shape"
                raise fail(f"{name} would be a row vector; {hint}", self._text, max(0, self._text.find(name)))
        return result


def _is_lower(node: Node) -> bool:
    return isinstance(node, Name) and node.name.lstrip("_")[:1].islower()


def _fresh_size(taken: set[str]) -> str:
    index = 1
    while (name := "k" if index == 1 else f"k{index}") in taken:
        index += 1
    return name
