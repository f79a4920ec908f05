"""Names and shapes of a text in the tokens ``x, y``, read without building an expression.

A model needs no more than this until something is derived from it, and SymPy takes longer for the expression
than everything else on the way to a kernel that is there already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from symflow.algebra.text.shapes import Size, infer_shapes
from symflow.algebra.text.syntax import FUNCTIONS, Call, Name, Node, Number, Product, Sum, Transposed, read
from symflow.errors import InputError

Shape = tuple[Size, Size]

#: The query and the key token.
TOKENS: Mapping[str, Shape] = {"x": ("d", 1), "y": ("d", 1)}

#: A score is that of one head, so its text has no sum over a family.
_FUNCTIONS = {name: count for name, count in FUNCTIONS.items() if name != "sum"}

_TARGETS: Mapping[str, Shape] = {"scalar": (1, 1), "vector": ("d", 1)}


@dataclass(frozen=True, eq=False)
class Signature:
    """What a text uses.

    Attributes
    ----------
    node : Node
        The syntax tree.
    shapes : dict
        Rows and columns of every name, tokens and sizes too, in order of first appearance.
    sizes : tuple of str
        Symbolic sizes, ``d`` first.
    parameters : tuple of (str, tuple)
        Shape of each parameter: ``()``, ``(rows,)`` or ``(rows, columns)``.
    """

    node: Node
    shapes: dict[str, Shape]
    sizes: tuple[str, ...]
    parameters: tuple[tuple[str, tuple[Size, ...]], ...]


def signature(
    text: str, parameters: Mapping[str, Sequence[Any]] | None = None, kind: str = "scalar"
) -> Signature:
    """Return names and shapes of ``text``; arguments and errors are those of ``grammar.parse_score``.

    Raises
    ------
    GrammarError
        If the text cannot be read, is not of that kind, or its shapes contradict each other.

    Examples
    --------
    >>> signature("beta*dot(Q*x, K*y)").parameters
    (('beta', ()), ('Q', ('k', 'd')), ('K', ('k', 'd')))
    """
    if kind not in _TARGETS:
        raise InputError(f"kind = {kind!r} is neither 'scalar' nor 'vector'")
    declared = {name: _declared_shape(name, shape) for name, shape in (parameters or {}).items()}
    for name in TOKENS.keys() & declared.keys():
        raise InputError(f"parameters[{name!r}]: x and y are the tokens in ℝᵈ; rename the parameter")
    node = read(text, _FUNCTIONS)
    shapes = infer_shapes(node, {**TOKENS, **declared}, _TARGETS[kind], text)
    sizes = _sizes(shapes, declared)
    names = [name for name in shapes if name not in TOKENS and (name not in sizes or name in declared)]
    return Signature(node, shapes, sizes, tuple((name, _public_shape(shapes[name])) for name in names))


def is_settled_by_shapes(node: Node) -> bool:
    """Tell whether only a shape can be wrong with the text: no value in it can be infinite or too large.

    Examples
    --------
    >>> [is_settled_by_shapes(read(text)) for text in ("dot(x, y)/sqrt(d)", "1/(a - a)", "log(a)")]
    [True, False, False]
    """
    match node:
        case Number() | Name():
            return True
        case Transposed(operand=operand):
            return is_settled_by_shapes(operand)
        case Sum(terms=terms):
            return all(is_settled_by_shapes(term) for _, term in terms)
        case Product(factors=factors):
            return all(_is_never_zero(f) if divides else is_settled_by_shapes(f) for divides, f in factors)
        case Call(function="dot" | "norm2", arguments=arguments):
            return all(is_settled_by_shapes(argument) for argument in arguments)
    return _is_never_zero(node)


def _is_never_zero(node: Node) -> bool:
    """Tell whether a divisor is a symbol, its root, or a number but 0."""
    match node:
        case Number(value=value):
            return value != 0
        case Call(function="sqrt", arguments=(Name(),)):
            return True
    return isinstance(node, Name)


def _declared_shape(name: str, shape: Sequence[Any]) -> Shape:
    if isinstance(shape, str) or not isinstance(shape, Sequence) or len(shape) > 2:
        raise InputError(f"parameters[{name!r}]: a shape is (), (rows,) or (rows, columns), got {shape!r}")
    sizes: list[Size] = []
    for size in shape:
        value = size if isinstance(size, int | str) else str(size)
        if isinstance(value, bool) or (isinstance(value, int) and value < 1) or value == "":
            raise InputError(f"parameters[{name!r}]: {size!r} is not a size (a name or a positive integer)")
        sizes.append(int(value) if str(value).isdigit() else value)
    sizes += [1] * (2 - len(sizes))
    return sizes[0], sizes[1]


def _public_shape(shape: Shape) -> tuple[Size, ...]:
    return () if shape == (1, 1) else shape[:1] if shape[1] == 1 else shape


def _sizes(shapes: Mapping[str, Shape], declared: Mapping[str, Shape]) -> tuple[str, ...]:
    """Return the symbolic sizes, ``d`` first, then in order of appearance."""
    names = ["d", *(size for shape in shapes.values() for size in shape if isinstance(size, str))]
    names += [size for name in declared if name in shapes for size in declared[name] if isinstance(size, str)]
    return tuple(dict.fromkeys(names))
